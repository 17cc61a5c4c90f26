//! The words about the fields of a form. Most say what an answer must be like: they complete a sentence that begins with the field's label.

/// The label of the reasons that are offered for a no.
pub(super) const REASON_FOR_A_NO: &str = "Grund der Ablehnung";

/// The rest of the sentence about a reason for a no beside another answer.
pub(super) const GOES_WITH_A_NO: &str =
    "gehört nur zu einer Ablehnung. Um eine andere Antwort zu senden, wählen Sie dort „Keiner“.";

/// The schema of a form, where it is shown as the agent wrote it.
pub(super) const FORM_AS_A_SCHEMA: &str = "Formular, als JSON-Schema";

/// The heading of the action that a question proposes.
pub(super) const PROPOSED_ACTION: &str = "Die vorgeschlagene Aktion";
/// The heading of the reader's own changes of that action.
pub(super) const CHANGES_OF_THE_ACTION: &str = "Was Sie ändern";
/// The heading of the changes that a person has made and approved.
pub(super) const ACTION_WAS_CHANGED: &str = "Was geändert wurde";
/// An answer that approves an edited action, before the person has seen the changes.
pub(super) const LOOK_AT_THE_CHANGES: &str = "Sehen Sie Ihre Änderungen an und antworten Sie dann";
/// The proposed action was edited by another person while the page was open.
pub(super) const PROPOSAL_HAS_CHANGED: &str = "Die vorgeschlagene Aktion wurde geändert, während diese Seite offen war";

/// Heads a form with fields that may be taken for each other.
pub(super) const FIELDS_MAY_BE_MISTAKEN: &str = "Die Felder dieses Formulars sind leicht zu verwechseln";
/// The names or titles of two fields cannot be told apart.
pub(super) const TWO_FIELDS_LOOK_ALIKE: &str = "Zwei Felder dieses Formulars sehen gleich aus.";

/// An edit in a form that does not tell on which action it is based.
pub(super) const EDIT_HAS_NO_BASE: &str = "wurde geändert, und das Formular sagt nicht, von welchem Text aus: „based_on“ oder „base.“ fehlt oder passt nicht. Vergleichen Sie den Text und antworten Sie noch einmal";
/// An edit of a part of the action that people may not edit.
pub(super) const MAY_NOT_BE_EDITED: &str = "darf nicht geändert werden";

/// Heads an open question whose reader's draft could not be saved.
pub(super) const DRAFT_IS_NOT_SAVED: &str = "Ihr Entwurf ist nicht gespeichert";

/// Heads an open question whose reader wanted to take over a draft that is gone.
pub(super) const DRAFT_IS_GONE: &str = "Den Entwurf gibt es nicht mehr";

/// Heads a refusal of a form in which a field came twice.
pub(super) const FIELD_CAME_TWICE: &str = "Das Formular kam beschädigt an";

/// No answer, where one is needed.
pub(super) const IS_MISSING: &str = "ist noch leer";

/// A value that breaks a rule which the page cannot tell.
pub(super) const IS_NOT_ACCEPTED: &str = "wird so nicht angenommen";

/// Text where a number is needed.
pub(super) const NUMBER_NEEDED: &str = "muss eine Zahl sein, mit Komma vor den Nachkommastellen";

/// A number that is written in another way than numbers are here.
pub(super) fn number_is_written(number: &str) -> String {
    format!("muss als {number} geschrieben werden, ohne Punkte")
}

/// A whole number that is written in another way than numbers are here.
pub(super) fn whole_number_is_written(number: &str) -> String {
    number_is_written(number)
}

/// A text that can be one of two numbers.
pub(super) fn number_is_ambiguous(large: &str, small: &str) -> String {
    format!("lässt sich als zwei Zahlen lesen: Schreiben Sie {large} oder {small}")
}

/// Text or a fraction where a whole number is needed.
pub(super) const WHOLE_NUMBER_NEEDED: &str = "muss eine ganze Zahl sein";

/// Another kind of value where a number is needed.
pub(super) const A_NUMBER_NEEDED: &str = "muss eine Zahl sein";

/// Another kind of value where a text is needed.
pub(super) const A_TEXT_NEEDED: &str = "muss ein Text sein";

/// Another kind of value where a yes or a no is needed.
pub(super) const A_BOOLEAN_NEEDED: &str = "muss true oder false sein";

/// Another kind of value where several options can be chosen.
pub(super) const A_LIST_NEEDED: &str = "muss eine Liste sein";

/// Another kind of value where a group of fields is needed.
pub(super) const AN_OBJECT_NEEDED: &str = "muss ein Objekt sein";

/// Another kind of value than the field has.
pub(super) const ANOTHER_KIND: &str = "muss ein Wert einer anderen Art sein";

/// None of the options.
pub(super) const OPTION_NEEDED: &str = "muss eine der Optionen sein";

/// The same option twice.
pub(super) const ONCE_EACH: &str = "darf jede Option höchstens einmal enthalten";

/// A member that the form does not have.
pub(super) const NO_SUCH_FIELD: &str = "enthält einen Eintrag, den dieses Formular nicht hat";

/// A text in another form than the pattern of the field asks for.
pub(super) fn must_match(pattern: &str) -> String {
    format!("muss nach dem Muster {pattern} aufgebaut sein")
}

/// A format, in words; the second one is an example.
pub(super) fn must_be_like(what: &str, example: &str) -> String {
    format!("muss {what} sein, zum Beispiel {example}")
}

/// An e-mail address, and an example.
pub(super) const AN_EMAIL: (&str, &str) = ("eine E-Mail-Adresse", "ada@example.com");
/// An address of a page, and an example.
pub(super) const A_URI: (&str, &str) = ("eine vollständige Adresse", "https://example.com/page");
/// A date, and an example.
pub(super) const A_DATE: (&str, &str) = ("ein Datum", "2026-11-24");
/// A date with a time, and an example.
pub(super) const A_DATE_TIME: (&str, &str) = ("ein Datum mit Uhrzeit und Zeitzone", "2026-11-24T09:30:00Z");

/// Less than the least.
pub(super) fn at_least(limit: &str) -> String {
    format!("muss mindestens {limit} sein")
}

/// More than the most.
pub(super) fn at_most(limit: &str) -> String {
    format!("darf höchstens {limit} sein")
}

/// Not more than a bound that does not count itself.
pub(super) fn more_than(limit: &str) -> String {
    format!("muss größer als {limit} sein")
}

/// Not less than a bound that does not count itself.
pub(super) fn less_than(limit: &str) -> String {
    format!("muss kleiner als {limit} sein")
}

/// No multiple.
pub(super) fn multiple_of(step: &str) -> String {
    format!("muss ein Vielfaches von {step} sein")
}

/// Too few characters.
pub(super) fn at_least_characters(least: u64) -> String {
    format!("muss mindestens {least} Zeichen haben")
}

/// Too many characters.
pub(super) fn at_most_characters(most: u64) -> String {
    format!("darf höchstens {most} Zeichen haben")
}

/// Too few options.
pub(super) fn at_least_options(least: u64) -> String {
    format!("muss mindestens {least} der Optionen haben")
}

/// Too many options.
pub(super) fn at_most_options(most: u64) -> String {
    format!("darf höchstens {most} der Optionen haben")
}

/// The rules of a field, below its label.
pub(super) fn hint(rules: &[String]) -> String {
    let hint = rules.iter().map(|rule| without_its_verbs(rule)).collect::<Vec<_>>().join(", ");
    let mut letters = hint.chars();
    let Some(first) = letters.next() else { return String::new() };
    format!("{}{}.", first.to_uppercase(), letters.as_str())
}

/// A rule that stands alone: “muss eine ganze Zahl sein” becomes “eine ganze Zahl”. A German verb has its second part at the end
/// of the sentence, or before the example.
fn without_its_verbs(rule: &str) -> String {
    let Some(rest) = rule.strip_prefix("muss ").or_else(|| rule.strip_prefix("darf ")) else { return rule.to_owned() };
    if let Some((what, example)) = rest.split_once(" sein, zum Beispiel ") {
        return format!("{what}, zum Beispiel {example}");
    }
    rest.strip_suffix(" sein").or_else(|| rest.strip_suffix(" haben")).unwrap_or(rest).to_owned()
}

/// The reason for which a long draft is refused.
pub(super) fn draft_is_too_long(kibibytes: usize) -> String {
    format!("Ein Entwurf hat höchstens {kibibytes} KiB Text")
}

/// The reason for which a draft with many fields is refused.
pub(super) fn draft_has_too_many_fields(most: usize) -> String {
    format!("Ein Entwurf hat höchstens {most} Felder")
}

/// The reason for which one more draft is refused.
pub(super) fn too_many_drafts(most: usize) -> String {
    format!("{most} Personen haben einen Entwurf einer Antwort auf diese Frage gespeichert, mehr werden nicht aufbewahrt")
}
