//! The reference for channels: the channels of each world, and the ways by which an attempt's messages go to each person. A way
//! is a channel and a recipient.
//!
//! It shares no code with the server.

use domain::suspension::channel::{Channels, EMAIL, NamedChannel, Reach};

/// One channel of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) name: &'static str,
    /// The one audience that it reaches; none for mail, which reaches each person.
    pub(crate) audience: Option<&'static str>,
    pub(crate) links: bool,
    is_default: bool,
}

/// The way of a message: the channel and the recipient.
pub(crate) type Route = (String, String);

const MAIL: Line = Line { name: EMAIL, audience: None, links: true, is_default: true };
const PAGER: Line = Line { name: "pager", audience: Some("on-call"), links: true, is_default: false };
const ROOM: Line = Line { name: "room", audience: Some("ops"), links: false, is_default: false };

/// All ways of a world.
#[derive(Clone, Debug)]
pub(crate) struct Lines(pub(crate) Vec<Line>);

impl Lines {
    /// Mail alone.
    pub(crate) fn mail() -> Self {
        Self(vec![MAIL])
    }

    /// By default mail; two webhooks only for questions that prefer them.
    pub(crate) fn mail_first() -> Self {
        Self(vec![MAIL, PAGER, ROOM])
    }

    /// By default mail and a room; a pager only for questions that prefer it.
    pub(crate) fn mail_and_room() -> Self {
        Self(vec![MAIL, PAGER, Line { is_default: true, ..ROOM }])
    }

    /// By default the pager; mail and a room only for questions that prefer them.
    pub(crate) fn pager_first() -> Self {
        Self(vec![Line { is_default: false, ..MAIL }, Line { is_default: true, ..PAGER }, ROOM])
    }

    /// The same ways as the server knows them.
    pub(crate) fn channels(&self) -> Channels {
        let reach = |line: &Line| line.audience.map_or(Reach::People, |audience| Reach::Audience(audience.to_owned()));
        let known = self.0.iter().map(|line| NamedChannel { name: line.name.to_owned(), reach: reach(line), links: line.links });
        let default = self.0.iter().filter(|line| line.is_default).map(|line| line.name.to_owned());
        Channels::new(known.collect(), default.collect()).unwrap()
    }

    fn find(&self, name: &str) -> Option<&Line> {
        self.0.iter().find(|line| line.name == name)
    }

    /// Whether a person can answer a message by this channel.
    pub(crate) fn carries_links(&self, name: &str) -> bool {
        self.find(name).is_some_and(|line| line.links)
    }

    /// The ways of the messages of one attempt, each once. `hint` is the channel that is preferred at this attempt.
    pub(crate) fn routes<'a>(&self, hint: Option<&str>, people: impl IntoIterator<Item = &'a String>) -> Vec<Route> {
        let people: Vec<&String> = people.into_iter().collect();
        let preferred = hint.and_then(|hint| self.find(hint));
        let chosen: Vec<&Line> = match preferred {
            Some(line) if line.links => vec![line],
            // No person can answer by the preferred channel, so the default channels are used as well.
            Some(line) => {
                std::iter::once(line).chain(self.0.iter().filter(|other| other.is_default && other.name != line.name)).collect()
            }
            None => self.0.iter().filter(|line| line.is_default).collect(),
        };
        let mut routes = Vec::new();
        for line in chosen {
            match line.audience {
                Some(audience) => add(&mut routes, line.name, audience),
                None => people.iter().for_each(|person| add(&mut routes, line.name, person)),
            }
        }
        routes
    }
}

/// Adds a way, unless it is there already, perhaps with other upper and lower case letters.
pub(crate) fn add(routes: &mut Vec<Route>, channel: &str, recipient: &str) {
    if !contains(routes, channel, recipient) {
        routes.push((channel.to_owned(), recipient.to_owned()));
    }
}

/// Whether a way is among others.
pub(crate) fn contains(routes: &[Route], channel: &str, recipient: &str) -> bool {
    routes.iter().any(|(other, person)| other == channel && person.eq_ignore_ascii_case(recipient))
}
