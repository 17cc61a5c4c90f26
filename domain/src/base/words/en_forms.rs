//! The words about the fields of a form. Most say what an answer must be like: they complete a sentence that begins with the field's label.

/// The label of the reasons that are offered for a no.
pub const REASON_FOR_A_NO: &str = "Reason for a refusal";

/// The rest of the sentence about a reason for a no beside another answer.
pub const GOES_WITH_A_NO: &str = "goes with a no alone. To send another answer, choose “None” there.";

/// The schema of a form, where it is shown as the agent wrote it.
pub const FORM_AS_A_SCHEMA: &str = "Form, as a JSON Schema";

/// The heading of the action that a question proposes.
pub const PROPOSED_ACTION: &str = "The proposed action";
/// The heading of the reader's own changes of that action.
pub const CHANGES_OF_THE_ACTION: &str = "What you change";
/// The heading of the changes that a person has made and approved.
pub const ACTION_WAS_CHANGED: &str = "What was changed";
/// An answer that approves an edited action, before the person has seen the changes.
pub const LOOK_AT_THE_CHANGES: &str = "Look at your changes, then answer";
/// The proposed action was edited by another person while the page was open.
pub const PROPOSAL_HAS_CHANGED: &str = "The proposed action was edited while this page was open";

/// Heads a form with fields that may be taken for each other.
pub const FIELDS_MAY_BE_MISTAKEN: &str = "The fields of this form may be mistaken";
/// The names or titles of two fields cannot be told apart.
pub const TWO_FIELDS_LOOK_ALIKE: &str = "Two fields of this form look alike.";

/// An edit in a form that does not tell on which action it is based.
pub const EDIT_HAS_NO_BASE: &str = "was edited, and the form does not say from which text: “based_on” or “base.” is missing or does not fit. Compare the text and answer again";
/// An edit of a part of the action that people may not edit.
pub const MAY_NOT_BE_EDITED: &str = "may not be edited";

/// Heads an open question whose reader's draft could not be saved.
pub const DRAFT_IS_NOT_SAVED: &str = "Your draft is not saved";

/// Heads an open question whose reader wanted to take over a draft that is gone.
pub const DRAFT_IS_GONE: &str = "The draft is not there any more";

/// Heads a refusal of a form in which a field came twice.
pub const FIELD_CAME_TWICE: &str = "The form arrived damaged";

/// No answer, where one is needed.
pub const IS_MISSING: &str = "is still empty";

/// A value that breaks a rule which the page cannot tell.
pub const IS_NOT_ACCEPTED: &str = "is not accepted";

/// Text where a number is needed.
pub const NUMBER_NEEDED: &str = "must be a number, with a point for decimals";

/// A number that is written in another way than numbers are here.
pub fn number_is_written(number: &str) -> String {
    format!("must be written as {number}, with a point for decimals and without commas")
}

/// A whole number that is written in another way than numbers are here.
pub fn whole_number_is_written(number: &str) -> String {
    format!("must be written as {number}, without commas")
}

/// A text that can be one of two numbers.
pub fn number_is_ambiguous(large: &str, small: &str) -> String {
    format!("can be read as two numbers: write {large} or {small}")
}

/// Text or a fraction where a whole number is needed.
pub const WHOLE_NUMBER_NEEDED: &str = "must be a whole number";

/// Another kind of value where a number is needed.
pub const A_NUMBER_NEEDED: &str = "must be a number";

/// Another kind of value where a text is needed.
pub const A_TEXT_NEEDED: &str = "must be a text";

/// Another kind of value where a yes or a no is needed.
pub const A_BOOLEAN_NEEDED: &str = "must be true or false";

/// Another kind of value where several options can be chosen.
pub const A_LIST_NEEDED: &str = "must be a list";

/// Another kind of value where a group of fields is needed.
pub const AN_OBJECT_NEEDED: &str = "must be an object";

/// Another kind of value than the field has.
pub const ANOTHER_KIND: &str = "must be a value of another kind";

/// None of the options.
pub const OPTION_NEEDED: &str = "must be one of the options";

/// The same option twice.
pub const ONCE_EACH: &str = "must have each option once at most";

/// A member that the form does not have.
pub const NO_SUCH_FIELD: &str = "has a member that this form does not have";

/// A text in another form than the pattern of the field asks for.
pub fn must_match(pattern: &str) -> String {
    format!("must match the pattern {pattern}")
}

/// A format, in words; the second one is an example.
pub fn must_be_like(what: &str, example: &str) -> String {
    format!("must be {what}, for example {example}")
}

/// An e-mail address, and an example.
pub const AN_EMAIL: (&str, &str) = ("an e-mail address", "ada@example.com");
/// An address of a page, and an example.
pub const A_URI: (&str, &str) = ("an address with its scheme", "https://example.com/page");
/// A date, and an example.
pub const A_DATE: (&str, &str) = ("a date", "2026-11-24");
/// A date with a time, and an example.
pub const A_DATE_TIME: (&str, &str) = ("a date and a time with its zone", "2026-11-24T09:30:00Z");

/// Less than the least.
pub fn at_least(limit: &str) -> String {
    format!("must be at least {limit}")
}

/// More than the most.
pub fn at_most(limit: &str) -> String {
    format!("must be at most {limit}")
}

/// Not more than a bound that does not count itself.
pub fn more_than(limit: &str) -> String {
    format!("must be more than {limit}")
}

/// Not less than a bound that does not count itself.
pub fn less_than(limit: &str) -> String {
    format!("must be less than {limit}")
}

/// No multiple.
pub fn multiple_of(step: &str) -> String {
    format!("must be a multiple of {step}")
}

/// Too few characters.
pub fn at_least_characters(least: u64) -> String {
    format!("must have at least {least} {}", if least == 1 { "character" } else { "characters" })
}

/// Too many characters.
pub fn at_most_characters(most: u64) -> String {
    format!("must have at most {most} {}", if most == 1 { "character" } else { "characters" })
}

/// Too few options.
pub fn at_least_options(least: u64) -> String {
    format!("must have at least {least} of the options")
}

/// Too many options.
pub fn at_most_options(most: u64) -> String {
    format!("must have at most {most} of the options")
}

/// The rules of a field, below its label.
pub fn hint(rules: &[String]) -> String {
    let (Some(first), rest) = (rules.first(), rules.get(1..).unwrap_or_default()) else { return String::new() };
    let mut hint = String::new();
    let mut letters = first.chars();
    hint.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
    hint.push_str(letters.as_str());
    for rule in rest {
        hint.push_str(", ");
        hint.push_str(rule.strip_prefix("must be ").unwrap_or(rule));
    }
    hint.push('.');
    hint
}

/// The reason for which a long draft is refused.
pub fn draft_is_too_long(kibibytes: usize) -> String {
    format!("a draft has at most {kibibytes} KiB of text")
}

/// The reason for which a draft with many fields is refused.
pub fn draft_has_too_many_fields(most: usize) -> String {
    format!("a draft has at most {most} fields")
}

/// The reason for which one more draft is refused.
pub fn too_many_drafts(most: usize) -> String {
    format!("{most} people have saved a draft of an answer to this question, and no more are kept")
}
