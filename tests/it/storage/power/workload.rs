//! The writes that people and agents send to a store, drawn from a seed.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::intent::body::IntentBody;
use domain::intent::command::{Command, Later, Respond};
use domain::intent::event::{ClientEvent, ExtensionCause};
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::suspension::{FallbackPolicy, ResponseType};
use domain::wire::{SuspendRequest, SuspensionRecord};
use futures_util::future::BoxFuture;
use harness::app::asking_policy;
use harness::requests::{self, principal};
use placet_server::edge::keys::hash;
use serde_json::{Map, Value, json};
use store::{CreateIntent, Idempotency, Outcome, Request, Store, StoreError, Target};

use super::chance::{Chance, SeededEntropy};

/// One write, which can be sent again.
#[derive(Clone)]
pub(super) enum Write {
    Create(CreateIntent),
    Execute(Request),
}

impl Write {
    pub(super) fn send<'a>(&self, store: &'a dyn Store) -> BoxFuture<'a, Result<Outcome, StoreError>> {
        match self.clone() {
            Self::Create(request) => store.create(request),
            Self::Execute(request) => store.execute(request),
        }
    }
}

/// Draws writes.
pub(super) struct Workload {
    pub(super) intents: Vec<IntentId>,
    calls: u64,
}

impl Workload {
    pub(super) fn new() -> Self {
        Self { intents: Vec::new(), calls: 0 }
    }

    /// A write about one of the intents or open questions, or a new intent.
    pub(super) fn draw(
        &mut self,
        chance: &mut Chance,
        entropy: &SeededEntropy,
        now: DateTime<Utc>,
        open: &[SuspensionRecord],
    ) -> Write {
        self.calls += 1;
        let call = self.calls;
        if self.intents.is_empty() || chance.happens(20) {
            return create(IntentId(entropy.uuid(now)), call);
        }
        let intent = *chance.pick(&self.intents);
        if open.is_empty() || chance.happens(40) {
            return if chance.happens(60) {
                suspend(chance, intent, SuspensionId(entropy.uuid(now)), call)
            } else {
                append(intent, call)
            };
        }
        let record = chance.pick(open);
        let id = record.id;
        match chance.below(10) {
            0 => execute(
                &principal("agent", Role::Agent),
                Action::Cancel,
                Target::Suspension(id),
                Command::Cancel { suspension_id: id, reason: None },
                call,
            ),
            1 => execute(
                &principal("operator", Role::Operator),
                Action::Extend,
                Target::Suspension(id),
                Command::Extend {
                    suspension_id: id,
                    later: Later::By(TimeDelta::minutes(5)),
                    reason: None,
                    cause: ExtensionCause::Request,
                },
                call,
            ),
            _ => answer(record, &json!(format!("answer {call}")), call),
        }
    }
}

fn key(call: u64) -> Idempotency {
    Idempotency { key_hash: hash(&format!("call {call}")), body_hash: [7; 32] }
}

fn execute(principal: &Principal, action: Action, target: Target, command: Command, call: u64) -> Write {
    Write::Execute(Request { idempotency: Some(key(call)), ..requests::write(principal, action, target, Ok(command)) })
}

fn create(id: IntentId, call: u64) -> Write {
    let agent = principal("agent", Role::Agent);
    let description = "x".repeat(2_000); // With its neighbours it sometimes fills more than a page.
    let body = IntentBody { description, ..requests::body(&agent, &format!("intent {call}")) };
    Write::Create(CreateIntent { idempotency: Some(key(call)), ..requests::create(&agent, id, body) })
}

fn append(intent: IntentId, call: u64) -> Write {
    let event = ClientEvent {
        event_type: "comment".to_owned(),
        payload: Map::from_iter([("text".to_owned(), json!(format!("call {call}")))]),
        claimed_actor: None,
        trace_id: None,
        parent_event_id: None,
    };
    execute(&principal("agent", Role::Agent), Action::AppendEvent, Target::Intent(intent), Command::Append(event), call)
}

fn suspend(chance: &mut Chance, intent: IntentId, id: SuspensionId, call: u64) -> Write {
    let limited = chance.happens(70);
    let asked = SuspendRequest {
        question: format!("question {call}"),
        response_type: Some(ResponseType::Text),
        timeout_seconds: limited.then(|| u32::try_from(chance.within(1..=7_200)).unwrap()),
        fallback_policy: limited.then_some(FallbackPolicy::CompleteWithFallback),
        fallback_value: limited.then(|| json!("nobody said anything")),
        notify_to: Some(vec!["ada@example.com".to_owned(), "ben@example.com".to_owned()]),
        ..SuspendRequest::default()
    };
    let accepted = asking_policy().accept(asked, id, &principal("agent", Role::Agent), None).unwrap();
    let command = Command::Suspend(Box::new(accepted));
    execute(&principal("agent", Role::Agent), Action::Suspend, Target::Intent(intent), command, call)
}

/// An answer by an operator.
pub(super) fn answer(record: &SuspensionRecord, value: &Value, call: u64) -> Write {
    let respond = Respond { suspension_id: record.id.expose(), value: Some(value.clone()), ..Respond::default() };
    let target = Target::Intent(record.intent_id);
    execute(&principal("operator", Role::Operator), Action::Respond, target, Command::Respond(Box::new(respond)), call)
}
