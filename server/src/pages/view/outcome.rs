//! The page of a question that can no longer be answered.

use chrono::{DateTime, Utc};
use domain::base::text::visible;
use store::inbox::COUNTED_MAX;

use super::super::context::Table;
use super::super::fold::{Folds, Length};
use super::super::language::in_languages;
use super::moment::{machine, minute, received, second};
use super::timeline::{Timeline, What};
use super::{ApprovedShown, Asked, Card, Cell, Given, Leads, Page, PlanRow, STYLESHEET, Silence, line, phrase, quoted};

/// A question that can no longer be answered.
#[derive(Debug, Clone)]
pub(in crate::pages) struct Outcome {
    /// The parts of every page.
    pub page: Page,
    /// The question.
    pub asked: Asked,
    /// How it ended.
    pub ending: Ending,
    /// The action that was approved; absent if the question proposed none, or was not approved.
    pub approved: Option<ApprovedShown>,
    /// Whether the holder has just sent an answer that did not count.
    pub tried: bool,
    /// The history of the question so far; absent on the page of a link.
    pub timeline: Option<Box<Timeline>>,
    /// The messages that were sent, and when; may be empty.
    pub told: Vec<PlanRow>,
    /// When this page is made.
    pub now: DateTime<Utc>,
    /// The address of the script that shows times in the reader's zone.
    pub times_path: String,
}

/// How a question ended, as the holder of one link sees it.
#[derive(Debug, Clone)]
pub(in crate::pages) enum Ending {
    /// The holder's answer counted.
    AnsweredByYou {
        /// The answer.
        given: Given,
        /// When it was recorded.
        at: DateTime<Utc>,
        /// The holder's comment.
        comment: Option<String>,
        /// When the agent fetched it, if that is known.
        received_at: Option<DateTime<Utc>>,
        /// The other person in whose place the holder answered, if it was so.
        in_place_of: Option<String>,
    },
    /// Another person's answer counted.
    AnsweredByAnother {
        /// The name of that person.
        by: String,
        /// The answer.
        given: Given,
        /// When it was recorded.
        at: DateTime<Utc>,
        /// The other person in whose place it was given, if it was so.
        in_place_of: Option<String>,
    },
    /// No person answered before the deadline.
    Expired {
        /// The deadline.
        at: DateTime<Utc>,
        /// The outcome without an answer; absent while the end is not recorded yet.
        silence: Option<Silence>,
    },
    /// The agent, or an admin for it, took the question back.
    Withdrawn {
        /// When.
        at: DateTime<Utc>,
        /// The name of the withdrawer, if it was not the agent itself.
        by: Option<String>,
        /// The reason, in the agent's words.
        reason: Option<String>,
    },
    /// The agent asked again.
    Superseded {
        /// When.
        at: DateTime<Utc>,
        /// The change, in Placet's words.
        changed: Option<String>,
        /// The newer question, if the holder may see it.
        newer_href: Option<String>,
    },
    /// The server was away, or its clock jumped, and the lost time could not be given back, because the deadline does not move.
    TimeLost {
        /// When it ended.
        at: DateTime<Utc>,
    },
    /// People had answered at the deadline, and not enough of them agreed.
    QuorumUnmet {
        /// When it ended.
        at: DateTime<Utc>,
    },
    /// No message arrived before the deadline.
    Undeliverable {
        /// The deadline.
        at: DateTime<Utc>,
        /// How many messages were tried.
        messages: usize,
    },
}

impl Outcome {
    /// Renders the page.
    pub(in crate::pages) fn render(&self) -> askama::Result<String> {
        // No answer can be given here, so nothing is folded.
        let (whole, none) = (Length::Whole, &mut Folds::new(self.page.manner.language));
        let card = self.asked.card(whole, none);
        let table = self.answered().and_then(|given| given.table(whole, none));
        let action = self.approved.as_ref().map(|approved| {
            let members = approved.members.iter().map(|(name, value)| (name.clone(), value));
            (Table::new(members, 'p', whole, none), approved)
        });
        OutcomePage { page: &self.page, outcome: self, card, table, action }.render()
    }

    fn answered(&self) -> Option<&Given> {
        match &self.ending {
            Ending::AnsweredByYou { given, .. }
            | Ending::AnsweredByAnother { given, .. }
            | Ending::Expired { silence: Some(Silence::Fallback(given)), .. } => Some(given),
            Ending::Expired { silence: Some(Silence::Ends | Silence::Beside) | None, .. }
            | Ending::Withdrawn { .. }
            | Ending::Superseded { .. }
            | Ending::TimeLost { .. }
            | Ending::QuorumUnmet { .. }
            | Ending::Undeliverable { .. } => None,
        }
    }
}

struct OutcomePage<'a> {
    page: &'a Page,
    outcome: &'a Outcome,
    card: Card,
    table: Option<Table>,
    action: Option<(Table, &'a ApprovedShown)>,
}

in_languages!(OutcomePage<'_>, "outcome.html");

impl OutcomePage<'_> {
    fn title(&self) -> &'static str {
        let language = self.page.manner.language;
        match self.outcome.ending {
            Ending::AnsweredByYou { .. } => language.answered_by_you(),
            Ending::AnsweredByAnother { .. } => language.answered_by_another(),
            Ending::Expired { .. } => language.closed_unanswered(),
            Ending::Withdrawn { .. } => language.withdrawn(),
            Ending::Superseded { .. } => language.superseded(),
            Ending::TimeLost { .. } => language.closed_time_lost(),
            Ending::QuorumUnmet { .. } => language.closed_too_few_agreed(),
            Ending::Undeliverable { .. } => language.closed_undelivered(),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::super::samples::{TIMES, asked, at, page};
    use super::*;

    fn outcome(ending: Ending) -> String {
        Outcome {
            page: page(),
            asked: asked(),
            ending,
            approved: None,
            tried: false,
            timeline: None,
            told: Vec::new(),
            now: at(9, 31),
            times_path: TIMES.to_owned(),
        }
        .render()
        .unwrap()
    }

    fn given() -> Given {
        Given { label: Some("Do not refund".to_owned()), value: json!("deny"), said: Vec::new() }
    }

    #[test]
    fn each_ending_says_what_did_and_what_did_not_happen() {
        let cases = [
            (
                Ending::AnsweredByYou {
                    given: given(),
                    at: at(7, 18),
                    comment: None,
                    received_at: Some(at(7, 18) + TimeDelta::seconds(1)),
                    in_place_of: Some("Dora <b>Klein".to_owned()),
                },
                vec![
                    "<h1>Your answer was recorded</h1>",
                    "Do not refund",
                    "<code><bdi>deny</bdi></code>",
                    "07:18:04 UTC",
                    "received it 1 second later",
                    "in place of <bdi>Dora &#60;b&#62;Klein</bdi>",
                ],
            ),
            (
                Ending::AnsweredByAnother { by: "Jonas Weber".to_owned(), given: given(), at: at(7, 18), in_place_of: None },
                vec!["<h1><bdi>Jonas Weber</bdi> answered first</h1>", "Do not refund", "There is nothing to do."],
            ),
            (
                Ending::Expired { at: at(9, 30), silence: Some(Silence::Ends) },
                vec![
                    "<h1>The deadline has passed</h1>",
                    "No person answered by",
                    "no fallback was used",
                    "neither a yes nor a no",
                ],
            ),
            (
                Ending::Expired { at: at(9, 30), silence: Some(Silence::Fallback(given())) },
                vec![
                    "<h1>The deadline has passed</h1>",
                    "goes on with the fallback it named when it asked: <b><bdi>Do not refund</bdi></b>",
                    "neither a yes nor a no",
                ],
            ),
            (
                Ending::Withdrawn { at: at(7, 20), by: None, reason: Some("customer cancelled".to_owned()) },
                vec!["<h1>The agent withdrew this question</h1>", "07:20 UTC", "“<bdi>customer cancelled</bdi>”"],
            ),
            (
                Ending::Superseded {
                    at: at(7, 20),
                    changed: Some("The amount changed".to_owned()),
                    newer_href: Some("/a/new".to_owned()),
                },
                vec!["<h1>A newer question replaced this one</h1>", "The amount changed", "<a href=\"/a/new\">"],
            ),
            (
                Ending::Undeliverable { at: at(9, 30), messages: 3 },
                vec![
                    "<h1>No person could be reached</h1>",
                    "None of 3 messages is known to have arrived",
                    "no fallback was used",
                ],
            ),
        ];
        for (ending, sentences) in cases {
            let html = outcome(ending);
            for sentence in sentences {
                assert!(html.contains(sentence), "{sentence} is missing in {html}");
            }
            assert!(html.contains("Refund €412.00?"));
            assert!(!html.contains("<form") && !html.contains("<button"));
        }
    }

    #[test]
    fn an_answer_too_long_for_a_sentence_is_shown_below_in_full() {
        let value = json!("line one\nline two");
        let html = outcome(Ending::AnsweredByYou {
            given: Given { label: None, value, said: Vec::new() },
            at: at(7, 18),
            comment: None,
            received_at: None,
            in_place_of: None,
        });
        assert!(html.contains("Your answer is shown below") && html.contains("line one\nline two"));
    }
}
