//! The intents that an agent creates to wait for its own one: they go on when that one is completed, and not before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::base::ids::{Entropy, IntentId};
use domain::intent::body::IntentBody;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use futures_util::FutureExt;
use harness::requests;
use placet_server::edge::keys::hash;
use serde_json::Value;
use store::{CreateIntent, Idempotency, Outcome, Request, Target};

use crate::model::{Checked, ModelIntent, must};
use crate::world::{Failed, World};

/// How often an agent tries to complete its intents.
const TRIES: u32 = 5;

/// An agent's intents beside the one that it asks on.
pub(crate) struct Dependents {
    needed: IntentId,
    intents: Vec<IntentId>,
    calls: u64,
}

impl Dependents {
    /// Creates some intents that wait for `needed`, some of them by way of others.
    pub(crate) async fn begin(world: &Arc<World>, principal: &Principal, needed: IntentId) -> Self {
        let mut all = Self { needed, intents: Vec::new(), calls: 0 };
        let count = world.draw(|chance| if chance.happens(40) { 1 + chance.below(3) } else { 0 });
        for _ in 0..count {
            let upstream = [&[needed][..], &all.intents].concat();
            let mut depends_on = vec![world.draw(|chance| *chance.pick(&upstream))];
            let another = world.draw(|chance| *chance.pick(&upstream));
            if !depends_on.contains(&another) {
                depends_on.push(another);
            }
            let body = IntentBody { depends_on, ..requests::body(principal, "Report") };
            all.calls += 1;
            let key = hash(&format!("{} begins dependent {}", principal.name, all.calls));
            let id = IntentId(world.entropy.uuid(world.executor.now()));
            let idempotency = Some(Idempotency { key_hash: key, body_hash: [8; 32] });
            let request = CreateIntent { idempotency, ..requests::create(principal, id, body) };
            let name = format!("{} begins a dependent", principal.name);
            if let Ok(Outcome::Intent(view)) = world.call(name, |store| async move { store.create(request).await }.boxed()).await
            {
                world.coverage.count("dependent created");
                all.intents.push(view.id);
            }
        }
        all
    }

    /// Adds an edge between two of the intents or removes one; the server refuses those that would close a circle, and those whose removal
    /// would skip a person.
    pub(crate) async fn change(&mut self, world: &Arc<World>, principal: &Principal) {
        let all = [&[self.needed][..], &self.intents].concat();
        let (one, other, adds) = world.draw(|chance| (*chance.pick(&all), *chance.pick(&all), chance.happens(60)));
        let (action, command) = if adds {
            (Action::AddDependency, Command::AddDependency(other))
        } else {
            (Action::RemoveDependency, Command::RemoveDependency(other))
        };
        self.send(world, principal, one, action, command).await;
    }

    /// Completes the intent, and then what waited for it, in an order that is drawn: only those may be completed that wait for nothing.
    pub(crate) async fn complete(&mut self, world: &Arc<World>, principal: &Principal) {
        let mut left = [&[self.needed][..], &self.intents].concat();
        for _ in 0..TRIES {
            let Some(place) =
                world.draw(|chance| (!left.is_empty()).then(|| chance.pick(&(0..left.len()).collect::<Vec<_>>()).to_owned()))
            else {
                return;
            };
            let done = Command::SetStatus { status: Status::Completed, reason: Some("done".to_owned()), announces: None };
            if self.send(world, principal, left[place], Action::SetStatus, done).await {
                world.coverage.count("intent completed");
                left.swap_remove(place);
            }
        }
    }

    /// Sends a command about one of the intents; returns whether it was surely carried out.
    async fn send(&mut self, world: &Arc<World>, principal: &Principal, id: IntentId, action: Action, command: Command) -> bool {
        self.calls += 1;
        let key_hash = hash(&format!("{} arranges {}", principal.name, self.calls));
        let request = Request {
            idempotency: Some(Idempotency { key_hash, body_hash: [6; 32] }),
            ..requests::write(principal, action, Target::Intent(id), Ok(command))
        };
        for _ in 0..3 {
            let (sent, name) = (request.clone(), format!("{} arranges its intents", principal.name));
            match world.call(name, |store| async move { store.execute(sent).await }.boxed()).await {
                Ok(_) => return true,
                Err(Failed::Rejected(_)) => return false,
                Err(Failed::Unknown) => world.pause().await,
            }
        }
        false
    }
}

/// No agent lets an intent go on without one that waits for a person.
pub(crate) fn check_removal(intents: &BTreeMap<i64, ModelIntent>, event: &Value) -> Checked {
    if event["event_type"] != "dependency_removed" {
        return Ok(());
    }
    let waits = |other: &ModelIntent| {
        event["payload"]["dependency_id"] == other.id.as_str() && other.status == "suspended_awaiting_input"
    };
    must!(!intents.values().any(waits), "I44: an agent removed a dependency that waits for a person");
    Ok(())
}

/// The rules between transactions: no intent goes on that needs one which is not completed, and each is told in the same transaction of
/// one that is. An intent that waits for a person may come to need another one; it is blocked then as soon as the person has answered.
pub(crate) fn check(intents: &BTreeMap<i64, ModelIntent>) -> Checked {
    let completed: BTreeSet<&str> =
        intents.values().filter(|intent| intent.status == "completed").map(|intent| intent.id.as_str()).collect();
    for intent in intents.values().filter(|intent| !intent.needs.is_empty()) {
        let waits = matches!(intent.status.as_str(), "blocked" | "draft" | "abandoned" | "suspended_awaiting_input");
        must!(waits, "I44: an intent is {} and needs one that is not completed", intent.status);
        let late = intent.needs.iter().any(|needed| completed.contains(needed.as_str()));
        must!(!late, "I44: an intent was not told that one which it needs is completed");
    }
    Ok(())
}
