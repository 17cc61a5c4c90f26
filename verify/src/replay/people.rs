//! The people and groups of the server's log, as they may have been when an answer was given.
//!
//! Each change has its place in the server's log. The clocks of two servers differ, so it is not sure how many of the changes came before an
//! answer. But a later change never counts without the earlier ones: the possible states are those after some number of changes.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use domain::people::answerer::Answerer;
use domain::people::event::{
    GROUP_CHANGED, GROUP_REMOVED, GroupChanged, GroupRemoved, PERSON_ADDED, PERSON_AWAY, PERSON_BACK, PERSON_CHANGED,
    PERSON_REMOVED, PersonAdded, PersonAway, PersonChanged, PersonNamed,
};
use domain::people::principal::Role;
use serde::de::DeserializeOwned;

use super::course::Happened;
use super::keys::Envelope;
use super::span::{Moment, SLACK_SECONDS};
use crate::event::Facts;

/// The most bytes of people and groups that are kept. An event beyond them counts as one that cannot be read.
const PEOPLE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// In how many states an answer is tried. An honest log has more only if people or groups changed very often at the time of the answer.
const STATES_MAX: usize = 100;

/// The changes between which something was so, by their numbers.
#[derive(Clone, Copy, Debug)]
struct Between {
    from: usize,
    until: Option<usize>,
}

/// Whether a person was listed when something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// The listing of the address is older.
    Before,
    /// The log does not say it: the times are too near to each other.
    Unsure,
    /// The listing of the address is younger.
    After,
}

/// A person with one role.
#[derive(Debug)]
struct Listing {
    role: Role,
    /// The number of the change that listed the person. The person is in no group that was set before.
    since: usize,
    between: Between,
}

/// A group with its members.
#[derive(Debug)]
struct Members {
    addresses: Vec<String>,
    between: Between,
}

/// A time for which a person was out of office, as far as nothing else was said.
#[derive(Debug)]
struct Away {
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    deputy: String,
    between: Between,
}

/// The people and groups of the server's log.
#[derive(Debug, Default)]
pub(super) struct People {
    /// The changes, in the order of the log.
    changes: Vec<Moment>,
    listed: HashMap<String, Vec<Listing>>,
    groups: HashMap<String, Vec<Members>>,
    /// The absences of people, by their addresses.
    away: HashMap<String, Vec<Away>>,
    /// About how many bytes they take.
    bytes: usize,
    /// Whether an event about people or groups cannot be read.
    has_gaps: bool,
}

impl People {
    /// Adds an event of the server's log.
    pub(super) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], leaf: u64) {
        let number = self.changes.len();
        let between = Between { from: number, until: None };
        let read = match facts.type_name() {
            Some(PERSON_ADDED) => payload::<PersonAdded>(bytes, leaf).map(|(added, moment)| {
                self.list(added.address, Listing { role: added.role, since: number, between });
                moment
            }),
            Some(PERSON_CHANGED) => payload::<PersonChanged>(bytes, leaf).map(|(changed, moment)| {
                let since = self.unlist(&changed.address, number).unwrap_or_default();
                self.list(changed.address, Listing { role: changed.role, since, between });
                moment
            }),
            Some(PERSON_REMOVED) => payload::<PersonNamed>(bytes, leaf).map(|(removed, moment)| {
                self.unlist(&removed.address, number);
                self.come_back(&removed.address, number);
                moment
            }),
            Some(PERSON_AWAY) => payload::<PersonAway>(bytes, leaf).map(|(away, moment)| {
                self.come_back(&away.address, number);
                let PersonAway { from, until, deputy, .. } = away;
                self.bytes += away.address.len() + deputy.len() + size_of::<Away>();
                self.away.entry(away.address).or_default().push(Away { from, until, deputy, between });
                moment
            }),
            Some(PERSON_BACK) => payload::<PersonNamed>(bytes, leaf).map(|(back, moment)| {
                self.come_back(&back.address, number);
                moment
            }),
            Some(GROUP_CHANGED) => payload::<GroupChanged>(bytes, leaf).map(|(changed, moment)| {
                self.dissolve(&changed.group, number);
                let members = Members { addresses: changed.members, between };
                self.bytes += members.addresses.iter().map(|address| address.len() + size_of::<String>()).sum::<usize>();
                self.bytes += changed.group.len() + size_of::<Members>();
                self.groups.entry(changed.group).or_default().push(members);
                moment
            }),
            Some(GROUP_REMOVED) => payload::<GroupRemoved>(bytes, leaf).map(|(removed, moment)| {
                self.dissolve(&removed.group, number);
                moment
            }),
            Some(_) | None => return,
        };
        match read {
            Some(moment) => self.change(moment),
            None => self.has_gaps = true,
        }
        if self.bytes > PEOPLE_BYTES_MAX {
            *self = Self { has_gaps: true, ..Self::default() };
        }
    }

    /// Adds an event of the server's log without payload.
    pub(super) fn erased(&mut self, facts: &Facts<'_>) {
        self.has_gaps |= facts.event_type.starts_with(b"\"person.") || facts.event_type.starts_with(b"\"group.");
    }

    /// Adds the moment of a change. The times of a log do not go back; in a forged one they are taken as if they did not.
    fn change(&mut self, moment: Moment) {
        let at = self.changes.last().map_or(moment.at, |last| last.at.max(moment.at));
        self.bytes += size_of::<Moment>();
        self.changes.push(Moment { at, ..moment });
    }

    fn list(&mut self, address: String, listed: Listing) {
        self.bytes += address.len() + size_of::<String>() + size_of::<Listing>();
        self.listed.entry(address).or_default().push(listed);
    }

    /// Ends the newest listing of a person; gives the number of the change that listed the person.
    fn unlist(&mut self, address: &str, number: usize) -> Option<usize> {
        let newest = self.listed.get_mut(address)?.last_mut()?;
        newest.between.until = newest.between.until.or(Some(number));
        Some(newest.since)
    }

    /// Ends the newest absence of a person.
    fn come_back(&mut self, address: &str, number: usize) {
        if let Some(newest) = self.away.get_mut(address).and_then(|away| away.last_mut()) {
            newest.between.until = newest.between.until.or(Some(number));
        }
    }

    /// Whether this person may have been out of office at an event, with this deputy. `None` if the export does not say it.
    pub(super) fn was_away(&self, address: &str, deputy: &str, event: &Happened) -> Option<bool> {
        let slack = TimeDelta::seconds(SLACK_SECONDS);
        let may_hold = |away: &Away| {
            let began = self.changes.get(away.between.from).is_some_and(|change| !change.is_after(event));
            let ended =
                away.between.until.and_then(|until| self.changes.get(until)).is_some_and(|change| change.is_before(event));
            let in_time = away.from - slack <= event.at && event.at < away.until + slack;
            away.deputy == deputy && began && !ended && in_time
        };
        let found = self.away.get(address).is_some_and(|away| away.iter().any(may_hold));
        if found || !self.has_gaps { Some(found) } else { None }
    }

    /// Whether this person was out of office at an event for certain: the times of two servers' clocks are taken to differ. `None` if the
    /// export does not say it.
    pub(super) fn was_absent(&self, address: &str, event: &Happened) -> Option<bool> {
        let slack = TimeDelta::seconds(SLACK_SECONDS);
        let must_hold = |away: &Away| {
            let had_begun = self.changes.get(away.between.from).is_some_and(|change| change.is_before(event));
            let later = |until: usize| self.changes.get(until).is_some_and(|change| change.is_after(event));
            let in_time = away.from + slack <= event.at && event.at + slack < away.until;
            had_begun && away.between.until.is_none_or(later) && in_time && event.is_exact
        };
        if self.has_gaps {
            return None;
        }
        Some(self.away.get(address).is_some_and(|away| away.iter().any(must_hold)))
    }

    fn dissolve(&mut self, group: &str, number: usize) {
        if let Some(newest) = self.groups.get_mut(group).and_then(|members| members.last_mut()) {
            newest.between.until = newest.between.until.or(Some(number));
        }
    }

    /// The states in which these people may have been when an event happened, each with the people in the same order, and with those of
    /// their groups that are named. `None` if the export does not say it, or if there are too many.
    pub(super) fn states(&self, addresses: &[&str], groups: &[&str], event: &Happened) -> Option<Vec<Vec<Option<Answerer>>>> {
        if self.has_gaps {
            return None;
        }
        let least = self.changes.partition_point(|change| change.is_before(event));
        let most = self.changes.partition_point(|change| !change.is_after(event));
        let listings = addresses.iter().filter_map(|address| self.listed.get(*address)).flatten().map(|listed| listed.between);
        let settings = groups.iter().filter_map(|group| self.groups.get(*group)).flatten().map(|members| members.between);
        let numbers = listings.chain(settings).flat_map(|between| [Some(between.from), between.until]).flatten();
        let unsure = numbers.filter(|number| (least..most).contains(number));
        let counts: BTreeSet<usize> = unsure.map(|number| number + 1).chain([least]).collect();
        let state = |count| addresses.iter().map(|address| self.person(address, groups, count)).collect();
        (counts.len() <= STATES_MAX).then(|| counts.into_iter().map(state).collect())
    }

    /// Whether the person who has this address at an event was listed before the time at which the person answered. The server compares the times of two
    /// clocks, and the one of the listing may be a little older than its event.
    pub(super) fn was_listed(&self, address: &str, at: DateTime<Utc>, event: &Happened) -> Listed {
        let moment = |number: usize| self.changes.get(number);
        let listings = self.listed.get(address).map(Vec::as_slice).unwrap_or_default();
        let may_hold = |listing: &&Listing| moment(listing.between.from).is_some_and(|from| !from.is_after(event));
        let Some(newest) = listings.iter().rev().find(may_hold) else { return Listed::Unsure };
        let (Some(since), Some(from)) = (moment(newest.since), moment(newest.between.from)) else { return Listed::Unsure };
        if since.at <= at {
            return Listed::Before;
        }
        let is_near = since.at - TimeDelta::seconds(SLACK_SECONDS) <= at || !from.is_before(event);
        if is_near { Listed::Unsure } else { Listed::After }
    }

    /// The person with this address after so many changes, with those of the person's groups that are named.
    fn person(&self, address: &str, groups: &[&str], count: usize) -> Option<Answerer> {
        let listed = self.listed.get(address)?.iter().rev().find(|listed| listed.between.holds_after(count))?;
        let is_member = |members: &Members| {
            let is_in_force = members.between.holds_after(count) && members.between.from >= listed.since;
            is_in_force && members.addresses.iter().any(|member| member == address)
        };
        let has = |group: &&&str| self.groups.get(**group).is_some_and(|states| states.iter().any(is_member));
        let groups = groups.iter().filter(has).map(|group| (*group).to_owned()).collect();
        Some(Answerer { address: address.to_owned(), role: listed.role, groups })
    }
}

impl Between {
    /// Whether it was so after so many changes.
    fn holds_after(self, count: usize) -> bool {
        self.from < count && self.until.is_none_or(|until| until >= count)
    }
}

/// The payload of an event, and its moment; `None` if it cannot be read.
fn payload<P: DeserializeOwned>(bytes: &[u8], leaf: u64) -> Option<(P, Moment)> {
    let Envelope { created_at, payload } = serde_json::from_slice(bytes).ok()?;
    Some((payload, Moment::read(&created_at, leaf)?))
}
