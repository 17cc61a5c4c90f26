//! Agents that are stopped: each works, parks itself and asks, while operators, a gateway and an admin pause its intent, let it go on, tell of
//! events, end its work and close it, now and then all at the same moment.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::asking::stopping;
use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::base::name::{Owner, SERVER};
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::intent::stop_command::StopCommand;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::broadcast::{Broadcast, Struck, Targets};
use domain::suspension::stop::{Fired, Mode, OnTimeout, Provider, Stage};
use domain::suspension::stop_refusal::StopRefusal;
use domain::wire::{ParkRequest, SuspensionView};
use futures_util::FutureExt;
use futures_util::future::join_all;
use harness::requests;
use placet_server::edge::keys::hash;
use serde_json::{Map, Value, json};
use store::{Idempotency, Outcome, Request, Target};

use crate::agent::{self, Agent};
use crate::executor::{MILLISECOND, SECOND};
use crate::operator::OUTCOME_KEPT;
use crate::stops::HANDOFF_SECONDS;
use crate::world::{Failed, World};

/// How many agents are stopped, how many intents each of them has one after the other, and how often it does something on each.
const AGENTS: u64 = 2;
const LIVES: u64 = 3;
const TURNS: u64 = 24;
/// The owner of their keys, who is that of the first agent as well.
const OWNER: &str = "team-0";
/// How often others act on an intent.
const ACTS: u64 = 40;
/// How often an agent looks whether it may go on.
const LOOKS: u32 = 20;
/// How many act at the same moment at most.
const CROWD: u64 = 4;
/// The names of the events that come.
const EVENTS: [&str; 3] = ["review.approved", "ci.build:7", "order/paid"];

/// A stop as the people of the world know it.
#[derive(Clone)]
struct Known {
    id: SuspensionId,
    is_paused: bool,
    is_ending: bool,
    expires_at: Option<i64>,
    conditions: Value,
}

pub(crate) fn start(world: &Arc<World>) {
    let agents = if world.plan.has_stops { AGENTS } else { 0 };
    for number in 0..agents {
        let (one, name) = (world.clone(), format!("worker-{number}"));
        world.spawn(name.clone(), async move {
            for life in 0..LIVES {
                let principal =
                    Principal { owner: Owner(OWNER.to_owned()), ..requests::principal(&format!("{name}-{life}"), Role::Agent) };
                if let Some(mut agent) = agent::hire(&one, principal).await {
                    others(&one, agent.intent);
                    live(&one, &mut agent).await;
                }
            }
        });
    }
}

/// The course of one intent, by its agent.
async fn live(world: &Arc<World>, agent: &mut Agent) {
    for turn in 0..TURNS {
        world.think(world.plan.scale_seconds * SECOND / 4).await;
        if world.is_healed() || is_over(world, agent.intent) {
            return;
        }
        if open(world, agent.intent).is_some() {
            rest(world, agent).await;
            continue;
        }
        match world.draw(|chance| chance.below(10)) {
            0..5 => park(world, agent, turn).await,
            5 => {
                agent.ask(turn).await;
            }
            _ => agent.work().await,
        }
    }
    if world.draw(|chance| chance.happens(50)) {
        close(world, &agent.principal, agent.intent).await;
    }
}

/// Stops further, and tries to lift the stop; only a park may be lifted by its agent.
async fn rest(world: &Arc<World>, agent: &mut Agent) {
    let intent = agent.intent;
    for _ in 0..LOOKS {
        let Some(stop) = open(world, intent).filter(|_| !world.is_healed()) else { return };
        let principal = agent.principal.clone();
        match world.draw(|chance| chance.below(8)) {
            0..3 => {
                let stage = world.draw(|chance| *chance.pick(&Stage::ALL));
                let handoff = (stop.is_ending && stage == Stage::Suspended).then(|| json!({"left": [principal.name]}));
                let settle = StopCommand::Settle { suspension_id: stop.id, stage, handoff };
                send(world, &principal, Target::Suspension(stop.id), settle).await;
            }
            3 => {
                let lifted = Command::SetStatus { status: Status::Active, reason: None, announces: None };
                let request = requests::write(&principal, Action::SetStatus, Target::Intent(intent), Ok(lifted));
                once(world, &principal.name, "lifts its stop", request).await;
            }
            4 => agent.work().await,
            5 => {
                let is_held = stop.is_paused || stop.is_ending;
                let is_done = resume(world, &principal, &stop).await;
                if is_done && is_held {
                    world.fail("I49: the agent whose work is paused or ended let it go on");
                }
            }
            _ => {}
        }
        look(world, &principal, stop.id).await;
        world.think(world.plan.scale_seconds * SECOND / 4).await;
    }
}

/// Reads the stop, as the agent does that waits for its end.
async fn look(world: &Arc<World>, principal: &Principal, id: SuspensionId) {
    let (who, era) = (principal.clone(), world.era());
    let read =
        world.call(format!("{} reads its stop", principal.name), move |store| async move { store.either(who, id).await }.boxed());
    match read.await {
        Ok(SuspensionView::Stop(record)) => {
            let watch = world.watch.lock().unwrap();
            let ended = watch.suspension_named(&id.expose()).and_then(|model| model.resolution.clone());
            drop(watch);
            // The stop may have ended since it was read, and then the record is older.
            if record.resolution.is_some() && ended.is_none() && world.era() == era {
                world.fail("I49: an agent was told of the end of a stop that is open");
            }
        }
        Ok(SuspensionView::Question(_)) => world.fail("I26: a stop is shown as a question"),
        Err(_) => {}
    }
}

/// The intent's open stop, by the events.
fn open(world: &World, intent: IntentId) -> Option<Known> {
    let watch = world.watch.lock().unwrap();
    let model = watch.intents.values().find(|model| model.id == intent.to_string())?;
    let open = model.stops.open.as_ref()?;
    let (is_paused, is_ending, conditions) = (open.is_paused, open.is_ending, open.conditions.clone());
    let expires_at = model.suspensions.get(&open.id)?.expires_at;
    Some(Known { id: SuspensionId::parse(&open.id)?, is_paused, is_ending, expires_at, conditions })
}

/// Whether the intent has ended, or was begun after a backup and is gone since the restore.
fn is_over(world: &World, intent: IntentId) -> bool {
    let watch = world.watch.lock().unwrap();
    let model = watch.intents.values().find(|model| model.id == intent.to_string());
    model.is_none_or(|model| matches!(model.status.as_str(), "completed" | "abandoned"))
}

async fn park(world: &Arc<World>, agent: &mut Agent, turn: u64) {
    let minutes_max = (world.plan.scale_seconds / 20).clamp(2, 10_000);
    let conditions = world.draw(|chance| {
        let mut conditions = Map::new();
        if chance.happens(50) {
            conditions.insert("on_event".to_owned(), json!(chance.pick(&EVENTS)));
        }
        if chance.happens(50) {
            let (provider, events) = (*chance.pick(&["placet", "webhook"]), [*chance.pick(&EVENTS), "never"]);
            conditions.insert("trigger".to_owned(), json!({"kind": "any", "provider": provider, "match": {"events": events}}));
        }
        if conditions.is_empty() || chance.happens(70) {
            let on_timeout = chance.pick(&OnTimeout::ALL).as_str();
            let minutes = chance.within(1..=minutes_max);
            conditions.insert("timeout".to_owned(), json!({"duration_minutes": minutes, "on_timeout": on_timeout}));
        }
        conditions
    });
    let body = ParkRequest { reason: format!("turn {turn}"), conditions: Some(Value::Object(conditions)), resume_owner: None };
    let id = SuspensionId(world.entropy.uuid(world.executor.now()));
    match stopping::parking(id, body) {
        Ok(Command::Stop(command)) => {
            send(world, &agent.principal, Target::Intent(agent.intent), *command).await;
        }
        other => world.fail(format!("a park that is none: {other:?}")),
    }
}

/// Starts the others that act on an intent.
fn others(world: &Arc<World>, intent: IntentId) {
    let chief = ("chief", Role::Admin);
    for (name, role) in [("stopper", Role::Operator), ("other-stopper", Role::Operator), ("gateway", Role::Channel), chief] {
        let (one, principal) = (world.clone(), requests::principal(name, role));
        world.spawn(name, async move {
            for _ in 0..ACTS {
                one.think(one.plan.scale_seconds * SECOND).await;
                if one.is_healed() || is_over(&one, intent) {
                    return;
                }
                act(&one, &principal, intent).await;
            }
        });
    }
}

/// Does one thing, or stands for several who do their things at the same moment, now and then at that of the deadline.
async fn act(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    let Some(stop) = open(world, intent) else {
        match (principal.role, world.draw(|chance| chance.below(100))) {
            (Role::Channel, _) => fire(world, principal, &json!({})).await,
            (Role::Admin, 0..15) => broadcast(world, principal, intent).await,
            (Role::Operator, 0..30) => pause(world, principal, intent).await,
            (Role::Operator, 30..33) => stop_work(world, principal, intent).await,
            (_, _) => {}
        }
        return;
    };
    if world.draw(|chance| chance.happens(40)) {
        // Now and then the agent has some time in which it rests.
        return;
    }
    if let Some(at) = stop.expires_at.filter(|_| world.draw(|chance| chance.happens(40))) {
        let left = at - world.clock() - world.draw(|chance| chance.within(0..=5)) * MILLISECOND;
        world.executor.after(left).await;
    }
    let crowd = if world.draw(|chance| chance.happens(30)) { CROWD } else { 1 };
    let acts = (0..crowd).map(|member| {
        // Each member of a crowd is another caller.
        let name = if member == 0 { principal.name.clone() } else { format!("{}-{member}", principal.name) };
        let one = Principal { subject: name.clone(), owner: Owner(name.clone()), name, ..principal.clone() };
        let stop = stop.clone();
        async move { end(world, &one, intent, &stop).await }
    });
    join_all(acts).await;
}

/// One of the ways by which a stop may end.
async fn end(world: &Arc<World>, principal: &Principal, intent: IntentId, stop: &Known) {
    if principal.role == Role::Channel {
        return fire(world, principal, &stop.conditions).await;
    }
    if principal.role == Role::Admin {
        return match world.draw(|chance| chance.below(10)) {
            0 => stop_work(world, principal, intent).await,
            1 | 2 => broadcast(world, principal, intent).await,
            3..7 => fire_once(world, principal, &stop.conditions).await,
            _ => {}
        };
    }
    match world.draw(|chance| chance.below(20)) {
        0..2 => close(world, &Principal { role: Role::Admin, ..principal.clone() }, intent).await,
        2..5 => pause(world, principal, intent).await,
        5..11 => fire(world, principal, &stop.conditions).await,
        _ => {
            resume(world, principal, stop).await;
        }
    }
}

async fn pause(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    let id = SuspensionId(world.entropy.uuid(world.executor.now()));
    let mode = world.draw(|chance| *chance.pick(&Mode::ALL));
    send(world, principal, Target::Intent(intent), StopCommand::Pause { id, mode, reason: None }).await;
}

/// Ends the work, now and then without time for its agent.
async fn stop_work(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    let id = SuspensionId(world.entropy.uuid(world.executor.now()));
    let seconds = world.draw(|chance| chance.happens(70)).then_some(HANDOFF_SECONDS);
    send(world, principal, Target::Intent(intent), StopCommand::End { id, seconds, reason: None }).await;
}

/// Pauses many at once, among them this intent. The answer names stops that are there.
async fn broadcast(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    let by_id = world.draw(|chance| chance.happens(50));
    let created_by = {
        let watch = world.watch.lock().unwrap();
        watch.intents.values().find(|model| model.id == intent.to_string()).map(|model| model.creator.clone())
    };
    // The other agents of the world go on: their intents are let go on by no one.
    let targets = match created_by.filter(|_| !by_id) {
        Some(name) => Targets::Running { created_by: Some(name), after: None, limit: 5 },
        None => Targets::Ids(vec![intent, IntentId(world.entropy.uuid(world.executor.now()))]),
    };
    let mode = world.draw(|chance| *chance.pick(&Mode::ALL));
    let (who, era, what) = (principal.clone(), world.era(), format!("{} pauses many", principal.name));
    let wanted = Broadcast { targets, mode, reason: None };
    match world.call(what, |store| async move { store.broadcast(who, Ok(wanted)).await }.boxed()).await {
        Ok(heard) => {
            for (_, struck) in heard.struck {
                let Struck::Suspended(id) = struck else { continue };
                world.coverage.count("intent paused by a broadcast");
                let is_there = world.watch.lock().unwrap().suspension_named(&id.expose()).is_some();
                if !is_there && world.era() == era {
                    world.fail("I49: a broadcast told of a pause that is not there");
                }
            }
        }
        Err(Failed::Unknown) => {}
        Err(Failed::Rejected(rejection)) => world.fail(format!("I33: a broadcast was refused with {}", rejection.entry().code)),
    }
}

/// Draws an event, mostly one that the conditions name.
fn event(world: &World, principal: &Principal, conditions: &Value) -> Fired {
    let named = conditions["on_event"].as_str().or(conditions["trigger"]["events"][0].as_str());
    let drawn = world.draw(|chance| if chance.happens(30) { *chance.pick(&EVENTS) } else { "" });
    let name = if drawn.is_empty() { named.unwrap_or("nothing") } else { drawn }.to_owned();
    let provider = if principal.role == Role::Channel { Provider::Webhook } else { Provider::Placet };
    Fired { provider, payload: Some(json!({"of": name})), name, webhook_id: None }
}

/// Tells of an event; returns how many it let go on, if that is known.
async fn tell(world: &Arc<World>, principal: &Principal, fired: &Fired, once: Option<Idempotency>) -> Option<u64> {
    let (who, fired, what) = (principal.clone(), fired.clone(), format!("{} tells of {}", principal.name, fired.name));
    match world.call(what, move |store| async move { store.fire(who, Ok(fired), once).await }.boxed()).await {
        Ok(woken) => Some(woken),
        Err(Failed::Unknown) => None,
        Err(Failed::Rejected(rejection)) => {
            world.fail(format!("I33: an event was refused with {}", rejection.entry().code));
            None
        }
    }
}

async fn fire(world: &Arc<World>, principal: &Principal, conditions: &Value) {
    let fired = event(world, principal, conditions);
    if tell(world, principal, &fired, None).await == Some(0) {
        world.coverage.count("event without a waiter");
    }
}

/// Tells of an event several times under one key, at once and later: it is one event, so no copy wakes an intent that was parked after the
/// first ones were answered. A later answer may tell of more: an intent whose time was over may have got time back.
async fn fire_once(world: &Arc<World>, principal: &Principal, conditions: &Value) {
    let fired = event(world, principal, conditions);
    let number = world.entropy.uuid(world.executor.now());
    let name = format!("{}-{number}", principal.name);
    let principal = &Principal { subject: name.clone(), owner: Owner(name.clone()), name: name.clone(), ..principal.clone() };
    let once = Some(Idempotency { key_hash: hash(&name), body_hash: [5; 32] });
    let (kept_until, era) = (world.clock() + OUTCOME_KEPT, world.era());
    let heard = join_all((0..2).map(|_| tell(world, principal, &fired, once))).await;
    let Some(told) = heard.into_iter().flatten().max() else { return };
    if told > 0 {
        world.coverage.count("event told under a key");
    }
    let before = woken_or_open(world, &name);
    world.think(world.plan.scale_seconds * SECOND).await;
    if world.era() != era || world.clock() >= kept_until {
        return;
    }
    let again = tell(world, principal, &fired, once).await;
    if world.era() != era || world.clock() >= kept_until {
        return;
    }
    if again.is_some_and(|again| again < told) {
        world.fail("I49: a copy of an event was told of fewer intents than the first one");
    }
    let watch = world.watch.lock().unwrap();
    let woken = watch.intents.values().flat_map(|model| &model.stops.woken).filter(|(by, _)| *by == name);
    let later = woken.map(|(_, id)| id.clone()).find(|id| !before.contains(id));
    drop(watch);
    if let Some(id) = later {
        world.fail(format!("I49: a copy of an event let an intent go on that was parked later, {id}"));
    }
}

/// The stops that this principal has woken, and those that are open.
fn woken_or_open(world: &World, name: &str) -> BTreeSet<String> {
    let watch = world.watch.lock().unwrap();
    let open = watch.intents.values().filter_map(|model| model.stops.open.as_ref()).map(|open| open.id.clone());
    let woken = watch.intents.values().flat_map(|model| &model.stops.woken).filter(|(by, _)| by == name);
    open.chain(woken.map(|(_, id)| id.clone())).collect()
}

/// Lets the intent go on; returns whether the caller was told so.
async fn resume(world: &Arc<World>, principal: &Principal, stop: &Known) -> bool {
    let (suspension_id, era) = (stop.id, world.era());
    let continue_transcript = world.draw(|chance| chance.happens(50));
    let (input, asked_at) = (Some(json!("go on")), world.executor.now());
    let resume = StopCommand::Resume { suspension_id, handle: None, input, continue_transcript, asked_at };
    let told = send(world, principal, Target::Suspension(stop.id), resume).await;
    if told && world.era() == era {
        let mut watch = world.watch.lock().unwrap();
        let before = watch.released.insert(stop.id.expose(), principal.name.clone());
        let checked = watch.check_told();
        drop(watch);
        if let Some(before) = before.filter(|before| *before != principal.name) {
            world.fail(format!("I49: {before} and {} were both told that they let the intent go on", principal.name));
        }
        world.check(checked);
    }
    told
}

async fn close(world: &Arc<World>, principal: &Principal, intent: IntentId) {
    let command = Command::SetStatus { status: Status::Abandoned, reason: Some("not needed".to_owned()), announces: None };
    let request = requests::write(principal, Action::SetStatus, Target::Intent(intent), Ok(command));
    once(world, &principal.name, "closes", request).await;
}

/// Sends a request once, and does not mind what becomes of it: the checks after each transaction examine that.
async fn once(world: &Arc<World>, name: &str, what: &str, request: Request) {
    drop(world.call(format!("{name} {what}"), |store| async move { store.execute(request).await }.boxed()).await);
}

/// Sends a command about a stop until its outcome is known; returns whether it was carried out.
async fn send(world: &Arc<World>, principal: &Principal, target: Target, command: StopCommand) -> bool {
    let (name, action) = (principal.name.clone(), command.action());
    let names = command.names_suspension();
    let key_hash = hash(&format!("{name} {:?}", world.entropy.uuid(world.executor.now())));
    let request = Request {
        idempotency: Some(Idempotency { key_hash, body_hash: [4; 32] }),
        ..requests::write(principal, action, target, Ok(Command::Stop(Box::new(command))))
    };
    let (kept_until, era) = (world.clock() + OUTCOME_KEPT, world.era());
    for _ in 0..3 {
        if world.era() != era || world.clock() >= kept_until {
            return false;
        }
        let (sent, what) = (request.clone(), format!("{name}: {action:?}"));
        match world.call(what, |store| async move { store.execute(sent).await }.boxed()).await {
            Ok(Outcome::Stop(record)) => {
                if action == Action::Resume && record.resolution.is_none() {
                    world.fail("I49: told that the intent goes on, and the stop is open");
                }
                return true;
            }
            Ok(_) => world.fail("I26: a command about a stop was answered with something else"),
            Err(Failed::Rejected(rejection)) => {
                refused(world, names, &rejection, era);
                return false;
            }
            Err(Failed::Unknown) => world.pause().await,
        }
    }
    false
}

/// Checks that the reason of a refusal is true.
fn refused(world: &World, named: Option<SuspensionId>, rejection: &Rejection, era: u64) {
    let Some(id) = named.filter(|_| world.era() == era) else { return };
    let watch = world.watch.lock().unwrap();
    let is_gone = watch.suspension_named(&id.expose()).is_none();
    let ended = watch.suspension_named(&id.expose()).and_then(|model| model.resolution.clone());
    let is_named = |ids: &[String]| ids.contains(&id.expose());
    let is_ending = watch.intents.values().any(|model| is_named(&model.stops.endings));
    let of = watch.intents.values().find(|model| model.suspensions.contains_key(&id.expose()));
    let ended_with_the_work = of.is_some_and(|model| !model.stops.endings.is_empty() && !is_named(&model.stops.endings));
    drop(watch);
    let (Rejection::Stop(refusal), false) = (rejection, is_gone) else { return };
    let (is_true, counted) = match **refusal {
        StopRefusal::Lost { .. } => {
            (ended.as_ref().is_some_and(|ended| ended.resolution == "responded"), "resumption came second")
        }
        StopRefusal::Ending if ended_with_the_work => {
            (ended.as_ref().is_some_and(|ended| ended.resolution == "cancelled"), "resumption of a stop that ended with the work")
        }
        StopRefusal::Ending => (is_ending, "resumption of work that is being ended"),
        StopRefusal::TimeOver => (ended.as_ref().is_some_and(|ended| ended.by == SERVER), "resumption came too late"),
        StopRefusal::IntentEnded { .. } => (ended.is_some(), "resumption of a closed intent"),
        StopRefusal::NotRunning { .. }
        | StopRefusal::ParkedOtherwise
        | StopRefusal::NotStopped
        | StopRefusal::QuestionEnded
        | StopRefusal::NothingStopped { .. }
        | StopRefusal::Mismatch
        | StopRefusal::StatusIsHeld
        | StopRefusal::NothingBegins
        | StopRefusal::HearsNothing { .. }
        | StopRefusal::TurnIsOver { .. }
        | StopRefusal::NoHandoff => (false, "stop refused"),
    };
    world.coverage.count(counted);
    if !is_true {
        world.fail(format!("I49: refused with {refusal:?}, and the stop is {ended:?}"));
    }
}
