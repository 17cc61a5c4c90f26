//! Asking again: the retry policy of a suspension, the levels from which it is put together (the cascade), and its times
//! (RFC-0026).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::fallback::{FallbackPolicy, WINDOW_SECONDS_MAX};
use crate::base::field::FieldError;
use crate::base::time::seconds;

/// The most notifications of one suspension, the first included.
pub const ATTEMPTS_MAX: u32 = 20;
/// The longest time between two notifications, in seconds (30 days).
pub const INTERVAL_SECONDS_MAX: u32 = 2_592_000;

/// The cadence of notifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The same interval every time.
    #[default]
    Fixed,
}

/// One rung of the escalation ladder: from this attempt on, another channel is used or other people are asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The attempt at which it takes effect, from 1.
    #[schema(minimum = 1, maximum = 20)]
    pub attempt: u32,
    /// The channel from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub channel_hint: Option<String>,
    /// The people from then on; null means the original recipients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_to: Option<OneOrMany>,
}

/// One address or several; the RFC's examples write both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
pub struct OneOrMany(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an address or a list of addresses")
            }
            fn visit_str<E>(self, text: &str) -> Result<OneOrMany, E> {
                // The RFC's examples write "" for "no other people"; an empty list means the same.
                Ok(OneOrMany(if text.is_empty() { Vec::new() } else { vec![text.to_owned()] }))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<OneOrMany, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(OneOrMany(list))
            }
        }
        input.deserialize_any(Either)
    }
}

/// How often people are asked, and the policy after the last attempt (RFC-0026).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HumanRetryPolicy {
    /// Notifications in total, the first included; 1 to 20.
    pub max_attempts: u32,
    /// Seconds between two notifications; 1 to 2,592,000 (30 days).
    pub interval_seconds: u32,
    /// The cadence.
    #[serde(default)]
    pub strategy: Strategy,
    /// The people and channels that take effect at later attempts.
    #[serde(default)]
    pub escalation_ladder: Vec<Rung>,
    /// The policy after the last attempt; takes precedence over the same call's `fallback_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_fallback_policy: Option<FallbackPolicy>,
}

impl HumanRetryPolicy {
    /// When attempt `attempt` (from 1) is due: counted from `suspended_at`, so that delays never add up.
    pub fn due_at(&self, suspended_at: DateTime<Utc>, attempt: u32) -> DateTime<Utc> {
        // The product is at most the window, which was checked when the policy was resolved.
        suspended_at + seconds(self.interval_seconds.saturating_mul(attempt.saturating_sub(1)))
    }

    /// The newest attempt that is due at `now`, from 1 to `max_attempts`.
    pub fn newest_due(&self, suspended_at: DateTime<Utc>, now: DateTime<Utc>) -> u32 {
        (1..=self.max_attempts).rev().find(|attempt| self.due_at(suspended_at, *attempt) <= now).unwrap_or(1)
    }

    /// When the attempt after `attempt` is due; absent after the last.
    pub fn next_due_at(&self, suspended_at: DateTime<Utc>, attempt: u32) -> Option<DateTime<Utc>> {
        (attempt < self.max_attempts).then(|| self.due_at(suspended_at, attempt + 1))
    }

    /// The rung that takes effect at `attempt`.
    pub fn rung_at(&self, attempt: u32) -> Option<&Rung> {
        self.escalation_ladder.iter().find(|rung| rung.attempt == attempt)
    }

    /// The rung in force at `attempt`: a rung stays in force until the next one.
    pub fn rung_in_force(&self, attempt: u32) -> Option<&Rung> {
        self.escalation_ladder.iter().filter(|rung| rung.attempt <= attempt).max_by_key(|rung| rung.attempt)
    }
}

/// A policy as a call or the server states it: any field may be left to the next level of the cascade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PartialRetryPolicy {
    /// Notifications in total, the first included; 1 unless the server's policy says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 20)]
    pub max_attempts: Option<u32>,
    /// Seconds between two notifications; `timeout_seconds` unless the server's policy says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub interval_seconds: Option<u32>,
    /// The cadence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The people and channels that take effect at later attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation_ladder: Option<Vec<Rung>>,
    /// The policy after the last attempt; takes precedence over the same call's `fallback_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_fallback_policy: Option<FallbackPolicy>,
}

impl PartialRetryPolicy {
    /// Fills each field that this level leaves open with that of the next level (call over agent over server). Inherited fields
    /// are adapted to the call's other fields, so that no call is refused for fields that it does not have.
    #[must_use]
    pub fn over(self, next: &Self, timeout_seconds: Option<u32>, fallback_value: Option<&Value>) -> Self {
        let mut inherited = next.clone();
        if let (Some(ladder), Some(max_attempts)) = (&mut inherited.escalation_ladder, self.max_attempts) {
            ladder.retain(|rung| rung.attempt <= max_attempts);
        }
        if let (Some(interval), Some(timeout)) = (&mut inherited.interval_seconds, timeout_seconds) {
            *interval = (*interval).min(timeout);
        }
        // Without a fallback value nothing can replace an answer, so only the policy `fail` is inherited.
        if fallback_value.is_none() {
            inherited.final_fallback_policy = inherited.final_fallback_policy.filter(|policy| *policy == FallbackPolicy::Fail);
        }
        Self {
            max_attempts: self.max_attempts.or(inherited.max_attempts),
            interval_seconds: self.interval_seconds.or(inherited.interval_seconds),
            strategy: self.strategy.or(inherited.strategy),
            escalation_ladder: self.escalation_ladder.or(inherited.escalation_ladder),
            final_fallback_policy: self.final_fallback_policy.or(inherited.final_fallback_policy),
        }
    }
}

/// When one suspension asks and when it ends. All times count from `suspended_at` alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The policy in force, if any.
    pub retry_policy: Option<HumanRetryPolicy>,
    /// The window of one attempt, in seconds; absent means no deadline.
    pub timeout_seconds: Option<u32>,
    /// The window of all attempts, in seconds; absent means no deadline.
    pub window_seconds: Option<u32>,
}

impl Schedule {
    /// Resolves the call's fields against the server's default (RFC-0026, cascade).
    ///
    /// # Errors
    ///
    /// One entry per field that breaks a rule; nothing is clamped.
    pub fn resolve(
        call: Option<PartialRetryPolicy>,
        timeout_seconds: Option<u32>,
        fallback_value: Option<&Value>,
        server: Option<&PartialRetryPolicy>,
    ) -> Result<Self, Vec<FieldError>> {
        let mut errors = Vec::new();
        if let Some(timeout) = timeout_seconds {
            check_range("timeout_seconds", timeout, WINDOW_SECONDS_MAX, &mut errors);
        }
        let partial = match (call, timeout_seconds, server) {
            // The whole policy of the server applies if the call has neither `retry_policy` nor `timeout_seconds`.
            (None, None, Some(server)) => Some(PartialRetryPolicy::default().over(server, None, fallback_value)),
            (Some(call), _, Some(server)) => Some(call.over(server, timeout_seconds, fallback_value)),
            (call, _, _) => call,
        };
        let Some(partial) = partial else {
            let plain = Self { retry_policy: None, timeout_seconds, window_seconds: timeout_seconds };
            return if errors.is_empty() { Ok(plain) } else { Err(errors) };
        };
        let max_attempts = partial.max_attempts.unwrap_or(1);
        check_range("retry_policy.max_attempts", max_attempts, ATTEMPTS_MAX, &mut errors);
        let Some(interval_seconds) = partial.interval_seconds.or(timeout_seconds) else {
            errors.push(FieldError::new("retry_policy.interval_seconds", "required", "give interval_seconds or timeout_seconds"));
            return Err(errors);
        };
        // An interval that was taken from `timeout_seconds` has been checked under that name.
        if partial.interval_seconds.is_some() || errors.is_empty() {
            check_range("retry_policy.interval_seconds", interval_seconds, INTERVAL_SECONDS_MAX, &mut errors);
        }
        if timeout_seconds.is_some_and(|timeout| interval_seconds > timeout) {
            errors.push(FieldError::new("retry_policy.interval_seconds", "range", "must not be more than timeout_seconds"));
        }
        let escalation_ladder = partial.escalation_ladder.unwrap_or_default();
        check_ladder(&escalation_ladder, max_attempts, &mut errors);
        let window = interval_seconds.checked_mul(max_attempts).filter(|window| *window <= WINDOW_SECONDS_MAX);
        if window.is_none() && errors.is_empty() {
            let message = format!("all attempts together last at most {WINDOW_SECONDS_MAX} seconds");
            errors.push(FieldError::new("retry_policy", "range", message));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let policy = HumanRetryPolicy {
            max_attempts,
            interval_seconds,
            strategy: partial.strategy.unwrap_or_default(),
            escalation_ladder,
            final_fallback_policy: partial.final_fallback_policy,
        };
        Ok(Self {
            retry_policy: Some(policy),
            timeout_seconds: Some(timeout_seconds.unwrap_or(interval_seconds)),
            window_seconds: window,
        })
    }

    /// A warning for the asker if the policy ends the question before `timeout_seconds` (RFC-0026 gives the policy precedence).
    pub fn shortened(&self) -> Option<String> {
        let (policy, timeout, window) = (self.retry_policy.as_ref()?, self.timeout_seconds?, self.window_seconds?);
        (window < timeout).then(|| {
            let HumanRetryPolicy { max_attempts, interval_seconds, .. } = policy;
            format!(
                "the retry policy ends the question after {window} seconds (max_attempts {max_attempts} times interval_seconds \
                 {interval_seconds}), not after timeout_seconds {timeout}"
            )
        })
    }

    /// The deadline of a suspension that begins at `suspended_at`.
    pub fn expires_at(&self, suspended_at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.window_seconds.map(|window| suspended_at + seconds(window))
    }
}

/// Checks a count or a duration of a policy: a whole number from one to its limit.
fn check_range(field: &str, value: u32, max: u32, errors: &mut Vec<FieldError>) {
    if value == 0 || value > max {
        let unit = if field.ends_with("_seconds") { " seconds" } else { "" };
        errors.push(FieldError::new(field, "range", format!("must be 1 to {max}{unit}")));
    }
}

fn check_ladder(ladder: &[Rung], max_attempts: u32, errors: &mut Vec<FieldError>) {
    if ladder.len() > ATTEMPTS_MAX as usize {
        errors.push(FieldError::new(
            "retry_policy.escalation_ladder",
            "length",
            format!("must have at most {ATTEMPTS_MAX} entries"),
        ));
        return;
    }
    for (index, rung) in ladder.iter().enumerate() {
        if rung.attempt == 0 || rung.attempt > max_attempts {
            errors.push(FieldError::new(
                format!("retry_policy.escalation_ladder[{index}].attempt"),
                "range",
                format!("must be 1 to max_attempts ({max_attempts})"),
            ));
        }
        if ladder[..index].iter().any(|earlier| earlier.attempt == rung.attempt) {
            errors.push(FieldError::new(
                format!("retry_policy.escalation_ladder[{index}].attempt"),
                "unique",
                "names an attempt twice",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn partial(max_attempts: Option<u32>, interval_seconds: Option<u32>) -> PartialRetryPolicy {
        PartialRetryPolicy { max_attempts, interval_seconds, ..PartialRetryPolicy::default() }
    }

    #[test]
    fn the_cascade_fills_field_by_field() {
        let server = partial(Some(3), Some(600));
        let both_absent = Schedule::resolve(None, None, None, Some(&server)).unwrap();
        assert_eq!(both_absent.window_seconds, Some(1800));
        let only_timeout = Schedule::resolve(None, Some(60), None, Some(&server)).unwrap();
        assert_eq!((only_timeout.retry_policy, only_timeout.window_seconds), (None, Some(60)));
        let mixed = Schedule::resolve(Some(partial(Some(2), None)), None, None, Some(&server)).unwrap();
        assert_eq!(mixed.window_seconds, Some(1200));
        assert_eq!(mixed.timeout_seconds, Some(600));
    }

    #[test]
    fn what_is_inherited_gives_way_to_what_the_call_says() {
        let rungs = |attempts: &[u32]| {
            attempts.iter().map(|attempt| Rung { attempt: *attempt, channel_hint: None, notify_to: None }).collect()
        };
        let server = PartialRetryPolicy { escalation_ladder: Some(rungs(&[2, 3])), ..partial(Some(3), Some(3600)) };
        let twice =
            Schedule::resolve(Some(partial(Some(2), None)), Some(600), None, Some(&server)).unwrap().retry_policy.unwrap();
        assert_eq!((twice.escalation_ladder, twice.interval_seconds), (rungs(&[2]), 600));
        // Without a fallback value nothing can replace an answer, so a policy that needs one is not inherited.
        let server = PartialRetryPolicy { final_fallback_policy: Some(FallbackPolicy::CompleteWithFallback), ..server };
        for (value, expected) in [(None, None), (Some(json!("no")), Some(FallbackPolicy::CompleteWithFallback))] {
            for call in [None, Some(partial(Some(2), None))] {
                let policy = Schedule::resolve(call, None, value.as_ref(), Some(&server)).unwrap().retry_policy.unwrap();
                assert_eq!(policy.final_fallback_policy, expected);
            }
        }
        // The call's own fields contradict each other here, so the call is refused, and nothing is adapted.
        assert!(Schedule::resolve(Some(partial(Some(2), Some(601))), Some(600), None, Some(&server)).is_err());
    }

    /// If the retry policy makes the window shorter than `timeout_seconds`, the asker gets a warning with both numbers: it may
    /// want an hour, and gets twenty minutes.
    #[test]
    fn a_policy_that_shortens_the_window_says_so_with_both_numbers() {
        let told = |call: PartialRetryPolicy, timeout, server: Option<&PartialRetryPolicy>| {
            Schedule::resolve(Some(call), timeout, None, server).unwrap().shortened()
        };
        let said = told(partial(Some(2), Some(600)), Some(3600), None).unwrap();
        assert!(said.contains("after 1200 seconds") && said.contains("timeout_seconds 3600"), "{said}");
        assert_eq!(told(partial(Some(6), Some(600)), Some(3600), None), None);
        assert!(told(partial(Some(6), Some(599)), Some(3600), None).is_some());
        assert_eq!(told(partial(Some(7), Some(600)), Some(3600), None), None, "longer is what was asked for, and more");
        assert_eq!(told(partial(Some(2), Some(600)), None, None), None, "no window was named");
        let inherited = told(partial(Some(2), None), Some(3600), Some(&partial(Some(3), Some(60)))).unwrap();
        assert!(inherited.contains("after 120 seconds") && inherited.contains("3600"), "{inherited}");
        assert_eq!(Schedule::resolve(None, Some(3600), None, Some(&partial(Some(3), Some(60)))).unwrap().shortened(), None);
    }

    /// A value that breaks a rule causes one error, under the name of the field that the caller wrote.
    #[test]
    fn a_window_that_is_wrong_is_refused_once() {
        let fields = |call, timeout| -> Vec<String> {
            Schedule::resolve(Some(call), timeout, None, None).unwrap_err().into_iter().map(|error| error.field).collect()
        };
        assert_eq!(fields(partial(Some(2), None), Some(0)), ["timeout_seconds"]);
        assert_eq!(fields(partial(Some(2), Some(0)), Some(0)), ["timeout_seconds", "retry_policy.interval_seconds"]);
    }

    #[test]
    fn without_a_server_default_a_policy_needs_some_time() {
        assert!(Schedule::resolve(Some(partial(Some(2), None)), None, None, None).is_err());
        let alone = Schedule::resolve(Some(partial(None, Some(5))), None, None, None).unwrap();
        assert_eq!(alone.window_seconds, Some(5));
        assert_eq!(Schedule::resolve(None, None, None, None).unwrap().window_seconds, None);
    }

    #[test]
    fn every_bound_holds_and_breaks_one_beyond() {
        let ok = |p: PartialRetryPolicy, t: Option<u32>| Schedule::resolve(Some(p), t, None, None).is_ok();
        assert!(ok(partial(Some(ATTEMPTS_MAX), Some(1)), None));
        assert!(!ok(partial(Some(ATTEMPTS_MAX + 1), Some(1)), None));
        assert!(!ok(partial(Some(0), Some(1)), None));
        assert!(ok(partial(Some(12), Some(INTERVAL_SECONDS_MAX)), None));
        assert!(!ok(partial(Some(13), Some(INTERVAL_SECONDS_MAX)), None));
        assert!(ok(partial(Some(ATTEMPTS_MAX), Some(WINDOW_SECONDS_MAX / ATTEMPTS_MAX)), None), "366 days together");
        assert!(!ok(partial(Some(ATTEMPTS_MAX), Some(WINDOW_SECONDS_MAX / ATTEMPTS_MAX + 1)), None));
        assert!(!ok(partial(Some(1), Some(INTERVAL_SECONDS_MAX + 1)), None));
        assert!(ok(partial(Some(1), Some(60)), Some(60)));
        assert!(!ok(partial(Some(1), Some(61)), Some(60)));
        assert!(Schedule::resolve(None, Some(WINDOW_SECONDS_MAX), None, None).is_ok());
        assert!(Schedule::resolve(None, Some(WINDOW_SECONDS_MAX + 1), None, None).is_err());
        assert!(Schedule::resolve(None, Some(0), None, None).is_err());
    }

    #[test]
    fn a_ladder_names_attempts_that_exist_once() {
        let rung = |attempt| Rung { attempt, channel_hint: None, notify_to: None };
        let with = |ladder: Vec<Rung>| {
            let policy = PartialRetryPolicy { escalation_ladder: Some(ladder), ..partial(Some(2), Some(60)) };
            Schedule::resolve(Some(policy), None, None, None).is_ok()
        };
        assert!(with(vec![rung(1), rung(2)]));
        assert!(!with(vec![rung(3)]));
        assert!(!with(vec![rung(0)]));
        assert!(!with(vec![rung(2), rung(2)]));
    }
}
