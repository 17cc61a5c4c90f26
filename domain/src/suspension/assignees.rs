//! The people to whom a question is assigned: only they may answer it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::words::Language;

/// The most people, and the most groups, to whom one question is assigned by name.
pub const ASSIGNEES_MAX: usize = 20;

/// The people to whom a question is assigned, by name, by group and by role. It is also stored in the event that asks the question, so
/// its members never change their names or forms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Assignees {
    /// Listed people, by address: at most 20.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20)]
    pub people: Vec<String>,
    /// Groups, by name: at most 20. Their members may answer, as they are when the answer comes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 20)]
    pub groups: Vec<String>,
    /// All listed people with one of these roles may answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 2)]
    pub roles: Vec<AssignedRole>,
}

/// A role of listed people to which a question can be assigned. Auditors answer no questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssignedRole {
    /// Operators.
    Operator,
    /// Admins.
    Admin,
}

impl Assignees {
    /// All listed people who answer questions.
    pub fn all() -> Self {
        Self { roles: vec![AssignedRole::Operator, AssignedRole::Admin], ..Self::default() }
    }

    /// The assignees in words, one for each person, group and role.
    pub fn in_words(&self, language: Language) -> Vec<String> {
        let role = |role: &AssignedRole| match role {
            AssignedRole::Operator => language.all_operators().to_owned(),
            AssignedRole::Admin => language.all_admins().to_owned(),
        };
        let groups = self.groups.iter().map(|name| language.the_group(name));
        self.people.iter().cloned().chain(groups).chain(self.roles.iter().map(role)).collect()
    }

    /// Whether it names no person, no group and no role.
    pub fn is_empty(&self) -> bool {
        self.people.is_empty() && self.groups.is_empty() && self.roles.is_empty()
    }
}
