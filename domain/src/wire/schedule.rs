//! Who is told when, and what an operator does to an open question besides answering it.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::asking::{Accepted, AskingPolicy};
use crate::command::Later;
use crate::plan::{Plan, Silence};
use crate::problem::FieldError;
use crate::suspension::{FallbackPolicy, WINDOW_SECONDS_MAX};
use crate::words;

/// The longest reason for a later deadline, in characters.
const EXTENSION_REASON_MAX: usize = 2_000;

/// Who would be told when, if this question were asked now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionPreview {
    /// Every attempt, the first one included; one that goes through several channels comes once for each.
    pub schedule: Vec<ScheduledAttempt>,
    /// The deadline of all attempts; absent for a question that would wait for ever.
    #[serde(with = "crate::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// What silence does.
    pub at_the_end: AtTheEnd,
    /// What was understood differently from how it was written.
    pub warnings: Vec<String>,
}

/// One attempt of a question on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// When it is due.
    #[serde(with = "crate::time::z")]
    pub at: DateTime<Utc>,
    /// The channel it goes through.
    pub channel: String,
    /// Who is told.
    pub recipients: Vec<String>,
    /// Whether a rung of the ladder takes effect at it.
    pub escalation: bool,
}

/// What silence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The agent goes on with the fallback value.
    Fallback,
    /// The intent is abandoned.
    Fail,
    /// Nothing: the question has no deadline.
    StaysOpen,
}

/// The end of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AtTheEnd {
    /// What silence does.
    pub what: What,
    /// The policy in force.
    pub policy: FallbackPolicy,
    /// The value that stands in.
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
    /// Whether the fallback needs somebody to have been reached.
    pub requires_delivery: bool,
    /// The same in a sentence.
    pub text: String,
}

impl SuspensionPreview {
    /// What an accepted question would do if it were asked at `now`.
    pub fn of(accepted: Accepted, policy: &AskingPolicy, now: DateTime<Utc>) -> Self {
        let Accepted { suspend, warnings } = accepted;
        let silence =
            Silence::new(suspend.fallback_policy, suspend.fallback_value.as_ref(), &suspend.choices, suspend.requires_delivery);
        let plan = Plan::new(&suspend.question, &policy.channels, now, suspend.schedule.expires_at(now), silence);
        let schedule = plan.steps.iter().flat_map(|step| {
            let scheduled = |(channel, recipients): &(&str, &[String])| ScheduledAttempt {
                attempt: step.attempt,
                at: step.at,
                channel: (*channel).to_owned(),
                recipients: recipients.to_vec(),
                escalation: step.escalation,
            };
            step.ways.iter().map(scheduled)
        });
        let (what, text) = match (plan.ends_at, &plan.silence) {
            (None, _) => (What::StaysOpen, words::STAYS_OPEN_FOR_THE_ASKER.to_owned()),
            (Some(_), Silence::Fails) => (What::Fail, plan.silence.sentence_for_the_asker()),
            (Some(_), Silence::FallsBack { .. }) => (What::Fallback, plan.silence.sentence_for_the_asker()),
        };
        Self {
            schedule: schedule.collect(),
            expires_at: plan.ends_at,
            at_the_end: AtTheEnd {
                what,
                policy: suspend.fallback_policy,
                value: suspend.fallback_value.clone().filter(|_| what == What::Fallback),
                requires_delivery: what == What::Fallback && suspend.requires_delivery,
                text,
            },
            warnings,
        }
    }
}

/// `POST /api/v1/suspensions/{id}/extend`: one of the two times. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// The new deadline, later than the present one.
    #[serde(default, with = "crate::time::z_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// How many seconds after the present deadline the new one is, 1 to 31,622,400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 31_622_400)]
    pub seconds: Option<u32>,
    /// Why, kept in the log; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/suspensions/{id}/remind`. Unknown fields are refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemindRequest {}

impl ExtendRequest {
    /// What is asked for, and why.
    ///
    /// # Errors
    ///
    /// Every field that breaks a rule which does not depend on the question.
    pub fn accept(self) -> Result<(Later, Option<String>), Vec<FieldError>> {
        let mut errors = Vec::new();
        if self.reason.as_ref().is_some_and(|reason| reason.chars().count() > EXTENSION_REASON_MAX) {
            errors.push(FieldError::new("reason", "length", format!("is at most {EXTENSION_REASON_MAX} characters")));
        }
        let later = match (self.expires_at, self.seconds) {
            (Some(at), None) => Some(Later::Until(at)),
            (None, Some(seconds)) if (1..=WINDOW_SECONDS_MAX).contains(&seconds) => {
                Some(Later::By(TimeDelta::seconds(i64::from(seconds))))
            }
            (None, Some(_)) => {
                errors.push(FieldError::new("seconds", "range", format!("must be 1 to {WINDOW_SECONDS_MAX} seconds")));
                None
            }
            (None, None) | (Some(_), Some(_)) => {
                errors.push(FieldError::new("expires_at", "one", "give either expires_at or seconds"));
                None
            }
        };
        match later {
            Some(later) if errors.is_empty() => Ok((later, self.reason)),
            Some(_) | None => Err(errors),
        }
    }
}
