//! The events that a stream carries, and the places between them.

use std::fmt;
use std::str::FromStr;

use domain::base::ids::{IntentId, PortfolioId};
use domain::base::name::form;
use domain::wire::EventView;

/// A place between two events, in the order in which streams carry events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamCursor {
    pub(crate) position: i64,
    pub(crate) rid: i64,
}

impl StreamCursor {
    /// The place before all events.
    pub(crate) const BEGIN: Self = Self { position: 0, rid: 0 };
}

impl fmt::Display for StreamCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.position, self.rid)
    }
}

impl FromStr for StreamCursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i64>().ok().filter(|_| is_plain).ok_or(())
        };
        let (position, rid) = text.split_once('-').ok_or(())?;
        Ok(Self { position: number(position)?, rid: number(rid)? })
    }
}

/// An event that streams carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PublishedRow {
    pub(crate) at: StreamCursor,
    pub(crate) intent: i64,
}

/// The events that wake a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Followed {
    /// The events of one intent, as far as the OpenIntent client has handlers for them.
    Intent(IntentId),
    /// All events of one intent.
    Log(IntentId),
    /// The events of the intents of one agent; the text is the agent's name as [`form`] returns it.
    Agent(String),
    /// The events of the intents in one portfolio.
    Portfolio(PortfolioId),
}

impl Followed {
    /// Whether these are events of several intents. Only for these the newest events are kept in memory; a stream of one intent
    /// finds its events by an index of the database.
    pub(crate) fn is_group(&self) -> bool {
        match self {
            Self::Intent(_) | Self::Log(_) => false,
            Self::Agent(_) | Self::Portfolio(_) => true,
        }
    }
}

/// The subject of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamOf {
    /// The events of one intent, as far as the OpenIntent client has handlers for them.
    Intent(IntentId),
    /// All events of one intent, as its log has them.
    Log(IntentId),
    /// The events of the intents that an agent created or to which it is assigned.
    Agent(String),
    /// The events of the intents in a portfolio.
    Portfolio(PortfolioId),
}

impl StreamOf {
    /// The events that wake the stream.
    pub fn followed(&self) -> Followed {
        match self {
            Self::Intent(id) => Followed::Intent(*id),
            Self::Log(id) => Followed::Log(*id),
            Self::Agent(agent) => Followed::Agent(form(agent)),
            Self::Portfolio(id) => Followed::Portfolio(*id),
        }
    }

    /// The agent, if this is the stream of an agent.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Intent(_) | Self::Log(_) | Self::Portfolio(_) => None,
            Self::Agent(agent) => Some(agent),
        }
    }
}

/// The result of one read of a stream.
#[derive(Clone, Debug)]
pub struct Streamed {
    /// The events, oldest first, each with the place behind it.
    pub events: Vec<(StreamCursor, EventView)>,
    /// If the stream leaves out events before these, because its reader is too far behind: the place behind the left-out events,
    /// and how many they are.
    pub missed: Option<(StreamCursor, u64)>,
    /// The place at which the next read begins.
    pub cursor: StreamCursor,
    /// Whether another read may find more events at once.
    pub more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let cursor = StreamCursor { position: 12, rid: i64::MAX };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in
            ["", "-", "1", "1-", "-1-2", "1-2-3", "1--2", "+1-2", "1-+2", " 1-2", "1-2 ", "a-b", "1-9223372036854775808", "1-٣"]
        {
            assert_eq!(text.parse::<StreamCursor>(), Err(()), "{text:?}");
        }
    }
}
