//! The places of an open question in the inboxes of people: at a person, at a group, or at all people of a role.

use std::fmt;

use crate::suspension::Question;
use crate::suspension::assignees::AssignedRole;

/// A place of an open question. Its text is stored, so the forms never change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// At the person with this address, in small letters.
    Person(String),
    /// At the members of this group, as they are when a member looks.
    Group(String),
    /// At the listed people with this role, as they are when one of them looks.
    Role(AssignedRole),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(address) => write!(f, "person:{address}"),
            Self::Group(name) => write!(f, "group:{name}"),
            Self::Role(AssignedRole::Operator) => f.write_str("role:operator"),
            Self::Role(AssignedRole::Admin) => f.write_str("role:admin"),
        }
    }
}

impl Question {
    /// Where the question stands when these people are told. A question that is assigned stands at its assignees alone: a person who was
    /// told as a member of a group, and leaves the group, may not answer any more.
    pub fn places(&self, told: &[String]) -> Vec<Place> {
        let Some(assignees) = &self.assignees else {
            return told.iter().map(|person| Place::Person(person.to_lowercase())).collect();
        };
        let people = assignees.people.iter().cloned().map(Place::Person);
        let groups = assignees.groups.iter().cloned().map(Place::Group);
        people.chain(groups).chain(assignees.roles.iter().copied().map(Place::Role)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suspension::assignees::Assignees;

    fn texts(question: &Question) -> Vec<String> {
        question.places(&["Ada@Example.com".to_owned()]).iter().map(Place::to_string).collect()
    }

    #[test]
    fn a_question_stands_at_its_assignees_or_else_at_those_who_are_told() {
        let mut question = Question::erased();
        assert_eq!(texts(&question), ["person:ada@example.com"]);
        question.assignees = Some(Assignees {
            people: vec!["bob@example.com".into()],
            groups: vec!["finance".into()],
            roles: vec![AssignedRole::Operator, AssignedRole::Admin],
        });
        assert_eq!(texts(&question), ["person:bob@example.com", "group:finance", "role:operator", "role:admin"]);
    }
}
