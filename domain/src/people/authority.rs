//! Decides whether a principal may perform an action on an object. The API, the pages and the protocols all ask this module.

use crate::base::name::is_same;
use crate::people::access::{Entry, Permission};
pub use crate::people::action::Action;
use crate::people::answerer::Answerer;
pub(crate) use crate::people::own::{is_at_one, is_named};
use crate::people::principal::{Assurance, Principal, Role};
use crate::people::stopping::{self, Work};
use crate::problem::Rejection;
use crate::suspension::Asker;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::RequiredAssurance;
use crate::suspension::hands::Hands;

/// The object of an action.
#[derive(Clone, Copy, Debug)]
pub enum Object<'a> {
    /// The server as a whole.
    Server,
    /// One intent: its creator, and its asker if a question is open or named.
    Intent {
        /// The creator.
        created_by: &'a Asker,
        /// The asker.
        asked_by: Option<&'a Asker>,
        /// The agents that are assigned to it; needed only if the caller is an agent and not the creator.
        assigned: &'a [String],
        /// The entries of its access control list that are in force; needed in the same case as `assigned`.
        entries: &'a [Entry],
        /// The recipients of the question's messages that were handed to a tied gateway.
        handed_for: &'a [String],
        /// What the question demands of the person who answers it.
        demands: Demands<'a>,
    },
    /// The work on one intent, which can be stopped.
    Work(Work<'a>),
    /// One portfolio.
    Portfolio {
        /// The creator.
        created_by: &'a Asker,
    },
    /// One subscription.
    Subscription {
        /// The creator.
        created_by: &'a Asker,
    },
}

/// What a question demands of the person who answers it, and the person whom the caller stands for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands<'a> {
    /// How sure the server must be of the person; absent if every answer counts.
    pub assurance: Option<RequiredAssurance>,
    /// The people who may answer; absent if the question is assigned to no one in particular.
    pub assignees: Option<&'a Assignees>,
    /// The listed person for whom the caller answers; absent if the caller stands for none.
    pub answerer: Option<&'a Answerer>,
    /// Whose question it is for that person.
    pub ownership: Ownership,
    /// In whose hands the question is; absent if no place was handed on.
    pub hands: Option<&'a Hands>,
    /// The listed people among those whose places were handed on.
    pub holders: &'a [Answerer],
}

/// Whether a person owns the key that asked, as far as the question keeps its owner from answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// The person does not own it, or the question lets its owner answer.
    #[default]
    Free,
    /// The person owns it.
    Own,
    /// The caller stands for no person whom the server knows, so it may stand for the owner.
    Unknown,
}

/// Decides whether `principal` may perform `action` on `object`.
///
/// # Errors
///
/// `NotFound` if the caller may not even read the object; `Forbidden`, `SelfResponse`, `NotAssigned` or `AssuranceTooLow` if it may read
/// but not act.
pub fn authorize(principal: &Principal, action: Action, object: Object<'_>) -> Result<(), Rejection> {
    if let Object::Work(work) = &object {
        return stopping::authorize(principal, action, work);
    }
    let is_creator = seen(principal, action, object)?;
    let [is_admin, is_auditor, is_operator] = [Role::Admin, Role::Auditor, Role::Operator].map(|role| principal.role == role);
    let allowed = match action {
        Action::Read => principal.role != Role::Verifier,
        Action::ReadReceipt => true,
        // A gateway gets the ids of the questions whose messages it passes on. It must not list other ids, and neither must a
        // person who breaks into it: a gateway that is not tied may answer every question whose id it knows.
        Action::Browse | Action::ReadPortfolio | Action::ReadSubscription => {
            !matches!(principal.role, Role::Channel | Role::Verifier)
        }
        Action::ReadTree => principal.role != Role::Channel,
        Action::CreatePortfolio
        | Action::Subscribe
        | Action::JoinPortfolio
        | Action::CreateIntent
        | Action::PatchState
        | Action::Lease
        | Action::Suspend
        | Action::AddDependency
        | Action::WorkOnTask
        | Action::RequestAccess => principal.role == Role::Agent,
        Action::Cancel if principal.role == Role::Agent && !is_creator && !is_asker(principal, object) => {
            return Err(Rejection::others_question());
        }
        // An assigned agent must not lock the creator out, or undo the portfolios that the creator has put together.
        Action::Govern | Action::LeavePortfolio | Action::ChangePortfolio if principal.role == Role::Agent => is_creator,
        Action::SetStatus | Action::RemoveDependency => matches!(principal.role, Role::Agent | Role::Operator | Role::Admin),
        Action::Cancel
        | Action::Assign
        | Action::ManageAccess
        | Action::LeavePortfolio
        | Action::ChangePortfolio
        | Action::Unsubscribe => {
            matches!(principal.role, Role::Agent | Role::Admin)
        }
        Action::AppendEvent => matches!(principal.role, Role::Agent | Role::Operator),
        // An agent that gets here may read the question, so the refusal can say why it must not answer.
        Action::Respond | Action::Decide if principal.role == Role::Agent => return Err(Rejection::SelfResponse),
        Action::Preview | Action::IssueReceipt => matches!(principal.role, Role::Agent | Role::Operator | Role::Admin),
        // No agent may do these, not even the asker: a deadline would be no limit for an agent that could move it, and an agent
        // could press people with reminders. Requests for access are made by agents and decided by people. Only people have a place at a
        // question.
        Action::Extend
        | Action::Remind
        | Action::DecideAccess
        | Action::RevokeReceipt
        | Action::Claim
        | Action::Release
        | Action::Delegate
        | Action::Reassign => is_operator || is_admin,
        Action::Respond => answers(principal),
        // A draft comes from a person, and a gateway speaks for people by its word alone.
        Action::SaveDraft => answers(principal) && principal.role != Role::Channel,
        Action::ReadDrafts => answers(principal) && principal.role != Role::Channel || is_auditor,
        Action::Decide => matches!(principal.role, Role::Operator | Role::Admin | Role::Channel),
        Action::Broadcast | Action::Govern | Action::ManageKeys | Action::Redrive | Action::SignTree | Action::Redact => is_admin,
        Action::ReadMetrics | Action::ReadDeliveries | Action::ReadServerLog | Action::Export => is_admin || is_auditor,
        Action::ReadInbox => matches!(principal.role, Role::Operator | Role::Admin | Role::Auditor),
        Action::ReportBounce => principal.role == Role::Channel,
        Action::FireEvent => matches!(principal.role, Role::Operator | Role::Admin | Role::Channel),
        // A gateway may use a receipt only of a question that it was handed.
        Action::ConsumeReceipt => principal.role == Role::Verifier || principal.tied_to.is_some(),
        // Only the work on an intent is stopped.
        Action::Pause | Action::Park | Action::Settle | Action::Resume | Action::Stop => false,
    };
    if !allowed {
        return Err(Rejection::Forbidden { reason: format!("a key with the role {} may not do this", principal.role) });
    }
    not_its_own(principal, action, object)?;
    meets_demands(principal, action, object)
}

/// Whether the caller created the object. Refuses with `NotFound` if the caller must not learn that the object exists.
fn seen(principal: &Principal, action: Action, object: Object<'_>) -> Result<bool, Rejection> {
    let mut is_creator = false;
    if let Object::Intent { created_by, handed_for, .. } = object {
        is_creator = is_same(&created_by.name, &principal.name);
        let permission = permission(principal, object);
        // An agent may ask for access to an intent that it may not read.
        let is_hidden = permission.is_none() && action != Action::RequestAccess;
        let is_anothers = principal.role == Role::Agent && !is_creator && is_hidden;
        // A tied gateway may see a question only if it was handed a message about that question. The row of each message names
        // the channel, and so the gateways that were handed it.
        let was_handed_nothing = principal.tied_to.is_some() && handed_for.is_empty();
        if is_anothers || was_handed_nothing {
            return Err(Rejection::NotFound);
        }
        if principal.role == Role::Agent && !is_creator {
            within(permission, is_assigned(principal, object), action)?;
        }
    }
    if let Object::Portfolio { created_by } | Object::Subscription { created_by } = object {
        is_creator = is_same(&created_by.name, &principal.name);
        // A portfolio or subscription has no assigned agents and no entries: only its creator and people may read it.
        if principal.tied_to.is_some() || principal.role == Role::Agent && !is_creator {
            return Err(Rejection::NotFound);
        }
    }
    Ok(is_creator)
}

/// Whether the role answers questions. An admin's key manages the server. An admin who has logged in is a person, and answers as one.
fn answers(principal: &Principal) -> bool {
    let is_person = principal.role == Role::Admin && principal.session_id().is_some();
    is_person || matches!(principal.role, Role::Operator | Role::Channel)
}

/// Refuses an answer, or a change of the hands in which a question is, that does not meet the demands of the question.
fn meets_demands(principal: &Principal, action: Action, object: Object<'_>) -> Result<(), Rejection> {
    let Object::Intent { demands, .. } = object else { return Ok(()) };
    if !is_about_an_answer(action) {
        return Ok(());
    }
    // An admin decides who is in a group, and so who answers.
    let is_admins = action == Action::Reassign && principal.decides_who_answers();
    // An auditor reads, and answers nothing.
    let is_auditors = action == Action::ReadDrafts && principal.role == Role::Auditor;
    let assignees = demands.assignees.filter(|_| !is_admins && !is_auditors);
    Demands { assignees, ..demands }.are_met_by_person()?;
    if matches!(action, Action::Respond | Action::Decide) {
        return demands.are_met_by(principal);
    }
    // A passkey signs an answer, and these are none. The person has to be known all the same: otherwise a stolen link could choose another
    // answerer.
    let prepares = matches!(action, Action::SaveDraft | Action::ReadDrafts) && !is_auditors;
    if prepares || matches!(action, Action::Delegate | Action::Reassign) {
        let assurance = demands.assurance.map(|_| RequiredAssurance::Session);
        return Demands { assurance, ..demands }.are_met_by(principal);
    }
    Ok(())
}

/// Whether an action answers a question, prepares an answer, or changes who answers.
fn is_about_an_answer(action: Action) -> bool {
    matches!(
        action,
        Action::Respond
            | Action::Decide
            | Action::Claim
            | Action::Delegate
            | Action::Reassign
            | Action::SaveDraft
            | Action::ReadDrafts
    )
}

impl Demands<'_> {
    /// The person whose place the answerer takes; `None` if the answerer has none.
    pub fn place(&self) -> Option<&str> {
        let (assignees, answerer) = (self.assignees?, self.answerer?);
        match self.hands {
            Some(hands) => hands.place_of(answerer, assignees, self.holders),
            None => answerer.is_among(assignees).then_some(answerer.address.as_str()),
        }
    }

    /// Refuses the person behind the asker, and a person without a place in the question.
    fn are_met_by_person(&self) -> Result<(), Rejection> {
        match self.ownership {
            Ownership::Free => {}
            Ownership::Own => return Err(Rejection::SelfResponse),
            Ownership::Unknown => {
                let reason = "the owner of the key that asked may not answer, and the server cannot tell whether this gateway, which is tied to no channels, answers for the owner";
                return Err(Rejection::Forbidden { reason: reason.to_owned() });
            }
        }
        if self.assignees.is_some() && self.place().is_none() {
            return Err(Rejection::NotAssigned);
        }
        Ok(())
    }

    /// Refuses an answer with too little assurance.
    fn are_met_by(&self, principal: &Principal) -> Result<(), Rejection> {
        match self.assurance {
            Some(required) if given(principal.assurance) < Some(required) => {
                Err(Rejection::AssuranceTooLow { required, given: given(principal.assurance) })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The demand that an assurance meets; `None` if it meets none. A key proves that a program has the key, and not that a person is there.
fn given(assurance: Assurance) -> Option<RequiredAssurance> {
    match assurance {
        Assurance::EmailLink | Assurance::ApiKey | Assurance::Server | Assurance::Local => None,
        Assurance::Session => Some(RequiredAssurance::Session),
        Assurance::RecentLogin => Some(RequiredAssurance::RecentLogin),
        Assurance::Passkey => Some(RequiredAssurance::Passkey),
    }
}

/// Refuses to let an agent, or a key of its owner, answer the agent's question or use the receipt of an answer to it.
fn not_its_own(principal: &Principal, action: Action, object: Object<'_>) -> Result<(), Rejection> {
    if (is_about_an_answer(action) || action == Action::ConsumeReceipt)
        && let Object::Intent { created_by, asked_by, .. } = object
        && [Some(created_by), asked_by].into_iter().flatten().any(|asker| is_at_one(principal, asker))
    {
        if action != Action::ConsumeReceipt {
            return Err(Rejection::SelfResponse);
        }
        let reason = "the agent that asked, the agent that created the intent, and keys of their owners may not use its receipts";
        return Err(Rejection::Forbidden { reason: reason.to_owned() });
    }
    Ok(())
}

/// Whether an agent is assigned to the intent.
fn is_assigned(principal: &Principal, object: Object<'_>) -> bool {
    let Object::Intent { assigned, .. } = object else { return false };
    assigned.iter().any(|agent_id| principal.may_act_for(agent_id))
}

/// The permission of an agent that did not create the intent: an assigned agent may write, and an entry gives its own permission.
/// The highest of these counts.
fn permission(principal: &Principal, object: Object<'_>) -> Option<Permission> {
    let Object::Intent { entries, .. } = object else { return None };
    let entered = entries.iter().filter(|entry| entry.admits(principal)).map(|entry| entry.permission);
    entered.chain(is_assigned(principal, object).then_some(Permission::Write)).max()
}

/// Refuses an action for which an agent needs a higher permission than it has. [`authorize`] then judges the action by the role:
/// whatever permission an agent has, it may not change the policy of an intent that it did not create, or decide about a request.
fn within(permission: Option<Permission>, is_assigned: bool, action: Action) -> Result<(), Rejection> {
    let least = match action {
        Action::RequestAccess => None,
        Action::CreateIntent
        | Action::Read
        | Action::Browse
        | Action::Respond
        | Action::Decide
        | Action::Claim
        | Action::Release
        | Action::Delegate
        | Action::Reassign
        | Action::SaveDraft
        | Action::ReadDrafts
        | Action::Pause
        | Action::Resume
        | Action::Stop
        | Action::Broadcast
        | Action::FireEvent
        | Action::DecideAccess
        | Action::Govern
        | Action::Preview
        | Action::Extend
        | Action::Remind
        | Action::ManageKeys
        | Action::ReadServerLog
        | Action::ReadTree
        | Action::SignTree
        | Action::Export
        | Action::ReadMetrics
        | Action::ReportBounce
        | Action::ReadDeliveries
        | Action::Redrive
        | Action::IssueReceipt
        | Action::ReadReceipt
        | Action::ConsumeReceipt
        | Action::RevokeReceipt
        | Action::Redact
        | Action::ReadInbox
        | Action::LeavePortfolio
        | Action::CreatePortfolio
        | Action::ReadPortfolio
        | Action::ChangePortfolio
        | Action::Subscribe
        | Action::ReadSubscription
        | Action::Unsubscribe => Some(Permission::Read),
        Action::PatchState
        | Action::SetStatus
        | Action::AppendEvent
        | Action::Lease
        | Action::Suspend
        | Action::Cancel
        | Action::Park
        | Action::Settle
        | Action::AddDependency
        | Action::RemoveDependency
        | Action::WorkOnTask
        | Action::JoinPortfolio => Some(Permission::Write),
        // An assigned agent may hand its work on. An agent with an entry would give access by assigning, so it needs `Admin`.
        Action::Assign if is_assigned => Some(Permission::Write),
        Action::Assign | Action::ManageAccess => Some(Permission::Admin),
    };
    match least {
        Some(least) if permission < Some(least) => {
            Err(Rejection::Forbidden { reason: format!("this needs the permission {} for the intent", least.as_str()) })
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether the principal asked the open question, or the one that is named.
fn is_asker(principal: &Principal, object: Object<'_>) -> bool {
    let Object::Intent { asked_by: Some(asker), .. } = object else { return false };
    is_same(&asker.name, &principal.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::AccessId;
    use crate::base::name::Owner;
    use crate::suspension::channel::{EMAIL, Route};

    fn principal(role: Role, name: &str, owner: &str) -> Principal {
        Principal {
            credential: None,
            name: name.into(),
            subject: name.into(),
            owner: Owner(owner.into()),
            role,
            tied_to: None,
            client: None,
            assurance: Assurance::ApiKey,
        }
    }

    fn asker(name: &str, owner: &str) -> Asker {
        Asker { name: name.into(), owner: Owner(owner.into()) }
    }

    /// The whole matrix: if a cell changes, a principal may do something that it should not.
    #[test]
    fn the_matrix_of_roles_and_actions_is_this_one() {
        let owner = asker("bot", "team-a");
        let object = Object::Intent {
            created_by: &owner,
            asked_by: Some(&owner),
            assigned: &[],
            entries: &[],
            handed_for: &[],
            demands: Demands::default(),
        };
        let mut table = String::new();
        for role in Role::ALL {
            for (whose, name, owner) in [("own", "bot", "team-a"), ("sibling", "other", "team-a"), ("foreign", "other", "team-b")]
            {
                let who = principal(role, name, owner);
                let cells: Vec<&str> = Action::ALL
                    .into_iter()
                    .map(|action| match authorize(&who, action, object) {
                        Ok(()) => "yes",
                        Err(Rejection::NotFound) => "404",
                        Err(Rejection::SelfResponse) => "self",
                        Err(_) => "403",
                    })
                    .collect();
                table += &[role.as_str(), " ", whose, ": ", &cells.join(" "), "\n"].concat();
            }
        }
        // Columns: create read browse patch status append lease assign acl request-access decide-access govern suspend respond decide preview cancel extend remind keys log tree sign export metrics bounce deliveries redrive; of portfolios: join leave create read change; of subscriptions: create read end; of dependencies: add remove; of tasks: work; of receipts: issue read consume revoke; redact inbox; of hands: claim release delegate reassign; of drafts: save read; of work, which is another object: pause settle resume park; of events: fire; of work again: stop; broadcast.
        let expected = "\
agent own: yes yes yes yes yes yes yes yes yes yes 403 yes yes self self yes yes 403 403 403 403 yes 403 403 403 403 403 403 yes yes yes yes yes yes yes yes yes yes yes yes yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403
agent sibling: 404 404 404 404 404 404 404 404 404 yes 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404
agent foreign: 404 404 404 404 404 404 404 404 404 yes 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404
operator own: 403 yes yes 403 yes yes 403 403 403 403 yes 403 403 self self yes 403 yes yes 403 403 yes 403 403 403 403 403 403 403 403 403 yes 403 403 yes 403 403 yes 403 yes yes 403 yes 403 yes self yes self self self self 403 403 403 403 yes 403 403
operator sibling: 403 yes yes 403 yes yes 403 403 403 403 yes 403 403 self self yes 403 yes yes 403 403 yes 403 403 403 403 403 403 403 403 403 yes 403 403 yes 403 403 yes 403 yes yes 403 yes 403 yes self yes self self self self 403 403 403 403 yes 403 403
operator foreign: 403 yes yes 403 yes yes 403 403 403 403 yes 403 403 yes yes yes 403 yes yes 403 403 yes 403 403 403 403 403 403 403 403 403 yes 403 403 yes 403 403 yes 403 yes yes 403 yes 403 yes yes yes yes yes yes yes 403 403 403 403 yes 403 403
admin own: 403 yes yes 403 yes 403 403 yes yes 403 yes yes 403 403 self yes yes yes yes yes yes yes yes yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes yes self yes self self 403 403 403 403 403 403 yes 403 yes
admin sibling: 403 yes yes 403 yes 403 403 yes yes 403 yes yes 403 403 self yes yes yes yes yes yes yes yes yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes yes self yes self self 403 403 403 403 403 403 yes 403 yes
admin foreign: 403 yes yes 403 yes 403 403 yes yes 403 yes yes 403 403 yes yes yes yes yes yes yes yes yes yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes 403 yes 403 yes yes 403 yes yes yes yes yes yes yes 403 403 403 403 403 403 yes 403 yes
auditor own: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes yes 403 yes 403 403 403 403 yes 403 403 yes 403 403 403 403 403 yes 403 403 403 yes 403 403 403 403 403 self 403 403 403 403 403 403 403
auditor sibling: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes yes 403 yes 403 403 403 403 yes 403 403 yes 403 403 403 403 403 yes 403 403 403 yes 403 403 403 403 403 self 403 403 403 403 403 403 403
auditor foreign: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes yes 403 yes 403 403 403 403 yes 403 403 yes 403 403 403 403 403 yes 403 403 403 yes 403 403 403 403 403 yes 403 403 403 403 403 403 403
channel own: 403 yes 403 403 403 403 403 403 403 403 403 403 403 self self 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403
channel sibling: 403 yes 403 403 403 403 403 403 403 403 403 403 403 self self 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403
channel foreign: 403 yes 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403
verifier own: 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403
verifier sibling: 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403
verifier foreign: 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403 403
";
        assert_eq!(table, expected);
    }

    /// The same for portfolios: an agent has its own, people read all, and admins end them.
    #[test]
    fn the_matrix_of_roles_and_portfolios_is_this_one() {
        let owner = asker("bot", "team-a");
        let object = Object::Portfolio { created_by: &owner };
        let actions = [Action::ReadPortfolio, Action::ChangePortfolio, Action::JoinPortfolio, Action::LeavePortfolio];
        let mut table = String::new();
        for role in Role::ALL {
            for (whose, name, owner) in [("own", "bot", "team-a"), ("sibling", "other", "team-a"), ("foreign", "other", "team-b")]
            {
                let who = principal(role, name, owner);
                let cells = actions.map(|action| match authorize(&who, action, object) {
                    Ok(()) => "yes",
                    Err(Rejection::NotFound) => "404",
                    Err(_) => "403",
                });
                table += &[role.as_str(), " ", whose, ": ", &cells.join(" "), "\n"].concat();
            }
        }
        // Columns: read change join leave.
        let expected = "\
agent own: yes yes yes yes
agent sibling: 404 404 404 404
agent foreign: 404 404 404 404
operator own: yes 403 403 403
operator sibling: yes 403 403 403
operator foreign: yes 403 403 403
admin own: yes yes 403 yes
admin sibling: yes yes 403 yes
admin foreign: yes yes 403 yes
auditor own: yes 403 403 403
auditor sibling: yes 403 403 403
auditor foreign: yes 403 403 403
channel own: 403 403 403 403
channel sibling: 403 403 403 403
channel foreign: 403 403 403 403
verifier own: 403 403 403 403
verifier sibling: 403 403 403 403
verifier foreign: 403 403 403 403
";
        assert_eq!(table, expected);
        let tied = Principal { tied_to: Some(vec!["pager".into()]), ..principal(Role::Channel, "pager", "ops") };
        assert!(actions.iter().all(|action| authorize(&tied, *action, object) == Err(Rejection::NotFound)));
    }

    /// The same for subscriptions: an agent has its own, people read all, and admins end them.
    #[test]
    fn the_matrix_of_roles_and_subscriptions_is_this_one() {
        let owner = asker("bot", "team-a");
        let object = Object::Subscription { created_by: &owner };
        let cells = |role, name: &str| {
            let who = principal(role, name, "team-a");
            [Action::ReadSubscription, Action::Unsubscribe].map(|action| match authorize(&who, action, object) {
                Ok(()) => "yes",
                Err(Rejection::NotFound) => "404",
                Err(_) => "403",
            })
        };
        assert_eq!(cells(Role::Agent, "bot"), ["yes", "yes"]);
        assert_eq!(cells(Role::Agent, "other"), ["404", "404"]);
        for name in ["bot", "other"] {
            assert_eq!(cells(Role::Admin, name), ["yes", "yes"]);
            assert_eq!([cells(Role::Operator, name), cells(Role::Auditor, name)], [["yes", "403"]; 2]);
            assert_eq!(cells(Role::Channel, name), ["403", "403"]);
        }
    }

    /// A gateway that was broken into must give access only to the messages that it passes on.
    #[test]
    fn a_tied_gateway_reads_and_answers_what_it_was_handed_and_nothing_else() {
        let owner = asker("bot", "team-a");
        let gateway = Principal { tied_to: Some(vec!["pager".into()]), ..principal(Role::Channel, "pager", "ops") };
        let handed = |handed_for| Object::Intent {
            created_by: &owner,
            asked_by: Some(&owner),
            assigned: &[],
            entries: &[],
            handed_for,
            demands: Demands::default(),
        };
        let alice = ["alice@example.com".to_owned()];
        for action in Action::ALL {
            assert_eq!(authorize(&gateway, action, handed(&[])), Err(Rejection::NotFound), "{action:?}");
            let expected = [
                Action::Read,
                Action::Respond,
                Action::Decide,
                Action::ReportBounce,
                Action::ReadReceipt,
                Action::ConsumeReceipt,
                Action::FireEvent,
            ]
            .contains(&action);
            assert_eq!(authorize(&gateway, action, handed(&alice)).is_ok(), expected, "{action:?}");
        }
        let own = Principal { owner: Owner("team-a".into()), ..gateway.clone() };
        assert_eq!(authorize(&own, Action::Respond, handed(&alice)), Err(Rejection::SelfResponse));
        assert!(authorize(&own, Action::ConsumeReceipt, handed(&alice)).is_err());
        let route = |channel| Route { channel, recipient: "alice@example.com" };
        assert!(gateway.is_handed(&route("pager")) && !gateway.is_handed(&route("room")) && !gateway.is_handed(&route(EMAIL)));
        let mail = Principal { tied_to: Some(vec![EMAIL.into()]), ..gateway };
        assert!(mail.reports_on(EMAIL) && !mail.reports_on("pager") && !mail.is_handed(&route(EMAIL)));
    }

    #[test]
    fn a_key_acts_for_itself_and_names_below_it_only() {
        let key = principal(Role::Agent, "bot", "team-a");
        for (agent_id, allowed) in
            [("bot", true), ("bot/1", true), ("bot/", false), ("bottom", false), ("other", false), ("", false)]
        {
            assert_eq!(key.may_act_for(agent_id), allowed, "{agent_id}");
        }
        let before = principal(Role::Agent, "Ｂot ", "team-a");
        assert!(before.may_act_for("Bot") && before.may_act_for("Bot/1") && !before.may_act_for("bot"));
    }

    fn object<'a>(created_by: &'a Asker, asked_by: Option<&'a Asker>, assigned: &'a [String]) -> Object<'a> {
        Object::Intent { created_by, asked_by, assigned, entries: &[], handed_for: &[], demands: Demands::default() }
    }

    /// An assigned agent works on the intent of another, and has no power over that agent's questions.
    #[test]
    fn an_assigned_agent_works_on_the_intent_and_withdraws_its_own_questions_only() {
        let (creator, helper) = (asker("bot", "team-a"), asker("helper", "team-b"));
        let agent = principal(Role::Agent, "helper", "team-b");
        let works = [
            Action::Read,
            Action::Browse,
            Action::PatchState,
            Action::SetStatus,
            Action::AppendEvent,
            Action::Lease,
            Action::Assign,
            Action::Suspend,
        ];
        for assigned in ["helper", "helper/1"] {
            let assigned = [assigned.to_owned()];
            for action in works {
                assert_eq!(authorize(&agent, action, object(&creator, Some(&creator), &assigned)), Ok(()), "{action:?}");
            }
            let cancel = |asked_by| authorize(&agent, Action::Cancel, object(&creator, asked_by, &assigned));
            assert!(cancel(Some(&helper)).is_ok() && cancel(Some(&creator)).is_err() && cancel(None).is_err());
            assert_eq!(
                authorize(&agent, Action::Respond, object(&creator, Some(&creator), &assigned)),
                Err(Rejection::SelfResponse)
            );
        }
        for others in [["helpe".to_owned()], ["helper2".to_owned()], ["other/helper".to_owned()]] {
            assert_eq!(authorize(&agent, Action::Read, object(&creator, None, &others)), Err(Rejection::NotFound), "{others:?}");
        }
    }

    /// Each permission of an entry gives the rights of the lower ones and some more. None of them lets an agent answer a
    /// question, move its deadline, remind people of it, or withdraw the question of another agent.
    #[test]
    fn an_entry_gives_an_agent_the_rights_of_its_permission() {
        let (creator, own) = (asker("bot", "team-a"), asker("helper", "team-b"));
        let agent = principal(Role::Agent, "helper", "team-b");
        let entries = |principal_id: &str, permission| {
            [Entry { id: AccessId(uuid::Uuid::nil()), principal_id: principal_id.into(), permission, expires_at: None }]
        };
        let may = |who: &Principal, action, entries: &[Entry], assigned: &[String], asked_by| {
            let (created_by, demands) = (&creator, Demands::default());
            authorize(who, action, Object::Intent { created_by, asked_by, assigned, entries, handed_for: &[], demands })
        };
        let everywhere = [
            Action::CreateIntent,
            Action::CreatePortfolio,
            Action::ReadPortfolio,
            Action::ReadSubscription,
            Action::Unsubscribe,
            Action::ReadTree,
        ];
        let reads = [
            Action::Read,
            Action::Browse,
            Action::RequestAccess,
            Action::Preview,
            Action::Subscribe,
            Action::IssueReceipt,
            Action::ReadReceipt,
        ];
        let works = [
            Action::PatchState,
            Action::SetStatus,
            Action::AppendEvent,
            Action::Lease,
            Action::Suspend,
            Action::JoinPortfolio,
            Action::AddDependency,
            Action::RemoveDependency,
            Action::WorkOnTask,
        ];
        let manages = [Action::Assign, Action::ManageAccess];
        for permission in Permission::ALL {
            let entries = entries("helper", permission);
            for action in Action::ALL {
                let expected = everywhere.contains(&action)
                    || reads.contains(&action)
                    || (permission >= Permission::Write && works.contains(&action))
                    || (permission == Permission::Admin && manages.contains(&action));
                let result = may(&agent, action, &entries, &[], Some(&creator));
                assert_eq!(result.is_ok(), expected, "{permission:?} {action:?}: {result:?}");
                assert_ne!(result, Err(Rejection::NotFound), "{permission:?} {action:?}");
            }
            let cancels = may(&agent, Action::Cancel, &entries, &[], Some(&own));
            assert_eq!(cancels.is_ok(), permission >= Permission::Write, "{permission:?}");
            // An entry gives nothing to a key of another role that has the agent's name.
            for role in Role::ALL.into_iter().filter(|role| *role != Role::Agent) {
                let who = principal(role, "helper", "team-b");
                for action in Action::ALL {
                    assert_eq!(may(&who, action, &entries, &[], None), may(&who, action, &[], &[], None), "{role} {action:?}");
                }
            }
        }
        let assigned = ["helper".to_owned()];
        let both = entries("helper", Permission::Read);
        assert!(
            may(&agent, Action::Lease, &both, &assigned, None).is_ok()
                && may(&agent, Action::Assign, &both, &assigned, None).is_ok()
        );
        assert!(may(&agent, Action::ManageAccess, &both, &assigned, None).is_err());
        assert_eq!(may(&agent, Action::Read, &entries("helpe", Permission::Admin), &[], None), Err(Rejection::NotFound));
    }
}
