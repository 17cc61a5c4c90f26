//! Decides the effect of a command on an intent: `decide` returns events, and `evolve` applies them to the intent.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::base::field::UNSUPPORTED;
use crate::base::ids::SuspensionId;
use crate::base::name::is_same;
use crate::base::time::seconds;
use crate::intent::Intent;
use crate::intent::body::Patch;
use crate::intent::changing::changed;
use crate::intent::command::{Command, Respond};
use crate::intent::event::{Event, ExtensionCause, REFUSED_VALUE_BYTES_MAX, RefusedAnswer, Renotified, Resumed};
use crate::intent::operator::{extend, redrive, remind};
use crate::intent::record::Record;
use crate::intent::refusal::{ANSWERED, Refusal, end_by_deadline, expired, goes_on, names_a_person, why_refused, withdrawn};
use crate::intent::status::Status;
use crate::intent::suspend::{escalated, suspend, suspend_by_record};
use crate::intent::{
    agents, announcing, coordinators, course, deliveries, entries, govern, graph, handing, leases, plans, portfolios, quorum,
    resting, retries, stops, tasks, workflow,
};
use crate::people::principal::{Assurance, Principal, Role};
use crate::problem::Rejection;
use crate::suspension::errand::Via;
use crate::suspension::evidence::{Evidence, action_digest};
use crate::suspension::lease::Lease;
use crate::suspension::proposal::PROPOSAL;
use crate::suspension::{Ending, FallbackPolicy, Question, REFUSALS_RECORDED_MAX, Resolution, ResolutionReason, Suspension};

/// The number of seconds before the deadline in which a change by the asker is taken for a sign that it has applied its fallback.
/// An earlier change is no sign of that, unless the asker's clock is ahead by more than this.
const EARLY_SECONDS_MAX: u32 = 60;

/// How many refusals of a question may be recorded before an answer of the asker itself is not recorded any more.
const OWN_RECORDED_MAX: u32 = REFUSALS_RECORDED_MAX / 2;

/// Decides what `command` does to `intent` at `now`, without doing it.
///
/// Pure: no clock, no randomness, no I/O. Same inputs, same events, on every backend and in replay. Whether `by` may give the
/// command at all was decided before, by [`crate::people::authority::authorize`].
///
/// # Errors
///
/// The refusal, with the events that record it.
pub fn decide(intent: &Intent, command: &Command, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    govern::enforce(intent, command, by)?;
    match resting::enforce(intent, command, by, now).and_then(|()| effects(intent, command, by, now)) {
        Ok(events) => Ok(with_consequences(intent, events, by, now)),
        Err(refusal) => {
            let deadline = with_consequences(intent, refusal.deadline, &Principal::server(), now);
            Err(Refusal { deadline, ..refusal })
        }
    }
}

/// Adds the events that follow from these, whatever the command was.
fn with_consequences(intent: &Intent, events: Vec<Event>, by: &Principal, now: DateTime<Utc>) -> Vec<Event> {
    let events = with_requests_ended(intent, events, by);
    let events = course::settled(intent, events, now);
    let events = portfolios::with_members_told(intent, events, now);
    coordinators::settled(intent, events, by)
}

/// If these events end the intent, also withdraws the requests that are open beside it: there is nothing left to decide.
fn with_requests_ended(intent: &Intent, mut events: Vec<Event>, by: &Principal) -> Vec<Event> {
    if events.iter().any(Event::ends_intent) {
        let requests = intent.beside.iter().filter(|request| request.ending.is_none());
        let note = Some("the intent has ended".to_owned());
        events.extend(requests.map(|request| withdrawn(request, ResolutionReason::Withdrawn, note.clone(), by)));
    }
    events
}

fn effects(intent: &Intent, command: &Command, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::PatchState { patches, agent_id } => patch_state(intent, patches, agent_id, by, now),
        Command::SetStatus { announces: Some(id), .. } => announcing::announce(intent, *id, by, now),
        Command::AnnouncementDue => Ok(announcing::lapse(intent, now)),
        Command::SetStatus { status, reason, announces: None } => set_status(intent, *status, reason.as_ref(), by, now),
        Command::Append(event) => Ok(vec![Event::Appended(event.clone())]),
        Command::Record(record) => {
            if let Record::CoordinatorDecision(decision) = &**record {
                coordinators::may_record(intent, decision, by)?;
            }
            if let Record::Failure(failure) = &**record {
                return Ok(retries::record(intent, failure, by, now));
            }
            Ok(vec![Event::Recorded(record.clone())])
        }
        Command::RetryDue { in_force } => Ok(retries::take_next(intent, in_force.as_deref(), now)),
        Command::Coordinate(command) => coordinators::decide(intent, command, by, now),
        Command::Assign(assign) => agents::assign(intent, assign),
        Command::Govern(policy) => govern::govern(intent, policy.as_deref(), by),
        Command::Unassign { agent_id } => agents::unassign(intent, agent_id, by, now),
        Command::Access(change) => entries::change(intent, change, by, now),
        Command::Join(join) => portfolios::join(intent, join, by, now),
        Command::Leave(portfolio_id) => portfolios::leave(intent, *portfolio_id, by, now),
        Command::AddDependency(_) => graph::add(intent, by),
        Command::RemoveDependency(_) => graph::remove(intent, by),
        Command::DependencyCompleted(id) => Ok(graph::met(intent, *id)),
        Command::Task(task) => tasks::decide(intent, task, by, now),
        Command::Plan(plan) => plans::decide(intent, plan, by),
        Command::AcquireLease { id, agent_id, scope, duration_seconds } => {
            leases::acquire(intent, *id, agent_id, scope, *duration_seconds, now)
        }
        Command::RenewLease { id, agent_id, duration_seconds } => leases::renew(intent, *id, agent_id, *duration_seconds, now),
        Command::ReleaseLease { id, agent_id } => leases::release(intent, *id, agent_id, now),
        Command::Suspend(asked) => {
            let blocked = asked.task_id.map(|id| tasks::escalated(intent, id, by, now)).transpose()?;
            Ok(blocked.unwrap_or_default().into_iter().chain(suspend(intent, asked, by, now)?).collect())
        }
        Command::SuspendByRecord(record) => suspend_by_record(intent, record, by, now),
        Command::Respond(respond) => self::respond(intent, respond, by, now),
        Command::Stop(stop) => stops::decide(intent, stop, by, now),
        Command::Hand(hand) => {
            Ok(handing::decide(intent, hand, by, now)?.map(|change| Event::Hands(Box::new(change))).into_iter().collect())
        }
        Command::Cancel { suspension_id, reason } => cancel(intent, *suspension_id, reason.as_ref(), by, now),
        Command::Extend { suspension_id, later, cause: ExtensionCause::Outage, .. }
            if let Some(stop) = stops::opened(intent, *suspension_id) =>
        {
            Ok(stops::give_back(stop, *later))
        }
        Command::Extend { suspension_id, later, reason, cause } => {
            extend(intent, *suspension_id, *later, reason.as_ref(), *cause, by, now)
        }
        Command::Remind { suspension_id, asked } => remind(intent, *suspension_id, asked.as_deref(), by, now),
        Command::DeadlineReached { suspension_id } => Ok(match intent.opened(*suspension_id) {
            Some(open) if open.is_expired(now) => end_by_deadline(intent, open),
            // The question ended, or its deadline moved, before the timer fired. That is normal, so it is not an error.
            Some(_) => Vec::new(),
            None => stops::deadline(intent, *suspension_id, now),
        }),
        Command::AttemptDue { suspension_id, question } => Ok(match intent.opened(*suspension_id) {
            // After the deadline no attempt is made; the deadline's own timer ends the question.
            Some(open) if !open.is_expired(now) => ask_again(open, question, now),
            _ => Vec::new(),
        }),
        Command::RecordDelivery(record) => Ok(deliveries::record(intent, record, now)),
        Command::Redrive(delivery) => redrive(intent, delivery, by, now),
    }
}

fn patch_state(
    intent: &Intent,
    patches: &[Patch],
    agent_id: &str,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if patches.iter().any(Patch::reaches_suspension) {
        return Err(Rejection::SuspensionIsServerOwned.into());
    }
    workflow::may_patch(intent, patches)?;
    let suspended = intent.suspended_since();
    for patch in patches {
        let held_by_other = |lease: &&Lease| {
            lease.holds(now, suspended)
                && !is_same(&lease.agent_id, agent_id)
                && patch.segments().next() == Some(lease.scope.as_str())
        };
        if let Some(lease) = intent.leases.iter().find(held_by_other) {
            return Err(Rejection::LeaseConflict { existing: Box::new(lease.clone()) }.into());
        }
    }
    let went_on = intent.open.as_ref().filter(|open| may_have_gone_on(open, by, now));
    let went_on = went_on.map(|open| Event::AskerWentOn { suspension_id: open.id });
    Ok([Event::StatePatched(patches.to_vec())].into_iter().chain(went_on).collect())
}

/// Whether the agent that changes the intent asked its open question and may already have applied the fallback by its own clock.
/// The agent does not report a fallback, so its next change of the state is the first sign of it.
fn may_have_gone_on(open: &Suspension, by: &Principal, now: DateTime<Utc>) -> bool {
    let is_near = open.expires_at.is_some_and(|expires_at| expires_at - now <= seconds(EARLY_SECONDS_MAX));
    open.fixed_deadline && open.fallback_policy != FallbackPolicy::Fail && is_near && is_same(&open.asked_by.name, &by.name)
}

fn set_status(
    intent: &Intent,
    status: Status,
    reason: Option<&String>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if status == Status::SuspendedAwaitingInput {
        return Err(Rejection::UseSuspend.into());
    }
    if let Some(stop) = &intent.stop {
        return stops::set_status(intent, stop, status, reason, by, now);
    }
    // Two changes are allowed that `may_become` does not know. The OpenIntent client completes drafts, and a person may complete
    // a blocked intent although it waits for another one; `may_complete` below refuses the latter to agents.
    let is_short_cut = match (intent.status, status) {
        (Status::Draft, Status::Completed) => by.client.is_some(),
        (Status::Blocked, Status::Completed) => intent.unmet > 0,
        (_, _) => false,
    };
    // An errand ends with its question, so there is no work to which it could return.
    let has_no_way_back = intent.is_errand && status == Status::Active;
    if has_no_way_back || !is_short_cut && !intent.status.may_become(status) {
        return Err(Rejection::InvalidTransition { from: intent.status.as_str().into(), to: status.as_str().into() }.into());
    }
    if status == Status::Active {
        graph::may_go_on(intent)?;
    }
    let mut overrides = Vec::new();
    if status == Status::Completed {
        overrides = graph::may_complete(intent, reason.map(String::as_str), by)?;
        workflow::may_complete(intent)?;
    }
    let mut changed = changed(intent, status, reason.cloned());
    if let Event::StatusChanged { overrides: left, .. } = &mut changed {
        *left = overrides;
    }
    let Some(open) = &intent.open else { return Ok(vec![changed]) };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    Ok(vec![withdrawn(open, ResolutionReason::Withdrawn, reason.cloned(), by), changed])
}

/// Every attempt that has become due since the last one (RFC-0026 §4). Only the newest sends messages, to the people of all these
/// attempts. The others were missed while the server was away, and get only their event, so that people do not get three messages
/// in a second.
fn ask_again(open: &Suspension, question: &Question, now: DateTime<Utc>) -> Vec<Event> {
    let Some(policy) = &question.retry_policy else { return Vec::new() };
    let newest = policy.newest_due(open.suspended_at, now);
    let missed = open.attempt + 1..=newest;
    let mut events = Vec::new();
    for attempt in missed.clone() {
        let skipped = attempt < newest;
        events.push(Event::SuspensionRenotified(Box::new(Renotified {
            suspension_id: open.id,
            attempt,
            max_attempts: policy.max_attempts,
            channel_hint: question.channel_at(attempt).map(str::to_owned),
            notify_to: if skipped {
                question.recipients_at(attempt).to_vec()
            } else {
                question.recipients_during(missed.clone())
            },
            next_attempt_at: policy.next_due_at(open.suspended_at, attempt),
            skipped,
            makes_up_from: if skipped { attempt } else { *missed.start() },
        })));
        events.extend(escalated(open.id, question, attempt));
    }
    events
}

fn respond(intent: &Intent, respond: &Respond, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    // Only a gateway may, and must, answer in another person's name.
    let claimed = respond.claimed_responded_by.as_ref();
    let responded_by = claimed.filter(|_| by.role == Role::Channel).unwrap_or(&by.subject).clone();
    let named = SuspensionId::parse(&respond.suspension_id);
    if let Some(kind) = respond.expects
        && named.and_then(|id| intent.suspension(id)).is_none_or(|suspension| suspension.kind != kind)
    {
        return Err(Rejection::NotFound.into());
    }
    let Some(open) = named.and_then(|id| intent.opened(id)) else {
        if let Some(checkpoint) = &respond.checkpoint {
            return Err(plans::why_not_open(intent, checkpoint).into());
        }
        if let Some(announced) = &intent.announcement
            && named.and_then(|id| intent.suspension(id)).is_none()
        {
            return announcing::answer(intent, announced, respond, responded_by, by, now);
        }
        // The refusal does not name the active id, because that id is a capability, and this caller does not hold it.
        let rejection = why_refused(intent, &respond.suspension_id);
        let record = intent
            .ended
            .iter()
            .find(|ended| Some(ended.id) == named)
            .and_then(|ended| record_refusal(ended, &rejection, respond, responded_by, by));
        return Err(Refusal { rejection, deadline: Vec::new(), record });
    };
    // The deadline counts by the clock, even if its timer has not fired yet. A late answer ends the question now.
    if open.is_expired(now) {
        let refusal = expired(intent, open);
        let record = record_refusal(open, &refusal.rejection, respond, responded_by, by);
        return Err(Refusal { record, ..refusal });
    }
    plans::may_answer(intent, open.id, by)?;
    names_a_person(respond, by)?;
    if respond.takes_back {
        return Ok(quorum::take_back(open, respond, by)?);
    }
    let Some(value) = &respond.value else {
        // For a choice or a text, this check refuses the missing value, and its error says which answers are accepted. A form
        // takes any value, so a missing value must be refused separately.
        open.check(&Value::Null)?;
        return Err(Rejection::invalid("value", "required", "value is required").into());
    };
    let (action, evidence) = checked(open, respond, value)?;
    let choice = open.choice(value);
    let resumed = Resumed {
        suspension_id: open.id,
        kind: open.kind,
        choice_label: choice.map(|choice| choice.label.clone()),
        choice_description: choice.and_then(|choice| choice.description.clone()),
        role: by.role,
        assurance: by.assurance,
        credential: by.credential,
        claimed_responded_by: respond.claimed_responded_by.clone().filter(|claimed| *claimed != responded_by),
        evidence,
        // Only a signature that the store has verified makes the assurance that of a passkey.
        assertion: respond.assertion.clone().filter(|_| by.assurance == Assurance::Passkey),
        agreed: Vec::new(),
        in_place_of: respond.in_place_of.clone(),
        via: respond.via,
        action,
        ending: Ending {
            resolution: Resolution::Responded,
            reason: None,
            at: now,
            response: Some(value.clone()),
            by: Some(responded_by),
            metadata: respond.metadata.clone(),
        },
    };
    if let Some(needed) = &open.quorum {
        return Ok(quorum::count(intent, open, needed, resumed, respond, by)?);
    }
    let answered = Event::Resumed(Box::new(resumed));
    Ok(std::iter::once(answered).chain(goes_on(intent, open, ANSWERED)).collect())
}

/// The action about which an answer decides, and the hashes of the answer.
type Decided = (Option<Map<String, Value>>, Option<Evidence>);

/// Checks the value of an answer and the demands on it.
fn checked(open: &Suspension, respond: &Respond, value: &Value) -> Result<Decided, Rejection> {
    open.check(value)?;
    if let Some(demand) = &respond.comment_on_refusal {
        demand.check(value, respond.metadata.as_ref()).map_err(|error| Rejection::Invalid { errors: vec![error] })?;
    }
    let Some(proposal) = &respond.proposal else {
        if respond.named.action.is_some() {
            return Err(Rejection::invalid(PROPOSAL, UNSUPPORTED, "must be left out: the question proposes no action"));
        }
        let shown = respond.evidence.map(|evidence| evidence.action_digest);
        if shown.zip(respond.named.based_on).is_some_and(|(shown, based_on)| shown != based_on) {
            return Err(Rejection::invalid("based_on", "digest", "must be the action_digest of the question, or left out"));
        }
        return Ok((None, respond.evidence));
    };
    let action = proposal.decided(&open.counted, value, &respond.named)?;
    let proposed_digest = action_digest(&proposal.action);
    let evidence = respond.evidence.and_then(|evidence| Evidence { proposed_digest, ..evidence }.about(&action));
    Ok((Some(action), evidence))
}

/// The event that records an answer of the asker, or of a key or person of its owner, to this open question; `None` if the answer names no
/// open question, came through a door of this server's own, or enough of them are recorded.
pub fn own_answer(intent: &Intent, respond: &Respond, by: &Principal) -> Option<Event> {
    // A message of another protocol may be the words of a model, and people should learn that it tried.
    if respond.via != Some(Via::A2a) {
        return None;
    }
    let open = SuspensionId::parse(&respond.suspension_id).and_then(|id| intent.opened(id))?;
    // Otherwise an agent could use up the record, and a late answer of a person would leave no trace.
    if open.refusals >= OWN_RECORDED_MAX {
        return None;
    }
    record_refusal(open, &Rejection::SelfResponse, respond, by.subject.clone(), by).map(|record| *record)
}

/// The event that records words that are no answer to this open question.
pub fn misunderstood(intent: &Intent, respond: &Respond, rejection: &Rejection, by: &Principal) -> Option<Event> {
    let open = SuspensionId::parse(&respond.suspension_id).and_then(|id| intent.opened(id))?;
    record_refusal(open, rejection, respond, by.subject.clone(), by).map(|record| *record)
}

fn record_refusal(
    suspension: &Suspension,
    rejection: &Rejection,
    respond: &Respond,
    responded_by: String,
    by: &Principal,
) -> Option<Box<Event>> {
    // The number of recorded refusals is limited, or a stuck client could fill the log.
    if suspension.refusals >= REFUSALS_RECORDED_MAX {
        return None;
    }
    let small = |value: &&Value| value.to_string().len() <= REFUSED_VALUE_BYTES_MAX;
    let refused = RefusedAnswer {
        suspension_id: suspension.id,
        code: rejection.entry().code,
        value: respond.value.as_ref().filter(small).cloned(),
        responded_by,
        credential: by.credential,
        via: respond.via,
    };
    let late = matches!(rejection, Rejection::Expired { .. });
    Some(Box::new(if late { Event::LateAnswer(refused) } else { Event::ResponseRejected(refused) }))
}

fn cancel(
    intent: &Intent,
    suspension_id: SuspensionId,
    reason: Option<&String>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let Some(open) = intent.opened(suspension_id) else {
        return Err(why_refused(intent, &suspension_id.expose()).into());
    };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    plans::may_take_back(intent, open.id, by)?;
    let withdrawn = withdrawn(open, ResolutionReason::Withdrawn, reason.cloned(), by);
    Ok(std::iter::once(withdrawn).chain(goes_on(intent, open, "withdrawn")).collect())
}
