//! The people who have a place in a question that changes hands.

use crate::people::answerer::Answerer;
use crate::people::principal::Role;
use crate::suspension::assignees::Assignees;
use crate::suspension::hands::Hands;

impl Hands {
    /// The place in which this person may answer a question with these assignees: the person's own, or one that was handed to the person.
    /// `holders` are the listed ones among [`Hands::holders`].
    ///
    /// A place that the question gives to a person by name is that person's, and another one can have it as long as the first may answer.
    /// A place by a group or a role is only for people of the group or the role, and they have it of their own.
    pub fn place_of<'a>(&'a self, person: &'a Answerer, assignees: &Assignees, holders: &[Answerer]) -> Option<&'a str> {
        if self.has_left(&person.address) {
            return None;
        }
        if person.is_among(assignees) {
            return Some(&person.address);
        }
        let place = self.place_handed_to(&person.address)?;
        let holder = holders.iter().find(|holder| holder.address == place)?;
        let is_named = assignees.people.iter().any(|named| named == place);
        (is_named && holder.role != Role::Auditor && person.role != Role::Auditor).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suspension::assignees::AssignedRole;
    use crate::suspension::hands::Handed;

    fn person(name: &str, role: Role, groups: &[&str]) -> Answerer {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        Answerer { address: format!("{name}@x.example"), role, groups }
    }

    fn hands(handed: &[(&str, &str, &str)]) -> Hands {
        let address = |name: &str| format!("{name}@x.example");
        let handed =
            handed.iter().map(|(place, from, to)| Handed { place: address(place), from: address(from), to: address(to) });
        Hands { handed: handed.collect(), ..Hands::default() }
    }

    /// A place must be neither doubled nor outlive the right of the person whose place it was.
    #[test]
    fn a_place_by_name_is_one_persons_at_a_time_and_ends_with_its_holder() {
        let assignees = Assignees { people: vec!["ada@x.example".into()], ..Assignees::default() };
        let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(|name| person(name, Role::Operator, &[]));
        let chain = hands(&[("ada", "ada", "bob"), ("ada", "bob", "cleo")]);
        let holders = [ada.clone()];
        let of = |who: &Answerer, holders: &[Answerer]| chain.place_of(who, &assignees, holders).map(str::to_owned);
        assert_eq!([of(&ada, &holders), of(&bob, &holders)], [None, None]);
        assert_eq!(of(&cleo, &holders).as_deref(), Some("ada@x.example"));
        assert_eq!(of(&cleo, &[]), None, "ada has left");
        let auditor = Answerer { role: Role::Auditor, ..ada.clone() };
        assert_eq!(of(&cleo, &[auditor]), None, "ada answers no questions any more");
        assert_eq!(of(&Answerer { role: Role::Auditor, ..cleo.clone() }, &holders), None);
        let others = Assignees { people: vec!["dan@x.example".into()], ..Assignees::default() };
        assert_eq!(chain.place_of(&cleo, &others, &holders), None, "the place is another's");
    }

    /// A group decides who is in it, and not one of its members.
    #[test]
    fn a_place_by_a_group_or_a_role_stays_there() {
        let of_group = Assignees { groups: vec!["finance".into()], ..Assignees::default() };
        let of_role = Assignees { roles: vec![AssignedRole::Admin], ..Assignees::default() };
        let ada = person("ada", Role::Admin, &["finance"]);
        let handed = hands(&[("ada", "ada", "bob")]);
        let [stranger, member, admin] = [(Role::Operator, &[] as &[&str]), (Role::Operator, &["finance"]), (Role::Admin, &[])]
            .map(|(role, groups)| person("bob", role, groups));
        for assignees in [&of_group, &of_role] {
            assert_eq!(handed.place_of(&stranger, assignees, std::slice::from_ref(&ada)), None);
            assert_eq!(handed.place_of(&ada, assignees, std::slice::from_ref(&ada)), None);
        }
        assert_eq!(handed.place_of(&member, &of_group, &[]), Some("bob@x.example"));
        assert_eq!(handed.place_of(&admin, &of_role, &[]), Some("bob@x.example"));
    }
}
