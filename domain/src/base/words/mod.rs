//! What Placet says to people in plain text: in mails, in titles, in errors and wherever a time is told.
//!
//! One language is one file with these names: a name that is missing does not compile. Sentences of pages with markup inside them
//! are the other half of a language; they are macros, because a template engine escapes what goes into them.

mod en;

use std::fmt;

pub use en::*;

/// A sentence with one part that stands out where the medium can show that.
///
/// Three parts instead of markup: each can be escaped as text, so that no name or label in them can become markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stressed {
    /// What comes first; may be empty.
    pub before: String,
    /// What stands out.
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

/// What was left out of a long text, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Lines.
    Lines(usize),
    /// Characters.
    Characters(usize),
    /// Entries of a list.
    Entries(usize),
}
