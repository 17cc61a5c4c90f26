//! The passkeys by which answers are signed: those that the user knew beforehand, and those of the server's log.

use std::collections::HashMap;

use domain::base::passkey::{Assertion, KnownPasskey, Octets};
use domain::base::text::quoted;
use domain::log::payload::Resumed;
use domain::people::event::{PASSKEY_ADDED, PASSKEY_REMOVED, PasskeyAdded, PasskeyRemoved};
use proof::passkey::verify_known;

use super::course::Happened;
use super::doubt::{Doubt, Doubts, Fault};
use super::keys::{Envelope, SHOWN_MAX};
use super::span::{Moment, Span};
use crate::event::Facts;
use crate::finding::Code;

/// How many passkeys of the log are kept; a passkey beyond them counts as unknown.
const PASSKEYS_KEPT_MAX: usize = 50_000;

/// A passkey of the server's log.
#[derive(Debug)]
struct Logged {
    passkey: KnownPasskey,
    span: Span,
}

/// The passkeys that are known.
#[derive(Debug, Default)]
pub(super) struct Passkeys {
    beforehand: Vec<KnownPasskey>,
    /// Those of the log; the same passkey can be added again after it was removed.
    logged: HashMap<Octets, Vec<Logged>>,
    count: usize,
    /// Whether a passkey may have been added that is not known here.
    has_gaps: bool,
}

impl Passkeys {
    pub(super) fn known(beforehand: Vec<KnownPasskey>) -> Self {
        Self { beforehand, ..Self::default() }
    }

    /// Adds an event of the server's log.
    pub(super) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], leaf: u64) {
        if facts.type_name() == Some(PASSKEY_ADDED) {
            match serde_json::from_slice::<Envelope<PasskeyAdded>>(bytes) {
                Ok(Envelope { created_at, payload }) if self.count < PASSKEYS_KEPT_MAX => {
                    let PasskeyAdded { person, credential_id, public_key, rp_id, .. } = payload;
                    let passkey = KnownPasskey { person, credential_id: credential_id.clone(), public_key, rp_id };
                    let span = Span { from: Moment::read(&created_at, leaf), until: None };
                    self.count += 1;
                    self.logged.entry(credential_id).or_default().push(Logged { passkey, span });
                }
                Ok(_) | Err(_) => self.has_gaps = true,
            }
        } else if facts.type_name() == Some(PASSKEY_REMOVED) {
            match serde_json::from_slice::<Envelope<PasskeyRemoved>>(bytes) {
                Ok(Envelope { created_at, payload }) => {
                    let newest = self.logged.get_mut(&payload.credential_id).and_then(|logged| logged.last_mut());
                    if let Some(logged) = newest {
                        logged.span.until = logged.span.until.or_else(|| Moment::read(&created_at, leaf));
                    }
                }
                Err(_) => self.has_gaps = true,
            }
        }
    }

    /// Adds an event of the server's log without payload.
    pub(super) fn erased(&mut self, facts: &Facts<'_>) {
        self.has_gaps |= facts.type_name() == Some(PASSKEY_ADDED);
    }

    /// Verifies the signature under an answer. The doubts if it is right, or cannot be checked.
    ///
    /// # Errors
    ///
    /// The signature is not one under this answer, or the passkey did not count at that time.
    pub(super) fn signed(&self, event: &Happened, answer: &Resumed, assertion: &Assertion) -> Result<Doubts, Fault> {
        let person = answer.responded_by.as_deref().unwrap_or_default();
        let fault = |why: &str| {
            let text =
                format!("The signature of a passkey under the answer of {} is not right: {why}.", quoted(person, SHOWN_MAX));
            Err(Fault::new(Code::PasskeyInvalid, text))
        };
        let value = answer.value.clone().unwrap_or_default();
        let challenge = answer.evidence.and_then(|evidence| evidence.challenge(answer.suspension_id, &value));
        let Some(challenge) = challenge else { return fault("the answer lacks the hashes that a passkey signs") };
        match verify_known(assertion, &challenge, person, &self.beforehand) {
            Ok(true) => return Ok(Doubts::new()),
            Ok(false) => {}
            Err(error) => return fault(&error.to_string()),
        }
        let Some(logged) = self.logged.get(&assertion.credential_id) else {
            if self.has_gaps {
                return Ok(Doubts::from([Doubt::Passkey]));
            }
            return fault("the server's log does not know the passkey");
        };
        let counted: Vec<KnownPasskey> =
            logged.iter().filter(|logged| logged.span.may_hold(event)).map(|logged| logged.passkey.clone()).collect();
        match verify_known(assertion, &challenge, person, &counted) {
            Ok(true) => Ok(Doubts::from([Doubt::PasskeyOfLog])),
            Ok(false) => fault("the passkey was not registered at that time"),
            Err(error) => fault(&error.to_string()),
        }
    }
}
