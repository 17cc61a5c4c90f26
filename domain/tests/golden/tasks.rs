//! The events of tasks and plans.

use domain::base::ids::{LeaseId, PlanId, TaskId};
use domain::base::name::Owner;
use domain::container::condition::ConditionBody;
use domain::container::event::{
    Blocked, Claimed, Completed, Created, Delegated, Ended, Failed, Named, Progressed, Retrying, TaskEvent, Unblocked,
};
use domain::container::plan::{CheckpointBody, FailureAction, TimeoutAction};
use domain::container::plan_event::{
    self, Asked, ConditionDecided, Decided, FailureDecided, Moved, PlanEvent, Reached, Updated, WorkerJoined,
};
use domain::container::task::Progress;
use domain::intent::event::Event;
use domain::suspension::{Asker, Resolution};
use serde_json::json;
use uuid::Uuid;

use super::{asked_id, key, object};

pub(super) fn tasks() -> Vec<Event> {
    let task = |number| TaskId(Uuid::from_u128(number));
    let (task_id, credential) = (task(16), Some(key()));
    let bare = Created {
        task_id,
        plan_id: None,
        name: "Check the invoice".into(),
        description: None,
        priority: "normal".into(),
        input: object(json!({})),
        capabilities_required: Vec::new(),
        depends_on: Vec::new(),
        waits_for: Vec::new(),
        parent_task_id: None,
        timeout_seconds: None,
        max_attempts: 3,
        metadata: object(json!({})),
        created_by: None,
        credential: None,
    };
    let whole = Created {
        plan_id: Some(PlanId(Uuid::from_u128(22))),
        description: Some("All pages.".into()),
        input: object(json!({"invoice": "INV-7"})),
        capabilities_required: vec!["invoices".into()],
        depends_on: vec![task(17), task(18)],
        waits_for: vec![task(18)],
        parent_task_id: Some(task(19)),
        timeout_seconds: Some(60),
        metadata: object(json!({"team": "billing"})),
        credential,
        ..bare.clone()
    };
    let named = |credential| Named { task_id, credential };
    let (agent_id, lease_id, suspended_intent_id) = ("bot".to_owned(), LeaseId(Uuid::from_u128(20)), Some(super::intent()));
    let report = Progress { percentage: Some(40), message: Some("Two of five.".into()) };
    let done = Completed { task_id, output: None, artifacts: Vec::new(), credential: None };
    let output = Some(object(json!({"valid": true})));
    let blocked = Blocked { task_id, blocked_reason: "intent_suspended".into(), suspended_intent_id, credential: None };
    let ended = |reason: Option<&str>, credential| Ended { task_id, reason: reason.map(str::to_owned), credential };
    let events = [
        TaskEvent::Created(Box::new(bare)),
        TaskEvent::Created(Box::new(whole)),
        TaskEvent::Ready(named(None)),
        TaskEvent::Claimed(Claimed { task_id, agent_id, lease_id, credential }),
        TaskEvent::Started(named(credential)),
        TaskEvent::Progressed(Progressed { task_id, progress: Progress::default(), credential: None }),
        TaskEvent::Progressed(Progressed { task_id, progress: report, credential }),
        TaskEvent::Completed(Box::new(done.clone())),
        TaskEvent::Completed(Box::new(Completed { output, artifacts: vec!["report.pdf".into()], credential, ..done })),
        TaskEvent::Failed(Failed { task_id, attempt: 1, error: Some("no answer".into()), credential }),
        TaskEvent::Failed(Failed { task_id, attempt: 3, error: None, credential: None }),
        TaskEvent::Retrying(Retrying { task_id, attempt: 2, reason: Some("lease_expired".into()), credential: None }),
        TaskEvent::Retrying(Retrying { task_id, attempt: 3, reason: None, credential }),
        TaskEvent::Blocked(blocked.clone()),
        TaskEvent::Blocked(Blocked { blocked_reason: "manual".into(), suspended_intent_id: None, credential, ..blocked }),
        TaskEvent::Unblocked(Unblocked { task_id, resolution: Some(Resolution::Responded), credential: None }),
        TaskEvent::Unblocked(Unblocked { task_id, resolution: None, credential }),
        TaskEvent::Delegated(Delegated { task_id, sub_task_id: task(21), credential }),
        TaskEvent::Cancelled(ended(Some("intent_abandoned"), None)),
        TaskEvent::Skipped(ended(None, credential)),
    ];
    events.into_iter().map(|event| Event::Task(Box::new(event))).collect()
}

fn checkpoints(after_task: TaskId) -> Vec<CheckpointBody> {
    let checkpoint = |id: &str, requires_approval, timeout_hours, on_timeout| CheckpointBody {
        id: id.into(),
        name: "Pay the invoice".into(),
        after_task,
        requires_approval,
        approvers: if requires_approval { vec!["boss@example.com".into()] } else { Vec::new() },
        timeout_hours,
        on_timeout,
        assignees: None,
        quorum: None,
        required_assurance: None,
    };
    vec![
        checkpoint("a", true, Some(4), TimeoutAction::AutoApprove),
        checkpoint("b", false, None, TimeoutAction::Escalate),
        checkpoint("c", true, None, TimeoutAction::Fail),
    ]
}

pub(super) fn plans() -> Vec<Event> {
    let (plan_id, task, credential) = (PlanId(Uuid::from_u128(22)), TaskId(Uuid::from_u128(16)), Some(key()));
    let bare = plan_event::Created {
        plan_id,
        created_by: Asker { name: "bot".into(), owner: Owner("team-a".into()) },
        tasks: Vec::new(),
        checkpoints: Vec::new(),
        conditions: Vec::new(),
        on_failure: FailureAction::Notify,
        metadata: object(json!({})),
        credential: None,
        questions: Vec::new(),
        on_failure_question: None,
        seed: [0; 32],
    };
    let checkpoints = checkpoints(task);
    let whole = plan_event::Created {
        tasks: vec![task],
        checkpoints: checkpoints.clone(),
        on_failure: FailureAction::PauseAndEscalate,
        metadata: object(json!({"team": "billing"})),
        credential,
        ..bare.clone()
    };
    let updated = |tasks, checkpoints, credential| {
        let (conditions, questions) = (None, Vec::new());
        PlanEvent::Updated(Box::new(Updated { plan_id, tasks, checkpoints, conditions, credential, questions }))
    };
    let moved = |credential| Moved { plan_id, reason: None, task_id: None, credential };
    let because = |reason: &str, task_id| Moved { reason: Some(reason.into()), task_id, ..moved(None) };
    let decided = |suspension_id, resolution, decided_by: Option<&str>| Decided {
        plan_id,
        checkpoint_id: "a".into(),
        suspension_id,
        resolution,
        decided_by: decided_by.map(str::to_owned),
    };
    let asked = |checkpoint_id: Option<&str>, task_id| {
        let checkpoint_id = checkpoint_id.map(str::to_owned);
        PlanEvent::Asked(Asked { plan_id, suspension_id: asked_id(), checkpoint_id, task_id })
    };
    let worker = Asker { name: "helper".into(), owner: Owner("team-b".into()) };
    let failure = |goes_on, suspension_id, decided_by: Option<&str>| {
        let decided_by = decided_by.map(str::to_owned);
        PlanEvent::FailureDecided(FailureDecided { plan_id, task_id: task, goes_on, suspension_id, decided_by })
    };
    let events = [
        PlanEvent::Created(Box::new(bare)),
        PlanEvent::Created(Box::new(whole)),
        updated(Some(vec![task]), None, credential),
        updated(None, Some(checkpoints), None),
        PlanEvent::Activated(moved(credential)),
        PlanEvent::Paused(moved(credential)),
        PlanEvent::Paused(because("checkpoint", None)),
        PlanEvent::Paused(because("task_failed", Some(task))),
        PlanEvent::Resumed(moved(None)),
        PlanEvent::Completed(moved(None)),
        PlanEvent::Failed(because("rejected", None)),
        PlanEvent::Cancelled(moved(credential)),
        PlanEvent::WorkerJoined(WorkerJoined { plan_id, worker: worker.clone(), credential }),
        PlanEvent::WorkerJoined(WorkerJoined { plan_id, worker, credential: None }),
        PlanEvent::Reached(Reached { plan_id, checkpoint_id: "a".into(), name: "Pay the invoice".into(), after_task: task }),
        asked(Some("a"), None),
        asked(None, Some(task)),
        PlanEvent::Approved(decided(Some(asked_id()), Some(Resolution::Responded), Some("ops@example.com"))),
        PlanEvent::Rejected(decided(None, None, None)),
        failure(true, Some(asked_id()), Some("ops@example.com")),
        failure(false, None, None),
    ];
    events.into_iter().map(|event| Event::Plan(Box::new(event))).collect()
}

/// Events about the conditions of a plan.
pub(super) fn branches() -> Vec<Event> {
    let (plan_id, task_id) = (PlanId(Uuid::from_u128(22)), TaskId(Uuid::from_u128(16)));
    let when = format!("tasks['{task_id}'].output.amount > 500");
    let conditions = vec![ConditionBody { id: "large".into(), task_id, when }];
    let (tasks, checkpoints, credential, questions) = (None, None, None, Vec::new());
    let updated = Updated { plan_id, tasks, checkpoints, conditions: Some(conditions), credential, questions };
    let decided = |holds| PlanEvent::ConditionDecided(ConditionDecided { plan_id, condition_id: "large".into(), task_id, holds });
    let events = [PlanEvent::Updated(Box::new(updated)), decided(true), decided(false)];
    events.into_iter().map(|event| Event::Plan(Box::new(event))).collect()
}
