//! Agents. Each works on one intent, asks, waits, asks again under the same key when it is not sure, is killed, withdraws,
//! supersedes.

use std::sync::Arc;

use domain::base::ids::{Entropy, IntentId, LeaseId, SuspensionId};
use domain::base::name::Owner;
use domain::base::time::micros;
use domain::container::task::TaskStatus;
use domain::intent::body::{Patch, PatchOp};
use domain::intent::command::Command;
use domain::intent::event::ClientEvent;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::retry::{OneOrMany, PartialRetryPolicy, Rung};
use domain::suspension::{FallbackPolicy, ResponseType};
use domain::wire::{ChoiceRequest, SuspendRequest, SuspensionRecord};
use futures_util::FutureExt;
use harness::requests;
use placet_server::edge::keys::hash;
use serde_json::{Map, json};
use store::{CreateIntent, Idempotency, Outcome, Request, Target};

use crate::cast;
use crate::dependents::Dependents;
use crate::executor::{MILLISECOND, SECOND};
use crate::grouping;
use crate::operator::OUTCOME_KEPT;
use crate::tasker::Tasker;
use crate::world::{Failed, World};

/// How many times an agent reads its own question at most to learn whether it has ended.
const LOOKS: u32 = 60;

/// One agent and the intent it works on.
pub(crate) struct Agent {
    world: Arc<World>,
    pub(crate) principal: Principal,
    pub(crate) intent: IntentId,
    calls: u64,
    tasker: Tasker,
    dependents: Dependents,
}

pub(crate) fn start(world: &Arc<World>, number: u64) {
    let world = world.clone();
    let name = format!("agent-{number}");
    let principal = Principal { owner: Owner(cast::owner(&world.plan, number)), ..requests::principal(&name, Role::Agent) };
    world.clone().spawn(name, async move {
        cast::are_listed(&world).await;
        let Some(mut agent) = hire(&world, principal).await else { return };
        for question in 0..agent.world.plan.questions {
            agent.world.think(agent.world.plan.scale_seconds * SECOND / 4).await;
            if agent.world.is_healed() || !agent.ask(question).await {
                return;
            }
        }
        if agent.world.draw(|chance| chance.happens(50)) {
            let (world, principal) = (agent.world.clone(), agent.principal.clone());
            agent.dependents.complete(&world, &principal).await;
        }
    });
}

/// Gives an agent an intent of its own, and some that wait for it.
pub(crate) async fn hire(world: &Arc<World>, principal: Principal) -> Option<Agent> {
    let intent = begin(world, &principal).await?;
    grouping::join(world, &principal, intent).await;
    let dependents = Dependents::begin(world, &principal, intent).await;
    Some(Agent { world: world.clone(), principal, intent, calls: 0, tasker: Tasker::default(), dependents })
}

/// Creates one intent. Tries again until the outcome is known, always under the same idempotency key, so that no second intent is
/// created.
async fn begin(world: &Arc<World>, principal: &Principal) -> Option<IntentId> {
    let idempotency = Some(Idempotency { key_hash: hash(&format!("{} begins", principal.name)), body_hash: [7; 32] });
    loop {
        let id = IntentId(world.entropy.uuid(world.executor.now()));
        let request = CreateIntent { idempotency, ..requests::create(principal, id, requests::body(principal, "Refunds")) };
        let created =
            world.call(format!("{} begins", principal.name), |store| async move { store.create(request).await }.boxed()).await;
        match created {
            Ok(Outcome::Intent(view)) => return Some(view.id),
            Ok(_) => world.fail("an intent was created as something else"),
            Err(Failed::Rejected(rejection)) => {
                world.fail(format!("I21: a first intent was refused with {}", rejection.entry().code));
                return None;
            }
            Err(Failed::Unknown) => world.pause().await,
        }
    }
}

impl Agent {
    /// Asks a question and waits for its end; returns whether the agent may ask another.
    pub(crate) async fn ask(&mut self, question: u64) -> bool {
        if self.world.draw(|chance| chance.happens(40)) {
            for _ in 0..self.world.draw(|chance| chance.within(1..=5)) {
                self.work().await;
            }
        }
        let asked = draw_question(&self.world);
        let Some(record) = self.suspend(&format!("question {question}"), asked).await else { return false };
        let mut id = record.id;
        if self.world.draw(|chance| chance.happens(10)) {
            // The second question is refused while the first is open, and accepted once the first has ended.
            self.suspend(&format!("question {question}, impatiently"), draw_question(&self.world)).await;
        }
        if self.world.draw(|chance| chance.happens(20)) {
            self.wait_before_changing(&record).await;
            if self.world.draw(|chance| chance.happens(50)) {
                self.cancel(id).await;
            } else {
                let next = SuspendRequest { supersedes: Some(id.expose()), ..draw_question(&self.world) };
                if let Some(record) = self.suspend(&format!("question {question}, said better"), next).await {
                    self.world.coverage.count("question superseded");
                    id = record.id;
                }
            }
        }
        self.wait(id).await
    }

    /// Some agents change their mind soon, some at the very end.
    async fn wait_before_changing(&self, record: &SuspensionRecord) {
        let world = &self.world;
        let Some(at) = record.expires_at.filter(|_| world.draw(|chance| chance.happens(30))) else {
            return world.think(2 * world.plan.scale_seconds * SECOND).await;
        };
        let left = micros(at) - world.clock() - world.draw(|chance| chance.within(0..=5)) * MILLISECOND;
        world.executor.after(left).await;
    }

    /// Asks under one key until an answer comes back: an agent killed in between does not know whether it has asked.
    async fn suspend(&mut self, key: &str, asked: SuspendRequest) -> Option<SuspensionRecord> {
        let (world, name) = (self.world.clone(), self.principal.name.clone());
        let body = serde_json::to_string(&asked).unwrap();
        let idempotency = Some(Idempotency {
            key_hash: hash(&format!("{name} suspend {key}")),
            body_hash: hash(&format!("{} {body}", self.intent)),
        });
        let (mut first, mut era): (Option<SuspensionId>, u64) = (None, world.era());
        // Some agents ask twice under the same key. The second call must return the question of the first.
        let mut times = if world.draw(|chance| chance.happens(30)) { 2 } else { 1 };
        loop {
            let id = SuspensionId(world.entropy.uuid(world.executor.now()));
            let command =
                world.policy.accept(asked.clone(), id, &self.principal, None).map(|suspend| Command::Suspend(Box::new(suspend)));
            let request = self.request(Action::Suspend, idempotency, command);
            let asked =
                world.call(format!("{name} asks {key}"), |store| async move { store.execute(request).await }.boxed()).await;
            if world.era() != era {
                // After a restore the earlier question is no longer known.
                (first, era) = (None, world.era());
            }
            match asked {
                Ok(Outcome::Suspension { record, .. }) => {
                    if first.is_some_and(|first| first != record.id) {
                        world.fail("I21: one key asked two questions");
                    }
                    first = Some(record.id);
                    world.watch.lock().unwrap().asked.entry(record.id.expose()).or_default();
                    world.coverage.count("question asked");
                    times -= 1;
                    if times == 0 {
                        return Some(*record);
                    }
                    world.think(world.plan.scale_seconds * SECOND).await;
                }
                Ok(_) => world.fail("a question was answered with something else"),
                Err(Failed::Rejected(rejection)) => {
                    if first.is_some() {
                        world.fail(format!("I21: a replay was refused with {}", rejection.entry().code));
                    }
                    return None;
                }
                Err(Failed::Unknown) => world.pause().await,
            }
        }
    }

    fn request(
        &self,
        action: Action,
        idempotency: Option<Idempotency>,
        command: Result<Command, Vec<domain::base::field::FieldError>>,
    ) -> Request {
        Request { idempotency, ..requests::write(&self.principal, action, Target::Intent(self.intent), command) }
    }

    async fn cancel(&mut self, id: SuspensionId) {
        let request = Request {
            target: Target::Suspension(id),
            ..self.request(Action::Cancel, None, Ok(Command::Cancel { suspension_id: id, reason: Some("not needed".to_owned()) }))
        };
        let name = format!("{} cancels", self.principal.name);
        let cancelled = self.world.call(name, |store| async move { store.execute(request).await }.boxed()).await;
        if let Ok(Outcome::Suspension { record, .. }) = cancelled {
            self.world.coverage.count("question cancelled");
            if record.resolution.is_none() {
                self.world.fail("I1: a cancelled question is still open");
            }
        }
    }

    /// Looks at the question until it has ended; returns whether the intent goes on.
    async fn wait(&mut self, id: SuspensionId) -> bool {
        let world = self.world.clone();
        let known = |world: &World| world.watch.lock().unwrap().asked.contains_key(&id.expose());
        for _ in 0..LOOKS {
            world.think(world.plan.scale_seconds * SECOND).await;
            let principal = self.principal.clone();
            if !world.is_healed() && world.draw(|chance| chance.happens(10)) {
                // Some agents try to go on without the person.
                self.dependents.change(&world, &principal).await;
            }
            let name = format!("{} looks", self.principal.name);
            let record = world.call(name, move |store| async move { store.suspension(principal, id).await }.boxed()).await;
            let record = match record {
                Ok(record) => record,
                // A question asked after the backup is gone after the restore.
                Err(Failed::Rejected(_)) if !known(&world) => return false,
                Err(Failed::Rejected(_)) => {
                    world.fail("I22: an agent's question is gone");
                    return false;
                }
                Err(Failed::Unknown) => continue,
            };
            if record.resolution.is_some() {
                let told = json!({"resolution": record.resolution, "response": record.response});
                world.tell(format!("{} hears {told}", self.principal.name));
                world.coverage.count("ending heard by its agent");
                let mut watch = world.watch.lock().unwrap();
                watch.asked.insert(id.expose(), Some(told));
                let checked = watch.check_told();
                drop(watch);
                world.check(checked);
                return true;
            }
            if record.expires_at.is_none() && world.is_healed() {
                return false;
            }
        }
        false
    }

    /// Does something on the intent other than asking. The server may refuse it; its effect is examined by the checks after each
    /// transaction.
    pub(crate) async fn work(&mut self) {
        let world = self.world.clone();
        self.calls += 1;
        if world.draw(|chance| chance.happens(15)) {
            let principal = self.principal.clone();
            return self.dependents.change(&world, &principal).await;
        }
        let (action, command) = match world.draw(|chance| chance.below(6)) {
            0 => (
                Action::PatchState,
                Command::PatchState {
                    patches: vec![Patch { op: PatchOp::Set, path: "progress".to_owned(), value: json!(self.calls) }],
                    agent_id: self.principal.name.clone(),
                },
            ),
            1 => (
                Action::AppendEvent,
                Command::Append(ClientEvent {
                    event_type: "comment".to_owned(),
                    payload: Map::from_iter([("text".to_owned(), json!("working"))]),
                    claimed_actor: None,
                    trace_id: None,
                    parent_event_id: None,
                }),
            ),
            2 | 3 => (Action::WorkOnTask, self.tasker.on_a_task(&world, &self.principal.name)),
            4 => (Action::WorkOnTask, self.tasker.on_a_coordinator(&world, &self.principal.name)),
            _ => (
                Action::Lease,
                Command::AcquireLease {
                    id: LeaseId(world.entropy.uuid(world.executor.now())),
                    agent_id: self.principal.name.clone(),
                    scope: "progress".to_owned(),
                    duration_seconds: 60,
                },
            ),
        };
        let idempotency =
            Some(Idempotency { key_hash: hash(&format!("{} works {}", self.principal.name, self.calls)), body_hash: [9; 32] });
        let request = self.request(action, idempotency, Ok(command));
        let mut first = None;
        let (kept_until, era) = (world.clock() + OUTCOME_KEPT, world.era());
        for _ in 0..3 {
            if world.era() != era {
                return;
            }
            let (sent, name) = (request.clone(), format!("{} works", self.principal.name));
            match world.call(name, |store| async move { store.execute(sent).await }.boxed()).await {
                Ok(_) if world.clock() >= kept_until => return,
                Ok(outcome) => {
                    count(&world, &outcome);
                    let said = json!(outcome);
                    if first.replace(said.clone()).is_some_and(|first| first != said) {
                        world.fail("I21: a replay was answered differently");
                    }
                }
                Err(Failed::Rejected(Rejection::IdempotencyMismatch)) => world.fail("I21: a replay was refused"),
                Err(Failed::Rejected(_)) => return,
                Err(Failed::Unknown) => world.pause().await,
            }
        }
    }
}

/// Counts what the tasks and coordinators of the world came to.
fn count(world: &World, outcome: &Outcome) {
    if let Outcome::Task(task) = outcome
        && task.status == TaskStatus::Running
    {
        world.coverage.count("task begun");
    }
    if let Outcome::Coordinator(lease) = outcome
        && lease.version > 1
    {
        world.coverage.count("heartbeat recorded");
    }
}

const PEOPLE: &[&str] = &["ada@example.com", "ben@example.com", "cyd@example.com", "Ada@example.com", "dan@example.com"];

fn people(world: &World) -> Vec<String> {
    let count = 1 + world.draw(|chance| chance.below(3));
    let mut people: Vec<String> = Vec::new();
    for _ in 0..count {
        let person = world.draw(|chance| (*chance.pick(PEOPLE)).to_owned());
        if !people.contains(&person) {
            people.push(person);
        }
    }
    people
}

/// A question of any kind; a few of them break a rule.
fn draw_question(world: &World) -> SuspendRequest {
    let choice = |value: &str| ChoiceRequest { value: value.to_owned(), label: value.to_uppercase(), ..ChoiceRequest::default() };
    let response_type =
        world.draw(|chance| *chance.pick(&[ResponseType::Choice, ResponseType::Confirm, ResponseType::Text, ResponseType::Form]));
    let (choices, fallback) = match response_type {
        ResponseType::Choice => (Some(vec![choice("approve"), choice("deny"), choice("ask legal")]), json!("deny")),
        ResponseType::Confirm => (None, json!("no")),
        ResponseType::Text => (None, json!("nobody said anything")),
        ResponseType::Form => (None, json!({"amount": 0})),
    };
    let seconds = u32::try_from(world.draw(|chance| chance.within(1..=2 * world.plan.scale_seconds))).unwrap().min(2_592_000);
    let (timeout_seconds, retry_policy) = match world.draw(|chance| chance.below(10)) {
        0 => (None, None),
        1 | 2 => (Some(seconds), None),
        _ => (None, Some(ladder(world, seconds))),
    };
    let falls_back = retry_policy.is_some() || timeout_seconds.is_some();
    let falls_back = falls_back && world.draw(|chance| chance.happens(50));
    let asked = SuspendRequest {
        question: "Refund order 12345?".to_owned(),
        response_type: Some(response_type),
        choices,
        timeout_seconds,
        retry_policy,
        fallback_policy: falls_back.then_some(FallbackPolicy::CompleteWithFallback),
        // One in twenty breaks a rule: a fallback policy without a value.
        fallback_value: (falls_back && world.draw(|chance| chance.happens(95))).then_some(fallback),
        notify_to: world.draw(|chance| chance.happens(70)).then(|| people(world)),
        channel_hint: channel_hint(world),
        ..SuspendRequest::default()
    };
    cast::assigned(world, asked)
}

/// A preferred channel; some do not exist.
fn channel_hint(world: &World) -> Option<String> {
    let hint = world.draw(|chance| match chance.below(10) {
        0..6 => None,
        6 => Some("slack"),
        _ => Some(chance.pick(&world.plan.lines.0).name),
    });
    hint.map(str::to_owned)
}

fn ladder(world: &World, interval_seconds: u32) -> PartialRetryPolicy {
    let max_attempts = u32::try_from(1 + world.draw(|chance| chance.below(6))).unwrap();
    let rungs = (1..=max_attempts).filter(|_| world.draw(|chance| chance.happens(30)));
    let ladder: Vec<Rung> = rungs
        .map(|attempt| Rung {
            attempt,
            channel_hint: channel_hint(world),
            notify_to: world.draw(|chance| chance.happens(80)).then(|| OneOrMany(people(world))),
        })
        .collect();
    PartialRetryPolicy {
        max_attempts: Some(max_attempts),
        interval_seconds: Some(interval_seconds),
        strategy: None,
        escalation_ladder: Some(ladder),
        final_fallback_policy: None,
    }
}
