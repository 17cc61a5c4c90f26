use std::fmt;

use askama::Template;
use chrono::{DateTime, Utc};
use domain::asking::choice::judge;
use domain::base::text::{deadline, defanged, moment, repeats, time_left, truncated, visible, visible_line};
use domain::base::words::Language;

use crate::columns::{TEXT_COLUMNS, columns, truncated_to_columns, wrapped};
use crate::{Answers, Message, Occasion};

/// The most characters of the subject, including the `Re: ` of a reminder.
const SUBJECT_CHARS_MAX: usize = 120;
/// The most characters of an agent's name or title inside our sentences.
const AGENT_CHARS_MAX: usize = 80;
/// The most characters of the host beside our name.
pub(crate) const HOST_CHARS_MAX: usize = 80;
/// The most lines of the question that are shown.
const QUESTION_LINES_MAX: usize = 40;
/// The most rows of the plan that are shown; a policy may have twenty attempts.
const PLAN_ROWS_MAX: usize = 8;
/// The most characters of a plan row, of a choice, and of the words about one person.
const SENTENCE_CHARS_MAX: usize = 200;
/// The most people that an escalation names.
const ASKED_BEFORE_MAX: usize = 5;
/// The most bytes of an answer link; the longest line a mail may have is 998.
const LINK_BYTES_MAX: usize = 500;

/// Limits, in escaped bytes, for the parts of a mail's HTML that grow with the agent's text. Together with the frame and the
/// bounded sentences they keep the HTML part under 20 KB, far below the size at which mail programs hide the end of a mail.
const QUESTION_BYTES_MAX: usize = 2_100;
const CHOICES_BYTES_MAX: usize = 4_500;
/// The bytes of markup around one choice in the HTML part.
const CHOICE_MARKUP_BYTES: usize = 80;
const PLAN_BYTES_MAX: usize = 2_000;

/// The contents of a mail: the same words in two forms.
#[derive(Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The subject, at most 120 characters on one line.
    pub subject: String,
    /// The text part, wrapped.
    pub text: String,
    /// The HTML part, without anything to load.
    pub html: String,
}

/// `Debug` leaves out both parts, because they contain the answer link.
impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// Why a message cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The link is not an http address that can stand in a mail unescaped.
    #[error("the answer link is not usable")]
    Link,
    /// A template failed.
    #[error("the mail's template failed")]
    Template(#[from] askama::Error),
}

/// Renders `message`.
///
/// The answer link is the first address in each part, and the only one. In an agent's text, hidden characters are made visible
/// and addresses are broken (`https[:]//…`), so the text can lead neither a scanner nor a person elsewhere.
pub fn render(message: &Message) -> Result<Rendered, RenderError> {
    if !is_usable(&message.link) {
        return Err(RenderError::Link);
    }
    let mail = Mail::of(message);
    let text = QuestionText { mail: &mail }.render()?;
    let html = QuestionHtml { mail: &mail }.render()?;
    Ok(Rendered { subject: mail.subject, text, html })
}

#[derive(Template)]
#[template(path = "question.txt")]
struct QuestionText<'a> {
    mail: &'a Mail,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionHtml<'a> {
    mail: &'a Mail,
}

/// The values of the templates. Their texts have bounded lengths, and hidden characters in them have been made visible.
struct Mail {
    language: Language,
    subject: String,
    host: String,
    opening: Opening,
    agent: String,
    title: String,
    question: Vec<String>,
    question_is_cut: bool,
    deadline: Option<Deadline>,
    others_wait: Option<String>,
    link: String,
    choices: Vec<Offered>,
    choices_left_out: usize,
    misleading: Option<String>,
    demands: String,
    plan: Vec<PlanRow>,
    recipient: String,
    why_you: String,
}

/// A choice in the list.
struct Offered {
    label: String,
    value: Option<String>,
}

enum Opening {
    None,
    Reminder { badge: String, asked_at: String },
    Escalation { since: String, asked_before: String },
}

struct Deadline {
    at: String,
    left: String,
}

struct PlanRow {
    at: String,
    what: String,
}

impl Mail {
    fn of(message: &Message) -> Self {
        let (question, question_is_cut) = question(&message.question);
        let (choices, choices_left_out) = choices(&message.answers, message.language);
        let title = if repeats(&message.intent_title, &message.question) { "" } else { &message.intent_title };
        Self {
            language: message.language,
            subject: subject(message),
            host: truncated(&ours(&message.public_host), HOST_CHARS_MAX),
            opening: opening(message),
            agent: agents(&message.agent, AGENT_CHARS_MAX),
            title: agents(title, AGENT_CHARS_MAX),
            question,
            question_is_cut,
            deadline: message.expires_at.map(|at| Deadline {
                at: in_zone(deadline(at, message.sent_at, message.language), at, message),
                left: time_left(at - message.sent_at, message.language),
            }),
            others_wait: message.language.others_wait(message.waiting),
            link: message.link.clone(),
            choices,
            choices_left_out,
            misleading: misleading(&message.answers, message.language),
            demands: message.demands.join(" "),
            plan: plan(message),
            recipient: ours(&message.recipient),
            why_you: ours(&message.why_you).trim_end_matches('.').to_owned(),
        }
    }

    /// The lines that open the text part of a reminder or an escalation. In the whole text part, only our own sentences start at
    /// the margin; one of them may quote an agent's name. The lines of a question and of its choices are indented. No line is
    /// longer than the width of the part, so no mail program wraps one to the margin.
    fn opening_lines(&self) -> Vec<String> {
        let sentence = match &self.opening {
            Opening::None => return Vec::new(),
            Opening::Reminder { badge, .. } => {
                let left = self.deadline.as_ref().map(|deadline| deadline.left.as_str());
                self.language.reminder_in_text(badge, left)
            }
            Opening::Escalation { since, asked_before } => {
                format!("{} {asked_before}", self.language.nobody_has_answered_since(since))
            }
        };
        wrapped(sentence.trim_end(), "", "")
    }

    /// The line that names the asker, within the width of the part; the name has precedence over the title.
    fn asker_line(&self) -> String {
        let agent = truncated_to_columns(&self.agent, TEXT_COLUMNS.saturating_sub(columns(&self.language.asks("").to_string())));
        let asks = self.language.asks(&agent).to_string();
        let title = truncated_to_columns(&self.title, TEXT_COLUMNS.saturating_sub(columns(&asks) + " ()".len()));
        if title.is_empty() { asks } else { format!("{asks} ({title})") }
    }

    fn question_lines(&self) -> Vec<String> {
        self.question.iter().flat_map(|line| wrapped(line, "  > ", "  > ")).collect()
    }

    /// The value of a choice is indented deeper than any line of its label can be.
    fn choice_lines(&self) -> Vec<String> {
        let sends = |value: &String| wrapped(&format!("{} {value}", self.language.sends()), "      ", "        ");
        let lines =
            |choice: &Offered| [wrapped(&choice.label, "  - ", "    "), choice.value.iter().flat_map(sends).collect()].concat();
        self.choices.iter().flat_map(lines).collect()
    }

    fn misleading_lines(&self) -> Vec<String> {
        self.misleading.iter().flat_map(|warning| wrapped(warning, "", "")).collect()
    }

    fn demand_lines(&self) -> Vec<String> {
        if self.demands.is_empty() { Vec::new() } else { wrapped(&self.demands, "", "") }
    }

    fn plan_lines(&self) -> Vec<String> {
        let widest = self.plan.iter().map(|row| columns(&row.at)).max().unwrap_or(0);
        let indent = " ".repeat(widest + 4);
        self.plan.iter().flat_map(|row| wrapped(&row.what, &format!("  {:<widest$}  ", row.at), &indent)).collect()
    }

    fn sent_to_lines(&self) -> Vec<String> {
        wrapped(&self.language.sent_to(&self.recipient, &self.why_you), "", "")
    }
}

/// Puts the typewriter's apostrophe in place of the typographic one, because every terminal shows it.
fn typewritten(sentence: &str) -> String {
    sentence.replace('’', "'")
}

/// An agent's text on one line of at most `max_chars` characters: its hidden characters are made visible, and its addresses
/// broken.
fn agents(text: &str, max_chars: usize) -> String {
    truncated(defanged(&visible_line(text)).trim(), max_chars)
}

/// A text of the server on one line, with a bounded length. It may quote a person's name or address, so hidden characters in it
/// are made visible as well.
fn ours(text: &str) -> String {
    truncated(visible_line(text).trim(), SENTENCE_CHARS_MAX)
}

fn subject(message: &Message) -> String {
    let language = message.language;
    let (prefix, reply) = match message.occasion {
        Occasion::Question => (language.subject_prefix(), ""),
        Occasion::Reminder { .. } | Occasion::RemindedOnRequest => (language.subject_prefix(), "Re: "),
        Occasion::Escalation { .. } => (language.subject_prefix_escalated(), ""),
    };
    // A reminder repeats the subject of the first mail to the letter, so both leave room for its "Re: ".
    let room = SUBJECT_CHARS_MAX - "Re: ".len() - prefix.chars().count();
    // A mail program would decode an encoded word (`=?…`), and so bring back invisible characters that were made visible here.
    let question = agents(&message.question, room).replace("=?", "= ?");
    format!("{reply}{prefix}{}", truncated(&question, room))
}

fn opening(message: &Message) -> Opening {
    let language = message.language;
    let asked_at = language.in_utc(&moment(message.suspended_at, message.sent_at, language));
    let asked_at = in_zone(asked_at, message.suspended_at, message);
    match &message.occasion {
        Occasion::Question => Opening::None,
        Occasion::Reminder { attempt, attempts } => Opening::Reminder { badge: language.reminder(attempt, attempts), asked_at },
        Occasion::RemindedOnRequest => Opening::Reminder { badge: language.reminder_on_request().to_owned(), asked_at },
        Occasion::Escalation { asked_before } => {
            Opening::Escalation { since: asked_at, asked_before: asked_before_you(asked_before, language) }
        }
    }
}

fn asked_before_you(people: &[String], language: Language) -> String {
    if people.is_empty() {
        return String::new();
    }
    let named: Vec<String> = people.iter().take(ASKED_BEFORE_MAX).map(|person| truncated(&ours(person), 100)).collect();
    language.asked_before_you(&named, people.len() - named.len())
}

/// The lines of the question that are shown, and whether any text is missing.
fn question(text: &str) -> (Vec<String>, bool) {
    let whole = defanged(visible(text).trim());
    let shown = shortened(&whole, QUESTION_BYTES_MAX);
    let lines: Vec<String> = shown.lines().take(QUESTION_LINES_MAX).map(|line| line.trim_end().to_owned()).collect();
    let is_cut = shown != whole || whole.lines().count() > lines.len();
    (lines, is_cut)
}

/// The choices that are shown, and how many are left out.
fn choices(answers: &Answers, language: Language) -> (Vec<Offered>, usize) {
    let instead = |words: &str| (vec![Offered { label: words.to_owned(), value: None }], 0);
    let choices = match answers {
        Answers::Choices(choices) => choices,
        Answers::Text => return instead(language.answer_in_own_words()),
        Answers::Form => return instead(language.answer_is_a_form()),
    };
    let words = |text: &str| shortened(&agents(text, SENTENCE_CHARS_MAX), CHOICES_BYTES_MAX / 4);
    let mut room = CHOICES_BYTES_MAX;
    let mut shown = Vec::new();
    for choice in choices {
        let (label, value) = (words(&choice.label), words(&choice.value));
        let Some(left) = room.checked_sub(escaped_bytes(&label) + escaped_bytes(&value) + CHOICE_MARKUP_BYTES) else {
            break;
        };
        room = left;
        shown.push(Offered { label, value: Some(value) });
    }
    let left_out = choices.len() - shown.len();
    (shown, left_out)
}

/// The warning about misleading choices, with its heading.
pub(crate) fn misleading(answers: &Answers, language: Language) -> Option<String> {
    let Answers::Choices(choices) = answers else { return None };
    judge(choices).warning(language).map(|warning| format!("{}. {warning}", language.words_may_mislead()))
}

/// The plan, with its middle left out if it is long: the next steps and the end matter most.
fn plan(message: &Message) -> Vec<PlanRow> {
    let rows = &message.plan;
    let left_out = if rows.len() > PLAN_ROWS_MAX { rows.len() - (PLAN_ROWS_MAX - 1) } else { 0 };
    let first = if left_out == 0 { rows.len() } else { PLAN_ROWS_MAX - 2 };
    let row_bytes_max = PLAN_BYTES_MAX / PLAN_ROWS_MAX;
    let row = |(at, what): &(DateTime<Utc>, String)| PlanRow {
        at: in_zone(moment(*at, message.sent_at, message.language), *at, message),
        // The sentence is ours, but it may quote the fallback value, which is an agent's text.
        what: shortened(&agents(what, SENTENCE_CHARS_MAX), row_bytes_max),
    };
    let mut shown: Vec<PlanRow> = rows.iter().take(first).map(row).collect();
    if left_out > 0 {
        shown.push(PlanRow { at: "…".to_owned(), what: message.language.more_steps(left_out) });
        shown.extend(rows.last().map(row));
    }
    shown
}

/// A time in UTC, with the same time in the readers' zone.
fn in_zone(utc: String, at: DateTime<Utc>, message: &Message) -> String {
    let Some(zone) = message.display_time_zone else { return utc };
    let there = at.with_timezone(&zone);
    let same_day = there.date_naive() == at.date_naive();
    let (clock, language) = (there.naive_local().and_utc(), message.language);
    let told = if same_day { language.clock(clock) } else { language.date_and_clock(clock, false) };
    language.and_in_zone(&utc, format!("{told} {}", language.zone(zone, at)))
}

/// Whether an address needs no escaping anywhere; no other link is put into a mail.
pub(crate) fn is_usable(link: &str) -> bool {
    let rest = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://"));
    let host_is_named = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$()*+,;=%".contains(c);
    host_is_named && link.len() <= LINK_BYTES_MAX && link.chars().all(is_plain)
}

/// Cuts `text` to at most `max_bytes` of escaped HTML, with an ellipsis in place of the rest.
fn shortened(text: &str, max_bytes: usize) -> String {
    if escaped_bytes(text) <= max_bytes {
        return text.to_owned();
    }
    let mut room = max_bytes.saturating_sub('…'.len_utf8());
    let kept_chars = text
        .chars()
        .take_while(|&c| match room.checked_sub(escaped_char_bytes(c)) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        })
        .count();
    truncated(text, kept_chars + 1)
}

fn escaped_bytes(text: &str) -> usize {
    text.chars().map(escaped_char_bytes).sum()
}

fn escaped_char_bytes(c: char) -> usize {
    match c {
        '&' | '<' | '>' | '"' | '\'' => "&#38;".len(),
        '\n' => "<br>".len(),
        _ => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::sample;
    use crate::message::sample::choice;

    /// The text part of a mail is as designed. Every reader sees it, so a change here changes the product's words.
    #[test]
    fn a_question_reads_as_designed() {
        insta::assert_snapshot!(render(&sample::question()).unwrap().text, @r"
        refund-agent asks (Support automation)

          > Refund €412.00 to Marta Kowalska for order 10-88421?

        Please answer by Tue 24 Nov, 09:30 UTC.
        Read and answer: https://placet.northpine.example/a/plc_7Qk2vN8mB1xRzT4yLd0cWfHs6uJpEa3gKoXw9iVtYbM
        Opening the page decides nothing. You choose there.

        Possible answers
          - Refund €412.00
              sends approve
          - Do not refund
              sends deny
          - Refund half, €206.00
              sends half

        If no person answers (times in UTC)
          08:00  You get a reminder
          08:45  Finance on call is asked as well
          09:30  It closes. Nothing is refunded, and the agent is told that no
                 person answered, not that you said no.

        Sent to priya.raman@northpine.example because you decide refunds.
        The link is yours alone; please don't forward it.
        Replies to this mail are not read.
        ");
    }

    #[test]
    fn a_title_made_from_the_question_is_not_said_again() {
        let mut message = sample::question();
        message.intent_title.clone_from(&message.question);
        let rendered = render(&message).unwrap();
        assert!(
            rendered.text.contains("\nrefund-agent asks\n") || rendered.text.starts_with("refund-agent asks\n"),
            "{}",
            rendered.text
        );
        // The text appears in the title of the document, which repeats the subject, and as the question.
        assert_eq!(rendered.html.matches("Refund €412.00 to Marta Kowalska").count(), 2, "{}", rendered.html);
    }

    #[test]
    fn a_reminder_says_so_first() {
        let rendered = render(&sample::reminder()).unwrap();
        assert_eq!(rendered.subject, "Re: [Placet] Refund €412.00 to Marta Kowalska for order 10-88421?");
        insta::assert_snapshot!(rendered.text, @r"
        Reminder, message 2 of 3. The question is still open: 1 h 30 min left.

        refund-agent asks (Support automation)

          > Refund €412.00 to Marta Kowalska for order 10-88421?

        Please answer by Tue 24 Nov, 09:30 UTC.
        Read and answer: https://placet.northpine.example/a/plc_7Qk2vN8mB1xRzT4yLd0cWfHs6uJpEa3gKoXw9iVtYbM
        Opening the page decides nothing. You choose there.

        Possible answers
          - Refund €412.00
              sends approve
          - Do not refund
              sends deny
          - Refund half, €206.00
              sends half

        If no person answers (times in UTC)
          08:45  Finance on call is asked as well
          09:30  It closes. Nothing is refunded, and the agent is told that no
                 person answered, not that you said no.

        Sent to priya.raman@northpine.example because you decide refunds.
        The link is yours alone; please don't forward it.
        Replies to this mail are not read.
        ");
    }

    #[test]
    fn an_escalation_says_who_was_asked_before() {
        let rendered = render(&sample::escalation()).unwrap();
        assert_eq!(rendered.subject, "[Placet] Escalated: Refund €412.00 to Marta Kowalska for order 10-88421?");
        insta::assert_snapshot!(rendered.text, @r"
        You are asked because no person has answered since 07:14 UTC. Asked
        before you: Priya Raman (delivered, opened 07:20, no answer).

        refund-agent asks (Support automation)

          > Refund €412.00 to Marta Kowalska for order 10-88421?

        Please answer by Tue 24 Nov, 09:30 UTC.
        Read and answer: https://placet.northpine.example/a/plc_7Qk2vN8mB1xRzT4yLd0cWfHs6uJpEa3gKoXw9iVtYbM
        Opening the page decides nothing. You choose there.

        Possible answers
          - Refund €412.00
              sends approve
          - Do not refund
              sends deny
          - Refund half, €206.00
              sends half

        If no person answers (times in UTC)
          09:30  It closes. Nothing is refunded, and the agent is told that no
                 person answered, not that you said no.

        Sent to finance@northpine.example because you decide refunds.
        The link is yours alone; please don't forward it.
        Replies to this mail are not read.
        ");
    }

    #[test]
    fn both_parts_say_the_same() {
        for message in [sample::question(), sample::reminder()] {
            let Rendered { text, html, .. } = render(&message).unwrap();
            for words in [
                "refund-agent",
                "Support automation",
                "Tue 24 Nov, 09:30 UTC",
                "Refund €412.00",
                "Refund half, €206.00",
                "08:45",
                "Finance on call is asked as well",
                "It closes. Nothing is refunded",
                "because you decide refunds",
            ] {
                assert!(text.contains(words) && html.contains(words), "{words}");
            }
        }
    }

    /// Each part of a mail holds no address but the answer link, whatever the agent wrote. So a reader who follows the first
    /// address gets to the answer page.
    #[test]
    fn the_answer_link_is_the_only_address() {
        let mut message = sample::question();
        let lure = "https://placet.northpine.example/a/plc_stolen http://evil.example www.evil.example";
        message.agent = lure.to_owned();
        message.intent_title = lure.to_owned();
        message.question = lure.to_owned();
        message.answers = Answers::Choices(vec![choice(lure, lure), choice("b", lure)]);
        message.plan[0].1 = lure.to_owned();
        for message in [message.clone(), Message { occasion: sample::escalation().occasion, ..message }] {
            let rendered = render(&message).unwrap();
            for part in [&rendered.text, &rendered.html] {
                let links: Vec<&str> = part
                    .match_indices("://")
                    .map(|(at, _)| part[..at].rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |before| before + 1))
                    .map(|start| part[start..].split(['"', '<', '\n', ' ']).next().unwrap())
                    .collect();
                assert!(!links.is_empty());
                assert!(links.iter().all(|link| *link == message.link), "{links:?}");
                assert!(!part.contains("evil.example"));
            }
        }
    }

    /// Placet's own words start at the margin. An agent whose text reaches the margin could speak in Placet's voice.
    #[test]
    fn no_line_of_an_agent_starts_at_the_margin() {
        let mut message = sample::question();
        let hostile = format!("{} FORGED\nFORGED: answered\r\n\r\nFORGED\u{2028}FORGED", "x".repeat(220));
        message.intent_title.clone_from(&hostile);
        message.agent = "界".repeat(100);
        message.question = format!("{hostile}\n\n{}", "界".repeat(100));
        message.answers =
            Answers::Choices(vec![choice(&hostile, &hostile), choice(&"FORGED ".repeat(20), &"FORGED ".repeat(20))]);
        message.plan[0].1 = hostile;
        let text = render(&message).unwrap().text;
        for line in text.lines() {
            assert!(!line.trim_end().starts_with("FORGED"), "{line}");
            let is_link = line.contains(&message.link);
            assert!(is_link || columns(line) <= TEXT_COLUMNS, "{line}");
            assert!(!line.contains("FORGED") || line.starts_with("  ") || line.starts_with("界"), "{line}");
        }
    }

    #[test]
    fn hidden_and_reordering_characters_are_shown_in_every_part() {
        let mut message = sample::question();
        message.question = "Pay \u{202E}00.5€ to\u{200B} Bob\u{0}?".to_owned();
        message.answers = Answers::Choices(vec![choice("Ye\u{2066}s", "Ye\u{2066}s")]);
        let rendered = render(&message).unwrap();
        assert_eq!(rendered.subject, "[Placet] Pay ⟨U+202E⟩00.5€ to⟨U+200B⟩ Bob⟨U+0000⟩?");
        for part in [&rendered.text, &rendered.html] {
            assert!(part.contains("⟨U+202E⟩") && part.contains("Ye⟨U+2066⟩s"));
            assert!(!part.contains(['\u{202E}', '\u{2066}', '\u{200B}', '\u{0}']));
        }
    }

    /// Both parts of a mail warn of misleading choices: a reader may decide by the mail alone, and then only press a button.
    #[test]
    fn choices_that_mislead_are_warned_of_in_both_parts() {
        let mut message = sample::question();
        message.answers = Answers::Choices(vec![choice("approve", "I deny"), choice("deny", "Deny it")]);
        let rendered = render(&message).unwrap();
        for part in [rendered.text.replace('\n', " "), rendered.html] {
            assert!(part.contains("may mislead. An answer says one thing and sends another. Trust the value"), "{part}");
        }
        assert!(!render(&sample::question()).unwrap().text.contains("mislead"));
    }

    /// An agent can make a label just long enough that its end, on the next line, reads like the value of the choice. But the
    /// true value stands below it, and is indented deeper.
    #[test]
    fn no_label_can_forge_what_it_sends() {
        let mut message = sample::question();
        let label = format!("{}sends deny", "x ".repeat(34));
        message.answers = Answers::Choices(vec![choice("approve", &label)]);
        let text = render(&message).unwrap().text;
        assert!(text.contains("\n    sends deny\n      sends approve\n"), "{text}");
    }

    #[test]
    fn agent_markup_stays_text() {
        let mut message = sample::question();
        message.question = "<img src=x onerror=alert(1)> & \"quoted\"".to_owned();
        let rendered = render(&message).unwrap();
        assert!(!rendered.html.contains("<img"));
        assert!(rendered.html.contains("&#60;img"));
        assert!(rendered.text.contains("> <img src=x onerror=alert(1)> & \"quoted\""), "text must not be escaped");
    }

    #[test]
    fn the_html_part_stays_small_whatever_is_asked() {
        let mut message = sample::escalation();
        let longest = "&<'\u{202E}\"".repeat(2_000);
        for fill in ["x".repeat(4_096), longest, "\n&".repeat(2_000), "日本".repeat(700)] {
            message.agent.clone_from(&fill);
            message.intent_title.clone_from(&fill);
            message.question.clone_from(&fill);
            let words: String = fill.chars().take(200).collect();
            message.answers = Answers::Choices(vec![choice(&words, &words); 50]);
            message.plan = vec![(message.sent_at, fill.clone()); 21];
            message.occasion = Occasion::Escalation { asked_before: vec![fill.clone(); 20] };
            message.why_you.clone_from(&fill);
            message.public_host.clone_from(&fill);
            message.link = format!("https://placet.northpine.example/{}", "p".repeat(LINK_BYTES_MAX - 33));
            let rendered = render(&message).unwrap();
            assert!(rendered.html.len() <= 20_000, "{} bytes", rendered.html.len());
            assert!(rendered.subject.chars().count() <= SUBJECT_CHARS_MAX);
        }
    }

    #[test]
    fn choices_beyond_the_budget_are_counted() {
        let mut message = sample::question();
        message.answers =
            Answers::Choices((1..=50).map(|number| choice("v", &format!("{number} {}", "y".repeat(196)))).collect());
        let rendered = render(&message).unwrap();
        assert!(rendered.text.contains("and 34 more, on the page"), "{}", rendered.text);
        assert!(rendered.html.contains("and 34 more, on the page"));
        message.answers = Answers::Choices((1..=50).map(|number| choice("v", &format!("Choice {number}"))).collect());
        assert!(!render(&message).unwrap().text.contains("more, on the page"));
    }

    #[test]
    fn a_cut_question_says_so_and_a_long_plan_keeps_its_end() {
        let mut message = sample::question();
        message.question = "word ".repeat(1_000);
        message.plan = (0..20).map(|hour| (message.sent_at + chrono::TimeDelta::hours(hour), format!("step {hour}"))).collect();
        let rendered = render(&message).unwrap();
        for part in [&rendered.text, &rendered.html] {
            assert!(part.contains("The question is longer. The page shows all of it."));
            assert!(part.contains("step 5") && !part.contains("step 6") && part.contains("step 19"));
            assert!(part.contains("13 more steps"));
        }
    }

    #[test]
    fn a_subject_is_at_most_120_characters_also_as_a_reminder() {
        for mut message in [sample::question(), sample::reminder(), sample::escalation()] {
            message.question = "ä".repeat(300);
            let chars = render(&message).unwrap().subject.chars().count();
            assert!((116..=120).contains(&chars), "{chars}");
        }
    }

    #[test]
    fn a_question_without_a_deadline_says_so() {
        let message = Message { expires_at: None, plan: Vec::new(), answers: Answers::Text, ..sample::reminder() };
        let rendered = render(&message).unwrap();
        assert!(rendered.text.contains("This is still open.\n"));
        assert!(rendered.text.contains("This question has no deadline."));
        assert!(rendered.html.contains("This question has no deadline."));
        assert!(!rendered.text.contains("If no person answers"));
    }

    #[test]
    fn links_that_need_escaping_are_refused() {
        for link in
            ["", "javascript:alert(1)", "https://", "https:///a", "https://a b", "https://a/\"x", "https://a\r\nb", "ftp://a/b"]
        {
            let message = Message { link: link.to_owned(), ..sample::question() };
            assert!(matches!(render(&message), Err(RenderError::Link)), "{link}");
        }
    }

    #[test]
    fn debug_output_holds_no_link() {
        let message = sample::question();
        assert!(!format!("{message:?}").contains("plc_"));
        assert!(!format!("{:?}", render(&message).unwrap()).contains("plc_"));
    }
}
