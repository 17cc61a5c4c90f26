//! Which answers would be the asker's own, and which are not sure enough.

use domain::base::name::Owner;
use domain::people::answerer::Answerer;
use domain::people::authority::{Action, Demands, Object, Ownership, authorize};
use domain::people::principal::{Assurance, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::assignees::Assignees;
use domain::suspension::{Asker, RequiredAssurance};

fn principal(role: Role, name: &str, owner: &str) -> Principal {
    Principal { role, ..Principal::agent(name, Owner(owner.into())) }
}

fn asker(name: &str, owner: &str) -> Asker {
    Asker { name: name.into(), owner: Owner(owner.into()) }
}

/// A key that has the name or the owner of the asker may not answer, even if the name or the owner is typed in another case:
/// the answer would be the asker's own. The holder of an answer link may have the asker's name.
#[test]
fn a_key_with_the_askers_name_does_not_answer() {
    let (theirs, other) = (asker("Bot", "Team"), asker("else", "team-b"));
    let named =
        |name: &str, subject: &str, owner: &str| Principal { subject: subject.into(), ..principal(Role::Operator, name, owner) };
    for (created_by, asked_by) in [(&theirs, None), (&other, Some(&theirs)), (&theirs, Some(&other))] {
        let object =
            Object::Intent { created_by, asked_by, assigned: &[], entries: &[], handed_for: &[], demands: Demands::default() };
        for who in [named("bot", "alice", "a"), named("alice", "bOT", "a"), named("alice", "alice", "TEAM")] {
            for action in [Action::Respond, Action::Decide] {
                assert_eq!(authorize(&who, action, object), Err(Rejection::SelfResponse), "{who:?}");
            }
        }
        assert_eq!(authorize(&named("bot2", "alice", "a"), Action::Respond, object), Ok(()));
        assert_eq!(authorize(&Principal::link_holder("bot", None), Action::Respond, object), Ok(()));
    }
}

/// Keys from before names were normalised may spell an owner otherwise than people type it today. Both spellings must be one
/// owner.
#[test]
fn an_owner_of_before_is_the_owner_of_today() {
    for (before, today) in [("Team A ", "Team A"), ("Ｏps", "Ops"), ("E\u{301}quipe", "Équipe")] {
        for (asks, answers) in [(before, today), (today, before)] {
            let (theirs, other) = (asker(asks, asks), asker("bot", "team-b"));
            for (created_by, asked_by) in [(&theirs, None), (&other, Some(&theirs)), (&theirs, Some(&other))] {
                let object = Object::Intent {
                    created_by,
                    asked_by,
                    assigned: &[],
                    entries: &[],
                    handed_for: &[],
                    demands: Demands::default(),
                };
                let operator = principal(Role::Operator, "alice", answers);
                assert_eq!(authorize(&operator, Action::Respond, object), Err(Rejection::SelfResponse), "{before}");
            }
            let object = Object::Intent {
                created_by: &theirs,
                asked_by: None,
                assigned: &[],
                entries: &[],
                handed_for: &[],
                demands: Demands::default(),
            };
            assert_eq!(authorize(&principal(Role::Agent, answers, answers), Action::Read, object), Ok(()), "{before}");
        }
    }
}

/// If a question demands a passkey, nothing else may answer it: neither a key, whatever its role, nor a link alone. Everything else
/// that people do with the question stays possible.
#[test]
fn a_question_that_demands_a_passkey_is_answered_by_a_passkey_alone() {
    let owner = asker("bot", "team-a");
    let object = |required| Object::Intent {
        created_by: &owner,
        asked_by: Some(&owner),
        assigned: &[],
        entries: &[],
        handed_for: &[],
        demands: Demands { assurance: required, ..Demands::default() },
    };
    let required = RequiredAssurance::Passkey;
    let too_low = |given| Err(Rejection::AssuranceTooLow { required, given });
    for action in [Action::Respond, Action::Decide] {
        for assurance in [Assurance::EmailLink, Assurance::ApiKey, Assurance::Session, Assurance::Server, Assurance::Local] {
            let operator = Principal { assurance, ..principal(Role::Operator, "alice", "team-b") };
            assert_eq!(
                authorize(&operator, action, object(Some(required))),
                too_low((assurance == Assurance::Session).then_some(RequiredAssurance::Session)),
                "{assurance:?}"
            );
            assert_eq!(authorize(&operator, action, object(None)), Ok(()), "{assurance:?}");
        }
        let gateway = principal(Role::Channel, "chat", "team-b");
        assert_eq!(authorize(&gateway, action, object(Some(required))), too_low(None));
        let signed = Principal { assurance: Assurance::Passkey, ..Principal::link_holder("alice@example.com", None) };
        assert_eq!(authorize(&signed, action, object(Some(required))), Ok(()));
    }
    let operator = principal(Role::Operator, "alice", "team-b");
    for action in [Action::Read, Action::Extend, Action::Remind, Action::RevokeReceipt] {
        assert_eq!(authorize(&operator, action, object(Some(required))), Ok(()), "{action:?}");
    }
    // A passkey does not turn the asker into another person.
    let own = Principal { assurance: Assurance::Passkey, ..principal(Role::Operator, "alice", "team-a") };
    assert_eq!(authorize(&own, Action::Respond, object(Some(required))), Err(Rejection::SelfResponse));
}

/// A question that is assigned is answered for its assignees alone, whatever the role of the caller; and the person behind the asker is
/// refused although the question is assigned to that person.
#[test]
fn an_assigned_question_is_answered_for_its_assignees_alone() {
    let owner = asker("bot", "team-a");
    let assignees = Assignees { groups: vec!["finance".into()], ..Assignees::default() };
    let person = |groups: &[&str], role| Answerer {
        address: "ada@example.com".into(),
        role,
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
    };
    let (member, other) = (person(&["finance"], Role::Operator), person(&["legal"], Role::Operator));
    let auditor = person(&["finance"], Role::Auditor);
    let by = |role| principal(role, "alice", "team-b");
    for (action, role) in [(Action::Respond, Role::Operator), (Action::Decide, Role::Admin), (Action::Respond, Role::Channel)] {
        for (answerer, is_own, expected) in [
            (Some(&member), false, Ok(())),
            (Some(&member), true, Err(Rejection::SelfResponse)),
            (Some(&other), false, Err(Rejection::NotAssigned)),
            (Some(&auditor), false, Err(Rejection::NotAssigned)),
            (None, false, Err(Rejection::NotAssigned)),
        ] {
            let ownership = if is_own { Ownership::Own } else { Ownership::Free };
            let demands = Demands { assignees: Some(&assignees), answerer, ownership, ..Demands::default() };
            let (created_by, asked_by) = (&owner, Some(&owner));
            let object = Object::Intent { created_by, asked_by, assigned: &[], entries: &[], handed_for: &[], demands };
            assert_eq!(authorize(&by(role), action, object), expected, "{role} {answerer:?}");
            assert_eq!(authorize(&by(Role::Operator), Action::Extend, object), Ok(()), "other actions stay possible");
        }
    }
}
