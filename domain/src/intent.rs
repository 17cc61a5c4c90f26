//! What a command does to an intent: `decide` says which events, `evolve` folds them back.

mod operator;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use self::operator::{extend, redrive, remind};
use crate::authority::{Principal, Role};
use crate::body::Patch;
use crate::command::{Command, Respond, Suspend};
use crate::confusable::skeleton;
use crate::delivery;
use crate::event::{
    Delivery, Event, ExpiryReason, REFUSED_VALUE_BYTES_MAX, RefusedAnswer, Renotified, Resumed, client_may_append, ending_of,
};
use crate::ids::{IntentId, SuspensionId};
use crate::lease::{self, Lease};
use crate::name::{form, is_same};
use crate::planted::{Bug, planted};
use crate::problem::Rejection;
use crate::suspension::{
    Asker, Ending, FallbackPolicy, Question, REFUSALS_RECORDED_MAX, Resolution, ResolutionReason, Suspension,
};

/// The lifecycle of an intent (RFC-0001, RFC-0025 §2); other protocols' states never appear here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Being written.
    #[default]
    Draft,
    /// Being worked on.
    Active,
    /// Waiting for something that is not a person.
    Blocked,
    /// Waiting for a person (RFC-0025 §2).
    SuspendedAwaitingInput,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

impl Status {
    /// All statuses, for parsing and for stores.
    pub const ALL: [Self; 6] =
        [Self::Draft, Self::Active, Self::Blocked, Self::SuspendedAwaitingInput, Self::Completed, Self::Abandoned];

    /// The wire's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::SuspendedAwaitingInput => "suspended_awaiting_input",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }

    /// The status with this word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    fn may_become(self, next: Self) -> bool {
        match self {
            Self::Draft | Self::Blocked | Self::SuspendedAwaitingInput => matches!(next, Self::Active | Self::Abandoned),
            Self::Active => matches!(next, Self::Blocked | Self::Completed | Self::Abandoned),
            Self::Completed | Self::Abandoned => false,
        }
    }
}

/// What deciding needs to know about an intent.
#[derive(Clone, Debug)]
pub struct Intent {
    /// Its id.
    pub id: IntentId,
    /// Where it stands.
    pub status: Status,
    /// 1 at first; +1 per state patch and per change of status.
    pub version: u32,
    /// Who created it, by credential.
    pub created_by: Asker,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// The open suspension.
    pub open: Option<Suspension>,
    /// Ended suspensions the command names.
    pub ended: Vec<Suspension>,
    /// Its leases that are not released.
    pub leases: Vec<Lease>,
}

/// A refusal, with the events it leaves behind: a late or duplicate answer is evidence, and is kept.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Why.
    pub rejection: Rejection,
    /// What time did in the meantime: the server's own events, not the caller's.
    pub deadline: Vec<Event>,
    /// What to record of the caller's try.
    pub record: Option<Box<Event>>,
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        Self { rejection, deadline: Vec::new(), record: None }
    }
}

/// Says whether `by` may give this command, where that depends on what it says; the role alone was asked before, by
/// [`crate::authority::authorize`]. `handed_for` holds the recipients of the messages about the question that `by` was handed, if it is a tied
/// gateway.
///
/// # Errors
///
/// `Forbidden`, `ReservedEventType` or `SelfResponse`.
pub fn permit(intent: &Intent, command: &Command, by: &Principal, handed_for: &[String]) -> Result<(), Rejection> {
    match command {
        Command::SetStatus { status, .. } => match &intent.open {
            // Outside a suspension an admin has no part in an agent's work.
            None if by.role == Role::Admin => {
                Err(Rejection::Forbidden { reason: "an admin changes the status of a suspended intent only".into() })
            }
            // An agent may not lift its own suspension: that would be an answer.
            Some(_) if *status == Status::Active && by.role != Role::Admin && !planted(Bug::AgentLiftsItsSuspension) => {
                let reason = "only an admin may set a suspended intent active; cancel the suspension instead".into();
                Err(Rejection::Forbidden { reason })
            }
            None | Some(_) => Ok(()),
        },
        Command::Append(event) if !client_may_append(&event.event_type) => {
            Err(Rejection::ReservedEventType { event_type: event.event_type.clone() })
        }
        // A gateway must not answer in the asker's name either.
        Command::Respond(respond) if by.role == Role::Channel => {
            let askers =
                intent.open.iter().chain(&intent.ended).map(|suspension| &suspension.asked_by).chain([&intent.created_by]);
            let claimed = respond.claimed_responded_by.as_ref();
            let is_asker =
                |asker: &Asker| claimed.is_some_and(|claimed| is_alike(claimed, &asker.name) || is_alike(claimed, &asker.owner));
            if askers.into_iter().any(is_asker) {
                return Err(Rejection::SelfResponse);
            }
            if by.tied_to.is_some() && claimed.is_some_and(|claimed| recipient(claimed, handed_for).is_none()) {
                let reason = "the webhooks this key is tied to were sent no message about this question for the person in responded_by, so the key may not answer for that person";
                return Err(Rejection::Forbidden { reason: reason.into() });
            }
            Ok(())
        }
        Command::PatchState { .. }
        | Command::Append(_)
        | Command::AcquireLease { .. }
        | Command::RenewLease { .. }
        | Command::ReleaseLease { .. }
        | Command::Suspend(_)
        | Command::Respond(_)
        | Command::Cancel { .. }
        | Command::Extend { .. }
        | Command::Remind { .. }
        | Command::DeadlineReached { .. }
        | Command::AttemptDue { .. }
        | Command::RecordDelivery(_)
        | Command::Redrive(_) => Ok(()),
    }
}

/// The recipient among `handed_for` that a gateway names.
fn recipient<'a>(claimed: &str, handed_for: &'a [String]) -> Option<&'a String> {
    let exactly = handed_for.iter().find(|person| *person == claimed);
    exactly.or_else(|| handed_for.iter().find(|person| person.eq_ignore_ascii_case(claimed)))
}

/// The same answer, with its person written as the recipient of that person's message is, so that the log has one spelling of one person.
pub fn named_as_handed(respond: &Respond, handed_for: &[String]) -> Respond {
    let claimed = respond.claimed_responded_by.as_ref();
    let claimed = claimed.map(|claimed| recipient(claimed, handed_for).unwrap_or(claimed));
    Respond { claimed_responded_by: claimed.cloned(), ..respond.clone() }
}

/// Whether a person would take one name for the other.
fn is_alike(one: &str, other: &str) -> bool {
    skeleton(&form(one)) == skeleton(&form(other))
}

/// Decides what `command` does to `intent` at `now`, without doing it.
///
/// Pure: no clock, no randomness, no I/O. Same inputs, same events, on every backend and in replay. Whether `by` may try at all was
/// decided before, by [`crate::authority::authorize`].
///
/// # Errors
///
/// The refusal, with the events that record it.
pub fn decide(intent: &Intent, command: &Command, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    match command {
        Command::PatchState { patches, agent_id } => patch_state(intent, patches, agent_id, now),
        Command::SetStatus { status, reason } => set_status(intent, *status, reason.as_ref(), by, now),
        Command::Append(event) => Ok(vec![Event::Appended(event.clone())]),
        Command::AcquireLease { id, agent_id, scope, duration_seconds } => {
            lease::acquire(intent, *id, agent_id, scope, *duration_seconds, now)
        }
        Command::RenewLease { id, agent_id, duration_seconds } => lease::renew(intent, *id, agent_id, *duration_seconds, now),
        Command::ReleaseLease { id, agent_id } => lease::release(intent, *id, agent_id, now),
        Command::Suspend(suspend) => self::suspend(intent, suspend, by, now),
        Command::Respond(respond) => self::respond(intent, respond, by, now),
        Command::Cancel { suspension_id, reason } => cancel(intent, *suspension_id, reason.as_ref(), by, now),
        Command::Extend { suspension_id, later, reason, cause } => {
            extend(intent, *suspension_id, *later, reason.as_ref(), *cause, by, now)
        }
        Command::Remind { suspension_id, asked } => remind(intent, *suspension_id, asked.as_deref(), by, now),
        Command::DeadlineReached { suspension_id } => Ok(match &intent.open {
            Some(open) if open.id == *suspension_id && open.is_expired(now) => end_by_deadline(intent, open),
            // An answer beat the timer. Losing that race is normal, so it is not an error.
            _ => Vec::new(),
        }),
        Command::AttemptDue { suspension_id, question } => Ok(match &intent.open {
            // After the deadline nobody is asked any more; the deadline's own timer says the rest.
            Some(open) if open.id == *suspension_id && !open.is_expired(now) => ask_again(open, question, now),
            _ => Vec::new(),
        }),
        Command::RecordDelivery(record) => Ok(delivery::record(intent, record, now)),
        Command::Redrive(delivery) => redrive(intent, delivery, by, now),
    }
}

fn patch_state(intent: &Intent, patches: &[Patch], agent_id: &str, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    if patches.iter().any(Patch::reaches_suspension) {
        return Err(Rejection::SuspensionIsServerOwned.into());
    }
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
    Ok(vec![Event::StatePatched(patches.to_vec())])
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
    if !intent.status.may_become(status) {
        return Err(Rejection::InvalidTransition { from: intent.status.as_str().into(), to: status.as_str().into() }.into());
    }
    let changed = Event::StatusChanged { old: intent.status, new: status, reason: reason.cloned() };
    let Some(open) = &intent.open else { return Ok(vec![changed]) };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    Ok(vec![withdrawn(open, ResolutionReason::Withdrawn, reason.cloned(), by), changed])
}

fn suspend(intent: &Intent, suspend: &Suspend, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::with_capacity(2);
    match (&intent.open, suspend.supersedes.as_deref()) {
        (Some(open), Some(named)) => {
            events.extend(supersede(intent, open, named, by, now)?);
        }
        (None, Some(named)) => return Err(why_refused(intent, named).into()),
        (Some(_), None) if planted(Bug::SecondQuestion) => {}
        (Some(_), None) => return Err(Rejection::NotActive { status: intent.status.as_str().into() }.into()),
        (None, None) if intent.status != Status::Active => {
            return Err(Rejection::NotActive { status: intent.status.as_str().into() }.into());
        }
        (None, None) => {}
    }
    let suspension = Suspension {
        id: suspend.id,
        intent_id: intent.id,
        kind: suspend.kind,
        version: 1,
        attempt: 1,
        response_type: suspend.response_type,
        choices: suspend.choices.clone(),
        suspended_at: now,
        expires_at: suspend.expires_at(now),
        fallback_policy: suspend.fallback_policy,
        fallback_value: suspend.fallback_value.clone(),
        // Nobody yet; with nobody to tell, nobody ever: asking no one must not become consent.
        reached: false,
        requires_delivery: suspend.requires_delivery,
        refusals: 0,
        reminded_at: None,
        asked_by: Asker { name: by.name.clone(), owner: by.owner.clone() },
        ending: None,
    };
    events.push(Event::Suspended(Box::new(suspension), Box::new(suspend.question.clone())));
    events.extend(escalated(suspend.id, &suspend.question, 1));
    if intent.status != Status::SuspendedAwaitingInput {
        events.push(Event::StatusChanged {
            old: intent.status,
            new: Status::SuspendedAwaitingInput,
            reason: Some("suspended".into()),
        });
    }
    Ok(events)
}

/// Every attempt that has become due since the last one (RFC-0026 §4): the newest tells everybody at once, the others were missed while
/// the server was away and only get their event. Never three messages in a second.
fn ask_again(open: &Suspension, question: &Question, now: DateTime<Utc>) -> Vec<Event> {
    let Some(policy) = &question.retry_policy else { return Vec::new() };
    let newest = policy.newest_due(open.suspended_at, now);
    let missed = open.attempt + 1..=newest;
    let mut events = Vec::new();
    for attempt in missed.clone() {
        let skipped = attempt < newest && !planted(Bug::MissedAttemptsAllSend);
        if attempt < newest && planted(Bug::MissedAttemptUnrecorded) {
            continue;
        }
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
            next_attempt_at: if planted(Bug::TimerFromTheLastFire) {
                policy.next_due_at(now, 1)
            } else {
                policy.next_due_at(open.suspended_at, attempt)
            },
            skipped,
            makes_up_from: if skipped { attempt } else { *missed.start() },
        })));
        events.extend(escalated(open.id, question, attempt));
    }
    events
}

/// The event of the rung that takes effect at `attempt`, if one does.
fn escalated(suspension_id: SuspensionId, question: &Question, attempt: u32) -> Option<Event> {
    let rung = question.retry_policy.as_ref()?.rung_at(attempt)?;
    Some(Event::SuspensionEscalated {
        suspension_id,
        attempt,
        escalated_to: question.recipients_at(attempt).to_vec(),
        channel_hint: rung.channel_hint.clone(),
    })
}

fn supersede(
    intent: &Intent,
    open: &Suspension,
    named: &str,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Option<Event>, Refusal> {
    if SuspensionId::parse(named) != Some(open.id) {
        return Err(why_refused(intent, named).into());
    }
    // A question whose time has passed is decided by its deadline, not by its asker.
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    Ok(Some(withdrawn(open, ResolutionReason::Superseded, None, by)))
}

fn respond(intent: &Intent, respond: &Respond, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    // Only a gateway may speak for another, and must.
    let claimed = respond.claimed_responded_by.as_ref();
    let responded_by =
        claimed.filter(|_| by.role == Role::Channel || planted(Bug::ResponderFromTheBody)).unwrap_or(&by.subject).clone();
    let named = SuspensionId::parse(&respond.suspension_id);
    let Some(open) = intent.open.as_ref().filter(|open| Some(open.id) == named) else {
        // Not "expected X": the active id is a capability, and this caller does not hold it.
        let rejection = why_refused(intent, &respond.suspension_id);
        let record = intent
            .ended
            .iter()
            .find(|ended| Some(ended.id) == named)
            .and_then(|ended| record_refusal(ended, &rejection, respond, responded_by, by));
        return Err(Refusal { rejection, deadline: Vec::new(), record });
    };
    // The deadline binds when the clock says so, not when our timer gets around to it; a late answer makes it bind now.
    if open.is_expired(now) && !planted(Bug::AnswerAfterTheDeadline) {
        let refusal = expired(intent, open);
        let record = record_refusal(open, &refusal.rejection, respond, responded_by, by);
        return Err(Refusal { record, ..refusal });
    }
    if by.role == Role::Channel && claimed.is_none() {
        return Err(Rejection::invalid("responded_by", "required", "a channel key must name the person who answered").into());
    }
    let Some(value) = &respond.value else {
        // No choice and no text is like it; a form takes any value, so it must be told from none.
        open.check(&Value::Null)?;
        return Err(Rejection::invalid("value", "required", "value is required").into());
    };
    if !planted(Bug::ValueUnchecked) {
        open.check(value)?;
    }
    let choice = open.choice(value);
    let resumed = Resumed {
        suspension_id: open.id,
        choice_label: choice.map(|choice| choice.label.clone()),
        choice_description: choice.and_then(|choice| choice.description.clone()),
        role: by.role,
        assurance: by.assurance,
        credential: by.credential,
        claimed_responded_by: respond.claimed_responded_by.clone().filter(|claimed| *claimed != responded_by),
        ending: Ending {
            resolution: Resolution::Responded,
            reason: None,
            at: now,
            response: Some(value.clone()),
            by: Some(responded_by),
            metadata: respond.metadata.clone(),
        },
    };
    Ok(vec![
        Event::Resumed(Box::new(resumed)),
        Event::StatusChanged { old: intent.status, new: Status::Active, reason: Some("answered".into()) },
    ])
}

fn record_refusal(
    suspension: &Suspension,
    rejection: &Rejection,
    respond: &Respond,
    responded_by: String,
    by: &Principal,
) -> Option<Box<Event>> {
    // Recording is rate-limited, or a stuck client could fill the log.
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
    let Some(open) = intent.open.as_ref().filter(|open| open.id == suspension_id) else {
        return Err(why_refused(intent, &suspension_id.expose()).into());
    };
    if open.is_expired(now) && !planted(Bug::CancelAfterTheDeadline) {
        return Err(expired(intent, open));
    }
    Ok(vec![
        withdrawn(open, ResolutionReason::Withdrawn, reason.cloned(), by),
        Event::StatusChanged { old: intent.status, new: Status::Active, reason: Some("withdrawn".into()) },
    ])
}

fn withdrawn(open: &Suspension, reason: ResolutionReason, note: Option<String>, by: &Principal) -> Event {
    let (cancelled_by, credential) = (by.subject.clone(), by.credential);
    Event::SuspensionCancelled { suspension_id: open.id, reason, note, cancelled_by, credential }
}

/// The refusal of anything that comes after the deadline; it carries the deadline's own events, so that time is never left undone.
fn expired(intent: &Intent, open: &Suspension) -> Refusal {
    Refusal {
        rejection: Rejection::Expired { expired_at: open.expires_at },
        deadline: end_by_deadline(intent, open),
        record: None,
    }
}

/// What the deadline does (RFC-0025 §6): our own silence must never be recorded as a person's.
fn end_by_deadline(intent: &Intent, open: &Suspension) -> Vec<Event> {
    let falls_back = open.fallback_policy != FallbackPolicy::Fail;
    let excused = falls_back && !open.requires_delivery;
    let undeliverable = !open.reached && !excused && !planted(Bug::FallbackUnreached);
    let continues = falls_back && !undeliverable;
    let (new, reason) = match (continues, undeliverable) {
        (true, _) => (Status::Active, "fallback_applied"),
        (false, true) => (Status::Abandoned, "undeliverable"),
        (false, false) if planted(Bug::FailureGoesOn) => (Status::Active, "suspension_expired"),
        (false, false) => (Status::Abandoned, "suspension_expired"),
    };
    let mut events = Vec::with_capacity(3);
    if undeliverable {
        events.push(Event::SuspensionUndeliverable { suspension_id: open.id });
    }
    events.push(Event::SuspensionExpired {
        suspension_id: open.id,
        reason: if undeliverable { ExpiryReason::Undeliverable } else { ExpiryReason::Timeout },
        attempts: open.attempt,
        fallback_policy: open.fallback_policy,
        fallback_value: if continues { open.fallback_value.clone() } else { None },
        reached: open.reached,
    });
    events.push(Event::StatusChanged { old: intent.status, new, reason: Some(reason.into()) });
    events
}

/// Why an id that is not the open one cannot be acted on.
fn why_refused(intent: &Intent, suspension_id: &str) -> Rejection {
    let named = SuspensionId::parse(suspension_id).and_then(|id| intent.ended.iter().find(|ended| ended.id == id));
    let Some(Ending { resolution, reason, at, by, .. }) = named.and_then(|ended| ended.ending.as_ref()) else {
        return if intent.open.is_some() { Rejection::SuspensionMismatch } else { Rejection::NotSuspended };
    };
    match (resolution, reason) {
        (Resolution::Expired, _) | (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => {
            Rejection::Expired { expired_at: named.and_then(|ended| ended.expires_at) }
        }
        (Resolution::Responded | Resolution::Cancelled, _) => {
            Rejection::AlreadyResolved { resolution: *resolution, reason: *reason, resolved_at: *at, resolved_by: by.clone() }
        }
    }
}

/// Folds one event into the intent; the state a store keeps is exactly this fold.
///
/// `dated` is the event's own time, which is never before that of the event it follows; `now` is when it happened by the clock, which is
/// what deadlines go by.
pub fn evolve(intent: &mut Intent, event: &Event, now: DateTime<Utc>, dated: DateTime<Utc>) {
    intent.updated_at = dated;
    match event {
        // Born with version 1: see `Intent::born`.
        Event::IntentCreated(..)
        | Event::Appended(_)
        | Event::DeliveryFailed(_)
        | Event::DeliveryFailover(_)
        | Event::DeliveryRedriven { .. }
        | Event::SuspensionEscalated { .. } => {}
        Event::SuspensionRenotified(renotified) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == renotified.suspension_id) {
                open.attempt = renotified.attempt;
                open.version += 1;
            }
        }
        Event::SuspensionReminded(reminded) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == reminded.suspension_id) {
                open.reminded_at = Some(now);
            }
        }
        Event::SuspensionExtended(extended) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == extended.suspension_id) {
                open.expires_at = Some(extended.new_expires_at);
                open.version += 1;
            }
        }
        Event::StatePatched(_) => intent.version += 1,
        Event::StatusChanged { new, .. } => {
            intent.status = *new;
            intent.version += 1;
        }
        Event::Suspended(suspension, _) => intent.open = Some((**suspension).clone()),
        Event::Resumed(_)
        | Event::SuspensionExpired { .. }
        | Event::SuspensionUndeliverable { .. }
        | Event::SuspensionCancelled { .. } => end(intent, ending_of(event, dated), dated),
        Event::LateAnswer(refused) | Event::ResponseRejected(refused) => {
            for suspension in intent.open.iter_mut().chain(&mut intent.ended) {
                if suspension.id == refused.suspension_id {
                    suspension.refusals += 1;
                }
            }
        }
        Event::LeaseAcquired(lease) => intent.leases.push((**lease).clone()),
        Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => {
            for held in &mut intent.leases {
                if held.id == lease.id {
                    held.clone_from(lease);
                }
            }
        }
        Event::DeliverySent { delivery, reached } | Event::DeliveryBounced { delivery, reached } => {
            set_reached(intent, delivery, *reached, now);
        }
    }
}

/// Only in time: what was decided about an ended one stays decided.
fn set_reached(intent: &mut Intent, delivery: &Delivery, reached: bool, now: DateTime<Utc>) {
    if let Some(open) = intent
        .open
        .as_mut()
        .filter(|open| open.id == delivery.suspension_id && (!open.is_expired(now) || planted(Bug::ReachedAfterTheEnd)))
    {
        open.reached = reached;
    }
}

fn end(intent: &mut Intent, ending: Option<Ending>, now: DateTime<Utc>) {
    let (Some(ending), Some(mut suspension)) = (ending, intent.open.take_if(|open| open.ending.is_none())) else { return };
    suspension.version += u32::from(!planted(Bug::EndingKeepsTheVersion));
    suspension.ending = Some(ending);
    for lease in &mut intent.leases {
        lease.outlive_suspension(suspension.suspended_at, now);
    }
    intent.ended.push(suspension);
}

impl Intent {
    /// The intent as its first event leaves it.
    pub fn born(id: IntentId, status: Status, created_by: Asker, now: DateTime<Utc>) -> Self {
        Self {
            id,
            status,
            version: 1,
            created_by,
            created_at: now,
            updated_at: now,
            open: None,
            ended: Vec::new(),
            leases: Vec::new(),
        }
    }

    /// Since when it waits for a person.
    pub fn suspended_since(&self) -> Option<DateTime<Utc>> {
        self.open.as_ref().map(|open| open.suspended_at)
    }

    /// The suspension with this id, open or ended.
    pub fn suspension(&self, id: SuspensionId) -> Option<&Suspension> {
        self.open.iter().chain(&self.ended).find(|suspension| suspension.id == id)
    }
}
