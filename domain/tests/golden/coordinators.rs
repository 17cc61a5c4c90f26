//! The events of coordinators, and those of the review of a plan.

use domain::base::ids::{CoordinatorId, PlanId};
use domain::container::coordinator::{CoordinatorType, Guardrails, SuspensionPolicy};
use domain::container::coordinator_event::{CoordinatorEvent, EndReason, Ended, EscalationRequired, Granted, Named};
use domain::container::plan_event::{PlanEvent, ReviewRequired, Reviewed};
use domain::intent::event::Event;
use domain::intent::record::{CoordinatorDecision, Record};
use serde_json::{Number, json};
use uuid::Uuid;

use super::{asked_id, at, key, object};

pub(super) fn events() -> Vec<Event> {
    let (coordinator_id, credential) = (CoordinatorId(Uuid::from_u128(23)), Some(key()));
    let bare = Granted {
        coordinator_id,
        agent_id: "bot".into(),
        role: "coordinator".into(),
        supervisor_id: None,
        coordinator_type: CoordinatorType::Llm,
        suspension_policy: SuspensionPolicy::Isolate,
        escalates_to: Vec::new(),
        guardrails: Guardrails::default(),
        heartbeat_interval_seconds: 60,
        expires_at: None,
        metadata: object(json!({})),
        credential: None,
    };
    let whole = Granted {
        role: "planner".into(),
        supervisor_id: Some("boss@example.com".into()),
        coordinator_type: CoordinatorType::Human,
        suspension_policy: SuspensionPolicy::Escalate,
        escalates_to: vec!["boss@example.com".into()],
        guardrails: Guardrails {
            allowed_capabilities: Some(vec!["pay".into()]),
            requires_plan_review: true,
            ..Guardrails::default()
        },
        expires_at: Some(at(3_600)),
        metadata: object(json!({"team": "billing"})),
        credential,
        ..bare.clone()
    };
    let named = |credential| Named { coordinator_id, agent_id: "bot".into(), credential };
    let ended = |reason| CoordinatorEvent::Ended(Ended { coordinator_id, agent_id: "bot".into(), reason });
    let holds_up = Granted {
        suspension_policy: SuspensionPolicy::BlockDependents,
        coordinator_type: CoordinatorType::Composite,
        ..bare.clone()
    };
    let system = Granted { coordinator_type: CoordinatorType::System, ..bare.clone() };
    let events = [
        CoordinatorEvent::Granted(Box::new(bare)),
        CoordinatorEvent::Granted(Box::new(whole)),
        CoordinatorEvent::Granted(Box::new(holds_up)),
        CoordinatorEvent::Granted(Box::new(system)),
        CoordinatorEvent::Heartbeat(named(credential)),
        CoordinatorEvent::Unresponsive(named(None)),
        CoordinatorEvent::FailedOver(named(None)),
        ended(EndReason::Expired),
        ended(EndReason::IntentEnded),
        ended(EndReason::AccessLost),
        CoordinatorEvent::EscalationRequired(EscalationRequired {
            coordinator_id,
            suspension_id: asked_id(),
            escalated_to: vec!["boss@example.com".into()],
        }),
    ];
    events.into_iter().map(|event| Event::Coordinator(Box::new(event))).chain(decisions()).chain(reviews()).collect()
}

fn decisions() -> [Event; 2] {
    let bare = CoordinatorDecision {
        coordinator_id: CoordinatorId(Uuid::from_u128(23)),
        decision_type: "plan_created".into(),
        summary: "Check first".into(),
        rationale: String::new(),
        alternatives_considered: Vec::new(),
        confidence: None,
    };
    let whole = CoordinatorDecision {
        rationale: "The vendor is new.".into(),
        alternatives_considered: vec![object(json!({"summary": "Pay first"}))],
        confidence: Number::from_f64(0.5),
        ..bare.clone()
    };
    [bare, whole].map(|decision| Event::Recorded(Box::new(Record::CoordinatorDecision(decision))))
}

fn reviews() -> [Event; 3] {
    let plan_id = PlanId(Uuid::from_u128(22));
    let reviewed = |goes_on, suspension_id, decided_by: Option<&str>| {
        PlanEvent::Reviewed(Reviewed { plan_id, goes_on, suspension_id, decided_by: decided_by.map(str::to_owned) })
    };
    let reviews = [
        PlanEvent::ReviewRequired(Box::new(ReviewRequired { plan_id, question: None })),
        reviewed(true, Some(asked_id()), Some("ops@example.com")),
        reviewed(false, None, None),
    ];
    reviews.map(|event| Event::Plan(Box::new(event)))
}
