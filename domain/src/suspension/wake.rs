//! Wake webhooks: endpoints that the operator has told when a suspension is over, so that an agent which holds no connection wakes up.

use serde::{Deserialize, Serialize};

use crate::base::name::is_same;
use crate::suspension::{Kind, Resolution};

/// The type of a wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WakeType {
    /// A question has ended, or a stop ended because its intent was abandoned.
    #[serde(rename = "suspension.ended")]
    Ended,
    /// An intent that was paused or parked goes on.
    #[serde(rename = "suspension.resumed")]
    Resumed,
}

impl WakeType {
    /// The type of the wake for a suspension of this kind that ended in this way.
    pub fn of(kind: Kind, resolution: Resolution) -> Self {
        if kind.is_stop() && resolution == Resolution::Responded { Self::Resumed } else { Self::Ended }
    }
}

/// Of which suspensions one endpoint is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeRule {
    /// The name of the endpoint in the outbox. It follows from the address, so a rule that is written in another place of the configuration
    /// keeps its messages.
    pub endpoint: String,
    /// The agents whose suspensions count; all if it is empty.
    pub agents: Vec<String>,
    /// The types that count; all if it is empty.
    pub types: Vec<WakeType>,
    /// Whether the endpoint is told the answer, or the input with which work goes on.
    pub include_value: bool,
}

impl WakeRule {
    /// Whether the endpoint is told of a wake of this type for this agent.
    pub fn wants(&self, agent: &str, wake: WakeType) -> bool {
        let agents = self.agents.is_empty() || self.agents.iter().any(|named| is_same(named, agent));
        agents && (self.types.is_empty() || self.types.contains(&wake))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_work_that_goes_on_is_resumed() {
        for kind in [Kind::AwaitingInput, Kind::Approval, Kind::Escalation, Kind::Arbitration] {
            assert_eq!(WakeType::of(kind, Resolution::Responded), WakeType::Ended, "{kind:?}");
        }
        for kind in [Kind::Paused, Kind::Parked] {
            assert_eq!(WakeType::of(kind, Resolution::Responded), WakeType::Resumed, "{kind:?}");
            assert_eq!(WakeType::of(kind, Resolution::Expired), WakeType::Ended, "{kind:?}");
            assert_eq!(WakeType::of(kind, Resolution::Cancelled), WakeType::Ended, "{kind:?}");
        }
    }

    #[test]
    fn a_rule_names_agents_and_types_or_takes_all() {
        let all = WakeRule { endpoint: "e".into(), agents: Vec::new(), types: Vec::new(), include_value: false };
        assert!(all.wants("bot", WakeType::Ended) && all.wants("bot", WakeType::Resumed));
        let some = WakeRule { agents: vec!["bot".into()], types: vec![WakeType::Resumed], ..all };
        assert!(some.wants("bot", WakeType::Resumed) && !some.wants("bot", WakeType::Ended));
        assert!(!some.wants("bot/child", WakeType::Resumed) && !some.wants("Bot", WakeType::Resumed));
    }
}
