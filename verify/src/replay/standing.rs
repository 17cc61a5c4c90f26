//! How the people of a question may have stood when one of them answered: listed or not, with which role and in which groups.

use domain::people::answerer::{Answerer, answers_for};
use domain::people::principal::{Principal, Role};
use domain::suspension::Suspension;
use domain::suspension::assignees::{AssignedRole, Assignees};
use serde_json::Value;

use super::course::{Course, Happened};
use super::people::Listed;

/// How the people of a question stood: the one who answers, and those whose answers count, in the order of these answers.
#[derive(Debug, Default)]
pub(super) struct Standing {
    pub(super) answerer: Option<Answerer>,
    counted: Vec<Option<Answerer>>,
    /// The listed people among those whose places were handed on.
    pub(super) holders: Vec<Answerer>,
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
        let (counted, holders) = (open.counted.iter().map(|counted| counted.person.as_str()), open.hands.holders());
        let addresses: Vec<&str> = counted.chain(holders.iter().map(String::as_str)).chain(address.as_deref()).collect();
        let Some(states) = self.people.states(&addresses, &groups, event) else {
            return (vec![claim.standing(open, assignees, by, address.as_deref())], false);
        };
        let standing = |mut counted: Vec<Option<Answerer>>| {
            let answerer = address.as_ref().and_then(|_| counted.pop().flatten());
            let holders = counted.split_off(open.counted.len()).into_iter().flatten().collect();
            Standing { answerer, counted, holders }
        };
        let standings = states.into_iter().map(standing);
        (standings.flat_map(|standing| self.with_newcomers(open, &standing, event)).collect(), true)
    }

    /// The standing without those who were listed after they had answered: each of them is another person with the same address. Where the
    /// log does not say which came first, both may be so.
    fn with_newcomers(&self, open: &Suspension, standing: &Standing, event: &Happened) -> Vec<Standing> {
        let listed = open.counted.iter().map(|counted| self.people.was_listed(&counted.person, counted.at, event));
        let listed: Vec<Listed> = listed.collect();
        let without = |standing: &Standing, is_out: fn(Listed) -> bool| {
            let counted = standing.counted.iter().zip(&listed);
            let counted = counted.map(|(person, listed)| person.clone().filter(|_| !is_out(*listed))).collect();
            Standing { counted, answerer: standing.answerer.clone(), holders: standing.holders.clone() }
        };
        let least = without(standing, |listed| listed != Listed::Before);
        let most = without(standing, |listed| listed == Listed::After);
        if least.counted == most.counted { vec![most] } else { vec![most, least] }
    }

    /// The person in whose place the one who answers does so, if people stand like this.
    pub(super) fn in_place_of(&self, open: &Suspension, standing: &Standing) -> Option<String> {
        let assignees = self.questions.get(&open.id)?.assignees.as_ref()?;
        let person = standing.answerer.as_ref()?;
        let place = open.hands.place_of(person, assignees, &standing.holders)?;
        (place != person.address).then(|| place.to_owned())
    }

    /// The question, with the answers that count if its people stand like this.
    pub(super) fn with_standing(&self, open: &Suspension, standing: &Standing) -> Suspension {
        let mut open = open.clone();
        let assignees = self.questions.get(&open.id).and_then(|question| question.assignees.as_ref());
        let Some(assignees) = assignees else { return open };
        let hands = open.hands.clone();
        for (counted, person) in open.counted.iter_mut().zip(&standing.counted) {
            let place = person.as_ref().and_then(|person| hands.place_of(person, assignees, &standing.holders));
            counted.may_answer = place.is_some();
            counted.in_place_of = place.filter(|place| *place != counted.person).map(str::to_owned);
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
        let holders = open.hands.holders().iter().map(|holder| listed(holder)).collect();
        Standing { counted: counted.collect(), answerer: address.map(listed), holders }
    }

    /// A person who may answer, if the question can be assigned to the person at all. Of those who agreed, each is in all groups; of those
    /// who were not enough, each is in as few as possible.
    pub(super) fn listed(self, open: &Suspension, assignees: &Assignees, address: &str) -> Answerer {
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
