//! The types of events: those that the OpenIntent client knows, those that clients may append, those that only the server writes.

/// The types that the OpenIntent client 0.17.0 knows, in alphabetical order; it fails on any other, so `/events` hides those by default.
const OPENINTENT: [&str; 126] = [
    "access_expired",
    "access_granted",
    "access_request_approved",
    "access_request_denied",
    "access_requested",
    "access_revoked",
    "added_to_portfolio",
    "agent.dead",
    "agent.identity.challenge_issued",
    "agent.identity.registered",
    "agent.identity.revoked",
    "agent.identity.rotated",
    "agent.identity.verified",
    "agent.lifecycle",
    "agent.registered",
    "agent.status_changed",
    "agent_assigned",
    "agent_unassigned",
    "arbitration_requested",
    "attachment_added",
    "channel.closed",
    "channel.created",
    "channel.message",
    "comment",
    "constraint_added",
    "constraint_removed",
    "coordinator.decision",
    "coordinator.escalation_resolved",
    "coordinator.failed_over",
    "coordinator.guardrails_updated",
    "coordinator.handoff",
    "coordinator.heartbeat",
    "coordinator.paused",
    "coordinator.plan_overridden",
    "coordinator.replaced",
    "coordinator.resumed",
    "coordinator.stalled",
    "coordinator.unresponsive",
    "credential.created",
    "credential.expired",
    "credential.revoked",
    "credential.rotated",
    "decision_recorded",
    "dependency_added",
    "dependency_removed",
    "engagement.decision",
    "failure_recorded",
    "federation.budget_warning",
    "federation.callback",
    "federation.completed",
    "federation.dispatched",
    "federation.failed",
    "federation.received",
    "governance.approval_denied",
    "governance.approval_enforced",
    "governance.approval_granted",
    "governance.policy_removed",
    "governance.policy_set",
    "governance.violation",
    "grant.created",
    "grant.delegated",
    "grant.expired",
    "grant.resumed",
    "grant.revoked",
    "grant.suspended",
    "intent.resumed",
    "intent.suspended",
    "intent.suspension_escalated",
    "intent.suspension_expired",
    "intent.suspension_renotified",
    "intent_created",
    "lease_acquired",
    "lease_released",
    "llm_request_completed",
    "llm_request_failed",
    "llm_request_started",
    "log.checkpoint.anchored",
    "log.checkpoint.created",
    "memory.archived",
    "memory.created",
    "memory.deleted",
    "memory.evicted",
    "memory.expired",
    "memory.updated",
    "plan.activated",
    "plan.checkpoint_approved",
    "plan.checkpoint_reached",
    "plan.checkpoint_rejected",
    "plan.completed",
    "plan.created",
    "plan.failed",
    "plan.paused",
    "plan.resumed",
    "portfolio.member_resumed",
    "portfolio.member_suspended",
    "portfolio_created",
    "removed_from_portfolio",
    "state_patched",
    "status_changed",
    "stream_cancelled",
    "stream_chunk",
    "stream_completed",
    "stream_started",
    "task.blocked",
    "task.cancelled",
    "task.claimed",
    "task.completed",
    "task.created",
    "task.delegated",
    "task.escalated",
    "task.failed",
    "task.progress",
    "task.ready",
    "task.retrying",
    "task.skipped",
    "task.started",
    "task.unblocked",
    "tool.denied",
    "tool.invoked",
    "tool_call_completed",
    "tool_call_failed",
    "tool_call_started",
    "trigger.cascade_limit",
    "trigger.fired",
    "trigger.namespace_blocked",
    "trigger.skipped",
];

/// Types that only the server writes and that the OpenIntent client does not know, beside those that begin with `intent.` or
/// `delivery.`.
const OURS: [&str; 34] = [
    "arbitration_resolved",
    "attachment_removed",
    "coordinator.ended",
    "coordinator.escalation_required",
    "coordinator.granted",
    "cost_recorded",
    "escalation_requested",
    "escalation_resolved",
    "governance.approval_requested",
    "lease_renewed",
    "lifecycle.closed",
    "lifecycle.extended",
    "lifecycle.parked",
    "lifecycle.paused",
    "lifecycle.resumed",
    "lifecycle.settled",
    "lifecycle.stopping",
    "lifecycle.taken_over",
    "plan.cancelled",
    "plan.condition_decided",
    "plan.failure_decided",
    "plan.question_asked",
    "plan.review_required",
    "plan.reviewed",
    "plan.updated",
    "plan.worker_joined",
    "receipt.consumed",
    "receipt.issued",
    "receipt.revoked",
    "retry.exhausted",
    "retry.handed_over",
    "retry.scheduled",
    "retry.started",
    "retry_policy_set",
];

/// The types that begin with `intent.` or `delivery.`, are written by the server, and are not known to the OpenIntent client.
const OF_SUSPENSIONS: [&str; 22] = [
    "delivery.bounced",
    "delivery.failed",
    "delivery.failover",
    "delivery.redriven",
    "delivery.sent",
    "intent.answer_counted",
    "intent.answer_taken_back",
    "intent.asker_went_on",
    "intent.claim_released",
    "intent.claimed",
    "intent.delegated",
    "intent.dependency_completed",
    "intent.late_answer",
    "intent.reassigned",
    "intent.response_rejected",
    "intent.suspension_adopted",
    "intent.suspension_announced",
    "intent.suspension_cancelled",
    "intent.suspension_extended",
    "intent.suspension_reminded",
    "intent.suspension_undeliverable",
    "intent.unasked_answer",
];

/// Whether the OpenIntent client knows this type.
pub fn in_openintent_vocabulary(event_type: &str) -> bool {
    OPENINTENT.binary_search(&event_type).is_ok()
}

/// Whether clients may append events of this type as it is.
pub fn client_may_append(event_type: &str) -> bool {
    event_type == "comment"
        || event_type == "engagement.decision"
        || ["tool_call_", "llm_request_", "stream_", "x."]
            .iter()
            .any(|prefix| event_type.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()))
}

/// Whether events of this type can exist.
pub fn is_a_type(event_type: &str) -> bool {
    client_may_append(event_type)
        || in_openintent_vocabulary(event_type)
        || OURS.contains(&event_type)
        || OF_SUSPENSIONS.contains(&event_type)
}

/// The stored type of an event that a client appends as `event_type`. A type that means nothing to this server is stored below
/// `x.`, so that it can never be mistaken for an event of the server.
pub fn stored_as(event_type: String) -> String {
    let is_reserved = ["intent.", "delivery."].iter().any(|prefix| event_type.starts_with(prefix));
    if is_reserved || is_a_type(&event_type) { event_type } else { ["x.", &event_type].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_is_sorted_so_that_it_can_be_searched() {
        assert!(OPENINTENT.is_sorted() && in_openintent_vocabulary("comment") && !in_openintent_vocabulary("x.own"));
    }

    #[test]
    fn a_type_without_a_meaning_is_stored_below_x() {
        for (given, stored) in [
            ("note", "x.note"),
            ("tool_invocation", "x.tool_invocation"),
            ("x.own", "x.own"),
            ("x.", "x.x."),
            ("comment", "comment"),
            ("stream_chunk", "stream_chunk"),
            ("task.created", "task.created"),
            ("intent.made_up", "intent.made_up"),
            ("cost_recorded", "cost_recorded"),
            ("delivery.sent", "delivery.sent"),
        ] {
            assert_eq!(stored_as(given.into()), stored);
        }
    }
}
