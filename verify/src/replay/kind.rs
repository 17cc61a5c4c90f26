//! The types of events, and their kinds, as far as decisions depend on them.

use domain::intent::event::{
    APPROVAL_DENIED, APPROVAL_GRANTED, APPROVAL_REQUESTED, ARBITRATION_REQUESTED, ARBITRATION_RESOLVED, ESCALATION_REQUESTED,
    ESCALATION_RESOLVED,
};
use domain::intent::hands::{CLAIM_RELEASED, CLAIMED, DELEGATED, REASSIGNED};
use domain::intent::stop_event::{CLOSED, EXTENDED, PARKED, PAUSED, RESUMED, SETTLED, STOPPING, TAKEN_OVER};
use domain::portfolio::membership::{ADDED, REMOVED};

macro_rules! types {
    ($($number:literal $name:tt $kind:ident,)+) => {
        /// The types on which decisions depend, by their numbers, with their kinds.
        const TYPES: &[(&str, Kind)] = &[("", Kind::Other), $(($name, Kind::$kind)),+];

        /// The number of a type; 0 of every other one.
        fn number(name: &str) -> u8 {
            // A match is several times as fast as a search, and this is asked of each event.
            match name {
                $($name => $number,)+
                _ => 0,
            }
        }
    };
}

types! {
    1 "intent_created" Created,
    2 "status_changed" Status,
    3 "intent.suspended" Asked,
    4 APPROVAL_REQUESTED Asked,
    5 ESCALATION_REQUESTED Asked,
    6 ARBITRATION_REQUESTED Asked,
    7 "intent.resumed" Answered,
    8 APPROVAL_GRANTED Answered,
    9 APPROVAL_DENIED Answered,
    10 ESCALATION_RESOLVED Answered,
    11 ARBITRATION_RESOLVED Answered,
    12 "intent.answer_counted" Counted,
    13 "intent.answer_taken_back" TakenBack,
    14 CLAIMED Handed,
    15 CLAIM_RELEASED Handed,
    16 DELEGATED Handed,
    17 REASSIGNED Handed,
    18 "intent.suspension_expired" Expired,
    19 "intent.suspension_undeliverable" Undeliverable,
    20 "intent.suspension_cancelled" Cancelled,
    21 "intent.suspension_renotified" Renotified,
    22 "intent.suspension_escalated" Escalated,
    23 "intent.suspension_extended" Extended,
    24 "intent.late_answer" Refused,
    25 "intent.response_rejected" Refused,
    26 "delivery.sent" Delivered,
    27 "delivery.bounced" Delivered,
    28 ADDED Placed,
    29 REMOVED Placed,
    30 "agent_assigned" Assigned,
    31 "agent_unassigned" Assigned,
    32 PAUSED Stopped,
    33 PARKED Stopped,
    34 EXTENDED Stopped,
    35 SETTLED Stopped,
    36 RESUMED Stopped,
    37 CLOSED Stopped,
    38 STOPPING Stopped,
    39 TAKEN_OVER Stopped,
    40 "delivery.failed" Failed,
}

/// The type of an event, by its number among [`TYPES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type(u8);

impl Type {
    /// A type of which no event of a decision is.
    pub(super) const OTHER: Self = Self(0);

    /// The type that is written like this in an event: a canonical text in quotes.
    pub(super) fn of(event_type: &[u8]) -> Self {
        let text = event_type.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        Self(number(text.and_then(|text| str::from_utf8(text).ok()).unwrap_or_default()))
    }

    /// The type with this number.
    pub(super) fn numbered(number: u8) -> Self {
        if usize::from(number) < TYPES.len() { Self(number) } else { Self::OTHER }
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// Its name; empty for a type on which no decision depends.
    pub(super) fn name(self) -> &'static str {
        TYPES[usize::from(self.0)].0
    }

    pub(super) fn kind(self) -> Kind {
        TYPES[usize::from(self.0)].1
    }
}

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
    /// A message was given up. An earlier try may have reached its recipient all the same, with only the reply lost.
    Failed,
    /// The intent was put into a portfolio, or taken out.
    Placed,
    /// An agent was assigned, or taken off.
    Assigned,
    /// The intent was stopped, or went on.
    Stopped,
}

impl Kind {
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
            Self::Other
            | Self::Created
            | Self::Status
            | Self::Asked
            | Self::Delivered
            | Self::Failed
            | Self::Placed
            | Self::Assigned => false,
        }
    }

    /// Whether the event reports about a message, and so names the message's question and recipient.
    pub(super) fn is_report(self) -> bool {
        matches!(self, Self::Delivered | Self::Failed)
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
    fn a_type_is_found_by_its_name_and_by_its_number() {
        for (number, (name, kind)) in TYPES.iter().enumerate() {
            let found = Type::of(format!("\"{name}\"").as_bytes());
            assert_eq!((usize::from(found.number()), found.name(), found.kind()), (number, *name, *kind));
            assert_eq!(Type::numbered(found.number()), found);
        }
        for other in ["\"comment\"", "\"\"", "intent.resumed", "\"intent.resumed", ""] {
            assert_eq!(Type::of(other.as_bytes()), Type::OTHER, "{other}");
        }
        assert_eq!(Type::numbered(u8::MAX), Type::OTHER);
    }
}
