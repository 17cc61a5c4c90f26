//! The rules about a question that depend on no setting.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::asking::choice::{Misleading, judge, judge_fields, judge_options};
use crate::asking::raising::demanded;
use crate::asking::{assigning, several};
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::text::is_blank;
use crate::base::words::Language;
use crate::form::Schema;
use crate::intent::answer::check_answer;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{CommentOnRefusal, RequiredAssurance};
use crate::suspension::grounds::{Explanation, Grounds, Reversibility, check_key};
use crate::suspension::proposal::{PROPOSAL, Proposal};
use crate::suspension::quorum::Quorum;
use crate::suspension::{
    CHOICE_DESCRIPTION_MAX, CHOICE_LABEL_MAX, CHOICE_VALUE_MAX, CHOICES_MAX, CONTEXT_BYTES_MAX, QUESTION_BYTES_MAX, ResponseType,
    Style, SuspensionChoice,
};
use crate::wire::{ChoiceRequest, QuestionRequest, QuorumRequest, SuspendRequest};

/// The most bytes of JSON in a fallback value, and in the metadata of a choice or an answer.
pub const VALUE_BYTES_MAX: usize = 16 * 1024;

/// The errors and warnings found so far.
pub(super) struct Check {
    pub(super) errors: Vec<FieldError>,
    pub(super) warnings: Vec<String>,
}

impl Check {
    /// Reads the people to whom a question with these choices is assigned, and how many of them must agree.
    pub(super) fn people(
        &mut self,
        assignees: Option<Assignees>,
        quorum: Option<QuorumRequest>,
        response_type: ResponseType,
        choices: &[SuspensionChoice],
    ) -> (Option<Assignees>, Option<Quorum>) {
        // A quorum counts people, and only listed people can be told apart.
        let assignees = assignees.or_else(|| quorum.as_ref().map(|_| Assignees::all()));
        let assignees = assignees.map(assigning::assignees).transpose();
        let quorum = quorum.map(|quorum| assigning::quorum(quorum, response_type, choices)).transpose();
        let assignees = assignees.map_err(|errors| self.errors.extend(errors)).unwrap_or_default();
        (assignees, quorum.map_err(|errors| self.errors.extend(errors)).unwrap_or_default())
    }

    /// Reads the schema of a form, or the questions that become one.
    pub(super) fn schema(
        &mut self,
        schema: Option<Map<String, Value>>,
        questions: Option<&[QuestionRequest]>,
        response_type: ResponseType,
    ) -> Option<Box<Schema>> {
        if let Some(questions) = questions {
            if schema.is_some() {
                self.error("schema", UNSUPPORTED, "must be left out: the questions become the schema");
            }
            if response_type != ResponseType::Form {
                self.error(
                    "questions",
                    UNSUPPORTED,
                    "must be left out: only a question with the response_type form asks several",
                );
                return None;
            }
            let made = several::schema(questions).map_err(|errors| self.errors.extend(errors)).ok()?;
            self.warn_of_misleading_fields("schema", &made);
            return Some(Box::new(made));
        }
        let schema = schema?;
        if response_type != ResponseType::Form {
            self.error("schema", UNSUPPORTED, "must be left out: only a question with the response_type form has a schema");
            return None;
        }
        let accepted = Schema::accept(schema);
        let accepted = accepted.map_err(|flaws| self.errors.extend(flaws.into_iter().map(|flaw| flaw.into_error("schema"))));
        let accepted = accepted.ok()?;
        self.warn_of_misleading_fields("schema", &accepted);
        Some(Box::new(accepted))
    }

    /// Reads the action that a question with these choices proposes, and the fields of it that people may edit.
    pub(super) fn proposal(
        &mut self,
        action: Option<Map<String, Value>>,
        editable: Option<Map<String, Value>>,
        response_type: ResponseType,
        choices: &[SuspensionChoice],
    ) -> Option<Box<Proposal>> {
        let Some(action) = action else {
            if editable.is_some() {
                self.error("editable", UNSUPPORTED, "must be left out: there is no proposal that people could edit");
            }
            return None;
        };
        if !matches!(response_type, ResponseType::Choice | ResponseType::Confirm) {
            self.error(PROPOSAL, UNSUPPORTED, "must be left out: only a question with choices proposes an action");
            return None;
        }
        let editable = editable.map(Schema::accept).transpose();
        let editable = editable.map_err(|flaws| self.errors.extend(flaws.into_iter().map(|flaw| flaw.into_error("editable"))));
        let proposal = Proposal { action, editable: editable.ok()?.map(Box::new), refusing: assigning::refusing(choices) };
        proposal.check().map_err(|errors| self.errors.extend(errors)).ok()?;
        if let Some(editable) = &proposal.editable {
            self.warn_of_misleading_fields("editable", editable);
        }
        Some(Box::new(proposal))
    }

    /// Reads the grounds on which people decide.
    pub(super) fn grounds(
        &mut self,
        question_key: Option<String>,
        explanation: Option<Explanation>,
        reversibility: Option<Reversibility>,
    ) -> Option<Box<Grounds>> {
        self.errors.extend(question_key.as_deref().map(check_key).and_then(Result::err));
        self.errors.extend(explanation.as_ref().map(Explanation::check).and_then(Result::err).into_iter().flatten());
        Grounds { question_key, explanation, reversibility, earlier: Vec::new() }.boxed()
    }

    /// Reads whether a person who refuses must say why.
    pub(super) fn comment(
        &mut self,
        is_needed: Option<bool>,
        response_type: ResponseType,
        choices: &[SuspensionChoice],
    ) -> Option<CommentOnRefusal> {
        if is_needed != Some(true) {
            return None;
        }
        let refusing = assigning::refusing(choices);
        if !matches!(response_type, ResponseType::Choice | ResponseType::Confirm) || refusing.is_empty() {
            self.error("comment_on_refusal", "unsupported", "must be absent: no choice of the question means a no");
        }
        Some(CommentOnRefusal { refusing })
    }

    /// Tells the asker that the server demands more than the request does.
    pub(super) fn warn_of_floor(&mut self, asked: Option<RequiredAssurance>, holds: Option<RequiredAssurance>) {
        if let Some(floor) = holds.filter(|_| asked != holds) {
            self.warnings.push(demanded(floor));
        }
    }

    /// Checks the value that replaces an answer.
    pub(super) fn fallback_value(
        &mut self,
        value: Option<&Value>,
        response_type: ResponseType,
        choices: &[SuspensionChoice],
        schema: Option<&Schema>,
    ) {
        let Some(value) = value else { return };
        self.size("fallback_value", value, VALUE_BYTES_MAX);
        if check_answer(response_type, choices, schema, value).is_err() {
            self.error("fallback_value", "answer", "must be a valid answer to the question");
        }
    }

    /// Warns of choices that could mislead people.
    pub(super) fn warn_of_misleading(&mut self, choices: &[SuspensionChoice]) {
        let misleading = judge(choices).misleading;
        self.warnings
            .extend(misleading.iter().map(|found| format!("choices: {} People are warned.", found.sentence(Language::English))));
    }

    /// Warns of a form's fields, and of options of them, that could mislead people; `member` of the request has the schema.
    fn warn_of_misleading_fields(&mut self, member: &str, schema: &Schema) {
        let Ok(shape) = schema.shape() else { return };
        let told = |pointer: &str, found: Misleading| {
            format!("{member}{pointer}: {} People are warned.", found.sentence(Language::English))
        };
        for (pointer, misleading) in judge_fields(&shape) {
            self.warnings.extend(misleading.into_iter().map(|found| told(pointer, found)));
        }
        for field in shape.fields() {
            let misleading = judge_options(field).misleading;
            self.warnings.extend(misleading.into_iter().map(|found| told(&field.pointer, found)));
        }
    }

    pub(super) fn error(&mut self, field: &str, rule: &str, message: impl Into<String>) {
        self.errors.push(FieldError::new(field, rule, message));
    }

    pub(super) fn question(&mut self, request: &SuspendRequest) {
        if is_blank(&request.question) {
            self.error("question", "required", "must not be blank");
        } else if request.question.len() > QUESTION_BYTES_MAX {
            self.error("question", "length", format!("must be at most {QUESTION_BYTES_MAX} bytes"));
        }
        self.no_nul("question", &request.question);
        for (field, value) in [("context", &request.context), ("decision_record", &request.decision_record)] {
            if let Some(value) = value {
                self.size(field, value, CONTEXT_BYTES_MAX);
            }
        }
        if request.confidence.is_some_and(|confidence| !(0.0..=1.0).contains(&confidence)) {
            self.error("confidence", "range", "must be a number from 0 to 1");
        }
    }

    pub(super) fn size(&mut self, field: &str, value: &impl serde::Serialize, bytes_max: usize) {
        if serde_json::to_vec(value).map_or(0, |bytes| bytes.len()) > bytes_max {
            self.error(field, "length", format!("must be at most {bytes_max} bytes of JSON"));
        }
    }

    /// Some readers take NUL for the end of a text, so the person and the log could see different questions.
    fn no_nul(&mut self, field: &str, text: &str) {
        if text.contains('\0') {
            self.error(field, "nul", "must not contain a NUL character");
        }
    }

    pub(super) fn choices(&mut self, response_type: ResponseType, requested: Vec<ChoiceRequest>) -> Vec<SuspensionChoice> {
        if requested.len() > CHOICES_MAX {
            self.error("choices", "length", format!("must have at most {CHOICES_MAX} entries"));
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        for (index, choice) in requested.iter().enumerate() {
            self.choice(index, choice);
            if !seen.insert(choice.value.clone()) {
                self.error(&format!("choices[{index}].value"), "unique", "must be unique: an earlier choice has the same value");
            }
        }
        let choices: Vec<SuspensionChoice> = requested.into_iter().map(ChoiceRequest::into_choice).collect();
        match response_type {
            ResponseType::Choice if choices.is_empty() => self.error("choices", "required", "a choice needs at least one entry"),
            ResponseType::Confirm if choices.is_empty() => return SuspensionChoice::yes_no(),
            ResponseType::Confirm if seen.iter().map(String::as_str).ne(["no", "yes"]) => {
                self.error("choices", "confirm", "the values of a confirm must be exactly yes and no");
            }
            ResponseType::Choice | ResponseType::Confirm | ResponseType::Text | ResponseType::Form => {}
        }
        choices
    }

    fn choice(&mut self, index: usize, choice: &ChoiceRequest) {
        let description = choice.description.as_deref().unwrap_or_default();
        for (name, text, min, max) in [
            ("value", choice.value.as_str(), 1, CHOICE_VALUE_MAX),
            ("label", choice.label.as_str(), 1, CHOICE_LABEL_MAX),
            ("description", description, 0, CHOICE_DESCRIPTION_MAX),
        ] {
            let field = format!("choices[{index}].{name}");
            let length = text.chars().count();
            if length < min || length > max {
                self.error(&field, "length", format!("must be {min} to {max} characters"));
            }
            self.no_nul(&field, text);
        }
        for (name, text) in [("value", &choice.value), ("label", &choice.label)] {
            if !text.is_empty() && is_blank(text) {
                self.error(&format!("choices[{index}].{name}"), "required", "must not be blank");
            }
        }
        if let Some(metadata) = &choice.metadata {
            self.size(&format!("choices[{index}].metadata"), metadata, VALUE_BYTES_MAX);
        }
        // A browser may send a line break in a value back as other characters, and the answer would then match no choice.
        if choice.value.chars().any(char::is_control) {
            self.error(&format!("choices[{index}].value"), "control", "must not contain control characters");
        }
    }
}

impl ChoiceRequest {
    fn into_choice(self) -> SuspensionChoice {
        let style = match self.style.as_deref() {
            Some("primary") => Style::Primary,
            Some("danger") => Style::Danger,
            // A question is not refused for an unknown style.
            _ => Style::Default,
        };
        SuspensionChoice { value: self.value, label: self.label, description: self.description, style, metadata: self.metadata }
    }
}
