//! People: they answer from mails, twice, late, wrongly, together, or not at all. And a scanner, which opens every link.

use std::sync::Arc;

use domain::base::ids::{IntentId, SuspensionId};
use domain::base::time::micros;
use domain::intent::command::{Command, Respond};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::{ResponseType, Suspension, SuspensionChoice};
use futures_util::FutureExt;
use serde_json::{Value, json};
use store::link::LinkToken;
use store::{Idempotency, LinkView, Outcome, Precondition, Request, Target};

use crate::executor::{MILLISECOND, SECOND};
use crate::mail::Mail;
use crate::world::{Failed, World};

/// How many times a person sends an answer at most while its outcome is unknown.
const TRIES: u32 = 4;

/// A person, or a program, gets a mail.
pub(crate) async fn read(world: &Arc<World>, mail: Mail) {
    let Some(link) = open(world, &mail).await else { return };
    if world.draw(|chance| chance.happens(20)) {
        // A scanner, a preview, a curious colleague: opening decides nothing.
        for _ in 0..3 {
            open(world, &mail).await;
        }
        world.coverage.count("link opened by a scanner");
        return;
    }
    if world.draw(|chance| chance.happens(25)) {
        return;
    }
    wait_before_answering(world, &link).await;
    if world.draw(|chance| chance.happens(10)) {
        let wrong = json!("none of the choices");
        answer(world, &mail, wrong).await;
    }
    let value = value_for(world, link.suspension.response_type, &link.suspension.choices);
    if world.draw(|chance| chance.happens(20)) {
        // A double click, or a second tab with another answer.
        let second = if world.draw(|chance| chance.happens(50)) {
            value.clone()
        } else {
            value_for(world, link.suspension.response_type, &link.suspension.choices)
        };
        let (other, again) = (world.clone(), mail.clone());
        world.spawn("the second click", async move { answer(&other, &again, second).await });
        world.coverage.count("two clicks");
    }
    answer(world, &mail, value).await;
}

/// Opens a link; it must lead to the one question for which it was sent, and to nothing else.
async fn open(world: &Arc<World>, mail: &Mail) -> Option<LinkView> {
    let Some(token) = LinkToken::parse(&mail.token) else {
        world.fail(format!("I32: a mailed link holds no token: {}", mail.token));
        return None;
    };
    let opened = world.call(format!("{} opens a link", mail.recipient), |store| async move { store.link(token).await }.boxed());
    let link = match opened.await {
        // A restore ends every link from before.
        Ok(None) if mail.era != world.era() => {
            world.coverage.count("link from before a restore");
            return None;
        }
        Ok(None) => {
            world.fail("I32: a mailed link opens nothing");
            return None;
        }
        Ok(Some(_)) if mail.era != world.era() => {
            world.fail("I32: a link from before a restore opens a question");
            return None;
        }
        Ok(Some(link)) => link,
        Err(_) => return None,
    };
    let watch = world.watch.lock().unwrap();
    let message = watch.messages.values().find(|message| crate::watch::hyphenated(&message.id) == mail.delivery);
    let suspension = message.and_then(|message| watch.suspensions.get(&message.suspension)).map(|(_, id)| id.clone());
    drop(watch);
    if suspension.as_deref() != Some(link.suspension.id.expose().as_str()) {
        world.fail("I32: a link opens another question than the one it was sent for");
    }
    if link.recipient != mail.recipient {
        world.fail(format!("I32: a link sent to {} is {}'s", mail.recipient, link.recipient));
    }
    Some(link)
}

/// Some people answer at once, some after a while, some at the very last moment.
async fn wait_before_answering(world: &Arc<World>, link: &LinkView) {
    let now = world.clock();
    let left = link.suspension.expires_at.map(|at| micros(at) - now);
    let wait = match left {
        Some(left) if world.draw(|chance| chance.happens(50)) => {
            // The answer is sent so early that it arrives at about the deadline.
            left - world.draw(|chance| chance.within(0..=9)) * MILLISECOND
        }
        Some(left) => world.draw(|chance| chance.within(0..=left.max(0) * 5 / 4)),
        None => world.draw(|chance| chance.within(0..=world.plan.scale_seconds * SECOND)),
    };
    world.executor.after(wait).await;
}

/// A value that the question accepts.
pub(crate) fn value_for(world: &World, response_type: ResponseType, choices: &[SuspensionChoice]) -> Value {
    match response_type {
        ResponseType::Choice | ResponseType::Confirm => {
            json!(world.draw(|chance| chance.pick(choices).value.clone()))
        }
        ResponseType::Text => json!(format!("text {}", world.draw(|chance| chance.below(3)))),
        ResponseType::Form => json!({"amount": world.draw(|chance| chance.below(3)), "note": "für später"}),
    }
}

/// Answers from a mail, as the page's form does.
async fn answer(world: &Arc<World>, mail: &Mail, value: Value) {
    for _ in 0..TRIES {
        let Some(link) = open(world, mail).await else {
            world.pause().await;
            continue;
        };
        let principal = Principal::link_holder(&link.recipient, link.delivery);
        let request = request(principal, (link.suspension.intent_id, link.suspension.id), value.clone(), None);
        if submit(world, request, &link.suspension, &value, &mail.recipient).await {
            return;
        }
        world.pause().await;
    }
}

/// The request that carries an answer, as the API and the page behind a link send it.
pub(crate) fn request(
    principal: Principal,
    (intent, id): (IntentId, SuspensionId),
    value: Value,
    idempotency: Option<Idempotency>,
) -> Request {
    Request {
        principal,
        target: Target::Intent(intent),
        precondition: Precondition::None,
        idempotency,
        trace_parent: None,
        command: Ok(Command::Respond(Box::new(Respond {
            suspension_id: id.expose(),
            value: Some(value),
            // The server keeps this claim in the record, but takes the responder from the principal.
            claimed_responded_by: Some("the boss".to_owned()),
            ..Respond::default()
        }))),
    }
}

/// Sends an answer once and checks the result against the rules; returns whether the result was definite.
async fn submit(world: &Arc<World>, request: Request, suspension: &Suspension, value: &Value, by: &str) -> bool {
    let id = suspension.id.expose();
    let answered = world.call(format!("{by} answers {value}"), |store| async move { store.execute(request).await }.boxed()).await;
    match answered {
        Ok(Outcome::Responded { response, .. }) => {
            if response.value != *value || response.responded_by != by || response.suspension_id != suspension.id {
                world.fail(format!("I5: {by} said {value} and was told {} by {}", response.value, response.responded_by));
            }
            // If several people must agree, an answer may count without ending the question.
            if response.resolution.is_some() {
                accepted(world, id, value, by);
            }
            true
        }
        Ok(_) => {
            world.fail("I4: an answer was answered with something else");
            true
        }
        Err(Failed::Rejected(rejection)) => {
            refused(world, &rejection, &id);
            true
        }
        Err(Failed::Unknown) => false,
    }
}

/// Notes that a person was told that an answer counts. No other answer to the question may count, and this one must stay
/// recorded.
pub(crate) fn accepted(world: &Arc<World>, id: String, value: &Value, by: &str) {
    world.coverage.count("answer accepted");
    let mut watch = world.watch.lock().unwrap();
    if watch.accepted.insert(id, (value.clone(), by.to_owned())).is_some() {
        world.fail("I4: two answers to one question were both told that they count");
    }
    let checked = watch.check_told();
    drop(watch);
    world.check(checked);
}

/// Checks that the reason of a refusal is true.
pub(crate) fn refused(world: &Arc<World>, rejection: &Rejection, id: &str) {
    let watch = world.watch.lock().unwrap();
    if watch.suspension_named(id).is_none() && world.era() > 0 {
        // The question was asked before the database was set back, and the database no longer knows it.
        return;
    }
    let resolved = watch.suspension_named(id).and_then(|model| model.resolution.clone());
    let ended = resolved.as_ref().map(|resolved| (resolved.resolution, resolved.reason.as_deref()));
    drop(watch);
    let (is_true, counted) = match rejection.entry().code {
        "expired" => (
            matches!(ended, Some(("expired", _) | ("cancelled", Some("undeliverable" | "portfolio_deadline" | "quorum_unmet")))),
            "answer too late",
        ),
        "already_resolved" => {
            (matches!(ended, Some(("responded", _) | ("cancelled", Some("withdrawn" | "superseded")))), "answer came second")
        }
        "invalid_choice" | "invalid" => (true, "answer was no answer"),
        // The reference for people judges who answers, and not why a person may not.
        "not_assigned" | "self_response" | "gateway_counted" => (world.plan.has_people, "answer of a person who may not"),
        _ => (false, "answer refused for no reason"),
    };
    world.coverage.count(counted);
    if !is_true {
        world.fail(format!("I33: an answer was refused with {}, but the question is {ended:?}", rejection.entry().code));
    }
}
