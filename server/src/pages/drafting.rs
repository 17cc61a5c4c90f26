//! The texts of a form as a draft of an answer, and a draft as the texts of a form.

use actix_web::http::StatusCode;
use domain::asking::drafting;
use domain::base::field::FieldError;
use domain::base::text::visible_line;
use domain::base::words::Language;
use domain::form::{Shape, Typed};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::ResponseType;
use domain::suspension::draft::{DRAFT_BYTES_MAX, DRAFT_FIELDS_MAX, DRAFTS_MAX, Draft, DraftValues};
use domain::wire::SaveDraftRequest;
use store::{LinkView, StoreError, Typist};

use super::form::Form;
use super::proposed::ProposedFields;
use super::view::FormError;
use crate::edge::shared::Shared;

/// Saves what was typed; else the error of the page that comes back, or nothing if the question has ended.
pub(super) async fn save(
    shared: &Shared,
    (principal, from): (Principal, Typist),
    link: &LinkView,
    form: &Form,
    language: Language,
) -> Result<Vec<Draft>, Option<(FormError, StatusCode)>> {
    let values = typed(form, link);
    let has_own = link.drafts.iter().any(|draft| draft.by.eq_ignore_ascii_case(&link.recipient));
    if values.is_empty() && !has_own {
        return Err(Some((FormError::NoDraft, StatusCode::UNPROCESSABLE_ENTITY)));
    }
    let wanted = drafting::draft(SaveDraftRequest { values }).map_err(|errors| Rejection::Invalid { errors });
    let id = link.suspension.id;
    let error = match shared.store.save_draft(principal, id, wanted).await {
        Ok(drafts) => return Ok(drafts),
        Err(error) => error,
    };
    Err(Some(match error {
        StoreError::Rejected(Rejection::Invalid { errors }) => {
            let first = errors.first().map(|error| refused(error, language)).unwrap_or_default();
            (FormError::DraftRefused(first), StatusCode::UNPROCESSABLE_ENTITY)
        }
        StoreError::Rejected(Rejection::AssuranceTooLow { .. }) => {
            let is_kept = form.keep(id, &link.recipient, from, shared).await;
            (FormError::NoLogin { is_kept, is_old: false }, StatusCode::FORBIDDEN)
        }
        StoreError::Rejected(Rejection::SelfResponse) => (FormError::OwnQuestion { chooses: false }, StatusCode::FORBIDDEN),
        StoreError::Rejected(Rejection::NotAssigned | Rejection::Forbidden { .. }) => {
            (FormError::NotAssigned, StatusCode::FORBIDDEN)
        }
        StoreError::Rejected(_) => return Err(None),
        // A draft that is saved a second time is the same draft, so the page need not know whether the first one was.
        StoreError::Unavailable(_) | StoreError::Held(_) | StoreError::Damaged(_) | StoreError::Failed(_) => {
            (FormError::DraftNotSaved, StatusCode::SERVICE_UNAVAILABLE)
        }
    }))
}

/// Why a draft is refused, in words.
fn refused(error: &FieldError, language: Language) -> String {
    match (error.field.as_str(), error.rule.as_str()) {
        ("values.fields", "count") => language.draft_has_too_many_fields(DRAFT_FIELDS_MAX),
        ("values", "length") => language.draft_is_too_long(DRAFT_BYTES_MAX / 1024),
        ("values", "count") => language.too_many_drafts(DRAFTS_MAX),
        _ => visible_line(&error.message),
    }
}

/// The texts of the form, as a draft. Of a proposed action it has the fields that the person changed: the others may be changed by another
/// person until the draft is taken over.
pub(super) fn typed(form: &Form, link: &LinkView) -> DraftValues {
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    let is_text = link.suspension.response_type == ResponseType::Text;
    let fields = match &link.question.proposal {
        Some(proposal) => form.proposed.changed(&proposal.shape(), &form.fields),
        None => {
            form.fields.iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.clone(), text.clone())).collect()
        }
    };
    DraftValues {
        value: form.value.as_deref().filter(|_| is_text).and_then(said),
        fields,
        comment: said(&form.comment),
        reason: said(&form.reason),
    }
}

/// The form with the texts of a draft in place of its own. Where the draft has no text, the own one stays.
fn taking(form: &Form, draft: &Draft, link: &LinkView) -> Form {
    let DraftValues { value, fields, comment, reason } = draft.values.clone();
    let fields = match &link.question.proposal {
        Some(proposal) => edited(&proposal.shape(), &form.fields, &fields),
        None if fields.is_empty() => form.fields.clone(),
        None => fields,
    };
    Form {
        value: value.or_else(|| form.value.clone()),
        comment: comment.unwrap_or_else(|| form.comment.clone()),
        reason: reason.unwrap_or_else(|| form.reason.clone()),
        fields,
        proposed: form.proposed.clone(),
        ..Form::default()
    }
}

/// The form with the texts of another person's draft, in which nothing stands out of sight.
pub(super) fn taking_over(form: &Form, draft: &Draft, link: &LinkView) -> Form {
    taking(form, &Draft { by: draft.by.clone(), at: draft.at, values: draft.values.shown() }, link)
}

/// The texts of the fields with those that a draft changed.
fn edited(shape: &Shape, typed: &Typed, draft: &Typed) -> Typed {
    let mut edited = typed.clone();
    for field in shape.fields() {
        let own: Vec<_> = draft.iter().filter(|(name, _)| field.owns(name)).collect();
        if !own.is_empty() {
            edited.retain(|name, _| !field.owns(name));
            // A box that the draft leaves empty is none that is ticked.
            edited.extend(own.into_iter().filter(|(_, text)| !text.is_empty()).map(|(name, text)| (name.clone(), text.clone())));
        }
    }
    edited
}

/// The form with the reader's own draft, and when that was saved.
pub(super) fn own(link: &LinkView, language: Language) -> Option<(Form, &Draft)> {
    let draft = link.drafts.iter().find(|draft| draft.by.eq_ignore_ascii_case(&link.recipient))?;
    let mut form = Form::default();
    if let Some(proposal) = &link.question.proposal {
        let current = proposal.current(&link.suspension.counted);
        form.fields = proposal.typed(current, language);
        form.proposed = ProposedFields::of(current, form.fields.clone());
    }
    Some((taking(&form, draft, link), draft))
}

#[cfg(test)]
mod tests {
    use super::super::drafts::DraftButton;
    use super::*;

    fn texts(texts: &[(&str, &str)]) -> Typed {
        texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    // Two people edit one action. If a draft had all fields, taking it over would undo what the other one changed since.
    #[test]
    fn a_draft_of_an_edit_has_only_what_was_changed() {
        let schema = serde_json::json!({"type": "object", "properties": {
            "amount": {"type": "integer"}, "note": {"type": "string"}, "sure": {"type": "boolean"},
        }});
        let schema = domain::form::Schema::accept(schema.as_object().unwrap().clone()).unwrap();
        let shape = schema.shape().unwrap();
        let base = texts(&[("/amount", "412"), ("/note", "a"), ("/sure", "on")]);
        let mut proposed = ProposedFields::default();
        for (name, text) in &base {
            proposed.field(&format!("base.{name}"), text);
        }
        let draft = proposed.changed(&shape, &texts(&[("/amount", "400"), ("/note", "a")]));
        assert_eq!(draft, texts(&[("/amount", "400"), ("/sure", "")]), "a box that is not ticked any more is a change");
        let since = texts(&[("/amount", "412"), ("/note", "b"), ("/sure", "on")]);
        assert_eq!(edited(&shape, &since, &draft), texts(&[("/amount", "400"), ("/note", "b")]));
    }

    #[test]
    fn a_form_that_is_sent_again_keeps_its_button() {
        for button in [DraftButton::Save, DraftButton::Take("ada@example.com".to_owned())] {
            let (name, value) = button.hidden();
            let body = url::form_urlencoded::Serializer::new(String::new()).append_pair(&name, &value).finish();
            assert_eq!(Form::read(body.as_bytes()).draft, Some(button));
        }
    }
}
