//! The newest questions in numbers: a window of bounded size, so that the page costs the same however many questions there are
//! (`docs/adr/0067-audit-pages-look-at-a-window.md`).

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::base::name::is_same_in_any_case;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;

use crate::audit::{Outcome, row_before};
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{Decided, Listed};

/// How many questions the window holds at most.
pub const WINDOW_MAX: u32 = 1_000;

/// Which questions are counted: the newest ones.
#[derive(Clone, Debug, Default)]
pub struct OverviewFilter {
    /// Asked before this time.
    pub to: Option<DateTime<Utc>>,
    /// Asked by this agent.
    pub agent: Option<String>,
}

/// A question, as far as it is counted.
#[derive(Clone, Debug)]
pub struct Counted {
    pub asked_at: DateTime<Utc>,
    pub outcome: Outcome,
    pub ended_at: Option<DateTime<Utc>>,
    /// The person or program that ended it.
    pub by: Option<String>,
    /// The people to whom messages were sent; empty if several people had to agree, because the row does not say which of them answered.
    pub asked: Vec<String>,
    /// When a link first opened the page of the question.
    pub viewed_at: Option<DateTime<Utc>>,
}

/// The questions of a window.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    /// Newest first.
    pub questions: Vec<Counted>,
    /// When the oldest question of the window was asked.
    pub since: Option<DateTime<Utc>>,
    /// Whether there are questions before the window.
    pub has_more: bool,
}

/// Reads the window.
pub(crate) fn overview<R: ReadRows>(rows: &mut R, principal: &Principal, filter: Wanted<OverviewFilter>) -> Decided<Overview> {
    if let Err(rejection) = authorize(principal, Action::Export, Object::Server) {
        return Ok(Err(rejection));
    }
    let OverviewFilter { to, agent } = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let before = match to {
        Some(to) => Some(row_before(rows, to)?),
        None => None,
    };
    let window = rows.suspensions(Listed { before, limit: WINDOW_MAX, ..Listed::default() })?;
    let (mut asked, mut viewed) = (HashMap::<i64, Vec<String>>::new(), HashMap::<i64, DateTime<Utc>>::new());
    if let (Some(newest), Some(oldest)) = (window.first(), window.last()) {
        for (suspension, recipient) in rows.asked_in(oldest.rid, newest.rid)? {
            asked.entry(suspension).or_default().push(recipient);
        }
        for (suspension, _, at) in rows.views_in(oldest.rid, newest.rid)? {
            let first = viewed.entry(suspension).or_insert(at);
            *first = at.min(*first);
        }
    }
    let since = window.last().map(|row| row.suspension.suspended_at);
    let has_more = window.len() == WINDOW_MAX as usize;
    let counts = |asker: &str| agent.as_ref().is_none_or(|agent| is_same_in_any_case(agent, asker));
    let questions = window.into_iter().filter(|row| counts(&row.suspension.asked_by.name)).map(|row| Counted {
        asked_at: row.suspension.suspended_at,
        outcome: Outcome::of(&row.suspension),
        ended_at: row.suspension.ending.as_ref().map(|ending| ending.at),
        asked: asked.remove(&row.rid).filter(|_| row.suspension.quorum.is_none()).unwrap_or_default(),
        by: row.suspension.ending.and_then(|ending| ending.by),
        viewed_at: viewed.remove(&row.rid),
    });
    Ok(Ok(Overview { questions: questions.collect(), since, has_more }))
}
