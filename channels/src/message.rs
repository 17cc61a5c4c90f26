use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use domain::base::ids::{DeliveryId, IntentId, SuspensionId};
use domain::base::words::Language;
use domain::suspension::SuspensionChoice;

/// One message to one recipient about one question, with all values that a channel needs to send it.
///
/// It holds only what the reader needs: the context that an agent sent stays on the server (RFC-0025 §11).
#[derive(Clone)]
pub struct Message {
    /// The id of the message, the same at every try.
    pub delivery_id: DeliveryId,
    /// The intent that waits.
    pub intent_id: IntentId,
    /// The suspension about which the message asks.
    pub suspension_id: SuspensionId,
    /// The number of the attempt for which the message was queued, from 1.
    pub attempt: u32,
    /// The place of this message among the messages about the question, from 1: a later message has a higher number.
    pub sequence: u32,
    /// When it was queued.
    pub queued_at: DateTime<Utc>,
    /// `local@domain` without angle brackets, made from the id of the message. It is the same at every try, so that a receiver
    /// recognises a repeated delivery.
    pub message_id: String,
    /// The token by which the server recognises this message if it is returned; it stands in the return address and in a header.
    pub bounce_token: String,
    /// The message id of the first message, whose thread a reminder continues.
    pub in_reply_to: Option<String>,
    /// The address of the one recipient.
    pub recipient: String,
    /// The language of a mail; a message to a room is English.
    pub language: Language,
    /// The asker: the name under which the agent authenticated.
    pub agent: String,
    /// The title of the agent's work, in its words.
    pub intent_title: String,
    /// The question, in the agent's words.
    pub question: String,
    /// How many other intents wait for the intent that asks.
    pub waiting: u32,
    /// The possible answers.
    pub answers: Answers,
    /// The demands of the question on an answer, and what makes it weigh more than others, in the server's own sentences.
    pub demands: Vec<String>,
    /// The address of the answer page; its holder can answer, so it is never logged.
    pub link: String,
    /// Why this message is sent now.
    pub occasion: Occasion,
    /// When it is sent; the `Date` of a mail.
    pub sent_at: DateTime<Utc>,
    /// When the question was asked.
    pub suspended_at: DateTime<Utc>,
    /// The time until which the question can be answered.
    pub expires_at: Option<DateTime<Utc>>,
    /// The steps still to come, with their times; the last row tells how the question ends.
    pub plan: Vec<(DateTime<Utc>, String)>,
    /// The zone in which times are shown besides UTC, if any.
    pub display_time_zone: Option<Tz>,
    /// The public host, as the reader sees it in the browser.
    pub public_host: String,
    /// Why this person is asked: `because you decide refunds`.
    pub why_you: String,
}

/// The possible answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// One of these choices.
    Choices(Vec<SuspensionChoice>),
    /// Free text.
    Text,
    /// A form.
    Form,
}

/// Why a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The question was just asked.
    Question,
    /// The same person is asked again.
    Reminder {
        /// The number of this message, from 2.
        attempt: u32,
        /// How many messages there will be at most.
        attempts: u32,
    },
    /// The same person is told again on request, between two attempts.
    RemindedOnRequest,
    /// The people who were asked before did not answer.
    Escalation {
        /// The people who were asked before, each with the state of their message: `Priya Raman (delivered, no answer)`.
        asked_before: Vec<String>,
    },
}

/// `Debug` leaves out the link, which is a capability, and the question, which is only for its reader.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("message_id", &self.message_id)
            .field("recipient", &self.recipient)
            .field("occasion", &self.occasion)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod sample {
    //! The messages that the mail was designed with.

    use chrono::TimeZone as _;
    use domain::suspension::Style;

    use super::*;

    fn today(hour: u32, minute: u32) -> DateTime<Utc> {
        Utc.with_ymd_and_hms(2026, 11, 24, hour, minute, 0).unwrap()
    }

    fn id(text: &str) -> uuid::Uuid {
        text.parse().unwrap()
    }

    pub(crate) fn choice(value: &str, label: &str) -> SuspensionChoice {
        SuspensionChoice {
            value: value.to_owned(),
            label: label.to_owned(),
            description: None,
            style: Style::Default,
            metadata: None,
        }
    }

    pub(crate) fn question() -> Message {
        Message {
            delivery_id: DeliveryId(id("0193600b-2f1c-7000-8000-000000000001")),
            intent_id: IntentId(id("0193600b-2f1c-7000-8000-0000000000aa")),
            suspension_id: SuspensionId(id("0193600b-2f1c-7000-8000-0000000000bb")),
            attempt: 1,
            sequence: 2,
            queued_at: today(7, 14),
            message_id: "0193600b-2f1c-7000-8000-000000000001@placet.northpine.example".to_owned(),
            bounce_token: "1f.00112233445566778899aabb".to_owned(),
            in_reply_to: None,
            recipient: "priya.raman@northpine.example".to_owned(),
            language: Language::English,
            agent: "refund-agent".to_owned(),
            intent_title: "Support automation".to_owned(),
            question: "Refund €412.00 to Marta Kowalska for order 10-88421?".to_owned(),
            waiting: 0,
            demands: Vec::new(),
            answers: Answers::Choices(vec![
                choice("approve", "Refund €412.00"),
                choice("deny", "Do not refund"),
                choice("half", "Refund half, €206.00"),
            ]),
            link: "https://placet.northpine.example/a/plc_7Qk2vN8mB1xRzT4yLd0cWfHs6uJpEa3gKoXw9iVtYbM".to_owned(),
            occasion: Occasion::Question,
            sent_at: today(7, 14),
            suspended_at: today(7, 14),
            expires_at: Some(today(9, 30)),
            plan: vec![
                (today(8, 0), "You get a reminder".to_owned()),
                (today(8, 45), "Finance on call is asked as well".to_owned()),
                (
                    today(9, 30),
                    "It closes. Nothing is refunded, and the agent is told that no person answered, not that you said no."
                        .to_owned(),
                ),
            ],
            display_time_zone: None,
            public_host: "placet.northpine.example".to_owned(),
            why_you: "because you decide refunds".to_owned(),
        }
    }

    pub(crate) fn reminder() -> Message {
        let first = question();
        Message {
            message_id: "0193600b-2f1c-7000-8000-000000000002@placet.northpine.example".to_owned(),
            in_reply_to: Some(first.message_id.clone()),
            attempt: 2,
            sequence: 5,
            queued_at: today(8, 0),
            occasion: Occasion::Reminder { attempt: 2, attempts: 3 },
            sent_at: today(8, 0),
            plan: first.plan[1..].to_vec(),
            ..first
        }
    }

    pub(crate) fn escalation() -> Message {
        let first = question();
        Message {
            message_id: "0193600b-2f1c-7000-8000-000000000003@placet.northpine.example".to_owned(),
            recipient: "finance@northpine.example".to_owned(),
            language: Language::English,
            occasion: Occasion::Escalation { asked_before: vec!["Priya Raman (delivered, opened 07:20, no answer)".to_owned()] },
            sent_at: today(8, 45),
            plan: first.plan[2..].to_vec(),
            ..first
        }
    }
}
