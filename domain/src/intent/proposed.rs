//! Decides about which action an answer to a question with a proposal is.

use serde_json::{Map, Value};

use crate::problem::Rejection;
use crate::suspension::proposal::{CHANGES_MAX, Named, PROPOSAL, Proposal, action_digest, changes, is_same};
use crate::suspension::quorum::Counted;

type Members = Map<String, Value>;

impl Proposal {
    /// The action about which an answer decides.
    ///
    /// # Errors
    ///
    /// `Invalid` with every place that may not be edited, or that breaks the schema; `ProposalChanged` if another person has edited the
    /// action since it was shown.
    pub fn decided(&self, counted: &[Counted], value: &Value, named: &Named) -> Result<Members, Rejection> {
        let current = self.current(counted);
        let Some(edited) = named.action.as_ref().filter(|edited| !is_same(edited, current)) else {
            let is_named = named.action.is_some() || self.is_refused_by(value);
            return if is_named { Ok(current.clone()) } else { self.shown(current, named).map(|()| current.clone()) };
        };
        if self.is_refused_by(value) {
            // A client may send the action that it was shown along with a refusal.
            if is_same(edited, &self.action) {
                return Ok(current.clone());
            }
            return Err(Rejection::invalid(PROPOSAL, "refused", "must be left out: an answer that refuses edits nothing"));
        }
        self.shown(current, named)?;
        self.check_edit(edited).map_err(|errors| Rejection::Invalid { errors })?;
        Ok(edited.clone())
    }

    /// Refuses an answer to an action that another person has edited since.
    fn shown(&self, current: &Members, named: &Named) -> Result<(), Rejection> {
        let digest = action_digest(current);
        if digest == named.based_on.or_else(|| action_digest(&self.action)) {
            return Ok(());
        }
        let mut changes = changes(&self.action, current);
        changes.truncate(CHANGES_MAX);
        Err(Rejection::ProposalChanged { action_digest: digest.map(|digest| digest.to_string()).unwrap_or_default(), changes })
    }
}
