//! Bodies of requests and responses about people and their groups.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::PersonId;
use crate::people::group::Group;
use crate::people::person::Person;
use crate::people::principal::Role;

/// `POST /api/v1/people`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddPersonRequest {
    /// The e-mail address, in any case of letters: two spellings are one person.
    #[schema(max_length = 254, examples("ada@example.com"))]
    pub address: String,
    /// The person's role: `auditor`, `operator` or `admin`.
    #[schema(value_type = String, pattern = "^(auditor|operator|admin)$", examples("operator"))]
    pub role: Role,
}

/// `PATCH /api/v1/people/{person_id}`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePersonRequest {
    /// The person's role from now on: `auditor`, `operator` or `admin`.
    #[schema(value_type = String, pattern = "^(auditor|operator|admin)$", examples("auditor"))]
    pub role: Role,
}

/// A person who is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonView {
    /// The person's id.
    pub id: PersonId,
    /// The address, in small letters.
    pub address: String,
    /// The person's role.
    pub role: Role,
    /// The names of the groups that the person is in.
    pub groups: Vec<String>,
    /// When the person was added.
    #[serde(with = "crate::base::time::z")]
    pub added_at: DateTime<Utc>,
    /// The name of the key or account that added the person; `placet/configuration` if it was the configuration file.
    pub added_by: String,
    /// When the person used the first login link; null before.
    #[serde(with = "crate::base::time::z_option")]
    pub confirmed_at: Option<DateTime<Utc>>,
    /// Whether the server's configuration file names the person. The person is then changed and removed only there.
    pub managed: bool,
}

impl PersonView {
    /// A person with the names of the groups that the person is in.
    pub fn of(person: Person, groups: Vec<String>) -> Self {
        let Person { id, address, role, added_at, added_by, confirmed_at, managed } = person;
        Self { id, address, role, groups, added_at, added_by, confirmed_at, managed }
    }
}

/// The people who are listed, in the order in which they were added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PersonList {
    /// The people.
    pub people: Vec<PersonView>,
}

/// `PUT /api/v1/groups/{group}`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetGroupRequest {
    /// The addresses of all members, in place of those that the group had: listed people, each once.
    #[schema(min_items = 1, max_items = 200, examples(json!(["ada@example.com", "bob@example.com"])))]
    pub members: Vec<String>,
}

/// A group of listed people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    /// The group's name.
    pub name: String,
    /// The addresses of the members, in the order of their characters. There are none if the last one is no longer listed.
    pub members: Vec<String>,
    /// Whether the server's configuration file names the group. It is then changed and removed only there.
    pub managed: bool,
}

impl From<Group> for GroupView {
    fn from(group: Group) -> Self {
        let Group { name, members, managed } = group;
        Self { name, members, managed }
    }
}

/// All groups, in the order of the characters of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupList {
    /// The groups.
    pub groups: Vec<GroupView>,
}
