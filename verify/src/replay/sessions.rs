//! The sessions that the server's log knows: who logged in, and when.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::SessionId;
use domain::base::text::quoted;
use domain::base::time::{self, rfc3339};
use domain::people::event::{SessionBegan, SessionEnded};
use domain::people::identity::{LoginMethod, RECENT_LOGIN_SECONDS};
use domain::people::principal::{Assurance, Principal, Role};
use serde::Deserialize;

use super::doubt::{Doubt, Doubts, Fault};
use super::keys::{Acted, Envelope, SHOWN_MAX, Who};
use super::span::Moment;
use crate::event::Facts;
use crate::finding::Code;

/// How many sessions of the log are kept; a session beyond them counts as unknown.
const SESSIONS_KEPT_MAX: usize = 200_000;

/// A session.
#[derive(Debug)]
struct Known {
    /// The address of the person.
    person: String,
    role: Role,
    began: Option<Moment>,
    /// Until when its login counts as recent.
    recent_until: Option<DateTime<Utc>>,
    ended: Option<Moment>,
}

/// The beginning of a session, with the person who acted.
#[derive(Deserialize)]
struct Began {
    actor: String,
    created_at: String,
    payload: SessionBegan,
}

/// The sessions of the server's log.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: HashMap<SessionId, Known>,
    /// Whether a session may have begun that is not known here.
    has_gaps: bool,
}

impl Sessions {
    /// Adds an event of the server's log.
    pub(super) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], leaf: u64) {
        match facts.event_type {
            b"\"session.began\"" => match serde_json::from_slice::<Began>(bytes) {
                Ok(Began { actor, created_at, payload }) if self.by_id.len() < SESSIONS_KEPT_MAX => {
                    let began = Moment::read(&created_at, leaf);
                    if let Some(replaced) = payload.replaces {
                        self.end(replaced, began);
                    }
                    let known = Known {
                        person: actor,
                        role: payload.role,
                        began,
                        recent_until: recent_until(&payload, &created_at),
                        ended: None,
                    };
                    self.by_id.entry(payload.session_id).or_insert(known);
                }
                Ok(_) | Err(_) => self.has_gaps = true,
            },
            // A session that is ended together with the person's others is not named; it counts until its time is over.
            b"\"session.ended\"" => match serde_json::from_slice::<Envelope<SessionEnded>>(bytes) {
                Ok(Envelope { created_at, payload }) => self.end(payload.session_id, Moment::read(&created_at, leaf)),
                Err(_) => self.has_gaps = true,
            },
            _ => {}
        }
    }

    /// Adds an event of the server's log without payload.
    pub(super) fn erased(&mut self, facts: &Facts<'_>) {
        self.has_gaps |= facts.event_type.starts_with(b"\"session.");
    }

    fn end(&mut self, id: SessionId, at: Option<Moment>) {
        if let Some(known) = self.by_id.get_mut(&id) {
            known.ended = known.ended.or(at);
        }
    }

    /// Finds the person who acted by a session.
    ///
    /// # Errors
    ///
    /// The session does not exist, is another person's, or had not begun or had ended.
    pub(super) fn who(&self, id: SessionId, acted: &Acted<'_>) -> Result<Who, Fault> {
        let actor = || quoted(&acted.event.actor, SHOWN_MAX);
        let fault = |text: String| Err(Fault::new(Code::UnknownCredential, text));
        let Some(known) = self.by_id.get(&id) else {
            if self.has_gaps {
                return Ok(Who { principal: acted.stand_in(), doubts: Doubts::from([Doubt::Credential]) });
            }
            return fault(format!("{} acted in a session that the server's log does not know.", actor()));
        };
        if known.person != acted.event.actor {
            let person = quoted(&known.person, SHOWN_MAX);
            return fault(format!("It was made in a session of {person}, and the event names {} as the one who acted.", actor()));
        }
        if known.began.is_some_and(|began| began.is_after(acted.event)) {
            return fault(format!("{} acted in a session that had not begun yet.", actor()));
        }
        if known.ended.is_some_and(|ended| ended.is_before(acted.event)) {
            return fault(format!("{} acted in a session that had ended.", actor()));
        }
        // The role of a person may change during a session. Only an answer says which role it was given with.
        let is_named = matches!(acted.assurance, Assurance::Session | Assurance::RecentLogin | Assurance::Passkey);
        let is_person = matches!(acted.role, Role::Operator | Role::Admin | Role::Auditor);
        let (role, mut doubts) = if is_named && is_person && acted.role != known.role {
            (acted.role, Doubts::from([Doubt::People]))
        } else {
            (known.role, Doubts::new())
        };
        let mut principal = Principal::person(&known.person, role, id);
        if acted.assurance == Assurance::RecentLogin {
            match known.recent_until {
                Some(until) if acted.event.at <= until => {}
                // The clock may have shown an earlier time than the event says.
                Some(_) if !acted.event.is_exact => _ = doubts.insert(Doubt::Clock),
                Some(until) => {
                    return fault(format!(
                        "{} acted after a recent login, and the login was recent until {}.",
                        actor(),
                        rfc3339(until)
                    ));
                }
                None => return fault(format!("{} acted after a recent login, and the session did not begin with one.", actor())),
            }
            principal.assurance = Assurance::RecentLogin;
        }
        Ok(Who { principal, doubts })
    }
}

/// Until when a login counts as recent: only a login by an issuer does, and not for longer after its time than any server lets it. An issuer
/// whose clock is ahead does not make the time longer.
fn recent_until(began: &SessionBegan, created_at: &str) -> Option<DateTime<Utc>> {
    if began.method != Some(LoginMethod::OpenId) {
        return None;
    }
    let logged_in_at = began.auth_time?.min(time::parse(created_at)?);
    let longest = logged_in_at + TimeDelta::seconds((*RECENT_LOGIN_SECONDS.end()).into());
    began.recent_until.filter(|until| *until <= longest)
}
