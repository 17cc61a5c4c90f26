//! The work around a question, for the person who holds its link: the intents that wait for the intent that asks, those that it needs, and
//! its portfolios. The person sees what the agent that asks may read, and of each intent only the title and how far it is.

use std::collections::{HashMap, VecDeque};

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::status::Status;
use domain::people::principal::Principal;
use domain::portfolio::PortfolioStatus;
use domain::wire::AggregateStatus;

use crate::portfolios::readable_portfolio;
use crate::reads::{in_portfolios, is_shown};
use crate::rows::prelude::*;
use crate::rows::{EdgeRow, IntentRow, RowsResult};

/// The most intents that are shown around a question.
pub const WORKS_MAX: usize = 200;
/// The most intents that may be shown of those that wait, so that there is room for some of those that are needed.
const WAITING_MAX: usize = 150;
/// The most intents that are shown of one portfolio.
pub const MEMBERS_SHOWN_MAX: usize = 100;
/// The most portfolios that are shown.
pub const PORTFOLIOS_SHOWN_MAX: usize = 10;
/// The most edges that are read to find which of them needs which: no intent has more than 100 dependencies.
const EDGES_SHOWN_MAX: u32 = 20_000;
/// The most edges that are read to find them.
const EDGES_READ_MAX: usize = 2_000;

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The words of the agent that created it.
    pub title: String,
    /// How far it is.
    pub status: Status,
    /// When the question for which it waits ends at the latest, if it waits for a person and the question has a deadline.
    pub until: Option<DateTime<Utc>>,
}

/// A portfolio that the intent which asks is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortfolioWork {
    /// The words of the agent that created it.
    pub name: String,
    /// How far it is.
    pub status: PortfolioStatus,
    /// Its deadline.
    pub deadline: Option<DateTime<Utc>>,
    /// How many intents it has.
    pub total: u64,
    /// How many of them are completed.
    pub completed: u64,
    /// Its intents, as far as the agent may read them, by priority.
    pub members: Vec<Work>,
    /// Whether it has more.
    pub is_cut: bool,
}

/// The work around a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkView {
    /// The intent that asks, then those around it, the nearest first.
    pub works: Vec<Work>,
    /// Which of them needs which, by their places: first the one that is needed, then the one that waits for it.
    pub edges: Vec<(usize, usize)>,
    /// Whether there are more.
    pub is_cut: bool,
    /// The portfolios that the intent is in, as far as the agent may read them.
    pub portfolios: Vec<PortfolioWork>,
}

/// The work around this intent, as far as the agent that asks may read it.
pub(super) fn work<R: ReadRows>(
    rows: &mut R,
    asker: &Principal,
    id: IntentId,
    now: DateTime<Utc>,
) -> RowsResult<Option<WorkView>> {
    let Some(root) = rows.intent(id)? else { return Ok(None) };
    let portfolios = portfolios(rows, asker, &root, now)?;
    let mut around =
        Around { asker, now, places: HashMap::from([(root.rid, 0)]), works: Vec::new(), is_cut: false, edges_read: 0 };
    let title = rows.title(root.rid)?;
    let first = shown(rows, &root, title)?;
    around.works.push(first);
    around.search(rows, root.rid, Toward::Waiting, WAITING_MAX)?;
    around.search(rows, root.rid, Toward::Needed, WORKS_MAX)?;
    let Around { places, works, is_cut, .. } = around;
    let rids: Vec<i64> = places.keys().copied().collect();
    let edges = rows.needs_of(&rids, None, EDGES_SHOWN_MAX)?;
    let mut edges: Vec<_> =
        edges.iter().filter_map(|edge| Some((*places.get(&edge.needs)?, *places.get(&edge.intent)?))).collect();
    edges.sort_unstable();
    edges.dedup();
    Ok(Some(WorkView { works, edges, is_cut, portfolios }))
}

fn shown<R: ReadRows>(rows: &mut R, row: &IntentRow, title: String) -> RowsResult<Work> {
    let mut until = None;
    if let Some(open) = row.open_suspension {
        let open = rows.suspension_at(open)?;
        until = in_portfolios(rows, open)?.suspension.ends_at();
    }
    Ok(Work { title, status: row.intent.status, until })
}

/// The intents around one, as far as they were found.
struct Around<'a> {
    asker: &'a Principal,
    now: DateTime<Utc>,
    /// The place of each intent that is shown, by its row.
    places: HashMap<i64, usize>,
    works: Vec<Work>,
    is_cut: bool,
    edges_read: usize,
}

/// The direction in which intents are searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toward {
    /// The intents that wait.
    Waiting,
    /// The intents that are needed.
    Needed,
}

impl Around<'_> {
    /// Adds the intents that wait for the one at `root`, or those that it needs, with those further on, until there are `most`.
    fn search<R: ReadRows>(&mut self, rows: &mut R, root: i64, toward: Toward, most: usize) -> RowsResult<()> {
        let mut left = VecDeque::from([root]);
        while let Some(at) = left.pop_front() {
            let rest = EDGES_READ_MAX.saturating_sub(self.edges_read);
            if rest == 0 {
                self.is_cut = true;
                return Ok(());
            }
            let limit = u32::try_from(rest).unwrap_or(u32::MAX);
            let edges = match toward {
                Toward::Waiting => rows.needing(&[at], None, limit)?,
                Toward::Needed => rows.needs_of(&[at], None, limit)?,
            };
            self.edges_read += edges.len();
            let other = |edge: &EdgeRow| if toward == Toward::Waiting { edge.intent } else { edge.needs };
            let mut nodes: HashMap<i64, _> = HashMap::new();
            let wanted: Vec<i64> = edges.iter().map(other).filter(|rid| !self.places.contains_key(rid)).collect();
            nodes.extend(rows.nodes(&wanted)?.into_iter().map(|(row, label)| (row.rid, (row, label.title))));
            for edge in &edges {
                let rid = other(edge);
                if let Some((row, title)) = nodes.remove(&rid)
                    && self.add(rows, &row, title, toward, most)?
                {
                    left.push_back(rid);
                }
            }
        }
        Ok(())
    }

    /// Adds an intent if the agent may read it. An intent that has ended waits for nothing.
    fn add<R: ReadRows>(
        &mut self,
        rows: &mut R,
        row: &IntentRow,
        title: String,
        toward: Toward,
        most: usize,
    ) -> RowsResult<bool> {
        if toward == Toward::Waiting && row.intent.status.is_final() {
            return Ok(false);
        }
        if self.works.len() >= most {
            self.is_cut = true;
            return Ok(false);
        }
        if !is_shown(rows, self.asker, row, self.now)? {
            return Ok(false);
        }
        self.places.insert(row.rid, self.works.len());
        self.works.push(shown(rows, row, title)?);
        Ok(true)
    }
}

/// The portfolios that the intent is in, as far as the agent may read them.
fn portfolios<R: ReadRows>(
    rows: &mut R,
    asker: &Principal,
    root: &IntentRow,
    now: DateTime<Utc>,
) -> RowsResult<Vec<PortfolioWork>> {
    let mut found = Vec::new();
    if !root.intent.is_grouped {
        return Ok(found);
    }
    for id in rows.portfolios_of(root.rid)? {
        if found.len() >= PORTFOLIOS_SHOWN_MAX {
            break;
        }
        let Ok(row) = readable_portfolio(rows, asker, id)? else { continue };
        let AggregateStatus { total, by_status, .. } = AggregateStatus::of(rows.member_statuses(row.rid)?);
        let mut members = Vec::new();
        for member in rows.members(row.rid, 0)?.into_iter().take(MEMBERS_SHOWN_MAX) {
            let intent = rows.intent_at(member.intent)?;
            if is_shown(rows, asker, &intent, now)? {
                let title = rows.title(intent.rid)?;
                members.push(shown(rows, &intent, title)?);
            }
        }
        let body = row.portfolio.body;
        found.push(PortfolioWork {
            name: body.name,
            status: row.portfolio.status,
            deadline: body.policy.deadline,
            total,
            completed: by_status.completed,
            is_cut: total > members.len() as u64,
            members,
        });
    }
    Ok(found)
}
