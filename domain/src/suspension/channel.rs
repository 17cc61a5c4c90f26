//! A server's channels, and the messages of an attempt that each of them carries.

use std::collections::BTreeSet;

/// The name of the mail channel, on every server that sends mails.
pub const EMAIL: &str = "email";
/// The longest name of a channel or an audience, in characters.
pub const CHANNEL_NAME_MAX: usize = 64;

/// The recipients of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Each person that the question is for, with a message of their own.
    People,
    /// One audience under this name, with one message per attempt, regardless of the people that the question is for.
    Audience(String),
}

/// One channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedChannel {
    /// The name that a `channel_hint` uses.
    pub name: String,
    /// The recipients it reaches.
    pub reach: Reach,
    /// Whether its messages carry the answer link.
    pub links: bool,
}

/// One message to be queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<'a> {
    /// The channel that carries it.
    pub channel: &'a str,
    /// The person or audience it is for.
    pub recipient: &'a str,
}

impl Route<'_> {
    /// Whether both routes have the same channel and the same recipient.
    pub fn is_same(&self, other: &Route<'_>) -> bool {
        self.channel == other.channel && self.recipient.eq_ignore_ascii_case(other.recipient)
    }
}

/// The way that a message has taken or will take; an owned [`Route`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// The channel that carries it.
    pub channel: String,
    /// The person or audience it is for.
    pub recipient: String,
}

impl Way {
    /// The route, for comparing and for queueing.
    pub fn route(&self) -> Route<'_> {
        Route { channel: &self.channel, recipient: &self.recipient }
    }
}

impl From<Route<'_>> for Way {
    fn from(route: Route<'_>) -> Self {
        Self { channel: route.channel.to_owned(), recipient: route.recipient.to_owned() }
    }
}

/// All channels of a server, and those that are used when a question names none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    known: Vec<NamedChannel>,
    default: Vec<String>,
}

impl Channels {
    /// A server with the mail channel only.
    pub fn email() -> Self {
        Self {
            known: vec![NamedChannel { name: EMAIL.to_owned(), reach: Reach::People, links: true }],
            default: vec![EMAIL.to_owned()],
        }
    }

    /// Joins channels with unique names and the names of the default channels.
    ///
    /// # Errors
    ///
    /// A name that is invalid, comes twice or is unknown; an empty default.
    pub fn new(known: Vec<NamedChannel>, default: Vec<String>) -> Result<Self, String> {
        let mut names = BTreeSet::new();
        for channel in &known {
            if !is_channel_name(&channel.name) {
                return Err(format!(
                    "{:?} cannot be the name of a channel: a name has 1 to {CHANNEL_NAME_MAX} of the characters a-z, 0-9 and -",
                    channel.name
                ));
            }
            if !names.insert(channel.name.as_str()) {
                return Err(format!("two channels are named {:?}", channel.name));
            }
        }
        if let Some(unknown) = default.iter().find(|name| !names.contains(name.as_str())) {
            return Err(format!("the list of default channels names {unknown:?}, which is no channel of this server"));
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = default.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(format!("the list of default channels names {twice:?} twice"));
        }
        if default.is_empty() {
            return Err("the list of default channels is empty".to_owned());
        }
        Ok(Self { known, default })
    }

    /// Whether there is a channel of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether messages of this channel go to people, and not to an audience.
    pub fn reaches_people(&self, name: &str) -> bool {
        self.find(name).is_some_and(|channel| channel.reach == Reach::People)
    }

    /// All names, for people.
    pub fn names(&self) -> Vec<&str> {
        self.known.iter().map(|channel| channel.name.as_str()).collect()
    }

    /// Whether a message by this channel carries the answer link.
    pub fn carries_links(&self, name: &str) -> bool {
        self.find(name).is_some_and(|channel| channel.links)
    }

    /// Whether a message by this channel counts as one that its recipient can answer: the channel carries links, or no channel of
    /// the server does.
    pub(crate) fn is_answered(&self, name: &str) -> bool {
        self.carries_links(name) || !self.carry_links()
    }

    /// Whether any channel carries links.
    pub(crate) fn carry_links(&self) -> bool {
        self.known.iter().any(|channel| channel.links)
    }

    /// The messages of one attempt for `people`: by the channel that the hint names, or else by the default channels.
    ///
    /// A hint is a preference (RFC-0025 §4): if its channel no longer exists at a later attempt, the default channels are used.
    /// If the hint names a channel without links, the default channels are used as well: an agent must not be able to
    /// ask where no one can answer.
    pub fn routes<'a>(&'a self, hint: Option<&str>, people: &'a [String]) -> Vec<Route<'a>> {
        let routes =
            |(channel, recipients): (&'a str, &'a [String])| recipients.iter().map(move |recipient| Route { channel, recipient });
        self.recipients(hint, people).into_iter().flat_map(routes).collect()
    }

    /// As [`Channels::routes`], by channel; a channel that reaches people is listed even if `people` is empty.
    pub fn recipients<'a>(&'a self, hint: Option<&str>, people: &'a [String]) -> Vec<(&'a str, &'a [String])> {
        let recipients = |channel: &'a NamedChannel| match &channel.reach {
            Reach::People => people,
            Reach::Audience(name) => std::slice::from_ref(name),
        };
        self.chosen(hint).map(|channel| (channel.name.as_str(), recipients(channel))).collect()
    }

    fn chosen(&self, hint: Option<&str>) -> impl Iterator<Item = &NamedChannel> {
        let preferred = hint.and_then(|hint| self.find(hint));
        let default = self.default.iter().filter_map(|name| self.find(name));
        let default = default.filter(move |default| preferred.is_none_or(|preferred| !preferred.links && preferred != *default));
        preferred.into_iter().chain(default)
    }

    fn find(&self, name: &str) -> Option<&NamedChannel> {
        self.known.iter().find(|channel| channel.name == name)
    }
}

/// Whether `text` may name a channel or an audience. The name appears in labels of metrics and in events,
/// and is never an address.
pub fn is_channel_name(text: &str) -> bool {
    (1..=CHANNEL_NAME_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(name: &str, audience: Option<&str>) -> NamedChannel {
        let reach = audience.map_or(Reach::People, |audience| Reach::Audience(audience.to_owned()));
        NamedChannel { name: name.to_owned(), reach, links: true }
    }

    fn without_links(name: &str, audience: Option<&str>) -> NamedChannel {
        NamedChannel { links: false, ..channel(name, audience) }
    }

    fn three() -> Vec<NamedChannel> {
        vec![channel(EMAIL, None), channel("pager", None), channel("ops", Some("ops-room"))]
    }

    fn routes(channels: &Channels, hint: Option<&str>, people: &[&str]) -> Vec<(String, String)> {
        let people: Vec<String> = people.iter().map(|person| (*person).to_owned()).collect();
        let routes = channels.routes(hint, &people);
        routes.iter().map(|route| (route.channel.to_owned(), route.recipient.to_owned())).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(channel, recipient)| ((*channel).to_owned(), (*recipient).to_owned())).collect()
    }

    #[test]
    fn a_hint_picks_its_channel_and_anything_else_the_default() {
        let channels = Channels::new(three(), vec![EMAIL.into(), "ops".into()]).unwrap();
        let people = ["a@x.example", "b@x.example"];
        assert_eq!(routes(&channels, Some("pager"), &people), pairs(&[("pager", people[0]), ("pager", people[1])]));
        let default = pairs(&[(EMAIL, people[0]), (EMAIL, people[1]), ("ops", "ops-room")]);
        for hint in [None, Some("slack"), Some("Pager"), Some("")] {
            assert_eq!(routes(&channels, hint, &people), default, "{hint:?}");
        }
    }

    /// A chat room (an audience) gets one message, however many people the question is for, and even if it is for none.
    #[test]
    fn an_audience_gets_one_message_per_attempt() {
        let channels = Channels::new(three(), vec![EMAIL.into()]).unwrap();
        assert_eq!(routes(&channels, Some("ops"), &["a@x.example", "b@x.example"]), pairs(&[("ops", "ops-room")]));
        assert_eq!(routes(&channels, Some("ops"), &[]), pairs(&[("ops", "ops-room")]));
        assert!(!channels.routes(Some("ops"), &[]).is_empty() && channels.routes(None, &[]).is_empty());
        assert_eq!(routes(&channels, None, &[]), []);
    }

    /// If a hint names a channel without links, the default channels are used as well. A fallback relies on a person who could
    /// have answered, and a hint must not take the question away from that person.
    #[test]
    fn a_channel_without_links_is_told_beside_the_default_and_never_instead() {
        let known = vec![channel(EMAIL, None), without_links("board", Some("hall")), without_links("log", None)];
        let channels = Channels::new(known, vec![EMAIL.into(), "board".into()]).unwrap();
        let people = ["a@x.example"];
        let (mail, board) = ((EMAIL, people[0]), ("board", "hall"));
        assert_eq!(routes(&channels, Some("board"), &people), pairs(&[board, mail]), "once, though it is a default too");
        assert_eq!(routes(&channels, Some("log"), &people), pairs(&[("log", people[0]), mail, board]));
        assert_eq!(routes(&channels, Some(EMAIL), &people), pairs(&[mail]));
        assert!(channels.carries_links(EMAIL) && !channels.carries_links("board") && !channels.carries_links("gone"));
        assert!(channels.is_answered(EMAIL) && !channels.is_answered("board"));
        let silent = Channels::new(vec![without_links("log", None)], vec!["log".into()]).unwrap();
        assert!(silent.is_answered("log") && !silent.carries_links("log"), "there is nothing better");
    }

    #[test]
    fn what_cannot_be_told_apart_or_found_is_refused() {
        let long = "x".repeat(CHANNEL_NAME_MAX + 1);
        for wrong in ["", "Ops", "ops room", "ops_room", "öps", "a@b", long.as_str()] {
            assert!(Channels::new(vec![channel(wrong, None)], vec![wrong.to_owned()]).is_err(), "{wrong}");
        }
        assert!(is_channel_name(&long[1..]));
        assert!(Channels::new(vec![channel("a", None), channel("a", None)], vec!["a".into()]).is_err());
        assert!(Channels::new(three(), vec!["slack".into()]).is_err());
        assert!(Channels::new(three(), vec![EMAIL.into(), EMAIL.into()]).is_err());
        assert!(Channels::new(three(), vec![]).is_err());
    }
}
