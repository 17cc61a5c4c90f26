//! How many people must agree before a question is answered, and the answers that count so far.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{KeyId, PersonId};
use crate::suspension::action::is_same;

/// The most people who must agree, and the most who must refuse.
pub const QUORUM_MAX: u32 = 20;
/// The most groups that have a minimum of their own.
pub const QUORUM_GROUPS_MAX: usize = 20;

/// The quorum of a question. It is also stored in the event that asks the question, so its members never change their names or forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quorum {
    /// How many people must give the same answer.
    pub required_approvals: u32,
    /// How many people must refuse for the question to be answered with a refusal.
    pub required_refusals: u32,
    /// How many of those who give the same answer must be members of these groups, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub required_by_group: BTreeMap<String, u32>,
    /// The values that refuse. Every other value approves.
    pub refusing: Vec<String>,
}

/// An answer that counts towards a quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The address of the person.
    pub person: String,
    /// The id that the person had in the list when it was given; a store knows it.
    pub id: Option<PersonId>,
    /// The answer.
    pub value: Value,
    /// The action about which it decides; absent if the question proposes none.
    pub action: Option<Map<String, Value>>,
    /// When it was given.
    pub at: DateTime<Utc>,
    /// The key of the gateway through which it was given, if it came through one.
    pub gateway: Option<KeyId>,
    /// The groups that the person is in now; a store reads them when another answer comes.
    pub groups: Vec<String>,
    /// Whether the person may still answer now. Otherwise the answer does not count at present.
    pub may_answer: bool,
    /// The person in whose place it was given, if it was handed to this one; a store reads it when another answer comes.
    pub in_place_of: Option<String>,
}

/// How far the answer that came last is from its quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Tally {
    /// How many people have given this answer.
    pub given: u32,
    /// How many must give it. It is more than the quorum says if too few of those who have given it are in a group that the quorum names.
    pub needed: u32,
}

impl Counted {
    /// The person whose place the answer takes.
    pub fn place(&self) -> &str {
        self.in_place_of.as_ref().unwrap_or(&self.person)
    }

    /// Whether it decides about this action.
    pub fn is_about(&self, action: Option<&Map<String, Value>>) -> bool {
        match (&self.action, action) {
            (Some(one), Some(other)) => is_same(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Quorum {
    /// Whether a value refuses.
    pub fn is_refused_by(&self, value: &Value) -> bool {
        value.as_str().is_some_and(|value| self.refusing.iter().any(|refusing| refusing == value))
    }

    /// How far people with these groups, who have given the same answer `value`, are from the quorum. A refusal needs no member of any
    /// group. One more person can be the one that several groups lack.
    pub fn tally(&self, value: &Value, groups: &[&[String]]) -> Tally {
        let given = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        if self.is_refused_by(value) {
            return Tally { given, needed: self.required_refusals };
        }
        let members = |group: &String| groups.iter().filter(|groups| groups.contains(group)).count();
        let lacking = |(group, least): (&String, &u32)| least.saturating_sub(u32::try_from(members(group)).unwrap_or(u32::MAX));
        let lacking = self.required_by_group.iter().map(lacking).max().unwrap_or(0);
        let with_them = if lacking == 0 { 0 } else { given.saturating_add(lacking) };
        Tally { given, needed: self.required_approvals.max(with_them) }
    }

    /// Whether a counted answer counts beside one with this value about this action: it has the same value and is about the same action,
    /// or it refuses, and then it refuses every action.
    pub fn is_alike(&self, counted: &Counted, value: &Value, action: Option<&Map<String, Value>>) -> bool {
        counted.value == *value && (self.is_refused_by(value) || counted.is_about(action))
    }

    /// How far the people who have given `value` about this action are from the quorum at this moment: only the answers count that would
    /// count beside the next one.
    pub fn so_far(&self, counted: &[Counted], value: &Value, action: Option<&Map<String, Value>>) -> Tally {
        let alike = counted.iter().filter(|counted| counted.may_answer && self.is_alike(counted, value, action));
        let groups: Vec<&[String]> =
            each_gateway_once(alike, None).into_iter().map(|counted| counted.groups.as_slice()).collect();
        self.tally(value, &groups)
    }

    /// How far the approval that most people have given is from the quorum at this moment. `action` is the action as it stands.
    pub fn furthest(&self, counted: &[Counted], action: Option<&Map<String, Value>>) -> Tally {
        let approving = counted.iter().map(|counted| &counted.value).filter(|value| !self.is_refused_by(value));
        let tallies = approving.map(|value| self.so_far(counted, value, action));
        tallies.max_by_key(|tally| tally.given).unwrap_or_else(|| self.tally(&Value::Null, &[]))
    }

    /// Whether people with these groups, who have given the same answer `value`, are enough.
    pub fn is_met_by(&self, value: &Value, groups: &[&[String]]) -> bool {
        let Tally { given, needed } = self.tally(value, groups);
        given >= needed
    }
}

/// These answers, and of each gateway the first alone. None through `gateway`, which brings the answer that comes now: a person whose
/// earlier answer came through it may have lost the right to answer, and have it again.
pub fn each_gateway_once<'a>(answers: impl Iterator<Item = &'a Counted>, gateway: Option<KeyId>) -> Vec<&'a Counted> {
    let mut seen: Vec<KeyId> = gateway.into_iter().collect();
    answers
        .filter(|counted| {
            let is_first = counted.gateway.is_none_or(|gateway| !seen.contains(&gateway));
            seen.extend(counted.gateway.filter(|_| is_first));
            is_first
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_met(quorum: &Quorum, value: &str, people: &[&[&str]]) -> bool {
        let groups: Vec<Vec<String>> =
            people.iter().map(|groups| groups.iter().map(|group| (*group).to_owned()).collect()).collect();
        quorum.is_met_by(&json!(value), &groups.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn a_quorum_needs_so_many_people_and_so_many_of_each_group() {
        let quorum = Quorum {
            required_approvals: 2,
            required_refusals: 1,
            required_by_group: BTreeMap::from([("finance".to_owned(), 1)]),
            refusing: vec!["deny".to_owned()],
        };
        assert!(is_met(&quorum, "approve", &[&["finance"], &[]]) && is_met(&quorum, "approve", &[&[], &["legal", "finance"]]));
        assert!(!is_met(&quorum, "approve", &[&["finance"]]), "one person is not two");
        assert!(!is_met(&quorum, "approve", &[&["legal"], &[]]), "no one of finance");
        assert!(is_met(&quorum, "deny", &[&[]]) && !is_met(&quorum, "deny", &[]), "a refusal needs no group");
        let slow = Quorum { required_refusals: 2, ..quorum };
        assert!(!is_met(&slow, "deny", &[&[]]) && is_met(&slow, "deny", &[&[], &[]]));
        assert_eq!(slow.tally(&json!("deny"), &[&[]]), Tally { given: 1, needed: 2 });
        let none: &[String] = &[];
        assert_eq!(slow.tally(&json!("approve"), &[none]), Tally { given: 1, needed: 2 });
        assert_eq!(
            slow.tally(&json!("approve"), &[none, none]),
            Tally { given: 2, needed: 3 },
            "a member of finance must follow"
        );
        let finance = ["finance".to_owned()];
        assert_eq!(slow.tally(&json!("approve"), &[none, none, &finance]), Tally { given: 3, needed: 2 });
    }

    /// A gateway's people are known by its word alone, so two of them are one place; people with links or keys of their own are two.
    #[test]
    fn of_each_gateway_one_person_counts() {
        let [one, other] = [1, 2].map(|number| Some(KeyId(uuid::Uuid::from_u128(number))));
        let counted = |person: &str, gateway| Counted {
            person: person.to_owned(),
            id: None,
            value: json!("approve"),
            action: None,
            at: DateTime::UNIX_EPOCH,
            gateway,
            groups: Vec::new(),
            may_answer: true,
            in_place_of: None,
        };
        let answers = [("ada", one), ("bob", one), ("cleo", other), ("dan", None), ("eve", None)];
        let answers = answers.map(|(person, gateway)| counted(person, gateway));
        let of =
            |gateway| each_gateway_once(answers.iter(), gateway).into_iter().map(|counted| &*counted.person).collect::<Vec<_>>();
        assert_eq!(of(None), ["ada", "cleo", "dan", "eve"]);
        assert_eq!(of(one), ["cleo", "dan", "eve"], "the answer that comes now takes the place of its gateway");
    }
}
