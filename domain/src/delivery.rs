//! What becomes of messages: who was reached, and who is asked at once because nobody was.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::event::{Delivery, Event};
use crate::ids::SuspensionId;
use crate::intent::Intent;
use crate::suspension::{Question, Suspension};

/// The longest token that names a returned message, in characters: in an address it stands behind a name and a plus, and all three
/// together are at most 64 (RFC 5321 §4.5.3.1.1).
pub const BOUNCE_TOKEN_CHARS_MAX: usize = 41;

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its turn, or for another try.
    Queued,
    /// A worker has it.
    Sending,
    /// The other side took responsibility for it; that it was read nobody knows.
    Sent,
    /// It was taken, and then reported as never going to arrive.
    Bounced,
    /// It will never be taken.
    Failed,
    /// Its question ended before it could be sent.
    Obsolete,
}

impl DeliveryState {
    /// Whether it can no longer reach its recipient.
    pub fn is_lost(self) -> bool {
        match self {
            Self::Bounced | Self::Failed | Self::Obsolete => true,
            Self::Queued | Self::Sending | Self::Sent => false,
        }
    }
}

/// What was learned of one message, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was taken.
    Sent,
    /// It was refused for good, or given up.
    Failed,
    /// It was taken and came back.
    Bounced,
}

/// Whether a returned message may still arrive (RFC 3463 §3.1: class 4 or class 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BounceKind {
    /// It never will.
    Hard,
    /// It is late, or this one copy was not kept.
    Soft,
}

/// A message about a question, among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// The attempt it belongs to.
    pub attempt: u32,
    /// To whom.
    pub recipient: String,
    /// Where it stands.
    pub state: DeliveryState,
}

/// What was learned of a message, with what it takes to see whether anybody is left.
#[derive(Clone, Debug)]
pub struct DeliveryRecord {
    /// The message.
    pub delivery: Delivery,
    /// What became of it.
    pub fate: Fate,
    /// All other messages about the question; needed when this one is lost.
    pub siblings: Vec<Sibling>,
    /// The question with its ladder; needed when this one is lost and the question is open.
    pub question: Option<Box<Question>>,
}

/// Nobody of an attempt can be reached, so the next rung's people are asked now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failover {
    /// Which suspension.
    pub suspension_id: SuspensionId,
    /// The attempt nobody was reached at; it stays the current one.
    pub attempt: u32,
    /// The attempt whose people are asked instead.
    pub rung_attempt: u32,
    /// The channel preferred there.
    pub channel_hint: Option<String>,
    /// Who is asked.
    pub notify_to: Vec<String>,
    /// Who cannot be reached.
    pub unreachable: Vec<String>,
    /// Why the last of them cannot.
    pub reason: String,
}

/// Whom to tell again at `attempt`: those in force, or whoever was asked in their place when none of them could be reached.
pub(crate) fn reachable_at(attempt: u32, question: &Question, messages: &[Sibling]) -> Vec<String> {
    let in_force = question.recipients_at(attempt);
    let of_this = || messages.iter().filter(|message| message.attempt == attempt);
    let is_lost = |person: &String| {
        let mut theirs = of_this().filter(|message| message.recipient.eq_ignore_ascii_case(person)).peekable();
        theirs.peek().is_some() && theirs.all(|message| message.state.is_lost())
    };
    let stand_ins: Vec<String> =
        of_this().filter(|message| !message.state.is_lost()).map(|message| message.recipient.clone()).collect();
    if in_force.iter().all(is_lost) && !stand_ins.is_empty() { stand_ins } else { in_force.to_vec() }
}

/// The events of what was learned of a message.
pub(crate) fn record(intent: &Intent, record: &DeliveryRecord, now: DateTime<Utc>) -> Vec<Event> {
    let delivery = record.delivery.clone();
    let open = intent.open.as_ref().filter(|open| open.id == delivery.suspension_id && !open.is_expired(now));
    let told = match record.fate {
        Fate::Sent => return vec![Event::DeliverySent(delivery)],
        Fate::Failed => Event::DeliveryFailed(delivery),
        Fate::Bounced => {
            let reached = match open {
                Some(_) => record.siblings.iter().any(|sibling| sibling.state == DeliveryState::Sent),
                // What was decided on stays as it was decided on.
                None => intent.suspension(delivery.suspension_id).is_some_and(|ended| ended.reached),
            };
            Event::DeliveryBounced { delivery, reached }
        }
    };
    let failover = open.zip(record.question.as_deref()).and_then(|(open, question)| failover(open, question, record));
    let failover = failover.map(|failover| Event::DeliveryFailover(Box::new(failover)));
    std::iter::once(told).chain(failover).collect()
}

/// Whom to ask at once, if nobody of the current attempt can be reached any more.
///
/// Only when all are lost: as long as one of them has the question, or may still get it, waking the next rung early would cost more
/// people more than it helps. An attempt that has passed wakes nobody; the one in force has messages of its own.
fn failover(open: &Suspension, question: &Question, record: &DeliveryRecord) -> Option<Failover> {
    let lost = &record.delivery;
    if lost.attempt != open.attempt {
        return None;
    }
    let siblings = || record.siblings.iter().filter(|sibling| sibling.attempt == lost.attempt);
    if siblings().any(|sibling| !sibling.state.is_lost()) {
        return None;
    }
    let unreachable: Vec<String> = siblings().map(|sibling| &sibling.recipient).chain([&lost.recipient]).cloned().collect();
    let policy = question.retry_policy.as_ref()?;
    (open.attempt + 1..=policy.max_attempts).find_map(|rung_attempt| {
        let mut notify_to = question.recipients_during(rung_attempt..=rung_attempt);
        notify_to.retain(|person| !unreachable.iter().any(|lost| lost.eq_ignore_ascii_case(person)));
        (!notify_to.is_empty()).then(|| Failover {
            suspension_id: open.id,
            attempt: open.attempt,
            rung_attempt,
            channel_hint: question.channel_at(rung_attempt).map(str::to_owned),
            notify_to,
            unreachable: unreachable.clone(),
            reason: lost.detail.clone(),
        })
    })
}
