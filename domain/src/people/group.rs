//! Groups of listed people.

use std::collections::BTreeSet;

use crate::base::field::FieldError;
use crate::people::person::address_in;
use crate::problem::Rejection;
use crate::suspension::channel::is_channel_name;

/// The most groups that there are at a time: a list shows all of them.
pub const GROUPS_MAX: u32 = 200;
/// The most members of a group.
pub const GROUP_MEMBERS_MAX: usize = 200;
/// The rule for the name of a group.
pub(super) const NAME_RULE: &str = "must be 1 to 64 small letters, digits and hyphens";

/// A group of listed people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// The addresses of the members.
    pub members: Vec<String>,
    /// Whether the configuration file names it, so that it is changed only there.
    pub managed: bool,
}

/// Reads the name of a group. Groups are named as channels are.
///
/// # Errors
///
/// The text is no name of a group.
pub fn read_name(text: &str) -> Result<String, Rejection> {
    if is_channel_name(text) {
        return Ok(text.to_owned());
    }
    Err(Rejection::invalid("group", "format", NAME_RULE))
}

/// Reads a group as it is to be.
///
/// # Errors
///
/// The text is no name of a group; there is no member, or there are too many of them; a member is no plain address, or is named twice.
pub fn read_group(name: &str, members: &[String]) -> Result<Group, Rejection> {
    let name = read_name(name)?;
    let members = members_in("members", members).map_err(|errors| Rejection::Invalid { errors })?;
    Ok(Group { name, members, managed: false })
}

/// Reads the addresses of the members of a group in the list `field`.
pub(super) fn members_in(field: &str, members: &[String]) -> Result<Vec<String>, Vec<FieldError>> {
    if members.is_empty() || members.len() > GROUP_MEMBERS_MAX {
        return Err(vec![FieldError::new(field, "count", format!("must be 1 to {GROUP_MEMBERS_MAX} addresses"))]);
    }
    let (mut read, mut seen, mut errors) = (Vec::with_capacity(members.len()), BTreeSet::new(), Vec::new());
    for (index, text) in members.iter().enumerate() {
        let field = format!("{field}[{index}]");
        match address_in(&field, text) {
            Err(error) => errors.push(error),
            Ok(address) if !seen.insert(address.clone()) => {
                errors.push(FieldError::new(field, "unique", format!("{address} is named twice")));
            }
            Ok(address) => read.push(address),
        }
    }
    if errors.is_empty() { Ok(read) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suspension::channel::CHANNEL_NAME_MAX;

    /// The fields and rules that a group breaks.
    fn broken(name: &str, members: &[&str]) -> Vec<(String, String)> {
        let members: Vec<String> = members.iter().map(|member| (*member).to_owned()).collect();
        match read_group(name, &members) {
            Err(Rejection::Invalid { errors }) => errors.into_iter().map(|error| (error.field, error.rule)).collect(),
            read => panic!("{read:?}"),
        }
    }

    #[test]
    fn a_name_is_short_and_of_small_letters() {
        let long = "x".repeat(CHANNEL_NAME_MAX + 1);
        assert!(NAME_RULE.contains(&format!("1 to {CHANNEL_NAME_MAX} ")));
        for name in ["finance", "on-call-2", &long[1..]] {
            assert_eq!(read_name(name).as_deref(), Ok(name));
        }
        for wrong in ["", "Finance", "on call", "on_call", "büro", "a/b", &long] {
            assert_eq!(broken(wrong, &["ada@example.com"]), [("group".into(), "format".into())], "{wrong}");
        }
    }

    #[test]
    fn each_member_is_an_address_that_is_named_once() {
        let members = ["Ada@Example.com", "bob@example.com"].map(str::to_owned);
        let read = read_group("finance", &members).unwrap();
        assert_eq!((read.name.as_str(), read.members), ("finance", vec!["ada@example.com".into(), "bob@example.com".into()]));
        let wrong = broken("finance", &["ada", "ada@example.com", "bob@example.com", "ADA@example.com"]);
        assert_eq!(wrong, [("members[0]".into(), "format".into()), ("members[3]".into(), "unique".into())]);
    }

    #[test]
    fn a_group_has_members_and_not_too_many() {
        let addresses: Vec<String> = (0..=GROUP_MEMBERS_MAX).map(|number| format!("a{number}@example.com")).collect();
        assert!(read_group("finance", &addresses[1..]).is_ok());
        let all: Vec<&str> = addresses.iter().map(String::as_str).collect();
        for wrong in [&[][..], &all] {
            assert_eq!(broken("finance", wrong), [("members".into(), "count".into())]);
        }
    }
}
