//! Decides whether a principal may perform an action on an object: the one place for that, behind every surface.

use crate::base::name::is_same;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Asker;

/// The actions that a principal may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Create an intent.
    CreateIntent,
    /// Read one intent or suspension by its id.
    Read,
    /// Read through lists: of intents or questions, the log of an intent, the messages about a question.
    Browse,
    /// Patch the state of an intent.
    PatchState,
    /// Change the status of an intent.
    SetStatus,
    /// Append an event to the log of an intent.
    AppendEvent,
    /// Acquire, renew or release a lease.
    Lease,
    /// Assign an agent to an intent, or take an agent off it.
    Assign,
    /// Ask a question.
    Suspend,
    /// Answer a question.
    Respond,
    /// See which people would be told when, before a question is asked.
    Preview,
    /// Withdraw a question.
    Cancel,
    /// Give people more time for a question.
    Extend,
    /// Tell people of a question again, now.
    Remind,
    /// Create, list, revoke and import keys.
    ManageKeys,
    /// Read the server's own log.
    ReadServerLog,
    /// Read the server's metrics.
    ReadMetrics,
    /// Report that a message came back.
    ReportBounce,
    /// List messages over all questions.
    ReadDeliveries,
    /// Send a failed message again.
    Redrive,
}

impl Action {
    /// All actions, for the generated matrix.
    pub const ALL: [Self; 20] = [
        Self::CreateIntent,
        Self::Read,
        Self::Browse,
        Self::PatchState,
        Self::SetStatus,
        Self::AppendEvent,
        Self::Lease,
        Self::Assign,
        Self::Suspend,
        Self::Respond,
        Self::Preview,
        Self::Cancel,
        Self::Extend,
        Self::Remind,
        Self::ManageKeys,
        Self::ReadServerLog,
        Self::ReadMetrics,
        Self::ReportBounce,
        Self::ReadDeliveries,
        Self::Redrive,
    ];
}

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
        /// The recipients of the question's messages that were handed to a tied gateway.
        handed_for: &'a [String],
    },
}

/// Decides whether `principal` may perform `action` on `object`.
///
/// # Errors
///
/// `NotFound` if the caller may not even read the object; `Forbidden` or `SelfResponse` if it may read but not act.
pub fn authorize(principal: &Principal, action: Action, object: Object<'_>) -> Result<(), Rejection> {
    let mut is_creator = false;
    if let Object::Intent { created_by, assigned, handed_for, .. } = object {
        is_creator = is_same(&created_by.name, &principal.name);
        let is_assigned = assigned.iter().any(|agent_id| principal.may_act_for(agent_id));
        let is_anothers = principal.role == Role::Agent && !is_creator && !is_assigned;
        // A gateway must not see messages that another gateway passes on: the row of a message proves which one it was.
        let was_handed_nothing = principal.tied_to.is_some() && handed_for.is_empty();
        if is_anothers || was_handed_nothing {
            return Err(Rejection::NotFound);
        }
    }
    let allowed = match action {
        Action::Read => true,
        // A gateway gets the ids of the messages it passes on. It must not see others, and neither must a
        // person who breaks into it.
        Action::Browse => principal.role != Role::Channel,
        Action::CreateIntent | Action::PatchState | Action::Lease | Action::Suspend => principal.role == Role::Agent,
        Action::Cancel if principal.role == Role::Agent && !is_creator && !is_asker(principal, object) => {
            return Err(Rejection::others_question());
        }
        Action::SetStatus | Action::Cancel | Action::Assign => matches!(principal.role, Role::Agent | Role::Admin),
        Action::AppendEvent => matches!(principal.role, Role::Agent | Role::Operator),
        // The asker is told the reason: it has the question, so there is nothing to hide.
        Action::Respond if principal.role == Role::Agent => return Err(Rejection::SelfResponse),
        Action::Preview => matches!(principal.role, Role::Agent | Role::Operator | Role::Admin),
        // The asker may not: a deadline that it could move would be no limit for it, and reminders at
        // its will would press people.
        Action::Extend | Action::Remind => matches!(principal.role, Role::Operator | Role::Admin),
        Action::Respond => matches!(principal.role, Role::Operator | Role::Channel),
        Action::ManageKeys | Action::Redrive => principal.role == Role::Admin,
        Action::ReadMetrics | Action::ReadDeliveries | Action::ReadServerLog => {
            matches!(principal.role, Role::Admin | Role::Auditor)
        }
        Action::ReportBounce => principal.role == Role::Channel,
    };
    if !allowed {
        return Err(Rejection::Forbidden { reason: format!("a key with the role {} may not do this", principal.role) });
    }
    if action == Action::Respond
        && let Object::Intent { created_by, asked_by, .. } = object
        && [Some(created_by), asked_by].into_iter().flatten().any(|asker| is_same(asker.owner.as_str(), principal.owner.as_str()))
    {
        return Err(Rejection::SelfResponse);
    }
    Ok(())
}

/// Whether the principal asked the open question, or the one that is named.
fn is_asker(principal: &Principal, object: Object<'_>) -> bool {
    let Object::Intent { asked_by: Some(asker), .. } = object else { return false };
    is_same(&asker.name, &principal.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::name::Owner;
    use crate::people::principal::Assurance;
    use crate::suspension::channel::{EMAIL, Route};

    fn principal(role: Role, name: &str, owner: &str) -> Principal {
        Principal {
            credential: None,
            name: name.into(),
            subject: name.into(),
            owner: Owner(owner.into()),
            role,
            tied_to: None,
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
        let object = Object::Intent { created_by: &owner, asked_by: Some(&owner), assigned: &[], handed_for: &[] };
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
        // Columns: create read browse patch status append lease assign suspend respond preview cancel extend remind keys log metrics bounce deliveries redrive.
        let expected = "\
agent own: yes yes yes yes yes yes yes yes yes self yes yes 403 403 403 403 403 403 403 403
agent sibling: 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404
agent foreign: 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404 404
operator own: 403 yes yes 403 403 yes 403 403 403 self yes 403 yes yes 403 403 403 403 403 403
operator sibling: 403 yes yes 403 403 yes 403 403 403 self yes 403 yes yes 403 403 403 403 403 403
operator foreign: 403 yes yes 403 403 yes 403 403 403 yes yes 403 yes yes 403 403 403 403 403 403
admin own: 403 yes yes 403 yes 403 403 yes 403 403 yes yes yes yes yes yes yes 403 yes yes
admin sibling: 403 yes yes 403 yes 403 403 yes 403 403 yes yes yes yes yes yes yes 403 yes yes
admin foreign: 403 yes yes 403 yes 403 403 yes 403 403 yes yes yes yes yes yes yes 403 yes yes
auditor own: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes 403
auditor sibling: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes 403
auditor foreign: 403 yes yes 403 403 403 403 403 403 403 403 403 403 403 403 yes yes 403 yes 403
channel own: 403 yes 403 403 403 403 403 403 403 self 403 403 403 403 403 403 403 yes 403 403
channel sibling: 403 yes 403 403 403 403 403 403 403 self 403 403 403 403 403 403 403 yes 403 403
channel foreign: 403 yes 403 403 403 403 403 403 403 yes 403 403 403 403 403 403 403 yes 403 403
";
        assert_eq!(table, expected);
    }

    /// A gateway that was broken into must give access only to the messages that it passes on.
    #[test]
    fn a_tied_gateway_reads_and_answers_what_it_was_handed_and_nothing_else() {
        let owner = asker("bot", "team-a");
        let gateway = Principal { tied_to: Some(vec!["pager".into()]), ..principal(Role::Channel, "pager", "ops") };
        let handed = |handed_for| Object::Intent { created_by: &owner, asked_by: Some(&owner), assigned: &[], handed_for };
        let alice = ["alice@example.com".to_owned()];
        for action in Action::ALL {
            assert_eq!(authorize(&gateway, action, handed(&[])), Err(Rejection::NotFound), "{action:?}");
            let expected = matches!(action, Action::Read | Action::Respond | Action::ReportBounce);
            assert_eq!(authorize(&gateway, action, handed(&alice)).is_ok(), expected, "{action:?}");
        }
        let own = Principal { owner: Owner("team-a".into()), ..gateway.clone() };
        assert_eq!(authorize(&own, Action::Respond, handed(&alice)), Err(Rejection::SelfResponse));
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
        Object::Intent { created_by, asked_by, assigned, handed_for: &[] }
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

    /// In keys from before names were normalised, the name is spelled otherwise than people type it today, but
    /// must not be another owner.
    #[test]
    fn an_owner_of_before_is_the_owner_of_today() {
        for (before, today) in [("Team A ", "Team A"), ("Ｏps", "Ops"), ("E\u{301}quipe", "Équipe")] {
            for (asks, answers) in [(before, today), (today, before)] {
                let (theirs, other) = (asker(asks, asks), asker("bot", "team-b"));
                for (created_by, asked_by) in [(&theirs, None), (&other, Some(&theirs)), (&theirs, Some(&other))] {
                    let object = Object::Intent { created_by, asked_by, assigned: &[], handed_for: &[] };
                    let operator = principal(Role::Operator, "alice", answers);
                    assert_eq!(authorize(&operator, Action::Respond, object), Err(Rejection::SelfResponse), "{before}");
                }
                let object = Object::Intent { created_by: &theirs, asked_by: None, assigned: &[], handed_for: &[] };
                assert_eq!(authorize(&principal(Role::Agent, answers, answers), Action::Read, object), Ok(()), "{before}");
            }
        }
    }
}
