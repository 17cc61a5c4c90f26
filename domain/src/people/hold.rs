//! Legal holds: what must not be erased, because a dispute or an authority may need it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{HoldId, IntentId};
use crate::base::name::is_same_in_any_case;

/// The most holds that are in force at a time: each erasure looks at all of them.
pub const HOLDS_MAX: usize = 1_000;

/// The part of the log that a hold covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case", deny_unknown_fields)]
pub enum HoldScope {
    /// Everything.
    Everything,
    /// The intents that this agent created.
    Agent(String),
    /// One intent.
    Intent(IntentId),
}

impl HoldScope {
    /// Whether the scope covers an intent with this creator.
    pub fn covers(&self, intent: IntentId, creator: &str) -> bool {
        match self {
            Self::Everything => true,
            // A hold that is typed in another case must not let anything be erased.
            Self::Agent(agent) => is_same_in_any_case(agent, creator),
            Self::Intent(held) => *held == intent,
        }
    }
}

/// A legal hold that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Its id.
    pub id: HoldId,
    /// The part of the log that it covers.
    pub scope: HoldScope,
    /// The reason, in the words of the person who placed it.
    pub reason: String,
    /// The name of the key that placed it.
    pub placed_by: String,
    /// When.
    pub placed_at: DateTime<Utc>,
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_hold_covers_what_its_scope_says_and_nothing_else() {
        let [one, other] = [1, 2].map(|number| IntentId(Uuid::from_u128(number)));
        assert!(HoldScope::Everything.covers(one, "bot"));
        let of_agent = HoldScope::Agent("bot".to_owned());
        assert!(of_agent.covers(one, "bot") && of_agent.covers(other, "bot") && !of_agent.covers(one, "bot2"));
        assert!(of_agent.covers(one, "Bot"), "the case of letters does not matter");
        let of_intent = HoldScope::Intent(one);
        assert!(of_intent.covers(one, "bot") && !of_intent.covers(other, "bot"));
    }
}
