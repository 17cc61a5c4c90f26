//! The fields of a form, in the order in which they are shown.

use serde_json::{Number, Value};

use super::number::written;
use crate::base::words::Language;

/// A form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Its title; may be empty.
    pub title: String,
    /// Its description; may be empty.
    pub description: String,
    /// Its fields and groups, in order.
    pub entries: Vec<Entry>,
}

/// A field, or a group of fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A field.
    Field(Field),
    /// A group: an object in the answer.
    Group(Group),
}

/// Fields that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The member of the answer.
    pub name: String,
    /// Its place in the answer, as a JSON pointer.
    pub pointer: String,
    /// Its title; absent if the agent gave it none.
    pub title: Option<String>,
    /// Its description; may be empty.
    pub description: String,
    /// Whether the answer must have it.
    pub required: bool,
    /// Its fields, in order.
    pub fields: Vec<Field>,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The member of the answer, or of the group.
    pub name: String,
    /// Its place in the answer, as a JSON pointer.
    pub pointer: String,
    /// Its title; absent if the agent gave it none.
    pub title: Option<String>,
    /// Its description; may be empty.
    pub description: String,
    /// Whether the answer, or the group, must have it.
    pub required: bool,
    /// The value that stands in it at first.
    pub default: Option<Value>,
    /// Its kind.
    pub kind: Kind,
}

/// The kind of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A text.
    Text {
        /// Its format.
        format: Option<Format>,
        /// How long it is.
        lengths: Lengths,
        /// The pattern that it matches.
        pattern: Option<String>,
    },
    /// A number.
    Number(Bounds),
    /// A whole number.
    Integer(Bounds),
    /// Yes or no.
    Boolean,
    /// One of these.
    One(Vec<Opt>),
    /// Some of these.
    Many {
        /// The options.
        options: Vec<Opt>,
        /// How many of them.
        counts: Lengths,
    },
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An e-mail address.
    Email,
    /// An address with its scheme.
    Uri,
    /// A calendar date.
    Date,
    /// A date and a time with its zone.
    DateTime,
}

/// The least and the most of characters or of options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// The least.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

/// The bounds of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The least.
    pub minimum: Option<Number>,
    /// The most.
    pub maximum: Option<Number>,
    /// A bound that is itself too small.
    pub exclusive_minimum: Option<Number>,
    /// A bound that is itself too large.
    pub exclusive_maximum: Option<Number>,
    /// The step.
    pub multiple_of: Option<Number>,
}

/// An option of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt {
    /// The value in the answer.
    pub value: String,
    /// The words that people read; absent if the agent gave it none.
    pub title: Option<String>,
    /// A longer explanation; may be empty.
    pub description: String,
}

impl Format {
    pub(super) const ALL: [Self; 4] = [Self::Email, Self::Uri, Self::Date, Self::DateTime];

    /// Its name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }

    /// The rule, in words.
    pub fn sentence(self, language: Language) -> String {
        let (what, example) = match self {
            Self::Email => language.an_email(),
            Self::Uri => language.a_uri(),
            Self::Date => language.a_date(),
            Self::DateTime => language.a_date_time(),
        };
        language.must_be_like(what, example)
    }
}

impl Shape {
    /// All fields, those of the groups included, in order.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.entries.iter().flat_map(|entry| match entry {
            Entry::Field(field) => std::slice::from_ref(field),
            Entry::Group(group) => &group.fields,
        })
    }
}

impl Field {
    /// The rules for an answer, in words that complete a sentence about the field. The options of a field are not among them.
    pub fn rules(&self, language: Language) -> Vec<String> {
        match &self.kind {
            Kind::Text { format, lengths, pattern } => {
                let least =
                    lengths.min.filter(|min| *min > u64::from(self.required)).map(|least| language.at_least_characters(least));
                let most = lengths.max.map(|most| language.at_most_characters(most));
                let pattern = pattern.as_deref().map(|pattern| language.must_match(pattern));
                format.map(|format| format.sentence(language)).into_iter().chain(least).chain(most).chain(pattern).collect()
            }
            Kind::Number(bounds) => bounds.rules(language),
            Kind::Integer(bounds) => {
                std::iter::once(language.whole_number_needed().to_owned()).chain(bounds.rules(language)).collect()
            }
            Kind::Boolean | Kind::One(_) => Vec::new(),
            Kind::Many { counts, .. } => {
                let least = counts.min.filter(|min| *min > 0).map(|least| language.at_least_options(least));
                least.into_iter().chain(counts.max.map(|most| language.at_most_options(most))).collect()
            }
        }
    }
}

impl Bounds {
    fn rules(&self, language: Language) -> Vec<String> {
        let rule = |number: &Option<Number>, words: fn(Language, &str) -> String| {
            number.as_ref().map(|number| words(language, &written(number, language)))
        };
        [
            rule(&self.minimum, Language::at_least),
            rule(&self.exclusive_minimum, Language::more_than),
            rule(&self.maximum, Language::at_most),
            rule(&self.exclusive_maximum, Language::less_than),
            rule(&self.multiple_of, Language::multiple_of),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
