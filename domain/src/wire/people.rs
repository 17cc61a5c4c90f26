//! Bodies of requests and responses about people and their groups.

use chrono::{DateTime, Utc};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::base::ids::PersonId;
use crate::base::json::present;
use crate::people::absence::Absence;
use crate::people::group::Group;
use crate::people::person::Person;
use crate::people::principal::Role;

/// Reads a role. A word that is no role is told the roles of people; a role that is for keys of programs is refused later, with this reason.
fn role<'de, D: Deserializer<'de>>(input: D) -> Result<Role, D::Error> {
    const OF_PEOPLE: &[&str] = &["auditor", "operator", "admin"];
    let word = String::deserialize(input)?;
    word.parse().map_err(|_| D::Error::unknown_variant(&word, OF_PEOPLE))
}

/// As [`role`], for a member that may be absent.
fn some_role<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Role>, D::Error> {
    role(input).map(Some)
}

/// `POST /api/v1/people`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddPersonRequest {
    /// The e-mail address, in any case of letters: two spellings are one person.
    #[schema(max_length = 254, examples("ada@example.com"))]
    pub address: String,
    /// The person's role: `auditor`, `operator` or `admin`.
    #[serde(deserialize_with = "role")]
    #[schema(value_type = String, pattern = "^(auditor|operator|admin)$", examples("operator"))]
    pub role: Role,
    /// The person's time zone: a name of the IANA database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 64, examples("Europe/Berlin"))]
    pub time_zone: Option<String>,
    /// The person's locale: a language tag (BCP 47) that begins with `en` or `de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 35, examples("de-AT"))]
    pub locale: Option<String>,
}

/// `PATCH /api/v1/people/{person_id}`. A member that is absent stays as it is. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePersonRequest {
    /// The person's role from now on: `auditor`, `operator` or `admin`.
    #[serde(default, deserialize_with = "some_role", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, pattern = "^(auditor|operator|admin)$", examples("auditor"))]
    pub role: Option<Role>,
    /// The person's time zone from now on: a name of the IANA database; null if it is not known.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 64, examples("Europe/Berlin"))]
    pub time_zone: Option<Option<String>>,
    /// The person's locale from now on: a language tag (BCP 47) that begins with `en` or `de`; null if it is not known.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 35, examples("de-AT"))]
    pub locale: Option<Option<String>>,
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
    /// The name of the person's time zone; null if it is not known.
    #[serde(default)]
    pub time_zone: Option<String>,
    /// The person's locale; null if it is not known.
    #[serde(default)]
    pub locale: Option<String>,
    /// When the person is out of office, and who answers meanwhile; null if the person has not said so, and once that time is over.
    pub out_of_office: Option<OutOfOffice>,
}

/// The time for which a person is out of office. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OutOfOffice {
    /// When it begins.
    #[serde(with = "crate::base::time::z")]
    #[schema(examples("2026-12-20T08:00:00Z"))]
    pub from: DateTime<Utc>,
    /// When it ends: after `from`, at most 366 days later, and in the future.
    #[serde(with = "crate::base::time::z")]
    #[schema(examples("2027-01-04T08:00:00Z"))]
    pub until: DateTime<Utc>,
    /// The address of the listed person who answers meanwhile; empty in an answer of the server if that person is no longer listed.
    #[schema(max_length = 254, examples("bob@example.com"))]
    pub deputy: String,
}

impl OutOfOffice {
    /// The absence of a person, until it is over.
    pub fn of(person: &Person, people: &[Person], now: DateTime<Utc>) -> Option<Self> {
        let Absence { from, until, deputy } = person.absence.filter(|absence| now < absence.until)?;
        let deputy = people.iter().find(|person| person.id == deputy).map(|person| person.address.clone());
        Some(Self { from, until, deputy: deputy.unwrap_or_default() })
    }
}

impl PersonView {
    /// A person with the names of the groups that the person is in, and the time for which the person is out of office.
    pub fn of(person: Person, groups: Vec<String>, out_of_office: Option<OutOfOffice>) -> Self {
        let Person { id, address, role, added_at, added_by, confirmed_at, managed, absence: _, preferences } = person;
        let (time_zone, locale) = preferences.names();
        Self { id, address, role, groups, added_at, added_by, confirmed_at, managed, time_zone, locale, out_of_office }
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
