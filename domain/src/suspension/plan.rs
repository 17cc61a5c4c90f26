//! The plan of a question, with its attempts and people. Mails, pages, the preview and the command line all show this plan.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::base::text::quoted;
use crate::base::words::{self, Language};
use crate::suspension::channel::Channels;
use crate::suspension::{FallbackPolicy, Question, Suspension, SuspensionChoice};

/// The longest label quoted in one of our sentences, in characters.
const QUOTED_MAX: usize = 80;
/// How many people one line of the plan names; the others are only counted.
const NAMED_MAX: usize = 3;

/// The people who are told about one question, with the times, and the outcome if none of them answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'a> {
    /// Every attempt, the first one included.
    pub steps: Vec<Step<'a>>,
    /// The deadline; absent for a question that waits for ever.
    pub ends_at: Option<DateTime<Utc>>,
    /// The outcome if no person answers until the deadline.
    pub silence: Silence<'a>,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Its number, from 1.
    pub attempt: u32,
    /// When it is due.
    pub at: DateTime<Utc>,
    /// The people who are told, by channel.
    pub ways: Vec<(&'a str, &'a [String])>,
    /// Whether a step of the escalation ladder takes effect at this attempt.
    pub escalation: bool,
}

/// The outcome if no person answers until the deadline.
#[derive(Clone, Debug, PartialEq)]
pub enum Silence<'a> {
    /// The agent is told that no one answered, and stops.
    Fails,
    /// People have answered; the agent is told that not enough of them agreed, and stops.
    Unmet,
    /// The agent goes on with a value.
    FallsBack {
        /// The value.
        value: &'a Value,
        /// The label of the choice with this value.
        label: Option<&'a str>,
        /// Whether the value applies only if a person was reached.
        requires_delivery: bool,
    },
}

impl<'a> Plan<'a> {
    /// The plan of a question that was asked, on a server with these channels.
    pub fn of(suspension: &'a Suspension, question: &'a Question, channels: &'a Channels) -> Self {
        let silence = Silence::new(
            suspension.policy_in_silence(),
            suspension.fallback_value.as_ref(),
            &suspension.choices,
            suspension.requires_delivery,
        );
        let is_unmet = !suspension.counted.is_empty() && suspension.ended_by_portfolio().is_none();
        let silence = if is_unmet { Silence::Unmet } else { silence };
        let mut plan = Self::new(question, channels, suspension.suspended_at, suspension.ends_at(), silence);
        // The deadline of a portfolio can come before an attempt that is planned.
        plan.steps.retain(|step| step.attempt == 1 || suspension.ends_at().is_none_or(|end| step.at < end));
        plan
    }

    /// The plan of a question that is asked at `suspended_at`.
    pub fn new(
        question: &'a Question,
        channels: &'a Channels,
        suspended_at: DateTime<Utc>,
        ends_at: Option<DateTime<Utc>>,
        silence: Silence<'a>,
    ) -> Self {
        let policy = question.retry_policy.as_ref();
        let attempts = policy.map_or(1, |policy| policy.max_attempts);
        let step = |attempt| Step {
            attempt,
            at: policy.map_or(suspended_at, |policy| policy.due_at(suspended_at, attempt)),
            ways: channels.recipients(question.channel_at(attempt), question.recipients_at(attempt)),
            escalation: policy.is_some_and(|policy| policy.rung_at(attempt).is_some()),
        };
        Self { steps: (1..=attempts).map(step).collect(), ends_at, silence }
    }
}

impl<'a> Step<'a> {
    /// The recipients, each once; the recipient of a message to a chat room is the room's name.
    pub fn recipients(&self) -> Vec<&'a str> {
        let mut recipients: Vec<&'a str> = Vec::new();
        for recipient in self.ways.iter().flat_map(|(_, recipients)| *recipients) {
            if !recipients.iter().any(|known| known.eq_ignore_ascii_case(recipient)) {
                recipients.push(recipient);
            }
        }
        recipients
    }

    /// Whether `person` is told.
    pub fn tells(&self, person: &str) -> bool {
        self.recipients().iter().any(|recipient| recipient.eq_ignore_ascii_case(person))
    }

    /// This step on one line, in words for `reader`.
    pub fn sentence(&self, reader: &str, language: Language) -> String {
        let you = self.tells(reader).then(|| language.you().to_owned());
        let others = self.recipients().into_iter().filter(|person| !person.eq_ignore_ascii_case(reader)).map(str::to_owned);
        let mut people: Vec<String> = you.into_iter().chain(others).collect();
        let more = people.len().saturating_sub(NAMED_MAX);
        people.truncate(NAMED_MAX);
        let people = language.people(&people, more);
        if self.escalation {
            language.as_an_escalation(&people)
        } else if self.attempt > 1 {
            language.as_a_reminder(&people)
        } else {
            people
        }
    }
}

impl<'a> Silence<'a> {
    /// The outcome under this policy, for a question with these choices.
    pub fn new(
        policy: FallbackPolicy,
        value: Option<&'a Value>,
        choices: &'a [SuspensionChoice],
        requires_delivery: bool,
    ) -> Self {
        match (policy, value) {
            (FallbackPolicy::Fail, _) | (_, None) => Self::Fails,
            (FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, Some(value)) => {
                let choice = choices.iter().find(|choice| value.as_str() == Some(&choice.value));
                Self::FallsBack { value, label: choice.map(|choice| choice.label.as_str()), requires_delivery }
            }
        }
    }

    /// The sentence for the people who are asked.
    pub fn sentence(&self, language: Language) -> String {
        match (self.fallback(language), self) {
            (_, Self::Unmet) => language.closes_without_agreement().to_owned(),
            (None, _) => language.closes_without_a_decision().to_owned(),
            (Some(fallback), _) => language.closes_with_fallback(&fallback),
        }
    }

    /// The sentence for the asker, before it asks.
    pub fn sentence_for_the_asker(&self) -> String {
        match (self.fallback(Language::English), self) {
            (Some(fallback), Self::FallsBack { requires_delivery, .. }) => {
                words::falls_back_for_the_asker(&fallback, *requires_delivery)
            }
            (None, _) | (Some(_), Self::Fails | Self::Unmet) => words::FAILS_FOR_THE_ASKER.to_owned(),
        }
    }

    /// The value in words.
    fn fallback(&self, language: Language) -> Option<String> {
        let Self::FallsBack { value, label, .. } = self else { return None };
        let words = label.or_else(|| value.as_str()).unwrap_or(language.the_values_it_named());
        Some(quoted(words, QUOTED_MAX))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use serde_json::{Map, json};

    use super::*;
    use crate::suspension::channel::{NamedChannel, Reach};
    use crate::suspension::retry::{HumanRetryPolicy, OneOrMany, Rung, Strategy};

    fn question(ladder: Vec<Rung>) -> Question {
        let retry_policy = HumanRetryPolicy {
            max_attempts: 4,
            interval_seconds: 600,
            strategy: Strategy::Fixed,
            escalation_ladder: ladder,
            final_fallback_policy: None,
        };
        Question {
            question: "Go?".into(),
            context: Map::new(),
            channel_hint: Some("email".into()),
            timeout_seconds: Some(600),
            retry_policy: Some(retry_policy),
            confidence_at_suspension: None,
            decision_record: None,
            recipients: vec!["alice@example.com".into(), "bob@example.com".into()],
            asked_before: None,
            requested: None,
            client_id: None,
            required_assurance: None,
            assignees: None,
            risk: None,
            separation: None,
            comment_on_refusal: None,
            proposal: None,
            grounds: None,
            errand: None,
        }
    }

    fn rung(attempt: u32, channel_hint: Option<&str>, people: Option<&[&str]>) -> Rung {
        let people = people.map(|people| OneOrMany(people.iter().map(|person| (*person).to_owned()).collect()));
        Rung { attempt, channel_hint: channel_hint.map(str::to_owned), notify_to: people }
    }

    fn at(minute: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, 8, minute, 0).unwrap()
    }

    /// Channels with mails by default, a pager for people, and a room.
    fn channels() -> Channels {
        let channel = |name: &str, reach| NamedChannel { name: name.into(), reach, links: true };
        let room = channel("room", Reach::Audience("ops-room".into()));
        Channels::new(vec![channel("email", Reach::People), channel("pager", Reach::People), room], vec!["email".into()]).unwrap()
    }

    #[test]
    fn every_attempt_has_its_time_its_people_and_its_channel() {
        let ladder = vec![rung(2, None, Some(&["carol@example.com"])), rung(3, Some("pager"), None), rung(4, Some("room"), None)];
        let (question, channels) = (question(ladder), channels());
        let plan = Plan::new(&question, &channels, at(0), Some(at(40)), Silence::Fails);
        let lines: Vec<String> = plan
            .steps
            .iter()
            .map(|step| {
                let people = step.recipients().join("+");
                format!("{} {} {people} {} {}", step.attempt, step.at.format("%H:%M"), step.ways[0].0, step.escalation)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "1 08:00 alice@example.com+bob@example.com email false",
                "2 08:10 carol@example.com email true",
                "3 08:20 alice@example.com+bob@example.com pager true",
                "4 08:30 ops-room room true",
            ]
        );
        let once = Question { retry_policy: None, ..question };
        assert_eq!(Plan::new(&once, &channels, at(0), None, Silence::Fails).steps.len(), 1);
    }

    #[test]
    fn a_step_is_told_as_its_reader_should_read_it() {
        let question = question(vec![rung(3, None, Some(&["carol@example.com", "Alice@example.com"]))]);
        let channels = channels();
        let plan = Plan::new(&question, &channels, at(0), Some(at(40)), Silence::Fails);
        let read = |reader: &str| plan.steps.iter().map(|step| step.sentence(reader, Language::English)).collect::<Vec<_>>();
        assert_eq!(
            read("alice@example.com"),
            [
                "You and bob@example.com",
                "You and bob@example.com, as a reminder",
                "You and carol@example.com, as an escalation",
                "You and carol@example.com, as a reminder",
            ]
        );
        assert_eq!(read("carol@example.com")[0], "alice@example.com and bob@example.com");
    }

    #[test]
    fn a_line_names_three_people_and_counts_the_others() {
        let many = |count: usize| (0..count).map(|person| format!("p{person}@example.com")).collect::<Vec<_>>();
        let sentence = |recipients: &[String]| {
            Step { attempt: 1, at: at(0), ways: vec![("email", recipients), ("pager", recipients)], escalation: false }
                .sentence("p2@example.com", Language::English)
        };
        assert_eq!(sentence(&many(3)), "You, p0@example.com and p1@example.com");
        assert_eq!(sentence(&many(4)), "You, p0@example.com, p1@example.com and 1 more");
        assert_eq!(sentence(&[]), "No person");
    }

    #[test]
    fn silence_is_told_to_people_and_to_the_asker() {
        let choices = SuspensionChoice::yes_no();
        let value = json!("no");
        let falls = |delivery| Silence::new(FallbackPolicy::UseDefaultAndContinue, Some(&value), &choices, delivery);
        assert_eq!(
            falls(true).sentence(Language::English),
            "It closes. The agent goes on with “No”, and is told that no person answered."
        );
        assert!(falls(true).sentence_for_the_asker().contains("undeliverable"));
        assert!(!falls(false).sentence_for_the_asker().contains("undeliverable"));
        assert_eq!(Silence::new(FallbackPolicy::Fail, Some(&value), &choices, true), Silence::Fails);
        let form = json!({"a": 1});
        let form = Silence::new(FallbackPolicy::CompleteWithFallback, Some(&form), &[], true);
        assert!(form.sentence(Language::English).contains("the values it named"));
    }
}
