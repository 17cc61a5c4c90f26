//! Ids: every id is a `UUIDv7`, made from a time and random bytes that the caller gives.

use chrono::{DateTime, Utc};
use uuid::{Builder, Uuid};

/// The source of randomness; the only source of ids, salts and secrets.
pub trait Entropy: Send + Sync {
    /// Fills `buffer` with bytes that no one can guess.
    fn fill(&self, buffer: &mut [u8]);

    /// Fills `buffer` with random bytes for ids and salts, which are no secrets. The bytes may have been drawn in advance.
    fn fill_shown(&self, buffer: &mut [u8]) {
        self.fill(buffer);
    }

    /// Makes a `UUIDv7` for `now`.
    fn uuid(&self, now: DateTime<Utc>) -> Uuid {
        let mut random = [0; 10];
        self.fill_shown(&mut random);
        // A time before 1970 cannot be written in a UUIDv7, so it counts as 1970.
        let millis = u64::try_from(now.timestamp_millis()).unwrap_or(0);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }

    /// Draws a salt.
    fn salt(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.fill_shown(&mut bytes);
        bytes
    }

    /// Draws 32 bytes for a token or a secret.
    fn bytes32(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.fill(&mut bytes);
        bytes
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, utoipa::ToSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                // Only the hyphenated form is read, so that one id has one spelling.
                if text.len() == 36 { text.parse().map(Self) } else { "-".parse().map(Self) }
            }
        }
    };
}

id!(
    /// Names an intent (RFC-0001).
    IntentId
);
id!(
    /// Names one delivery of one message to one recipient.
    DeliveryId
);
id!(
    /// Names a lease (RFC-0003).
    LeaseId
);
id!(
    /// Names an API key; not a secret.
    KeyId
);
id!(
    /// Names an entry of an access control list, or a request for access.
    AccessId
);
id!(
    /// Names a portfolio (RFC-0007).
    PortfolioId
);
id!(
    /// Names the membership of an intent in a portfolio.
    MembershipId
);
id!(
    /// Names a task (RFC-0012).
    TaskId
);
id!(
    /// Names a plan (RFC-0012).
    PlanId
);
id!(
    /// Names the lease of a coordinator (RFC-0013).
    CoordinatorId
);
id!(
    /// Names a subscription (RFC-0006).
    SubscriptionId
);
id!(
    /// Names a receipt of a decision.
    ReceiptId
);
id!(
    /// Names a legal hold.
    HoldId
);
id!(
    /// Names a person who may log in.
    PersonId
);
id!(
    /// Names a session of a person; not its secret.
    SessionId
);
id!(
    /// Names an event of a log.
    EventId
);

/// Names a suspension (RFC-0025 §5).
///
/// Outside the server the id is a capability (§11): a holder may be able to answer the question. So `Debug` does not show the id,
/// and it cannot slip into a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
pub struct SuspensionId(pub Uuid);

impl SuspensionId {
    /// Parses the hyphenated form; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() == 36 { text.parse().ok().map(Self) } else { None }
    }

    /// The hyphenated form, for the wire only.
    pub fn expose(&self) -> String {
        self.0.hyphenated().to_string()
    }
}

impl std::fmt::Debug for SuspensionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SuspensionId(…)")
    }
}
