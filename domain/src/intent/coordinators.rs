//! Decides about the agent that directs the work of an intent, and about the limits of that work (RFC-0013).

use chrono::{DateTime, Utc};

use crate::base::name::is_same;
use crate::container::coordinator::{
    COORDINATORS_MAX, Coordinator, CoordinatorCommand, CoordinatorStatus, CoordinatorStep, Guardrails, NewCoordinator,
    SuspensionPolicy,
};
use crate::container::coordinator_event::{CoordinatorEvent, EndReason, Ended, EscalationRequired, Granted, Named};
use crate::container::plan::{Plan, PlanState};
use crate::container::plan_event::PlanEvent;
use crate::container::task::NewTask;
use crate::intent::event::Event;
use crate::intent::record::CoordinatorDecision;
use crate::intent::refusal::Refusal;
use crate::intent::{Intent, stops};
use crate::people::principal::Principal;
use crate::problem::{Directing, Rejection};
use crate::suspension::stop_refusal::StopRefusal;

/// Decides the effect of a command about the lease of a coordinator.
pub(super) fn decide(
    intent: &Intent,
    command: &CoordinatorCommand,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let event = match &command.step {
        CoordinatorStep::Grant(new) => grant(intent, command, new, by, now)?.map(event_of),
        CoordinatorStep::Heartbeat => heartbeat(intent, command, by, now)?.map(event_of),
        CoordinatorStep::Look => look(intent, command, now),
    };
    Ok(event.into_iter().collect())
}

fn event_of(event: CoordinatorEvent) -> Event {
    Event::Coordinator(Box::new(event))
}

/// Grants the lease, unless an agent has it. The agent that has it gets its own.
fn grant(
    intent: &Intent,
    command: &CoordinatorCommand,
    new: &NewCoordinator,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Option<CoordinatorEvent>, Refusal> {
    if !by.may_act_for(&new.agent_id) {
        return Err(Rejection::Forbidden { reason: "an agent takes the lease of a coordinator for itself only".into() }.into());
    }
    if intent.status.is_final() {
        return Err(Rejection::IntentEnded { status: intent.status.as_str().into() }.into());
    }
    if let Some(live) = intent.directed_by() {
        let is_own = is_same(&live.agent_id, &new.agent_id);
        let Coordinator { id, agent_id, last_heartbeat, expires_at, .. } = live.clone();
        let existing = Box::new(Directing { id, agent_id, last_heartbeat, expires_at });
        return if is_own { Ok(None) } else { Err(Rejection::CoordinatorConflict { existing }.into()) };
    }
    if let Some(stop) = &intent.stop {
        // A time that is over counts, also before its timer runs: work that has ended is not said to go on later.
        let is_over = stop.suspension.is_expired(now);
        return Err(if is_over { stops::time_over(intent, stop) } else { StopRefusal::NothingBegins.into() });
    }
    if !intent.is_created_by(by) && new.guardrails != Guardrails::default() {
        let reason =
            "only the agent that created the intent sets guardrails, because they bind every agent as long as the intent exists";
        return Err(Rejection::Forbidden { reason: reason.into() }.into());
    }
    if intent.coordinator_count >= COORDINATORS_MAX {
        let message = format!("an intent has at most {COORDINATORS_MAX} leases of coordinators in all");
        return Err(Rejection::invalid("intent_id", "count", message).into());
    }
    let before = intent.coordinator.as_ref().map(|before| &before.guardrails);
    let guardrails = before.map_or_else(|| new.guardrails.clone(), |before| before.tightened(&new.guardrails));
    Ok(Some(CoordinatorEvent::Granted(Box::new(Granted {
        coordinator_id: command.id,
        agent_id: new.agent_id.clone(),
        role: new.role.clone(),
        supervisor_id: new.supervisor_id.clone(),
        coordinator_type: new.coordinator_type,
        suspension_policy: new.suspension_policy,
        escalates_to: new.escalates_to.clone(),
        guardrails,
        heartbeat_interval_seconds: new.heartbeat_interval_seconds,
        expires_at: new.expires_at,
        metadata: new.body.metadata.clone(),
        credential: by.credential,
    }))))
}

fn heartbeat(
    intent: &Intent,
    command: &CoordinatorCommand,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Option<CoordinatorEvent>, Rejection> {
    let coordinator = intent.coordinator.as_ref().ok_or(Rejection::NotFound)?;
    if coordinator.id != command.id {
        return Err(Rejection::CoordinatorEnded);
    }
    may_act_as(coordinator, by)?;
    if coordinator.is_over() || intent.status.is_final() {
        return Err(Rejection::CoordinatorEnded);
    }
    let named = Named { credential: by.credential, ..named(coordinator) };
    Ok((!coordinator.has_just_beaten(now)).then_some(CoordinatorEvent::Heartbeat(named)))
}

fn named(coordinator: &Coordinator) -> Named {
    Named { coordinator_id: coordinator.id, agent_id: coordinator.agent_id.clone(), credential: None }
}

fn may_act_as(coordinator: &Coordinator, by: &Principal) -> Result<(), Rejection> {
    if by.may_act_for(&coordinator.agent_id) {
        return Ok(());
    }
    Err(Rejection::Forbidden { reason: "another agent has the lease of the coordinator".into() })
}

/// Ends a lease whose time has passed, or whose coordinator was silent for too long. While the intent waits for a person, no lease runs
/// out (RFC-0025 §2).
fn look(intent: &Intent, command: &CoordinatorCommand, now: DateTime<Utc>) -> Option<Event> {
    let live = intent.directed_by().filter(|live| live.id == command.id)?;
    if intent.suspended_since().is_some() {
        return None;
    }
    if live.expires_at.is_some_and(|end| end <= now) {
        return Some(ended(live, EndReason::Expired));
    }
    live.overdue_at().filter(|at| *at <= now)?;
    Some(event_of(match live.status {
        CoordinatorStatus::Active => CoordinatorEvent::Unresponsive(named(live)),
        CoordinatorStatus::Unresponsive | CoordinatorStatus::FailedOver | CoordinatorStatus::Completed => {
            CoordinatorEvent::FailedOver(named(live))
        }
    }))
}

/// Refuses the decision record of an agent that does not direct the intent.
pub(super) fn may_record(intent: &Intent, decision: &CoordinatorDecision, by: &Principal) -> Result<(), Rejection> {
    match &intent.coordinator {
        Some(coordinator) if coordinator.id == decision.coordinator_id => {
            may_act_as(coordinator, by)?;
            if coordinator.is_over() || intent.status.is_final() { Err(Rejection::CoordinatorEnded) } else { Ok(()) }
        }
        Some(_) | None => {
            Err(Rejection::invalid("coordinator_id", "unknown", "must be the newest lease of a coordinator of the intent"))
        }
    }
}

/// Adds the events that follow for the lease of the coordinator: its supervisor is asked as well, or the lease ends with the intent.
pub(super) fn settled(intent: &Intent, mut events: Vec<Event>, by: &Principal) -> Vec<Event> {
    let Some(live) = intent.directed_by() else { return events };
    let is_of_a_plan = |event: &Event| matches!(event, Event::Plan(change) if matches!(**change, PlanEvent::Asked(_)));
    let people = live.escalates_for(by);
    let asked = events.iter().find_map(|event| {
        let Event::Suspended(suspension, _) = event else { return None };
        (suspension.kind.stops_intent() && !people.is_empty()).then_some(suspension.id)
    });
    if let Some(suspension_id) = asked.filter(|_| !events.iter().any(is_of_a_plan)) {
        let coordinator_id = live.id;
        let required = EscalationRequired { coordinator_id, suspension_id, escalated_to: people.to_vec() };
        events.push(event_of(CoordinatorEvent::EscalationRequired(required)));
    }
    if events.iter().any(Event::ends_intent) {
        events.push(ended(live, EndReason::IntentEnded));
    }
    events
}

/// Ends the lease of an agent that may no longer work on the intent.
pub(super) fn lost(intent: &Intent, is_lost: impl Fn(&str) -> bool) -> Option<Event> {
    intent.directed_by().filter(|live| is_lost(&live.agent_id)).map(|live| ended(live, EndReason::AccessLost))
}

fn ended(live: &Coordinator, reason: EndReason) -> Event {
    event_of(CoordinatorEvent::Ended(Ended { coordinator_id: live.id, agent_id: live.agent_id.clone(), reason }))
}

/// A guardrail that forbids what a command would do.
fn violation(guardrail: &str, limit: String, attempted: String) -> Rejection {
    Rejection::GuardrailViolation { guardrail: guardrail.to_owned(), limit, attempted }
}

fn within(guardrail: &str, limit: u32, attempted: usize) -> Result<(), Rejection> {
    if u32::try_from(attempted).is_ok_and(|attempted| attempted <= limit) {
        return Ok(());
    }
    Err(violation(guardrail, limit.to_string(), attempted.to_string()))
}

/// Refuses one more plan than the guardrails of the intent allow.
pub(super) fn may_plan(intent: &Intent) -> Result<(), Rejection> {
    let Some(limits) = intent.guardrails() else { return Ok(()) };
    within("max_plan_versions", limits.max_plan_versions, intent.plan_count + 1)
}

/// Refuses more tasks in a plan than the guardrails of the intent allow.
pub(super) fn may_have_tasks(intent: &Intent, tasks: usize) -> Result<(), Rejection> {
    let Some(limits) = intent.guardrails() else { return Ok(()) };
    within("max_tasks_per_plan", limits.max_tasks_per_plan, tasks)
}

/// Refuses a task that no person has seen in a plan that has begun, if a person must review the plans of the intent. An agent that works on
/// a task of the plan may hand parts of it on.
pub(super) fn may_add(intent: &Intent, new: &NewTask) -> Result<(), Rejection> {
    let plan = intent.plans.iter().find(|plan| Some(plan.id) == new.plan_id);
    let is_seen = |plan: &Plan| plan.review.is_some() || (intent.reviews_plans() && plan.state != PlanState::Draft);
    if plan.is_some_and(is_seen) {
        return Err(violation("requires_plan_review", "only the tasks that a person has seen".into(), "one more".into()));
    }
    Ok(())
}

/// Refuses a new task with a capability that the guardrails of the intent do not allow, or at too great a depth below other tasks.
pub(super) fn may_create(intent: &Intent, new: &NewTask) -> Result<(), Rejection> {
    let Some(limits) = intent.guardrails() else { return Ok(()) };
    if let Some(allowed) = &limits.allowed_capabilities
        && let Some(other) = new.body.capabilities_required.iter().find(|word| !allowed.contains(word))
    {
        return Err(violation("allowed_capabilities", allowed.join(", "), other.clone()));
    }
    let parent = intent.tasks.iter().find(|task| Some(task.id) == new.parent_task_id);
    let depth = parent.map_or(0, |parent| parent.depth + 1);
    within("max_delegation_depth", limits.max_delegation_depth, depth as usize)
}

/// Refuses that agents hold more tasks than the guardrails of the intent allow.
pub(super) fn may_claim(intent: &Intent) -> Result<(), Rejection> {
    let Some(limits) = intent.guardrails() else { return Ok(()) };
    let held = intent.tasks.iter().filter(|task| task.is_held()).count();
    within("max_concurrent_tasks", limits.max_concurrent_tasks, held + 1)
}

impl Coordinator {
    /// The people who are asked as well if this principal asks. A supervisor that the agent has chosen is asked only about its own
    /// questions: otherwise the agent could choose who else answers those of others.
    pub(super) fn escalates_for(&self, by: &Principal) -> &[String] {
        let is_own = by.may_act_for(&self.agent_id);
        let is_chosen = self.supervisor_id.as_ref().is_some_and(|supervisor| supervisor.contains('@'));
        if self.suspension_policy != SuspensionPolicy::Escalate || (is_chosen && !is_own) {
            return &[];
        }
        &self.escalates_to
    }
}

impl Intent {
    /// The lease of the agent that directs the intent, if one does.
    pub fn directed_by(&self) -> Option<&Coordinator> {
        self.coordinator.as_deref().filter(|coordinator| !coordinator.is_over())
    }

    /// The limits of the work, which outlast the lease that set them.
    fn guardrails(&self) -> Option<&Guardrails> {
        self.coordinator.as_ref().map(|coordinator| &coordinator.guardrails)
    }

    /// Whether a person must approve each plan before its tasks begin.
    pub fn reviews_plans(&self) -> bool {
        self.guardrails().is_some_and(|limits| limits.requires_plan_review)
    }
}
