//! Operators: they answer with keys from the list of open questions, and send again messages that may have been lost.

use std::sync::Arc;

use chrono::TimeDelta;
use domain::base::name::Owner;
use domain::intent::command::{Command, Later};
use domain::intent::event::ExtensionCause;
use domain::people::principal::{Assurance, Principal, Role};
use domain::problem::Rejection;
use domain::wire::SuspensionRecord;
use futures_util::FutureExt;
use placet_server::edge::keys::hash;
use serde_json::{Value, json};
use store::{FailedFilter, Idempotency, Outcome, Precondition, Redrive, Request, SuspensionFilter, Target};

use crate::executor::{MILLISECOND, SECOND};
use crate::person::{accepted, refused, request, value_for};
use crate::world::{Failed, World};

/// How many questions one operator answers.
const ANSWERS: u64 = 4;
/// How long a replay finds the outcome of the first call; a little less than a day, because the exact time of that call is
/// unknown.
pub(crate) const OUTCOME_KEPT: i64 = 20 * 3_600 * SECOND;
/// How many times an operator sends an answer at most: again while its outcome is unknown, and once more as a replay.
const TRIES: u32 = 4;

pub(crate) fn start(world: &Arc<World>, number: u64) {
    let world = world.clone();
    let name = format!("operator-{number}");
    world.clone().spawn(name.clone(), async move {
        for turn in 0..ANSWERS {
            world.think(3 * world.plan.scale_seconds * SECOND).await;
            if world.is_healed() {
                return;
            }
            if world.draw(|chance| chance.happens(60)) && redrive(&world, &name).await {
                continue;
            }
            let Some(record) = choose(&world, &name).await else { continue };
            if world.draw(|chance| chance.happens(40)) {
                nudge(&world, &name, &record).await;
            } else {
                answer(&world, &name, turn, &record).await;
            }
        }
    });
}

fn principal(name: &str) -> Principal {
    Principal {
        credential: None,
        name: name.to_owned(),
        subject: name.to_owned(),
        owner: Owner(name.to_owned()),
        role: Role::Operator,
        tied_to: None,
        client: None,
        assurance: Assurance::ApiKey,
    }
}

/// One of the open questions.
async fn choose(world: &Arc<World>, name: &str) -> Option<SuspensionRecord> {
    let (who, filter) = (
        principal(name),
        SuspensionFilter { limit: 10, open: true, before: None, requests: None, beside: None, asked_under: None },
    );
    let listed =
        world.call(format!("{name} lists"), |store| async move { store.suspensions(who, Ok(filter)).await }.boxed()).await;
    let open = listed.ok()?.suspensions;
    world.draw(|chance| (!open.is_empty()).then(|| chance.pick(&open).clone()))
}

async fn answer(world: &Arc<World>, name: &str, turn: u64, record: &SuspensionRecord) {
    let value = value_for(world, record.response_type, &record.choices);
    let key =
        Idempotency { key_hash: hash(&format!("{name} {turn}")), body_hash: hash(&format!("{} {value}", record.id.expose())) };
    let request = request(principal(name), (record.intent_id, record.id), value.clone(), Some(key));
    let (kept_until, era) = (world.clock() + OUTCOME_KEPT, world.era());
    if !send(world, name, &request, record, &value).await {
        return;
    }
    if world.era() == era && world.clock() < kept_until && world.draw(|chance| chance.happens(30)) {
        reuse(world, name, Request { idempotency: Some(Idempotency { body_hash: [0; 32], ..key }), ..request }).await;
    }
}

/// Gives people more time, or has them reminded.
async fn nudge(world: &Arc<World>, name: &str, record: &SuspensionRecord) {
    let id = record.id;
    let (what, command) = if world.draw(|chance| chance.happens(50)) {
        wait_for_the_deadline(world, &id.expose()).await;
        let later = Later::By(TimeDelta::seconds(world.draw(|chance| chance.within(1..=world.plan.scale_seconds))));
        let cause = ExtensionCause::Request;
        ("extends", Command::Extend { suspension_id: id, later, reason: None, cause })
    } else {
        ("reminds", Command::Remind { suspension_id: id, asked: None })
    };
    let request = Request {
        principal: principal(name),
        target: Target::Suspension(id),
        precondition: Precondition::None,
        idempotency: None,
        trace_parent: None,
        command: Ok(command),
    };
    // Some operators ask for the same reminder twice.
    let times = if what == "reminds" && world.draw(|chance| chance.happens(30)) { 2 } else { 1 };
    for _ in 0..times {
        let sent = request.clone();
        let nudged = world.call(format!("{name} {what}"), |store| async move { store.execute(sent).await }.boxed()).await;
        if let Ok(Outcome::Suspension { .. }) = nudged {
            world.coverage.count(if what == "extends" { "deadline moved" } else { "people reminded on request" });
        }
    }
}

/// Some operators act at the very deadline of a question, when it may have passed although the question has not ended yet.
async fn wait_for_the_deadline(world: &Arc<World>, question: &str) {
    let deadline = world.watch.lock().unwrap().suspension_named(question).and_then(|open| open.expires_at);
    let Some(at) = deadline.filter(|_| world.draw(|chance| chance.happens(30))) else { return };
    let left = at - world.clock() - world.draw(|chance| chance.within(0..=4)) * MILLISECOND;
    world.executor.after(left).await;
}

/// Sends a failed message again; returns whether there was one.
async fn redrive(world: &Arc<World>, name: &str) -> bool {
    // The operator who sends failed messages again is an admin as well.
    let who = Principal { role: Role::Admin, ..principal(name) };
    let (filter, admin) = (FailedFilter { limit: 5, before: None }, who.clone());
    let listed = world.call(format!("{name} lists what failed"), move |store| {
        async move { store.failed_deliveries(who, Ok(filter)).await }.boxed()
    });
    let Ok(page) = listed.await else { return false };
    if let Some(unknown) = page.deliveries.iter().find(|delivery| !is_known(world, &delivery.id.to_string())) {
        world.fail(format!("I22: {} is listed as failed, and is no message", unknown.id));
    }
    let Some((id, question)) = world.draw(|chance| {
        (!page.deliveries.is_empty()).then(|| {
            let delivery = chance.pick(&page.deliveries);
            (delivery.id, delivery.suspension_id.expose())
        })
    }) else {
        return false;
    };
    wait_for_the_deadline(world, &question).await;
    let wanted = Ok(Redrive { id, idempotency: None });
    let sent =
        world.call(format!("{name} sends {id} again"), move |store| async move { store.redrive(admin, wanted).await }.boxed());
    if let Ok(view) = sent.await
        && view.id != id
    {
        world.fail("I32: another message was sent again");
    }
    true
}

/// Whether there is a message with this id now.
pub(crate) fn is_known(world: &World, delivery: &str) -> bool {
    let watch = world.watch.lock().unwrap();
    watch.messages.values().any(|message| crate::watch::hyphenated(&message.id) == delivery)
}

/// Sends an answer until its outcome is known. If it was accepted, sends it once more: the replay must give the same result.
/// Returns whether the answer was accepted.
async fn send(world: &Arc<World>, name: &str, request: &Request, record: &SuspensionRecord, value: &Value) -> bool {
    let mut first: Option<Value> = None;
    let (kept_until, era) = (world.clock() + OUTCOME_KEPT, world.era());
    for _ in 0..TRIES {
        if world.era() != era {
            // The effect of a key is forgotten when the database is set back.
            return false;
        }
        let (sent, what) = (request.clone(), format!("{name} answers {value}"));
        match world.call(what, |store| async move { store.execute(sent).await }.boxed()).await {
            Ok(outcome) => {
                let said = json!(outcome);
                match &first {
                    None => accepted(world, record.id.expose(), value, name),
                    Some(first) if *first != said => world.fail("I21: a replay was answered differently"),
                    Some(_) => {
                        world.coverage.count("answer replayed");
                        return true;
                    }
                }
                first = Some(said);
            }
            Err(Failed::Rejected(_)) if world.clock() >= kept_until => return false,
            Err(Failed::Rejected(rejection)) if first.is_some() => {
                world.fail(format!("I21: a replay was refused with {}", rejection.entry().code));
            }
            Err(Failed::Rejected(rejection)) => {
                refused(world, &rejection, &record.id.expose());
                return false;
            }
            Err(Failed::Unknown) => world.pause().await,
        }
    }
    first.is_some()
}

/// The same key with another body is a mistake, and has no effect.
async fn reuse(world: &Arc<World>, name: &str, request: Request) {
    let reused = world.call(format!("{name} reuses a key"), |store| async move { store.execute(request).await }.boxed()).await;
    match reused {
        Err(Failed::Rejected(Rejection::IdempotencyMismatch) | Failed::Unknown) => {}
        Err(Failed::Rejected(other)) => {
            world.fail(format!("I21: a key with another body was refused with {}", other.entry().code));
        }
        Ok(_) => world.fail("I21: a key with another body was accepted"),
    }
}
