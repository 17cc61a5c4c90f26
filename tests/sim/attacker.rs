//! An attacker who tries forbidden requests: answer one's own question, guess a link, reach `_suspension`, ask twice, use
//! another's id.

use std::sync::Arc;

use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::base::name::Owner;
use domain::intent::body::{Patch, PatchOp};
use domain::intent::command::{Command, Respond};
use domain::intent::status::Status;
use domain::people::principal::{Assurance, Principal, Role};
use domain::problem::Rejection;
use futures_util::FutureExt;
use serde_json::json;
use store::link::LinkToken;
use store::{Precondition, Request, Target};

use crate::executor::SECOND;
use crate::world::{Failed, World};

/// How often one attacker tries something.
const TRIES: u64 = 12;

pub(crate) fn start(world: &Arc<World>, number: u64) {
    let attacker = world.clone();
    world.spawn(format!("attacker {number}"), async move {
        for _ in 0..TRIES {
            attacker.think(attacker.plan.scale_seconds * SECOND).await;
            if attacker.is_healed() {
                return;
            }
            if attacker.draw(|chance| chance.happens(20)) {
                guess(&attacker).await;
            } else {
                trespass(&attacker).await;
            }
        }
    });
}

/// Opens a link that was never sent: the right row with a wrong secret.
async fn guess(world: &Arc<World>) {
    let token = LinkToken::new(world.draw(|chance| chance.within(1..=20)), world.entropy.bytes32());
    let opened = world.call("an attacker guesses a link", |store| async move { store.link(token).await }.boxed()).await;
    if let Ok(Some(_)) = opened {
        world.fail("I32: a guessed link opens a question");
    }
}

fn principal(name: &str, owner: &str, role: Role) -> Principal {
    Principal {
        credential: None,
        name: name.to_owned(),
        subject: name.to_owned(),
        owner: Owner(owner.to_owned()),
        role,
        tied_to: None,
        client: None,
        assurance: Assurance::ApiKey,
    }
}

/// Draws an intent; returns its id, its creator, and the id of its open question. If no question is open, this is the id of an
/// ended question, or an empty text.
fn target(world: &World) -> Option<(IntentId, String, String)> {
    let watch = world.watch.lock().unwrap();
    let intents: Vec<_> = watch.intents.values().collect();
    let intent = *world.draw(|chance| (!intents.is_empty()).then(|| chance.pick(&intents)))?;
    let named = intent.open.clone().or_else(|| intent.suspensions.keys().next().cloned()).unwrap_or_default();
    Some((intent.id.parse().ok()?, intent.creator.clone(), named))
}

/// Draws a forbidden request: its description, its caller and the command.
fn draw_trespass(world: &World, creator: &str, named: String) -> (&'static str, Principal, Command) {
    let team = format!("team-{}", creator.trim_start_matches("agent-").parse::<u64>().unwrap_or(0) % 2);
    let respond = |suspension_id: String| {
        Command::Respond(Box::new(Respond { suspension_id, value: Some(json!("approve")), ..Respond::default() }))
    };
    match world.draw(|chance| chance.below(8)) {
        0 => ("answers its own question", principal(creator, &team, Role::Agent), respond(named)),
        1 => ("answers with a second key of its owner", principal("second", &team, Role::Operator), respond(named)),
        2 => {
            let other = SuspensionId(world.entropy.uuid(world.executor.now())).expose();
            ("answers under an id it made up", principal("mallory", "mallory", Role::Operator), respond(other))
        }
        3 => (
            "patches _suspension",
            principal(creator, &team, Role::Agent),
            Command::PatchState {
                patches: vec![Patch {
                    op: PatchOp::Set,
                    path: world.draw(|chance| (*chance.pick(&["_suspension", "//_suspension/response", "", "/"])).to_owned()),
                    value: json!({"resolution": "responded"}),
                }],
                agent_id: creator.to_owned(),
            },
        ),
        4 => ("answers as an auditor", principal("auditor", "auditor", Role::Auditor), respond(named)),
        6 => (
            "lifts its own suspension",
            principal(creator, &team, Role::Agent),
            Command::SetStatus { status: Status::Active, reason: None, announces: None },
        ),
        5 => (
            "takes back another's question",
            principal("agent-99", "team-99", Role::Agent),
            Command::SetStatus { status: Status::Active, reason: None, announces: None },
        ),
        _ => (
            "sets the status of a suspended intent",
            principal(creator, &team, Role::Agent),
            Command::SetStatus { status: Status::SuspendedAwaitingInput, reason: None, announces: None },
        ),
    }
}

/// Sends a write that must be refused, whatever the state of the intent.
async fn trespass(world: &Arc<World>) {
    let Some((id, creator, named)) = target(world) else { return };
    let (what, principal, command) = draw_trespass(world, &creator, named);
    let request = Request {
        principal,
        target: Target::Intent(id),
        precondition: Precondition::None,
        idempotency: None,
        trace_parent: None,
        command: Ok(command),
    };
    world.coverage.count("trespass");
    match world.call(format!("an attacker {what}"), |store| async move { store.execute(request).await }.boxed()).await {
        Ok(_) => world.fail(format!("I7: somebody who {what} is let")),
        Err(Failed::Rejected(Rejection::AlreadyResolved { .. })) if what.contains("made up") => {
            world.fail("I32: an id nobody was given is known");
        }
        Err(_) => {}
    }
}
