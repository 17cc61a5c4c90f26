//! Shows which people would be told, and when, if a question were asked now.

use chrono::{DateTime, Utc};

use crate::asking::policy::AskingPolicy;
use crate::base::words;
use crate::intent::command::Suspend;
use crate::suspension::plan::{Plan, Silence};
use crate::wire::{AtTheEnd, ScheduledAttempt, SuspensionPreview, What};

impl SuspensionPreview {
    /// The preview of an accepted question that would be asked at `now`.
    pub fn of(suspend: Suspend, policy: &AskingPolicy, now: DateTime<Utc>) -> Self {
        let silence =
            Silence::new(suspend.fallback_policy, suspend.fallback_value.as_ref(), &suspend.choices, suspend.requires_delivery);
        let plan = Plan::new(&suspend.question, &policy.channels, now, suspend.expires_at(now), silence);
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
            (Some(_), Silence::Fails | Silence::Unmet) => (What::Fail, plan.silence.sentence_for_the_asker()),
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
            warnings: suspend.warnings,
        }
    }
}
