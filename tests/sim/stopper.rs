//! Agents that are stopped: each works, parks itself and asks, while operators, a gateway and an admin pause its intent, let it go on, tell of
//! events and close it, now and then all at the same moment.

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
                let settle = StopCommand::Settle { suspension_id: stop.id, stage, handoff: None };
                send(world, &principal, Target::Suspension(stop.id), settle).await;
            }
            3 => {
                let lifted = Command::SetStatus { status: Status::Active, reason: None, announces: None };
                let request = requests::write(&principal, Action::SetStatus, Target::Intent(intent), Ok(lifted));
                once(world, &principal.name, "lifts its stop", request).await;
            }
            4 => agent.work().await,
            5 => {
                let is_paused = stop.is_paused;
                let is_done = resume(world, &principal, &stop).await;
                if is_done && is_paused {
                    world.fail("I49: the agent whose work is paused let it go on");
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
    let (is_paused, conditions) = (open.is_paused, open.conditions.clone());
    let expires_at = model.suspensions.get(&open.id)?.expires_at;
    Some(Known { id: SuspensionId::parse(&open.id)?, is_paused, expires_at, conditions })
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
    for (name, role) in [("stopper", Role::Operator), ("other-stopper", Role::Operator), ("gateway", Role::Channel)] {
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
        if principal.role == Role::Channel {
            fire(world, principal, &json!({})).await;
        } else if world.draw(|chance| chance.happens(30)) {
            pause(world, principal, intent).await;
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

/// Tells of an event, mostly of one that the conditions name.
async fn fire(world: &Arc<World>, principal: &Principal, conditions: &Value) {
    let named = conditions["on_event"].as_str().or(conditions["trigger"]["events"][0].as_str());
    let drawn = world.draw(|chance| if chance.happens(30) { *chance.pick(&EVENTS) } else { "" });
    let name = if drawn.is_empty() { named.unwrap_or("nothing") } else { drawn }.to_owned();
    let provider = if principal.role == Role::Channel { Provider::Webhook } else { Provider::Placet };
    let (who, fired) = (principal.clone(), Fired { name: name.clone(), provider, payload: Some(json!({"of": name})) });
    let what = format!("{} tells of {name}", principal.name);
    match world.call(what, |store| async move { store.fire(who, Ok(fired), None).await }.boxed()).await {
        Ok(0) => world.coverage.count("event without a waiter"),
        Ok(_) | Err(Failed::Unknown) => {}
        Err(Failed::Rejected(rejection)) => world.fail(format!("I33: an event was refused with {}", rejection.entry().code)),
    }
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
    drop(watch);
    let (Rejection::Stop(refusal), false) = (rejection, is_gone) else { return };
    let (is_true, counted) = match **refusal {
        StopRefusal::Lost { .. } => {
            (ended.as_ref().is_some_and(|ended| ended.resolution == "responded"), "resumption came second")
        }
        StopRefusal::TimeOver => (ended.as_ref().is_some_and(|ended| ended.by == SERVER), "resumption came too late"),
        StopRefusal::IntentEnded { .. } => (ended.is_some(), "resumption of a closed intent"),
        // Nothing ends work by this call in these worlds.
        StopRefusal::NotRunning { .. }
        | StopRefusal::NotStopped
        | StopRefusal::Mismatch
        | StopRefusal::StatusIsHeld
        | StopRefusal::NothingBegins
        | StopRefusal::TurnIsOver { .. }
        | StopRefusal::Ending
        | StopRefusal::NoHandoff => (false, "stop refused"),
    };
    world.coverage.count(counted);
    if !is_true {
        world.fail(format!("I49: refused with {refusal:?}, and the stop is {ended:?}"));
    }
}
