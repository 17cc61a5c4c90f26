//! Limits how often an agent may ask the same question and write to the same person: a person who is asked often enough gives in.

use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use crate::base::name::form;
use crate::base::time::seconds;
use crate::problem::Rejection;
use crate::suspension::{AskedBefore, Question, Resolution, Suspension};

/// The number of messages of one agent to one person that leave at once (a burst). While that many have left within the
/// burst's window, the next message waits until [`Pressing::min_distance_seconds`] after the newest one.
pub const BURST: usize = 5;
/// The most messages, beyond [`BURST`], that leave at once within the burst's window because they would otherwise leave too
/// late.
pub const URGENT: usize = 15;
/// The most messages of one agent to one person that may wait at once until they leave. A further message
/// leaves at once if fewer than [`BURST`] + [`URGENT`] messages have left within the burst's window; otherwise it is not sent.
pub const PLACES_MAX: usize = 100;
/// The time, in seconds, for which a question that ended without an answer counts against [`Pressing::asks_per_hour`].
pub const ASKS_WITHIN_SECONDS: u32 = 3_600;
/// The largest value of [`Pressing::min_distance_seconds`] that an operator may set.
pub const MIN_DISTANCE_SECONDS_MAX: u32 = 3_600;
/// The largest value of [`Pressing::asks_per_hour`] that an operator may set.
pub const ASKS_PER_HOUR_MAX: u32 = 1_000;

/// The operator's limits for an agent. A limit of zero means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pressing {
    /// The least time between messages of one agent to one person, after a burst, in seconds.
    pub min_distance_seconds: u32,
    /// How often within an hour one intent may ask anew, that is, ask a new question after one that got no answer.
    pub asks_per_hour: u32,
}

impl Pressing {
    /// No limits, as in development.
    pub const OFF: Self = Self { min_distance_seconds: 0, asks_per_hour: 0 };
    /// The limits in production, unless the operator sets others.
    pub const PRODUCTION: Self = Self { min_distance_seconds: 60, asks_per_hour: 10 };

    /// The burst's window: the time within which messages that have left are counted. `None` if `min_distance_seconds` is 0.
    pub fn burst_window(&self) -> Option<TimeDelta> {
        let distance = seconds(self.min_distance_seconds);
        let burst = i32::try_from(BURST).unwrap_or(i32::MAX);
        (self.min_distance_seconds > 0).then(|| distance * burst)
    }

    /// The time at which another message may leave. `left` holds the times at which messages have left, newest first. The message
    /// may leave once fewer than [`BURST`] have left within the burst's window, or `min_distance_seconds` after the newest one.
    pub fn leaves_at(&self, left: &[DateTime<Utc>], now: DateTime<Utc>) -> DateTime<Utc> {
        let (Some(window), Some(last), Some(fifth)) = (self.burst_window(), left.first(), left.get(BURST - 1)) else {
            return now;
        };
        now.max((*last + seconds(self.min_distance_seconds)).min(*fifth + window))
    }

    /// Finds the time that another message reserves to leave, not before `earliest`. `taken` holds the times that other
    /// messages have reserved, earliest first. The time found may be as little as half of `min_distance_seconds` before the
    /// next reserved time. So a message that is a little late need not leave after all others; the next message waits a little
    /// longer instead.
    pub fn place(&self, taken: &[DateTime<Utc>], earliest: DateTime<Utc>) -> DateTime<Utc> {
        let distance = seconds(self.min_distance_seconds);
        taken.iter().fold(earliest, |place, taken| {
            if *taken + distance <= place || *taken >= place + distance / 2 { place } else { *taken + distance }
        })
    }

    /// Whether an intent may ask anew. `unanswered` holds the times at which its questions ended unanswered, oldest first, and
    /// includes that of the last question.
    ///
    /// # Errors
    ///
    /// `AskedTooOften`, with the time after which the intent may ask.
    pub fn ask_anew(&self, unanswered: &[DateTime<Utc>], now: DateTime<Utc>) -> Result<(), Rejection> {
        let allowed = usize::try_from(self.asks_per_hour).unwrap_or(usize::MAX);
        if allowed == 0 || unanswered.len() <= allowed {
            return Ok(());
        }
        // Exactly `allowed` questions are later than the question at this index. So the intent may ask again once this question
        // no longer counts.
        let counts_until = unanswered[unanswered.len() - 1 - allowed] + seconds(ASKS_WITHIN_SECONDS);
        let left = u32::try_from((counts_until - now).num_seconds().max(0)).unwrap_or(u32::MAX);
        Err(Rejection::AskedTooOften { asks_per_hour: self.asks_per_hour, retry_after_seconds: left.saturating_add(1) })
    }
}

/// Whether a message may wait until `leaves_at`. It may if the wait takes at most half of the time for an answer, which runs
/// from `queued_at` to `until`. With a longer wait, a fallback that says yes would profit from the late mail.
pub fn may_wait(queued_at: DateTime<Utc>, leaves_at: DateTime<Utc>, until: Option<DateTime<Utc>>) -> bool {
    until.is_none_or(|until| (leaves_at - queued_at) * 2 <= until - queued_at)
}

/// The number under which the messages of an agent to a person are counted. Addresses that differ only in case or in their
/// `+tag` count as the same person.
pub fn pair(agent: &str, recipient: &str) -> i64 {
    let person = recipient.to_lowercase();
    let untagged = person.split_once('@').map(|(local, domain)| {
        let name = local.split('+').next().filter(|name| !name.is_empty()).unwrap_or(local);
        format!("{name}@{domain}")
    });
    let mut hash = Sha256::new();
    hash.update(form(agent).as_bytes());
    hash.update([0]);
    hash.update(untagged.unwrap_or(person).as_bytes());
    let digest = hash.finalize();
    i64::from_be_bytes(std::array::from_fn(|index| digest[index]))
}

impl AskedBefore {
    /// Whether a question after `last` counts as asking anew: `last` is still open (and is now superseded) or ended unanswered.
    pub fn counts(last: &Suspension) -> bool {
        last.ending.as_ref().is_none_or(|ending| ending.resolution != Resolution::Responded)
    }

    /// Describes `last`, the previous question, to the people who read the new one.
    pub fn of(last: &Suspension, question: &Question) -> Self {
        let superseded = last.ending.is_none();
        let before = question.asked_before.as_ref();
        let times = before.map_or(0, |before| before.times).saturating_add(1);
        let own = question.window_seconds().map(|window| last.suspended_at + seconds(window));
        let answered = before.is_some_and(|before| before.answered) || !last.counted.is_empty() || last.hands.was_answered;
        Self { times, superseded, expires_at: before.map_or(own, |before| before.at_least(own)), answered }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    /// Sends the messages, each as soon as it may, and returns when they left.
    fn leave(rule: Pressing, queued: &[i64]) -> Vec<i64> {
        let mut left: Vec<DateTime<Utc>> = Vec::new();
        for second in queued {
            let window = rule.burst_window().unwrap_or_default();
            let recent: Vec<_> = left.iter().rev().filter(|before| at(*second) - **before < window).copied().collect();
            left.push(rule.leaves_at(&recent, at(*second)).max(left.last().copied().unwrap_or_default()));
        }
        left.iter().map(DateTime::timestamp).collect()
    }

    #[test]
    fn five_leave_at_once_and_the_others_a_minute_apart() {
        assert_eq!(leave(Pressing::PRODUCTION, &[0; 8]), [0, 0, 0, 0, 0, 60, 120, 180]);
        assert_eq!(leave(Pressing::OFF, &[0; 8]), [0; 8]);
        // After five quiet minutes five messages may leave at once again.
        assert_eq!(
            leave(Pressing::PRODUCTION, &[0, 0, 0, 0, 0, 300, 300, 300, 300, 300, 300]),
            [0, 0, 0, 0, 0, 300, 300, 300, 300, 300, 360]
        );
        assert_eq!(leave(Pressing::PRODUCTION, &[0, 0, 0, 0, 0, 59, 60]), [0, 0, 0, 0, 0, 60, 120]);
        assert_eq!(leave(Pressing::PRODUCTION, &[0, 60, 120, 180, 240, 300]), [0, 60, 120, 180, 240, 300]);
    }

    #[test]
    fn each_message_that_waits_has_a_place_of_its_own() {
        let place = |taken: &[i64], earliest| {
            let taken: Vec<_> = taken.iter().copied().map(at).collect();
            Pressing::PRODUCTION.place(&taken, at(earliest)).timestamp()
        };
        assert_eq!(place(&[], 60), 60);
        assert_eq!(place(&[60, 120], 60), 180);
        assert_eq!(place(&[120], 60), 60);
        assert_eq!(place(&[60, 180], 60), 120, "the gap of a message that was dropped is taken");
        assert_eq!(place(&[30], 60), 90);
        // A message that is late by up to half a distance leaves before the others; a later one reserves a time behind them.
        assert_eq!((place(&[120, 180], 90), place(&[120, 180], 91)), (90, 240));
    }

    #[test]
    fn asking_anew_is_refused_beyond_the_limit_until_the_oldest_counts_no_more() {
        let rule = Pressing { asks_per_hour: 2, ..Pressing::OFF };
        assert_eq!(rule.ask_anew(&[at(0), at(10)], at(20)), Ok(()));
        let refused = |unanswered: &[DateTime<Utc>], now| match rule.ask_anew(unanswered, at(now)) {
            Err(Rejection::AskedTooOften { retry_after_seconds, .. }) => retry_after_seconds,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(&[at(0), at(10), at(20)], 20), 3_581);
        assert_eq!(refused(&[at(0), at(10), at(20), at(30)], 30), 3_581);
        assert_eq!(Pressing::OFF.ask_anew(&[at(0); 100], at(0)), Ok(()));
    }

    #[test]
    fn waiting_takes_no_more_than_half_of_the_time() {
        assert!(may_wait(at(0), at(60), Some(at(120))) && !may_wait(at(0), at(60), Some(at(119))));
        assert!(!may_wait(at(0), at(60), Some(at(60))));
        assert!(may_wait(at(0), at(60), None));
    }

    #[test]
    fn a_tag_makes_nobody_another_person() {
        let one = pair("bot", "ada@example.com");
        for same in ["Ada@EXAMPLE.com", "ada+1@example.com", "ada+a+b@example.com", "ADA+@example.com"] {
            assert_eq!(pair("bot", same), one, "{same}");
        }
        for other in ["ad@example.com", "ada.l@example.com", "ada@sub.example.com", "+ada@example.com", "room", "+@example.com"] {
            assert_ne!(pair("bot", other), one, "{other}");
        }
        assert_ne!(pair("bot2", "ada@example.com"), one);
        assert_eq!(pair(" ｂｏｔ", "ada@example.com"), one, "a name from before names had one form");
        assert_ne!(pair("", "room"), pair("room", ""));
    }
}
