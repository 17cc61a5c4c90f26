//! The events about the repetition of failed work.

use domain::intent::event::Event;
use domain::intent::record::{Record, RetryPolicy, RetryStrategy};
use domain::intent::retry::{Exhausted, ExhaustedReason, HandedOver, RetryEvent, Scheduled, Started};

use super::at;

pub(super) fn events() -> Vec<Event> {
    let enforced = RetryPolicy {
        strategy: RetryStrategy::Fixed,
        max_retries: 1,
        base_delay_ms: 500,
        max_delay_ms: 500,
        fallback_agent_id: None,
        failure_threshold: 3,
        enforced: true,
    };
    let bare = Scheduled { agent_id: "bot".into(), retry_attempt: 1, max_retries: 3, retry_at: at(1), last_error: None };
    let whole = Scheduled { last_error: Some("the bank does not answer".into()), ..bare.clone() };
    let started = Started { agent_id: "bot".into(), retry_attempt: 1, last_error: None };
    let told = Started { last_error: Some("the bank does not answer".into()), ..started.clone() };
    let exhausted = |reason| Exhausted {
        agent_id: "bot".into(),
        failures: 3,
        reason,
        fallback_agent_id: Some("bot/2".into()),
        last_error: Some("the bank does not answer".into()),
    };
    let last = Exhausted { fallback_agent_id: None, last_error: None, ..exhausted(ExhaustedReason::FallbackRefused) };
    let events = [
        RetryEvent::Scheduled(bare),
        RetryEvent::Scheduled(whole),
        RetryEvent::Started(started),
        RetryEvent::Started(told),
        RetryEvent::Exhausted(exhausted(ExhaustedReason::Retries)),
        RetryEvent::Exhausted(exhausted(ExhaustedReason::Threshold)),
        RetryEvent::Exhausted(exhausted(ExhaustedReason::NotRecoverable)),
        RetryEvent::Exhausted(exhausted(ExhaustedReason::AgentGone)),
        RetryEvent::Exhausted(last),
        RetryEvent::HandedOver(HandedOver { agent_id: "bot".into(), fallback_agent_id: "bot/2".into() }),
    ];
    let retries = events.into_iter().map(|event| Event::Retry(Box::new(event)));
    retries.chain([Event::Recorded(Box::new(Record::RetryPolicy(enforced)))]).collect()
}
