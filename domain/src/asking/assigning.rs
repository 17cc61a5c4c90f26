//! Questions that are assigned to people: who they are, that no other person is asked, and how many of them must agree.

use std::collections::HashSet;
use std::hash::Hash;

use crate::asking::choice::refuses;
use crate::base::field::FieldError;
use crate::intent::command::Suspend;
use crate::people::answerer::Answerer;
use crate::people::group;
use crate::people::person::address_in;
use crate::suspension::NOTIFY_TO_MAX;
use crate::suspension::assignees::{ASSIGNEES_MAX, Assignees};
use crate::suspension::quorum::{QUORUM_GROUPS_MAX, QUORUM_MAX, Quorum};
use crate::suspension::retry::OneOrMany;
use crate::suspension::{Question, ResponseType, SuspensionChoice};
use crate::wire::QuorumRequest;

/// Reads the assignees of a request. Whether the people and groups exist is known to the store alone.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn assignees(given: Assignees) -> Result<Assignees, Vec<FieldError>> {
    let error = |field: &str, rule: &str, message: String| vec![FieldError::new(format!("assignees{field}"), rule, message)];
    if given.is_empty() {
        return Err(error("", "required", "must name a person, a group or a role".to_owned()));
    }
    for (field, count) in [(".people", given.people.len()), (".groups", given.groups.len())] {
        if count > ASSIGNEES_MAX {
            return Err(error(field, "count", format!("must have at most {ASSIGNEES_MAX} entries")));
        }
    }
    let (mut people, mut errors) = (Vec::with_capacity(given.people.len()), Vec::new());
    for (index, text) in given.people.iter().enumerate() {
        match address_in(format!("assignees.people[{index}]"), text) {
            Ok(address) => people.push(address),
            Err(error) => errors.push(error),
        }
    }
    for (index, name) in given.groups.iter().enumerate() {
        if group::read_name(name).is_err() {
            errors.extend(error(&format!(".groups[{index}]"), "format", "must be the name of a group".to_owned()));
        }
    }
    for (field, is_unique) in
        [(".people", are_distinct(&people)), (".groups", are_distinct(&given.groups)), (".roles", are_distinct(&given.roles))]
    {
        if !is_unique {
            errors.extend(error(field, "unique", "must name each one once".to_owned()));
        }
    }
    if errors.is_empty() { Ok(Assignees { people, ..given }) } else { Err(errors) }
}

/// Reads the quorum of a question. Whether enough people may answer is known to the store alone.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn quorum(
    given: QuorumRequest,
    response_type: ResponseType,
    choices: &[SuspensionChoice],
) -> Result<Quorum, Vec<FieldError>> {
    let QuorumRequest { required_approvals, required_refusals, required_by_group } = given;
    let refusing = refusing(choices);
    let mut errors = Vec::new();
    let mut error = |field: &str, rule: &str, message: String| {
        errors.push(FieldError::new(format!("quorum{field}"), rule, message));
    };
    if !matches!(response_type, ResponseType::Choice | ResponseType::Confirm) {
        error("", "unsupported", "must be absent: people agree on one of several choices, and this question has none".to_owned());
    }
    for (field, number) in [(".required_approvals", Some(required_approvals)), (".required_refusals", required_refusals)] {
        if number.is_some_and(|number| !(1..=QUORUM_MAX).contains(&number)) {
            error(field, "range", format!("must be 1 to {QUORUM_MAX}"));
        }
    }
    if required_refusals.is_some() && refusing.is_empty() {
        error(".required_refusals", "unsupported", "must be absent: no choice of the question means a no".to_owned());
    }
    let required_by_group = required_by_group.unwrap_or_default();
    if required_by_group.len() > QUORUM_GROUPS_MAX {
        error(".required_by_group", "count", format!("must have at most {QUORUM_GROUPS_MAX} groups"));
    }
    for (name, least) in required_by_group.iter().take(QUORUM_GROUPS_MAX) {
        if group::read_name(name).is_err() {
            error(".required_by_group", "format", "must have the names of groups".to_owned());
        } else if !(1..=required_approvals).contains(least) {
            error(&format!(".required_by_group.{name}"), "range", "must be 1 to required_approvals".to_owned());
        }
    }
    let required_refusals = required_refusals.unwrap_or(1);
    if errors.is_empty() {
        Ok(Quorum { required_approvals, required_refusals, required_by_group, refusing })
    } else {
        Err(errors)
    }
}

/// The values of the choices that mean a no.
pub fn refusing(choices: &[SuspensionChoice]) -> Vec<String> {
    choices.iter().filter(|choice| refuses(choice)).map(|choice| choice.value.clone()).collect()
}

fn are_distinct<T: Eq + Hash>(entries: &[T]) -> bool {
    entries.iter().collect::<HashSet<_>>().len() == entries.len()
}

impl Suspend {
    /// The question with the people who are asked, of whom each must be one of the people to whom it is `assigned`: those that the request names in
    /// `notify_to`, or else all the assigned. A step of the escalation ladder asks no other person either; its asker is warned.
    ///
    /// # Errors
    ///
    /// The field that names another person, that must say which of very many people are asked, or that demands more people than there
    /// are.
    pub fn asking(mut self, assigned: &[Answerer]) -> Result<Self, Vec<FieldError>> {
        if let Some(quorum) = &self.quorum {
            quorum.can_be_met_by(assigned)?;
        }
        let is_assigned = |person: &String| assigned.iter().any(|assigned| assigned.address.eq_ignore_ascii_case(person));
        if self.question.recipients.is_empty() {
            if assigned.len() > NOTIFY_TO_MAX {
                let count = assigned.len();
                let message =
                    format!("must say which people are told: {count} people may answer, and a question tells {NOTIFY_TO_MAX}");
                return Err(vec![FieldError::new("notify_to", "required", message)]);
            }
            self.question.recipients = assigned.iter().map(|person| person.address.clone()).collect();
        } else if let Some(other) = self.question.recipients.iter().find(|person| !is_assigned(person)) {
            let message = format!("names {other}, who is not among the assignees");
            return Err(vec![FieldError::new("notify_to", "assigned", message)]);
        }
        let wanted = self.question.clone();
        // The command holds the ladder twice: the schedule decides when, and the question who is asked.
        let ladders = [self.question.retry_policy.as_mut(), self.schedule.retry_policy.as_mut()];
        for rung in ladders.into_iter().flatten().flat_map(|policy| &mut policy.escalation_ladder) {
            if let Some(OneOrMany(people)) = &mut rung.notify_to {
                people.retain(is_assigned);
            }
        }
        self.warn_of_assignees(&wanted);
        Ok(self)
    }

    /// The question that asks none of the people who are its own: its asker is warned of each of them who is left out.
    ///
    /// # Errors
    ///
    /// The field that names only such people.
    pub fn without(mut self, is_own: impl Fn(&str) -> bool) -> Result<Self, Vec<FieldError>> {
        let had_any = !self.question.recipients.is_empty();
        let mut left_out = Vec::new();
        let mut leave_out = |people: &mut Vec<String>| {
            people.retain(|person| {
                let is_own = is_own(person);
                if is_own && !left_out.contains(person) {
                    left_out.push(person.clone());
                }
                !is_own
            });
        };
        leave_out(&mut self.question.recipients);
        let ladders = [self.question.retry_policy.as_mut(), self.schedule.retry_policy.as_mut()];
        for rung in ladders.into_iter().flatten().flat_map(|policy| &mut policy.escalation_ladder) {
            if let Some(OneOrMany(people)) = &mut rung.notify_to {
                leave_out(people);
            }
        }
        if had_any && self.question.recipients.is_empty() {
            let message = "names only people who own the key that asks, and who may not answer it on this server";
            return Err(vec![FieldError::new("notify_to", "separation", message)]);
        }
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            self.warnings.push(format!("{names} is not told: the owner of the key that asks may not answer it on this server"));
        }
        Ok(self)
    }

    /// Warns of each person that the question as it was `wanted` would have told, and of a quorum of more people than are told.
    pub fn warn_of_assignees(&mut self, wanted: &Question) {
        if self.question.assignees.is_none() {
            return;
        }
        let rungs =
            |question: &Question| question.retry_policy.clone().map(|policy| policy.escalation_ladder).unwrap_or_default();
        for (before, after) in rungs(wanted).into_iter().zip(rungs(&self.question)) {
            let (Some(OneOrMany(before)), Some(OneOrMany(told))) = (before.notify_to, after.notify_to) else { continue };
            let left_out: Vec<String> = before.into_iter().filter(|person| !told.contains(person)).collect();
            if !left_out.is_empty() {
                let (attempt, names) = (after.attempt, left_out.join(", "));
                self.warnings.push(format!(
                    "attempt {attempt} does not tell {names}: the question is assigned to other people, and only they may answer"
                ));
            }
        }
        let Some(quorum) = &self.quorum else { return };
        let attempts = self.question.retry_policy.as_ref().map_or(1, |policy| policy.max_attempts);
        let (told, needed) = (self.question.recipients_during(1..=attempts).len(), quorum.required_approvals);
        if told < needed as usize {
            self.warnings.push(format!(
                "{needed} people must agree, and {told} are told: others among the assignees can answer with a key alone"
            ));
        }
    }
}

impl Quorum {
    /// Refuses a quorum that these people cannot make together.
    ///
    /// # Errors
    ///
    /// The members of the quorum that demand more people.
    pub fn can_be_met_by(&self, people: &[Answerer]) -> Result<(), Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut demand = |field: String, needed: u32, there_are: usize, whose: &str| {
            if there_are < needed as usize {
                let people = if needed == 1 { "person" } else { "people" };
                let message = format!(
                    "demands {needed} {people}{whose}, and {there_are} may answer; the owner of the key that asks does not count"
                );
                errors.push(FieldError::new(field, "count", message));
            }
        };
        demand("quorum.required_approvals".to_owned(), self.required_approvals, people.len(), "");
        demand("quorum.required_refusals".to_owned(), self.required_refusals, people.len(), "");
        for (group, least) in &self.required_by_group {
            let members = people.iter().filter(|person| person.groups.contains(group)).count();
            let whose = format!(" of the group {group}");
            demand(format!("quorum.required_by_group.{group}"), *least, members, &whose);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn broken(given: Value) -> Vec<(String, String)> {
        let read = assignees(serde_json::from_value(given).unwrap());
        read.unwrap_err().into_iter().map(|error| (error.field, error.rule)).collect()
    }

    #[test]
    fn each_broken_rule_of_the_assignees_names_its_field() {
        let one = |field: &str, rule: &str| vec![(field.to_owned(), rule.to_owned())];
        assert_eq!(broken(json!({})), one("assignees", "required"));
        assert_eq!(broken(json!({"people": [], "groups": [], "roles": []})), one("assignees", "required"));
        assert_eq!(broken(json!({"people": ["ada"]})), one("assignees.people[0]", "format"));
        assert_eq!(broken(json!({"people": ["ada@example.com", "Ada@example.com"]})), one("assignees.people", "unique"));
        assert_eq!(broken(json!({"groups": ["finance", "Finance"]})), one("assignees.groups[1]", "format"));
        assert_eq!(broken(json!({"groups": ["finance", "finance"]})), one("assignees.groups", "unique"));
        assert_eq!(broken(json!({"roles": ["admin", "admin"]})), one("assignees.roles", "unique"));
    }

    #[test]
    fn so_many_people_and_groups_are_named_and_no_more() {
        let people = |count: usize| (0..count).map(|number| format!("p{number}@example.com")).collect::<Vec<_>>();
        let groups = |count: usize| (0..count).map(|number| format!("g{number}")).collect::<Vec<_>>();
        assert!(assignees(Assignees { people: people(ASSIGNEES_MAX), ..Assignees::default() }).is_ok());
        assert!(assignees(Assignees { groups: groups(ASSIGNEES_MAX), ..Assignees::default() }).is_ok());
        let count = |field: &str| vec![(field.to_owned(), "count".to_owned())];
        assert_eq!(broken(json!({"people": people(ASSIGNEES_MAX + 1)})), count("assignees.people"));
        assert_eq!(broken(json!({"groups": groups(ASSIGNEES_MAX + 1)})), count("assignees.groups"));
    }

    #[test]
    fn a_quorum_of_one_person_is_told_in_the_singular() {
        let required_by_group = [("finance".to_owned(), 2)].into();
        let quorum = Quorum { required_approvals: 1, required_refusals: 1, required_by_group, refusing: Vec::new() };
        let messages: Vec<String> = quorum.can_be_met_by(&[]).unwrap_err().into_iter().map(|error| error.message).collect();
        assert!(messages[0].starts_with("demands 1 person, and 0 may answer"), "{messages:?}");
        assert!(messages[2].starts_with("demands 2 people of the group finance, and 0 may answer"), "{messages:?}");
    }

    #[test]
    fn an_address_is_kept_in_small_letters() {
        let read = assignees(serde_json::from_value(json!({"people": [" Ada@Example.com"], "roles": ["admin"]})).unwrap());
        assert_eq!(serde_json::to_value(read.unwrap()).unwrap(), json!({"people": ["ada@example.com"], "roles": ["admin"]}));
    }
}
