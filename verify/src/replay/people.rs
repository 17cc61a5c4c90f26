//! The people and groups of the server's log, as they were when an answer was given.

use std::collections::HashMap;

use domain::people::answerer::Answerer;
use domain::people::event::{
    GROUP_CHANGED, GROUP_REMOVED, GroupChanged, GroupRemoved, PERSON_ADDED, PERSON_CHANGED, PERSON_REMOVED, PersonAdded,
    PersonChanged, PersonNamed,
};
use domain::people::principal::Role;
use serde::de::DeserializeOwned;

use super::course::Happened;
use super::keys::Envelope;
use super::span::{Moment, Span};
use crate::event::Facts;

/// The most bytes of people and groups that are kept. An event beyond them counts as one that cannot be read.
const PEOPLE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A person with one role.
#[derive(Debug)]
struct Listed {
    role: Role,
    /// The leaf of the event that listed the person. The person is in no group that was set before.
    since: u64,
    span: Span,
}

/// A group with its members.
#[derive(Debug)]
struct Members {
    addresses: Vec<String>,
    span: Span,
}

/// The people and groups of the server's log.
#[derive(Debug, Default)]
pub(super) struct People {
    listed: HashMap<String, Vec<Listed>>,
    groups: HashMap<String, Vec<Members>>,
    /// About how many bytes they take.
    bytes: usize,
    /// Whether an event about people or groups cannot be read.
    pub(super) has_gaps: bool,
}

impl People {
    /// Adds an event of the server's log.
    pub(super) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], leaf: u64) {
        let read = match facts.type_name() {
            Some(PERSON_ADDED) => payload::<PersonAdded>(bytes, leaf).map(|(added, moment)| {
                let listed = Listed { role: added.role, since: leaf, span: Span { from: Some(moment), until: None } };
                self.list(added.address, listed);
            }),
            Some(PERSON_CHANGED) => payload::<PersonChanged>(bytes, leaf).map(|(changed, moment)| {
                let before = self.unlist(&changed.address, moment);
                let since = before.unwrap_or_default();
                let listed = Listed { role: changed.role, since, span: Span { from: Some(moment), until: None } };
                self.list(changed.address, listed);
            }),
            Some(PERSON_REMOVED) => payload::<PersonNamed>(bytes, leaf).map(|(removed, moment)| {
                self.unlist(&removed.address, moment);
            }),
            Some(GROUP_CHANGED) => payload::<GroupChanged>(bytes, leaf).map(|(changed, moment)| {
                self.dissolve(&changed.group, moment);
                let members = Members { addresses: changed.members, span: Span { from: Some(moment), until: None } };
                self.bytes += members.addresses.iter().map(|address| address.len() + size_of::<String>()).sum::<usize>();
                self.bytes += changed.group.len() + size_of::<Members>();
                self.groups.entry(changed.group).or_default().push(members);
            }),
            Some(GROUP_REMOVED) => payload::<GroupRemoved>(bytes, leaf).map(|(removed, moment)| {
                self.dissolve(&removed.group, moment);
            }),
            Some(_) | None => return,
        };
        self.has_gaps |= read.is_none();
        if self.bytes > PEOPLE_BYTES_MAX {
            *self = Self { has_gaps: true, ..Self::default() };
        }
    }

    /// Adds an event of the server's log without payload.
    pub(super) fn erased(&mut self, facts: &Facts<'_>) {
        self.has_gaps |= facts.event_type.starts_with(b"\"person.") || facts.event_type.starts_with(b"\"group.");
    }

    fn list(&mut self, address: String, listed: Listed) {
        self.bytes += address.len() + size_of::<String>() + size_of::<Listed>();
        self.listed.entry(address).or_default().push(listed);
    }

    /// Ends the newest span of a person; gives the leaf of the event that listed the person.
    fn unlist(&mut self, address: &str, at: Moment) -> Option<u64> {
        let newest = self.listed.get_mut(address)?.last_mut()?;
        newest.span.until = newest.span.until.or(Some(at));
        Some(newest.since)
    }

    fn dissolve(&mut self, group: &str, at: Moment) {
        if let Some(newest) = self.groups.get_mut(group).and_then(|members| members.last_mut()) {
            newest.span.until = newest.span.until.or(Some(at));
        }
    }

    /// All that may be true of the person with this address when an event happened; nothing if no such person can have been listed.
    pub(super) fn answerers(&self, address: &str, event: &Happened) -> Vec<Answerer> {
        let listed = self.listed.get(address).into_iter().flatten().filter(|listed| listed.span.may_hold(event));
        let groups = |since: u64| {
            let has = |members: &Members| {
                let is_set_later = members.span.from.is_some_and(|from| from.leaf > since);
                is_set_later && members.span.may_hold(event) && members.addresses.iter().any(|member| member == address)
            };
            self.groups.iter().filter(move |(_, states)| states.iter().any(has)).map(|(name, _)| name.clone()).collect()
        };
        listed.map(|listed| Answerer { address: address.to_owned(), role: listed.role, groups: groups(listed.since) }).collect()
    }
}

/// The payload of an event, and its moment; `None` if it cannot be read.
fn payload<P: DeserializeOwned>(bytes: &[u8], leaf: u64) -> Option<(P, Moment)> {
    let Envelope { created_at, payload } = serde_json::from_slice(bytes).ok()?;
    Some((payload, Moment::read(&created_at, leaf)?))
}
