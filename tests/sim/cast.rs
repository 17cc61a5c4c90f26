//! Worlds with people: listed people who answer together, claim, hand on, save drafts and take answers back; an admin who edits people and
//! groups meanwhile; and others who try to answer and must not.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::TimeDelta;
use domain::asking::floors::Floors;
use domain::asking::handing;
use domain::base::ids::{Entropy, KeyId, PersonId};
use domain::base::name::Owner;
use domain::base::time::from_micros;
use domain::intent::command::{Command, Respond};
use domain::intent::hands::HandStep;
use domain::people::group::read_group;
use domain::people::person::PersonChange;
use domain::people::preferences::Preferences;
use domain::people::principal::{Principal, Role};
use domain::suspension::assignees::{AssignedRole, Assignees};
use domain::suspension::demand::{AgentRule, Separation};
use domain::suspension::draft::DraftValues;
use domain::suspension::{FallbackPolicy, ResponseType};
use domain::wire::{OutOfOffice, QuorumRequest, SuspendRequest, SuspensionRecord};
use futures_util::FutureExt;
use harness::requests;
use placet_server::edge::keys::hash;
use placet_server::worker::absences::Absences;
use store::{Named, NewKey, NewPerson, Outcome, Precondition, Request, SecretOrigin, Store, SuspensionFilter, Target};

use crate::council::Council;
use crate::executor::SECOND;
use crate::person::{accepted, refused, value_for};
use crate::plan::Plan;
use crate::process;
use crate::world::{Failed, World};

/// The people who are listed at first. The first one owns the keys of some agents, and the second one has a key of the owner of the others.
const PEOPLE: [&str; 6] =
    ["ada@example.com", "ben@example.com", "cyd@example.com", "dan@example.com", "eve@example.com", "fay@example.com"];
/// The owner of the agents whose keys name no person.
const TEAM: &str = "team-1";
const GROUPS: [&str; 2] = ["finance", "legal"];
/// A person who is never listed.
const OUTSIDER: &str = "zoe@example.com";
/// How many people act at a time, and how often each of them does.
const ACTORS: u64 = 3;
const ACTS: u64 = 40;
/// How often the admin says at the beginning that a person is away.
const AWAY: u64 = 2;
/// How often the admin changes something.
const EDITS: u64 = 10;

/// The owner of the agent with this number.
pub(crate) fn owner(plan: &Plan, number: u64) -> String {
    match (plan.has_people, number % 2) {
        (true, 0) => PEOPLE[0].to_owned(),
        (_, team) => format!("team-{team}"),
    }
}

/// The reference for the people of a world.
pub(crate) fn council(plan: &Plan) -> Council {
    let agents = if plan.has_people { plan.intents } else { 0 };
    let owners: BTreeMap<String, String> = (0..agents).map(|number| (format!("agent-{number}"), owner(plan, number))).collect();
    Council::new(owners, plan.faults.jump == 0)
}

/// The operator's floors: the owners of some agents may not answer them, even alone.
pub(crate) fn floors(plan: &Plan) -> Floors {
    let rule = |number| AgentRule { name: format!("agent-{number}"), assurance: None, separation: Some(Separation::Owner) };
    let agents = if plan.has_people { vec![rule(0), rule(3)] } else { Vec::new() };
    Floors { agents, ..Floors::default() }
}

pub(crate) fn start(world: &Arc<World>) {
    if !world.plan.has_people {
        return;
    }
    let admin = world.clone();
    world.spawn("the admin", async move {
        enlist(&admin).await;
        // An edit comes too late for most questions, so some people are away from the beginning.
        for _ in 0..AWAY {
            absent(&admin, Named::Address(any(&admin).to_owned())).await;
        }
        for _ in 0..EDITS {
            admin.think(admin.plan.scale_seconds * SECOND).await;
            if admin.is_healed() {
                return;
            }
            edit(&admin).await;
        }
    });
    for number in 0..ACTORS {
        let actor = world.clone();
        world.spawn(format!("actor-{number}"), async move {
            for _ in 0..ACTS {
                actor.think(actor.plan.scale_seconds * SECOND / 4).await;
                if actor.is_healed() {
                    return;
                }
                act(&actor).await;
            }
        });
    }
}

/// The loop of a process that moves places to deputies, as in production.
pub(crate) async fn stand_in(world: Arc<World>, store: Arc<dyn Store>) {
    let absences = Absences::new(store);
    loop {
        // In production a turn comes every five seconds, which is often for a question that waits for minutes.
        world.executor.after(process::rest(&world) / 8).await;
        let moved = absences.turn().await;
        if moved > 0 {
            world.tell(format!("{moved} places move to deputies"));
        }
    }
}

/// Waits until the people are listed.
pub(crate) async fn are_listed(world: &World) {
    while world.plan.has_people && !world.is_healed() && world.watch.lock().unwrap().council.size() < PEOPLE.len() {
        world.executor.after(SECOND).await;
    }
}

fn admin() -> Principal {
    Principal::local("1000@simulated-host")
}

fn any(world: &World) -> &'static str {
    world.draw(|chance| *chance.pick(&PEOPLE))
}

fn some(world: &World, least: usize) -> Vec<String> {
    let mut people: Vec<String> =
        PEOPLE.iter().filter(|_| world.draw(|chance| chance.happens(50))).map(|one| (*one).to_owned()).collect();
    while people.len() < least {
        let next = any(world).to_owned();
        if !people.contains(&next) {
            people.push(next);
        }
    }
    people
}

/// Lists the people, and makes the groups and a key.
async fn enlist(world: &Arc<World>) {
    for address in PEOPLE {
        while !world.is_healed() && !add(world, address).await {
            world.pause().await;
        }
    }
    for group in GROUPS {
        set(world, group).await;
    }
    let key = NewKey {
        id: KeyId(world.entropy.uuid(world.executor.now())),
        name: "ben-of-the-team".to_owned(),
        role: Role::Operator,
        subject: PEOPLE[1].to_owned(),
        owner: Owner(TEAM.to_owned()),
        tied_to: None,
        client: None,
        hash: hash("the key of ben"),
        origin: SecretOrigin::Drawn,
    };
    _ = world.call("the admin makes a key", |store| async move { store.create_key(admin(), Ok(key)).await }.boxed()).await;
}

/// Lists a person; false if it is not known whether the person is listed.
async fn add(world: &Arc<World>, address: &str) -> bool {
    let id = PersonId(world.entropy.uuid(world.executor.now()));
    let role = if address == PEOPLE[5] { Role::Admin } else { Role::Operator };
    let person = NewPerson { id, address: address.to_owned(), role, preferences: Preferences::default() };
    let name = format!("the admin lists {address}");
    let added = world.call(name, |store| async move { store.add_person(admin(), Ok(person)).await }.boxed()).await;
    !matches!(added, Err(Failed::Unknown))
}

async fn set(world: &Arc<World>, name: &'static str) {
    let group = read_group(name, &some(world, 1));
    _ = world.call(format!("the admin sets {name}"), |store| async move { store.set_group(admin(), group).await }.boxed()).await;
}

/// Changes people and groups while questions are open.
async fn edit(world: &Arc<World>) {
    let address = any(world).to_owned();
    let named = Named::Address(address.clone());
    match world.draw(|chance| chance.below(10)) {
        0..3 => set(world, world.draw(|chance| *chance.pick(&GROUPS))).await,
        3 => {
            let name = format!("the admin removes {address}");
            let gone = world.call(name, |store| async move { store.remove_person(admin(), Ok(named)).await }.boxed()).await;
            if gone.is_ok() && world.draw(|chance| chance.happens(70)) {
                world.think(world.plan.scale_seconds * SECOND).await;
                add(world, &address).await;
            }
        }
        4 => {
            let role = world.draw(|chance| *chance.pick(&[Role::Operator, Role::Operator, Role::Admin, Role::Auditor]));
            let name = format!("the admin makes {address} {role}");
            _ = world
                .call(name, move |store| {
                    async move {
                        store
                            .change_person(admin(), Ok(named), Ok(PersonChange { role: Some(role), ..PersonChange::default() }))
                            .await
                    }
                    .boxed()
                })
                .await;
        }
        5..9 => absent(world, named).await,
        _ => {
            let Some(open) = choose(world).await else { return };
            reassign(world, &open, admin()).await;
        }
    }
}

/// Says that a person is out of office from now or soon on, or is back.
async fn absent(world: &Arc<World>, named: Named) {
    let wanted = world.draw(|chance| chance.happens(80)).then(|| {
        let (scale, now) = (world.plan.scale_seconds, from_micros(world.clock()));
        let from = now + TimeDelta::seconds(world.draw(|chance| chance.within(-scale..=scale / 8)));
        let until = now + TimeDelta::seconds(world.draw(|chance| chance.within(scale..=6 * scale)));
        OutOfOffice { from, until, deputy: any(world).to_owned() }
    });
    let name = format!("the admin says that {named:?} is away: {}", wanted.is_some());
    _ = world.call(name, |store| async move { store.set_absence(admin(), Ok(named), Ok(wanted)).await }.boxed()).await;
}

/// One of the open questions that are assigned to people.
async fn choose(world: &Arc<World>) -> Option<SuspensionRecord> {
    let reader = requests::principal(OUTSIDER, Role::Auditor);
    let filter = SuspensionFilter { limit: 10, open: true, before: None, requests: None, beside: None, asked_under: None };
    let listed = world.call("a person lists", |store| async move { store.suspensions(reader, Ok(filter)).await }.boxed()).await;
    let open: Vec<SuspensionRecord> = listed.ok()?.suspensions.into_iter().filter(|open| open.assignees.is_some()).collect();
    world.draw(|chance| (!open.is_empty()).then(|| chance.pick(&open).clone()))
}

/// A person does something about an open question.
async fn act(world: &Arc<World>) {
    let Some(open) = choose(world).await else { return };
    let address = any(world);
    let who = with_key(world, address);
    match world.draw(|chance| chance.below(20)) {
        0..9 => answer(world, &open, who).await,
        9..11 => trespass(world, &open).await,
        11..13 => take_back(world, &open, who).await,
        13 => hand(world, &open, who, HandStep::Claim).await,
        14 => hand(world, &open, who, HandStep::Release).await,
        15..17 => hand(world, &open, who, HandStep::Delegate { to: any(world).to_owned() }).await,
        17 => reassign(world, &open, who).await,
        _ => draft(world, &open, who).await,
    }
}

/// A key of a person. Some people spell their address in another way at times, and some keys belong to a team.
fn with_key(world: &World, address: &str) -> Principal {
    let spelled = if world.draw(|chance| chance.happens(30)) { address.to_uppercase() } else { address.to_owned() };
    let owner = if world.draw(|chance| chance.happens(50)) { address } else { "operations" };
    Principal {
        subject: spelled,
        owner: Owner(owner.to_owned()),
        ..requests::principal(&format!("key of {address}"), Role::Operator)
    }
}

fn request(who: Principal, open: &SuspensionRecord, command: Command) -> Request {
    Request {
        principal: who,
        target: Target::Intent(open.intent_id),
        precondition: Precondition::None,
        idempotency: None,
        trace_parent: None,
        command: Ok(command),
    }
}

fn respond(open: &SuspensionRecord, value: Option<serde_json::Value>, claimed: Option<&str>) -> Command {
    Command::Respond(Box::new(Respond {
        suspension_id: open.id.expose(),
        takes_back: value.is_none(),
        value,
        claimed_responded_by: claimed.map(str::to_owned),
        ..Respond::default()
    }))
}

async fn answer(world: &Arc<World>, open: &SuspensionRecord, who: Principal) {
    let (value, by) = (value_for(world, open.response_type, &open.choices), who.subject.clone());
    let request = request(who, open, respond(open, Some(value.clone()), None));
    for _ in 0..2 {
        let (sent, name) = (request.clone(), format!("{by} answers {value}"));
        match world.call(name, |store| async move { store.execute(sent).await }.boxed()).await {
            Ok(Outcome::Responded { response, .. }) if response.resolution.is_some() => {
                return accepted(world, open.id.expose(), &value, &by);
            }
            Ok(_) => return,
            Err(Failed::Rejected(rejection)) => return refused(world, &rejection, &open.id.expose()),
            Err(Failed::Unknown) => world.pause().await,
        }
    }
}

async fn take_back(world: &Arc<World>, open: &SuspensionRecord, who: Principal) {
    let (name, request) = (format!("{} takes an answer back", who.subject), request(who, open, respond(open, None, None)));
    _ = world.call(name, |store| async move { store.execute(request).await }.boxed()).await;
}

async fn hand(world: &Arc<World>, open: &SuspensionRecord, who: Principal, step: HandStep) {
    let name = format!("{}: {step:?}", who.subject);
    let request = Request { target: Target::Suspension(open.id), ..request(who, open, handing::hand(open.id, step)) };
    _ = world.call(name, |store| async move { store.execute(request).await }.boxed()).await;
}

async fn reassign(world: &Arc<World>, open: &SuspensionRecord, who: Principal) {
    let assignees = assignees(world);
    hand(world, open, who, HandStep::Reassign { assignees }).await;
}

/// Saves a draft, which is no answer and counts for nothing.
async fn draft(world: &Arc<World>, open: &SuspensionRecord, who: Principal) {
    let (id, values) = (open.id, DraftValues { value: Some("yes".to_owned()), ..DraftValues::default() });
    let name = format!("{} saves a draft", who.subject);
    let saved = world.call(name, move |store| async move { store.save_draft(who, id, Ok(values)).await }.boxed()).await;
    if saved.is_ok() {
        world.coverage.count("draft saved");
    }
}

/// Others try to answer an assigned question: a person who is not listed, the agent, another agent, a gateway that is tied to no channels.
async fn trespass(world: &Arc<World>, open: &SuspensionRecord) {
    let gateway = Principal { owner: Owner("gateways".to_owned()), ..requests::principal("gateway", Role::Channel) };
    let others = [
        (requests::principal(OUTSIDER, Role::Operator), None),
        (Principal::link_holder(OUTSIDER, None), None),
        (requests::principal("agent-0", Role::Agent), None),
        (requests::principal("agent-77", Role::Agent), Some(PEOPLE[2])),
        (admin(), None),
        (gateway, Some(PEOPLE[3])),
    ];
    let (who, claimed) = world.draw(|chance| chance.pick(&others).clone());
    let value = value_for(world, open.response_type, &open.choices);
    let name = format!("{} ({}) tries to answer", who.name, who.role);
    let request = request(who, open, respond(open, Some(value), claimed));
    world.coverage.count("outsider tried to answer");
    if world.call(name, |store| async move { store.execute(request).await }.boxed()).await.is_ok() {
        world.fail("I46: a caller who stands for no person of the question answers it");
    }
}

fn assignees(world: &World) -> Assignees {
    let groups = |world: &World| vec![world.draw(|chance| (*chance.pick(&GROUPS)).to_owned())];
    match world.draw(|chance| chance.below(8)) {
        0..4 => Assignees { people: some(world, 2), ..Assignees::default() },
        4 => Assignees { groups: groups(world), ..Assignees::default() },
        5 => Assignees { groups: groups(world), people: vec![any(world).to_owned()], ..Assignees::default() },
        6 => Assignees { roles: vec![AssignedRole::Operator], ..Assignees::default() },
        _ => Assignees::all(),
    }
}

/// In a world with people, most questions are assigned to some of them, and several must agree on most of these.
pub(crate) fn assigned(world: &World, asked: SuspendRequest) -> SuspendRequest {
    if !world.plan.has_people {
        return asked;
    }
    // One attempt alone: a question that is reassigned, or told to a deputy, asks others than its ladder says.
    let attempts = asked.retry_policy.as_ref().and_then(|policy| policy.interval_seconds).map(|seconds| 4 * seconds);
    let timeout = asked.timeout_seconds.or(attempts).unwrap_or(u32::try_from(world.plan.scale_seconds).unwrap());
    let asked = SuspendRequest { timeout_seconds: Some(timeout.min(2_592_000)), retry_policy: None, ..asked };
    if world.draw(|chance| chance.happens(10)) {
        return asked;
    }
    let quorum = world.draw(|chance| chance.happens(75)).then(|| {
        let required_approvals = *world.draw(|chance| chance.pick(&[1, 2, 2, 2, 3]));
        let least = world.draw(|chance| chance.happens(20));
        QuorumRequest {
            required_approvals,
            required_refusals: world.draw(|chance| chance.happens(60)).then_some(2),
            required_by_group: least.then(|| BTreeMap::from([(GROUPS[0].to_owned(), 1)])),
        }
    });
    let response_type = if quorum.is_some() && !matches!(asked.response_type, Some(ResponseType::Choice)) {
        Some(ResponseType::Confirm)
    } else {
        asked.response_type
    };
    let is_confirm = response_type == Some(ResponseType::Confirm);
    SuspendRequest {
        assignees: Some(assignees(world)),
        quorum,
        response_type,
        fallback_policy: asked.fallback_policy.map(|_| FallbackPolicy::CompleteWithFallback),
        fallback_value: if is_confirm { asked.fallback_value.map(|_| "yes".into()) } else { asked.fallback_value },
        notify_to: None,
        ..asked
    }
}
