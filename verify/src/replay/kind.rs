//! The kinds of events, as far as decisions depend on them.

use domain::intent::event::{
    APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUESTED, ARBITRATION_REQUESTED, ARBITRATION_RESOLVED, ESCALATION_REQUESTED,
    ESCALATION_RESOLVED,
};
use domain::intent::hands::{CLAIM_RELEASED, CLAIMED, DELEGATED, REASSIGNED};
use domain::intent::stop_event::{CLOSED, EXTENDED, PARKED, PAUSED, RESUMED, SETTLED};
use domain::portfolio::membership;

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No decision depends on it.
    Other,
    /// The intent began.
    Created,
    /// The status of the intent changed.
    Status,
    /// People were asked.
    Asked,
    /// A person answered.
    Answered,
    /// A person answered, and more people had to agree.
    Counted,
    /// A person took back an answer that counted.
    TakenBack,
    /// A person claimed the question, handed a place on, or assigned it to others.
    Handed,
    /// The time to answer was over.
    Expired,
    /// The time to answer was over, and no person had been reached.
    Undeliverable,
    /// The question was withdrawn.
    Cancelled,
    /// People were asked again.
    Renotified,
    /// Other people were asked.
    Escalated,
    /// The deadline was moved.
    Extended,
    /// An answer was refused.
    Refused,
    /// A message was sent or came back.
    Delivered,
    /// The intent was put into a portfolio, or taken out.
    Placed,
    /// An agent was assigned, or taken off.
    Assigned,
    /// The intent was stopped, or went on.
    Stopped,
}

impl Kind {
    pub(super) const ALL: [Self; 19] = [
        Self::Other,
        Self::Created,
        Self::Status,
        Self::Asked,
        Self::Answered,
        Self::Counted,
        Self::TakenBack,
        Self::Handed,
        Self::Expired,
        Self::Undeliverable,
        Self::Cancelled,
        Self::Renotified,
        Self::Escalated,
        Self::Extended,
        Self::Refused,
        Self::Delivered,
        Self::Placed,
        Self::Assigned,
        Self::Stopped,
    ];

    /// The kind of events with this type, which is written as in the event: a canonical text in quotes.
    pub(super) fn of(event_type: &[u8]) -> Self {
        let text = event_type.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        match text.and_then(|text| str::from_utf8(text).ok()).unwrap_or_default() {
            "intent_created" => Self::Created,
            "status_changed" => Self::Status,
            "intent.suspended" | APPROVAL_REQUESTED | ESCALATION_REQUESTED | ARBITRATION_REQUESTED => Self::Asked,
            "intent.resumed" | APPROVAL_GRANTED | APPROVAL_DENIED | ESCALATION_RESOLVED | ARBITRATION_RESOLVED => Self::Answered,
            "intent.answer_counted" => Self::Counted,
            "intent.answer_taken_back" => Self::TakenBack,
            CLAIMED | CLAIM_RELEASED | DELEGATED | REASSIGNED => Self::Handed,
            "intent.suspension_expired" => Self::Expired,
            "intent.suspension_undeliverable" => Self::Undeliverable,
            "intent.suspension_cancelled" => Self::Cancelled,
            "intent.suspension_renotified" => Self::Renotified,
            "intent.suspension_escalated" => Self::Escalated,
            "intent.suspension_extended" => Self::Extended,
            "intent.late_answer" | "intent.response_rejected" => Self::Refused,
            "delivery.sent" | "delivery.bounced" => Self::Delivered,
            membership::ADDED | membership::REMOVED => Self::Placed,
            "agent_assigned" | "agent_unassigned" => Self::Assigned,
            PAUSED | PARKED | EXTENDED | SETTLED | RESUMED | CLOSED => Self::Stopped,
            _ => Self::Other,
        }
    }

    /// Whether the event is a decision: it ends a question, answers it, or does something that the question's policy says.
    pub(super) fn is_decision(self) -> bool {
        match self {
            Self::Answered
            | Self::Counted
            | Self::TakenBack
            | Self::Handed
            | Self::Expired
            | Self::Undeliverable
            | Self::Cancelled
            | Self::Renotified
            | Self::Escalated
            | Self::Extended
            | Self::Refused
            | Self::Stopped => true,
            Self::Other | Self::Created | Self::Status | Self::Asked | Self::Delivered | Self::Placed | Self::Assigned => false,
        }
    }

    /// Whether the questions of an intent are not known any more if an event of this kind cannot be read.
    pub(super) fn leaves_a_hole(self) -> bool {
        self == Self::Asked || (self.is_decision() && self != Self::Refused && self != Self::Escalated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_number() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
        assert_eq!(Kind::of(b"\"intent.resumed\""), Kind::Answered);
        assert_eq!(Kind::of(b"\"comment\""), Kind::Other);
    }
}
