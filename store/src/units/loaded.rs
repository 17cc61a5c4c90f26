//! An intent as a unit of work reads it.

use chrono::{DateTime, Utc};
use domain::base::ids::{PlanId, SuspensionId};
use domain::container::plan::Plan;
use domain::intent::Intent;
use domain::intent::status::Status;
use domain::people::access::Entry;
use domain::people::answerer::Answerer;
use domain::people::authority::{Demands, Ownership};
use domain::suspension::RequiredAssurance;
use domain::suspension::assignees::Assignees;
use domain::suspension::demand::CommentOnRefusal;
use domain::suspension::evidence::Evidence;
use domain::suspension::hands::Hands;
use domain::suspension::proposal::Proposal;
use domain::suspension::requested::REQUESTS_OPEN_MAX;

use crate::assigning::counted;
use crate::earlier;
use crate::request::Target;
use crate::rows::prelude::*;
use crate::rows::{AccessRequestRow, IntentRow, Listed, RowsError, RowsResult, SuspensionRow};
use crate::span::{SpanEnd, SpanRecord, TraceContext};
use crate::stopped::open_stop;
use crate::surroundings::Env;

/// An intent with the rows it consists of.
pub(super) struct Loaded {
    pub(super) row: IntentRow,
    pub(super) intent: Intent,
    /// The rows of questions and requests.
    pub(super) suspensions: Vec<SuspensionRow>,
    /// The rows of stops.
    pub(super) stops: Vec<SuspensionRow>,
    /// The open requests for access; loaded only if the command needs them.
    pub(super) requests: Vec<AccessRequestRow>,
    /// The access entries that have lapsed; loaded only if the command changes the access.
    pub(super) lapsed: Vec<Entry>,
    /// Whether an announcement of the intent has a row in the database.
    pub(super) is_announced: bool,
    /// The rows of the active portfolios that the intent is in, in the order of [`Intent::member_of`].
    pub(super) portfolios: Vec<i64>,
    /// The row of the portfolio that the command names.
    pub(super) portfolio: Option<i64>,
    /// The row of the dependency that the command names.
    pub(super) upstream: Option<i64>,
    /// The name of the agent that writes, if one does. The bytes of its events count against its daily limit; those of the
    /// server's events count against the limit of the intent's creator.
    pub(super) writer: Option<String>,
    /// The open question that an answer names, and the person for whom the answer is given.
    pub(super) answering: Answering,
    /// The caller's span.
    pub(super) trace_parent: Option<TraceContext>,
}

/// The open question that an answer names, as far as the answer depends on it; empty if the request is no answer to an open question.
#[derive(Debug, Default)]
pub(super) struct Answering {
    /// The hashes over the question.
    pub(super) evidence: Option<Evidence>,
    /// How sure the server must be of the person.
    pub(super) assurance: Option<RequiredAssurance>,
    /// The people to whom the question is assigned.
    pub(super) assignees: Option<Assignees>,
    /// The listed person for whom the caller answers; read only if the question is assigned.
    pub(super) answerer: Option<Answerer>,
    /// Whether that person owns the key that asked, as far as the question keeps its owner from answering.
    pub(super) ownership: Ownership,
    /// Whether a person who refuses must say why.
    pub(super) comment_on_refusal: Option<CommentOnRefusal>,
    /// Whether the people behind the askers are kept from answering; read for a change of the hands alone.
    pub(super) keeps_owner: bool,
    /// In whose hands the question is.
    pub(super) hands: Hands,
    /// The listed people among those whose places were handed on.
    pub(super) holders: Vec<Answerer>,
    /// The action that the question proposes.
    pub(super) proposal: Option<Box<Proposal>>,
}

impl Answering {
    /// What the question demands of the person, and the person.
    pub(super) fn demands(&self) -> Demands<'_> {
        Demands {
            assurance: self.assurance,
            assignees: self.assignees.as_ref(),
            answerer: self.answerer.as_ref(),
            ownership: self.ownership,
            hands: Some(&self.hands).filter(|hands| !hands.is_untouched()),
            holders: &self.holders,
        }
    }

    /// Whether the person is kept from answering as the owner of the key that asked.
    pub(super) fn is_behind_the_asker(&self) -> bool {
        self.ownership == Ownership::Own
    }

    /// The person in whose place the answerer answers; `None` for an own place.
    pub(super) fn in_place_of(&self) -> Option<String> {
        let own = self.answerer.as_ref()?;
        self.demands().place().filter(|place| *place != own.address).map(str::to_owned)
    }
}

impl Loaded {
    /// The version that `If-Match` and `ETag` mean: the intent's, or the suspension's where the path names one.
    pub(super) fn version_of(&self, target: Target) -> u32 {
        match target {
            Target::Intent(_) => self.intent.version,
            Target::Coordinator(id) => {
                self.intent.coordinator.as_ref().filter(|lease| lease.id == id).map_or(0, |lease| lease.version)
            }
            Target::Plan(id) => self.intent.plans.iter().find(|plan| plan.id == id).map_or(0, |plan| plan.version),
            Target::Task(id) => self.intent.tasks.iter().find(|task| task.id == id).map_or(0, |task| task.version),
            Target::Suspension(id) => {
                let stopped = self.intent.stopped(id).map(|stop| &stop.suspension);
                self.intent.suspension(id).or(stopped).map_or(0, |suspension| suspension.version)
            }
        }
    }

    pub(super) fn span(&self, env: &Env<'_>, end: SpanEnd, now: DateTime<Utc>) -> SpanRecord {
        // The end of a stop begins a trace of its own, as Harn has it.
        let parent = self.trace_parent.filter(|_| !matches!(end, SpanEnd::GoOn { .. }));
        let context = TraceContext::new(parent, end, env.entropy);
        SpanRecord { context, parent, intent_id: self.intent.id, began: now, end }
    }

    pub(super) fn suspension_row(&self, id: SuspensionId) -> RowsResult<&SuspensionRow> {
        self.suspensions
            .iter()
            .chain(&self.stops)
            .find(|row| row.suspension.id == id)
            .ok_or(RowsError::Inconsistent("an event names a suspension that was not loaded"))
    }

    pub(super) fn suspension_row_mut(&mut self, id: SuspensionId) -> RowsResult<&mut SuspensionRow> {
        let found = self.suspensions.iter_mut().find(|row| row.suspension.id == id);
        found.ok_or(RowsError::Inconsistent("a change of a question that is not loaded"))
    }
}

pub(super) fn load<R: Rows>(rows: &mut R, row: IntentRow, named: Option<SuspensionId>) -> RowsResult<Loaded> {
    load_for(rows, row, named, false)
}

/// Loads the intent. If the command asks a question, or may do so or end one, the intent's portfolios are kept as they are until the
/// transaction is over: their deadlines must not change before the question has its timers, or while an answer is decided. Otherwise the
/// logs could tell of an answer that counted after a deadline. Any command on an intent with an open question may end it, and any command
/// on an intent with a plan may ask the question of a checkpoint.
pub(super) fn load_for<R: Rows>(rows: &mut R, row: IntentRow, named: Option<SuspensionId>, asks: bool) -> RowsResult<Loaded> {
    let mut intent = row.intent.clone();
    let (mut suspensions, mut stops) = (Vec::new(), Vec::new());
    let mut portfolios = Vec::new();
    if intent.is_grouped {
        if asks || row.open_suspension.is_some() || intent.has_tasks {
            rows.hold_portfolios_of(row.rid)?;
        }
        for (rid, member_of) in rows.reads().member_of(row.rid)? {
            portfolios.push(rid);
            intent.member_of.push(member_of);
        }
    }
    if let Some(rid) = row.open_suspension {
        let mut open = rows.reads().suspension_at(rid)?;
        open.suspension.portfolio_deadline = intent.portfolio_deadline();
        open.suspension.counted = counted(rows.reads(), &open)?;
        intent.open = Some(open.suspension.clone());
        suspensions.push(open);
    }
    if let Some((row, stop)) = open_stop(rows.reads(), &row)? {
        intent.stop = Some(Box::new(stop));
        stops.push(row);
    }
    // An intent that is suspended without an open question has an announced question.
    if row.open_suspension.is_none() && row.intent.status == Status::SuspendedAwaitingInput {
        intent.announcement = rows.reads().announcement(row.rid)?;
    }
    if let Some(id) = named
        && intent.open.as_ref().is_none_or(|open| open.id != id)
        && let Some(mut ended) = rows.reads().suspension(id)?
        && ended.intent == row.rid
    {
        ended.suspension.counted = counted(rows.reads(), &ended)?;
        let loaded = if ended.suspension.ending.is_none() { &mut intent.beside } else { &mut intent.ended };
        loaded.push(ended.suspension.clone());
        suspensions.push(ended);
    }
    if intent.has_tasks {
        intent.plans = plans(rows, row.rid, None)?;
        let planned: Vec<_> = intent.plans.iter().flat_map(|plan| plan.tasks.iter().copied()).collect();
        intent.tasks = rows.reads().tasks_at_work(row.rid, &planned)?;
        intent.coordinator = rows.reads().newest_coordinator(row.rid)?.map(Box::new);
        intent.retry = rows.reads().retry(row.rid)?.map(Box::new);
    }
    if row.has_leases {
        intent.leases = rows.reads().leases(row.rid)?;
    }
    let is_announced = intent.announcement.is_some();
    Ok(Loaded {
        row,
        intent,
        suspensions,
        stops,
        requests: Vec::new(),
        lapsed: Vec::new(),
        is_announced,
        portfolios,
        portfolio: None,
        upstream: None,
        writer: None,
        answering: Answering::default(),
        trace_parent: None,
    })
}

/// The plans of an intent that are at work, and the named one. Each question that a plan may ask has the decisions about questions of its
/// kind that are the newest now.
pub(super) fn plans<R: Rows>(rows: &mut R, intent: i64, named: Option<PlanId>) -> RowsResult<Vec<Plan>> {
    let mut plans = rows.reads().plans_at_work(intent, named)?;
    for plan in &mut plans {
        let asker = plan.created_by.name.clone();
        for question in plan.questions_to_ask() {
            earlier::choose(rows.reads(), &asker, question)?;
        }
    }
    Ok(plans)
}

/// Loads the intent of one suspension, for a command of the server's own.
pub(super) fn load_of<R: Rows>(rows: &mut R, suspension: &SuspensionRow) -> RowsResult<Loaded> {
    let row = rows.reads().intent_at(suspension.intent)?;
    load(rows, row, Some(suspension.suspension.id))
}

/// Loads the open requests beside the intent (those that do not stop it, for example for an approval) that are not loaded yet.
pub(super) fn load_beside<R: Rows>(rows: &mut R, loaded: &mut Loaded) -> RowsResult<()> {
    let limit = u32::try_from(REQUESTS_OPEN_MAX).unwrap_or(u32::MAX);
    let listed = Listed { beside: Some(loaded.row.rid), open: true, limit, ..Listed::default() };
    for row in rows.reads().suspensions(listed)? {
        if loaded.intent.suspension(row.suspension.id).is_none() {
            loaded.intent.beside.push(row.suspension.clone());
            loaded.suspensions.push(row);
        }
    }
    Ok(())
}

/// Loads the open requests beside the intent if the deadline of its open question, or the time for which it is parked, has passed: whatever
/// the command is, that deadline may end the intent, and the requests with it.
pub(super) fn load_what_ends<R: Rows>(rows: &mut R, loaded: &mut Loaded, now: DateTime<Utc>) -> RowsResult<()> {
    let stopped = loaded.intent.stop.as_deref().map(|stop| &stop.suspension);
    if loaded.intent.open.as_ref().or(stopped).is_some_and(|suspension| suspension.is_expired(now)) {
        load_beside(rows, loaded)?;
    }
    Ok(())
}
