//! The people and groups of the file: one `[[people]]` per person, and `[groups]` with the addresses of the members of each group.

use std::collections::BTreeMap;

use anyhow::{anyhow, bail};
use domain::base::field::FieldError;
use domain::people::principal::Role;
use domain::people::roster::{Entry, Roster};
use serde::Deserialize;

use super::login::{GroupsConfig, OpenIdConfig};

/// How many wrong fields a refusal names. A file that is wrong in the same way everywhere would fill the terminal.
const NAMED_MAX: usize = 5;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonSection {
    address: String,
    role: PersonRole,
    time_zone: Option<String>,
    locale: Option<String>,
}

/// The roles of people. The other roles are not among the choices that a refusal lists.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PersonRole {
    Auditor,
    Operator,
    Admin,
}

impl From<PersonRole> for Role {
    fn from(role: PersonRole) -> Self {
        match role {
            PersonRole::Auditor => Self::Auditor,
            PersonRole::Operator => Self::Operator,
            PersonRole::Admin => Self::Admin,
        }
    }
}

/// Checks the people and groups by themselves. Whether they fit to people who were added otherwise, only the database can tell.
pub(super) fn resolve(
    people: Vec<PersonSection>,
    groups: &BTreeMap<String, Vec<String>>,
    openid: Option<&OpenIdConfig>,
) -> anyhow::Result<Roster> {
    let following = openid.and_then(|openid| openid.groups.as_ref()).map(GroupsConfig::names).unwrap_or_default();
    if let Some(both) = following.into_iter().find(|name| groups.contains_key(*name)) {
        bail!("login.openid.groups: {both:?} is under [groups] as well: only one of them can decide who is in it");
    }
    let entry = |PersonSection { address, role, time_zone, locale }| Entry { address, role: Role::from(role), time_zone, locale };
    let people: Vec<Entry> = people.into_iter().map(entry).collect();
    Roster::read(&people, groups).map_err(|errors| anyhow!(wrong_fields(&errors)))
}

/// The wrong fields of the file in words.
pub fn wrong_fields(errors: &[FieldError]) -> String {
    let named = errors.iter().take(NAMED_MAX).map(|error| format!("{}: {}", error.field, error.message));
    let more = errors.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("and {more} more like these"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::login::LoginSection;
    use super::*;

    #[derive(Deserialize)]
    struct Sections {
        #[serde(default)]
        people: Vec<PersonSection>,
        #[serde(default)]
        groups: BTreeMap<String, Vec<String>>,
    }

    fn read(text: &str) -> anyhow::Result<Roster> {
        let Sections { people, groups } = toml::from_str(text)?;
        resolve(people, &groups, None)
    }

    fn people(count: usize) -> String {
        let person = |number| format!("[[people]]\naddress = 'a{number}@example.com'\nrole = 'operator'\n");
        (0..count).map(person).collect()
    }

    #[test]
    fn people_of_each_role_and_groups_are_read() {
        let text = "[[people]]\naddress = 'Ada@Example.com'\nrole = 'admin'\n[[people]]\naddress = 'bob@example.com'\nrole = 'operator'\n\
                    [[people]]\naddress = 'eve@example.com'\nrole = 'auditor'\n[groups]\nfinance = ['ada@example.com', 'Bob@example.com']\non-call = ['eve@example.com']";
        let small = text.to_lowercase();
        assert_eq!(read(text).unwrap(), read(&small).unwrap(), "two spellings of an address are one person");
        assert_eq!(read("").unwrap(), Roster::default());
        assert_ne!(read(text).unwrap(), Roster::default());
    }

    /// The bounds are those of the API: 2,000 people, 200 groups, 200 members of a group.
    #[test]
    fn each_bound_is_taken_and_one_more_is_not() {
        let group = |name: &str, members: usize| {
            let members: Vec<String> = (0..members).map(|number| format!("'a{number}@example.com'")).collect();
            format!("{name} = [{}]\n", members.join(", "))
        };
        let groups = |count: usize| -> String { (0..count).map(|number| group(&format!("g{number}"), 1)).collect() };
        for (fits, exceeds, field) in [
            (people(2_000), people(2_001), "people: must be at most 2000 people"),
            (format!("[groups]\n{}", groups(200)), format!("[groups]\n{}", groups(201)), "groups: must be at most 200 groups"),
            (
                format!("[groups]\n{}", group("all", 200)),
                format!("[groups]\n{}", group("all", 201)),
                "groups.all: must be 1 to 200",
            ),
            (format!("[groups]\n{}", group("all", 1)), format!("[groups]\n{}", group("all", 0)), "groups.all: must be 1 to 200"),
        ] {
            assert!(read(&fits).is_ok(), "{field}");
            let refused = read(&exceeds).unwrap_err().to_string();
            assert!(refused.starts_with(field), "{refused}");
        }
    }

    #[test]
    fn a_person_may_have_a_time_zone_and_a_locale() {
        let person = |more: &str| read(&format!("[[people]]\naddress = 'ada@example.com'\nrole = 'admin'\n{more}"));
        let spelled =
            ["locale = 'de-AT'", "locale = 'DE-at'"].map(|more| person(&format!("time_zone = 'Europe/Vienna'\n{more}")).unwrap());
        assert_eq!(spelled[0], spelled[1]);
        assert_ne!(spelled[0], person("").unwrap());
        let refused = person("time_zone = 'Mars/Base'\nlocale = 'fr'").unwrap_err().to_string();
        assert!(refused.contains("people[0].time_zone: must be the name of a time zone in the IANA database"), "{refused}");
        assert!(refused.contains("people[0].locale: must be a language tag that begins with en or de"), "{refused}");
    }

    /// Two sources would undo each other: one at each start, the other at each login.
    #[test]
    fn a_group_of_the_file_does_not_follow_the_issuer_as_well() {
        let login: LoginSection = toml::from_str(
            "[openid]\nissuer = 'https://login.example.com'\nclient_id = 'placet'\nclient_secret = 's'\ndomains = ['example.com']\n\
             groups_claim = 'groups'\n[openid.groups]\n\"Finance Team\" = 'finance'\nbosses = 'board'",
        )
        .unwrap();
        let openid = login.resolve(&|_| Ok(None)).unwrap();
        let with = |name: &str| {
            let groups = BTreeMap::from([(name.to_owned(), vec!["ada@example.com".to_owned()])]);
            resolve(Vec::new(), &groups, openid.as_ref()).map_err(|refused| refused.to_string())
        };
        for name in ["finance", "board"] {
            let why =
                format!("login.openid.groups: {name:?} is under [groups] as well: only one of them can decide who is in it");
            assert_eq!(with(name), Err(why));
        }
        assert!(with("bosses").is_ok(), "this is a group of the issuer, and another one here");
    }

    #[test]
    fn a_refusal_names_each_field_but_not_hundreds() {
        let text = "[[people]]\naddress = 'ada@example.com'\nrole = 'admin'\n[[people]]\naddress = 'bob'\nrole = 'admin'\n\
                    [[people]]\naddress = 'ADA@example.com'\nrole = 'auditor'\n[groups]\nfinance = ['ada@example.com', 'eve', 'Ada@Example.com']\nFinance = []";
        let refused = read(text).unwrap_err().to_string();
        for words in [
            "people[1].address: must be one plain e-mail address",
            "people[2].address: ada@example.com is named twice",
            "groups: \"Finance\" is no name of a group: it must be 1 to 64 small letters, digits and hyphens",
            "groups.finance[1]: must be one plain e-mail address",
            "groups.finance[2]: ada@example.com is named twice",
        ] {
            assert!(refused.contains(words), "{words}: {refused}");
        }
        let refused = read(&people(9).replace("@example.com", "")).unwrap_err().to_string();
        assert!(refused.contains("people[4].address") && refused.ends_with("; and 4 more like these"), "{refused}");
    }
}
