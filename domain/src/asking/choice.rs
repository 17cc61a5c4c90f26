//! Judges whether the label of a choice means what its value sends, and decides the colours of the choices.
//!
//! A button "Deny" that sends `approve` would give the agent a yes from a person who said no. Letters that look alike could
//! hide this from a comparison of the written characters. So both the label and the value are judged by how their words look.
//! Pages, mails, rooms and terminals all use this judgement.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::MixedScript as _;

use crate::base::confusable::skeleton;
use crate::base::text::nfkc;
use crate::base::words::Language;
use crate::form::{Entry, Field, Kind, Opt, Shape};
use crate::suspension::{Style, SuspensionChoice};

/// The ways in which the choices of a question may mislead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Misleading {
    /// A label says the opposite of its value, or looks like the value of another choice.
    Contradiction,
    /// Two labels or two values look the same.
    Alike,
    /// The names or titles of two fields look the same.
    FieldsAlike,
    /// A word mixes alphabets, for example `Dеny` with a Cyrillic `е`.
    MixedAlphabets,
}

impl Misleading {
    /// The sentence that warns of it.
    pub fn sentence(self, language: Language) -> &'static str {
        match self {
            Self::Contradiction => language.says_one_thing_and_sends_another(),
            Self::Alike => language.two_answers_look_alike(),
            Self::FieldsAlike => language.two_fields_look_alike(),
            Self::MixedAlphabets => language.a_word_mixes_alphabets(),
        }
    }
}

/// The judgement on the choices of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The colour of each choice, in the order of the choices.
    pub styles: Vec<Style>,
    /// The warnings to show to people; empty for honest choices.
    pub misleading: BTreeSet<Misleading>,
}

impl Judgement {
    /// The warning for people, in whole sentences; `None` for honest choices. [`Language::words_may_mislead`] is its heading.
    pub fn warning(&self, language: Language) -> Option<String> {
        let sentences = self.misleading.iter().map(|found| found.sentence(language));
        let all: Vec<&str> = sentences.chain([language.go_by_what_it_sends()]).collect();
        (!self.misleading.is_empty()).then(|| all.join(" "))
    }
}

/// Judges the choices of one question. Their order makes no difference.
///
/// A choice gets the colour it asks for if that fits the meaning of its value: `primary` for a yes, `danger` for a no. If any of
/// the choices is doubtful, all of them are neutral.
pub fn judge(choices: &[SuspensionChoice]) -> Judgement {
    let values: Vec<String> = choices.iter().map(|choice| look(&choice.value)).collect();
    let labels: Vec<String> = choices.iter().map(|choice| look(&choice.label)).collect();
    let leanings: Vec<Leaning> = choices.iter().map(|choice| leaning(&choice.value)).collect();
    let mut misleading = BTreeSet::new();
    let mut doubtful = false;
    for (((choice, value), label), sends) in choices.iter().zip(&values).zip(&labels).zip(&leanings) {
        let says = leaning(&choice.label);
        if says.contradicts(*sends) || says_no_to(choice, says, *sends) || (label != value && values.contains(label)) {
            misleading.insert(Misleading::Contradiction);
        }
        if mixes_alphabets(&choice.label) || mixes_alphabets(&choice.value) {
            misleading.insert(Misleading::MixedAlphabets);
        }
        doubtful |= says == Leaning::Doubtful || *sends == Leaning::Doubtful;
    }
    if has_twins(values) || has_twins(labels) {
        misleading.insert(Misleading::Alike);
    }
    let neutral = doubtful || !misleading.is_empty();
    let style = |(choice, sends): (&SuspensionChoice, &Leaning)| match (choice.style, sends) {
        (Style::Primary, Leaning::Yes) if !neutral => Style::Primary,
        (Style::Danger, Leaning::No) if !neutral => Style::Danger,
        (Style::Primary | Style::Danger | Style::Default, _) => Style::Default,
    };
    Judgement { styles: choices.iter().zip(&leanings).map(style).collect(), misleading }
}

/// Judges the options of a field like the choices of a question. A field without options is honest.
pub fn judge_options(field: &Field) -> Judgement {
    let options = match &field.kind {
        Kind::One(options) | Kind::Many { options, .. } => options.as_slice(),
        Kind::Text { .. } | Kind::Number(_) | Kind::Integer(_) | Kind::Boolean => &[],
    };
    let choice = |option: &Opt| SuspensionChoice {
        value: option.value.clone(),
        label: option.title.clone().unwrap_or_else(|| option.value.clone()),
        description: None,
        style: Style::Default,
        metadata: None,
    };
    judge(&options.iter().map(choice).collect::<Vec<_>>())
}

/// Judges the names and titles of the fields of a form like the choices of a question: a person who takes one field for another answers
/// another question. Fields of two groups may have one name, because the page shows them under the headings of their groups. The pointers
/// of the fields and groups that may be mistaken, each with the reasons.
pub fn judge_fields(shape: &Shape) -> Vec<(&str, BTreeSet<Misleading>)> {
    let groups = shape.entries.iter().filter_map(|entry| match entry {
        Entry::Group(group) => Some(group.fields.iter().map(Called::field).collect()),
        Entry::Field(_) => None,
    });
    let levels: Vec<Vec<Called<'_>>> = std::iter::once(shape.entries.iter().map(Called::entry).collect()).chain(groups).collect();
    levels.into_iter().flat_map(mistaken).collect()
}

/// The words by which a person tells a field or a group from others beside it.
struct Called<'a> {
    pointer: &'a str,
    name: &'a str,
    title: Option<&'a str>,
}

impl<'a> Called<'a> {
    fn field(field: &'a Field) -> Self {
        Self { pointer: &field.pointer, name: &field.name, title: field.title.as_deref() }
    }

    fn entry(entry: &'a Entry) -> Self {
        match entry {
            Entry::Field(field) => Self::field(field),
            Entry::Group(group) => Self { pointer: &group.pointer, name: &group.name, title: group.title.as_deref() },
        }
    }

    /// The looks of its name, and of the title or else the name made readable.
    fn looks(&self) -> [String; 2] {
        [look(self.name), look(&self.title.map_or_else(|| self.name.replace('_', " "), str::to_owned))]
    }
}

/// The fields and groups beside each other that may be mistaken.
fn mistaken(level: Vec<Called<'_>>) -> Vec<(&str, BTreeSet<Misleading>)> {
    let looks: Vec<[String; 2]> = level.iter().map(Called::looks).collect();
    let reasons = level.into_iter().zip(&looks).map(|(called, own)| {
        let others = looks.iter().filter(|other| !std::ptr::eq(*other, own));
        let mut reasons = BTreeSet::new();
        if others.flatten().any(|other| own.contains(other)) {
            reasons.insert(Misleading::FieldsAlike);
        }
        if mixes_alphabets(called.name) || called.title.is_some_and(mixes_alphabets) {
            reasons.insert(Misleading::MixedAlphabets);
        }
        (called.pointer, reasons)
    });
    reasons.filter(|(_, reasons)| !reasons.is_empty()).collect()
}

/// Whether a choice means a no, by the words of its value or by those that people read on it.
pub fn refuses(choice: &SuspensionChoice) -> bool {
    leaning(&choice.value) == Leaning::No || leaning(&choice.label) == Leaning::No
}

/// Whether a choice says no to the value it sends in a way that the leanings of its label and its value alone do not show. There
/// are two cases. The value means yes, and the label is a usual button to leave a dialog or contains a verb of refusal, or the
/// description begins with one. Or the value has no word for yes or no, and the label is a no that contains all words of the
/// value: "Do not refund" sends `refund`.
fn says_no_to(choice: &SuspensionChoice, says: Leaning, sends: Leaning) -> bool {
    let label = words_of(&nfkc(&choice.label).to_lowercase());
    match sends {
        Leaning::Yes => {
            let button = plain(choice.label.trim_matches(|c: char| !c.is_alphanumeric()));
            let refuses = label.contains(&Word::Refuse) && !label.contains(&Word::Yes) && !label.contains(&Word::Not);
            let description = choice.description.as_deref().unwrap_or_default();
            let opens = words_of(description).into_iter().find(|word| *word != Word::Small);
            refuses || opens == Some(Word::Refuse) || BACKING_OUT.iter().any(|word| plain(word) == button)
        }
        Leaning::Unknown if says == Leaning::No => {
            let (of_label, of_value) = (tokens(&choice.label), tokens(&camel_apart(&choice.value)));
            !of_value.is_empty() && of_value.iter().all(|word| of_label.contains(word))
        }
        Leaning::Unknown | Leaning::No | Leaning::Doubtful => false,
    }
}

/// The form in which whole texts are compared: texts with the same form look alike. The punctuation around a text and the width
/// of the spaces in it make no difference.
fn look(text: &str) -> String {
    let is_edge = |c: char| c.is_whitespace() || ".,:;!?…*_~|\"'“”‘’«»()[]{}<>".contains(c);
    let bare = text.trim_matches(is_edge);
    let shown = if bare.is_empty() { text.trim() } else { bare };
    skeleton(&shown.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The words of a text in their plain form.
fn tokens(text: &str) -> Vec<String> {
    nfkc(text).split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()).map(plain).collect()
}

fn has_twins(mut looks: Vec<String>) -> bool {
    looks.sort_unstable();
    looks.windows(2).any(|pair| pair[0] == pair[1])
}

/// Whether a text means yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaning {
    Yes,
    No,
    /// The text means both, or its meaning is unclear.
    Doubtful,
    /// The text has no word for yes or no.
    Unknown,
}

impl Leaning {
    fn contradicts(self, other: Self) -> bool {
        matches!((self, other), (Self::Yes, Self::No) | (Self::No, Self::Yes))
    }
}

/// The meaning of one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    /// An active no: a verb like "refuse", and not a state like "refused".
    Refuse,
    /// The word negates the words behind it.
    Not,
    /// The word says nothing by itself.
    Small,
    Other,
}

/// Words that mean yes in every question. In all tables the words stand without accents and apostrophes,
/// as the compared words do.
const YES: &str = "yes yeah yep yup y approve approved approves approving accept accepted allow allowed confirm confirmed agree \
    agreed grant granted permit permitted authorize authorized authorise authorised ok okay okey proceed true lgtm \
    ja genehmigen genehmigt zustimmen zugestimmt freigeben freigegeben erlauben erlaubt akzeptieren bestatigen \
    oui approuver approuve accepter autoriser aprobar aprobado aceptar autorizar aprovar aceitar approvare approvato accettare \
    goedkeuren goedgekeurd toestaan tak zatwierdz godkann да одобрить одобряю одобрено разрешить принять так схвалити";

/// Words that mean no in every question.
const NO: &str = "no nope nah nay n denied rejected refused declined disallowed disapproved disagreed forbidden prohibited vetoed \
    false nein nie abgelehnt verweigert verboten non rejete rechazado denegado negado rifiutato nee não nej nei hayır όχι لا \
    нет отклонено отказ ні";

/// Words that actively refuse, in every question.
const REFUSE: &str = "deny denies denying reject rejects rejecting refuse refuses refusing decline declines declining disallow \
    disapprove disagree forbid prohibit veto withhold ablehnen verweigern verbieten untersagen refuser rejeter interdire rechazar denegar \
    negar recusar rejeitar rifiutare negare weigeren afwijzen odrzuc avvisa neka отклонить отказать запретить отвергнуть відхилити \
    відмовити";

/// Words that negate the words behind them.
const NOT: &str = "not dont doesnt didnt never cannot cant wont wouldnt shouldnt mustnt isnt arent nicht kein keine niet geen \
    ne pas jamais nunca не никогда нельзя";

/// Words that do not change the meaning of a yes or a no beside them.
const SMALL: &str = "i we you it this that the a an to do does did will would should must can could may might is are was am be been \
    please sorry must have has had and so go ahead absolutely definitely certainly surely really simply just my our your hereby \
    ich wir bitte das es je nous me te se yo lo la le el un une der die den dies";

/// Labels of buttons that leave a dialog in other programs. A button with one of these labels that sends `approve` is a trap.
const BACKING_OUT: [&str; 14] = [
    "cancel", "stop", "abort", "back", "go back", "close", "dismiss", "skip", "ignore", "halt", "block", "later", "not now",
    "exit",
];

/// Signs that are read as words.
const YES_SIGNS: &str = "✅✔✓☑👍👌🆗";
const NO_SIGNS: &str = "❌✖✕✗✘☒❎🚫⛔👎🛑🙅🆖🈲";

/// Parts of words, for languages that are written without spaces.
const YES_PARTS: [&str; 8] = ["同意", "批准", "允许", "承認", "許可", "はい", "승인", "허용"];
const NO_PARTS: [&str; 9] = ["不", "拒", "否", "禁止", "いいえ", "ない", "却下", "거부", "거절"];

/// Decides by the look of each word whether the text means yes or no. A value may be written `doNotApprove` or `do_not_approve`.
fn leaning(text: &str) -> Leaning {
    let apart = nfkc(text);
    let seen = skeleton(text);
    // A capital letter may look like a letter of another alphabet although its small letter does not, as with `Н` and `н`. So
    // the text is read in both forms.
    let readings = [apart.to_lowercase(), apart.to_string(), seen, camel_apart(&apart)];
    let mut leanings = readings.iter().map(|reading| lean(&words_of(reading)));
    leanings.find(|leaning| *leaning != Leaning::Unknown).unwrap_or(Leaning::Unknown)
}

fn lean(words: &[Word]) -> Leaning {
    let is_negative = |word: &Word| matches!(word, Word::No | Word::Refuse | Word::Not);
    let says_more = |words: &[Word]| words.contains(&Word::Other);
    let Some(first) = words.iter().position(|word| is_negative(word) || *word == Word::Yes) else { return Leaning::Unknown };
    let Some(negative) = words.iter().position(is_negative) else {
        return if says_more(&words[..first]) && says_more(&words[first..]) { Leaning::Doubtful } else { Leaning::Yes };
    };
    // "Do not reject" may mean yes or no, and so may "Approve, but do not notify" and "Refund with no delay". A text of this
    // kind is doubtful.
    let turned = words
        .iter()
        .position(|word| *word == Word::Not)
        .is_some_and(|not| words[not..].iter().any(|word| matches!(word, Word::No | Word::Refuse)));
    let leads = !says_more(&words[..negative]) && first == negative;
    if !turned && (leads || !says_more(&words[negative..])) { Leaning::No } else { Leaning::Doubtful }
}

/// The words of a text; single letters in a row are one word, as in `D e n y`.
fn words_of(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut spelt = String::new();
    let mut spaced = String::with_capacity(text.len());
    for c in text.chars() {
        match sign(c) {
            Some(word) => spaced.extend([" ", word, " "]),
            None => spaced.push(c),
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || is_combining_mark(c) || is_apostrophe(c);
    for token in spaced.split(|c| !is_part(c)).filter(|token| !token.is_empty()) {
        let word = plain(token);
        if word.chars().count() == 1 {
            spelt.push_str(&word);
            continue;
        }
        found.extend(spelt_out(&std::mem::take(&mut spelt)));
        found.push(meaning(&word));
    }
    found.extend(spelt_out(&spelt));
    found
}

/// The meaning of single letters in a row, read as one word. One letter alone, as the "I" of "I deny", is a word of its own.
fn spelt_out(letters: &str) -> Option<Word> {
    (!letters.is_empty()).then(|| meaning(letters))
}

fn sign(c: char) -> Option<&'static str> {
    if c.is_ascii() {
        return None;
    }
    let yes = YES_SIGNS.contains(c).then_some("yes");
    yes.or_else(|| NO_SIGNS.contains(c).then_some("no"))
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ' | '`' | '´')
}

/// A word as it looks, without accents and apostrophes.
fn plain(word: &str) -> String {
    let seen = skeleton(word);
    if seen.is_ascii() {
        return seen.replace(is_apostrophe, "");
    }
    seen.nfd().filter(|c| !is_combining_mark(*c) && !is_apostrophe(*c)).collect()
}

/// The meaning of each word of the tables, by its plain form; if a word is in two tables, the negative meaning counts.
static VOCABULARY: LazyLock<HashMap<String, Word>> = LazyLock::new(|| {
    let tables = [(SMALL, Word::Small), (YES, Word::Yes), (NOT, Word::Not), (NO, Word::No), (REFUSE, Word::Refuse)];
    let words = |(table, word): (&'static str, Word)| table.split_whitespace().map(move |entry| (plain(entry), word));
    tables.into_iter().flat_map(words).collect()
});

static PARTS: LazyLock<Vec<(String, Word)>> = LazyLock::new(|| {
    let negative = NO_PARTS.iter().map(|part| (plain(part), Word::No));
    negative.chain(YES_PARTS.iter().map(|part| (plain(part), Word::Yes))).collect()
});

fn meaning(word: &str) -> Word {
    let part = || PARTS.iter().find(|(part, _)| word.contains(part)).map(|(_, says)| *says);
    VOCABULARY.get(word).copied().or_else(part).unwrap_or(Word::Other)
}

/// `doNotApprove` as `do Not Approve`.
fn camel_apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_small = false;
    for c in text.chars() {
        if after_small && c.is_uppercase() {
            out.push(' ');
        }
        after_small = c.is_lowercase();
        out.push(c);
    }
    out
}

/// Whether a word mixes letters of several alphabets. Units like `kΩ` are allowed, because they look like no other word. In
/// Japanese and Korean, Latin letters may stand inside words.
fn mixes_alphabets(text: &str) -> bool {
    const UNIT_LETTERS_MAX: usize = 3;
    if text.is_ascii() {
        return false;
    }
    let plain = nfkc(text);
    let is_east_asian = |c: char| matches!(c, '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}');
    plain.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c)).any(|word| {
        let disguised = || skeleton(word).is_ascii();
        !word.is_single_script()
            && !word.contains(is_east_asian)
            && (word.chars().filter(|c| c.is_alphabetic()).count() > UNIT_LETTERS_MAX || disguised())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::form::Schema;

    #[test]
    fn fields_that_look_alike_are_found_beside_each_other() {
        let found = |properties: serde_json::Value| {
            let form = json!({"type": "object", "properties": properties});
            let schema = Schema::accept(form.as_object().unwrap().clone()).unwrap();
            let shape = schema.shape().unwrap();
            judge_fields(&shape).into_iter().map(|(pointer, why)| (pointer.to_owned(), why)).collect::<Vec<_>>()
        };
        let text = |title: &str| json!({"type": "string", "title": title});
        let alike = |fields: &[&str]| {
            let why = BTreeSet::from([Misleading::FieldsAlike]);
            fields.iter().map(|field| ((*field).to_owned(), why.clone())).collect::<Vec<_>>()
        };
        assert_eq!(
            found(json!({"a": text("Pay now?"), "b": text("Pay now")})),
            alike(&["/a", "/b"]),
            "a mark makes no difference"
        );
        assert_eq!(found(json!({"amount": text("Net"), "b": text("Gross"), "c": text("Amount")})), alike(&["/amount", "/c"]));
        let cyrillic = found(json!({"to": text("Payee"), "t\u{43e}": text("Payer")}));
        assert_eq!(cyrillic.len(), 2, "{cyrillic:?}");
        assert!(cyrillic.iter().any(|(_, why)| why.contains(&Misleading::MixedAlphabets)));
        assert!(found(json!({"first": text("Pay?"), "second": text("Ship?"), "other_one": {"type": "string"}})).is_empty());
        let name = json!({"type": "object", "properties": {"name": text("Name")}});
        assert!(found(json!({"from": name, "to": name})).is_empty(), "each stands under the heading of its group");
    }

    fn choice(value: &str, label: &str, style: Style) -> SuspensionChoice {
        SuspensionChoice { value: value.into(), label: label.into(), description: None, style, metadata: None }
    }

    fn judged(value: &str, label: &str) -> Judgement {
        judge(&[choice(value, label, Style::Primary), choice("another", "Something else", Style::Danger)])
    }

    /// Labels that a person reads as a no.
    const SAYS_NO: &[&str] = &[
        "Deny",
        "𝗗𝗲𝗻𝘆",
        "Ｄｅｎｙ",
        "D\u{435}ny",
        "DENY",
        "d e n y",
        "D.E.N.Y",
        "d\u{200B}eny",
        "Dény",
        "I deny",
        "Cannot approve",
        "Nope",
        "Do not approve",
        "Don’t approve",
        "I don't approve this",
        "Not approved",
        "Refuse to approve",
        "Deny approval",
        "No",
        "No, I do not want this",
        "Request denied",
        "Approve? No",
        "I will never approve this",
        "❌ Approve",
        "👎",
        "We decline",
        "Sorry, no",
        "Refund rejected",
        "Nein",
        "Ablehnen",
        "Je refuse",
        "Rechazar",
        "Нет",
        "Отклонить",
        "拒绝",
        "不同意",
        "いいえ",
        "거부",
        "Cancel",
        "Stop",
        "Go back",
        "Declined",
        "DECLINE",
        "ⓓⓔⓝⓨ",
        "Do not refund",
        "dec|ine",
        "Cancel!",
        "✕ Cancel",
        "← Back",
        "Final decision: deny it today",
        "Answer: DENY (final)",
        "Withhold approval",
        "Não",
        "Nej",
        "Hayır",
        "Όχι",
        "لا",
        "☒",
    ];

    #[test]
    fn a_word_means_what_it_looks_like() {
        for label in SAYS_NO {
            let found = judged("approve", label);
            assert!(found.misleading.contains(&Misleading::Contradiction), "{label}");
            assert_eq!(found.styles, [Style::Default; 2], "{label}");
        }
        for value in ["deny", "no", "reject_all", "doNotApprove", "do_not_approve", "NOT_APPROVED", "n", "false", "refund-denied"]
        {
            for label in
                ["Yes, go on", "OK", "Approve", "I approve", "✅", "Go ahead", "Aррrоvе", "ΑPPROVE", "Genehmigen", "同意"]
            {
                let contradicts = judged(value, label).misleading.contains(&Misleading::Contradiction);
                assert_eq!(contradicts, label != "Go ahead", "{label} sends {value}");
            }
        }
    }

    /// A person reads the description between the label and the value. So a description that refuses counts as misleading if
    /// the value says yes.
    #[test]
    fn a_description_that_refuses_what_is_sent_is_warned_of() {
        let described = |value: &str, description: &str| {
            let described =
                SuspensionChoice { description: Some(description.into()), ..choice(value, "Option A", Style::Primary) };
            judge(&[described]).misleading.contains(&Misleading::Contradiction)
        };
        assert!(described("approve", "Deny the refund. Nothing is paid.") && described("yes", "I refuse."));
        assert!(!described("deny", "Deny the refund.") && !described("approve", "No further mail is sent."));
    }

    #[test]
    fn a_no_to_the_words_of_a_value_is_a_contradiction() {
        for (value, label) in [("refund", "Do not refund"), ("deployNow", "Don’t deploy now"), ("delete_all", "Never delete all")]
        {
            assert!(judged(value, label).misleading.contains(&Misleading::Contradiction), "{label} sends {value}");
        }
        assert!(judged("keep", "Do not refund").misleading.is_empty());
    }

    #[test]
    fn honest_words_are_not_warned_of() {
        for (value, label) in [
            ("approve", "Refund €412.00"),
            ("deny", "Do not refund"),
            ("yes", "Cancel the order"),
            ("cancel", "Yes, cancel"),
            ("no", "Do not cancel"),
            ("yes", "Do not reject it"),
            ("no", "No"),
            ("deny", "Reject"),
            ("half", "Approve half"),
            ("none", "Notify nobody"),
            ("approve", "Approve, but do not notify the customer"),
            ("approve", "Refund with no delay"),
            ("approve", "Send the refused parcel again"),
            ("10kΩ", "10 kΩ resistor"),
            ("t", "Δt = 5 µs"),
            ("shirt", "Tシャツを送る"),
            ("ja", "Genehmigen"),
            ("stop", "Stop the server"),
            ("approve", "Stop the server"),
            ("a", "A"),
            ("ok", "Да"),
            ("no", "Нет"),
            ("confirm", "CONFIRM"),
            ("allow", "Allow once"),
            ("da", "שלום"),
        ] {
            assert!(judged(value, label).misleading.is_empty(), "{label} sends {value}: {:?}", judged(value, label));
        }
    }

    #[test]
    fn colour_follows_the_value_and_never_the_wish_alone() {
        for (value, wish, colour) in [
            ("approve", Style::Primary, Style::Primary),
            ("approve", Style::Danger, Style::Default),
            ("approve", Style::Default, Style::Default),
            ("deny", Style::Danger, Style::Danger),
            ("deny", Style::Primary, Style::Default),
            ("do_not_approve", Style::Primary, Style::Default),
            ("approve_but_do_not_send", Style::Primary, Style::Default),
            ("half", Style::Primary, Style::Default),
            ("half", Style::Danger, Style::Default),
        ] {
            assert_eq!(judge(&[choice(value, "The order", wish)]).styles, [colour], "{value} {wish:?}");
        }
        let doubtful = [choice("approve", "Approve", Style::Primary), choice("deny", "Do not reject", Style::Danger)];
        assert_eq!(judge(&doubtful).styles, [Style::Default; 2]);
    }

    #[test]
    fn two_choices_that_look_alike_are_warned_of() {
        let found = |one: (&str, &str), other: (&str, &str)| {
            judge(&[choice(one.0, one.1, Style::Primary), choice(other.0, other.1, Style::Danger)]).misleading
        };
        let alike = BTreeSet::from([Misleading::Alike]);
        assert_eq!(found(("a", "Refund"), ("b", " refund ")), alike);
        assert_eq!(found(("sell", "One"), ("sell ", "Two")), alike);
        assert_eq!(found(("sell", "One"), ("ѕеll", "Two")), BTreeSet::from([Misleading::Alike, Misleading::MixedAlphabets]));
        assert_eq!(found(("sell", "Keep"), ("keep", "Wait")), BTreeSet::from([Misleading::Contradiction]));
        assert_eq!(found(("eu", "US."), ("us", "EU!")), BTreeSet::from([Misleading::Contradiction]));
        assert_eq!(found(("a", "Refund"), ("b", "Refund.")), alike);
        assert_eq!(found(("a", "Refund  now"), ("b", "Refund now")), alike);
        assert_eq!(found(("a", "5 €"), ("b", "5 $")), BTreeSet::new());
        assert_eq!(found(("a", "+"), ("b", "-")), BTreeSet::new());
        assert_eq!(found(("sell", "Sell"), ("keep", "Keep")), BTreeSet::new());
    }

    #[test]
    fn a_word_of_several_alphabets_is_warned_of() {
        for label in ["D\u{435}lete it", "Send to pаypаl", "nо", "Ѕend", "αβcd"] {
            assert!(judged("x", label).misleading.contains(&Misleading::MixedAlphabets), "{label}");
        }
    }
}
