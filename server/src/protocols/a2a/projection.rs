//! From an intent with its question to a task of A2A: pure functions.

use chrono::{DateTime, Utc};
use domain::asking::errands::{COMMENT, misheard};
use domain::intent::fate::Fate;
use domain::intent::status::Status as IntentStatus;
use domain::suspension::errand::Via;
use domain::suspension::{Resolution, ResolutionReason, ResponseType};
use domain::wire::{EventView, SuspensionRecord};
use serde_json::{Map, Value, json};
use store::{Heard, Matter};

use super::stopped::{Stopped, because};
use super::wire::{
    Artifact, ArtifactUpdate, Message, PAUSE, PAUSED_STATE, Part, QUESTION, Role, State, Status, StatusUpdate, Task, timestamp,
};

/// The id of the artifact of an answer.
const DECISION: &str = "decision";

/// The extensions that a client has activated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Active {
    /// That for questions.
    pub(crate) question: bool,
    /// That for pauses.
    pub(crate) pause: bool,
    /// That for a state of its own of work that is stopped.
    pub(crate) paused_state: bool,
}

impl Active {
    /// Whether the client wants to see the stop of the work in the status.
    pub(crate) fn describes_pauses(self) -> bool {
        self.pause || self.paused_state
    }

    /// The URIs of the extensions.
    pub(crate) fn uris(self) -> Vec<&'static str> {
        let all = [(self.question, QUESTION), (self.pause, PAUSE), (self.paused_state, PAUSED_STATE)];
        all.into_iter().filter(|(is_active, _)| *is_active).map(|(_, uri)| uri).collect()
    }
}

/// The media types of the parts that a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) text: bool,
    pub(crate) data: bool,
}

impl Default for Modes {
    fn default() -> Self {
        Self { text: true, data: true }
    }
}

impl Modes {
    /// The artifact with the parts that the client takes.
    fn of(self, artifact: Artifact) -> Artifact {
        let takes = |part: &Part| if part.text.is_some() { self.text } else { self.data };
        Artifact { parts: artifact.parts.into_iter().filter(takes).collect(), ..artifact }
    }
}

/// The parts of a task that a client wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) active: Active,
    pub(crate) modes: Modes,
    pub(crate) artifacts: bool,
}

/// The state of a task whose intent has this status; `None` for an intent that was abandoned, because the status does not say why.
pub(crate) fn state_of(status: IntentStatus, is_errand: bool) -> Option<State> {
    Some(match status {
        IntentStatus::Draft => State::Submitted,
        IntentStatus::Active | IntentStatus::Blocked => State::Working,
        // The client of an errand is the asker, who may never answer. Every other reader of a task may be on the side that answers.
        IntentStatus::SuspendedAwaitingInput if is_errand => State::AuthRequired,
        IntentStatus::SuspendedAwaitingInput => State::InputRequired,
        IntentStatus::Completed => State::Completed,
        IntentStatus::Abandoned => return None,
    })
}

/// The state of a task.
pub(crate) fn state(matter: &Matter) -> State {
    match matter.fate {
        Some(Fate::Open) => return State::AuthRequired,
        Some(Fate::Completed) => return State::Completed,
        Some(Fate::Failed) => return State::Failed,
        Some(Fate::Withdrawn) => return State::Canceled,
        None => {}
    }
    let reason = matter.record.as_ref().and_then(|record| record.resolution_reason);
    let was_withdrawn = matches!(reason, Some(ResolutionReason::Withdrawn | ResolutionReason::Superseded));
    // Where another has ended the work, a question that was withdrawn before is not the end of it.
    let is_withdrawn = matter.ended_by.as_ref().map_or(was_withdrawn, |ended| ended.withdrew);
    let given_up = if is_withdrawn { State::Canceled } else { State::Failed };
    state_of(matter.status, false).unwrap_or(given_up)
}

/// A task.
pub(crate) fn task(matter: &Matter, shown: Shown) -> Task {
    let asks = about_the_question(matter, shown).map(|facts| (QUESTION.to_owned(), Value::Object(facts)));
    let stops = matter.stop.as_ref().map(|record| (PAUSE.to_owned(), Stopped::of(record).members(matter.may_resume)));
    let metadata = asks.into_iter().chain(stops).collect::<Map<_, _>>();
    Task {
        id: matter.intent_id.to_string(),
        context_id: matter.context_id.clone(),
        status: status(matter, shown),
        artifacts: artifact(matter).filter(|_| shown.artifacts).map(|artifact| shown.modes.of(artifact)).into_iter().collect(),
        history: matter.said.iter().filter_map(|event| said(matter, event)).collect(),
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
    }
}

/// The metadata about the question. Every client reads the warnings about what it has asked; the rest is for clients that know the extension.
fn about_the_question(matter: &Matter, shown: Shown) -> Option<Map<String, Value>> {
    let mut facts = Map::new();
    let open = matter.record.as_ref().filter(|record| record.resolution.is_none());
    if let Some(record) = open.filter(|_| shown.active.question) {
        facts.insert("kind".to_owned(), json!("awaiting_input"));
        if matter.may_answer {
            facts.insert("handle".to_owned(), json!(record.id));
        }
    }
    if !matter.warnings.is_empty() {
        facts.insert("warnings".to_owned(), json!(matter.warnings));
    }
    Some(facts).filter(|facts| !facts.is_empty())
}

/// The status of a task, with words for people and agents that read it.
pub(crate) fn status(matter: &Matter, shown: Shown) -> Status {
    if let Some(record) = &matter.stop {
        return stopped_status(matter, &Stopped::of(record), shown, record.suspended_at);
    }
    let state = state(matter);
    let record = matter.record.as_ref();
    let parts = match (state, record) {
        (State::AuthRequired | State::InputRequired, Some(record)) => {
            let mut parts = vec![Part::text(asked(matter, record))];
            if shown.active.question {
                parts.push(Part::data(facts(matter, record)));
            }
            parts
        }
        (State::Failed, record) => vec![Part::text(ended(matter).unwrap_or_else(|| failed(record)))],
        (State::Canceled, _) => vec![Part::text(canceled(matter))],
        (State::AuthRequired | State::InputRequired, None)
        | (State::Submitted | State::Working | State::Paused | State::Completed, _) => Vec::new(),
    };
    let number = record.map_or(0, |record| record.version);
    let extensions = if parts.len() > 1 { vec![QUESTION] } else { Vec::new() };
    let message = (!parts.is_empty()).then(|| message(matter, &number.to_string(), parts, extensions));
    Status { state, message, timestamp: timestamp(matter.changed_at), pause: None }
}

/// The status of a task whose work is stopped.
pub(crate) fn stopped_status(matter: &Matter, stopped: &Stopped, shown: Shown, at: DateTime<Utc>) -> Status {
    let number = format!("stop:{}", at.timestamp_millis());
    Status {
        state: if shown.active.paused_state { State::Paused } else { State::Working },
        message: Some(message(matter, &number, vec![Part::text(stopped.in_words())], Vec::new())),
        timestamp: timestamp(at),
        pause: shown.active.describes_pauses().then(|| stopped.pause(matter.may_resume)),
    }
}

/// A message of this server about a status.
fn message(matter: &Matter, number: &str, parts: Vec<Part>, extensions: Vec<&'static str>) -> Message {
    Message {
        message_id: format!("{}:status:{number}", matter.intent_id),
        context_id: matter.context_id.clone(),
        task_id: matter.intent_id.to_string(),
        role: Role::Agent,
        parts,
        extensions,
        metadata: None,
    }
}

/// A change of the status of a task.
pub(crate) fn status_update(matter: &Matter, status: Status) -> StatusUpdate {
    StatusUpdate { task_id: matter.intent_id.to_string(), context_id: matter.context_id.clone(), status, metadata: None }
}

/// The words of a question that is open.
fn asked(matter: &Matter, record: &SuspensionRecord) -> String {
    let question = &record.question;
    let until = record.expires_at.map_or_else(String::new, |at| format!(" The deadline is {}.", timestamp(at)));
    if matter.may_answer {
        let is_misunderstood = matter.heard == Heard::NotUnderstood;
        let misunderstood = if is_misunderstood { "Your words are no answer to the question. " } else { "" };
        let grounds = in_lines(&grounds(record));
        return format!("{misunderstood}{question}\n\n{grounds}{}{until}", answers(record));
    }
    let people = match record.notify_to.as_slice() {
        [] => "A person has to answer".to_owned(),
        people => format!("A person has to answer (asked: {})", people.join(", ")),
    };
    format!("{people}: {question}\n\nThere is nothing for you to do but to wait: subscribe to this task, or get it again.{until}")
}

/// The members of a record, with their names here, from which a person decides: those who may answer see them.
const GROUNDS: [(&str, &str, &str); 8] = [
    ("risk", "risk", "Risk"),
    ("reversibility", "reversibility", "Reversibility"),
    ("explanation", "explanation", "Explanation"),
    ("proposal", "proposal", "Proposed action"),
    ("action_digest", "actionDigest", "Digest of the action"),
    ("editable", "editable", "Members that may be edited"),
    ("context", "context", "Context"),
    ("comment_on_refusal", "commentOnRefusal", "A refusal needs a comment"),
];

/// The facts from which a person decides: the name of each, its heading, and the fact.
fn grounds(record: &SuspensionRecord) -> Vec<(&'static str, &'static str, Value)> {
    let mut members = json!(record);
    let mut given = GROUNDS.map(|(member, name, heading)| (name, heading, members[member].take())).to_vec();
    given.retain(|(_, _, fact)| !fact.is_null() && *fact != json!({}));
    given
}

/// The facts as text, for clients that know no extension.
fn in_lines(grounds: &[(&str, &str, Value)]) -> String {
    let line = |(name, fact): (&String, &Value)| format!("\n- {name}: {}", in_words(fact));
    let one = |(_, heading, fact): &(&str, &str, Value)| match fact {
        Value::Object(members) => format!("{heading}:{}\n\n", members.iter().map(line).collect::<String>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            format!("{heading}: {}\n\n", in_words(fact))
        }
    };
    grounds.iter().map(one).collect()
}

/// Which answers a question takes, in words.
fn answers(record: &SuspensionRecord) -> String {
    match record.response_type {
        ResponseType::Text => "Answer with a text.".to_owned(),
        ResponseType::Form => "Answer with a data part whose value has the members that the question asks for.".to_owned(),
        ResponseType::Choice | ResponseType::Confirm => {
            let choices: Vec<String> =
                record.choices.iter().map(|choice| format!("{} ({})", choice.value, choice.label)).collect();
            format!("Answer with one of: {}.", choices.join(", "))
        }
    }
}

/// The facts of a question that is open, for a client that knows the extension.
fn facts(matter: &Matter, record: &SuspensionRecord) -> Value {
    let choices: Vec<Value> = record
        .choices
        .iter()
        .map(|choice| json!({ "value": choice.value, "label": choice.label, "description": choice.description }))
        .collect();
    let mut facts = json!({
        "question": record.question,
        "responseType": record.response_type,
        "choices": choices,
        "attempt": record.attempt,
    });
    if let Some(at) = record.expires_at {
        facts["expiresAt"] = json!(timestamp(at));
    }
    // A form can be answered only by its schema.
    if let Some(schema) = &record.schema {
        facts["schema"] = json!(schema);
    }
    if matter.may_answer {
        facts["suspensionId"] = json!(record.id);
        for (name, _, fact) in grounds(record) {
            facts[name] = fact;
        }
    }
    facts
}

/// That another principal ended the work, in words; `None` if it ended in another way.
fn ended(matter: &Matter) -> Option<String> {
    matter.ended_by.as_ref().map(|ended| because("The work was ended by another", ended.stop.reason.as_deref()))
}

/// Why a task was cancelled, in words.
fn canceled(matter: &Matter) -> String {
    let withdrawn = "The question was withdrawn.";
    ended(matter).map_or_else(|| withdrawn.to_owned(), |ended| format!("{withdrawn}\n\n{ended}"))
}

/// Why a task failed, in words.
fn failed(record: Option<&SuspensionRecord>) -> String {
    let reason = record.and_then(|record| record.resolution_reason);
    match (record.and_then(|record| record.resolution), reason) {
        (Some(Resolution::Expired), _) => "No person answered before the deadline, and no fallback applies.",
        (_, Some(ResolutionReason::Undeliverable)) => "No person could be reached before the deadline.",
        (_, Some(ResolutionReason::QuorumUnmet)) => "People answered, and not enough of them agreed before the deadline.",
        (_, Some(ResolutionReason::PortfolioDeadline)) => "The deadline of the portfolio passed before a person answered.",
        (_, Some(ResolutionReason::TimeLost)) => "The server was away, and the deadline of the question could not be moved.",
        (_, Some(ResolutionReason::Withdrawn | ResolutionReason::Superseded) | None) => "The work was given up.",
    }
    .to_owned()
}

/// The outcome of an errand: the answer, or the fallback in its place.
pub(crate) fn artifact(matter: &Matter) -> Option<Artifact> {
    let record = matter.record.as_ref().filter(|_| matter.fate == Some(Fate::Completed))?;
    let source = match record.resolution? {
        Resolution::Responded => "human",
        Resolution::Expired => "fallback",
        Resolution::Cancelled => return None,
    };
    let value = record.response.clone().unwrap_or_default();
    let mut data = json!({ "value": value, "source": source, "suspensionId": record.id });
    let mut put = |name: &str, fact: Option<Value>| {
        if let Some(fact) = fact {
            data[name] = fact;
        }
    };
    put("choiceLabel", record.choice_label.as_ref().map(|label| json!(label)));
    put("respondedBy", record.responded_by.as_ref().map(|person| json!(person)));
    put("respondedAt", record.responded_at.map(|at| json!(timestamp(at))));
    put("metadata", record.metadata.as_ref().filter(|metadata| !metadata.is_empty()).map(|metadata| json!(metadata)));
    put("proposal", record.proposal.as_ref().map(|proposal| json!(proposal)));
    let words = record.choice_label.clone().unwrap_or_else(|| in_words(&value));
    Some(Artifact { artifact_id: DECISION, name: DECISION, parts: vec![Part::data(data), Part::text(words)] })
}

/// A value as a text.
fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The outcome of an errand, as an item of a stream.
pub(crate) fn artifact_update(matter: &Matter, modes: Modes) -> Option<ArtifactUpdate> {
    let artifact = modes.of(artifact(matter)?);
    let (task_id, context_id) = (matter.intent_id.to_string(), matter.context_id.clone());
    Some(ArtifactUpdate { task_id, context_id, artifact, last_chunk: true })
}

/// The message that an event records; `None` if the event records none.
fn said(matter: &Matter, event: &EventView) -> Option<Message> {
    let payload = &event.payload;
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let own_id = || format!("{}:event:{}", matter.intent_id, event.sequence);
    let misheard = misheard(&event.event_type, payload);
    let (message_id, role, words) = match event.event_type.as_str() {
        "intent.suspended" => {
            let begun = payload.get("errand").and_then(|errand| errand["message_id"].as_str());
            let role = if begun.is_some() { Role::User } else { Role::Agent };
            (begun.map_or_else(own_id, str::to_owned), role, text("question")?.to_owned())
        }
        "intent.resumed" => {
            let value = payload.get("value").map(in_words).unwrap_or_default();
            let came_by_message = payload.get("via") == Some(&json!(Via::A2a));
            let role = if came_by_message { Role::User } else { Role::Agent };
            (own_id(), role, text("choice_label").map_or(value, str::to_owned))
        }
        COMMENT => {
            let came_by_message = payload.get("via") == Some(&json!(Via::A2a));
            let role = if came_by_message { Role::User } else { Role::Agent };
            let message_id = text("message_id").filter(|id| came_by_message && !id.is_empty());
            (message_id.map_or_else(own_id, str::to_owned), role, text("text")?.to_owned())
        }
        _ => (own_id(), Role::User, misheard?.words.to_owned()),
    };
    // A reader of the conversation must not take these words for a decision.
    let metadata = misheard.map(|misheard| Map::from_iter([(QUESTION.to_owned(), json!({ "refused": misheard.code }))]));
    Some(Message {
        message_id,
        context_id: matter.context_id.clone(),
        task_id: matter.intent_id.to_string(),
        role,
        parts: vec![Part::text(words)],
        extensions: Vec::new(),
        metadata,
    })
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::base::ids::{IntentId, SuspensionId};
    use domain::base::name::Owner;
    use domain::suspension::hands::Hands;
    use domain::suspension::{Asker, Ending, FallbackPolicy, Kind, Question, Suspension, SuspensionChoice};
    use uuid::Uuid;

    use super::*;

    const BARE: Shown = Shown {
        active: Active { question: false, pause: false, paused_state: false },
        modes: Modes { text: true, data: true },
        artifacts: true,
    };

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn choice(value: &str, label: &str) -> SuspensionChoice {
        SuspensionChoice {
            value: value.into(),
            label: label.into(),
            description: None,
            style: domain::suspension::Style::Default,
            metadata: None,
        }
    }

    fn suspension(ending: Option<(Resolution, Option<ResolutionReason>)>) -> Suspension {
        let response = ending.filter(|(_, reason)| reason.is_none()).map(|_| json!("no"));
        Suspension {
            id: SuspensionId(Uuid::from_u128(7)),
            intent_id: IntentId(Uuid::from_u128(8)),
            kind: Kind::AwaitingInput,
            version: 1,
            attempt: 1,
            response_type: ResponseType::Confirm,
            choices: vec![choice("yes", "Yes"), choice("no", "No")],
            suspended_at: at(0),
            expires_at: Some(at(60)),
            fallback_policy: FallbackPolicy::Fail,
            fallback_value: None,
            reached: true,
            requires_delivery: true,
            fixed_deadline: false,
            refusals: 0,
            reminded_at: None,
            asked_by: Asker { name: "bot".into(), owner: Owner("bot".into()) },
            quorum: None,
            schema: None,
            counted: Vec::new(),
            hands: Hands::default(),
            ending: ending.map(|(resolution, reason)| {
                let by = (resolution == Resolution::Responded).then(|| "ada@example.com".to_owned());
                Ending { resolution, reason, at: at(5), response, by, metadata: None }
            }),
            portfolio_deadline: None,
        }
    }

    fn matter(status: IntentStatus, fate: Option<Fate>, ending: Option<(Resolution, Option<ResolutionReason>)>) -> Matter {
        let question = Question { question: "Refund?".into(), recipients: vec!["ops@example.com".into()], ..Question::erased() };
        Matter {
            intent_id: IntentId(Uuid::from_u128(8)),
            status,
            changed_at: at(0),
            fate,
            context_id: "talk".into(),
            record: Some(SuspensionRecord::of(&suspension(ending), &question)),
            may_answer: false,
            said: Vec::new(),
            heard: Heard::default(),
            stop: None,
            may_resume: false,
            ended_by: None,
            warnings: Vec::new(),
        }
    }

    /// The table of `docs/a2a.md`.
    #[test]
    fn each_state_of_an_intent_has_its_state_of_a_task() {
        use IntentStatus::{Abandoned, Active, Blocked, Completed, Draft, SuspendedAwaitingInput};
        let cancelled = |reason| Some((Resolution::Cancelled, Some(reason)));
        let (answered, expired) = (Some((Resolution::Responded, None)), Some((Resolution::Expired, None)));
        for (status, fate, ending, wanted) in [
            (SuspendedAwaitingInput, Some(Fate::Open), None, State::AuthRequired),
            (Completed, Some(Fate::Completed), answered, State::Completed),
            (Completed, Some(Fate::Completed), expired, State::Completed),
            (Abandoned, Some(Fate::Failed), expired, State::Failed),
            (Abandoned, Some(Fate::Withdrawn), cancelled(ResolutionReason::Withdrawn), State::Canceled),
            (Draft, None, None, State::Submitted),
            (Active, None, answered, State::Working),
            (Blocked, None, answered, State::Working),
            (SuspendedAwaitingInput, None, None, State::InputRequired),
            (Completed, None, answered, State::Completed),
            (Abandoned, None, cancelled(ResolutionReason::Withdrawn), State::Canceled),
            (Abandoned, None, cancelled(ResolutionReason::Undeliverable), State::Failed),
        ] {
            assert_eq!(state(&matter(status, fate, ending)), wanted, "{status:?} {fate:?} {ending:?}");
        }
    }

    /// A fallback must never look like the answer of a person.
    #[test]
    fn an_artifact_says_who_decided() {
        let completed = |ending| artifact(&matter(IntentStatus::Completed, Some(Fate::Completed), Some(ending)));
        let data = |artifact: Option<Artifact>| artifact.unwrap().parts[0].data.clone().unwrap();
        let human = data(completed((Resolution::Responded, None)));
        assert_eq!(
            (&human["value"], &human["source"], &human["respondedBy"]),
            (&json!("no"), &json!("human"), &json!("ada@example.com"))
        );
        let fallback = data(completed((Resolution::Expired, None)));
        assert_eq!((&fallback["source"], &fallback["respondedBy"]), (&json!("fallback"), &Value::Null));
        assert_eq!(completed((Resolution::Cancelled, Some(ResolutionReason::Withdrawn))), None);
        assert_eq!(
            artifact(&matter(IntentStatus::Active, None, Some((Resolution::Responded, None)))),
            None,
            "other work goes on"
        );
    }

    /// The id of a question is a capability.
    #[test]
    fn the_asker_sees_no_id_of_the_question_and_no_way_to_answer() {
        let open = matter(IntentStatus::SuspendedAwaitingInput, Some(Fate::Open), None);
        let id = open.record.as_ref().unwrap().id.expose();
        let extended = Shown { active: Active { question: true, ..Active::default() }, ..BARE };
        let shown = json!(task(&open, extended)).to_string();
        assert!(!shown.contains(&id) && shown.contains("nothing for you to do") && shown.contains("ops@example.com"), "{shown}");
        let may_answer = Matter { may_answer: true, ..open };
        let shown = json!(task(&may_answer, extended)).to_string();
        assert!(shown.contains(&id) && shown.contains("yes (Yes), no (No)"), "{shown}");
        let bare = json!(task(&may_answer, BARE));
        assert_eq!((bare["status"]["message"]["parts"].as_array().unwrap().len(), &bare["metadata"]), (1, &Value::Null));
    }

    /// An asker that does not read the warnings would believe that the question was asked as it meant it.
    #[test]
    fn every_asker_reads_the_warnings() {
        let open = matter(IntentStatus::SuspendedAwaitingInput, Some(Fate::Open), None);
        let warned = Matter { warnings: vec!["one".into()], ..open };
        assert_eq!(json!(task(&warned, BARE))["metadata"], json!({QUESTION: {"warnings": ["one"]}}));
        let extended = Shown { active: Active { question: true, ..Active::default() }, ..BARE };
        let wanted = json!({QUESTION: {"kind": "awaiting_input", "warnings": ["one"]}});
        assert_eq!(json!(task(&warned, extended))["metadata"], wanted);
    }

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(timestamp(at(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap()), "2023-11-14T22:13:20.123Z");
    }
}
