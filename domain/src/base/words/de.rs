//! German.

use std::fmt::Display;

use chrono::{DateTime, Datelike as _, Utc};

use super::Stressed;
pub(super) use super::de_grammar::{amount, amount_more};
use super::de_grammar::{day_and_month, weekday};

/// The language as HTML names it.
pub(super) const LANGUAGE: &str = "de";

// Times. Every page and mail shows times through these functions.

/// A number of seconds, below a minute; may be a placeholder, as in [`minutes`].
pub(super) fn seconds(count: impl Display) -> String {
    format!("{count} Sek.")
}

/// A number of minutes. A page's script fills in the number, so it may also be a placeholder.
pub(super) fn minutes(count: impl Display) -> String {
    format!("{count} Min.")
}

/// A number of hours; may be a placeholder, as in [`minutes`].
pub(super) fn hours(count: impl Display) -> String {
    format!("{count} Std.")
}

/// A number of days, two or more; may be a placeholder, as in [`minutes`].
pub(super) fn days(count: impl Display) -> String {
    format!("{count} Tage")
}

/// The time of day.
pub(super) fn clock(at: DateTime<Utc>) -> String {
    at.format("%H:%M").to_string()
}

/// The date and the time of day.
pub(super) fn date_and_clock(at: DateTime<Utc>, year_is_named: bool) -> String {
    let (weekday, day, clock) = (weekday(at), day_and_month(at), clock(at));
    if year_is_named { format!("{weekday}, {day} {}, {clock}", at.year()) } else { format!("{weekday}, {day}, {clock}") }
}

/// The date and the time of day to the second.
pub(super) fn date_and_second(at: DateTime<Utc>) -> String {
    format!("{}, {} {}", weekday(at), day_and_month(at), at.format("%Y, %H:%M:%S"))
}

/// A time in UTC, with the same time in another zone.
pub(super) fn and_in_zone(utc: &str, in_zone: impl Display) -> String {
    format!("{utc} ({in_zone})")
}

/// A time with its zone.
pub(super) fn in_utc(time: &str) -> String {
    format!("{time} UTC")
}

/// How long after an answer the agent received it, if that is less than a minute; completes “The agent received it”.
pub(super) fn seconds_later(seconds: i64) -> String {
    match seconds {
        ..1 => "sofort".to_owned(),
        1 => "1 Sekunde später".to_owned(),
        seconds => format!("{seconds} Sekunden später"),
    }
}

/// When the agent had an answer; completes “The agent received it”.
pub(super) fn received_on(moment: &str) -> String {
    format!("am {moment}")
}

// Choices. Warnings about their words.

/// The heading of the warnings below, where there is room for a heading.
pub(super) const WORDS_MAY_MISLEAD: &str = "Die Wörter dieser Antworten können irreführen";

/// A label says the opposite of its value.
pub(super) const SAYS_ONE_THING_AND_SENDS_ANOTHER: &str = "Eine Antwort sagt das eine und sendet etwas anderes.";

/// Two labels or two values cannot be told apart.
pub(super) const TWO_ANSWERS_LOOK_ALIKE: &str = "Zwei Antworten sehen gleich aus.";

/// A word like “Dеny”, whose second letter is Cyrillic.
pub(super) const A_WORD_MIXES_ALPHABETS: &str = "Ein Wort einer Antwort mischt Buchstaben verschiedener Alphabete.";

/// Stands before the value of a choice; the two have a line of their own.
pub(super) const SENDS: &str = "sendet";

/// Stands behind the warnings.
pub(super) const GO_BY_WHAT_IT_SENDS: &str = "Verlassen Sie sich auf den Wert nach „sendet“: Genau diesen Wert erhält der Agent.";

// Mails. Sentences of the text part and of the HTML part, and the plan in both.

/// The prefix of the subject of a first mail and of a reminder.
pub(super) const SUBJECT_PREFIX: &str = "[Placet] ";

/// The prefix of the subject when earlier people did not answer.
pub(super) const SUBJECT_PREFIX_ESCALATED: &str = "[Placet] Eskaliert: ";

/// The agent that asks, with its name stressed.
pub(super) fn asks(agent: &str) -> Stressed {
    Stressed { before: String::new(), stressed: agent.to_owned(), after: " fragt".to_owned() }
}

/// The text that a mail program shows beside the subject in its list.
pub(super) fn preview(deadline: &str) -> String {
    format!("Antwort bis {deadline}.")
}

/// The outcome if no person answers, shown behind [`preview`].
pub(super) fn preview_of_the_end(what: &str) -> String {
    format!("Wenn niemand antwortet: {what}")
}

/// Opens a reminder.
pub(super) fn reminder(attempt: impl Display, attempts: impl Display) -> String {
    format!("Erinnerung, Nachricht {attempt} von {attempts}")
}

/// Opens a reminder on request, between two attempts.
pub(super) const REMINDER_ON_REQUEST: &str = "Erinnerung auf Wunsch";

/// Opens the text part of a reminder.
pub(super) fn reminder_in_text(reminder: &str, left: Option<&str>) -> String {
    match left {
        Some(left) => format!("{reminder}. Die Frage ist noch {left} offen."),
        None => format!("{reminder}. {STILL_OPEN}"),
    }
}

/// A reminder of a question without a deadline.
pub(super) const STILL_OPEN: &str = "Die Frage ist noch offen.";

/// A reminder of a question with a deadline.
pub(super) fn still_open_until(left: &str, deadline: &str) -> Stressed {
    Stressed { before: format!("{STILL_OPEN} "), stressed: format!("Noch {left}"), after: format!(", bis {deadline}.") }
}

/// When the question of a reminder was asked.
pub(super) fn was_asked_at(moment: &str) -> String {
    format!("Zeitpunkt der Frage: {moment}.")
}

/// The badge of an escalation.
pub(super) const ESCALATED: &str = "Eskaliert";

/// Opens an escalation.
pub(super) fn nobody_has_answered_since(moment: &str) -> String {
    format!("Sie werden gefragt, weil seit {moment} niemand geantwortet hat.")
}

/// The people who were asked before, and how many more there are.
pub(super) fn asked_before_you(people: &[String], more: usize) -> String {
    let more = if more == 0 { String::new() } else { format!("; und {more} weitere") };
    format!("Vor Ihnen gefragt: {}{more}.", people.join("; "))
}

/// A person who was asked before.
pub(super) fn no_answer_yet(person: &str) -> String {
    format!("{person} (noch keine Antwort)")
}

/// Stands below a question of which only the beginning fits.
pub(super) const QUESTION_IS_LONGER: &str = "Die Frage ist länger. Die Seite zeigt sie ganz.";

/// The deadline, in the text part.
pub(super) fn please_answer_by_in_text(deadline: &str) -> String {
    format!("Bitte antworten Sie bis {deadline}.")
}

/// The deadline, in the HTML part.
pub(super) fn please_answer_by(deadline: &str, left: &str) -> Stressed {
    Stressed {
        before: "Bitte antworten Sie bis ".to_owned(),
        stressed: deadline.to_owned(),
        after: format!(" (beim Versand noch {left})."),
    }
}

/// Stands in place of a deadline.
pub(super) const QUESTION_HAS_NO_DEADLINE: &str =
    "Diese Frage hat keine Frist. Ohne Antwort wird nichts entschieden, und die Frage bleibt offen.";

/// The label of the button, and the words before the link in the text part.
pub(super) const READ_AND_ANSWER: &str = "Lesen und antworten";

/// Stands below the link in the text part.
pub(super) const LINK_ONLY_OPENS: &str = "Das Öffnen der Seite entscheidet nichts. Sie entscheiden erst dort.";

/// Stands below the button in the HTML part.
pub(super) const BUTTON_ONLY_OPENS: &str = "Die Schaltfläche öffnet nur die Seite. Sie entscheiden dort, nicht hier.";

/// Stands above the choices.
pub(super) const POSSIBLE_ANSWERS: &str = "Mögliche Antworten";

/// Stands in place of choices when any text is an answer.
pub(super) const ANSWER_IN_OWN_WORDS: &str = "Eine Antwort in eigenen Worten";

/// Stands in place of choices when the answer is a form.
pub(super) const ANSWER_IS_A_FORM: &str = "Ein Formular mit wenigen Feldern";

/// Stands below choices of which only the first ones fit.
pub(super) fn more_on_the_page(count: impl Display) -> String {
    format!("und {count} weitere, auf der Seite")
}

/// Stands above the plan.
pub(super) const IF_NO_PERSON_ANSWERS: &str = "Wenn niemand antwortet (Zeiten in UTC)";

/// Stands in place of the middle of a long plan.
pub(super) fn more_steps(count: usize) -> String {
    format!("{count} weitere Schritte; die Seite zeigt alle")
}

/// In the plan: the reader is told again.
pub(super) const YOU_GET_A_REMINDER: &str = "Sie erhalten eine Erinnerung";

/// In the plan: others are told.
pub(super) fn will_be_asked(people: &[&str]) -> String {
    let verb = if people.len() == 1 { "wird" } else { "werden" };
    format!("{} {verb} gefragt", people.join(", "))
}

/// The label of the choice that approves an action.
pub(super) const APPROVE: &str = "Freigeben";
/// The label of the choice that refuses an action.
pub(super) const DENY: &str = "Ablehnen";

/// The question of an agent that wants an action approved.
pub(super) fn approval_question(action: &str, reason: &str) -> String {
    if reason.trim().is_empty() {
        return format!("Diese Aktion freigeben? {action}");
    }
    format!("Diese Aktion freigeben? {action}\n\nDie Begründung des Agenten: {reason}")
}

/// The question at a checkpoint of a plan, by the name that the agent gave the checkpoint.
pub(super) fn checkpoint_question(name: &str) -> String {
    format!("Darf die Arbeit weitergehen? Sie hat diesen Haltepunkt erreicht: {name}")
}

/// The question about a task of a plan that has failed for good.
pub(super) const FAILED_TASK_QUESTION: &str =
    "Eine Aufgabe ist gescheitert und hat keinen Versuch mehr. Darf die übrige Arbeit ohne sie weitergehen?";

/// The question whether the tasks of a plan may begin. The context lists the tasks.
pub(super) const PLAN_REVIEW_QUESTION: &str = "Darf die Arbeit beginnen? Die Agenten planen diese Aufgaben.";

/// The question of an agent that hands a problem to people.
pub(super) fn escalation_question(reason: &str) -> String {
    format!("Der Agent fragt, wie es weitergehen soll. Seine Begründung: {reason}")
}

/// The question of an agent that wants a conflict settled.
pub(super) fn arbitration_question(reason: &str) -> String {
    format!("Der Agent bittet Sie, einen Konflikt zu schlichten. Seine Begründung: {reason}")
}

/// The end of the plan when no fallback applies.
pub(super) const CLOSES_WITHOUT_A_DECISION: &str =
    "Die Frage wird geschlossen. Der Agent erfährt, dass niemand geantwortet hat, und nicht, dass Sie abgelehnt haben.";

/// The end of the plan once people have answered a question on which several must agree.
pub(super) const CLOSES_WITHOUT_AGREEMENT: &str =
    "Die Frage wird geschlossen. Der Agent erfährt, dass es zu wenige gleiche Antworten gab.";

/// The end of the plan when the agent named a fallback.
pub(super) fn closes_with_fallback(fallback: &str) -> String {
    format!("Die Frage wird geschlossen. Der Agent macht mit „{fallback}“ weiter und erfährt, dass niemand geantwortet hat.")
}

/// The end of the plan, in the asker's preview: a fallback.
pub(super) fn falls_back_for_the_asker(fallback: &str, requires_delivery: bool) -> String {
    let condition = if requires_delivery {
        " Wenn bis dahin niemand erreichbar war, gibt es keinen Ersatzwert: Die Frage endet als unzustellbar."
    } else {
        ""
    };
    format!(
        "Wenn niemand antwortet, macht der Agent mit „{fallback}“ weiter. Das gilt als Ersatzwert und nicht als Antwort.{condition}"
    )
}

/// The end of the plan, in the asker's preview: no decision.
pub(super) const FAILS_FOR_THE_ASKER: &str =
    "Wenn niemand antwortet, gibt es keine Entscheidung: Der Agent erfährt es, und seine Arbeit wird aufgegeben.";

/// The end of the plan, in the asker's preview: the question has no deadline.
pub(super) const STAYS_OPEN_FOR_THE_ASKER: &str =
    "Die Frage hat keine Frist: Sie bleibt offen, bis eine Person antwortet oder die Frage zurückgezogen wird.";

/// Stands for a fallback value that is no text, for example the fields of a form.
pub(super) const THE_VALUES_IT_NAMED: &str = "den genannten Werten";

/// Stands above the link at the foot of the HTML part.
pub(super) const IF_THE_BUTTON_FAILS: &str =
    "Wenn die Schaltfläche nicht funktioniert, kopieren Sie diese Adresse in Ihren Browser:";

/// The recipient of this mail, and why they got it.
pub(super) fn sent_to(recipient: &str, why: &str) -> String {
    format!("Gesendet an {recipient}, {why}.")
}

/// The most intents that [`others_wait`] counts; beyond them it says "more than".
pub(super) const WAITING_COUNTED_MAX: u32 = 99;

/// Beside [`others_wait`] on the page.
pub(super) const OTHER_WORK: &str = "Andere Vorgänge";

/// How many other intents wait until the one that asks is completed; `None` if there are none.
pub(super) fn others_wait(count: u32) -> Option<String> {
    match count {
        0 => None,
        1 => Some("Ein anderer Vorgang wartet auf diese Antwort.".to_owned()),
        2..=WAITING_COUNTED_MAX => Some(format!("{count} andere Vorgänge warten auf diese Antwort.")),
        _ => Some(format!("Mehr als {WAITING_COUNTED_MAX} andere Vorgänge warten auf diese Antwort.")),
    }
}

/// A message about a question that demands a login.
pub(super) const ANSWER_NEEDS_LOGIN: &str =
    "Nur die Antwort einer angemeldeten Person zählt; die Seite führt zur Anmeldung und zurück.";

/// A message about a question whose refusal must say why.
pub(super) const REFUSAL_NEEDS_COMMENT: &str = "Eine Ablehnung braucht einen Kommentar mit dem Grund.";

/// The reason for a person that the agent named; completes [`sent_to`].
pub(super) const BECAUSE_THE_AGENT_ASKED: &str = "weil der Agent Sie genannt hat";

/// The reason for a person who was asked because the agent named no one; completes [`sent_to`].
pub(super) const BECAUSE_YOU_OPERATE: &str = "weil der Agent keine Person genannt hat und dieser Server dann Sie fragt";

/// At the foot of a mail.
pub(super) const LINK_IS_YOURS: &str = "Der Link ist nur für Sie; bitte leiten Sie ihn nicht weiter.";

/// The last words of a mail.
pub(super) const REPLIES_ARE_NOT_READ: &str = "Antworten auf diese E-Mail werden nicht gelesen.";

/// The subject of a mail with a login link.
pub(super) const LOGIN_SUBJECT: &str = "[Placet] Ihr Anmeldelink";

/// The heading of a mail with a login link.
pub(super) const LOGIN_HEADING: &str = "Ihr Anmeldelink";

/// Why a mail with a login link is sent.
pub(super) fn a_login_was_asked_for(host: &str) -> String {
    format!(
        "Auf {host} wurde eine Anmeldung mit Ihrer Adresse angefordert. Das Öffnen des Links meldet noch niemanden an; Sie bestätigen auf der Seite."
    )
}

/// The button of a mail with a login link.
pub(super) const TO_THE_LOGIN: &str = "Zur Anmeldung";

/// How long a login link can be used.
pub(super) fn login_link_lasts(minutes: i64) -> String {
    let unit = if minutes == 1 { "Minute" } else { "Minuten" };
    format!("Der Link funktioniert einmal, innerhalb von {minutes} {unit}.")
}

/// The subject of a mail with a checkpoint of the log.
pub(super) fn checkpoint_subject(size: u64, origin: &str) -> String {
    format!("[Placet] Prüfpunkt von {origin}: {size} Ereignisse")
}

/// The first words of a mail with a checkpoint of the log.
pub(super) fn checkpoint_covers(size: u64, origin: &str) -> String {
    format!(
        "Die angehängte Datei ist ein signierter Prüfpunkt des Protokolls {origin}. Er deckt alle {size} Ereignisse bis jetzt ab und verrät nichts über sie."
    )
}

/// The reason to keep a mail with a checkpoint of the log.
pub(super) const KEEP_THE_CHECKPOINT: &str = "Bewahren Sie die Datei dort auf, wo der Server sie nicht ändern kann. Wird das Protokoll später umgeschrieben \
     oder zurückgesetzt, findet placet verify --checkpoint FILE das in einem Export.";

/// Why no login link is sent: the text in the form is no address.
pub(super) const NOT_AN_ADDRESS: &str = "Geben Sie eine E-Mail-Adresse ein, zum Beispiel ada@example.com.";

/// The last words of a mail with a login link.
pub(super) const LOGIN_WAS_NOT_YOU: &str = "Wenn Sie das nicht waren, müssen Sie nichts tun.";

// Pages. Titles, and parts of sentences in the templates.

/// A `true` that the agent sent. The label of the first choice of a yes-or-no question is stored with the question, and stays English.
pub(super) const YES: &str = "Ja";

/// The second choice, and a `false`.
pub(super) const NO: &str = "Nein";

/// A null that the agent sent.
pub(super) const NOTHING: &str = "(nichts)";

/// An empty text, list or object that the agent sent.
pub(super) const EMPTY: &str = "(leer)";

/// Replaces the words of a question whose content was erased, in a list.
pub(super) const ERASED: &str = "(gelöscht)";

/// The heading of the agent's context, if the agent gave it no name.
pub(super) const CONTEXT: &str = "Hintergrund";

/// The label of the one field of a form that the agent did not define.
pub(super) const YOUR_ANSWER: &str = "Ihre Antwort";

/// The label of the comment that a person may add to an answer.
pub(super) const COMMENT: &str = "Kommentar";

/// The label of a text answer.
pub(super) const TEXT_OF_YOUR_ANSWER: &str = "Text Ihrer Antwort";

/// “Who is told when”: the reader.
pub(super) const YOU: &str = "Sie";

/// “Who is told when”: these people, and how many more.
pub(super) fn people(named: &[String], more: usize) -> String {
    match (named, more) {
        ([], _) => "Niemand".to_owned(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} und {last}", first.join(", ")),
        (named, more) => format!("{} und {more} weitere", named.join(", ")),
    }
}

/// “Who is told when”: people who are told again.
pub(super) fn as_a_reminder(people: &str) -> String {
    format!("{people}, zur Erinnerung")
}

/// “Who is told when”: people who are told because others did not answer.
pub(super) fn as_an_escalation(people: &str) -> String {
    format!("{people}, als Eskalation")
}

/// Follows a field's label: the field needs an answer and has none.
pub(super) const IS_STILL_EMPTY: &str = "ist noch leer";

/// Follows a field's label.
pub(super) const MUST_BE_A_NUMBER: &str = "muss eine Zahl sein, zum Beispiel 250000 oder 0,5";

/// Follows a field's label.
pub(super) const MUST_BE_A_DATE: &str = "muss ein Datum sein, zum Beispiel 2026-11-24";

/// Follows a field's label.
pub(super) const MUST_BE_AN_OPTION: &str = "muss eine der aufgeführten Antworten sein";

/// Follows a field's label.
pub(super) const MUST_BE_SHORTER: &str = "muss kürzer sein: höchstens 16 KiB Text";
/// What is wrong with a comment that is too long.
pub(super) const COMMENT_MUST_BE_SHORTER: &str = "muss kürzer sein: höchstens 4 KiB Text, mit dem gewählten Grund";

/// Heads an open question that is shown again because the page was too old.
pub(super) const PAGE_WAS_OPEN_TOO_LONG: &str = "Diese Seite war zu lange offen";

/// Heads a question that is shown again while the database takes no writes.
pub(super) const CANNOT_SAVE: &str = "Der Server kann gerade nicht speichern";

/// Heads a question that is shown again when the database did not say whether it took an answer.
pub(super) const NOT_CONFIRMED: &str = "Ihre Antwort wurde nicht bestätigt";

/// Heads an open question that demands a login, for a person who has not logged in.
pub(super) const LOGIN_NEEDED_FIRST: &str = "Melden Sie sich an, um diese Frage zu beantworten";

/// Heads an open question whose form was made for another person.
pub(super) const PAGE_OF_ANOTHER_PERSON: &str = "Diese Seite wurde für eine andere Person erstellt";

/// Heads the page of a person who may read no question at its address.
pub(super) const NO_SUCH_QUESTION: &str = "Diese Frage gibt es nicht";

/// Heads an open question that is shown again because it demands a passkey, and the answer came without the signature of one.
pub(super) const NO_PASSKEY_SIGNED: &str = "Kein Passkey hat diese Antwort signiert";

/// Heads an open question that is shown again because the signature of the passkey was refused.
pub(super) const PASSKEY_NOT_ACCEPTED: &str = "Der Passkey wurde nicht angenommen";

/// Heads a question that changed after the page with it was opened.
pub(super) const OTHERS_HAVE_ANSWERED: &str = "Die Frage hat sich geändert, während diese Seite offen war";

/// Heads an open question that is assigned to other people.
pub(super) const NOT_ASSIGNED_TO_YOU: &str = "Diese Frage ist anderen Personen zugewiesen";

/// Heads an open question when the reader's place could not be handed to another person.
pub(super) const PLACE_WAS_NOT_HANDED_ON: &str = "Die Stellvertretung wurde nicht eingetragen";

/// The people to whom a question is assigned: the members of a group.
pub(super) fn the_group(name: &str) -> String {
    format!("die Gruppe {name}")
}

/// The people to whom a question is assigned: all operators.
pub(super) const ALL_OPERATORS: &str = "alle mit der Rolle „operator“";

/// The people to whom a question is assigned: all admins.
pub(super) const ALL_ADMINS: &str = "alle mit der Rolle „admin“";

/// Heads an open question that is shown again because the value that was sent is none of its choices.
pub(super) const NOT_ONE_OF_THE_CHOICES: &str = "Das ist keine der möglichen Antworten";

/// Heads an open question whose fields cannot be sent as they are.
pub(super) fn answers_need_a_change(count: usize) -> String {
    const WORDS: [&str; 10] = ["Keine", "Ein", "Zwei", "Drei", "Vier", "Fünf", "Sechs", "Sieben", "Acht", "Neun"];
    if count == 1 {
        return "Es wurde noch nichts gesendet. Ein Feld muss geändert werden".to_owned();
    }
    let count = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("Es wurde noch nichts gesendet. {count} Felder müssen geändert werden")
}

/// Heads a refusal: one link was used too often.
pub(super) const TOO_MANY_TRIES: &str = "Zu viele Versuche";

/// Heads a failure while the database does not answer.
pub(super) const CANNOT_SHOW: &str = "Der Server kann diese Frage gerade nicht anzeigen";

/// Heads the refusal of a form from another site.
pub(super) const NOT_FROM_OUR_PAGE: &str = "Diese Antwort kam nicht von unserer Seite";

/// Heads the page of a link that was opened under a host name other than the server's.
pub(super) const OPENED_UNDER_ANOTHER_NAME: &str = "Dieser Link wurde unter einem anderen Namen geöffnet";

/// Heads the refusal of a request that neither opens a page nor answers.
pub(super) const NOT_DONE_HERE: &str = "Das geht hier nicht";

/// Heads the answer to an address that no page has.
pub(super) const NO_SUCH_PAGE: &str = "Diese Seite gibt es nicht";

/// Heads the refusal of a broken form.
pub(super) const COULD_NOT_BE_READ: &str = "Ihre Antwort konnte nicht gelesen werden";

/// The only text when a page cannot be made.
pub(super) const SERVER_FAILED: &str = "Im Server ist ein Fehler aufgetreten.";

/// Titles of the outcome of a question.
pub(super) const ANSWERED_BY_YOU: &str = "Von Ihnen beantwortet";

/// As [`ANSWERED_BY_YOU`].
pub(super) const ANSWERED_BY_ANOTHER: &str = "Von einer anderen Person beantwortet";

/// As [`ANSWERED_BY_YOU`].
pub(super) const CLOSED_UNANSWERED: &str = "Geschlossen: Niemand hat rechtzeitig geantwortet";

/// As [`ANSWERED_BY_YOU`].
pub(super) const WITHDRAWN: &str = "Vom Agenten zurückgezogen";

/// As [`ANSWERED_BY_YOU`].
pub(super) const SUPERSEDED: &str = "Durch eine neuere Frage ersetzt";

/// As [`ANSWERED_BY_YOU`].
pub(super) const CLOSED_TIME_LOST: &str = "Geschlossen: Der Server lief nicht";

/// As [`ANSWERED_BY_YOU`].
pub(super) const CLOSED_TOO_FEW_AGREED: &str = "Geschlossen: zu wenige gleiche Antworten";

/// As [`ANSWERED_BY_YOU`].
pub(super) const CLOSED_UNDELIVERED: &str = "Geschlossen: Niemand war erreichbar";

/// The name of an intent's title, where part of it is not shown.
pub(super) const TITLE: &str = "Titel";

/// The name of a question, where part of it is not shown.
pub(super) const QUESTION: &str = "Frage";

/// The name of a key or label that is not shown whole.
pub(super) const A_KEY: &str = "Name eines Eintrags";

/// The name of an answer in a table.
pub(super) const ANSWER: &str = "Antwort";

/// Heads everything that the agent sent with its question.
pub(super) const WHAT_THE_AGENT_SENT: &str = "Angaben des Agenten";

/// The name of the agent's confidence.
pub(super) const CONFIDENCE: &str = "Wie sicher der Agent ist, von 0 bis 1";

/// The name of the record of the decision to ask.
pub(super) const DECISION_RECORD: &str = "Warum der Agent fragt";

/// The name of the data that the agent attached to a choice.
pub(super) fn attached_to(choice: &str) -> String {
    format!("Angehängt an „{choice}“")
}

/// The name of a choice that has no button, because its question is answered in words or fields.
pub(super) fn choice_without_button(choice: &str) -> String {
    format!("Antwort „{choice}“, nicht als Schaltfläche angeboten")
}

/// The name of those parts of a field's definition that a page does not draw.
pub(super) fn more_about_a_field(field: &str) -> String {
    format!("Mehr über das Feld „{field}“")
}

// Rooms. The lines that a chat room gets through a webhook; the agent's text in them has been escaped before.

/// The agent that asks.
pub(super) fn room_is_asked(agent: &str) -> String {
    format!("{agent} fragt:")
}

/// The deadline.
pub(super) fn room_until(moment: &str) -> String {
    format!("Offen bis {moment}.")
}

/// The link to answer; everyone in the room can use it.
pub(super) fn room_answers_at(link: &str) -> String {
    format!("Antworten: {link}")
}

/// The line for a room that gets no link.
pub(super) const ROOM_HAS_NO_LINK: &str =
    "In diesem Raum können Sie nicht antworten: Einen Link erhalten nur Personen, die namentlich gefragt werden.";

// The first page of development mode.

/// The text in the form until a person writes another one.
pub(super) const TRY_QUESTION: &str = "Version 4.18.0 in Betrieb nehmen?";

/// A message that waits for its turn.
pub(super) const NOT_SENT_YET: &str = "noch nicht gesendet";

/// A message that was refused, or is only shown in the mailbox.
pub(super) const COUNTS_AS_LOST: &str = "gilt als verloren";

/// A message that was accepted, and reported as returned.
pub(super) const CAME_BACK: &str = "kam zurück";

/// A message whose question ended before it left.
pub(super) const NEVER_SENT: &str = "nie gesendet: Die Frage endete vorher";

/// A question that can be answered, with the time that is left.
pub(super) fn waits_for(left: &str) -> String {
    format!("wartet, noch {left}")
}

/// A question that can be answered and has no deadline.
pub(super) const WAITS: &str = "wartet";

/// A question whose deadline has just passed.
pub(super) const DEADLINE_HAS_PASSED: &str = "die Frist ist abgelaufen";

/// A question that was answered.
pub(super) fn was_answered(answer: &str, person: &str) -> String {
    format!("mit „{answer}“ beantwortet von {person}")
}

/// A question that ended at its deadline.
pub(super) const NO_PERSON_ANSWERED: &str = "niemand hat geantwortet";

/// A question that a newer one replaced.
pub(super) const WAS_REPLACED: &str = "durch eine neuere Frage ersetzt";

/// A question that reached no person.
pub(super) const REACHED_NO_PERSON: &str = "niemand war erreichbar";

/// A question that was taken back.
pub(super) const WAS_WITHDRAWN: &str = "zurückgezogen";

/// A question that ended at its deadline, although people had answered.
pub(super) const TOO_FEW_AGREED: &str = "beendet, weil es bis zum Ende der Frist zu wenige gleiche Antworten gab";

/// A question that ended because the server was away.
pub(super) const LOST_TIME: &str = "beendet, weil der Server nicht lief";

// The audit pages.

/// A day in the search that is no day.
pub(super) const NOT_A_DATE: &str = "Ein Tag muss ein Datum sein, zum Beispiel 2026-11-24.";

/// An outcome in the search that does not exist.
pub(super) const NO_SUCH_OUTCOME: &str = "Wählen Sie eines der Ergebnisse in der Liste.";

/// An id in the search that is none.
pub(super) const NOT_AN_INTENT_ID: &str =
    "Die Vorgangs-ID muss eine ganze ID sein, zum Beispiel 019ab0f2-0000-7000-8000-000000000000.";

/// The heading of a page about an export that was not made.
pub(super) const COULD_NOT_BE_EXPORTED: &str = "Das Protokoll konnte nicht exportiert werden";
