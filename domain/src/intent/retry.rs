//! The repetition of work on an intent that failed (RFC-0010).

use chrono::{DateTime, TimeDelta, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::name::is_same;
use crate::intent::assignment::ASSIGNED_MAX;
use crate::intent::record::{Failure, RetryPolicy, RetryStrategy};

/// The longest message of an error that is kept for the next attempt, in characters; the rest of a longer one is cut off.
pub const LAST_ERROR_MAX: usize = 500;

/// The policy in force, and the agents whose work has failed under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// The policy.
    pub policy: RetryPolicy,
    /// Whether the fallback agent has taken over.
    pub has_taken_over: bool,
    /// The agents whose work has failed, each by the name of its assignment.
    #[serde(default)]
    pub agents: Vec<Failing>,
}

/// An agent whose work has failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// The agent.
    pub agent_id: String,
    /// How often its work has failed.
    pub failures: u32,
    /// Whether it does not try again.
    pub is_exhausted: bool,
    /// The next step, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
}

/// The next step after a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// The step.
    pub step: Step,
    /// The time from which it is due; `None` if it is due at once. While the intent is suspended or blocked, it waits.
    #[serde(with = "crate::base::time::z_option")]
    pub due_at: Option<DateTime<Utc>>,
    /// The error of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// A step after a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The agent tries again; the number of this retry, from 1.
    Retry(u32),
    /// This agent takes over.
    TakeOver(String),
}

/// One thing that happened to the repetition of work; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RetryEvent {
    /// `retry.scheduled`: the agent is to try again later.
    Scheduled(Scheduled),
    /// `retry.started`: the agent is told to try again.
    Started(Started),
    /// `retry.exhausted`: the agent does not try again.
    Exhausted(Exhausted),
    /// `retry.handed_over`: the fallback agent was assigned.
    HandedOver(HandedOver),
}

/// A retry that is due later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduled {
    /// The agent.
    pub agent_id: String,
    /// The number of the retry, from 1.
    pub retry_attempt: u32,
    /// The number of retries that the policy allows.
    pub max_retries: u32,
    /// When it is due.
    #[serde(with = "crate::base::time::z")]
    pub retry_at: DateTime<Utc>,
    /// The error of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// A retry that is due now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The agent.
    pub agent_id: String,
    /// The number of the retry, from 1.
    pub retry_attempt: u32,
    /// The error of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The end of an agent's retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exhausted {
    /// The agent.
    pub agent_id: String,
    /// The failures by then.
    pub failures: u32,
    /// Why.
    pub reason: ExhaustedReason,
    /// The agent that is to take over; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_agent_id: Option<String>,
    /// The error of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Why an agent does not try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedReason {
    /// The policy allows no further retry.
    Retries,
    /// The threshold of failures was reached.
    Threshold,
    /// The failure was reported as not recoverable.
    NotRecoverable,
    /// The agent no longer works on the intent.
    AgentGone,
    /// The fallback agent may not be assigned.
    FallbackRefused,
}

/// Work that the fallback agent has taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedOver {
    /// The agent whose work failed.
    pub agent_id: String,
    /// The agent that takes over.
    pub fallback_agent_id: String,
}

impl RetryPolicy {
    /// The pause before the retry with this number, from 1.
    pub fn delay(&self, retry: u32) -> TimeDelta {
        let base = self.base_delay_ms;
        let delay = match self.strategy {
            RetryStrategy::None | RetryStrategy::Fixed => base,
            RetryStrategy::Linear => base.saturating_mul(u64::from(retry)),
            RetryStrategy::Exponential => {
                let doubled = 1_u64.checked_shl(retry.saturating_sub(1)).unwrap_or(u64::MAX);
                base.saturating_mul(doubled)
            }
        };
        // Both are at most 30 days, so the number of milliseconds fits.
        TimeDelta::milliseconds(i64::try_from(delay.min(self.max_delay_ms)).unwrap_or(i64::MAX))
    }

    fn retries(&self) -> u32 {
        if self.strategy == RetryStrategy::None { 0 } else { self.max_retries }
    }

    /// Whether the policy lets anything follow from a failure.
    fn acts(&self) -> bool {
        self.retries() > 0 || self.fallback_agent_id.is_some()
    }
}

impl Retry {
    /// A policy under which nothing has failed yet.
    pub fn under(policy: RetryPolicy) -> Self {
        Self { policy, has_taken_over: false, agents: Vec::new() }
    }

    /// The failures of this agent, if its work has failed.
    fn failing(&self, agent_id: &str) -> Option<&Failing> {
        self.agents.iter().find(|failing| is_same(&failing.agent_id, agent_id))
    }

    /// The agent that takes over from this one, if one may.
    fn fallback_of(&self, agent_id: &str) -> Option<String> {
        let is_taken = self.has_taken_over || self.agents.iter().any(Failing::is_handing_over);
        self.policy.fallback_agent_id.clone().filter(|fallback| !is_taken && !is_same(fallback, agent_id))
    }

    /// The event that follows from a failure of this agent; `None` if the policy lets nothing follow, or if the agent is exhausted.
    pub(crate) fn after(&self, agent_id: &str, failure: &Failure, longest: TimeDelta, now: DateTime<Utc>) -> Option<RetryEvent> {
        let failing = self.failing(agent_id);
        if !self.policy.acts() || failing.is_some_and(|failing| failing.is_exhausted) {
            return None;
        }
        let failures = failing.map_or(0, |failing| failing.failures).saturating_add(1);
        let fallback = self.fallback_of(agent_id);
        let (agent_id, last_error) = (agent_id.to_owned(), last_error(failure));
        let reason = if failure.recoverable == Some(false) {
            Some(ExhaustedReason::NotRecoverable)
        } else if fallback.is_some() && failures >= self.policy.failure_threshold {
            Some(ExhaustedReason::Threshold)
        } else {
            (failures > self.policy.retries()).then_some(ExhaustedReason::Retries)
        };
        if let Some(reason) = reason {
            let fallback_agent_id = fallback;
            return Some(RetryEvent::Exhausted(Exhausted { agent_id, failures, reason, fallback_agent_id, last_error }));
        }
        // An agent that knows the time at which another attempt has a chance names it, and this time counts.
        let named = failure.retry_scheduled_at.map(|at| at.clamp(now, now + longest));
        Some(RetryEvent::Scheduled(Scheduled {
            agent_id,
            retry_attempt: failures,
            max_retries: self.policy.retries(),
            retry_at: named.unwrap_or_else(|| now + self.policy.delay(failures)),
            last_error,
        }))
    }

    /// The agent whose next step is due first, with this step.
    pub(crate) fn first(&self) -> Option<(&Failing, &Next)> {
        let due = self.agents.iter().filter_map(|failing| Some((failing, failing.next.as_ref()?)));
        due.min_by_key(|(_, next)| next.due_at)
    }

    /// The agent begins anew, unless its work is about to be handed over. A retry that is due for it is no longer needed.
    pub(crate) fn forget(&mut self, agent_id: &str) {
        self.agents.retain(|failing| failing.is_handing_over() || !is_same(&failing.agent_id, agent_id));
    }

    /// Nothing follows any more.
    pub(crate) fn stop(&mut self) {
        for failing in &mut self.agents {
            failing.next = None;
        }
    }

    /// The failures of this agent; an agent whose work has not failed yet is added.
    fn failing_mut(&mut self, agent_id: &str) -> &mut Failing {
        let known = self.agents.iter().position(|failing| is_same(&failing.agent_id, agent_id));
        let place = known.unwrap_or_else(|| {
            // Agents that were taken off stay here, but no more are kept than can work on an intent.
            if self.agents.len() > ASSIGNED_MAX {
                let idle = self.agents.iter().position(|failing| failing.next.is_none());
                self.agents.remove(idle.unwrap_or(0));
            }
            self.agents.push(Failing { agent_id: agent_id.to_owned(), failures: 0, is_exhausted: false, next: None });
            self.agents.len() - 1
        });
        &mut self.agents[place]
    }

    /// The end of the retries of an agent that may not go on for this reason.
    pub(crate) fn exhausted(&self, failing: &Failing, next: &Next, reason: ExhaustedReason) -> RetryEvent {
        let fallback = if reason == ExhaustedReason::FallbackRefused { None } else { self.fallback_of(&failing.agent_id) };
        RetryEvent::Exhausted(Exhausted {
            agent_id: failing.agent_id.clone(),
            failures: failing.failures,
            reason,
            fallback_agent_id: fallback,
            last_error: next.last_error.clone(),
        })
    }
}

/// The error as the next attempt is told of it: its message, or else its type or code.
fn last_error(failure: &Failure) -> Option<String> {
    let said = [&failure.error_message, &failure.error_type, &failure.error_code];
    let text = said.into_iter().flatten().find(|text| !text.is_empty())?;
    Some(text.chars().take(LAST_ERROR_MAX).collect())
}

impl RetryEvent {
    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Scheduled(_) => "retry.scheduled",
            Self::Started(_) => STARTED,
            Self::Exhausted(_) => "retry.exhausted",
            Self::HandedOver(_) => "retry.handed_over",
        }
    }

    /// Reads the payload of an event of this type; `None` if no event about retries has this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(payload: &Value, kind: fn(T) -> RetryEvent) -> Result<RetryEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        Some(match event_type {
            "retry.scheduled" => of(payload, Self::Scheduled),
            STARTED => of(payload, Self::Started),
            "retry.exhausted" => of(payload, Self::Exhausted),
            "retry.handed_over" => of(payload, Self::HandedOver),
            _ => return None,
        })
    }

    /// Applies the event to the retries of its intent.
    pub fn apply(&self, retry: &mut Option<Box<Retry>>) {
        let Some(retry) = retry else { return };
        match self {
            Self::Scheduled(Scheduled { agent_id, retry_attempt, retry_at, last_error, .. }) => {
                let failing = retry.failing_mut(agent_id);
                failing.failures = *retry_attempt;
                let (step, due_at, last_error) = (Step::Retry(*retry_attempt), Some(*retry_at), last_error.clone());
                failing.next = Some(Next { step, due_at, last_error });
            }
            Self::Started(Started { agent_id, .. }) => retry.failing_mut(agent_id).next = None,
            Self::Exhausted(Exhausted { agent_id, failures, fallback_agent_id, last_error, .. }) => {
                let failing = retry.failing_mut(agent_id);
                (failing.failures, failing.is_exhausted) = (*failures, true);
                let take_over = |fallback| Next { step: Step::TakeOver(fallback), due_at: None, last_error: last_error.clone() };
                failing.next = fallback_agent_id.clone().map(take_over);
            }
            Self::HandedOver(HandedOver { agent_id, .. }) => {
                retry.failing_mut(agent_id).next = None;
                retry.has_taken_over = true;
            }
        }
    }
}

impl Failing {
    /// Whether another agent is about to take over.
    fn is_handing_over(&self) -> bool {
        matches!(&self.next, Some(Next { step: Step::TakeOver(_), .. }))
    }
}

/// The type of the events that tell agents to try again.
pub const STARTED: &str = "retry.started";

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(strategy: RetryStrategy) -> RetryPolicy {
        RetryPolicy {
            strategy,
            max_retries: 3,
            base_delay_ms: 1_000,
            max_delay_ms: 10_000,
            fallback_agent_id: None,
            failure_threshold: 3,
            enforced: true,
        }
    }

    #[test]
    fn the_pause_grows_as_the_strategy_says_and_no_further_than_its_limit() {
        let seconds = |strategy, retry| policy(strategy).delay(retry).num_seconds();
        for (strategy, pauses) in [
            (RetryStrategy::Fixed, [1, 1, 1, 1, 1]),
            (RetryStrategy::Linear, [1, 2, 3, 10, 10]),
            (RetryStrategy::Exponential, [1, 2, 4, 10, 10]),
        ] {
            assert_eq!([1, 2, 3, 64, 1_000].map(|retry| seconds(strategy, retry)), pauses, "{strategy:?}");
        }
        let widest = RetryPolicy { base_delay_ms: u64::MAX, max_delay_ms: 7, ..policy(RetryStrategy::Exponential) };
        assert_eq!(widest.delay(70).num_milliseconds(), 7);
    }
}
