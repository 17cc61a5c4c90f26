//! How the people of a question may have stood when one of them answered: listed or not, with which role and in which groups.

use domain::people::answerer::{Answerer, answers_for};
use domain::people::principal::{Principal, Role};
use domain::suspension::Suspension;
use domain::suspension::assignees::{AssignedRole, Assignees};
use serde_json::Value;

use super::course::{Course, Happened};

/// How the people of a question stood: the one who answers, and those whose answers count, in the order of these answers.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub(super) answerer: Option<Answerer>,
    counted: Vec<Option<Answerer>>,
}

/// What an event says about the people of its question.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim<'a> {
    /// Nothing, except that one of them took an answer back.
    TakenBack,
    /// So many have given this answer, and are not enough.
    Counted(u32, &'a Value),
    /// All those who agreed.
    Agreed(&'a [String]),
}

impl Course<'_> {
    /// All the ways in which the people of a question may have stood when an event happened. The flag is false if the log does not say it:
    /// then there is one, the one that fits what the event claims best. If that is refused, every other one would be refused as well.
    pub(super) fn standings(
        &self,
        open: &Suspension,
        by: &Principal,
        claimed: Option<&str>,
        claim: Claim<'_>,
        event: &Happened,
    ) -> (Vec<Standing>, bool) {
        let assignees = self.questions.get(&open.id).and_then(|question| question.assignees.as_ref());
        let Some(assignees) = assignees else { return (vec![Standing::default()], true) };
        let address = answers_for(by, claimed);
        let of_quorum = open.quorum.iter().flat_map(|quorum| quorum.required_by_group.keys());
        let groups: Vec<&str> = assignees.groups.iter().chain(of_quorum).map(String::as_str).collect();
        let counted = open.counted.iter().map(|counted| counted.person.as_str());
        let addresses: Vec<&str> = counted.chain(address.as_deref()).collect();
        let Some(states) = self.people.states(&addresses, &groups, event) else {
            return (vec![claim.standing(open, assignees, by, address.as_deref())], false);
        };
        let standing = |mut counted: Vec<Option<Answerer>>| {
            let answerer = address.as_ref().and_then(|_| counted.pop().flatten());
            Standing { answerer, counted }
        };
        (states.into_iter().map(standing).collect(), true)
    }

    /// The question, with the answers that count if its people stand like this.
    pub(super) fn with_standing(&self, open: &Suspension, standing: &Standing) -> Suspension {
        let mut open = open.clone();
        let assignees = self.questions.get(&open.id).and_then(|question| question.assignees.as_ref());
        let Some(assignees) = assignees else { return open };
        for (counted, person) in open.counted.iter_mut().zip(&standing.counted) {
            counted.may_answer = person.as_ref().is_some_and(|person| person.is_among(assignees));
            counted.groups = person.as_ref().map(|person| person.groups.clone()).unwrap_or_default();
        }
        open
    }
}

impl Claim<'_> {
    /// The standing that fits the claim best.
    fn standing(self, open: &Suspension, assignees: &Assignees, by: &Principal, address: Option<&str>) -> Standing {
        let listed = |address: &str| self.listed(open, assignees, address);
        let gateway = by.key_id().filter(|_| by.role == Role::Channel);
        let mut left = match self {
            Self::Counted(given, _) => given.saturating_sub(1),
            Self::TakenBack | Self::Agreed(_) => 0,
        };
        let counted = open.counted.iter().map(|counted| {
            let is_listed = match self {
                // The person may answer now, so the earlier answer of the same person counts.
                _ if address == Some(counted.person.as_str()) => true,
                Self::TakenBack => false,
                Self::Agreed(people) => people.contains(&counted.person),
                Self::Counted(_, value) => {
                    let agrees = counted.value == *value && (gateway.is_none() || counted.gateway != gateway);
                    let is_one = agrees && left > 0;
                    left -= u32::from(is_one);
                    is_one
                }
            };
            is_listed.then(|| listed(&counted.person))
        });
        Standing { counted: counted.collect(), answerer: address.map(listed) }
    }

    /// A person who may answer, if the question can be assigned to the person at all. Of those who agreed, each is in all groups; of those
    /// who were not enough, each is in as few as possible.
    fn listed(self, open: &Suspension, assignees: &Assignees, address: &str) -> Answerer {
        let has_operators = assignees.roles.is_empty() || assignees.roles.contains(&AssignedRole::Operator);
        let role = if has_operators { Role::Operator } else { Role::Admin };
        let required = || open.quorum.iter().flat_map(|quorum| quorum.required_by_group.keys());
        let mut person = Answerer { address: address.to_owned(), role, groups: Vec::new() };
        match self {
            Self::TakenBack | Self::Agreed(_) => person.groups = assignees.groups.iter().chain(required()).cloned().collect(),
            Self::Counted(..) if person.is_among(assignees) => {}
            Self::Counted(..) => {
                let is_free = |group: &&String| !required().any(|required| required == *group);
                let group = assignees.groups.iter().find(is_free).or(assignees.groups.first());
                person.groups.extend(group.cloned());
            }
        }
        person
    }
}
