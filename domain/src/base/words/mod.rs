//! Placet's plain text for people: in mails, in titles, in errors, and wherever a time is shown.
//!
//! One language is one file with these names; a file in which a name is missing does not compile. Sentences of pages that have
//! markup inside them are in the server's templates. There they are macros, because a template engine escapes the values in them.

mod de;
mod de_alerts;
mod de_forms;
mod de_grammar;
mod de_grounds;
mod de_people;
mod en;
mod en_alerts;
mod en_forms;
mod en_grounds;
mod en_people;
mod language;

use std::fmt;

pub use en::*;
pub use en_alerts::*;
pub use en_forms::*;
pub use en_grounds::*;
pub use en_people::*;
pub use language::Language;

/// A sentence with one part that stands out where the medium can show that.
///
/// Three parts instead of markup: each can be escaped as text, so that no name or label in them can become markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stressed {
    /// The first part; may be empty.
    pub before: String,
    /// The part that stands out.
    pub stressed: String,
    /// The rest; may be empty.
    pub after: String,
}

/// The whole sentence, for a medium that cannot stress.
impl fmt::Display for Stressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.before, self.stressed, self.after)
    }
}

/// The kind and the number of parts that were left out of a long text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Lines.
    Lines(usize),
    /// Characters.
    Characters(usize),
    /// Entries of a list.
    Entries(usize),
}
