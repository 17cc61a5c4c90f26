//! Decides which principal stops the work on an intent, and which lets it go on: a part of [`crate::people::authority::authorize`].

use crate::base::name::is_same;
use crate::people::access::{Entry, Permission};
use crate::people::action::Action;
use crate::people::own::is_at_one;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::{Asker, Kind};

/// The work on one intent, as the object of an action.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The creator of the intent.
    pub created_by: &'a Asker,
    /// The creator of the parent of the intent; absent if it has no parent.
    pub parent_created_by: Option<&'a Asker>,
    /// The agents that are assigned to the intent.
    pub assigned: &'a [String],
    /// The entries of its access control list that are in force.
    pub entries: &'a [Entry],
    /// The agents' keys by which it is worked on, with their owners; read only for a resumption.
    pub workers: &'a [Asker],
    /// The stop that the action names, open or ended; absent if it names none.
    pub stopped: Option<Stopped<'a>>,
    /// Whether the principal is the person who owns an agent that works on it, and a rule of the operator keeps this person apart from the
    /// agent; read only for a resumption.
    pub is_kept_apart: bool,
}

/// A stop, as far as its end depends on who stopped the intent.
#[derive(Clone, Copy, Debug)]
pub struct Stopped<'a> {
    /// Whether the intent is paused or parked.
    pub kind: Kind,
    /// The credential that stopped it.
    pub by: &'a Asker,
}

/// How a principal stands to the work on an intent.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and several hold at once")]
struct Part {
    /// It is an agent that works on it: it created the intent, is assigned to it, or may write it.
    works: bool,
    /// It is a key of the owner of the agent that created the intent, or has the name of that agent.
    is_at_one: bool,
    /// The same, of any agent that works on the intent.
    is_behind_the_work: bool,
    /// It is the agent that created the parent.
    is_parent: bool,
    is_agent: bool,
    is_person: bool,
}

impl Work<'_> {
    fn part(&self, principal: &Principal) -> Part {
        let is_agent = principal.role == Role::Agent;
        let is_creator = is_same(&self.created_by.name, &principal.name);
        let permission = self.permission(principal);
        Part {
            works: is_agent && (is_creator || permission >= Some(Permission::Write)),
            is_at_one: is_at_one(principal, self.created_by),
            is_behind_the_work: self.workers.iter().any(|worker| is_at_one(principal, worker)),
            is_parent: is_agent && self.parent_created_by.is_some_and(|parent| is_same(&parent.name, &principal.name)),
            is_agent,
            is_person: matches!(principal.role, Role::Operator | Role::Admin),
        }
    }

    /// The permission of an agent by its assignment and by entries.
    fn permission(&self, principal: &Principal) -> Option<Permission> {
        let is_assigned = self.assigned.iter().any(|agent_id| principal.may_act_for(agent_id));
        let entered = self.entries.iter().filter(|entry| entry.admits(principal)).map(|entry| entry.permission);
        entered.chain(is_assigned.then_some(Permission::Write)).max()
    }

    /// Whether an agent or a gateway must not learn that the intent exists.
    fn is_hidden_from(&self, principal: &Principal, part: &Part) -> bool {
        let has_a_part = part.works || part.is_at_one || part.is_parent || self.permission(principal).is_some();
        part.is_agent && !has_a_part || principal.tied_to.is_some()
    }
}

/// Decides whether `principal` may perform `action` on the work of an intent. Where several rules fit, *never* wins, then *yes*.
pub(super) fn authorize(principal: &Principal, action: Action, work: &Work<'_>) -> Result<(), Rejection> {
    let part = work.part(principal);
    if work.is_hidden_from(principal, &part) {
        return Err(Rejection::NotFound);
    }
    let forbidden = |reason: &str| Err(Rejection::Forbidden { reason: reason.to_owned() });
    let kind = work.stopped.map_or(Kind::Paused, |stopped| stopped.kind);
    #[expect(clippy::wildcard_enum_match_arm, reason = "every other action has another object")]
    let allowed = match action {
        Action::Pause if part.works && !part.is_parent => {
            return forbidden("an agent does not pause its own work: it parks it");
        }
        Action::Stop if part.works && !part.is_parent => {
            return forbidden("an agent does not stop its own work: it gives it up with the status abandoned");
        }
        Action::Pause | Action::Stop => part.is_person || part.is_parent || part.is_agent && part.is_at_one,
        Action::Park | Action::Settle => part.works || part.is_agent && part.is_at_one,
        Action::Resume if kind == Kind::Paused && (part.works || part.is_at_one || part.is_behind_the_work) => {
            return forbidden("the agent whose work is paused, and keys of its owner, never resume it");
        }
        Action::Resume if kind == Kind::Paused && work.is_kept_apart => {
            return forbidden("the owner of an agent that is set apart from its owner never resumes its paused work");
        }
        Action::Resume if kind == Kind::Paused => {
            let paused_it = work.stopped.is_some_and(|stopped| is_same(&stopped.by.name, &principal.name));
            part.is_person || part.is_agent && paused_it
        }
        Action::Resume => part.is_person || part.works || part.is_parent || part.is_agent && part.is_at_one,
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    Err(Rejection::Forbidden { reason: format!("a key with the role {} may not do this", principal.role) })
}
