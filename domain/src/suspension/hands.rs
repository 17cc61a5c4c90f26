//! In whose hands an open question is: the person who works on it, the people to whom it was reassigned, and the places that were handed on.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::suspension::assignees::Assignees;

/// How often one place is handed on at most.
pub const CHAIN_MAX: usize = 5;
/// How often the places of one question are handed on at most, all together.
pub const HANDED_MAX: usize = 40;

/// In whose hands an open question is. It is also stored in the question's row, so its members never change their names or forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own in the question's row, and no two exclude each other"
)]
pub struct Hands {
    /// The person who works on it, as far as others were told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// The people to whom it was reassigned, in place of those in the asker's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reassigned: Option<Reassignment>,
    /// The places that were handed on, in the order in which that happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handed: Vec<Handed>,
    /// Whether people have saved drafts of an answer. The drafts are stored apart, and most questions have none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_drafts: bool,
    /// Whether admins were told that too few people are left to answer. These mails are stored apart, and most questions have none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_alerts: bool,
    /// Whether answers of people counted when the question ended without an answer. The answers are forgotten then, and this is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_answered: bool,
    /// Whether the answer that ended the question was given in place of another person. The event of the answer names that person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered_in_place: bool,
}

/// A claim: others see that this person works on the question. They may answer all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The address of the person, or the subject of the key.
    pub person: String,
    /// When the person claimed it.
    pub at: DateTime<Utc>,
}

/// The people to whom a question was reassigned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassignment {
    /// Those who may answer from now on.
    pub assignees: Assignees,
    /// Those of them who are told.
    pub notify_to: Vec<String>,
}

/// A place that one person handed to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// The person whose place it was at first.
    pub place: String,
    /// The person who handed it on, and has no place any more.
    pub from: String,
    /// The person who has it now.
    pub to: String,
}

impl Hands {
    /// Whether the question is as it was asked. Mails to admins do not change it.
    pub fn is_untouched(&self) -> bool {
        *self == Self { has_alerts: self.has_alerts, ..Self::default() }
    }

    /// Whether the person with this address has handed the place on.
    pub fn has_left(&self, address: &str) -> bool {
        self.handed.iter().any(|handed| handed.from == address)
    }

    /// The place that was handed to this person, by the name of the person whose place it was at first.
    pub fn place_handed_to(&self, address: &str) -> Option<&str> {
        self.handed.iter().find(|handed| handed.to == address && !self.has_left(address)).map(|handed| handed.place.as_str())
    }

    /// The people whose places were handed on: the right of another person depends on them.
    pub fn holders(&self) -> Vec<String> {
        let mut holders: Vec<String> = self.handed.iter().map(|handed| handed.place.clone()).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }
}
