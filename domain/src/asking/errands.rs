//! Questions of callers that have no intent of their own, and answers in the words of another protocol.
//!
//! Every protocol besides OpenIntent uses these functions, so all of them take a said answer in the same way.

use serde_json::{Map, Value, json};

use crate::asking::policy::AskingPolicy;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::SuspensionId;
use crate::base::text::{is_blank, truncated};
use crate::intent::body::IntentBody;
use crate::intent::command::{Respond, Suspend};
use crate::intent::event::ClientEvent;
use crate::people::principal::Principal;
use crate::suspension::errand::{Errand, FOREIGN_ID_MAX, Via, is_foreign_id};
use crate::suspension::{ResponseType, Suspension};
use crate::wire::{RespondRequest, SuspendRequest};

use super::accepting;

/// The type of the events by which words are said to the agents of an intent.
pub const COMMENT: &str = "comment";
/// The type of the events that record refused answers.
pub const RESPONSE_REJECTED: &str = "intent.response_rejected";
/// The codes of words that are no answer to the question.
const MISHEARD: [&str; 2] = ["invalid_choice", "invalid"];
/// The longest title made from a question, in characters.
const TITLE_CHARS_MAX: usize = 200;

type Errors = Vec<FieldError>;

/// The question of a caller without an intent of its own.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn errand(
    policy: &AskingPolicy,
    body: SuspendRequest,
    id: SuspensionId,
    by: &Principal,
    errand: Errand,
) -> Result<Suspend, Errors> {
    let ids = [("messageId", &errand.message_id), ("contextId", &errand.context_id)];
    let wrong = ids.into_iter().filter(|(_, id)| !is_foreign_id(id));
    let mut errors: Errors = wrong
        .map(|(field, _)| {
            let message = format!("must be 1 to {FOREIGN_ID_MAX} characters, none of them a control character");
            FieldError::new(field, "length", message)
        })
        .collect();
    if body.supersedes.is_some() {
        errors.push(FieldError::new("supersedes", UNSUPPORTED, "must be absent: the question begins a task of its own"));
    }
    match policy.accept(body, id, by, None) {
        Ok(mut suspend) if errors.is_empty() => {
            suspend.question.errand = Some(Box::new(errand));
            Ok(suspend)
        }
        Ok(_) => Err(errors),
        Err(others) => Err(errors.into_iter().chain(others).collect()),
    }
}

/// The contents of the intent that exists for this question.
pub fn body(suspend: &Suspend, by: &Principal) -> IntentBody {
    IntentBody {
        title: truncated(&suspend.question.question, TITLE_CHARS_MAX),
        description: String::new(),
        created_by: by.name.clone(),
        parent_intent_id: None,
        depends_on: Vec::new(),
        constraints: Value::Object(Map::new()),
        state: Map::new(),
        governance_policy: None,
        confidence: 0.0,
    }
}

/// An answer as a caller of another protocol said it: to a task, and not to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// The question that it names; the open one if it names none.
    pub suspension_id: Option<String>,
    /// The conversation in which it was said, if the caller names one.
    pub context_id: Option<String>,
    /// The answer itself.
    pub words: Words,
    /// The `metadata` object that came with the answer.
    pub metadata: Option<Map<String, Value>>,
    /// The person whose answer it is, if the caller names one; a gateway has to.
    pub responded_by: Option<String>,
    /// The action as that person approves it, if it was edited.
    pub proposal: Option<Map<String, Value>>,
    /// The digest of the action from which that person decided.
    pub based_on: Option<String>,
    /// The door through which it came.
    pub via: Via,
}

impl Said {
    /// These words, through this door, and nothing else.
    pub fn words(words: Words, via: Via) -> Self {
        Self {
            suspension_id: None,
            context_id: None,
            words,
            metadata: None,
            responded_by: None,
            proposal: None,
            based_on: None,
            via,
        }
    }
}

/// The answer itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// A value, as a program gives it.
    Value(Value),
    /// A text, as a person types it.
    Text(String),
}

impl Words {
    /// The answer that these words give to a question; `None` if they are none. A text is the value of a choice, or its label in whatever
    /// case if no other choice has it. Nothing is guessed from words that resemble a choice.
    pub fn meant(&self, asked: &Suspension) -> Option<Value> {
        let text = match self {
            Self::Value(value) => return Some(value.clone()),
            Self::Text(text) => text,
        };
        match asked.response_type {
            ResponseType::Text => (!is_blank(text)).then(|| Value::from(text.as_str())),
            ResponseType::Form => None,
            ResponseType::Choice | ResponseType::Confirm => {
                let said = text.trim();
                let by_value = asked.choices.iter().find(|choice| choice.value == said);
                let lower = said.to_lowercase();
                let mut by_label = asked.choices.iter().filter(|choice| choice.label.to_lowercase() == lower);
                let only = by_label.next().filter(|_| by_label.next().is_none());
                by_value.or(only).map(|choice| Value::from(choice.value.as_str()))
            }
        }
    }

    /// The words as they were said, for the record of a refusal.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }
}

/// Words that are no answer to the question to which they were said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misheard<'a> {
    /// The words.
    pub words: &'a str,
    /// The code of the refusal.
    pub code: &'a str,
}

/// Words to the agent that works on an intent, as an event of its log. OpenIntent calls it a comment, so clients of OpenIntent read it too.
pub fn comment(text: &str, message_id: &str, via: Via) -> ClientEvent {
    let payload = [("text", Value::from(text)), ("message_id", Value::from(message_id)), ("via", json!(via))];
    ClientEvent {
        event_type: COMMENT.to_owned(),
        payload: payload.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        claimed_actor: None,
        trace_id: None,
        parent_event_id: None,
    }
}

/// The words of an event that came as a message and are no answer to the question; `None` for every other event.
///
/// Answers that were refused for another reason have none: those of the asker, and late ones, would read like a decision among the messages of a
/// conversation.
pub fn misheard<'a>(event_type: &str, payload: &'a Map<String, Value>) -> Option<Misheard<'a>> {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let code = text("code").filter(|code| MISHEARD.contains(code))?;
    // An older event names no door; only messages of A2A were recorded in this way.
    let is_a_message = payload.get("via").is_none_or(|via| *via == json!(Via::A2a));
    let words = text("value").filter(|words| !is_blank(words))?;
    (event_type == RESPONSE_REJECTED && is_a_message).then_some(Misheard { words, code })
}

/// The answer that was said, before it is checked against its question. Words that are no answer to the question have no value.
///
/// # Errors
///
/// The first field that breaks a rule which does not depend on the question.
pub fn said(said: &Said, open: Option<&Suspension>) -> Result<Respond, Errors> {
    let named = said.suspension_id.clone().or_else(|| open.map(|open| open.id.expose())).unwrap_or_default();
    let is_open = |open: &&Suspension| SuspensionId::parse(&named) == Some(open.id);
    let value = match open.filter(is_open) {
        Some(open) => said.words.meant(open),
        None => Some(said.words.to_value()),
    };
    let body = RespondRequest {
        suspension_id: named,
        value,
        responded_by: said.responded_by.clone(),
        metadata: said.metadata.clone(),
        proposal: said.proposal.clone(),
        based_on: said.based_on.clone(),
    };
    Ok(Respond { via: Some(said.via), ..accepting::answer(body)? })
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use uuid::Uuid;

    use super::*;
    use crate::base::ids::IntentId;
    use crate::base::name::Owner;
    use crate::suspension::hands::Hands;
    use crate::suspension::{Asker, FallbackPolicy, Kind, SuspensionChoice};

    fn asked(response_type: ResponseType, choices: &[(&str, &str)]) -> Suspension {
        Suspension {
            id: SuspensionId(Uuid::from_u128(7)),
            intent_id: IntentId(Uuid::from_u128(8)),
            kind: Kind::AwaitingInput,
            version: 1,
            attempt: 1,
            response_type,
            choices: choices.iter().map(|(value, label)| SuspensionChoice::plain(value, label)).collect(),
            suspended_at: DateTime::UNIX_EPOCH,
            expires_at: None,
            fallback_policy: FallbackPolicy::Fail,
            fallback_value: None,
            reached: false,
            requires_delivery: true,
            fixed_deadline: false,
            refusals: 0,
            reminded_at: None,
            asked_by: Asker { name: "bot".into(), owner: Owner("bot".into()) },
            quorum: None,
            schema: None,
            counted: Vec::new(),
            hands: Hands::default(),
            ending: None,
            portfolio_deadline: None,
        }
    }

    fn text(words: &str) -> Words {
        Words::Text(words.to_owned())
    }

    /// An approval that no person gave is worse than one that has to be said again.
    #[test]
    fn words_that_only_resemble_a_choice_are_no_answer() {
        let confirm = asked(ResponseType::Confirm, &[("yes", "Yes"), ("no", "No")]);
        for (words, value) in [("yes", "yes"), (" yes\n", "yes"), ("YES", "yes"), ("No", "no")] {
            assert_eq!(text(words).meant(&confirm), Some(json!(value)), "{words:?}");
        }
        for words in ["yes please", "y", "ok", "", "yes.", "1", "yes no"] {
            assert_eq!(text(words).meant(&confirm), None, "{words:?}");
        }
    }

    #[test]
    fn a_label_that_two_choices_have_names_none_of_them() {
        let twice = asked(ResponseType::Choice, &[("a", "Go"), ("b", "go"), ("go", "Stop")]);
        assert_eq!(text("GO").meant(&twice), None);
        // A value is exact, and comes before every label.
        assert_eq!(text("go").meant(&twice), Some(json!("go")));
        assert_eq!(text("stop").meant(&twice), Some(json!("go")));
    }

    #[test]
    fn a_text_is_taken_as_it_is_and_a_form_needs_data() {
        assert_eq!(text(" as it is ").meant(&asked(ResponseType::Text, &[])), Some(json!(" as it is ")));
        for blank in ["", " ", "\u{2003}\n"] {
            assert_eq!(text(blank).meant(&asked(ResponseType::Text, &[])), None, "{blank:?} answers nothing");
        }
        let form = asked(ResponseType::Form, &[]);
        assert_eq!(text("{}").meant(&form), None);
        assert_eq!(Words::Value(json!({"a": 1})).meant(&form), Some(json!({"a": 1})));
    }

    #[test]
    fn an_answer_that_names_no_question_is_one_to_the_open_question() {
        let open = asked(ResponseType::Confirm, &[("yes", "Yes"), ("no", "No")]);
        let words = Said::words(text("Yes"), Via::A2a);
        let respond = said(&words, Some(&open)).unwrap();
        assert_eq!((respond.suspension_id, respond.value), (open.id.expose(), Some(json!("yes"))));
        // To another question than the open one nothing is translated; the store finds out why the answer is refused.
        let other = SuspensionId(Uuid::from_u128(9)).expose();
        let words = Said { suspension_id: Some(other.clone()), ..words };
        let respond = said(&words, Some(&open)).unwrap();
        assert_eq!((respond.suspension_id, respond.value, respond.via), (other, Some(json!("Yes")), Some(Via::A2a)));
    }
}
