//! Drafts of answers, as they are saved.

use crate::base::field::FieldError;
use crate::suspension::draft::{DRAFT_BYTES_MAX, DRAFT_FIELDS_MAX, DRAFTS_MAX, DraftValues};
use crate::wire::SaveDraftRequest;

/// The texts of a draft that a person saves.
///
/// # Errors
///
/// A draft that is too large.
pub fn draft(request: SaveDraftRequest) -> Result<DraftValues, Vec<FieldError>> {
    let values = request.values;
    if values.fields.len() > DRAFT_FIELDS_MAX {
        let message = format!("a draft has at most {DRAFT_FIELDS_MAX} fields");
        return Err(vec![FieldError::new("values.fields", "count", message)]);
    }
    if values.bytes() > DRAFT_BYTES_MAX {
        let message = format!("a draft has at most {DRAFT_BYTES_MAX} bytes of text");
        return Err(vec![FieldError::new("values", "length", message)]);
    }
    Ok(values)
}

/// The error of a draft beside which there are as many drafts of other people as the server keeps.
pub fn too_many() -> FieldError {
    let message = format!("{DRAFTS_MAX} people have saved a draft of an answer to this question, and no more are kept");
    FieldError::new("values", "count", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: DraftValues) -> Result<DraftValues, (String, String)> {
        draft(SaveDraftRequest { values }).map_err(|errors| (errors[0].field.clone(), errors[0].rule.clone()))
    }

    fn refused(field: &str, rule: &str) -> Result<DraftValues, (String, String)> {
        Err((field.to_owned(), rule.to_owned()))
    }

    // Each author has one row in the database, and its size is bounded here alone.
    #[test]
    fn a_draft_is_bounded_in_bytes_and_fields() {
        let text = |len: usize| DraftValues { value: Some("x".repeat(len)), ..DraftValues::default() };
        assert!(of(text(DRAFT_BYTES_MAX)).is_ok());
        assert_eq!(of(text(DRAFT_BYTES_MAX + 1)), refused("values", "length"));
        let named = DraftValues { fields: [("y".repeat(DRAFT_BYTES_MAX), "z".to_owned())].into(), ..DraftValues::default() };
        assert_eq!(of(named), refused("values", "length"), "names count as well");
        let fields = |count: usize| (0..count).map(|number| (format!("f{number}"), String::new())).collect();
        assert!(of(DraftValues { fields: fields(DRAFT_FIELDS_MAX), ..DraftValues::default() }).is_ok());
        let many = DraftValues { fields: fields(DRAFT_FIELDS_MAX + 1), ..DraftValues::default() };
        assert_eq!(of(many), refused("values.fields", "count"));
    }

    #[test]
    fn spaces_alone_are_no_draft() {
        let blank = DraftValues { value: Some(" \n".to_owned()), comment: Some(String::new()), ..DraftValues::default() };
        assert!(blank.is_empty() && DraftValues::default().is_empty());
        assert!(!DraftValues { reason: Some("No budget".to_owned()), ..DraftValues::default() }.is_empty());
    }
}
