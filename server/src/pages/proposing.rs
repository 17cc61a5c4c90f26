//! The proposed action in the form of a question: the person edits the fields that the agent lets people edit, sees the changes, and
//! then decides.
//!
//! Guarantee: an answer approves the action whose changes the person was shown. Mechanism: the form carries the digest of the action that
//! the page showed; if the typed texts make another one, the page is shown again with the changes. Failure: a browser whose script shows
//! the changes as they are typed says so in the form, and is believed: the form is the person's own.
//!
//! Guarantee: no edit is left out in silence. Mechanism: the form has the digest of the action that the page showed, and the text that stood
//! in each field; a field that differs from the action while one of these is missing or does not fit is an error at the field. Failure: a
//! program that posts forms without them is refused, and can approve the action as it is.

use actix_web::http::StatusCode;
use domain::base::field::FieldError as Broken;
use domain::base::sealed::Hash;
use domain::base::text::{truncated, visible_line};
use domain::base::words::Language;
use domain::form::{Field, Kind, Problem, Typed};
use domain::suspension::evidence::action_digest;
use domain::suspension::proposal::{CHANGES_MAX, Named, PROPOSAL, Proposal, changes, is_same};
use serde_json::{Map, Value};
use store::LinkView;

use super::context::FIELD_PREFIX;
use super::fields;
use super::form::Form;
use super::proposed::{BASE_PREFIX, Unfounded};
use super::scripts::PROPOSAL as SCRIPT;
use super::view::{ApprovedShown, ChangeRow, FieldError, FieldProblem, FormError, ProposalShown, titled};

/// The digest in a form whose script has shown the changes.
const LIVE: &str = "live";
/// The longest name of a field in an error, in characters.
const LABEL_CHARS_MAX: usize = 80;

/// The action about which the answer in a form decides.
pub(super) fn named(form: &Form, link: &LinkView, language: Language) -> Result<Named, FormError> {
    let Some(proposal) = &link.question.proposal else { return Ok(Named::default()) };
    let current = proposal.current(&link.suspension.counted);
    let based_on = action_digest(current);
    let refuses = form.value.as_deref().is_some_and(|value| proposal.is_refused_by(&Value::from(value)));
    if refuses && !form.proposed.looks {
        return Ok(Named { action: None, based_on });
    }
    if !form.proposed.based_on.is_empty() && Hash::parse(&form.proposed.based_on) != based_on {
        return Err(changed(proposal, link));
    }
    let (shape, texts) = (proposal.shape(), proposal.typed(current, language));
    let unfounded = form.proposed.unfounded(&shape, &form.fields, &texts);
    if !unfounded.is_empty() {
        return Err(FormError::NeedsChange(refused(proposal, unfounded, language)));
    }
    let typed = form.proposed.merged(&shape, &form.fields, &texts);
    let needs_change = |problems| FormError::NeedsChange(broken_fields(proposal, problems, language));
    let edited = proposal.read(current, &typed, language).map_err(needs_change)?;
    proposal.check_edit(&edited).map_err(|errors| broken(proposal, errors, language))?;
    let shown = &form.proposed.shown;
    let is_seen = shown == LIVE || is_same(&edited, current) || Some(&digest(&edited)) == Some(shown);
    if form.proposed.looks || !is_seen {
        return Err(FormError::LookFirst);
    }
    Ok(Named { action: Some(edited), based_on })
}

/// The refusal of a form that began from an action that another person has edited since.
pub(super) fn changed(proposal: &Proposal, link: &LinkView) -> FormError {
    let counted = &link.suspension.counted;
    let by = proposal.edited_by(counted).map(|counted| counted.person.clone());
    FormError::ProposalChanged { by, count: changes(&proposal.action, proposal.current(counted)).len() }
}

/// The status of the page that comes back.
pub(super) fn status(error: &FormError) -> StatusCode {
    if matches!(error, FormError::ProposalChanged { .. }) {
        StatusCode::PRECONDITION_FAILED
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    }
}

fn digest(action: &Map<String, Value>) -> String {
    action_digest(action).map(|digest| digest.to_string()).unwrap_or_default()
}

/// The errors of the page for edits that are refused before they are read.
fn refused(proposal: &Proposal, unfounded: Vec<(String, Unfounded)>, language: Language) -> Vec<FieldError> {
    let shape = proposal.shape();
    let error = |(name, why): (String, Unfounded)| {
        let field = shape.fields().find(|field| field.pointer == name);
        let label = field.map_or_else(|| visible_line(&name), |field| fields::named(field.title.as_deref(), &field.name));
        let sentence = match why {
            Unfounded::NoBase => language.edit_has_no_base(),
            Unfounded::Elsewhere => language.may_not_be_edited(),
        };
        FieldError { label: truncated(&label, LABEL_CHARS_MAX), name, problem: FieldProblem::Rule(sentence.to_owned()) }
    };
    unfounded.into_iter().take(CHANGES_MAX).map(error).collect()
}

fn broken_fields(proposal: &Proposal, problems: Vec<Problem>, language: Language) -> Vec<FieldError> {
    proposal.editable.as_ref().map(|schema| fields::errors(schema, problems, language)).unwrap_or_default()
}

/// The errors of the page for the places of an action that the domain refuses.
pub(super) fn broken(proposal: &Proposal, errors: Vec<Broken>, language: Language) -> FormError {
    let problem = |error: Broken| {
        let pointer = error.field.strip_prefix(PROPOSAL).unwrap_or_default().to_owned();
        // The rules beyond the form's own have words of the interface, which is English.
        let message = match language {
            Language::English => error.message,
            Language::German if error.rule == "length" => language.must_be_shorter().to_owned(),
            Language::German => language.is_not_accepted().to_owned(),
        };
        Problem { pointer, rule: error.rule, message }
    };
    let problems: Vec<Problem> = errors.into_iter().take(CHANGES_MAX).map(problem).collect();
    let mut errors = broken_fields(proposal, problems, language);
    if errors.is_empty() {
        let (name, label) = (String::new(), language.proposed_action().to_owned());
        errors.push(FieldError { name, label, problem: FieldProblem::TooLong });
    }
    FormError::NeedsChange(errors)
}

/// The proposed action as the page shows it: with what was typed, or as it stands if nothing was sent yet.
pub(super) fn shown(link: &LinkView, form: &Form, is_typed: bool, language: Language) -> Option<ProposalShown> {
    let proposal = link.question.proposal.as_ref()?;
    let counted = &link.suspension.counted;
    let current = proposal.current(counted);
    let (shape, base) = (proposal.shape(), proposal.typed(current, language));
    let typed = if is_typed { form.proposed.merged(&shape, &form.fields, &base) } else { base.clone() };
    let edited = proposal.read(current, &typed, language).ok();
    let original = proposal.typed(&proposal.action, language);
    // The changes of another person stand apart from those that this one types, so that each text is under the name of its author.
    let rows = shape.fields().map(|field| row(field, &base, &typed, language)).collect();
    let edits = shape.fields().map(|field| row(field, &original, &base, language)).filter(|row| row.is_changed).collect();
    let edited_by = proposal.edited_by(counted).map(|counted| (counted.person.clone(), counted.at));
    let is_own_edit = edited_by.as_ref().is_some_and(|(editor, _)| editor.eq_ignore_ascii_case(&link.recipient));
    let is_editor = |person: &str| edited_by.as_ref().is_some_and(|(editor, _)| editor == person);
    let approving = counted.iter().filter(|counted| counted.may_answer && !proposal.is_refused_by(&counted.value));
    let approved_by = approving.map(|counted| counted.person.as_str());
    let approved_by = approved_by.filter(|person| !is_editor(person) && !person.eq_ignore_ascii_case(&link.recipient));
    let approved_by = approved_by.map(str::to_owned).collect();
    Some(ProposalShown {
        action: Value::Object(proposal.action.clone()),
        editable: proposal.editable.clone(),
        refuses: !proposal.refusing.is_empty(),
        rows,
        edited_by,
        is_own_edit,
        edits,
        approved_by,
        based_on: digest(current),
        shown: edited.as_ref().map(digest).unwrap_or_default(),
        base: base.into_iter().map(|(name, text)| (format!("{BASE_PREFIX}{name}"), text)).collect(),
        typed,
        script_path: SCRIPT.path(),
    })
}

/// The action as it was approved, and what its approver changed.
pub(super) fn approved(link: &LinkView, language: Language) -> Option<ApprovedShown> {
    Some(approved_as(link.question.proposal.as_ref()?, link.approved.as_ref()?, language))
}

/// A proposed action as it was approved, and what its approver changed.
pub(super) fn approved_as(proposal: &Proposal, action: &Map<String, Value>, language: Language) -> ApprovedShown {
    let (original, typed) = (proposal.typed(&proposal.action, language), proposal.typed(action, language));
    let mut changes: Vec<ChangeRow> = proposal.shape().fields().map(|field| row(field, &original, &typed, language)).collect();
    changes.retain(|row| row.is_changed);
    let members = titled(action, &proposal.shape()).into_iter().map(|(name, value)| (name, value.clone())).collect();
    ApprovedShown { members, changes }
}

/// The text of a field before and after the edit.
fn row(field: &Field, original: &Typed, typed: &Typed, language: Language) -> ChangeRow {
    let (was, now) = (said(field, original, language), said(field, typed, language));
    ChangeRow {
        name: format!("{FIELD_PREFIX}{}", field.pointer),
        label: fields::named(field.title.as_deref(), &field.name),
        is_changed: was != now,
        was,
        now,
        is_boolean: field.kind == Kind::Boolean,
        is_many: matches!(field.kind, Kind::Many { .. }),
    }
}

/// The text of a field, as it stands among the changes.
fn said(field: &Field, typed: &Typed, language: Language) -> String {
    match &field.kind {
        Kind::Boolean if typed.get(&field.pointer).is_some_and(|text| !text.is_empty()) => language.yes().to_owned(),
        Kind::Boolean => language.no().to_owned(),
        Kind::Many { options, .. } => {
            let is_ticked = |index: &usize| typed.get(&field.tick_name(*index)).is_some_and(|text| !text.is_empty());
            let ticked = (0..options.len()).filter(is_ticked).filter_map(|index| options.get(index));
            ticked.map(|option| option.value.as_str()).collect::<Vec<_>>().join(", ")
        }
        Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::One(_) => {
            let text = typed.get(&field.pointer).map_or("", String::as_str);
            text.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned()
        }
    }
}
