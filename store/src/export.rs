//! The events of the tree over all events, in the order of their leaves, for an export.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::base::name::is_same_in_any_case;
use domain::base::time;
use domain::intent::event::{APPROVAL_DENIED, APPROVAL_GRANTED, ARBITRATION_RESOLVED, ESCALATION_RESOLVED};
use domain::log::Sealed;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use proof::tree::NodeHash;
use serde_json::Value;

use crate::proofs::rids_of;
use crate::redactions::Shown;
use crate::rows::prelude::*;
use crate::rows::{Decided, Place, RowsError, RowsResult, Source};
use crate::tree::{check, tree_of};

/// The most events on one page.
const PAGE_EVENTS_MAX: usize = 500;
/// The most bytes of events on one page, apart from the last event.
const PAGE_BYTES_MAX: usize = 1024 * 1024;
/// How many events one page looks at, at most, to find those that are wanted.
const LOOKED_AT_MAX: u64 = 2_000;
/// How many runs of leaves are read at a time.
const RUNS_AT_ONCE: u32 = 256;

/// Which events are exported. The server's own log is always exported whole, because it says who was allowed to do what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportFilter {
    /// Only events from this time on.
    pub from: Option<DateTime<Utc>>,
    /// Only events before this time.
    pub to: Option<DateTime<Utc>>,
    /// Only events of this intent.
    pub intent: Option<IntentId>,
    /// Only events of intents that this agent created.
    pub agent: Option<String>,
    /// Only events that this person or key caused, or that name it as a recipient or as the one who answered.
    pub person: Option<String>,
    /// Only events that ended a question in this way.
    pub outcome: Option<Outcome>,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A person answered.
    Answered,
    /// No person answered in time.
    Expired,
    /// No person could be reached.
    Undeliverable,
    /// The question was withdrawn or replaced.
    Cancelled,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Answered, Self::Expired, Self::Undeliverable, Self::Cancelled];

    /// The word in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Undeliverable => "undeliverable",
            Self::Cancelled => "cancelled",
        }
    }

    /// The types of the events that end a question so. Approvals, escalations and arbitrations are answered by events of their own.
    fn event_types(self) -> &'static [&'static str] {
        match self {
            Self::Answered => &["intent.resumed", APPROVAL_GRANTED, APPROVAL_DENIED, ESCALATION_RESOLVED, ARBITRATION_RESOLVED],
            Self::Expired => &["intent.suspension_expired"],
            Self::Undeliverable => &["intent.suspension_undeliverable"],
            Self::Cancelled => &["intent.suspension_cancelled"],
        }
    }
}

impl ExportFilter {
    /// Whether all events are exported.
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }
}

/// An event of an export.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The number of its leaf, from 0.
    pub leaf: u64,
    /// The event.
    pub sealed: Sealed,
    /// The inclusion path, if the export is a selection.
    pub proof: Option<Vec<NodeHash>>,
}

/// A page of an export.
#[derive(Clone, Debug)]
pub struct ExportPage {
    /// The events, by ascending leaf.
    pub events: Vec<Exported>,
    /// The leaf at which the next page begins; absent after the last.
    pub next: Option<u64>,
}

/// The events of the first `size` leaves that are wanted, from the leaf `first` on.
pub(crate) fn page<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    filter: &ExportFilter,
    (size, first): (u64, u64),
) -> Decided<ExportPage> {
    if let Err(rejection) = authorize(principal, Action::Export, Object::Server) {
        return Ok(Err(rejection));
    }
    let (mut found, mut bytes, mut at) = (Vec::new(), 0, first);
    let mut wanted = Wanted { filter, created: HashMap::new() };
    let mut looked_at = 0;
    'runs: while at < size && looked_at < LOOKED_AT_MAX {
        let next = leaves(rows, filter, size, at)?;
        if next.is_empty() {
            at = size;
        }
        for (leaf, place, length) in next {
            let events = rows.events_from(place, length)?;
            if events.len() as u64 != length {
                return Err(RowsError::Inconsistent("an event that has a leaf is missing"));
            }
            for ((leaf, number), sealed) in (leaf..).zip(place.number..).zip(events) {
                (at, looked_at) = (leaf + 1, looked_at + 1);
                if wanted.is(rows, Place { number, ..place }, &sealed)? {
                    bytes += sealed.bytes.len();
                    found.push((leaf, sealed));
                }
                if found.len() >= PAGE_EVENTS_MAX || bytes >= PAGE_BYTES_MAX || looked_at >= LOOKED_AT_MAX {
                    break 'runs;
                }
            }
        }
    }
    let mut shown = Shown::new(size);
    for (_, erased) in found.iter().filter(|(_, sealed)| sealed.is_erased()) {
        if !shown.is(rows, erased)? {
            return Ok(Err(Rejection::ExportOutdated));
        }
    }
    let mut tree = tree_of(rows, size);
    let mut events = Vec::with_capacity(found.len());
    for (leaf, sealed) in found {
        let proof = if filter.is_whole() { None } else { tree.inclusion(leaf)?.ok() };
        events.push(Exported { leaf, sealed, proof });
    }
    Ok(Ok(ExportPage { events, next: (at < size).then_some(at) }))
}

/// Where the next events are, from the leaf `first` on: the first leaf, its event's place, and how many follow.
fn leaves<R: ReadRows>(rows: &mut R, filter: &ExportFilter, size: u64, first: u64) -> RowsResult<Vec<(u64, Place, u64)>> {
    if let Some(intent) = filter.intent
        && let Some(found) = leaves_of(rows, intent, size, first)?
    {
        return Ok(found);
    }
    let mut found = Vec::new();
    for run in rows.runs(first, RUNS_AT_ONCE)? {
        let skipped = first.saturating_sub(run.first_leaf);
        let end = (run.first_leaf + run.length).min(size);
        let leaf = run.first_leaf + skipped;
        if leaf < end {
            let number = run.place.number + i64::try_from(skipped).unwrap_or(i64::MAX);
            let length = (end - leaf).min(PAGE_EVENTS_MAX as u64);
            found.push((leaf, Place { number, ..run.place }, length));
            // The rest of a long run comes with the next call.
            if leaf + length < end {
                break;
            }
        }
    }
    if found.is_empty() && first < size {
        return Err(RowsError::Inconsistent("a leaf of the tree belongs to no event"));
    }
    Ok(found)
}

/// The same for one intent and the server's log, each event by itself. `None` if the intent has too many events to walk; then all leaves
/// are looked at.
fn leaves_of<R: ReadRows>(rows: &mut R, intent: IntentId, size: u64, first: u64) -> RowsResult<Option<Vec<(u64, Place, u64)>>> {
    let rids = match rows.intent(intent)? {
        Some(row) => rids_of(rows, &row)?,
        None => Some(Vec::new()),
    };
    let Some(rids) = rids else { return Ok(None) };
    let of_intent = rids.into_iter().map(|number| Place { source: Source::Intents, subject: 0, number });
    let of_server = (1..).map(|number| Place { source: Source::Server, subject: 0, number });
    let mut found = Vec::new();
    for places in [&mut of_intent.into_iter() as &mut dyn Iterator<Item = Place>, &mut of_server.into_iter()] {
        for place in places {
            // The leaves of one log are in the order of its events, so behind an event without a leaf here there are none.
            let Some(leaf) = rows.leaf_of(place)?.filter(|leaf| *leaf < size) else { break };
            if leaf >= first {
                found.push((leaf, place, 1));
            }
        }
    }
    found.sort_unstable_by_key(|(leaf, ..)| *leaf);
    Ok(Some(found))
}

/// Decides which events are wanted, and remembers which intents an agent created.
struct Wanted<'a> {
    filter: &'a ExportFilter,
    created: HashMap<IntentId, bool>,
}

impl Wanted<'_> {
    /// Whether the event is exported. A damaged event is an error, unless it belongs to an intent that is not exported.
    fn is<R: ReadRows>(&mut self, rows: &mut R, place: Place, sealed: &Sealed) -> RowsResult<bool> {
        match check(rows, place, sealed) {
            Err(RowsError::Damaged(_)) if self.is_of_another(rows, place)? => return Ok(false),
            checked => checked?,
        }
        let ExportFilter { from, to, intent: wanted, agent: _, person, outcome } = self.filter;
        if place.source == Source::Server || self.filter.is_whole() {
            return Ok(true);
        }
        let event: Value = serde_json::from_slice(&sealed.bytes)?;
        let intent = event["intent_id"].as_str().and_then(|id| id.parse().ok()).map(IntentId);
        if wanted.is_some() && *wanted != intent {
            return Ok(false);
        }
        let at = event["created_at"].as_str().and_then(time::parse);
        if from.is_some_and(|from| at.is_none_or(|at| at < from)) || to.is_some_and(|to| at.is_none_or(|at| at >= to)) {
            return Ok(false);
        }
        let event_type = event["event_type"].as_str().unwrap_or_default();
        if outcome.is_some_and(|outcome| !outcome.event_types().contains(&event_type)) {
            return Ok(false);
        }
        let payload = &event["payload"];
        let named = [&event["actor"], &payload["responded_by"], &payload["recipient"], &payload["cancelled_by"]];
        if person
            .as_deref()
            .is_some_and(|person| !named.iter().any(|one| one.as_str().is_some_and(|one| is_same_in_any_case(one, person))))
        {
            return Ok(false);
        }
        self.is_of_agent(rows, intent)
    }

    /// Whether the row of a damaged event says that it belongs to another intent than those that are exported. Time, type and people stand
    /// in the bytes that have changed, so these filters pass over no damaged event.
    fn is_of_another<R: ReadRows>(&mut self, rows: &mut R, place: Place) -> RowsResult<bool> {
        let ExportFilter { intent: wanted, agent, .. } = self.filter;
        if wanted.is_none() && agent.is_none() {
            return Ok(false);
        }
        match place.source {
            Source::Server => Ok(false),
            Source::Portfolios => Ok(true),
            Source::Intents => {
                let Ok(intent) = rows.intent_of_event(place.number) else { return Ok(false) };
                Ok(wanted.is_some_and(|wanted| wanted != intent) || !self.is_of_agent(rows, Some(intent))?)
            }
        }
    }

    /// Whether the agent that is wanted created the intent; always if none is wanted.
    fn is_of_agent<R: ReadRows>(&mut self, rows: &mut R, intent: Option<IntentId>) -> RowsResult<bool> {
        let Some(agent) = &self.filter.agent else { return Ok(true) };
        let Some(intent) = intent else { return Ok(false) };
        if let Some(known) = self.created.get(&intent) {
            return Ok(*known);
        }
        let created = rows.intent(intent)?.is_some_and(|row| is_same_in_any_case(&row.intent.created_by.name, agent));
        self.created.insert(intent, created);
        Ok(created)
    }
}
