//! The bodies of webhooks. They are small, because the receiver can read everything else from the server with its own API key.

use chrono::{DateTime, SecondsFormat, Utc};
use domain::base::ids::{IntentId, SuspensionId};
use domain::base::text::{defanged, quoted, truncated, visible, visible_line};
use domain::base::words::{self, Language};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::rendered::misleading;
use crate::{Answers, Message, Occasion};

/// The longest body, in bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 20 * 1024;
/// The longest question in a body that carries one, in characters.
const QUESTION_CHARS_MAX: usize = 2_000;
/// The longest label and the longest value in a body that carries them, in characters.
const CHOICE_CHARS_MAX: usize = 80;
/// The most choices in a body that carries them.
const CHOICES_MAX: usize = 10;
/// The longest name in a body that carries one, in characters.
const NAME_CHARS_MAX: usize = 100;

/// The form of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Template {
    /// Placet's own form: the event and the question, as ids.
    #[default]
    Placet,
    /// `{"text": …}`, which Slack, Mattermost and others accept.
    Slack,
}

#[derive(Serialize)]
struct Payload<'a> {
    r#type: &'static str,
    timestamp: String,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    intent_id: IntentId,
    suspension_id: SuspensionId,
    attempt: u32,
    sequence: u32,
    recipient: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

/// The body for `message`; with the answer link only if the endpoint delivers it to people.
pub(crate) fn payload(message: &Message, template: Template, with_link: bool) -> serde_json::Result<Vec<u8>> {
    let url = with_link.then_some(message.link.as_str());
    match template {
        Template::Placet => serde_json::to_vec(&Payload {
            r#type: event_type(&message.occasion),
            timestamp: message.queued_at.to_rfc3339_opts(SecondsFormat::Micros, true),
            data: Data {
                intent_id: message.intent_id,
                suspension_id: message.suspension_id,
                attempt: message.attempt,
                sequence: message.sequence,
                recipient: &message.recipient,
                url,
            },
        }),
        Template::Slack => serde_json::to_vec(&json!({ "text": text(message, url), "mrkdwn": false })),
    }
}

/// The kind of the message for its receiver, named like an event of the log. It may differ from the event that queued the
/// message: a second attempt is recorded as a reminder, but a person that no earlier message reached is asked, not reminded.
fn event_type(occasion: &Occasion) -> &'static str {
    match occasion {
        Occasion::Question => "intent.suspended",
        Occasion::Reminder { .. } => "intent.suspension_renotified",
        Occasion::RemindedOnRequest => "intent.suspension_reminded",
        Occasion::Escalation { .. } => "intent.suspension_escalated",
    }
}

/// The text of the message, in the server's words and the agent's. The agent's text can neither be clicked nor mention anyone.
/// Each line of the question begins with `>`, so that it does not look like the server's own words.
fn text(message: &Message, url: Option<&str>) -> String {
    let agent = escaped(&defanged(&quoted(&message.agent, NAME_CHARS_MAX)));
    let question = truncated(&defanged(&visible(&message.question)), QUESTION_CHARS_MAX);
    let mut lines = vec![words::room_is_asked(&agent)];
    lines.extend(question.split('\n').map(|line| escaped(&format!("> {line}"))));
    lines.extend(answers(&message.answers));
    lines.extend(message.demands.iter().cloned());
    if let Some(until) = message.expires_at {
        lines.push(words::room_until(&moment(until)));
    }
    // The link is made of the public URL and the token: nothing in it needs an escape.
    lines.push(url.map_or_else(|| words::ROOM_HAS_NO_LINK.to_owned(), words::room_answers_at));
    lines.join("\n")
}

/// The possible answers: each label is marked as the agent's, and its value stands below it.
fn answers(answers: &Answers) -> Vec<String> {
    let Answers::Choices(choices) = answers else { return Vec::new() };
    let words = |text: &str| escaped(&truncated(&defanged(&visible_line(text)), CHOICE_CHARS_MAX));
    let mut lines = vec![words::POSSIBLE_ANSWERS.to_owned() + ":"];
    lines.extend(misleading(answers, Language::English));
    for choice in choices.iter().take(CHOICES_MAX) {
        lines.push(format!("{} {}", escaped(">"), words(&choice.label)));
        lines.push(format!("{} {}", words::SENDS, words(&choice.value)));
    }
    if choices.len() > CHOICES_MAX {
        lines.push(words::more_on_the_page(choices.len() - CHOICES_MAX));
    }
    lines
}

fn moment(at: DateTime<Utc>) -> String {
    words::in_utc(&words::date_and_clock(at, false))
}

/// Breaks the beginnings of mentions and links in all chat programs that accept the body: `<!channel>` and
/// `<https://…|Approve>` of Slack, `@channel`, `@all` and `[Approve](/…)` of Mattermost and Rocket.Chat.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' | '＠' if chars.peek().is_some_and(|next| !next.is_whitespace()) => out.push_str("[@]"),
            '(' if out.ends_with(']') => out.push_str(" ("),
            _ => out.push(c),
        }
    }
    out
}
