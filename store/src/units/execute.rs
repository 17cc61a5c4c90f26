//! A command on one intent: load, authorize, decide, append, and keep the outcome for a repeated request.
//!
//! Guarantee: everything an event causes (status, timer, message, idempotency record) is a row in the event's own transaction.
//! Mechanism: one function appends, and derives every other row from the event it appended. Failure: a refusal has written
//! nothing but the events that record it; a failed statement ends the transaction, and the writer runs the other commands of the
//! batch again, without this one.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use domain::asking::by_record::is_client_id;
use domain::asking::pressing::ASKS_WITHIN_SECONDS;
use domain::asking::raising::raised;
use domain::asking::secrets::{findings, title_findings};
use domain::base::ids::SuspensionId;
use domain::base::time::{rfc3339, seconds};
use domain::container::plan::PlanStep;
use domain::intent::access::{ChangeAccess, RequestAccess};
use domain::intent::assignment::{Alias, Assign, Assigned};
use domain::intent::body::STATE_BYTES_MAX;
use domain::intent::command::{ByRecord, Command, Respond, Suspend};
use domain::intent::contract::{flaws, is_reached_by, unmet};
use domain::intent::decide::{decide, own_answer};
use domain::intent::event::Event;
use domain::intent::permit::{agents, named_as_handed, permit};
use domain::intent::record::Record;
use domain::intent::refusal::Refusal;
use domain::intent::status::Status;
use domain::intent::workflow::keeps_outputs;
use domain::intent::{Intent, lapsed};
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::delivery::Asked;
use domain::suspension::hands::Hands;
use domain::suspension::{AskedBefore, Asker, Question, Suspension};
use domain::wire::{EventView, SuspensionRecord};

use super::allowance;
use super::governance::load_governance;
use super::loaded::{Loaded, load_beside, load_for, load_what_ends};
use super::log::append;
use super::message::siblings;
use super::outcome::{kept, kept_under, outcome, recalled};
use super::{answering, graph, hands, logins, passkeys, places, plans, stops, tasks};
use crate::assigning;
use crate::earlier;
use crate::question::login_warning;
use crate::reads::{handed, hold, in_portfolios, is_at_home, record_of};
use crate::request::{Outcome, Precondition, Request, Target};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, RowsError, RowsResult, SuspensionRow};
use crate::surroundings::Env;

pub(crate) fn execute<R: Rows>(rows: &mut R, env: &Env<'_>, request: &Request) -> Decided<Outcome> {
    let Some(row) = targeted(rows, request)? else { return Ok(Err(Rejection::NotFound)) };
    execute_on(rows, env, row, request)
}

/// As [`execute`], on the intent of the request, which this transaction has read and not changed.
pub(super) fn execute_on<R: Rows>(rows: &mut R, env: &Env<'_>, row: IntentRow, request: &Request) -> Decided<Outcome> {
    let mut loaded = load_named(rows, row, request)?;
    let by_client_id = by_client_id(rows, &loaded, request)?;
    if let Some(ours) = by_client_id.map_or_else(|| at_checkpoint(rows, request), |ours| Ok(Some(ours)))? {
        return execute(rows, env, &ours);
    }
    loaded.trace_parent = request.trace_parent;
    loaded.writer = (request.principal.role == Role::Agent).then(|| request.principal.name.clone());
    // The time is read here, in the transaction. Deadlines are judged by the clock alone: an event that was written while the
    // clock was ahead must not make them take effect early. The dates of events, however, never run backwards.
    let now = env.clock.now();
    load_access(rows, &mut loaded, request, now)?;
    complete_intent(rows, &mut loaded, request, now)?;
    places::load(rows, &mut loaded, request)?;
    answering::load(rows, &mut loaded, request)?;
    let signed = passkeys::signed(rows, env, &loaded, request)?;
    let request = &*passkeys::assured(request, &signed);
    let request = &*logins::assured(rows, &loaded, request, now)?;
    let Some(action) = request.action() else { return Ok(Err(Rejection::server_only())) };
    let handed_for = handed(rows.reads(), &request.principal, named(&loaded, request))?;
    match admit(rows, env, &loaded, request, action, &handed_for, now)? {
        // If a signature came and is wrong, its reason tells the person more.
        Err(Rejection::AssuranceTooLow { required, given }) => {
            return Ok(Err(signed.err().unwrap_or(Rejection::AssuranceTooLow { required, given })));
        }
        Err(Rejection::SelfResponse) => return refuse_own(rows, env, &mut loaded, request, now),
        Err(rejection) => return Ok(Err(rejection)),
        Ok(Some(replayed)) => return Ok(Ok(replayed)),
        Ok(None) => {}
    }
    if let Err(rejection) = graph::load_needed(rows, &mut loaded, request, now)? {
        return Ok(Err(rejection));
    }
    if let Err(rejection) = allowance::admit(rows, env, &request.principal, action, Some(&loaded), now)? {
        return Ok(Err(rejection));
    }
    let command = match &request.command {
        Ok(command) => &completed(rows, env, &loaded, &handed_for, command)?,
        Err(unreadable) => return Ok(Err(Rejection::Invalid { errors: unreadable.errors.clone() })),
    };
    let command = &match asking_assigned(rows, &loaded, command, &request.principal, now)? {
        Ok(command) => command,
        Err(rejection) => return Ok(Err(rejection)),
    };
    if let Err(rejection) = load_governance(rows, &mut loaded, command, &request.principal, now)? {
        return Ok(Err(rejection));
    }
    if let Precondition::Version(version) = request.precondition {
        let current_version = loaded.version_of(request.target);
        if version != current_version {
            return Ok(Err(Rejection::VersionConflict { current_version }));
        }
    }
    match decide(&loaded.intent, command, &request.principal, now) {
        Err(refusal) => record(rows, env, &mut loaded, request, refusal, now),
        Ok(events) => {
            let warnings = match weighed(rows, env, &loaded, command, &events, now)? {
                Err(rejection) => return Ok(Err(rejection)),
                Ok(warnings) => warnings,
            };
            if let Ok(Some(signed)) = &signed
                && let Err(rejection) = signed.note(rows, now)?
            {
                return Ok(Err(rejection));
            }
            end_lapsed(rows, env, &mut loaded, now)?;
            let last = append(rows, env, &mut loaded, &events, &request.principal.name, now)?;
            graph::tell_after(rows, env, &loaded, &events, now)?;
            let outcome = outcome(rows, &loaded, command, &events, last, warnings, now)?;
            remember(rows, &loaded, request, &outcome, now)?;
            Ok(Ok(outcome))
        }
    }
}

/// Refuses an answer of the asker, or of a key or person of its owner, and records it if that is due.
fn refuse_own<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    request: &Request,
    now: DateTime<Utc>,
) -> Decided<Outcome> {
    if let Ok(Command::Respond(respond)) = &request.command
        && let Some(record) = own_answer(&loaded.intent, respond, &request.principal)
    {
        append(rows, env, loaded, &[record], &request.principal.name, now)?;
    }
    Ok(Err(Rejection::SelfResponse))
}

/// Appends the events that record a refusal: the end of the question if its deadline has passed, and the refused answer.
fn record<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    request: &Request,
    refusal: Refusal,
    now: DateTime<Utc>,
) -> Decided<Outcome> {
    may_end(rows, env, &refusal)?;
    // If the deadline has passed, the server ends the question, and this request only happened to come next. So the caller's span
    // does not become the parent of the ending's span.
    let trace_parent = loaded.trace_parent.take();
    append(rows, env, loaded, &refusal.deadline, &Principal::server().name, now)?;
    graph::tell_after(rows, env, loaded, &refusal.deadline, now)?;
    loaded.trace_parent = trace_parent;
    let record = refusal.record.as_deref().map_or(&[][..], std::slice::from_ref);
    append(rows, env, loaded, record, &request.principal.name, now)?;
    Ok(Err(refusal.rejection))
}

/// Loads the intent, with the question that the request names.
fn load_named<R: Rows>(rows: &mut R, row: IntentRow, request: &Request) -> RowsResult<Loaded> {
    let suspension = match request.target {
        Target::Suspension(id) => Some(id),
        Target::Intent(_) | Target::Task(_) | Target::Plan(_) | Target::Coordinator(_) => {
            request.command.as_ref().ok().and_then(Command::names_suspension)
        }
    };
    let asks = request.command.as_ref().is_ok_and(|command| command.asks().is_some());
    let mut loaded = load_for(rows, row, suspension, asks)?;
    if let Some(id) = suspension.filter(|_| request.is_about_a_stop()) {
        stops::load_past(rows, &mut loaded, id)?;
    }
    Ok(loaded)
}

/// Records that the loaded access entries have lapsed. The record names the server and not the caller, whose request only
/// happened to find these entries.
fn end_lapsed<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, now: DateTime<Utc>) -> RowsResult<()> {
    if !loaded.lapsed.is_empty() && hold(rows.reads(), env.watch)?.is_none() {
        let lapsed = lapsed(&loaded.intent, &loaded.lapsed, now);
        append(rows, env, loaded, &lapsed, &Principal::server().name, now)?;
    }
    Ok(())
}

/// Loads the assignments, entries and requests on which the rights of agents depend, if the caller or the command needs them.
fn load_access<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, now: DateTime<Utc>) -> RowsResult<()> {
    let rid = loaded.row.rid;
    let changes_access = matches!(request.command, Ok(Command::Access(_)));
    let takes_away = changes_access || matches!(request.command, Ok(Command::Unassign { .. }));
    let needs_names = match &request.command {
        Ok(Command::Record(record)) => matches!(**record, Record::Failure(_)),
        Ok(command) => takes_away || matches!(command, Command::Assign(_)),
        Err(_) => false,
    };
    if needs_names || !is_at_home(&request.principal, &loaded.intent) {
        loaded.intent.assigned = rows.reads().assigned(rid)?;
        let entries = rows.reads().entries(rid)?.into_iter().map(|row| row.entry);
        let (in_force, lapsed) = entries.partition(|entry| entry.is_in_force(now));
        loaded.intent.entries = in_force;
        if changes_access {
            loaded.lapsed = lapsed;
        }
    }
    if changes_access {
        loaded.requests = rows.reads().access_requests(rid)?;
        loaded.intent.requests = loaded.requests.iter().map(|row| row.request.clone()).collect();
    }
    if takes_away && loaded.row.has_leases {
        loaded.intent.aliases = aliases(rows)?;
    }
    Ok(())
}

/// The agents' keys whose name differs from their subject; a revoked key counts, because it may have left a lease.
fn aliases<R: Rows>(rows: &mut R) -> RowsResult<Vec<Alias>> {
    let keys = rows.reads().keys()?.into_iter().filter(|key| key.role == Role::Agent && key.name != key.subject);
    Ok(keys.map(|key| Alias { name: key.name, subject: key.subject }).collect())
}

/// The intent that a write is about.
fn targeted<R: Rows>(rows: &mut R, request: &Request) -> RowsResult<Option<IntentRow>> {
    graph::lock(rows, request)?;
    match request.target {
        Target::Intent(id) => rows.reads().intent(id),
        Target::Coordinator(id) => {
            let Some((intent, ..)) = rows.reads().coordinator(id)? else { return Ok(None) };
            rows.reads().intent_at(intent).map(Some)
        }
        Target::Plan(id) => {
            let Some((intent, _)) = rows.reads().plan(id)? else { return Ok(None) };
            rows.reads().intent_at(intent).map(Some)
        }
        Target::Task(id) => {
            let Some((intent, _)) = rows.reads().task(id)? else { return Ok(None) };
            rows.reads().intent_at(intent).map(Some)
        }
        Target::Suspension(id) => {
            let Some(suspension) = rows.reads().any_suspension(id)? else { return Ok(None) };
            rows.reads().intent_at(suspension.intent).map(Some)
        }
    }
}

/// Loads facts that only some commands need: the tasks that the command names, the open requests that do not stop the intent and,
/// if a gateway answers, the names of the intent's agents, because a gateway may not answer in the name of an agent.
fn complete_intent<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, now: DateTime<Utc>) -> RowsResult<()> {
    // An errand ends with its question, and then the open requests beside it end as well.
    if loaded.intent.is_errand && matches!(request.command, Ok(Command::Respond(_) | Command::Cancel { .. })) {
        load_beside(rows, loaded)?;
    }
    match &request.command {
        Ok(Command::Suspend(suspend)) if !suspend.kind.stops_intent() => load_beside(rows, loaded)?,
        Ok(Command::Stop(stop)) if stop.may_end_intent() => load_beside(rows, loaded)?,
        Ok(Command::SetStatus { status: Status::Completed | Status::Abandoned, .. }) => load_beside(rows, loaded)?,
        Ok(Command::Respond(_)) if request.principal.role == Role::Channel => {
            loaded.intent.assigned = rows.reads().assigned(loaded.row.rid)?;
            let names: Vec<&str> = agents(&loaded.intent).map(String::as_str).collect();
            loaded.intent.aliases = rows.reads().agents_called(&names)?;
        }
        Ok(_) | Err(_) => {}
    }
    tasks::load_named(rows, loaded, request)?;
    load_what_ends(rows, loaded, now)
}

/// Refuses, for now, a request that would apply a deadline (for example a late answer) while deadlines are held back.
pub(super) fn may_end<R: Rows>(rows: &mut R, env: &Env<'_>, refusal: &Refusal) -> RowsResult<()> {
    if refusal.deadline.is_empty() {
        return Ok(());
    }
    hold(rows.reads(), env.watch)?.map_or(Ok(()), |hold| Err(RowsError::Held(hold.why())))
}

/// Completes a command with facts that only the rows hold, and its questions with the operator's rules about the agents of the intent.
fn completed<'a, R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    handed_for: &[String],
    command: &'a Command,
) -> RowsResult<Cow<'a, Command>> {
    let completed = with_facts(rows, env, loaded, handed_for, command)?;
    Ok(raised(&loaded.intent, &completed, env.rules).map_or(completed, Cow::Owned))
}

/// Completes a command with facts that only the rows hold; the text of a question is read only where a command needs it.
fn with_facts<'a, R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    handed_for: &[String],
    command: &'a Command,
) -> RowsResult<Cow<'a, Command>> {
    if let Command::Respond(respond) = command {
        let named = match handed_for {
            [] => (**respond).clone(),
            _ => named_as_handed(respond, handed_for),
        };
        let (answerer, in_place_of) = (loaded.answering.answerer.clone(), loaded.answering.in_place_of());
        let comment_on_refusal = loaded.answering.comment_on_refusal.clone();
        let proposal = loaded.answering.proposal.clone();
        let respond =
            Respond { evidence: loaded.answering.evidence, answerer, in_place_of, comment_on_refusal, proposal, ..named };
        return Ok(Cow::Owned(Command::Respond(Box::new(respond))));
    }
    if let Command::Hand(hand) = command {
        return Ok(Cow::Owned(Command::Hand(Box::new(hands::completed(rows, loaded, hand)?))));
    }
    if let Command::Suspend(suspend) = command {
        let asking = asking(rows, loaded, suspend)?;
        return Ok(asking.map_or(Cow::Borrowed(command), |suspend| Cow::Owned(Command::Suspend(Box::new(suspend)))));
    }
    if let Command::SuspendByRecord(record) = command {
        return Ok(Cow::Owned(Command::SuspendByRecord(Box::new(recorded(rows, loaded, record)?))));
    }
    if let Command::Assign(assign) = command {
        let in_force = in_force(rows, loaded, &assign.agent_id)?;
        return Ok(Cow::Owned(Command::Assign(Box::new(Assign { in_force, ..(**assign).clone() }))));
    }
    if let Command::Plan(plan) = command {
        return Ok(plans::with_tasks(rows, loaded, plan)?.map_or(Cow::Borrowed(command), Cow::Owned));
    }
    if let Command::Access(change) = command
        && let ChangeAccess::Request(asked) = &**change
    {
        let by = loaded.writer.as_deref().unwrap_or_default();
        let open_by_caller = rows.reads().access_requests_by(by)?;
        let asked = RequestAccess { open_by_caller, ..asked.clone() };
        return Ok(Cow::Owned(Command::Access(Box::new(ChangeAccess::Request(asked)))));
    }
    let Command::Remind { suspension_id, asked: None } = command else { return Ok(Cow::Borrowed(command)) };
    let Some(open) = loaded.suspensions.iter().find(|row| row.suspension.id == *suspension_id) else {
        return Ok(Cow::Borrowed(command));
    };
    let question = rows.reads().question(open)?;
    let asked = Asked { question, messages: siblings(rows, open.rid)?, channels: env.channels.clone() };
    Ok(Cow::Owned(Command::Remind { suspension_id: *suspension_id, asked: Some(Box::new(asked)) }))
}

/// Completes a question with the earlier questions of the intent, the name of its task, and the earlier decisions about questions of its
/// kind; `None` if it has none of them.
fn asking<R: Rows>(rows: &mut R, loaded: &Loaded, suspend: &Suspend) -> RowsResult<Option<Suspend>> {
    let stops = suspend.kind.stops_intent();
    let asked_before = if stops { asked_before(rows, loaded)? } else { None };
    let task_id = suspend.task_id.filter(|_| stops);
    if asked_before.is_none() && task_id.is_none() && suspend.question.grounds.is_none() {
        return Ok(None);
    }
    let mut question = Question { asked_before, ..suspend.question.clone() };
    if let Some(task_id) = task_id {
        question.context.insert("task".to_owned(), rows.reads().task_body(task_id)?.name.into());
    }
    earlier::choose(rows.reads(), loaded.writer.as_deref().unwrap_or_default(), &mut question)?;
    Ok(Some(Suspend { question, ..suspend.clone() }))
}

/// Completes a question that is assigned to people with those who are asked. A record that repeats the open question asks those who were
/// asked; a record that may not be asked is refused by `decide`, which takes the announcement back.
fn asking_assigned<'a, R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    command: &'a Command,
    by: &Principal,
    now: DateTime<Utc>,
) -> Decided<Cow<'a, Command>> {
    if let Command::Plan(plan) = command {
        return if plan.chooses_people() {
            plans::asking_assigned(rows, loaded, plan, by)
        } else {
            Ok(Ok(Cow::Borrowed(command)))
        };
    }
    let chooses = |suspend: &&Suspend| suspend.question.assignees.is_some() || suspend.question.separation.is_some();
    let Some(suspend) = command.asks().filter(chooses) else {
        return Ok(Ok(Cow::Borrowed(command)));
    };
    if let Command::SuspendByRecord(record) = command {
        let again = Command::SuspendByRecord(Box::new(record.to_the_same_people()));
        if matches!(decide(&loaded.intent, &again, by, now).as_deref(), Ok([Event::Adopted { .. }])) {
            return Ok(Ok(Cow::Owned(again)));
        }
    }
    let asker = Asker { name: by.name.clone(), owner: by.owner.clone() };
    let askers = [&asker, &loaded.intent.created_by];
    match (assigning::asking_assigned(rows.reads(), suspend.clone(), &askers)?, command) {
        (Ok(suspend), _) => Ok(Ok(Cow::Owned(command.asking(suspend)))),
        (Err(Rejection::Invalid { errors }), Command::SuspendByRecord(record)) => {
            Ok(Ok(Cow::Owned(Command::SuspendByRecord(Box::new(ByRecord { asked: Err(errors), ..(**record).clone() })))))
        }
        (Err(rejection), _) => Ok(Err(rejection)),
    }
}

/// Completes the record by which a client asks a question (it writes the record into the intent's state) with the facts that
/// decide whether the question is new.
fn recorded<R: Rows>(rows: &mut R, loaded: &Loaded, record: &ByRecord) -> RowsResult<ByRecord> {
    let mut record = record.clone();
    // If the client's id is also an id of the server's own, it counts as used: an answer by this id would go to the server's
    // question, because the server's ids are looked up first.
    let is_ours = match SuspensionId::parse(&record.client_id) {
        Some(id) => rows.reads().suspension(id)?.is_some_and(|row| row.intent == loaded.row.rid),
        None => false,
    };
    record.is_used = is_ours || rows.reads().by_client_id(loaded.row.rid, &record.client_id)?.is_some();
    if let Some(open) = loaded.suspensions.iter().find(|row| row.suspension.ending.is_none()) {
        // The question as it was asked: a repeated one is the same, also if other people have it in hand by now.
        let suspension = Suspension { hands: Hands::default(), ..open.suspension.clone() };
        let asked = SuspensionRow { suspension, ..open.clone() };
        record.open = Some(Box::new(rows.reads().question(&asked)?));
    }
    if let Ok(suspend) = &mut record.asked {
        suspend.question.asked_before = asked_before(rows, loaded)?;
        suspend.question.client_id = Some(record.client_id.clone());
        earlier::choose(rows.reads(), loaded.writer.as_deref().unwrap_or_default(), &mut suspend.question)?;
    }
    Ok(record)
}

/// Turns a request that answers a question by its client's id into the same request with the server's id. `None` for any other
/// request, and if the id is one of the server's own, because those are looked up first.
fn by_client_id<R: Rows>(rows: &mut R, loaded: &Loaded, request: &Request) -> RowsResult<Option<Request>> {
    let Ok(Command::Respond(respond)) = &request.command else { return Ok(None) };
    let named = SuspensionId::parse(&respond.suspension_id);
    if named.and_then(|id| loaded.intent.suspension(id)).is_some() {
        return Ok(None);
    }
    if !is_client_id(&respond.suspension_id) {
        return Ok(None);
    }
    let Some(rid) = rows.reads().by_client_id(loaded.row.rid, &respond.suspension_id)? else { return Ok(None) };
    let suspension_id = rows.reads().suspension_at(rid)?.suspension.id.expose();
    let respond = Respond { suspension_id, ..(**respond).clone() };
    Ok(Some(Request { command: Ok(Command::Respond(Box::new(respond))), ..request.clone() }))
}

/// Turns a request that answers the question at a checkpoint into the same request with the question's id. `None` for any other request,
/// and if the question is not open. A gateway must know the id, so it gets none here.
fn at_checkpoint<R: Rows>(rows: &mut R, request: &Request) -> RowsResult<Option<Request>> {
    let Ok(Command::Respond(respond)) = &request.command else { return Ok(None) };
    let Some(checkpoint) = respond.checkpoint.as_ref().filter(|_| request.principal.role != Role::Channel) else {
        return Ok(None);
    };
    let Some((_, plan)) = rows.reads().plan(checkpoint.plan_id)? else { return Ok(None) };
    let Some(asked) = plan.question_at(&checkpoint.id) else { return Ok(None) };
    let respond = Respond { suspension_id: asked.expose(), checkpoint: None, ..(**respond).clone() };
    let command = Ok(Command::Respond(Box::new(respond)));
    Ok(Some(Request { command, ..request.clone() }))
}

/// The assignment of this agent, as the newest event about the assignment records it.
pub(super) fn in_force<R: Rows>(rows: &mut R, loaded: &Loaded, agent_id: &str) -> RowsResult<Option<Assigned>> {
    let Some(event) = rows.reads().assigning_event(loaded.row.rid, agent_id)? else { return Ok(None) };
    let served: EventView = serde_json::from_str(&rows.reads().event(event)?.served())?;
    Ok(Some(serde_json::from_value(served.payload.into())?))
}

/// The last question of the intent, as the next question will mention it; `None` if the last one was answered.
fn asked_before<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<Option<AskedBefore>> {
    let Some(newest) = loaded.row.newest_suspension else { return Ok(None) };
    let mut last = rows.reads().suspension_at(newest)?;
    if !AskedBefore::counts(&last.suspension) {
        return Ok(None);
    }
    last.suspension.counted = assigning::counted(rows.reads(), &last)?;
    let question = rows.reads().question(&last)?;
    Ok(Some(AskedBefore::of(&last.suspension, &question)))
}

/// The checks before the decision, in the order that every interface promises: 404, 403, missing `If-Match`, and replay
/// (the request repeats an earlier one).
fn admit<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    request: &Request,
    action: Action,
    handed_for: &[String],
    now: DateTime<Utc>,
) -> Decided<Option<Outcome>> {
    let asked_by = match request.target {
        Target::Suspension(id) => loaded.intent.suspension(id).map(|suspension| &suspension.asked_by),
        Target::Intent(_) | Target::Task(_) | Target::Plan(_) | Target::Coordinator(_) => {
            let named = request.command.as_ref().ok().and_then(Command::names_suspension);
            let named = named.and_then(|id| loaded.intent.suspension(id)).map(|suspension| &suspension.asked_by);
            let open = loaded.intent.open.as_ref().map(|open| &open.asked_by);
            named.or(open).or(loaded.intent.announcement.as_ref().map(|announced| &announced.by))
        }
    };
    let Intent { created_by, assigned, entries, .. } = &loaded.intent;
    let object = Object::Intent { created_by, asked_by, assigned, entries, handed_for, demands: loaded.answering.demands() };
    let authorized = match &request.command {
        Ok(Command::Leave(_)) => places::may_leave(loaded, &request.principal, object),
        Ok(_) | Err(_) if request.is_about_a_stop() => stops::may(rows, loaded, &request.principal, action, env.rules, now)?,
        Ok(_) | Err(_) => authorize(&request.principal, action, object),
    };
    if let Err(rejection) = authorized {
        return Ok(Err(rejection));
    }
    if let Ok(command) = &request.command
        && let Err(rejection) = permit(&loaded.intent, command, &request.principal, handed_for)
    {
        return Ok(Err(rejection));
    }
    if request.precondition == Precondition::Missing {
        let is_part = matches!(request.target, Target::Task(_) | Target::Plan(_));
        return Ok(Err(if is_part { Rejection::PreconditionRequired } else { Rejection::IfMatchRequired }));
    }
    let Some(key) = request.idempotency else { return Ok(Ok(None)) };
    if request.asks_under_a_key() {
        let Some((body_hash, suspension)) = rows.reads().suspension_key(&key.key_hash)? else { return Ok(Ok(None)) };
        if body_hash != key.body_hash {
            return Ok(Err(Rejection::IdempotencyMismatch));
        }
        // A repeated request to suspend gets the suspension as it is now, in whatever state that is.
        let row = rows.reads().suspension_at(suspension)?;
        let mut row = if loaded.intent.is_grouped { in_portfolios(rows.reads(), row)? } else { row };
        row.suspension.counted = assigning::counted(rows.reads(), &row)?;
        let question = rows.reads().question(&row)?;
        let warnings = match &request.command {
            Ok(Command::Suspend(suspend)) => warned_before(suspend, &row.suspension, &question),
            Ok(_) | Err(_) => Vec::new(),
        };
        let record = Box::new(SuspensionRecord { warnings, ..record_of(rows.reads(), &row, &question)? });
        return Ok(Ok(Some(Outcome::Suspension { record, version: loaded.intent.version })));
    }
    match kept_under(rows, key, now)? {
        Err(rejection) => Ok(Err(rejection)),
        Ok(kept) => Ok(Ok(kept.map(|kept| recalled(rows, &kept)).transpose()?)),
    }
}

/// The warnings of the first reply, which may have been lost: a repeated request gets them again.
pub(super) fn warned_before(suspend: &Suspend, asked: &Suspension, question: &Question) -> Vec<String> {
    let mut suspend = suspend.clone();
    let wanted = std::mem::replace(&mut suspend.question, question.clone());
    suspend.warn_of_assignees(&wanted);
    suspend.warn_of_demand(wanted.required_assurance, question.required_assurance);
    let of_deadline = suspend.deadline_warning(asked.suspended_at);
    suspend.warnings.into_iter().chain(of_deadline).chain(portfolio_warning(asked)).collect()
}

/// The suspension a write is about: the one that its path or its answer names; for other writes, the newest of the intent.
fn named(loaded: &Loaded, request: &Request) -> Option<i64> {
    let id = match (request.target, &request.command) {
        (Target::Suspension(id), _) => Some(id),
        (Target::Intent(_), Ok(command @ Command::Respond(_))) => command.names_suspension(),
        (Target::Intent(_) | Target::Task(_) | Target::Plan(_) | Target::Coordinator(_), _) => {
            return loaded.row.newest_suspension;
        }
    };
    loaded.suspensions.iter().find(|row| Some(row.suspension.id) == id).map(|row| row.rid)
}

fn remember<R: Rows>(rows: &mut R, loaded: &Loaded, request: &Request, outcome: &Outcome, now: DateTime<Utc>) -> RowsResult<()> {
    let Some(key) = request.idempotency else { return Ok(()) };
    if request.asks_under_a_key() {
        let asked = loaded.suspensions.first().ok_or(RowsError::Inconsistent("a suspend left no suspension open"))?;
        return rows.insert_suspension_key(key, asked.rid);
    }
    let kept = kept(loaded, outcome)?;
    if request.principal.role == Role::Agent {
        allowance::charge(rows, &request.principal.name, kept.len(), now)?;
    }
    rows.insert_idempotent(key, now, &kept)
}

/// Makes the checks that need the rows, for a command that has passed all others; returns a rejection, or warnings for the
/// caller.
fn weighed<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    command: &Command,
    events: &[Event],
    now: DateTime<Utc>,
) -> Decided<Vec<String>> {
    // The record repeats a question that is open already, so no person is asked anew.
    if let [Event::Adopted { .. }] = events {
        return Ok(Ok(Vec::new()));
    }
    if let Command::Plan(plan) = command
        && let PlanStep::Create(new) = &plan.step
    {
        let title = rows.reads().title(loaded.row.rid)?;
        let judged = new.seeming_secret.judge(&title_findings(&title));
        let judged = judged.map(|of_title| plan.warnings().into_iter().chain(of_title).collect());
        return Ok(judged.map_err(|errors| Rejection::Invalid { errors }));
    }
    // The names of the tasks are in the question that the review of a plan asks.
    if let Command::Plan(plan) = command
        && let PlanStep::Change(change) = &plan.step
        && let Some(review) = change.review.as_ref().filter(|_| loaded.intent.reviews_plans())
    {
        let found = findings("", &[], &review.question.context, None, None, None);
        let judged = change.seeming_secret.judge(&found);
        let judged = judged.map(|of_names| plan.warnings().into_iter().chain(of_names).collect());
        return Ok(judged.map_err(|errors| Rejection::Invalid { errors }));
    }
    if let Command::Plan(plan) = command {
        return Ok(Ok(plan.warnings()));
    }
    if let [Event::Hands(change)] = events {
        return hands::weighed(rows, loaded, change);
    }
    let Some(suspend) = command.asks() else {
        return Ok(refused_state(rows, loaded, command)?.map_or_else(|| Ok(Vec::new()), Err));
    };
    let before = suspend.question.asked_before.as_ref();
    let superseded = before.is_some_and(|before| before.superseded);
    if (before.is_some() || !suspend.kind.stops_intent())
        && let Err(rejection) = env.pressing.ask_anew(&unanswered(rows, env, loaded, superseded, now)?, now)
    {
        return Ok(Err(rejection));
    }
    // The title is in the header of every mail about the question, so it is searched for secrets, too.
    let title = rows.reads().title(loaded.row.rid)?;
    let mut found = title_findings(&title);
    if suspend.task_id.is_some() {
        // The name of the task is in the question, too.
        found.extend(findings("", &[], &suspend.question.context, None, None, None));
    }
    let of_title = suspend.seeming_secret.judge(&found).map_err(|errors| Rejection::Invalid { errors });
    let asked = |event: &Event| if let Event::Suspended(suspension, _) = event { portfolio_warning(suspension) } else { None };
    let ends_earlier = events.iter().find_map(asked);
    let warnings = suspend.warnings.iter().cloned();
    let unsigned = passkeys::warning(rows, &suspend.question)?;
    let unlisted = login_warning(rows.reads(), &suspend.question)?;
    let of_time = suspend.deadline_warning(now).into_iter().chain(ends_earlier);
    Ok(of_title.map(|of_title| warnings.chain(of_title).chain(of_time).chain(unsigned).chain(unlisted).collect()))
}

/// The warning for the asker of a question that the deadline of a portfolio ends before its own deadline.
fn portfolio_warning(suspension: &Suspension) -> Option<String> {
    let ends_at = rfc3339(suspension.ended_by_portfolio()?.at);
    Some(format!(
        "the deadline of a portfolio ends the question at {ends_at} if no person has answered, and no fallback applies then"
    ))
}

/// The times at which earlier questions of the intent ended without an answer, oldest first, and no more of them than are
/// needed to apply `asks_per_hour`. An open question that is about to be superseded counts as ended now.
fn unanswered<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    superseded: bool,
    now: DateTime<Utc>,
) -> RowsResult<Vec<DateTime<Utc>>> {
    let since = now - seconds(ASKS_WITHIN_SECONDS);
    let mut times = rows.reads().unanswered(loaded.row.rid, since, env.pressing.asks_per_hour.saturating_add(1))?;
    times.reverse();
    // An ending that was written while the clock was ahead is dated in the future. It counts as an ending of now, so that the
    // caller is never told to wait for more than an hour.
    for time in &mut times {
        *time = now.min(*time);
    }
    times.extend(superseded.then_some(now));
    Ok(times)
}

/// Refuses a patch after which the state would be too large, would have a contract that cannot be read, or would lack an output that it
/// had at the end. Only the rows have the state.
fn refused_state<R: Rows>(rows: &mut R, loaded: &Loaded, command: &Command) -> RowsResult<Option<Rejection>> {
    let Command::PatchState { patches, .. } = command else { return Ok(None) };
    let mut body = rows.reads().body(loaded.row.rid)?;
    let before = (loaded.intent.status == Status::Completed).then(|| unmet(&body.state));
    body.apply(patches);
    let size = serde_json::to_vec(&body.state)?.len();
    if size > STATE_BYTES_MAX {
        let message = format!("the state of an intent is at most {STATE_BYTES_MAX} bytes of JSON");
        return Ok(Some(Rejection::invalid("patches", "length", message)));
    }
    if let Some(before) = before {
        return Ok(keeps_outputs(loaded.intent.id, &before, unmet(&body.state), &body.title).err());
    }
    // Only a draft may change its contract.
    let errors = if patches.iter().any(is_reached_by) { flaws(&body.state) } else { Vec::new() };
    Ok((!errors.is_empty()).then_some(Rejection::Invalid { errors }))
}
