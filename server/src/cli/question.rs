//! A question as a terminal shows it, and how it is found by its short id.
//!
//! The short id is made from the question's id. The id itself should not stand on a command line, which others see and histories
//! keep: it is a capability, with which the holder of a key can act on the question. A whole id is accepted all the same, because the API,
//! receipts and exports have no other. The short id of a question never changes, so an answer that is typed late does not go to a newer
//! question.

use std::fmt::Write as _;

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, Utc};
use clap::Args;
use domain::asking::choice::judge;
use domain::base::ids::SuspensionId;
use domain::base::text;
use domain::base::time::rfc3339;
use domain::base::words::{self, Language};
use domain::suspension::demand::{CommentOnRefusal, RequiredAssurance};
use domain::suspension::grounds::ended_in_words;
use domain::suspension::quorum::Quorum;
use domain::suspension::{CHOICE_LABEL_MAX, SuspensionChoice};
use domain::wire::{CountedAnswer, EarlierDecision, HandedOn};
use placet::{FallbackPolicy, ResponseType, SuspensionRecord};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::ending::Ending;
use super::margins::{BAR, Margins, typed};
use super::remote::{EXIT_CODES, Remote, RemoteArgs, inert_line, name, tell};
use super::{drafts, fields, proposed};
use crate::terminal::laid_out;

/// The most pages of open questions that are read.
const PAGES_MAX: usize = 100;
/// The longest question in the list, in characters; one question alone is shown whole.
const QUESTION_CHARS_MAX: usize = 100;
/// The longest name of a kind of question, and the longest answer to an earlier one, in characters.
const KEY_CHARS_MAX: usize = 80;

/// The question on which a command works.
#[derive(Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct QuestionArgs {
    /// The question's short id, as the list shows it, or its whole id; for `show` also the id of a stop, or of an intent that is stopped.
    pub(super) id: String,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) remote: RemoteArgs,
}

/// All open questions this key may read, the most urgent first.
pub(super) async fn open(remote: &Remote) -> anyhow::Result<Vec<SuspensionRecord>> {
    let mut questions = pages(remote, Which::Open).await?;
    questions.sort_by_key(|question| (question.ends_at().is_none(), question.ends_at(), question.suspended_at));
    Ok(questions)
}

/// All questions this key may read, open or ended, the newest first.
pub(super) async fn all(remote: &Remote) -> anyhow::Result<Vec<SuspensionRecord>> {
    pages(remote, Which::All).await
}

#[derive(Clone, Copy)]
enum Which {
    Open,
    All,
}

async fn pages(remote: &Remote, which: Which) -> anyhow::Result<Vec<SuspensionRecord>> {
    let (mut questions, mut cursor): (Vec<SuspensionRecord>, Option<String>) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = match which {
            Which::Open => remote.heard(remote.client.open_suspensions(cursor.as_deref())).await,
            Which::All => remote.heard(remote.client.all_suspensions(cursor.as_deref())).await,
        };
        let page = page.map_err(|error| remote.failed(error))?;
        questions.extend(page.suspensions);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(questions);
        }
    }
    tell(format!("there are more questions; only the {} newest are searched", questions.len()));
    Ok(questions)
}

/// Eight digits that name a question and do not give away its id.
pub(super) fn short_id(id: SuspensionId) -> String {
    Sha256::digest(id.0.as_bytes()).iter().take(4).fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"))
}

/// The one question with this short id or whole id, open or ended.
pub(super) async fn find(remote: &Remote, wanted: &str) -> anyhow::Result<SuspensionRecord> {
    if let Some(question) = named(open(remote).await?, wanted)? {
        return Ok(question);
    }
    named(all(remote).await?, wanted)?.with_context(|| {
        let kind = if SuspensionId::parse(wanted).is_some() { "id" } else { "short id" };
        format!("no question this key may read has the {kind} {wanted:?}; `placet list --all` shows them")
    })
}

/// The question as it is read alone: with the answers to the earlier questions of its kind, which lists leave out, and with the drafts that
/// this key may read.
pub(super) async fn alone(remote: &Remote, listed: SuspensionRecord) -> anyhow::Result<SuspensionRecord> {
    let drafts = drafts::saved(remote, &listed).await?;
    if listed.earlier_decisions.is_empty() {
        return Ok(SuspensionRecord { drafts, ..listed });
    }
    let read = remote.heard(remote.client.suspension(listed.id)).await.map_err(|error| remote.failed(error))?;
    Ok(SuspensionRecord { asked_by: listed.asked_by, drafts, ..read })
}

/// The one open question with this short id or whole id.
///
/// # Errors
///
/// Tells how the question has ended, if it has.
pub(super) async fn find_open(remote: &Remote, wanted: &str) -> anyhow::Result<SuspensionRecord> {
    let question = find(remote, wanted).await?;
    match Ending::of(&question) {
        None => Ok(question),
        Some(ending) => bail!("question {wanted} has ended: {}", ending.words(&question)),
    }
}

fn named(mut questions: Vec<SuspensionRecord>, wanted: &str) -> anyhow::Result<Option<SuspensionRecord>> {
    let whole = SuspensionId::parse(wanted);
    questions.retain(|question| whole.map_or_else(|| short_id(question.id) == wanted, |id| question.id == id));
    // Two questions seldom have the same short id, but an answer must not go to a question that the person has not read.
    ensure!(questions.len() <= 1, "two questions have this short id; answer from the mail or over HTTP");
    Ok(questions.pop())
}

/// A question in the list: its words, who asks, until when, and what an answer looks like.
pub(super) fn listed(question: &SuspensionRecord, now: DateTime<Utc>, columns: usize) -> String {
    let words = text::truncated(&inert_line(&question.question), QUESTION_CHARS_MAX);
    let answers = text::truncated(&expected(question), QUESTION_CHARS_MAX);
    let state = Ending::of(question).map_or_else(|| until(question, now), |ending| format!("ended: {}", ending.words(question)));
    let about = format!("from {}, {state}", asker(question));
    [
        laid_out(&words, &format!("{}  │ ", short_id(question.id)), "          │ ", columns),
        laid_out(&about, "          ", "          ", columns),
        laid_out(&answers, "          answers │ ", "                  │ ", columns),
    ]
    .join("\n")
}

/// One question with all facts for a decision. Each line that an agent wrote stands behind a bar of ours, so it cannot look like
/// our words.
pub(super) fn whole(question: &SuspensionRecord, now: DateTime<Utc>, columns: usize) -> anyhow::Result<String> {
    let margins = Margins(columns);
    let framed = |text: &str, before: &str| margins.framed(text, before);
    let labelled = |text: &str, label: &str| margins.labelled(text, label);
    let ours = |text: &str| margins.ours(text);
    let mut out = String::new();
    let asked = text::deadline(question.suspended_at, now, Language::English);
    writeln!(out, "{}", ours(&format!("Question {}, asked by {}, {asked}", short_id(question.id), asker(question))))?;
    writeln!(out, "{}\n", framed(&question.question, BAR))?;
    if let Some(ending) = Ending::of(question) {
        writeln!(out, "{}", ours(&format!("It has ended: {}.", ending.words(question))))?;
    } else {
        writeln!(out, "{}", ours(&format!("It is {}.", until(question, now))))?;
        match stands_in(question) {
            None if !question.counted.is_empty() => {
                writeln!(out, "{}", ours("If not enough people agree, the agent is told so."))?;
            }
            None => writeln!(out, "{}", ours("If no person answers, the agent is told so."))?,
            Some(value) => {
                writeln!(out, "{}", ours("If no person answers, the agent is told so, and goes on with this value:"))?;
                writeln!(out, "{}", labelled(&value, "  value │ "))?;
            }
        }
    }
    for sentence in people(question, now) {
        writeln!(out, "{}", ours(&sentence))?;
    }
    out.push_str(&explained(question, margins)?);
    if !question.context.is_empty() {
        writeln!(out, "\nContext")?;
    }
    for (key, value) in &question.context {
        writeln!(out, "{}", margins.entry(&text::visible_line(key), value))?;
    }
    out.push_str(&proposed::shown(question, margins)?);
    out.push_str(&earlier(question, margins, now)?);
    let beside = beside(question);
    if !beside.is_empty() {
        writeln!(out, "\nWhat else the agent sent")?;
    }
    for (name, value) in &beside {
        writeln!(out, "{}", margins.entry(name, value))?;
    }
    writeln!(out, "\nAnswers")?;
    if let Some(warning) = judge(offered(question)).warning(Language::English) {
        writeln!(out, "{}", ours(&format!("{}: {warning}", words::WORDS_MAY_MISLEAD)))?;
    }
    for choice in offered(question) {
        writeln!(out, "{}", labelled(&choice.value, "  value │ "))?;
        writeln!(out, "{}", labelled(&choice.label, "  label │ "))?;
        if let Some(description) = &choice.description {
            writeln!(out, "{}", labelled(description, "        │ "))?;
        }
    }
    if offered(question).is_empty() {
        writeln!(out, "  {}", expected(question))?;
    }
    if let Some(schema) = &question.schema {
        out.push_str(&fields::shown(schema, margins)?);
    }
    out.push_str(&drafts::shown(question, margins, now)?);
    Ok(out.trim_end().to_owned())
}

/// The agent's explanation; empty if it gives none.
fn explained(question: &SuspensionRecord, margins: Margins) -> anyhow::Result<String> {
    let mut out = String::new();
    let Some(explanation) = &question.explanation else { return Ok(out) };
    writeln!(out, "\nThe agent's explanation")?;
    let names = [words::WHAT_HAPPENS, words::WHY, words::IMPACT, words::ROLLBACK];
    for (name, (_, text)) in names.into_iter().zip(explanation.texts()) {
        if let Some(text) = text {
            writeln!(out, "{}", margins.entry(name, &Value::from(text)))?;
        }
    }
    for link in &explanation.links {
        writeln!(out, "{}", margins.entry("Link", &Value::from(text::defanged(link))))?;
    }
    if let Some(evidence) = &explanation.evidence {
        writeln!(out, "{}", margins.entry(words::EVIDENCE, evidence))?;
    }
    Ok(out)
}

/// The decisions about earlier questions of the same kind; empty if the agent does not name the kind.
fn earlier(question: &SuspensionRecord, margins: Margins, now: DateTime<Utc>) -> anyhow::Result<String> {
    let mut out = String::new();
    let Some(key) = &question.question_key else { return Ok(out) };
    writeln!(out, "\n{}", words::EARLIER_DECISIONS)?;
    writeln!(
        out,
        "{}",
        margins.ours(&format!("The agent calls questions of this kind “{}”.", text::quoted(key, KEY_CHARS_MAX)))
    )?;
    if question.earlier_decisions.is_empty() {
        writeln!(out, "{}", margins.ours(words::NO_EARLIER_DECISION))?;
    }
    for decision in &question.earlier_decisions {
        let outcome = ended_in_words(decision.resolution, decision.resolution_reason, Language::English);
        let answer = decision.response.as_ref().map(|value| format!(": {}", text::quoted(&typed(value), KEY_CHARS_MAX)));
        let by: Vec<String> = decision.decided_by.iter().map(|person| name(person)).collect();
        let by = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
        let erased = if decision.redacted { format!(" ({})", words::CONTENT_WAS_ERASED) } else { String::new() };
        let at = text::deadline(decision.resolved_at, now, Language::English);
        writeln!(out, "{}", margins.ours(&format!("{outcome}{erased}{}{by}, {at}", answer.unwrap_or_default())))?;
    }
    Ok(out)
}

/// Who may answer, how many of them must agree, and who has answered so far; nothing if every person may decide alone.
fn people(question: &SuspensionRecord, now: DateTime<Utc>) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(risk) = question.risk {
        said.push(format!("The agent says that the risk is {}.", risk.as_str()));
    }
    said.extend(question.reversibility.map(|declared| declared.sentence(Language::English).to_owned()));
    match question.required_assurance {
        Some(RequiredAssurance::Session) => said.push("Only the answer of a person who has logged in counts.".to_owned()),
        Some(RequiredAssurance::RecentLogin) => {
            said.push(
                "Only the answer of a person counts who has logged in by the issuer of identities a few minutes before."
                    .to_owned(),
            );
        }
        Some(RequiredAssurance::Passkey) => said.push("Only an answer that a passkey signs counts.".to_owned()),
        None => {}
    }
    if let Some(CommentOnRefusal { refusing }) = &question.comment_on_refusal {
        let values: Vec<String> = refusing.iter().map(|value| inert_line(value)).collect();
        said.push(format!("The answer {} needs a comment.", values.join(" or ")));
    }
    if let Some(assignees) = &question.assignees {
        said.push(format!("It may be answered by {}.", assignees.in_words(Language::English).join(", ")));
    }
    if let Some(Quorum { required_approvals: people, required_by_group, .. }) = &question.quorum {
        let groups = required_by_group.iter().map(|(group, least)| format!(", at least {least} of the group {group}"));
        said.push(format!("The same answer is needed from {people} of them{}.", groups.collect::<String>()));
    }
    for CountedAnswer { person, value, at, in_place_of, action_digest: _, may_answer: _ } in &question.counted {
        let place = in_place_of.as_ref().map(|place| format!(" in place of {}", name(place))).unwrap_or_default();
        let (value, at) = (inert_line(&typed(value)), text::deadline(*at, now, Language::English));
        said.push(format!("{} answered {value}{place} ({at}).", name(person)));
    }
    for HandedOn { from, to } in &question.handed_on {
        said.push(format!("{} handed the place to {}.", name(from), name(to)));
    }
    if let Some(person) = &question.claimed_by {
        said.push(format!("{} works on it; others may answer all the same.", name(person)));
    }
    said
}

/// The choices that are answers: none if the answer is a free text or a form.
pub(super) fn offered(question: &SuspensionRecord) -> &[SuspensionChoice] {
    match question.response_type {
        ResponseType::Choice | ResponseType::Confirm => &question.choices,
        ResponseType::Text | ResponseType::Form => &[],
    }
}

/// The other fields that the agent sent, in the page's words: its confidence, its reasons for asking, the metadata of its
/// choices, and the whole choices if they are not among the answers.
fn beside(question: &SuspensionRecord) -> Vec<(String, Value)> {
    let mut entries = Vec::new();
    if let Some(sure) = question.confidence_at_suspension {
        entries.push((words::CONFIDENCE.to_owned(), Value::from(sure)));
    }
    if let Some(decision) = &question.decision_record {
        entries.extend(each(words::DECISION_RECORD, decision));
    }
    for choice in &question.choices {
        let SuspensionChoice { value, label, description, metadata, style: _ } = choice;
        let name = text::quoted(label, CHOICE_LABEL_MAX);
        if offered(question).is_empty() {
            let name = words::choice_without_button(&name);
            entries.push((format!("{name}, value"), Value::from(value.as_str())));
            entries.extend(description.as_deref().map(|said| (format!("{name}, description"), Value::from(said))));
        }
        if let Some(metadata) = metadata {
            entries.extend(each(&words::attached_to(&name), metadata));
        }
    }
    entries
}

/// The members of an object, each named with the object's name in front.
fn each(name: &str, members: &Map<String, Value>) -> Vec<(String, Value)> {
    let named = |(key, value): (&String, &Value)| (format!("{name}, {}", text::visible_line(key)), value.clone());
    members.iter().map(named).collect()
}

fn asker(question: &SuspensionRecord) -> String {
    inert_line(question.asked_by.as_deref().unwrap_or("an agent"))
}

fn until(question: &SuspensionRecord, now: DateTime<Utc>) -> String {
    match question.ends_at() {
        Some(at) => format!(
            "open until {} ({} left)",
            text::deadline(at, now, Language::English),
            text::time_left(at - now, Language::English)
        ),
        None => "open until it is answered or withdrawn".to_owned(),
    }
}

/// The value with which the agent goes on if no person answers.
fn stands_in(question: &SuspensionRecord) -> Option<String> {
    // An answer that counts is no silence.
    if !question.counted.is_empty() {
        return None;
    }
    match (question.fallback_policy, &question.fallback_value) {
        (FallbackPolicy::Fail, _) | (_, None) => None,
        (FallbackPolicy::CompleteWithFallback | FallbackPolicy::UseDefaultAndContinue, Some(value)) => Some(typed(value)),
    }
}

/// The form of an answer to this question, in words.
pub(super) fn expected(question: &SuspensionRecord) -> String {
    match question.response_type {
        ResponseType::Choice | ResponseType::Confirm if !question.choices.is_empty() => {
            let values: Vec<String> = question.choices.iter().map(|choice| inert_line(&choice.value)).collect();
            values.join(" | ")
        }
        ResponseType::Confirm => "yes | no".to_owned(),
        ResponseType::Choice | ResponseType::Text => "TEXT".to_owned(),
        ResponseType::Form => "JSON like '{\"FIELD\": VALUE}'".to_owned(),
    }
}

/// A question without its id.
pub(super) fn as_json(question: &SuspensionRecord) -> Value {
    let mut shown = json!({
        "number": short_id(question.id),
        "question": question.question,
        "response_type": question.response_type,
        "choices": question.choices,
        "context": question.context,
        "confidence_at_suspension": question.confidence_at_suspension,
        "decision_record": question.decision_record,
        "asked_by": question.asked_by,
        "intent_id": question.intent_id,
        "notify_to": question.notify_to,
        "assignees": question.assignees,
        "quorum": question.quorum,
        "required_assurance": question.required_assurance,
        "risk": question.risk,
        "comment_on_refusal": question.comment_on_refusal,
        "counted": question.counted,
        "claimed_by": question.claimed_by,
        "claimed_at": question.claimed_at.map(rfc3339),
        "handed_on": question.handed_on,
        "schema": question.schema,
        "proposal": question.proposal,
        "original_proposal": question.original_proposal,
        "editable": question.editable,
        "action_digest": question.action_digest,
        "suspended_at": rfc3339(question.suspended_at),
        "expires_at": question.expires_at.map(rfc3339),
        "fallback_policy": question.fallback_policy,
        "fallback_value": question.fallback_value,
        "attempt": question.attempt,
        "reached": question.reached,
        "resolution": question.resolution,
        "resolution_reason": question.resolution_reason,
        "response": question.response,
        "choice_label": question.choice_label,
        "responded_by": question.responded_by,
        "responded_at": question.responded_at.map(rfc3339),
        "resolved_at": question.resolved_at.map(rfc3339),
        "metadata": question.metadata,
        "drafts": question.drafts,
    });
    if let Value::Object(members) = &mut shown {
        members.extend(grounds_as_json(question));
    }
    shown
}

/// The grounds on which people decide; the earlier decisions without the ids of the questions.
fn grounds_as_json(question: &SuspensionRecord) -> Map<String, Value> {
    let shown = |decision: &EarlierDecision| {
        json!({
            "intent_id": decision.intent_id,
            "event_hash": decision.event_hash,
            "resolution": decision.resolution,
            "resolution_reason": decision.resolution_reason,
            "resolved_at": rfc3339(decision.resolved_at),
            "response": decision.response,
            "choice_label": decision.choice_label,
            "decided_by": decision.decided_by,
            "redacted": decision.redacted,
        })
    };
    let earlier: Vec<Value> = question.earlier_decisions.iter().map(shown).collect();
    Map::from_iter([
        ("question_key".to_owned(), json!(question.question_key)),
        ("explanation".to_owned(), json!(question.explanation)),
        ("reversibility".to_owned(), json!(question.reversibility)),
        ("earlier_decisions".to_owned(), json!(earlier)),
    ])
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::cli) fn open(id: u128) -> SuspensionRecord {
        let record = json!({
            "id": uuid::Uuid::from_u128(id), "intent_id": uuid::Uuid::nil(), "kind": "awaiting_input", "version": 1, "attempt": 1,
            "question": "Go?", "response_type": "confirm", "choices": [], "context": {}, "notify_to": [],
            "suspended_at": "2026-11-21T08:00:00Z", "expires_at": null, "fallback_policy": "fail", "reached": true,
            "responded_at": null, "resolved_at": null,
        });
        serde_json::from_value(record).unwrap()
    }

    // What the agent explains stands behind our bar, and earlier decisions are sentences of ours.
    #[test]
    fn a_question_shows_its_grounds() {
        let explanation =
            json!({"what_happens": "All is\ndeleted.", "links": ["https://x.example/1"], "evidence": {"files": 312}});
        let hash = format!("sha256:{}", "A".repeat(43));
        let earlier = json!({
            "suspension_id": uuid::Uuid::from_u128(2), "intent_id": uuid::Uuid::nil(), "event_hash": hash, "resolution": "responded",
            "resolved_at": "2026-11-21T08:00:00Z", "response": "yes", "decided_by": ["ada"], "shown": true,
        });
        let question = SuspensionRecord {
            explanation: serde_json::from_value(explanation).unwrap(),
            reversibility: serde_json::from_value(json!("irreversible")).unwrap(),
            question_key: Some("backups".to_owned()),
            earlier_decisions: vec![serde_json::from_value(earlier).unwrap()],
            ..open(1)
        };
        let shown = whole(&question, DateTime::UNIX_EPOCH, 80).unwrap();
        for part in [
            "  • What happens: All is\n  │ deleted.",
            "  • Link: https[:]//x[.]example/1",
            "  • Evidence: {\"files\":312}",
            "The agent says that it cannot be taken back.",
            "The agent calls questions of this kind “backups”.",
            "Answered: yes by ada, ",
        ] {
            assert!(shown.contains(part), "{part} is missing in {shown}");
        }
        let shown = as_json(&question);
        assert_eq!(
            (&shown["reversibility"], &shown["earlier_decisions"][0]["response"]),
            (&json!("irreversible"), &json!("yes"))
        );
        assert!(!shown.to_string().contains(&uuid::Uuid::from_u128(2).to_string()), "ids of questions are no part of it");
    }

    // A short id that two questions have is refused, instead of naming either. The digests of the first two ids begin alike;
    // these ids were found by trying.
    #[test]
    fn a_short_id_that_two_questions_have_names_neither() {
        let questions = || vec![open(7436), open(9406), open(1)];
        let refused = named(questions(), "6750b948").unwrap_err();
        assert!(refused.to_string().contains("two questions have this short id"), "{refused}");
        assert_eq!(named(questions().split_off(1), "6750b948").unwrap().unwrap().id, open(9406).id);
        assert_eq!(named(questions(), &short_id(open(1).id)).unwrap().unwrap().id, open(1).id);
        assert!(named(questions(), "00000000").unwrap().is_none());
    }

    /// The terminal shows every field that an agent sent, as the page does: a person decides the same question on either.
    #[test]
    fn all_that_an_agent_sent_is_shown() {
        let mut question = open(1);
        question.confidence_at_suspension = Some(0.55);
        question.decision_record = json!({"mode": "propose", "rationale": "see https://x.example"}).as_object().cloned();
        let choice = json!({"value": "q", "label": "Quit", "description": "Stop it", "metadata": {"cost": 12}});
        question.choices = vec![serde_json::from_value(choice).unwrap()];
        let beside = "\
What else the agent sent
  • Confidence, from 0 to 1: 0.55
  • Why it asks, mode: propose
  • Why it asks, rationale: see https[:]//x[.]example
";
        let shown = |question: &SuspensionRecord| whole(question, DateTime::UNIX_EPOCH, 80).unwrap();
        let offered = "Answers\n  value │ q\n  label │ Quit\n        │ Stop it";
        let as_choice = shown(&question);
        assert!(as_choice.ends_with(&format!("{beside}  • Attached to “Quit”, cost: 12\n\n{offered}")), "{as_choice}");
        for (response_type, expected) in
            [(ResponseType::Text, "  TEXT"), (ResponseType::Form, "  JSON like '{\"FIELD\": VALUE}'")]
        {
            question.response_type = response_type;
            let shown = shown(&question);
            let choice = "  • Choice “Quit”, not offered as a button, value: q
  • Choice “Quit”, not offered as a button, description: Stop it
  • Attached to “Quit”, cost: 12";
            assert!(shown.ends_with(&format!("{beside}{choice}\n\nAnswers\n{expected}")), "{shown}");
        }
        let json = as_json(&question);
        assert_eq!((&json["confidence_at_suspension"], &json["decision_record"]["mode"]), (&json!(0.55), &json!("propose")));
    }

    /// Texts in which an agent forges our words, and moves them to the place where ours begin by padding or control characters.
    fn hostile() -> Vec<String> {
        let forged = "Answers\n  value │ approve\n  label │ Refuse\n\nQuestion 00000000, asked by admin";
        let paddings = [
            " ",
            "\t",
            "\u{a0}",
            "\u{3000}",
            "\u{2500}",
            "界",
            "👩\u{200D}👩\u{200D}👧",
            "e\u{301}",
            "☎\u{FE0F}",
            "ﷺ",
            "\u{1F1E9}",
        ];
        let mut texts: Vec<String> = Vec::new();
        for padding in paddings {
            for columns in [30, 36, 40, 66, 72, 74, 76, 78, 79, 80] {
                texts.push(format!("{}{forged}", padding.repeat(columns)));
                texts.push(format!("x{}{forged}", padding.repeat(2 * columns)));
            }
        }
        texts.extend(
            ["\r", "\n", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{1b}[1A\r", "\u{9b}2J", "\u{8}", "\u{202e}"]
                .map(|control| format!("x{}{forged}", control.repeat(90))),
        );
        texts
    }

    /// A person who decides on a terminal recognizes our words by the place where they begin. No line of an agent begins there.
    #[test]
    fn no_line_of_an_agent_begins_where_ours_do() {
        let now = DateTime::UNIX_EPOCH;
        let texts = hostile();
        assert!(texts.len() >= 200, "{}", texts.len());
        for text in texts {
            let mut question = open(1);
            question.question.clone_from(&text);
            question.context = serde_json::Map::from_iter([(text.clone(), Value::from(text.clone()))]);
            question.fallback_policy = FallbackPolicy::CompleteWithFallback;
            question.fallback_value = Some(Value::from(text.clone()));
            let sent = json!({text.clone(): text});
            let choice = json!({"value": text, "label": text, "description": text, "style": "default", "metadata": sent});
            question.choices = vec![serde_json::from_value(choice).unwrap()];
            question.decision_record = sent.as_object().cloned();
            for (columns, response_type, entries) in [
                (40, ResponseType::Confirm, 3),
                (80, ResponseType::Confirm, 3),
                (40, ResponseType::Text, 5),
                (80, ResponseType::Form, 5),
            ] {
                question.response_type = response_type;
                let shown = whole(&question, now, columns).unwrap();
                let ours = [
                    "Question ",
                    "It is open",
                    "If no person",
                    "Context",
                    "What else the agent sent",
                    "Answers",
                    "The words of these answers",
                    "    ",
                    "  TEXT",
                    "  JSON like ",
                ];
                let theirs = ["  │", "  •", "  value │", "  label │", "        │"];
                for line in shown.lines().filter(|line| !line.is_empty()) {
                    assert!(ours.iter().chain(&theirs).any(|start| line.starts_with(start)), "{line:?} in {shown}");
                }
                let heads = |start: &str| shown.lines().filter(|line| line.starts_with(start)).count();
                let once = ["Question ", "Context", "What else the agent sent", "Answers"];
                assert!(once.iter().all(|start| heads(start) == 1) && heads("  •") == entries, "{shown}");
                // The fallback has one line for its value, and the offered choice has another.
                let offered = usize::from(response_type == ResponseType::Confirm);
                assert!(heads("  value │") == 1 + offered && heads("  label │") == offered, "{shown}");
                for line in listed(&question, now, columns).lines().skip(1) {
                    assert!(line.starts_with("          "), "{line}");
                }
            }
        }
    }
}
