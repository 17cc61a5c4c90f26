//! Payloads of announced questions, and of open questions that their asker asked again.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::SuspensionId;
use crate::intent::announcement::Announcement;
use crate::intent::event::UnaskedAnswer;
use crate::intent::status::Status;
use crate::people::principal::{Credential, Role};

/// A status that was set for a question which had not come yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announced {
    /// The id of the announcement.
    pub announcement_id: SuspensionId,
    /// The name of the key that set the status.
    pub asked_by: String,
    /// The status before.
    pub old_status: Status,
    /// The time by which the question had to come.
    #[serde(with = "crate::base::time::naive_form")]
    pub record_until: DateTime<Utc>,
}

impl Announced {
    pub(super) fn of(announced: &Announcement) -> Self {
        Self {
            announcement_id: announced.id,
            asked_by: announced.by.name.clone(),
            old_status: announced.from,
            record_until: announced.record_until(),
        }
    }
}

/// An answer that came before the announced question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unasked {
    /// The id of the announcement.
    pub announcement_id: SuspensionId,
    /// The value, which never becomes the answer to a question.
    pub value: Value,
    /// The person who answered.
    pub responded_by: String,
    /// The role of the credential.
    pub role: Role,
    /// The credential.
    pub credential: Option<Credential>,
}

impl Unasked {
    pub(super) fn of(answer: &UnaskedAnswer) -> Self {
        let UnaskedAnswer { id, value, responded_by, role, credential } = answer.clone();
        Self { announcement_id: id, value, responded_by, role, credential }
    }
}

/// A change of the intent by the agent whose question was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WentOn {
    /// The suspension.
    pub suspension_id: SuspensionId,
}

/// An open question that its asker asked again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adopted {
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// The id by which the asker's client knows it as well.
    pub client_id: String,
}
