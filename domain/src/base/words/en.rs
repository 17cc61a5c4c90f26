//! English.

use std::fmt::Display;

use chrono::{DateTime, Utc};

use super::{Amount, Stressed};

/// The language as HTML names it.
pub const LANGUAGE: &str = "en";

// Times. Every page and mail shows times through these functions.

/// A number of seconds, below a minute; may be a placeholder, as in [`minutes`].
pub fn seconds(count: impl Display) -> String {
    format!("{count} s")
}

/// A number of minutes. A page's script fills in the number, so it may also be a placeholder.
pub fn minutes(count: impl Display) -> String {
    format!("{count} min")
}

/// A number of hours; may be a placeholder, as in [`minutes`].
pub fn hours(count: impl Display) -> String {
    format!("{count} h")
}

/// A number of days, two or more; may be a placeholder, as in [`minutes`].
pub fn days(count: impl Display) -> String {
    format!("{count} days")
}

/// The time of day.
pub fn clock(at: DateTime<Utc>) -> String {
    at.format("%H:%M").to_string()
}

/// The date and the time of day.
pub fn date_and_clock(at: DateTime<Utc>, year_is_named: bool) -> String {
    at.format(if year_is_named { "%a %-d %b %Y, %H:%M" } else { "%a %-d %b, %H:%M" }).to_string()
}

/// The date and the time of day to the second.
pub fn date_and_second(at: DateTime<Utc>) -> String {
    at.format("%a %-d %b %Y at %H:%M:%S").to_string()
}

/// A time in UTC, with the same time in another zone.
pub fn and_in_zone(utc: &str, in_zone: impl Display) -> String {
    format!("{utc} ({in_zone})")
}

/// A time with its zone.
pub fn in_utc(time: &str) -> String {
    format!("{time} UTC")
}

/// How long after an answer the agent received it, if that is less than a minute; completes “The agent received it”.
pub fn seconds_later(seconds: i64) -> String {
    match seconds {
        ..1 => "at once".to_owned(),
        1 => "1 second later".to_owned(),
        seconds => format!("{seconds} seconds later"),
    }
}

/// When the agent had an answer; completes “The agent received it”.
pub fn received_on(moment: &str) -> String {
    format!("on {moment}")
}

// Choices. Warnings about their words.

/// The heading of the warnings below, where there is room for a heading.
pub const WORDS_MAY_MISLEAD: &str = "The words of these answers may mislead";

/// A label says the opposite of its value.
pub const SAYS_ONE_THING_AND_SENDS_ANOTHER: &str = "An answer says one thing and sends another.";

/// Two labels or two values cannot be told apart.
pub const TWO_ANSWERS_LOOK_ALIKE: &str = "Two answers look alike.";

/// A word like “Dеny”, whose second letter is Cyrillic.
pub const A_WORD_MIXES_ALPHABETS: &str = "A word of an answer mixes letters of different alphabets.";

/// Stands before the value of a choice; the two have a line of their own.
pub const SENDS: &str = "sends";

/// Stands behind the warnings.
pub const GO_BY_WHAT_IT_SENDS: &str = "Trust the value after “sends”: it is exactly what the agent receives.";

// Mails. Sentences of the text part and of the HTML part, and the plan in both.

/// The prefix of the subject of a first mail and of a reminder.
pub const SUBJECT_PREFIX: &str = "[Placet] ";

/// The prefix of the subject when earlier people did not answer.
pub const SUBJECT_PREFIX_ESCALATED: &str = "[Placet] Escalated: ";

/// The agent that asks, with its name stressed.
pub fn asks(agent: &str) -> Stressed {
    Stressed { before: String::new(), stressed: agent.to_owned(), after: " asks".to_owned() }
}

/// The text that a mail program shows beside the subject in its list.
pub fn preview(deadline: &str) -> String {
    format!("Answer by {deadline}.")
}

/// The outcome if no person answers, shown behind [`preview`].
pub fn preview_of_the_end(what: &str) -> String {
    format!("If no person answers: {what}")
}

/// Opens a reminder.
pub fn reminder(attempt: impl Display, attempts: impl Display) -> String {
    format!("Reminder, message {attempt} of {attempts}")
}

/// Opens a reminder on request, between two attempts.
pub const REMINDER_ON_REQUEST: &str = "Reminder, sent by request";

/// Opens the text part of a reminder.
pub fn reminder_in_text(reminder: &str, left: Option<&str>) -> String {
    match left {
        Some(left) => format!("{reminder}. The question is still open: {left} left."),
        None => format!("{reminder}. {STILL_OPEN}"),
    }
}

/// A reminder of a question without a deadline.
pub const STILL_OPEN: &str = "This is still open.";

/// A reminder of a question with a deadline.
pub fn still_open_until(left: &str, deadline: &str) -> Stressed {
    Stressed { before: format!("{STILL_OPEN} "), stressed: format!("{left} left"), after: format!(", until {deadline}.") }
}

/// When the question of a reminder was asked.
pub fn was_asked_at(moment: &str) -> String {
    format!("It was asked at {moment}.")
}

/// The badge of an escalation.
pub const ESCALATED: &str = "Escalated";

/// Opens an escalation.
pub fn nobody_has_answered_since(moment: &str) -> String {
    format!("You are asked because no person has answered since {moment}.")
}

/// The people who were asked before, and how many more there are.
pub fn asked_before_you(people: &[String], more: usize) -> String {
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("Asked before you: {}{more}.", people.join("; "))
}

/// A person who was asked before.
pub fn no_answer_yet(person: &str) -> String {
    format!("{person} (no answer yet)")
}

/// Stands below a question of which only the beginning fits.
pub const QUESTION_IS_LONGER: &str = "The question is longer. The page shows all of it.";

/// The deadline, in the text part.
pub fn please_answer_by_in_text(deadline: &str) -> String {
    format!("Please answer by {deadline}.")
}

/// The deadline, in the HTML part.
pub fn please_answer_by(deadline: &str, left: &str) -> Stressed {
    Stressed {
        before: "Please answer by ".to_owned(),
        stressed: deadline.to_owned(),
        after: format!(", {left} from when this was sent."),
    }
}

/// Stands in place of a deadline.
pub const QUESTION_HAS_NO_DEADLINE: &str =
    "This question has no deadline. Without an answer nothing is decided, and it stays open.";

/// The label of the button, and the words before the link in the text part.
pub const READ_AND_ANSWER: &str = "Read and answer";

/// Stands below the link in the text part.
pub const LINK_ONLY_OPENS: &str = "Opening the page decides nothing. You choose there.";

/// Stands below the button in the HTML part.
pub const BUTTON_ONLY_OPENS: &str = "The button only opens the page. You decide there, not here.";

/// Stands above the choices.
pub const POSSIBLE_ANSWERS: &str = "Possible answers";

/// Stands in place of choices when any text is an answer.
pub const ANSWER_IN_OWN_WORDS: &str = "An answer in your own words";

/// Stands in place of choices when the answer is a form.
pub const ANSWER_IS_A_FORM: &str = "A form with a few fields";

/// Stands below choices of which only the first ones fit.
pub fn more_on_the_page(count: impl Display) -> String {
    format!("and {count} more, on the page")
}

/// Stands above the plan.
pub const IF_NO_PERSON_ANSWERS: &str = "If no person answers (times in UTC)";

/// Stands in place of the middle of a long plan.
pub fn more_steps(count: usize) -> String {
    format!("{count} more steps; the page shows them all")
}

/// In the plan: the reader is told again.
pub const YOU_GET_A_REMINDER: &str = "You get a reminder";

/// In the plan: others are told.
pub fn will_be_asked(people: &[&str]) -> String {
    format!("{} will be asked", people.join(", "))
}

/// The label of the choice that approves an action.
pub const APPROVE: &str = "Approve";
/// The label of the choice that refuses an action.
pub const DENY: &str = "Deny";

/// The question of an agent that wants an action approved.
pub fn approval_question(action: &str, reason: &str) -> String {
    if reason.trim().is_empty() {
        return format!("Approve this action? {action}");
    }
    format!("Approve this action? {action}\n\nThe agent’s reason: {reason}")
}

/// The question at a checkpoint of a plan, by the name that the agent gave the checkpoint.
pub fn checkpoint_question(name: &str) -> String {
    format!("May the work go on? It has reached this checkpoint: {name}")
}

/// The question about a task of a plan that has failed for good.
pub const FAILED_TASK_QUESTION: &str = "A task has failed, and has no attempt left. May the rest of the work go on without it?";

/// The question whether the tasks of a plan may begin. The context lists the tasks.
pub const PLAN_REVIEW_QUESTION: &str = "May the work begin? The agents plan these tasks.";

/// The question of an agent that hands a problem to people.
pub fn escalation_question(reason: &str) -> String {
    format!("The agent asks how to go on. Its reason: {reason}")
}

/// The question of an agent that wants a conflict settled.
pub fn arbitration_question(reason: &str) -> String {
    format!("The agent asks you to settle a conflict. Its reason: {reason}")
}

/// The end of the plan when no fallback applies.
pub const CLOSES_WITHOUT_A_DECISION: &str = "It closes. The agent is told that no person answered, not that you said no.";

/// The end of the plan once people have answered a question on which several must agree.
pub const CLOSES_WITHOUT_AGREEMENT: &str = "It closes. The agent is told that not enough people agreed.";

/// The end of the plan when the agent named a fallback.
pub fn closes_with_fallback(fallback: &str) -> String {
    format!("It closes. The agent goes on with “{fallback}”, and is told that no person answered.")
}

/// The end of the plan, in the asker's preview: a fallback.
pub fn falls_back_for_the_asker(fallback: &str, requires_delivery: bool) -> String {
    let condition = if requires_delivery {
        " If no person could be reached by then, there is no fallback: it ends as undeliverable."
    } else {
        ""
    };
    format!(
        "If no person answers, the agent goes on with “{fallback}”, which is marked as a fallback and not as an answer.{condition}"
    )
}

/// The end of the plan, in the asker's preview: no decision.
pub const FAILS_FOR_THE_ASKER: &str =
    "If no person answers, there is no decision: the agent is told so, and its work is abandoned.";

/// The end of the plan, in the asker's preview: the question has no deadline.
pub const STAYS_OPEN_FOR_THE_ASKER: &str = "It has no deadline: it stays open until a person answers, or it is withdrawn.";

/// Stands for a fallback value that is no text, for example the fields of a form.
pub const THE_VALUES_IT_NAMED: &str = "the values it named";

/// Stands above the link at the foot of the HTML part.
pub const IF_THE_BUTTON_FAILS: &str = "If the button does not work, copy this into your browser:";

/// The recipient of this mail, and why they got it.
pub fn sent_to(recipient: &str, why: &str) -> String {
    format!("Sent to {recipient} {why}.")
}

/// The most intents that [`others_wait`] counts; beyond them it says "more than".
pub const WAITING_COUNTED_MAX: u32 = 99;

/// Beside [`others_wait`] on the page.
pub const OTHER_WORK: &str = "Other work";

/// How many other intents wait until the one that asks is completed; `None` if there are none.
pub fn others_wait(count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some("One other piece of work waits for this.".to_owned()),
        2..=WAITING_COUNTED_MAX => Some(format!("{count} other pieces of work wait for this.")),
        _ => Some(format!("More than {WAITING_COUNTED_MAX} other pieces of work wait for this.")),
    }
}

/// A message about a question that demands a login.
pub const ANSWER_NEEDS_LOGIN: &str =
    "Only the answer of a person who has logged in counts; the page leads to the login and back.";

/// A message about a question whose refusal must say why.
pub const REFUSAL_NEEDS_COMMENT: &str = "A no needs a comment that says why.";

/// The reason for a person that the agent named; completes [`sent_to`].
pub const BECAUSE_THE_AGENT_ASKED: &str = "because the agent asked for you";

/// The reason for a person who was asked because the agent named no one; completes [`sent_to`].
pub const BECAUSE_YOU_OPERATE: &str = "because the agent named no person, and this server then asks you";

/// At the foot of a mail.
pub const LINK_IS_YOURS: &str = "The link is yours alone; please don’t forward it.";

/// The last words of a mail.
pub const REPLIES_ARE_NOT_READ: &str = "Replies to this mail are not read.";

/// The subject of a mail with a login link.
pub const LOGIN_SUBJECT: &str = "[Placet] Your login link";

/// The heading of a mail with a login link.
pub const LOGIN_HEADING: &str = "Your login link";

/// Why a mail with a login link is sent.
pub fn a_login_was_asked_for(host: &str) -> String {
    format!("A login with your address was asked for at {host}. Opening the link logs no one in; you confirm on the page.")
}

/// The button of a mail with a login link.
pub const TO_THE_LOGIN: &str = "Go to the login";

/// How long a login link can be used.
pub fn login_link_lasts(minutes: i64) -> String {
    format!("The link works once, within {minutes} minutes.")
}

/// The subject of a mail with a checkpoint of the log.
pub fn checkpoint_subject(size: u64, origin: &str) -> String {
    format!("[Placet] Checkpoint of {origin}: {size} events")
}

/// The first words of a mail with a checkpoint of the log.
pub fn checkpoint_covers(size: u64, origin: &str) -> String {
    format!(
        "The attached file is a signed checkpoint of the log {origin}. It covers all {size} events up to now, and tells nothing of them."
    )
}

/// The reason to keep a mail with a checkpoint of the log.
pub const KEEP_THE_CHECKPOINT: &str = "Keep the file where the server cannot change it. If the log is rewritten or rolled back later, \
     placet verify --checkpoint FILE finds it in an export.";

/// Why no login link is sent: the text in the form is no address.
pub const NOT_AN_ADDRESS: &str = "Type one e-mail address, for example ada@example.com.";

/// The last words of a mail with a login link.
pub const LOGIN_WAS_NOT_YOU: &str = "If you did not ask for it, you need not do anything.";

// Pages. Titles, and parts of sentences in the templates.

/// The label of the first choice of a yes-or-no question whose agent named no choices; it also stands for a `true` that the
/// agent sent.
pub const YES: &str = "Yes";

/// The second choice, and a `false`.
pub const NO: &str = "No";

/// A null that the agent sent.
pub const NOTHING: &str = "(nothing)";

/// An empty text, list or object that the agent sent.
pub const EMPTY: &str = "(empty)";

/// Replaces the words of a question whose content was erased, in a list.
pub const ERASED: &str = "(erased)";

/// The heading of the agent's context, if the agent gave it no name.
pub const CONTEXT: &str = "Context";

/// The label of the one field of a form that the agent did not define.
pub const YOUR_ANSWER: &str = "Your answer";

/// The label of the comment that a person may add to an answer.
pub const COMMENT: &str = "Comment";

/// The label of a text answer.
pub const TEXT_OF_YOUR_ANSWER: &str = "Text of your answer";

/// How much is hidden.
pub fn amount(amount: Amount) -> String {
    counted(amount, "")
}

/// How much is hidden, behind the part that is shown.
pub fn amount_more(amount: Amount) -> String {
    counted(amount, "more ")
}

fn counted(amount: Amount, adjective: &str) -> String {
    let (count, one, many) = match amount {
        Amount::Lines(count) => (count, "line", "lines"),
        Amount::Characters(count) => (count, "character", "characters"),
        Amount::Entries(count) => (count, "entry", "entries"),
    };
    format!("{count} {adjective}{}", if count == 1 { one } else { many })
}

/// “Who is told when”: the reader.
pub const YOU: &str = "You";

/// “Who is told when”: these people, and how many more.
pub fn people(named: &[String], more: usize) -> String {
    match (named, more) {
        ([], _) => "No person".to_owned(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// “Who is told when”: people who are told again.
pub fn as_a_reminder(people: &str) -> String {
    format!("{people}, as a reminder")
}

/// “Who is told when”: people who are told because others did not answer.
pub fn as_an_escalation(people: &str) -> String {
    format!("{people}, as an escalation")
}

/// Follows a field's label: the field needs an answer and has none.
pub const IS_STILL_EMPTY: &str = "is still empty";

/// Follows a field's label.
pub const MUST_BE_A_NUMBER: &str = "must be a number, for example 250000 or 0.5";

/// Follows a field's label.
pub const MUST_BE_A_DATE: &str = "must be a date, for example 2026-11-24";

/// Follows a field's label.
pub const MUST_BE_AN_OPTION: &str = "must be one of the listed answers";

/// Follows a field's label.
pub const MUST_BE_SHORTER: &str = "must be shorter: at most 16 KiB of text";
/// What is wrong with a comment that is too long.
pub const COMMENT_MUST_BE_SHORTER: &str = "must be shorter: at most 4 KiB of text, with the chosen reason";

/// Heads an open question that is shown again because the page was too old.
pub const PAGE_WAS_OPEN_TOO_LONG: &str = "This page was open for too long";

/// Heads a question that is shown again while the database takes no writes.
pub const CANNOT_SAVE: &str = "The server cannot save right now";

/// Heads a question that is shown again when the database did not say whether it took an answer.
pub const NOT_CONFIRMED: &str = "Your answer was not confirmed";

/// Heads an open question that demands a login, for a person who has not logged in.
pub const LOGIN_NEEDED_FIRST: &str = "Log in to answer this question";

/// Heads an open question whose form was made for another person.
pub const PAGE_OF_ANOTHER_PERSON: &str = "This page was made for another person";

/// Heads the page of a person who may read no question at its address.
pub const NO_SUCH_QUESTION: &str = "There is no such question";

/// Heads an open question that is shown again because it demands a passkey, and the answer came without the signature of one.
pub const NO_PASSKEY_SIGNED: &str = "No passkey signed this answer";

/// Heads an open question that is shown again because the signature of the passkey was refused.
pub const PASSKEY_NOT_ACCEPTED: &str = "The passkey was not accepted";

/// Heads a question that changed after the page with it was opened.
pub const OTHERS_HAVE_ANSWERED: &str = "The question changed while this page was open";

/// Heads an open question that is assigned to other people.
pub const NOT_ASSIGNED_TO_YOU: &str = "This question is assigned to other people";

/// Heads an open question when the reader's place could not be handed to another person.
pub const PLACE_WAS_NOT_HANDED_ON: &str = "Your place was not handed on";

/// The people to whom a question is assigned: the members of a group.
pub fn the_group(name: &str) -> String {
    format!("the group {name}")
}

/// The people to whom a question is assigned: all operators.
pub const ALL_OPERATORS: &str = "all operators";

/// The people to whom a question is assigned: all admins.
pub const ALL_ADMINS: &str = "all admins";

/// Heads an open question that is shown again because the value that was sent is none of its choices.
pub const NOT_ONE_OF_THE_CHOICES: &str = "That is not one of the choices";

/// Heads an open question whose fields cannot be sent as they are.
pub fn answers_need_a_change(count: usize) -> String {
    const WORDS: [&str; 10] = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    if count == 1 {
        return "Nothing was sent yet. One field needs a change".to_owned();
    }
    let count = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("Nothing was sent yet. {count} fields need a change")
}

/// Heads a refusal: one link was used too often.
pub const TOO_MANY_TRIES: &str = "Too many tries";

/// Heads a failure while the database does not answer.
pub const CANNOT_SHOW: &str = "The server cannot show this question right now";

/// Heads the refusal of a form from another site.
pub const NOT_FROM_OUR_PAGE: &str = "This answer did not come from our page";

/// Heads the page of a link that was opened under a host name other than the server's.
pub const OPENED_UNDER_ANOTHER_NAME: &str = "This link was opened under another name";

/// Heads the refusal of a request that neither opens a page nor answers.
pub const NOT_DONE_HERE: &str = "This cannot be done here";

/// Heads the answer to an address that no page has.
pub const NO_SUCH_PAGE: &str = "There is no such page";

/// Heads the refusal of a broken form.
pub const COULD_NOT_BE_READ: &str = "Your answer could not be read";

/// The only text when a page cannot be made.
pub const SERVER_FAILED: &str = "The server failed.";

/// Titles of the outcome of a question.
pub const ANSWERED_BY_YOU: &str = "Answered by you";

/// As [`ANSWERED_BY_YOU`].
pub const ANSWERED_BY_ANOTHER: &str = "Answered by another person";

/// As [`ANSWERED_BY_YOU`].
pub const CLOSED_UNANSWERED: &str = "Closed: no person answered in time";

/// As [`ANSWERED_BY_YOU`].
pub const WITHDRAWN: &str = "Withdrawn by the agent";

/// As [`ANSWERED_BY_YOU`].
pub const SUPERSEDED: &str = "Replaced by a newer question";

/// As [`ANSWERED_BY_YOU`].
pub const CLOSED_TIME_LOST: &str = "Closed: the server was away";

/// As [`ANSWERED_BY_YOU`].
pub const CLOSED_TOO_FEW_AGREED: &str = "Closed: not enough people agreed";

/// As [`ANSWERED_BY_YOU`].
pub const CLOSED_UNDELIVERED: &str = "Closed: no person could be reached";

/// The name of an intent's title, where part of it is not shown.
pub const TITLE: &str = "Title";

/// The name of a question, where part of it is not shown.
pub const QUESTION: &str = "Question";

/// The name of a key or label that is not shown whole.
pub const A_KEY: &str = "the name of an entry";

/// The name of an answer in a table.
pub const ANSWER: &str = "Answer";

/// Heads everything that the agent sent with its question.
pub const WHAT_THE_AGENT_SENT: &str = "What the agent sent";

/// The name of the agent's confidence.
pub const CONFIDENCE: &str = "Confidence, from 0 to 1";

/// The name of the record of the decision to ask.
pub const DECISION_RECORD: &str = "Why it asks";

/// The name of the data that the agent attached to a choice.
pub fn attached_to(choice: &str) -> String {
    format!("Attached to “{choice}”")
}

/// The name of a choice that has no button, because its question is answered in words or fields.
pub fn choice_without_button(choice: &str) -> String {
    format!("Choice “{choice}”, not offered as a button")
}

/// The name of those parts of a field's definition that a page does not draw.
pub fn more_about_a_field(field: &str) -> String {
    format!("More about the field “{field}”")
}

// Rooms. The lines that a chat room gets through a webhook; the agent's text in them has been escaped before.

/// The agent that asks.
pub fn room_is_asked(agent: &str) -> String {
    format!("{agent} asks:")
}

/// The deadline.
pub fn room_until(moment: &str) -> String {
    format!("Open until {moment}.")
}

/// The link to answer; everyone in the room can use it.
pub fn room_answers_at(link: &str) -> String {
    format!("Answer: {link}")
}

/// The line for a room that gets no link.
pub const ROOM_HAS_NO_LINK: &str = "You cannot answer in this room: only people who are asked by name get a link.";

// The first page of development mode.

/// The text in the form until a person writes another one.
pub const TRY_QUESTION: &str = "Deploy version 4.18.0 to production?";

/// A message that waits for its turn.
pub const NOT_SENT_YET: &str = "not sent yet";

/// A message that was refused, or is only shown in the mailbox.
pub const COUNTS_AS_LOST: &str = "counts as lost";

/// A message that was accepted, and reported as returned.
pub const CAME_BACK: &str = "came back";

/// A message whose question ended before it left.
pub const NEVER_SENT: &str = "never sent: its question ended first";

/// A question that can be answered, with the time that is left.
pub fn waits_for(left: &str) -> String {
    format!("waits, {left} left")
}

/// A question that can be answered and has no deadline.
pub const WAITS: &str = "waits";

/// A question whose deadline has just passed.
pub const DEADLINE_HAS_PASSED: &str = "the deadline has passed";

/// A question that was answered.
pub fn was_answered(answer: &str, person: &str) -> String {
    format!("answered “{answer}” by {person}")
}

/// A question that ended at its deadline.
pub const NO_PERSON_ANSWERED: &str = "no person answered";

/// A question that a newer one replaced.
pub const WAS_REPLACED: &str = "replaced by a newer question";

/// A question that reached no person.
pub const REACHED_NO_PERSON: &str = "no person could be reached";

/// A question that was taken back.
pub const WAS_WITHDRAWN: &str = "withdrawn";

/// A question that ended at its deadline, although people had answered.
pub const TOO_FEW_AGREED: &str = "ended, because not enough people agreed in time";

/// A question that ended because the server was away.
pub const LOST_TIME: &str = "ended, because the server was away";

// The audit pages.

/// A day in the search that is no day.
pub const NOT_A_DATE: &str = "A day must be a date, for example 2026-11-24.";

/// An outcome in the search that does not exist.
pub const NO_SUCH_OUTCOME: &str = "Choose one of the outcomes in the list.";

/// An id in the search that is none.
pub const NOT_AN_INTENT_ID: &str = "The intent id must be a whole id, for example 019ab0f2-0000-7000-8000-000000000000.";

/// The heading of a page about an export that was not made.
pub const COULD_NOT_BE_EXPORTED: &str = "The log could not be exported";
