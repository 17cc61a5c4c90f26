//! The person for whom a caller answers a question.

use crate::people::principal::{Principal, Role};
use crate::suspension::assignees::{AssignedRole, Assignees};
use crate::suspension::place::Place;

/// A listed person, as far as the right to answer depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answerer {
    /// The person's address, in small letters.
    pub address: String,
    /// The person's role.
    pub role: Role,
    /// The groups that the person is in.
    pub groups: Vec<String>,
}

impl Answerer {
    /// Whether a question with these assignees is assigned to the person. An auditor reads, and answers nothing.
    pub fn is_among(&self, assignees: &Assignees) -> bool {
        let has = |assigned: &AssignedRole| match assigned {
            AssignedRole::Operator => self.role == Role::Operator,
            AssignedRole::Admin => self.role == Role::Admin,
        };
        self.role != Role::Auditor
            && (assignees.people.contains(&self.address)
                || assignees.groups.iter().any(|group| self.groups.contains(group))
                || assignees.roles.iter().any(has))
    }

    /// The places at which questions wait for the person. An auditor reads, and no question waits for an auditor.
    pub fn places(&self) -> Vec<Place> {
        let role = match self.role {
            Role::Operator => Some(AssignedRole::Operator),
            Role::Admin => Some(AssignedRole::Admin),
            Role::Auditor => return Vec::new(),
            Role::Agent | Role::Channel | Role::Verifier => None,
        };
        let groups = self.groups.iter().cloned().map(Place::Group);
        [Place::Person(self.address.clone())].into_iter().chain(groups).chain(role.map(Place::Role)).collect()
    }
}

/// The address under which the directory may know the person for whom `principal` answers, in small letters. For a gateway that is tied
/// to channels it is the person `claimed`, to whom a message was handed; `None` for every other gateway, because it could name any
/// person, and for agents.
pub fn answers_for(principal: &Principal, claimed: Option<&str>) -> Option<String> {
    let name = match principal.role {
        Role::Agent => None,
        Role::Channel => claimed.filter(|_| principal.tied_to.is_some()),
        Role::Operator | Role::Admin | Role::Auditor | Role::Verifier => Some(principal.subject.as_str()),
    };
    name.map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::name::Owner;

    fn ada(role: Role, groups: &[&str]) -> Answerer {
        Answerer { address: "ada@example.com".into(), role, groups: groups.iter().map(|group| (*group).to_owned()).collect() }
    }

    #[test]
    fn a_question_is_assigned_by_name_by_group_and_by_role() {
        let assigned = |people: &[&str], groups: &[&str], roles: &[AssignedRole]| Assignees {
            people: people.iter().map(|person| (*person).to_owned()).collect(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            roles: roles.to_vec(),
        };
        let operator = ada(Role::Operator, &["finance", "on-call"]);
        assert!(operator.is_among(&assigned(&["bob@example.com", "ada@example.com"], &[], &[])));
        assert!(operator.is_among(&assigned(&["bob@example.com"], &["on-call"], &[])));
        assert!(operator.is_among(&assigned(&[], &[], &[AssignedRole::Operator])));
        for others in [
            assigned(&["bob@example.com"], &["legal"], &[AssignedRole::Admin]),
            assigned(&["Ada@example.com"], &["Finance", "finance2"], &[]),
            Assignees::default(),
        ] {
            assert!(!operator.is_among(&others), "{others:?}");
        }
        let auditor = ada(Role::Auditor, &["finance"]);
        let all = assigned(&["ada@example.com"], &["finance"], &[AssignedRole::Operator, AssignedRole::Admin]);
        assert!(!auditor.is_among(&all) && ada(Role::Admin, &[]).is_among(&all));
    }

    /// The list of a person's questions and the right to answer them must not drift apart.
    #[test]
    fn a_question_waits_at_a_persons_places_if_the_person_may_answer_it() {
        let of = |person: &Answerer| person.places().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of(&ada(Role::Operator, &["finance"])), ["person:ada@example.com", "group:finance", "role:operator"]);
        assert_eq!(of(&ada(Role::Admin, &[])), ["person:ada@example.com", "role:admin"]);
        assert!(of(&ada(Role::Auditor, &["finance"])).is_empty());
        let (mut question, people) = (crate::suspension::Question::erased(), ["ada@example.com", "bob@example.com"]);
        for bits in 1..16_u32 {
            let has = |bit: u32| bits & (1 << bit) != 0;
            let assignees = Assignees {
                people: people.iter().filter(|_| has(0)).take(1).map(|person| (*person).to_owned()).collect(),
                groups: ["finance"].iter().filter(|_| has(1)).map(|group| (*group).to_owned()).collect(),
                roles: [AssignedRole::Operator, AssignedRole::Admin]
                    .into_iter()
                    .zip(2..)
                    .filter(|(_, bit)| has(*bit))
                    .map(|(role, _)| role)
                    .collect(),
            };
            question.assignees = Some(assignees.clone());
            for person in [ada(Role::Operator, &["finance"]), ada(Role::Admin, &["legal"]), ada(Role::Auditor, &["finance"])] {
                let stands = question.places(&[]).iter().any(|place| person.places().contains(place));
                assert_eq!(stands, person.is_among(&assignees), "{person:?} {assignees:?}");
            }
        }
    }

    /// A gateway that is not tied to channels could answer in the name of every person.
    #[test]
    fn a_caller_answers_for_the_person_of_its_credential() {
        let key = |role, tied: Option<&str>| Principal {
            role,
            subject: "Ada@Example.com".into(),
            tied_to: tied.map(|name| vec![name.into()]),
            ..Principal::agent("a-key", Owner("ops".into()))
        };
        let of = |principal: &Principal| answers_for(principal, Some("Bob@example.com"));
        assert_eq!(of(&key(Role::Operator, None)).as_deref(), Some("ada@example.com"));
        assert_eq!(of(&key(Role::Channel, Some("pager"))).as_deref(), Some("bob@example.com"));
        assert_eq!(of(&Principal::link_holder("Cleo@example.com", None)).as_deref(), Some("cleo@example.com"));
        assert_eq!([of(&key(Role::Channel, None)), of(&key(Role::Agent, None))], [None, None]);
        assert_eq!(answers_for(&key(Role::Channel, Some("pager")), None), None);
    }
}
