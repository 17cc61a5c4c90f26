//! Who may answer: every route to an answer, beside everything that a question can demand. `authority.txt` has the expected table.

use domain::base::ids::{AccessId, DeliveryId, KeyId, SessionId};
use domain::base::name::Owner;
use domain::people::access::{Entry, Permission};
use domain::people::answerer::{Answerer, answers_for};
use domain::people::authority::{Action, Demands, Object, Ownership, authorize};
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::people::stopping::{Stopped, Work};
use domain::problem::Rejection;
use domain::suspension::assignees::{AssignedRole, Assignees};
use domain::suspension::hands::{Handed, Hands};
use domain::suspension::{Asker, Kind, RequiredAssurance};
use uuid::Uuid;

const GOLDEN: &str = include_str!("authority.txt");
const ADA: &str = "ada@example.com";

/// A route by which an answer for Ada can come. The key of a route has this owner.
fn routes(owner: &str) -> Vec<(&'static str, Principal)> {
    let key = |role: Role| Principal {
        role,
        credential: Some(Credential::ApiKey(KeyId(Uuid::from_u128(1)))),
        subject: ADA.into(),
        ..Principal::agent(&format!("{role}-key"), Owner(owner.into()))
    };
    let link = Principal::link_holder(ADA, Some(DeliveryId(Uuid::from_u128(2))));
    vec![
        ("link", link.clone()),
        ("link and passkey", Principal { assurance: Assurance::Passkey, ..link }),
        ("session of an operator", Principal::person(ADA, Role::Operator, SessionId(Uuid::from_u128(3)))),
        ("session of an auditor", Principal::person(ADA, Role::Auditor, SessionId(Uuid::from_u128(3)))),
        ("key of an operator", key(Role::Operator)),
        ("key of an admin", key(Role::Admin)),
        ("key of an auditor", key(Role::Auditor)),
        ("key of a verifier", key(Role::Verifier)),
        ("key of an agent", key(Role::Agent)),
        ("gateway tied to channels", Principal { tied_to: Some(vec!["pager".into()]), ..key(Role::Channel) }),
        ("gateway tied to none", key(Role::Channel)),
    ]
}

/// The people to whom the question is assigned, and Ada as the directory knows her.
fn assignments() -> Vec<(&'static str, Option<Assignees>, Option<Answerer>)> {
    let ada = |role, groups: &[&str]| {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Some(Answerer { address: ADA.into(), role, groups })
    };
    let finance = Assignees { groups: vec!["finance".into()], ..Assignees::default() };
    let named = Assignees { people: vec![ADA.into()], ..Assignees::default() };
    let admins = Assignees { roles: vec![AssignedRole::Admin], ..Assignees::default() };
    vec![
        ("to no one in particular", None, None),
        ("to her by name", Some(named.clone()), ada(Role::Operator, &[])),
        ("to her group", Some(finance.clone()), ada(Role::Operator, &["finance"])),
        ("to another group", Some(finance.clone()), ada(Role::Operator, &["legal"])),
        ("to admins, and she is none", Some(admins), ada(Role::Operator, &[])),
        ("to her group, and she is an auditor", Some(finance), ada(Role::Auditor, &["finance"])),
        ("to her by name, and she is not listed any more", Some(named), None),
    ]
}

fn verdict(result: Result<(), Rejection>) -> &'static str {
    match result {
        Ok(()) => "yes",
        Err(rejection) => rejection.entry().code,
    }
}

/// Places that were handed on, and Ada and Bob as the directory knows them: the places, the assignees, Ada, and Bob.
type Place = (&'static str, Vec<[&'static str; 3]>, Assignees, Option<Answerer>, Option<Answerer>);

const BOB: &str = "bob@example.com";

fn places() -> Vec<Place> {
    let person = |address: &str, role| Some(Answerer { address: address.into(), role, groups: vec!["finance".into()] });
    let (ada, bob) = (person(ADA, Role::Operator), person(BOB, Role::Operator));
    let named = Assignees { people: vec![BOB.into()], ..Assignees::default() };
    let both = Assignees { people: vec![ADA.into(), BOB.into()], ..Assignees::default() };
    let legal = Assignees { groups: vec!["legal".into()], ..Assignees::default() };
    let to_ada = vec![[BOB, BOB, ADA]];
    vec![
        ("she has Bob's place", to_ada.clone(), named.clone(), ada.clone(), bob.clone()),
        (
            "she had Bob's place, and handed it on",
            vec![[BOB, BOB, ADA], [BOB, ADA, "cleo@example.com"]],
            named.clone(),
            ada.clone(),
            bob.clone(),
        ),
        ("she handed her own place on", vec![[ADA, ADA, BOB]], both, ada.clone(), bob.clone()),
        ("she has Bob's place, and Bob is not listed any more", to_ada.clone(), named.clone(), ada.clone(), None),
        ("she has Bob's place, and Bob is an auditor", to_ada.clone(), named.clone(), ada.clone(), person(BOB, Role::Auditor)),
        ("she has Bob's place, and is an auditor", to_ada.clone(), named.clone(), person(ADA, Role::Auditor), bob.clone()),
        ("she has Bob's place, and is not listed any more", to_ada.clone(), named, None, bob.clone()),
        ("she has a place that Bob had by a group", to_ada, legal, ada, bob),
    ]
}

/// The lines about places that were handed on, and about those who may change who answers: the verdicts for an answer, a claim, a delegation
/// and a reassignment, on a question that one answer decides and on one that needs a quorum.
fn table_of_hands() -> (usize, String) {
    let asker = &Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let (mut cases, mut lines) = (0, Vec::new());
    let plain = assignments()
        .into_iter()
        .map(|(assigned, assignees, listed)| (format!("assigned {assigned}"), Hands::default(), assignees, listed, None));
    let handed = places().into_iter().map(|(place, handed, assignees, ada, bob)| {
        let handed = handed.into_iter().map(|[place, from, to]| Handed { place: place.into(), from: from.into(), to: to.into() });
        (place.to_owned(), Hands { handed: handed.collect(), ..Hands::default() }, Some(assignees), ada, bob)
    });
    let places: Vec<_> = plain.chain(handed).collect();
    for (whose, owner, is_own) in
        [("another owner", "team-b", false), ("the asker's owner", "team-a", false), ("the asker's person", "team-b", true)]
    {
        for (route, principal) in routes(owner).into_iter().chain(sessions()) {
            for (place, hands, assignees, listed, bob) in &places {
                let known = answers_for(&principal, Some(ADA)).is_some_and(|address| address == ADA);
                let (answerer, holders) = (listed.as_ref().filter(|_| known), bob.as_slice());
                let mut cells = Vec::new();
                for action in [Action::Respond, Action::Claim, Action::Delegate, Action::Reassign] {
                    for has_quorum in [false, true] {
                        let is_own = is_own && (has_quorum || action == Action::Reassign);
                        let (assignees, hands) = (assignees.as_ref(), Some(hands));
                        let ownership = if is_own { Ownership::Own } else { Ownership::Free };
                        let demands = Demands { assurance: None, assignees, answerer, ownership, hands, holders };
                        let (asked_by, handed_for) = (Some(asker), &[ADA.to_owned()][..]);
                        let object =
                            Object::Intent { created_by: asker, asked_by, assigned: &[], entries: &[], handed_for, demands };
                        cells.push(verdict(authorize(&principal, action, object)));
                        cases += 1;
                    }
                }
                lines.push(format!("{route}; {whose}; {place}; hands: {}", cells.join(" ")));
            }
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// The table: one line for a route, an owner and an assignment; in it, the verdicts without and with a demanded passkey, on a question that
/// one answer decides and on one that needs a quorum, for answers and for decisions of requests.
fn table() -> (usize, String) {
    let asker = Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let (mut cases, mut lines) = (0, Vec::new());
    for (whose, owner, is_own) in
        [("another owner", "team-b", false), ("the asker's owner", "team-a", false), ("the asker's person", "team-b", true)]
    {
        for (route, principal) in routes(owner) {
            for (assigned, assignees, listed) in &assignments() {
                let known = answers_for(&principal, Some(ADA)).is_some_and(|address| address == ADA);
                let answerer = listed.as_ref().filter(|_| known);
                let mut cells = Vec::new();
                for action in [Action::Respond, Action::Decide] {
                    for assurance in [None, Some(RequiredAssurance::Passkey)] {
                        for has_quorum in [false, true] {
                            let ownership = if is_own && has_quorum { Ownership::Own } else { Ownership::Free };
                            let demands =
                                Demands { assurance, assignees: assignees.as_ref(), answerer, ownership, ..Demands::default() };
                            let (asked_by, handed_for) = (Some(&asker), &[ADA.to_owned()][..]);
                            let object =
                                Object::Intent { created_by: &asker, asked_by, assigned: &[], entries: &[], handed_for, demands };
                            cells.push(verdict(authorize(&principal, action, object)));
                            cases += 1;
                        }
                    }
                }
                lines.push(format!("{route}; {whose}; assigned {assigned}: {}", cells.join(" ")));
            }
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// The routes of people who have logged in, beside those of [`routes`].
fn sessions() -> Vec<(&'static str, Principal)> {
    let session = |role| Principal::person(ADA, role, SessionId(Uuid::from_u128(4)));
    let signed = |role| Principal { assurance: Assurance::Passkey, ..session(role) };
    vec![
        ("session of an admin", session(Role::Admin)),
        ("session and passkey of an operator", signed(Role::Operator)),
        ("session and passkey of an admin", signed(Role::Admin)),
        ("session and passkey of an auditor", signed(Role::Auditor)),
    ]
}

/// The second table, of floors: one line for a route, an owner and an assignment; in it, for answers and for decisions of requests, the
/// verdicts without a floor, with one that needs a login, and with one that needs a passkey; first where the question keeps no owner from
/// answering, and then where it keeps the owner of the asking key from it.
fn table_of_floors() -> (usize, String) {
    let asker = Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let (mut cases, mut lines) = (0, Vec::new());
    for (whose, owner, is_own) in
        [("another owner", "team-b", false), ("the asker's owner", "team-a", false), ("the asker's person", "team-b", true)]
    {
        for (route, principal) in routes(owner).into_iter().chain(sessions()) {
            for (assigned, assignees, listed) in &assignments() {
                let known = answers_for(&principal, Some(ADA));
                let answerer = listed.as_ref().filter(|_| known.is_some());
                let separate = match known {
                    Some(_) if is_own => Ownership::Own,
                    Some(_) => Ownership::Free,
                    None => Ownership::Unknown,
                };
                let mut cells = Vec::new();
                for action in [Action::Respond, Action::Decide] {
                    for ownership in [Ownership::Free, separate] {
                        for assurance in [None, Some(RequiredAssurance::Session), Some(RequiredAssurance::Passkey)] {
                            let demands =
                                Demands { assurance, assignees: assignees.as_ref(), answerer, ownership, ..Demands::default() };
                            let (asked_by, handed_for) = (Some(&asker), &[ADA.to_owned()][..]);
                            let object =
                                Object::Intent { created_by: &asker, asked_by, assigned: &[], entries: &[], handed_for, demands };
                            cells.push(verdict(authorize(&principal, action, object)));
                            cases += 1;
                        }
                    }
                }
                lines.push(format!("floors; {route}; {whose}; assigned {assigned}: {}", cells.join(" ")));
            }
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// The lines about recent logins: for a route, an owner and an assignment, the verdicts for answers and for decisions of requests without a
/// demand, and with each level that a question can demand.
fn table_of_recent_logins() -> (usize, String) {
    let asker = Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let recent = |role| {
        let session = Principal::person(ADA, role, SessionId(Uuid::from_u128(5)));
        Principal { assurance: Assurance::RecentLogin, ..session }
    };
    let logins = [
        ("recent login of an operator", recent(Role::Operator)),
        ("recent login of an admin", recent(Role::Admin)),
        ("recent login of an auditor", recent(Role::Auditor)),
    ];
    let others = ["link", "link and passkey", "session of an operator", "key of an operator"];
    let (mut cases, mut lines) = (0, Vec::new());
    for (whose, owner, is_own) in [("another owner", "team-b", false), ("the asker's person", "team-b", true)] {
        let before = routes(owner).into_iter().filter(|(route, _)| others.contains(route));
        for (route, principal) in before.chain(logins.clone()) {
            for (assigned, assignees, listed) in &assignments() {
                let ownership = if is_own { Ownership::Own } else { Ownership::Free };
                let (answerer, assignees) = (listed.as_ref(), assignees.as_ref());
                let levels = [RequiredAssurance::Session, RequiredAssurance::RecentLogin, RequiredAssurance::Passkey];
                let mut cells = Vec::new();
                for action in [Action::Respond, Action::Decide] {
                    for assurance in [None].into_iter().chain(levels.map(Some)) {
                        let demands = Demands { assurance, assignees, answerer, ownership, ..Demands::default() };
                        let (asked_by, handed_for) = (Some(&asker), &[ADA.to_owned()][..]);
                        let object =
                            Object::Intent { created_by: &asker, asked_by, assigned: &[], entries: &[], handed_for, demands };
                        cells.push(verdict(authorize(&principal, action, object)));
                        cases += 1;
                    }
                }
                lines.push(format!("recent; {route}; {whose}; assigned {assigned}: {}", cells.join(" ")));
            }
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// Only a recent login and a signature meet the demand of a recent login, and a recent login is no signature.
#[test]
fn no_line_of_the_recent_logins_lets_an_answer_below_them_through() {
    for line in table_of_recent_logins().1.lines() {
        let (who, verdicts) = line.split_once(": ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let says_yes = |places: &[usize]| places.iter().any(|place| verdicts[*place] == "yes");
        let (is_recent, is_signed) = (who.contains("; recent login"), who.contains("and passkey"));
        assert!(is_recent || is_signed || !says_yes(&[2, 6]), "{line}");
        assert!(is_signed || !says_yes(&[3, 7]), "{line}");
        let is_kept_out = who.contains("the asker's person") || who.contains("of an auditor");
        assert!(!is_kept_out || !says_yes(&[0, 1, 2, 3, 4, 5, 6, 7]), "{line}");
    }
}

/// The lines about drafts: for a route, an owner and a place, the verdicts for saving a draft and for reading those of others; without a
/// floor, with one that needs a login, and with one that needs a passkey.
fn table_of_drafts() -> (usize, String) {
    let asker = &Asker { name: "bot".into(), owner: Owner("team-a".into()) };
    let (mut cases, mut lines) = (0, Vec::new());
    let plain = assignments().into_iter().map(|(assigned, assignees, ada)| {
        (format!("assigned {assigned}"), Hands { has_drafts: true, ..Hands::default() }, assignees, ada, None)
    });
    let handed = places().into_iter().map(|(place, handed, assignees, ada, bob)| {
        let handed = handed.into_iter().map(|[place, from, to]| Handed { place: place.into(), from: from.into(), to: to.into() });
        (place.to_owned(), Hands { handed: handed.collect(), ..Hands::default() }, Some(assignees), ada, bob)
    });
    let places: Vec<_> = plain.chain(handed).collect();
    for (whose, owner, is_own) in
        [("another owner", "team-b", false), ("the asker's owner", "team-a", false), ("the asker's person", "team-b", true)]
    {
        for (route, principal) in routes(owner).into_iter().chain(sessions()) {
            for (place, hands, assignees, listed, bob) in &places {
                let known = answers_for(&principal, Some(ADA)).is_some_and(|address| address == ADA);
                let (answerer, holders) = (listed.as_ref().filter(|_| known), bob.as_slice());
                let mut cells = Vec::new();
                for action in [Action::SaveDraft, Action::ReadDrafts] {
                    for assurance in [None, Some(RequiredAssurance::Session), Some(RequiredAssurance::Passkey)] {
                        let ownership = if is_own { Ownership::Own } else { Ownership::Free };
                        let (assignees, hands) = (assignees.as_ref(), Some(hands));
                        let demands = Demands { assurance, assignees, answerer, ownership, hands, holders };
                        let (asked_by, handed_for) = (Some(asker), &[ADA.to_owned()][..]);
                        let object =
                            Object::Intent { created_by: asker, asked_by, assigned: &[], entries: &[], handed_for, demands };
                        cells.push(verdict(authorize(&principal, action, object)));
                        cases += 1;
                    }
                }
                lines.push(format!("{route}; {whose}; {place}; drafts: {}", cells.join(" ")));
            }
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// A draft is saved only by a person who could answer, and no agent, gateway, or person behind the asker reads one before the end.
#[test]
fn no_line_lets_the_asker_or_an_outsider_save_or_read_a_draft() {
    for line in table_of_drafts().1.lines() {
        let (who, verdicts) = line.split_once("; drafts: ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let says_yes = |places: &[usize]| places.iter().any(|place| verdicts[*place] == "yes");
        let everything = [0, 1, 2, 3, 4, 5];
        let never = ["key of an agent", "key of a verifier", "key of an admin", "gateway"];
        let is_kept_out = never.iter().any(|route| who.starts_with(route)) || who.contains("the asker's person");
        assert!(!(is_kept_out && says_yes(&everything)), "{line}");
        assert!(!(who.starts_with("key") && who.contains("the asker's owner") && says_yes(&everything)), "{line}");
        let is_auditor = who.contains("of an auditor");
        assert!(!(is_auditor && says_yes(&[0, 1, 2])), "an auditor reads: {line}");
        let without = ["handed", "not listed", "is an auditor", "by a group", "another group", "she is none"];
        assert!(is_auditor || !(without.iter().any(|text| who.contains(text)) && says_yes(&everything)), "{line}");
        let is_known = who.contains("session") || who.contains("passkey");
        assert!(is_auditor || is_known || !says_yes(&[1, 2, 4, 5]), "below the floor: {line}");
    }
}

/// No key and no link meets a floor, and no session one that needs a passkey; and the owner of the asking key answers by no route where
/// the question keeps that person from it.
#[test]
fn no_line_of_the_floors_lets_an_answer_below_them_through() {
    for line in table_of_floors().1.lines() {
        let (who, verdicts) = line.split_once(": ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let says_yes = |places: &[usize]| places.iter().any(|place| verdicts[*place] == "yes");
        let (has_session, has_passkey) = (who.contains("; session"), who.contains("and passkey"));
        assert!(has_session || has_passkey || !says_yes(&[1, 4, 7, 10]), "{line}");
        assert!(has_passkey || !says_yes(&[2, 5, 8, 11]), "{line}");
        assert!(!who.contains("the asker's person") || !says_yes(&[3, 4, 5, 9, 10, 11]), "{line}");
        assert!(!who.contains("gateway tied to none") || !says_yes(&[3, 4, 5, 9, 10, 11]), "{line}");
        assert!(!who.contains("of an auditor") || !says_yes(&(0..12).collect::<Vec<_>>()), "{line}");
    }
}

/// The lines about the work on an intent: for a role and a part in that work, the verdicts for a pause, for settling, for the resumption of
/// what an operator paused, of what the agent of the parent paused, and of what is parked.
fn table_of_work() -> (usize, String) {
    let asker = |name: &str, owner: &str| Asker { name: name.into(), owner: Owner(owner.into()) };
    let (created_by, parent, person) = (asker("bot", "team-a"), asker("boss", "team-b"), asker("ops", "ops"));
    let assigned = ["helper".to_owned()];
    let reads = |principal_id: &str, permission| Entry {
        id: AccessId(Uuid::from_u128(4)),
        principal_id: principal_id.into(),
        permission,
        expires_at: None,
    };
    let entries = [reads("reader", Permission::Read), reads("writer", Permission::Write)];
    let parts = [
        ("its name", "bot", "team-a"),
        ("its owner", "other", "team-a"),
        ("the parent's agent", "boss", "team-b"),
        ("an assigned agent", "helper", "team-c"),
        ("an agent that may write", "writer", "team-d"),
        ("an agent that may read", "reader", "team-d"),
        ("no part", "other", "team-e"),
    ];
    let (mut cases, mut lines) = (0, Vec::new());
    for role in Role::ALL {
        for (whose, name, owner) in parts {
            let who = Principal { role, ..Principal::agent(name, Owner(owner.into())) };
            let work = |kind, by| {
                let stopped = Some(Stopped { kind, by });
                Object::Work(Work {
                    created_by: &created_by,
                    parent_created_by: Some(&parent),
                    assigned: &assigned,
                    entries: &entries,
                    workers: &[],
                    stopped,
                    is_kept_apart: false,
                })
            };
            let cells = [
                authorize(&who, Action::Pause, work(Kind::Paused, &person)),
                authorize(&who, Action::Settle, work(Kind::Paused, &person)),
                authorize(&who, Action::Resume, work(Kind::Paused, &person)),
                authorize(&who, Action::Resume, work(Kind::Paused, &parent)),
                authorize(&who, Action::Resume, work(Kind::Parked, &created_by)),
            ];
            cases += cells.len();
            lines.push(format!("work; {role}; {whose}: {}", cells.map(verdict).join(" ")));
        }
    }
    (cases, lines.join("\n") + "\n")
}

/// The lines about the end of the work on an intent: for a role and a part in that work, the verdict.
fn table_of_endings() -> (usize, String) {
    let asker = |name: &str, owner: &str| Asker { name: name.into(), owner: Owner(owner.into()) };
    let (created_by, parent) = (asker("bot", "team-a"), asker("boss", "team-b"));
    let assigned = ["helper".to_owned()];
    let parts = [
        ("its name", "bot", "team-a"),
        ("its owner", "other", "team-a"),
        ("the parent's agent", "boss", "team-b"),
        ("an assigned agent", "helper", "team-c"),
        ("no part", "other", "team-e"),
    ];
    let mut lines = Vec::new();
    for role in Role::ALL {
        for (whose, name, owner) in parts {
            let who = Principal { role, ..Principal::agent(name, Owner(owner.into())) };
            let work = Work {
                created_by: &created_by,
                parent_created_by: Some(&parent),
                assigned: &assigned,
                entries: &[],
                workers: &[],
                stopped: None,
                is_kept_apart: false,
            };
            lines.push(format!("end; {role}; {whose}: {}", verdict(authorize(&who, Action::Stop, Object::Work(work)))));
        }
    }
    (lines.len(), lines.join("\n") + "\n")
}

/// The owner of an agent that is assigned resumes its paused work as little as the owner of the creator does, and its parked work all the same.
#[test]
fn the_owner_of_an_assigned_agent_does_not_resume_what_is_paused() {
    let asker = |name: &str, owner: &str| Asker { name: name.into(), owner: Owner(owner.into()) };
    let (created_by, person, workers) = (asker("bot", "team-a"), asker("ops", "ops"), [asker("helper", "team-c")]);
    for (owner, kind, is_kept_apart, is_allowed) in [
        ("team-c", Kind::Paused, false, false),
        ("Team-C", Kind::Paused, false, false),
        ("team-c", Kind::Parked, false, true),
        ("team-e", Kind::Paused, false, true),
        ("team-e", Kind::Paused, true, false),
        ("team-e", Kind::Parked, true, true),
    ] {
        let who = Principal { role: Role::Operator, ..Principal::agent("other", Owner(owner.into())) };
        let stopped = Some(Stopped { kind, by: &person });
        let (parent_created_by, assigned, entries) = (None, &[][..], &[][..]);
        let work =
            Work { created_by: &created_by, parent_created_by, assigned, entries, workers: &workers, stopped, is_kept_apart };
        assert_eq!(authorize(&who, Action::Resume, Object::Work(work)).is_ok(), is_allowed, "{owner} {kind:?} {is_kept_apart}");
    }
}

/// The agent whose work is paused never lets it go on, and neither does a key of its owner.
#[test]
fn no_line_lets_the_paused_agent_or_its_owner_resume() {
    for line in table_of_work().1.lines() {
        let (who, verdicts) = line.split_once(": ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let is_own = who.contains("its name") || who.contains("its owner");
        let works = who.contains("agent; an assigned") || who.contains("agent; an agent that may write");
        assert!(!(is_own || works) || verdicts[2] != "yes" && verdicts[3] != "yes", "{line}");
        let is_person = who.contains("; operator;") || who.contains("; admin;");
        assert!(who.contains("; agent;") || is_person || !verdicts.contains(&"yes"), "{line}");
    }
}

/// If a line changes, a person or a program may answer that could not before, or the other way round.
#[test]
fn the_table_of_routes_and_demands_is_this_one() {
    let ((cases, first), (of_floors, second), (of_hands, third)) = (table(), table_of_floors(), table_of_hands());
    let ((of_drafts, fourth), (_, fifth)) = (table_of_drafts(), table_of_recent_logins());
    let (of_work, sixth) = table_of_work();
    assert!(cases.min(of_floors).min(of_hands).min(of_drafts) >= 400, "{cases} {of_floors} {of_hands} {of_drafts}");
    assert_eq!(of_work, 5 * 7 * Role::ALL.len());
    let (of_endings, seventh) = table_of_endings();
    assert_eq!(of_endings, 5 * Role::ALL.len());
    let table = first + &second + &third + &fourth + &fifth + &sixth + &seventh;
    for (line, (now, before)) in table.lines().zip(GOLDEN.lines()).enumerate() {
        assert_eq!(now, before, "line {}", line + 1);
    }
    assert_eq!(table.lines().count(), GOLDEN.lines().count(), "the whole table:\n{table}");
}

/// Whatever the demands are, no key of the asker's owner answers, and no route gives a yes that a demand forbids.
#[test]
fn no_line_of_the_table_lets_the_asker_or_an_outsider_answer() {
    for line in table().1.lines() {
        let (who, verdicts) = line.split_once(": ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let says_yes = |places: &[usize]| places.iter().any(|place| verdicts[*place] == "yes");
        let is_key = who.starts_with("key") || who.starts_with("gateway");
        assert!(!(is_key && who.contains("the asker's owner") && says_yes(&[0, 1, 2, 3, 4, 5, 6, 7])), "{line}");
        assert!(!(who.contains("the asker's person") && says_yes(&[1, 3, 5, 7])), "{line}");
        let is_outsider = ["another group", "she is none", "an auditor", "not listed"].iter().any(|text| who.contains(text));
        assert!(!(is_outsider && says_yes(&[0, 1, 2, 3, 4, 5, 6, 7])), "{line}");
        assert!(who.starts_with("link and passkey") || !says_yes(&[2, 3, 6, 7]), "{line}");
    }
}

/// No line lets the asker, or a person without a place of the own or of another, answer or change who answers.
#[test]
fn no_place_that_was_handed_on_lets_the_asker_or_an_outsider_answer() {
    for line in table_of_hands().1.lines() {
        let (who, verdicts) = line.split_once("; hands: ").unwrap();
        let verdicts: Vec<&str> = verdicts.split(' ').collect();
        let says_yes = |places: &[usize]| places.iter().any(|place| verdicts[*place] == "yes");
        let everything = [0, 1, 2, 3, 4, 5, 6, 7];
        let is_key = who.starts_with("key") || who.starts_with("gateway");
        assert!(!(is_key && who.contains("the asker's owner") && says_yes(&everything)), "{line}");
        assert!(!(who.contains("the asker's person") && says_yes(&[1, 3, 5, 6, 7])), "{line}");
        let without = ["handed", "not listed", "an auditor", "by a group", "another group", "she is none"];
        let is_outsider = without.iter().any(|text| who.contains(text));
        let is_admins = who.starts_with("key of an admin");
        assert!(!(is_outsider && says_yes(if is_admins { &everything[..6] } else { &everything })), "{line}");
        assert!(!who.starts_with("gateway") || !says_yes(&[2, 3, 4, 5, 6, 7]), "{line}");
    }
}
