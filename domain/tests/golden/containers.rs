//! The events of an intent in a portfolio, and of one that waits for others.

use domain::base::ids::{IntentId, LeaseId, MembershipId, PortfolioId, TaskId};
use domain::base::time::from_micros;
use domain::container::event::{
    Blocked, Claimed, Completed, Created, Delegated, Ended, Failed, Named, Progressed, Retrying, TaskEvent, Unblocked,
};
use domain::container::task::Progress;
use domain::intent::dependency::{BlockedReason, DependencyAdded, DependencyEvent, DependencyMet, DependencyRemoved};
use domain::intent::event::{Event, Expired, ExpiryReason};
use domain::intent::status::Status;
use domain::portfolio::membership::{self, Added, MemberEvent, MemberResumed, MemberSuspended, MembershipRole};
use domain::suspension::{FallbackPolicy, PortfolioDeadline, Resolution};
use serde_json::json;
use uuid::Uuid;

use super::{asked_id, key, object};

pub(super) fn grouped() -> Vec<Event> {
    let portfolio_id = PortfolioId(Uuid::from_u128(13));
    let bare = Added {
        id: MembershipId(Uuid::from_u128(14)),
        portfolio_id,
        role: MembershipRole::Member,
        priority: 0,
        credential: None,
    };
    let whole = Added { role: MembershipRole::Primary, priority: -7, credential: Some(key()), ..bare.clone() };
    let left = |credential| Event::Left(membership::Removed { portfolio_id, credential });
    vec![Event::Joined(Box::new(bare)), Event::Joined(Box::new(whole)), left(Some(key())), left(None)]
}

pub(super) fn waiting() -> Vec<Event> {
    let dependency_id = IntentId(Uuid::from_u128(15));
    let change = |change| Event::Dependency(Box::new(change));
    let added = |completed, credential| change(DependencyEvent::Added(DependencyAdded { dependency_id, completed, credential }));
    let removed = |completed, agents, credential| {
        change(DependencyEvent::Removed(DependencyRemoved { dependency_id, completed, agents, credential }))
    };
    let status = |old, new, blocked_reason, overrides| Event::StatusChanged { old, new, reason: None, blocked_reason, overrides };
    vec![
        added(false, Some(key())),
        added(true, None),
        status(Status::Active, Status::Blocked, Some(BlockedReason::Dependencies), Vec::new()),
        removed(true, Vec::new(), None),
        removed(false, vec!["bot".into()], Some(key())),
        change(DependencyEvent::Met(DependencyMet { dependency_id, agents: Vec::new() })),
        change(DependencyEvent::Met(DependencyMet { dependency_id, agents: vec!["bot".into(), "other".into()] })),
        status(Status::Active, Status::Completed, None, vec![dependency_id]),
    ]
}

pub(super) fn under_a_deadline() -> Vec<Event> {
    let (portfolio_id, suspension_id) = (PortfolioId(Uuid::from_u128(13)), asked_id());
    vec![
        Event::Member(MemberEvent::Suspended(MemberSuspended { portfolio_id, suspension_id, suspended_member_count: 1 })),
        Event::Member(MemberEvent::Resumed(MemberResumed {
            portfolio_id,
            suspension_id,
            suspended_member_count: 0,
            resolution: Resolution::Responded,
        })),
        Event::SuspensionExpired(Box::new(Expired {
            suspension_id,
            reason: ExpiryReason::PortfolioDeadline,
            attempts: 2,
            fallback_policy: FallbackPolicy::UseDefaultAndContinue,
            fallback_value: None,
            reached: true,
            portfolio: Some(PortfolioDeadline { portfolio_id, at: from_micros(1_795_507_200_000_042) }),
        })),
    ]
}

pub(super) fn tasks() -> Vec<Event> {
    let task = |number| TaskId(Uuid::from_u128(number));
    let (task_id, credential) = (task(16), Some(key()));
    let bare = Created {
        task_id,
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
        credential: None,
    };
    let whole = Created {
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
