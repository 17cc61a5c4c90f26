//! The form of a question, as a browser sends it.

use std::collections::BTreeMap;

use actix_web::HttpRequest;
use domain::base::ids::SuspensionId;
use domain::base::text::{is_visible, quoted, visible};
use domain::base::words::Language;
use domain::suspension::demand::{COMMENT, COMMENT_BYTES_MAX};
use domain::suspension::evidence::Evidence;
use domain::suspension::{ResponseType, TEXT_ANSWER_BYTES_MAX};
use serde_json::Value;
use store::{LinkView, Typist};

use super::Pages;
use super::context::FIELD_PREFIX;
use super::drafts::{DraftButton, SAVE, TAKE};
use super::fields;
use super::hands::{HandButton, TypedHands};
use super::posted::Posted;
use super::proposed::ProposedFields;
use super::reasons::{self, REASON, comment, cut};
use super::signature::SignedFields;
use super::view::{Again, FieldError, FieldProblem, Fields, FormError, Typed, line};
use crate::edge::body::Body;
use crate::edge::shared::Shared;

/// The most fields and boxes of a form that a page shows again if it does not know the question.
const TYPED_MAX: usize = 500;

/// The field that names one of the questions on a page with several of them, and so may come more than once.
pub(super) const QUESTION: &str = "question";
/// The longest name of a field that came twice, in characters.
const LABEL_CHARS_MAX: usize = 80;

/// The form that a browser sent.
#[derive(Default)]
pub(super) struct Form {
    /// The names of the fields that came twice. The form has two answers, so it is none.
    pub(super) repeated: Vec<String>,
    pub(super) nonce: String,
    pub(super) value: Option<String>,
    pub(super) comment: String,
    /// The reason for a no that was chosen; empty if none was.
    pub(super) reason: String,
    /// Whether the person takes an answer back that counts.
    pub(super) takes_back: bool,
    /// The button about the hands in which the question is, if that was pressed.
    pub(super) hand: Option<HandButton>,
    /// The button about drafts, if one was pressed.
    pub(super) draft: Option<DraftButton>,
    /// The address of the person who is to answer in the reader's place.
    pub(super) to: String,
    /// The people and groups to whom the question is to be assigned.
    pub(super) who: String,
    pub(super) fields: BTreeMap<String, String>,
    /// The person for whom the page was made; empty on the page of a link.
    pub(super) person: String,
    pub(super) signature: SignedFields,
    /// The part about the proposed action.
    pub(super) proposed: ProposedFields,
}

/// A form that arrived, with its share of the memory for bodies. The share is given back when the response has been made.
pub(super) struct Sent {
    pub(super) form: Form,
    _body: Body,
}

impl Sent {
    pub(super) fn read(body: Body) -> Self {
        Self { form: Form::read(&body.bytes), _body: body }
    }
}

/// Everything that the page of this question shows, as a hash; absent if one answer decides.
pub(super) fn seen(link: &LinkView) -> Option<String> {
    link.suspension.quorum.as_ref()?;
    Evidence::of(&link.suspension, &link.question).map(|evidence| evidence.presented_hash.to_string())
}

impl Form {
    /// The same form once more, on a page that does not know the question. `None` if another site sent the form, because the
    /// person may never have seen its text, or if the form holds no text.
    pub(super) fn again(&self, request: &HttpRequest, pages: &Pages) -> Option<Again> {
        let fields = self.fields.iter().take(TYPED_MAX).map(|(name, text)| (format!("{FIELD_PREFIX}{name}"), text.clone()));
        let value = self.value.iter().map(|value| ("value".to_owned(), value.clone()));
        let comment = (!self.comment.is_empty()).then(|| ("comment".to_owned(), self.comment.clone()));
        let reason = (!self.reason.is_empty()).then(|| (REASON.to_owned(), self.reason.clone()));
        let typed: Vec<Typed> =
            value.chain(fields).chain(reason).chain(comment).map(|(name, text)| Typed { name, text }).collect();
        let ours = pages.is_from_our_page(request.headers()) && !typed.is_empty();
        let hidden = self.draft.iter().map(DraftButton::hidden).chain(self.proposed.hidden().into_iter().take(TYPED_MAX));
        let hidden = hidden.map(|(name, text)| Typed { name, text }).collect();
        ours.then(|| Again { form_action: request.path().to_owned(), nonce: self.nonce.clone(), typed, hidden })
    }

    /// The part of the nonce that proves which browser was shown the page.
    pub(super) fn mac(&self) -> &str {
        self.nonce.split_once('.').map_or(&self.nonce, |(mac, _)| mac)
    }

    /// Whether the page showed the question as it is now. A person who sees the answers of others may follow them, and the log says who saw
    /// what.
    pub(super) fn saw(&self, link: &LinkView) -> bool {
        let shown = self.nonce.split_once('.').map(|(_, seen)| seen);
        seen(link).is_none_or(|seen| shown == Some(&seen))
    }

    pub(super) fn read(body: &[u8]) -> Self {
        let Posted { fields, repeated } = Posted::read(body, &[QUESTION]);
        let mut form = Self { repeated, ..Self::default() };
        for (name, value) in fields {
            // Browsers send line breaks as CR LF.
            let value = value.replace("\r\n", "\n");
            match name.as_ref() {
                "nonce" => form.nonce = value,
                "value" => form.value = Some(value),
                "take_back" => form.takes_back = value == "yes",
                SAVE => form.draft = Some(DraftButton::Save),
                TAKE => form.draft = Some(DraftButton::Take(cut(value.trim(), COMMENT_BYTES_MAX))),
                "hand" => form.hand = HandButton::read(&value),
                "to" => form.to = cut(value.trim(), COMMENT_BYTES_MAX),
                "who" => form.who = cut(value.trim(), COMMENT_BYTES_MAX),
                "person" => form.person = value,
                "comment" => form.comment = value.trim().to_owned(),
                REASON => form.reason = cut(value.trim(), COMMENT_BYTES_MAX),
                name if form.proposed.field(name, &value) => {}
                name => {
                    if let Some(field) = name.strip_prefix(FIELD_PREFIX) {
                        form.fields.insert(field.to_owned(), value);
                    } else {
                        form.signature.field(name, &value);
                    }
                }
            }
        }
        form
    }

    /// Why the form is refused if a field came twice: nothing says which of the two texts the person means.
    pub(super) fn sent_twice(&self, link: &LinkView, language: Language) -> Option<FormError> {
        let mut titles: Vec<String> = Vec::new();
        for title in self.repeated.iter().filter_map(|posted| title(posted, link, language)) {
            // Each box of a field with several options came under a name of its own.
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        (!self.repeated.is_empty()).then_some(FormError::CameTwice(titles))
    }

    /// The answer in the form, by the kind of answer that the question expects.
    pub(super) fn answer(&self, link: &LinkView, language: Language) -> Result<Value, FormError> {
        let value = self.value_for(link, language)?;
        reasons::check(&self.reason, link, &value, language)?;
        let demand = link.question.comment_on_refusal.as_ref().filter(|demand| demand.is_for(&value));
        let comment = comment(&self.reason, &self.comment, link, &value);
        let problem = if comment.len() > COMMENT_BYTES_MAX {
            FieldProblem::Rule(language.comment_must_be_shorter().to_owned())
        } else if demand.is_some() && comment.is_empty() {
            FieldProblem::Empty
        } else {
            return Ok(value);
        };
        let (name, label) = (COMMENT.to_owned(), language.comment().to_owned());
        Err(FormError::NeedsChange(vec![FieldError { name, label, problem }]))
    }

    fn value_for(&self, link: &LinkView, language: Language) -> Result<Value, FormError> {
        match link.suspension.response_type {
            ResponseType::Choice | ResponseType::Confirm => self.value.clone().map(Value::from).ok_or(FormError::NotAChoice),
            ResponseType::Text => {
                let text = self.value.as_deref().unwrap_or_default();
                if text.trim().is_empty() {
                    Err(FormError::text(FieldProblem::Empty, language))
                } else if text.len() > TEXT_ANSWER_BYTES_MAX {
                    Err(FormError::text(FieldProblem::TooLong, language))
                } else {
                    Ok(Value::from(text))
                }
            }
            ResponseType::Form => {
                if let Some(schema) = &link.suspension.schema {
                    let errors = |problems| FormError::NeedsChange(fields::errors(schema, problems, language));
                    return schema.read(&self.fields, language).map_err(errors);
                }
                let fields = Fields::from_context(&Value::Object(link.question.context.clone()), language);
                fields.answer(&self.fields, language).map_err(FormError::NeedsChange)
            }
        }
    }

    /// Puts code points and the lengths of gaps in the place of what a control would not show; whether there was any.
    pub(super) fn mark_what_is_hidden(&mut self) -> bool {
        let typed = self.value.iter_mut().chain([&mut self.comment]).chain(self.fields.values_mut());
        let mut is_marked = false;
        for text in typed.filter(|text| !is_visible(text)) {
            *text = visible(text);
            is_marked = true;
        }
        is_marked
    }

    /// The texts that were typed about other people.
    pub(super) fn typed_hands(&self) -> TypedHands<'_> {
        TypedHands { to: &self.to, who: &self.who }
    }

    /// The person for whom the page was made.
    pub(super) fn person(&self) -> &str {
        &self.person
    }

    /// Whether the form takes an answer back.
    pub(super) fn takes_back(&self) -> bool {
        self.takes_back
    }

    /// Whether the page was made for this person, or for no one in particular.
    pub(super) fn is_of(&self, person: &str) -> bool {
        self.person.is_empty() || self.person == person
    }

    /// The label of the choice in the form.
    pub(super) fn chosen(&self, link: &LinkView) -> Option<String> {
        let value = Value::from(self.value.as_deref()?);
        link.suspension.choice(&value).map(|choice| line(&choice.label))
    }

    /// Keeps what was typed for a listed person, until the person has logged in.
    pub(super) async fn keep(&self, id: SuspensionId, person: &str, from: Typist, shared: &Shared) -> bool {
        let mut typed = url::form_urlencoded::Serializer::new(String::new());
        typed.extend_pairs(self.value.iter().map(|value| ("value", value)));
        typed.append_pair("comment", &self.comment);
        typed.append_pair(REASON, &self.reason);
        typed.extend_pairs(self.fields.iter().take(TYPED_MAX).map(|(name, text)| (format!("{FIELD_PREFIX}{name}"), text)));
        typed.extend_pairs(self.proposed.hidden().into_iter().take(TYPED_MAX));
        let kept = shared.store.keep_unsent(id, person.to_owned(), from, typed.finish().into_bytes()).await;
        kept.unwrap_or_else(|error| {
            tracing::debug!(error = %error, "failed to keep a form");
            false
        })
    }
}

/// The title that the page gives a field with this name; `None` if the page shows no field under it.
fn title(posted: &str, link: &LinkView, language: Language) -> Option<String> {
    let title = match posted {
        "value" => language.your_answer().to_owned(),
        COMMENT => language.comment().to_owned(),
        REASON => language.reason_for_a_no().to_owned(),
        posted => titled(posted.strip_prefix(FIELD_PREFIX)?, link, language)?,
    };
    Some(quoted(&title, LABEL_CHARS_MAX))
}

/// The title of a field of the agent.
fn titled(name: &str, link: &LinkView, language: Language) -> Option<String> {
    let editable = || link.question.proposal.as_ref()?.editable.as_deref();
    if let Some(schema) = link.suspension.schema.as_deref().or_else(editable) {
        let shape = schema.shape().ok()?;
        return shape.fields().find(|field| field.owns(name)).map(|field| fields::named(field.title.as_deref(), &field.name));
    }
    if link.suspension.response_type != ResponseType::Form {
        return None;
    }
    let fields = Fields::from_context(&Value::Object(link.question.context.clone()), language).fields;
    fields.into_iter().find(|field| field.name == name).map(|field| field.label)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts that the holder of a stolen link typed must not stand out of sight in the form of the person who then logs in.
    #[test]
    fn what_another_person_typed_has_nothing_out_of_sight() {
        let mut form = Form::read(b"value=approve&comment=a%E2%80%AEb&field./n=x%0D%0A%0D%0A%0D%0A%0D%0Ay");
        assert!(form.mark_what_is_hidden());
        assert_eq!((form.value.as_deref(), form.comment.as_str()), (Some("approve"), "a⟨U+202E⟩b"));
        assert_eq!(form.fields["/n"], "x\n⟨3 × ↵⟩\ny");
        assert!(!form.mark_what_is_hidden(), "what is marked is seen");
    }

    #[test]
    fn the_questions_of_a_page_are_no_field_that_comes_twice() {
        assert!(Form::read(b"question=1&question=2&value=yes").repeated.is_empty());
        assert_eq!(Form::read(b"question=1&value=yes&value=yes").repeated, ["value"]);
    }
}
