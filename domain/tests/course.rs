//! Tasks and plans under commands in random order: whatever agents and people do, the same rules hold after every command.

#![expect(clippy::unwrap_used, reason = "these functions serve tests alone")]

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{CoordinatorId, IntentId, KeyId, LeaseId, PlanId, SuspensionId, TaskId};
use domain::base::name::Owner;
use domain::base::time::from_micros;
use domain::container::condition::ConditionBody;
use domain::container::coordinator::{Coordinator, CoordinatorStatus, CoordinatorType, Guardrails, SuspensionPolicy};
use domain::container::event::TaskEvent;
use domain::container::plan::{
    CheckpointBody, CheckpointStatus, FailureAction, NewPlan, Outline, Plan, PlanBody, PlanChange, PlanCommand, PlanState,
    PlanStep, Prepared, TimeoutAction,
};
use domain::container::plan_event::PlanEvent;
use domain::container::task::{NewTask, Progress, Task, TaskBody, TaskChange, TaskCommand, TaskStatus, TaskStep};
use domain::intent::Intent;
use domain::intent::command::{Command, Respond, Suspend};
use domain::intent::decide::decide;
use domain::intent::event::Event;
use domain::intent::evolve::evolve;
use domain::intent::status::Status;
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::suspension::retry::Schedule;
use domain::suspension::seeming::SeemingSecret;
use domain::suspension::{Asker, FallbackPolicy, Kind, Question, ResponseType, SuspensionChoice};
use serde_json::{Map, json};
use uuid::Uuid;

const WALKS: u64 = 1_000;
const STEPS: u64 = 120;
/// One of so many answers is “yes”.
const YES_OF: u64 = 2;

/// Numbers that look random and are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let place = usize::try_from(self.below(u64::try_from(of.len().max(1)).unwrap())).unwrap();
        of.get(place)
    }
}

fn principal(role: Role, name: &str) -> Principal {
    let credential = Some(Credential::ApiKey(KeyId(Uuid::from_u128(2))));
    Principal { role, credential, assurance: Assurance::ApiKey, ..Principal::agent(name, Owner(name.into())) }
}

fn question() -> Question {
    Question {
        question: "May the work go on?".into(),
        context: Map::new(),
        channel_hint: None,
        timeout_seconds: None,
        retry_policy: None,
        confidence_at_suspension: None,
        decision_record: None,
        recipients: Vec::new(),
        asked_before: None,
        requested: None,
        client_id: None,
        required_assurance: None,
        assignees: None,
        risk: None,
        separation: None,
        comment_on_refusal: None,
        proposal: None,
        grounds: None,
        errand: None,
    }
}

fn prepared() -> Prepared {
    Prepared {
        question: question(),
        choices: SuspensionChoice::yes_no(),
        window_seconds: None,
        fallback_policy: FallbackPolicy::Fail,
        fallback_value: None,
        requires_delivery: false,
        quorum: None,
        warnings: Vec::new(),
    }
}

/// The statuses to which agents bring a task with this status.
fn likely(status: TaskStatus) -> &'static [TaskStatus] {
    match status {
        TaskStatus::Pending => &[TaskStatus::Skipped],
        TaskStatus::Ready | TaskStatus::Claimed | TaskStatus::Blocked => &[TaskStatus::Running],
        TaskStatus::Running => &[TaskStatus::Completed, TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Blocked],
        TaskStatus::Failed => &[TaskStatus::Ready],
        TaskStatus::Completed | TaskStatus::Cancelled | TaskStatus::Skipped => &TaskStatus::ALL,
    }
}

/// A coordinator whose guardrails only want that a person reviews each plan.
fn reviewing(now: DateTime<Utc>) -> Coordinator {
    Coordinator {
        id: CoordinatorId(Uuid::from_u128(1)),
        agent_id: "bot".into(),
        status: CoordinatorStatus::Active,
        version: 1,
        role: "coordinator".into(),
        supervisor_id: None,
        coordinator_type: CoordinatorType::Llm,
        suspension_policy: SuspensionPolicy::Isolate,
        escalates_to: Vec::new(),
        guardrails: Guardrails {
            max_tasks_per_plan: u32::MAX,
            max_concurrent_tasks: u32::MAX,
            max_delegation_depth: u32::MAX,
            max_plan_versions: u32::MAX,
            allowed_capabilities: None,
            requires_plan_review: true,
        },
        heartbeat_interval_seconds: 60,
        last_heartbeat: now,
        silent_since: now,
        granted_at: now,
        expires_at: None,
    }
}

/// An intent with everything that a store would keep, and the commands that are given to it.
struct Walk {
    draw: Draw,
    intent: Intent,
    now: DateTime<Utc>,
    ids: u128,
    yes: usize,
    approved: usize,
    reviewed: usize,
    /// How many conditions were decided.
    decided: usize,
}

/// The answer of a person to the open question.
fn answered(id: SuspensionId, value: &str) -> Respond {
    Respond { suspension_id: id.expose(), value: Some(json!(value)), ..Respond::default() }
}

impl Walk {
    fn new(seed: u64) -> Self {
        let now = from_micros(1_795_507_200_000_000);
        let creator = Asker { name: "bot".into(), owner: Owner("bot".into()) };
        let mut intent = Intent::born(IntentId(Uuid::from_u128(1)), Status::Active, creator, now);
        // In every other walk, a person reviews each plan.
        intent.coordinator = seed.is_multiple_of(2).then(|| Box::new(reviewing(now)));
        Self { draw: Draw(seed), intent, now, ids: 1, yes: 0, approved: 0, reviewed: 0, decided: 0 }
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    fn task(&mut self) -> Option<TaskId> {
        let tasks = self.intent.tasks.clone();
        self.draw.one(&tasks).map(|task| task.id)
    }

    fn on_task(&mut self, id: TaskId, step: TaskStep) -> Command {
        let agent_id = if self.draw.below(3) == 0 { "helper" } else { "bot" };
        Command::Task(Box::new(TaskCommand { id, agent_id: agent_id.into(), lease_id: LeaseId(self.id()), step }))
    }

    fn new_task(&mut self) -> NewTask {
        let depends_on = if self.draw.below(2) == 0 { self.task().into_iter().collect() } else { Vec::new() };
        let plans: Vec<PlanId> = self.intent.plans.iter().map(|plan| plan.id).collect();
        let plan_id = if self.draw.below(4) == 0 { self.draw.one(&plans).copied() } else { None };
        let max_attempts = 1 + u32::try_from(self.draw.below(2)).unwrap();
        NewTask { body: TaskBody::default(), plan_id, depends_on, parent_task_id: None, timeout_seconds: Some(60), max_attempts }
    }

    fn new_plan(&mut self) -> Option<Command> {
        let is_free = |task: &&Task| task.plan_id.is_none() && matches!(task.status, TaskStatus::Pending | TaskStatus::Ready);
        let tasks: Vec<TaskId> = self.intent.tasks.iter().filter(is_free).map(|task| task.id).collect();
        let after_task = *self.draw.one(&tasks)?;
        let conditions = self.condition(&tasks).into_iter().collect();
        let checkpoint = CheckpointBody {
            id: "c".into(),
            name: "n".into(),
            after_task,
            requires_approval: true,
            approvers: Vec::new(),
            timeout_hours: None,
            on_timeout: TimeoutAction::Fail,
            assignees: None,
            quorum: None,
            required_assurance: None,
        };
        let actions = [FailureAction::PauseAndEscalate, FailureAction::Notify, FailureAction::Fail, FailureAction::Retry];
        let new = NewPlan {
            outline: Outline {
                tasks: Some(tasks),
                checkpoints: Some(vec![(checkpoint, Some(prepared()))]),
                conditions: Some(conditions),
            },
            on_failure: *self.draw.one(&actions)?,
            on_failure_question: prepared(),
            seeming_secret: SeemingSecret::Warn,
            body: PlanBody::default(),
            seed: [u8::try_from(self.draw.below(256)).unwrap(); 32],
        };
        Some(Command::Plan(Box::new(PlanCommand { id: PlanId(self.id()), step: PlanStep::Create(Box::new(new)) })))
    }

    /// A condition for one of the tasks, by the result of one on which it depends.
    fn condition(&mut self, tasks: &[TaskId]) -> Option<ConditionBody> {
        let depends = |task: &&Task| tasks.contains(&task.id) && task.depends_on.iter().any(|id| tasks.contains(id));
        let task = self.intent.tasks.iter().find(depends)?;
        let reads = task.depends_on.iter().find(|id| tasks.contains(id))?;
        let when = format!("tasks['{reads}'].output.ok == true");
        let condition = ConditionBody { id: "c".into(), task_id: task.id, when };
        (self.draw.below(3) > 0).then_some(condition)
    }

    fn own_question(&mut self) -> Command {
        let runs = |task: &&Task| task.status == TaskStatus::Running;
        let task_id = self.intent.tasks.iter().find(runs).map(|task| task.id).filter(|_| self.draw.below(2) == 0);
        Command::Suspend(Box::new(Suspend {
            id: SuspensionId(self.id()),
            kind: Kind::AwaitingInput,
            question: question(),
            response_type: ResponseType::Confirm,
            choices: SuspensionChoice::yes_no(),
            schedule: Schedule { retry_policy: None, timeout_seconds: None, window_seconds: None },
            fallback_policy: FallbackPolicy::Fail,
            fallback_value: None,
            requires_delivery: false,
            seeming_secret: SeemingSecret::Warn,
            guard_seconds: None,
            quorum: None,
            schema: None,
            supersedes: None,
            task_id,
            warnings: Vec::new(),
        }))
    }

    /// The next command, with the one who gives it.
    fn command(&mut self) -> Option<(Command, Principal)> {
        let agent = if self.draw.below(3) == 0 { "helper" } else { "bot" };
        let agent = principal(Role::Agent, agent);
        let command = match self.draw.below(20) {
            0 | 1 => {
                let (id, new) = (TaskId(self.id()), self.new_task());
                self.on_task(id, TaskStep::Create(Box::new(new)))
            }
            2 => self.new_plan()?,
            3 | 4 => {
                let plans: Vec<PlanId> = self.intent.plans.iter().map(|plan| plan.id).collect();
                let states = [PlanState::Active, PlanState::Active, PlanState::Paused, PlanState::Cancelled];
                let (id, state) = (*self.draw.one(&plans)?, *self.draw.one(&states)?);
                let review = (state == PlanState::Active).then(prepared);
                let change =
                    PlanChange { outline: Outline::default(), state: Some(state), review, seeming_secret: SeemingSecret::Warn };
                Command::Plan(Box::new(PlanCommand { id, step: PlanStep::Change(Box::new(change)) }))
            }
            5 => {
                let id = self.task()?;
                self.on_task(id, TaskStep::Report(Progress::default()))
            }
            6 => {
                let (id, part, new) = (self.task()?, TaskId(self.id()), self.new_task());
                let new = NewTask { plan_id: None, depends_on: Vec::new(), ..new };
                self.on_task(id, TaskStep::Delegate { id: part, task: Box::new(new) })
            }
            7 => self.own_question(),
            8 => {
                self.now += TimeDelta::seconds(i64::try_from(self.draw.below(90)).unwrap());
                let id = self.task()?;
                let look = self.on_task(id, TaskStep::LookAtLease);
                return Some((look, Principal::server()));
            }
            9 => {
                let statuses = [Status::Blocked, Status::Active, Status::Active];
                let status = *self.draw.one(&statuses)?;
                Command::SetStatus { status, reason: None, announces: None }
            }
            10 | 11 => {
                let open = self.intent.open.as_ref()?.id;
                let value = if self.draw.below(YES_OF) == 0 { "yes" } else { "no" };
                let respond = answered(open, value);
                return Some((Command::Respond(Box::new(respond)), principal(Role::Operator, "olga")));
            }
            _ => {
                let id = self.task()?;
                let likely = likely(self.intent.tasks.iter().find(|task| task.id == id)?.status);
                let statuses = if self.draw.below(4) == 0 { &TaskStatus::ALL[..] } else { likely };
                let mut change = TaskChange::to(*self.draw.one(statuses)?);
                if change.status == TaskStatus::Completed {
                    change.output = Some(Map::from_iter([("ok".to_owned(), json!(self.draw.below(2) == 0))]));
                }
                self.on_task(id, TaskStep::Change(Box::new(change)))
            }
        };
        Some((command, agent))
    }

    fn step(&mut self) {
        self.now += TimeDelta::seconds(1);
        let Some((command, by)) = self.command() else { return };
        self.intent.task_count = self.intent.tasks.len();
        self.intent.plan_count = self.intent.plans.len();
        let Ok(events) = decide(&self.intent, &command, &by, self.now) else { return };
        for event in &events {
            self.before(event);
            evolve(&mut self.intent, event, self.now, self.now);
        }
        self.after();
    }

    /// The rules for single events.
    fn before(&mut self, event: &Event) {
        if let Event::Suspended(..) = event {
            assert!(self.intent.open.is_none(), "two questions are open");
        }
        if let Event::Resumed(resumed) = event {
            let of_plan = self.intent.plans.iter().any(|plan| plan.asks(resumed.suspension_id));
            self.yes += usize::from(of_plan && resumed.ending.response == Some(json!("yes")));
        }
        if let Event::Plan(change) = event {
            self.approved += usize::from(matches!(**change, PlanEvent::Approved(_)));
            self.decided += usize::from(matches!(**change, PlanEvent::ConditionDecided(_)));
            self.reviewed += usize::from(matches!(&**change, PlanEvent::Reviewed(reviewed) if reviewed.goes_on));
        }
        let Event::Task(change) = event else { return };
        let Some(task) = self.intent.tasks.iter().find(|task| task.id == change.task_id()) else { return };
        let plan = self.intent.plans.iter().find(|plan| Some(plan.id) == task.plan_id);
        if let TaskEvent::Claimed(_) | TaskEvent::Started(_) = **change {
            assert!(plan.is_none_or(|plan| plan.state == PlanState::Active), "a task begins in a plan that is not active");
            assert_eq!(self.intent.status, Status::Active, "a task begins in an intent that is not active");
            assert!(plan.is_none_or(|plan| plan.rules_out(task.id) == Some(false)), "a task begins that a condition rules out");
        }
        if let TaskEvent::Unblocked(unblocked) = &**change
            && unblocked.credential.is_some()
        {
            assert!(plan.is_none_or(|plan| plan.state == PlanState::Active), "an agent unblocks a task of a paused plan");
        }
        let revives = matches!(**change, TaskEvent::Ready(_) | TaskEvent::Retrying(_) | TaskEvent::Unblocked(_));
        assert!(!revives || plan.is_none_or(|plan| !plan.state.is_final()), "a task of a plan that has ended lives again");
    }

    /// The rules that hold after every command.
    fn after(&self) {
        let is_suspended = self.intent.status == Status::SuspendedAwaitingInput;
        for task in &self.intent.tasks {
            assert!(is_suspended || !task.mirrors_suspension(), "a task is blocked by a suspension that has ended");
            assert!(!is_suspended || task.status != TaskStatus::Running, "a task runs while its intent waits for a person");
            let plan = self.intent.plans.iter().find(|plan| Some(plan.id) == task.plan_id);
            let may_begin = task.waits_for.is_empty() && plan.is_none_or(|plan| plan.state == PlanState::Active);
            let is_decided = plan.is_none_or(|plan| plan.rules_out(task.id).is_some());
            assert!(task.status != TaskStatus::Pending || !may_begin || !is_decided, "a task that could begin is pending");
            let has_ended = plan.is_some_and(|plan| plan.state.is_final());
            assert!(!has_ended || !task.status.is_unfinished(), "a plan has ended, and a task of it has not");
        }
        for plan in &self.intent.plans {
            for condition in plan.conditions.iter().filter(|condition| condition.holds.is_none()) {
                let reads = condition.body.comparison().unwrap().reads;
                let is_done = self.intent.tasks.iter().any(|task| task.id == reads && task.status.is_done());
                assert!(!is_done || plan.state.is_final(), "a condition is not decided, and its result is there");
                assert!(
                    !is_done || plan.state != PlanState::Completed,
                    "a plan is completed with a condition that is not decided"
                );
            }
            let tasks = || self.intent.tasks.iter().filter(|task| plan.tasks.contains(&task.id));
            assert!(plan.gates.is_empty() || plan.state == PlanState::Paused, "a plan that waits for a person is not paused");
            assert!(plan.state != PlanState::Paused || plan.is_held || !plan.gates.is_empty(), "a paused plan waits for nothing");
            assert!(plan.state != PlanState::Completed || tasks().all(|task| task.status.is_done()));
            let asks = plan.gates.iter().any(|gate| gate.suspension_id.is_some());
            assert!(!asks || is_suspended, "a plan asks, and its intent does not wait");
            for checkpoint in &plan.checkpoints {
                let is_over = tasks().any(|task| task.id == checkpoint.body.after_task && task.is_over());
                let passed = checkpoint.status == CheckpointStatus::Pending && is_over;
                let is_under_way = matches!(plan.state, PlanState::Active | PlanState::Paused | PlanState::Completed);
                assert!(!passed || !is_under_way, "the task of a checkpoint is over, and no person is asked");
            }
        }
        let waits = self.intent.plans.iter().any(|plan| plan.gates.iter().any(|gate| gate.suspension_id.is_none()));
        assert!(!waits || self.intent.status != Status::Active, "a plan waits to ask, and the intent is active");
        let yes_to_plans = self.approved + self.reviewed;
        assert!(yes_to_plans <= self.yes, "a checkpoint or a plan was approved, and no person said yes");
        let begun = |plan: &&Plan| matches!(plan.state, PlanState::Active | PlanState::Completed);
        let unseen = self.intent.plans.iter().filter(begun).any(|plan| plan.review.is_none());
        assert!(!unseen || !self.intent.reviews_plans(), "a plan has begun that no person has reviewed");
    }
}

#[test]
fn the_rules_hold_after_every_command() {
    let (mut approved, mut reviewed, mut decided, mut plans) = (0, 0, 0, 0);
    for seed in 0..WALKS {
        let mut walk = Walk::new(seed.wrapping_mul(7_919) + 13);
        for _ in 0..STEPS {
            walk.step();
        }
        approved += walk.approved;
        reviewed += walk.reviewed;
        decided += walk.decided;
        plans += walk.intent.plans.iter().filter(|plan| plan.state == PlanState::Completed).count();
    }
    // The walks reach what the rules are about.
    assert!(
        approved > 100 && reviewed > 100 && decided > 100 && plans > 10,
        "{approved} checkpoints and {reviewed} plans were approved, {decided} conditions decided, and {plans} plans completed"
    );
}
