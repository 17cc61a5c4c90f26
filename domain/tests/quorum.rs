//! Random courses of questions on which several people must agree: people answer, change their minds, take answers back, join groups and
//! leave, by every route. Another, simpler count says when the question may end, and by whom.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::base::name::Owner;
use domain::intent::Intent;
use domain::intent::command::{Command, Respond};
use domain::intent::decide::decide;
use domain::intent::event::{Agreed, Event};
use domain::intent::evolve::evolve;
use domain::intent::hands::{Hand, HandFacts, HandStep, HandsEvent};
use domain::intent::status::Status;
use domain::people::answerer::{Answerer, answers_for};
use domain::people::authority::{Action, Demands, Object, Ownership, authorize};
use domain::people::principal::{Credential, Principal, Role};
use domain::problem::Rejection;
use domain::suspension::assignees::{AssignedRole, Assignees};
use domain::suspension::hands::Hands;
use domain::suspension::quorum::Quorum;
use domain::suspension::{Asker, FallbackPolicy, Kind, Resolution, ResolutionReason, ResponseType, Suspension, SuspensionChoice};
use serde_json::json;
use uuid::Uuid;

const PEOPLE: usize = 6;
/// The person who owns the key that asks.
const OWNER: usize = 0;
const VALUES: [&str; 3] = ["eu", "us", "no"];
const COURSES: u64 = 4_000;
const STEPS: usize = 40;

fn address(person: usize) -> String {
    format!("p{person}@example.com")
}

fn asker() -> Asker {
    Asker { name: "bot".into(), owner: Owner(address(OWNER)) }
}

/// Numbers that look random and are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn pick(&mut self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap()
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What the directory knows of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    is_listed: bool,
    role: Role,
    is_in_finance: bool,
}

/// One course.
struct World {
    draw: Draw,
    now: DateTime<Utc>,
    intent: Intent,
    assignees: Assignees,
    quorum: Quorum,
    people: [Standing; PEOPLE],
    /// The simpler count: the newest answer of each person, in the order in which they were given.
    given: Vec<Given>,
    /// The simpler rule for places: who has handed the own one on, and whose place a person has.
    left: BTreeSet<usize>,
    holds: BTreeMap<usize, usize>,
    /// How often places were handed on, and the question was reassigned.
    handed: usize,
    /// How many of them went to deputies.
    stood_in: usize,
    reassigned: usize,
}

/// An answer, and the gateway through which it came.
struct Given {
    person: usize,
    value: &'static str,
    gateway: Option<KeyId>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draw = Draw(seed);
        let person = |draw: &mut Draw| Standing {
            is_listed: draw.happens(90),
            role: if draw.happens(20) { Role::Admin } else { Role::Operator },
            is_in_finance: draw.happens(50),
        };
        let people = std::array::from_fn(|_| person(&mut draw));
        let assignees = match draw.below(3) {
            0 => Assignees::all(),
            1 => Assignees { groups: vec!["finance".into()], people: vec![address(1), address(2)], ..Assignees::default() },
            _ => Assignees { roles: vec![AssignedRole::Operator], ..Assignees::default() },
        };
        let required_approvals = 1 + u32::try_from(draw.below(4)).unwrap();
        let by_group =
            draw.happens(50).then(|| ("finance".to_owned(), 1 + u32::try_from(draw.below(required_approvals.into())).unwrap()));
        let quorum = Quorum {
            required_approvals,
            required_refusals: 1 + u32::try_from(draw.below(2)).unwrap(),
            required_by_group: by_group.into_iter().collect(),
            refusing: vec!["no".into()],
        };
        let now = DateTime::from_timestamp(1_795_507_200, 0).unwrap();
        let mut intent = Intent::born(IntentId(Uuid::from_u128(1)), Status::SuspendedAwaitingInput, asker(), now);
        let choice = |value: &&str| SuspensionChoice {
            value: (*value).into(),
            label: (*value).into(),
            ..SuspensionChoice::yes_no()[0].clone()
        };
        intent.open = Some(Suspension {
            id: SuspensionId(Uuid::from_u128(2)),
            intent_id: intent.id,
            kind: Kind::AwaitingInput,
            version: 1,
            attempt: 1,
            response_type: ResponseType::Choice,
            choices: VALUES.iter().map(choice).collect(),
            suspended_at: now,
            expires_at: Some(now + TimeDelta::hours(1)),
            fallback_policy: FallbackPolicy::CompleteWithFallback,
            fallback_value: Some(json!("eu")),
            reached: true,
            requires_delivery: true,
            fixed_deadline: false,
            refusals: 0,
            reminded_at: None,
            asked_by: asker(),
            quorum: Some(quorum.clone()),
            schema: None,
            counted: Vec::new(),
            hands: Hands::default(),
            ending: None,
            portfolio_deadline: None,
        });
        Self {
            draw,
            now,
            intent,
            assignees,
            quorum,
            people,
            given: Vec::new(),
            left: BTreeSet::new(),
            holds: BTreeMap::new(),
            handed: 0,
            stood_in: 0,
            reassigned: 0,
        }
    }

    fn answerer(&self, address: &str) -> Option<Answerer> {
        let person = (0..PEOPLE).find(|person| self::address(*person) == address)?;
        let Standing { is_listed, role, is_in_finance } = self.people[person];
        let groups = is_in_finance.then(|| "finance".to_owned()).into_iter().collect();
        is_listed.then(|| Answerer { address: address.to_owned(), role, groups })
    }

    /// The simpler rule: whether a person may answer at present.
    fn may_answer(&self, person: usize) -> bool {
        self.has_place(person) && person != OWNER
    }

    /// The simpler rule: whether a person has an own place, or that of another who may still answer.
    fn has_place(&self, person: usize) -> bool {
        let Some(answerer) = self.answerer(&address(person)).filter(|_| !self.left.contains(&person)) else { return false };
        let of_another = self.holds.get(&person).is_some_and(|holder| {
            let is_there = self.answerer(&address(*holder)).is_some_and(|holder| holder.role != Role::Auditor);
            is_there && self.assignees.people.contains(&address(*holder)) && answerer.role != Role::Auditor
        });
        answerer.is_among(&self.assignees) || of_another
    }

    fn hands(&self) -> Hands {
        self.intent.open.as_ref().unwrap().hands.clone()
    }

    fn holders(&self) -> Vec<Answerer> {
        self.hands().holders().iter().filter_map(|holder| self.answerer(holder)).collect()
    }

    /// Reads people again, as a store does before each answer.
    fn look_again(&mut self) {
        let (hands, holders) = (self.hands(), self.holders());
        let mut open = self.intent.open.take().unwrap();
        for counted in &mut open.counted {
            let person = self.answerer(&counted.person);
            let place = person.as_ref().and_then(|person| hands.place_of(person, &self.assignees, &holders));
            counted.may_answer = place.is_some();
            counted.in_place_of = place.filter(|place| *place != counted.person).map(str::to_owned);
            counted.groups = person.map(|person| person.groups).unwrap_or_default();
        }
        self.intent.open = Some(open);
    }

    /// A person gives an answer or takes one back, by a random route.
    fn act(&mut self, person: usize) {
        let (value, takes_back) = (VALUES[self.draw.pick(VALUES.len())], self.draw.happens(15));
        let (by, claimed) = self.route(person);
        let stands_for = answers_for(&by, claimed.as_deref());
        self.look_again();
        let answerer = stands_for.as_ref().and_then(|address| self.answerer(address));
        let is_own = stands_for.as_deref() == Some(&*address(OWNER));
        let ownership = if is_own { Ownership::Own } else { Ownership::Free };
        let (hands, holders) = (self.hands(), self.holders());
        let demands = Demands {
            assignees: Some(&self.assignees),
            answerer: answerer.as_ref(),
            ownership,
            assurance: None,
            hands: Some(&hands),
            holders: &holders,
        };
        let in_place_of = demands.place().filter(|place| Some(*place) != stands_for.as_deref()).map(str::to_owned);
        let (created_by, handed_for) = (&asker(), claimed.clone().into_iter().collect::<Vec<_>>());
        let object = Object::Intent {
            created_by,
            asked_by: Some(created_by),
            assigned: &[],
            entries: &[],
            handed_for: &handed_for,
            demands,
        };
        let authorized = authorize(&by, Action::Respond, object);
        let is_known = stands_for.is_some();
        assert_eq!(authorized.is_ok(), is_known && self.may_answer(person), "{by:?} {authorized:?}");
        if authorized.is_err() {
            return;
        }
        let command = Command::Respond(Box::new(Respond {
            suspension_id: SuspensionId(Uuid::from_u128(2)).expose(),
            value: Some(json!(value)),
            claimed_responded_by: claimed,
            answerer,
            in_place_of,
            takes_back,
            ..Respond::default()
        }));
        let gateway = by.key_id().filter(|_| by.role == Role::Channel);
        let decided = decide(&self.intent, &command, &by, self.now);
        if takes_back {
            return self.taken_back(person, decided.map_err(|refusal| refusal.rejection));
        }
        let counts_already = |given: &Given| {
            given.person != person && self.may_answer(given.person) && gateway.is_some() && given.gateway == gateway
        };
        if self.given.iter().any(counts_already) {
            assert_eq!(decided.unwrap_err().rejection, Rejection::GatewayCounted);
            return;
        }
        let events = decided.unwrap();
        if self.given.iter().any(|given| given.person == person && given.value == value) {
            assert!(events.iter().all(|event| !matches!(event, Event::AnswerCounted(_))), "the same answer again");
        } else {
            self.given.retain(|given| given.person != person);
            self.given.push(Given { person, value, gateway });
        }
        self.check(person, value, gateway, &events);
    }

    fn taken_back(&mut self, person: usize, decided: Result<Vec<Event>, Rejection>) {
        let before = self.given.len();
        self.given.retain(|given| given.person != person);
        if self.given.len() < before {
            self.apply(&decided.unwrap());
        } else {
            assert_eq!(decided.unwrap_err(), Rejection::NotCounted);
        }
    }

    /// Compares what an answer did with the simpler count.
    fn check(&mut self, person: usize, value: &'static str, gateway: Option<KeyId>, events: &[Event]) {
        // Of each gateway one person counts, even if two of its people could not answer at the same time before.
        let (mut agree, mut gateways) = (BTreeSet::from([person]), BTreeSet::from_iter(gateway));
        for given in self.given.iter().filter(|given| given.value == value && self.may_answer(given.person)) {
            if given.person != person && given.gateway.is_none_or(|gateway| gateways.insert(gateway)) {
                agree.insert(given.person);
            }
        }
        let refuses = value == "no";
        let needed = if refuses { self.quorum.required_refusals } else { self.quorum.required_approvals };
        let in_finance = agree.iter().filter(|other| self.people[**other].is_in_finance).count();
        let least = self.quorum.required_by_group.get("finance").copied().unwrap_or_default();
        let is_met = agree.len() >= needed as usize && (refuses || in_finance >= least as usize);
        match events {
            [] => assert!(!is_met, "the same answer again completes a quorum that can be met now"),
            [Event::AnswerCounted(counted)] => {
                assert!(!is_met, "{agree:?} of {needed}");
                let lacking = if refuses { 0 } else { (least as usize).saturating_sub(in_finance) };
                let with_them = if lacking == 0 { 0 } else { agree.len() + lacking };
                let needed = with_them.max(needed as usize);
                assert_eq!((counted.tally.given as usize, counted.tally.needed as usize), (agree.len(), needed));
            }
            [Event::Resumed(resumed), ..] => {
                assert!(is_met, "{agree:?} of {needed}");
                let agreed: BTreeSet<String> = resumed.agreed.iter().map(|agreed| agreed.person.clone()).collect();
                assert_eq!(agreed.len(), resumed.agreed.len(), "no person counts twice");
                assert_eq!(agreed, agree.iter().map(|person| address(*person)).collect());
                assert!(agree.contains(&person) && !agree.contains(&OWNER));
                let place = |agreed: &Agreed| agreed.in_place_of.clone().unwrap_or(agreed.person.clone());
                let places: BTreeSet<String> = resumed.agreed.iter().map(place).collect();
                assert_eq!(places.len(), resumed.agreed.len(), "no place counts twice");
            }
            other => panic!("{other:?}"),
        }
        self.apply(events);
    }

    fn apply(&mut self, events: &[Event]) {
        for event in events {
            evolve(&mut self.intent, event, self.now, self.now);
        }
    }

    /// A link, one of two keys, or one of two gateways.
    fn route(&mut self, person: usize) -> (Principal, Option<String>) {
        let key = |number: u128, role| Principal {
            role,
            credential: Some(Credential::ApiKey(KeyId(Uuid::from_u128(number)))),
            subject: address(person).to_uppercase(),
            ..Principal::agent(&format!("key-{number}"), Owner(format!("owner-{number}")))
        };
        match self.draw.below(5) {
            0 | 1 => (Principal::link_holder(&address(person), Some(DeliveryId(Uuid::from_u128(9)))), None),
            2 => (key(100 + person as u128, Role::Operator), None),
            3 => {
                let number = 200 + u128::from(self.draw.below(2));
                (Principal { tied_to: Some(vec!["pager".into()]), ..key(number, Role::Channel) }, Some(address(person)))
            }
            _ => (key(300, Role::Channel), Some(address(person))),
        }
    }

    /// A person claims the question, hands the own place on, or assigns the question to others; or a deputy gets the place of a person.
    fn change_hands(&mut self) {
        let (person, other) = (self.draw.pick(PEOPLE), self.draw.pick(PEOPLE));
        let is_admin = self.draw.happens(20);
        let (id, by) = (SuspensionId(Uuid::from_u128(2)), Principal::link_holder(&address(person), None));
        let by = if is_admin { Principal { role: Role::Admin, ..by } } else { by };
        let step = match self.draw.below(10) {
            0 => HandStep::Claim,
            1 => HandStep::Release,
            2 => HandStep::Reassign {
                assignees: Assignees { people: vec![address(person), address(other)], ..Assignees::default() },
            },
            // The store does not move the place of the person behind the asker.
            4 | 5 if person != OWNER => HandStep::StandIn { from: address(person), to: address(other), via: Vec::new() },
            3 => HandStep::Reassign { assignees: Assignees { groups: vec!["finance".into()], ..Assignees::default() } },
            _ => HandStep::Delegate { to: address(other) },
        };
        let (hands, holders, answerer) = (self.hands(), self.holders(), self.answerer(&address(person)));
        let demands = Demands {
            assignees: Some(&self.assignees),
            answerer: answerer.as_ref(),
            ownership: if person == OWNER { Ownership::Own } else { Ownership::Free },
            assurance: None,
            hands: Some(&hands),
            holders: &holders,
        };
        let created_by = &asker();
        let (asked_by, handed_for) = (Some(created_by), &[][..]);
        let object = Object::Intent { created_by, asked_by, assigned: &[], entries: &[], handed_for, demands };
        let stands_in = matches!(step, HandStep::StandIn { .. });
        let authorized = if stands_in { Ok(()) } else { authorize(&by, step.action(), object) };
        let by = if stands_in { Principal::server() } else { by };
        let decides_alone = is_admin && matches!(step, HandStep::Reassign { .. }) && person != OWNER;
        // Whether a claim is the own one is decided below.
        let expected = stands_in || decides_alone || step == HandStep::Release || self.may_answer(person);
        assert_eq!(authorized.is_ok(), expected, "{step:?} {authorized:?}");
        if authorized.is_err() {
            return;
        }
        self.look_again();
        let named = step.named().iter().filter_map(|named| self.answerer(named)).collect();
        let is_own = step.named().contains(&address(OWNER));
        let facts = HandFacts {
            assignees: Some(self.assignees.clone()),
            holders,
            person: answerer,
            named,
            is_own,
            notify_to: Vec::new(),
        };
        let command = Command::Hand(Box::new(Hand { suspension_id: id, step, facts }));
        let Ok(events) = decide(&self.intent, &command, &by, self.now) else { return };
        if let [Event::Hands(change)] = events.as_slice() {
            self.stood_in += usize::from(stands_in);
            self.note(change, person, other, is_admin);
        }
        self.apply(&events);
    }

    /// Follows a change by the simpler rules.
    fn note(&mut self, change: &HandsEvent, person: usize, other: usize, is_admin: bool) {
        match change {
            HandsEvent::Claimed(_) | HandsEvent::Released(_) => {}
            HandsEvent::Delegated(_) => {
                let has_answered = |person: usize| self.given.iter().any(|given| given.person == person);
                assert!(person != other && other != OWNER && !has_answered(person) && !has_answered(other));
                assert!(!self.left.contains(&other) && !self.holds.contains_key(&other), "a circle, or two places");
                let is_own = self.answerer(&address(person)).unwrap().is_among(&self.assignees);
                let holder = if is_own { person } else { self.holds[&person] };
                self.left.insert(person);
                self.holds.insert(other, holder);
                self.handed += 1;
            }
            HandsEvent::Reassigned(reassigned) => {
                let may_answer = |address: &String| (0..PEOPLE).any(|one| self::address(one) == *address && self.has_place(one));
                let is_narrower = reassigned.assignees.people.iter().all(may_answer)
                    && reassigned.assignees.groups.iter().all(|group| self.assignees.groups.contains(group));
                assert!(is_admin || is_narrower, "an operator let others answer");
                self.assignees = reassigned.assignees.clone();
                self.left.clear();
                self.holds.clear();
                self.reassigned += 1;
            }
        }
    }

    fn change_directory(&mut self) {
        let person = self.draw.pick(PEOPLE);
        let standing = &mut self.people[person];
        match self.draw.below(4) {
            0 => standing.is_listed = !standing.is_listed,
            1 => standing.is_in_finance = !standing.is_in_finance,
            2 => standing.role = Role::Auditor,
            _ => standing.role = Role::Operator,
        }
    }

    /// The deadline passes: silence has the fallback's effect only if no answer counts.
    fn deadline(&mut self) {
        self.now += TimeDelta::hours(2);
        let command = Command::DeadlineReached { suspension_id: SuspensionId(Uuid::from_u128(2)) };
        let events = decide(&self.intent, &command, &Principal::server(), self.now).unwrap();
        self.apply(&events);
        let ending = self.intent.ended[0].ending.clone().unwrap();
        let expected = if self.given.is_empty() {
            (Resolution::Expired, None, Status::Active)
        } else {
            (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet), Status::Abandoned)
        };
        assert_eq!((ending.resolution, ending.reason, self.intent.status), expected);
    }
}

/// No sequence of answers, withdrawals, claims, delegations, deputies, reassignments and changes of people and groups lets the asker's
/// person, one person twice, or a person to whom the question is not assigned complete a quorum.
#[test]
fn no_sequence_completes_a_quorum_without_the_people_it_needs() {
    let (mut answered, mut unmet, mut handed, mut stood_in, mut reassigned) = (0, 0, 0, 0, 0);
    for seed in 0..COURSES {
        let mut world = World::new(seed);
        for _ in 0..STEPS {
            if world.intent.open.is_none() {
                break;
            }
            if world.draw.happens(30) {
                world.change_directory();
            } else if world.draw.happens(25) {
                world.change_hands();
            } else {
                let person = world.draw.pick(PEOPLE);
                world.act(person);
            }
        }
        handed += world.handed;
        stood_in += world.stood_in;
        reassigned += world.reassigned;
        if world.intent.open.is_some() {
            unmet += u32::from(!world.given.is_empty());
            world.deadline();
        } else {
            answered += 1;
        }
    }
    // Most people have an own place, and are no deputies then.
    assert!(stood_in > 20, "{stood_in} deputies");
    assert!(handed > 500 && reassigned > 300, "{handed} places handed on, {reassigned} reassignments");
    assert!(answered > 1_000 && unmet > 100, "{answered} answered, {unmet} without a quorum: too few of one kind");
}
