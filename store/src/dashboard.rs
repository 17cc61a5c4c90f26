//! The newest questions of a person, or of the people in a group, in numbers. Like the audit pages it looks at a window of bounded size
//! (`docs/adr/0067-audit-pages-look-at-a-window.md`).

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;

use crate::assigning::answerer;
use crate::audit::Outcome;
use crate::error::Wanted;
use crate::overview::{Counted, WINDOW_MAX};
use crate::rows::prelude::*;
use crate::rows::{Decided, DeliveryState, Listed, MessageRow, SuspensionRow};

/// Whose questions are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DashboardFilter {
    /// The people in this group; absent for the person who looks.
    pub group: Option<String>,
}

/// An attempt of a question that told people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// From 1: the first message, then reminders and escalations.
    pub attempt: u32,
    /// Whether a message of it was delivered.
    pub is_reached: bool,
}

/// A question that is counted.
#[derive(Clone, Debug)]
pub struct Own {
    pub counted: Counted,
    pub agent: String,
    /// Whether silence was taken for an answer.
    pub fell_back: bool,
    /// The attempts that told people, in order.
    pub rungs: Vec<Rung>,
    /// The attempt during which it was answered.
    pub answered_at: Option<u32>,
    /// How long after the first look the person answered whose answer ended it, in milliseconds; absent if that is not known.
    pub decided_after_ms: Option<i64>,
}

/// The numbers of a person, or of a group.
#[derive(Clone, Debug, Default)]
pub struct Dashboard {
    /// Newest first.
    pub questions: Vec<Own>,
    /// The groups that the person may look at, in order.
    pub groups: Vec<String>,
    /// How many questions of the server were looked at.
    pub looked_at: usize,
    /// When the oldest of them was asked.
    pub since: Option<DateTime<Utc>>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// Reads the window.
pub(crate) fn dashboard<R: ReadRows>(rows: &mut R, principal: &Principal, filter: Wanted<DashboardFilter>) -> Decided<Dashboard> {
    if let Err(rejection) = authorize(principal, Action::ReadInbox, Object::Server) {
        return Ok(Err(rejection));
    }
    let filter = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let address = principal.name.to_lowercase();
    let groups = match principal.role {
        Role::Admin | Role::Auditor => rows.groups()?.into_iter().map(|group| group.name).collect(),
        Role::Operator | Role::Agent | Role::Channel | Role::Verifier => {
            answerer(rows, &address)?.map(|person| person.groups).unwrap_or_default()
        }
    };
    let people: HashSet<String> = match &filter.group {
        None => HashSet::from([address]),
        // A group that the person may not look at is not told from one that does not exist.
        Some(name) if !groups.contains(name) => return Ok(Err(Rejection::NotFound)),
        Some(name) => rows.group(name)?.into_iter().flat_map(|group| group.members).map(|member| member.to_lowercase()).collect(),
    };
    let window = rows.suspensions(Listed { limit: WINDOW_MAX, ..Listed::default() })?;
    let (mut told, mut seen) = (HashMap::<i64, Vec<MessageRow>>::new(), HashMap::<i64, Vec<(String, DateTime<Utc>)>>::new());
    if let (Some(newest), Some(oldest)) = (window.first(), window.last()) {
        for message in rows.messages_in(oldest.rid, newest.rid)? {
            told.entry(message.suspension).or_default().push(message);
        }
        for (suspension, recipient, at) in rows.views_in(oldest.rid, newest.rid)? {
            seen.entry(suspension).or_default().push((recipient.to_lowercase(), at));
        }
    }
    let (looked_at, since) = (window.len(), window.last().map(|row| row.suspension.suspended_at));
    let count = |row: SuspensionRow| {
        let (told, seen) = (told.remove(&row.rid).unwrap_or_default(), seen.remove(&row.rid).unwrap_or_default());
        own(row, &told, &seen, &people)
    };
    let questions = window.into_iter().filter_map(count).collect();
    Ok(Ok(Dashboard { questions, groups, looked_at, since, has_more: looked_at == WINDOW_MAX as usize }))
}

/// A question of these people: one of them was told of it, or ended it.
fn own(row: SuspensionRow, told: &[MessageRow], seen: &[(String, DateTime<Utc>)], people: &HashSet<String>) -> Option<Own> {
    let suspension = row.suspension;
    let outcome = Outcome::of(&suspension);
    let by = suspension.ending.as_ref().and_then(|ending| ending.by.as_ref()).map(|by| by.to_lowercase());
    let answerer = by.clone().filter(|_| outcome == Outcome::Answered);
    let is_told = told.iter().any(|message| people.contains(&message.recipient.to_lowercase()));
    if !is_told && !answerer.as_ref().is_some_and(|by| people.contains(by)) {
        return None;
    }
    let mut rungs: Vec<Rung> = Vec::new();
    for message in told {
        let is_reached = message.state == DeliveryState::Sent;
        match rungs.iter_mut().find(|rung| rung.attempt == message.attempt) {
            Some(rung) => rung.is_reached |= is_reached,
            None => rungs.push(Rung { attempt: message.attempt, is_reached }),
        }
    }
    rungs.sort_unstable_by_key(|rung| rung.attempt);
    let ended_at = suspension.ending.as_ref().map(|ending| ending.at);
    let looked = answerer.as_ref().and_then(|by| seen.iter().find(|(person, _)| person == by)).map(|(_, at)| *at);
    let after = looked.zip(ended_at).map(|(looked, ended_at)| (ended_at - looked).num_milliseconds());
    Some(Own {
        agent: suspension.asked_by.name.clone(),
        fell_back: outcome == Outcome::NotAnswered && suspension.ending.as_ref().is_some_and(|ending| ending.response.is_some()),
        answered_at: answerer.map(|_| suspension.attempt),
        decided_after_ms: after.filter(|after| *after >= 0),
        rungs,
        counted: Counted {
            asked_at: suspension.suspended_at,
            outcome,
            ended_at,
            by,
            asked: told.iter().map(|message| message.recipient.clone()).collect(),
            viewed_at: seen.iter().map(|(_, at)| *at).min(),
        },
    })
}
