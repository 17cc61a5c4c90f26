//! The keys that the server's log knows, and the principals that acted.

use std::borrow::Cow;
use std::collections::HashMap;

use domain::base::ids::KeyId;
use domain::base::name::{DEVELOPMENT, LOCAL, Owner, SERVER, form, in_form, is_same_in_any_case};
use domain::base::text::quoted;
use domain::log::payload::{Key, KeyRevoked};
use domain::people::principal::{Assurance, Credential, Principal, Role};
use domain::suspension::Asker;
use serde::Deserialize;

use super::course::Happened;
use super::doubt::{Doubt, Doubts, Fault};
use super::sessions::Sessions;
use super::span::Moment;
use crate::event::Facts;
use crate::finding::Code;

/// The most bytes of keys that are kept; a key beyond them counts as unknown.
const KEYS_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The longest name that a finding quotes, in characters.
pub(super) const SHOWN_MAX: usize = 100;

/// An event of the server's log, with its payload.
#[derive(Deserialize)]
pub(super) struct Envelope<P> {
    pub(super) created_at: String,
    pub(super) payload: P,
}

/// A key.
#[derive(Debug)]
struct Known {
    principal: Principal,
    /// When it was made; absent for keys that are older than the log.
    made: Option<Moment>,
    revoked: Option<Moment>,
}

/// The keys of the server's log.
#[derive(Debug, Default)]
pub(super) struct Keys {
    by_id: HashMap<KeyId, Known>,
    /// The owners of agents' keys by the form of the key's name.
    owners: HashMap<String, Vec<Owner>>,
    sessions: Sessions,
    /// About how many bytes the keys take.
    bytes: usize,
    /// Whether a key may exist that is not known here.
    has_gaps: bool,
}

/// Whether a person owned the key of an asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owned {
    No,
    /// A key of the owner was made for the person just then, or may not be known here.
    Unsure,
    Yes,
}

/// The principal that acted, and what is not sure about it.
#[derive(Debug)]
pub(super) struct Who {
    pub(super) principal: Principal,
    pub(super) doubts: Doubts,
}

/// The parts of an event that say who acted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acted<'a> {
    pub(super) event: &'a Happened,
    /// The person or service, as the event names it.
    pub(super) subject: &'a str,
    /// The role, if the event names it, or else one that may do this.
    pub(super) role: Role,
    pub(super) assurance: Assurance,
    pub(super) credential: Option<Credential>,
}

impl Keys {
    /// Adds an event of the server's log.
    pub(super) fn event(&mut self, facts: &Facts<'_>, bytes: &[u8], leaf: u64) {
        match facts.event_type {
            b"\"key.created\"" | b"\"key.imported\"" => match serde_json::from_slice::<Envelope<Key>>(bytes) {
                Ok(Envelope { created_at, payload }) => self.add(payload, Moment::read(&created_at, leaf)),
                Err(_) => self.has_gaps = true,
            },
            b"\"key.recorded\"" => match serde_json::from_slice::<Envelope<Key>>(bytes) {
                Ok(Envelope { payload, .. }) => self.add(payload, None),
                Err(_) => self.has_gaps = true,
            },
            b"\"key.revoked\"" => match serde_json::from_slice::<Envelope<KeyRevoked>>(bytes) {
                Ok(Envelope { created_at, payload }) => {
                    if let Some(key) = self.by_id.get_mut(&payload.key_id) {
                        key.revoked = key.revoked.or(Moment::read(&created_at, leaf));
                    }
                }
                Err(_) => self.has_gaps = true,
            },
            _ => self.sessions.event(facts, bytes, leaf),
        }
    }

    /// Adds an event of the server's log without payload.
    pub(super) fn erased(&mut self, facts: &Facts<'_>) {
        self.sessions.erased(facts);
        self.has_gaps |= facts.event_type.starts_with(b"\"key.");
    }

    fn add(&mut self, key: Key, made: Option<Moment>) {
        let tied: usize = key.tied_to.iter().flatten().map(|name| name.len() + size_of::<String>()).sum();
        self.bytes += 2 * size_of::<Known>() + 2 * (key.name.len() + key.subject.len() + key.owner.as_str().len()) + tied;
        if self.bytes > KEYS_BYTES_MAX {
            self.has_gaps = true;
            return;
        }
        if key.role == Role::Agent {
            let owners = self.owners.entry(form(&key.name)).or_default();
            if !owners.contains(&key.owner) {
                owners.push(key.owner.clone());
            }
        }
        let revoked = key.revoked_at.map(|at| Moment { at, leaf: 0 });
        let Key { key_id, name, role, subject, owner, tied_to, client, .. } = key;
        let principal = Principal {
            credential: Some(Credential::ApiKey(key_id)),
            name,
            subject,
            owner,
            role,
            tied_to,
            client,
            assurance: Assurance::ApiKey,
        };
        self.by_id.entry(key_id).or_insert(Known { principal, made, revoked });
    }

    /// The possible owners of an agent with this name; empty if none is known for sure.
    pub(super) fn owners(&self, name: &str) -> Cow<'_, [Owner]> {
        if name == DEVELOPMENT {
            return vec![Owner(DEVELOPMENT.to_owned())].into();
        }
        let known = self.owners.get(&*in_form(name)).filter(|_| !self.has_gaps);
        known.map(Vec::as_slice).unwrap_or_default().into()
    }

    /// Whether the person with this address owned the key of one of these askers when an event happened.
    pub(super) fn own(&self, askers: [&Asker; 2], address: &str, event: &Happened) -> Owned {
        if askers.iter().any(|asker| asker.owner.as_str().eq_ignore_ascii_case(address)) {
            return Owned::Yes;
        }
        let is_of = |owner: &Owner| askers.iter().any(|asker| is_same_in_any_case(asker.owner.as_str(), owner.as_str()));
        let is_subject = |known: &&Known| is_of(&known.principal.owner) && known.principal.subject.to_lowercase() == address;
        // An admin may make a key of the owner for a person who had answered long before.
        let owned = self.by_id.values().filter(is_subject).map(|known| match known.made {
            Some(made) if made.is_after(event) => Owned::No,
            Some(made) if !made.is_before(event) => Owned::Unsure,
            Some(_) | None => Owned::Yes,
        });
        let unknown = if self.has_gaps { Owned::Unsure } else { Owned::No };
        owned.chain([unknown]).max().unwrap_or(unknown)
    }

    /// Finds the principal of what only a person decides. The server and an account of its machine decide nothing of this kind, so that
    /// an event in their name, which needs no credential, cannot be checked.
    ///
    /// # Errors
    ///
    /// As for [`Self::who`].
    pub(super) fn person(&self, acted: &Acted<'_>) -> Result<Who, Fault> {
        let mut who = self.who(acted)?;
        if matches!(who.principal.assurance, Assurance::Server | Assurance::Local) {
            who.doubts.insert(Doubt::Credential);
        }
        Ok(who)
    }

    /// Finds the principal that acted.
    ///
    /// # Errors
    ///
    /// The credential does not exist, is another one's, or was not valid then.
    pub(super) fn who(&self, acted: &Acted<'_>) -> Result<Who, Fault> {
        let actor = &acted.event.actor;
        let sure = |principal| Ok(Who { principal, doubts: Doubts::new() });
        let id = match acted.credential {
            Some(Credential::ApiKey(id)) => id,
            Some(Credential::EmailLink(message)) => return sure(Principal::link_holder(actor, Some(message))),
            Some(Credential::Session(id)) => return self.sessions.who(id, acted),
            None if actor == SERVER => return sure(Principal::server()),
            None => {
                if let Some(account) = actor.strip_prefix(LOCAL) {
                    return sure(Principal::local(account));
                }
                return Ok(Who { principal: acted.stand_in(), doubts: Doubts::from([Doubt::Credential]) });
            }
        };
        let Some(known) = self.by_id.get(&id) else {
            if self.has_gaps {
                return Ok(Who { principal: acted.stand_in(), doubts: Doubts::from([Doubt::Credential]) });
            }
            let text = format!("It was made with the key {id}, which the server's log does not know.");
            return Err(Fault::new(Code::UnknownCredential, text));
        };
        if known.principal.name != *actor {
            let text = format!(
                "It was made with the key {id}, whose name is {}, and the event names {} as the one who acted.",
                quoted(&known.principal.name, SHOWN_MAX),
                quoted(actor, SHOWN_MAX)
            );
            return Err(Fault::new(Code::UnknownCredential, text));
        }
        known.was_valid(acted.event)?;
        sure(known.principal.clone())
    }
}

impl Known {
    /// Refuses an event that was made long before or after the time in which the key was valid.
    fn was_valid(&self, event: &Happened) -> Result<(), Fault> {
        let name = || quoted(&self.principal.name, SHOWN_MAX);
        if self.revoked.is_some_and(|revoked| revoked.is_before(event)) {
            let text = format!("It was made with a key of {} that had been revoked.", name());
            return Err(Fault::new(Code::UnknownCredential, text));
        }
        if self.made.is_some_and(|made| made.is_after(event)) {
            let text = format!("It was made with a key of {} that did not exist yet.", name());
            return Err(Fault::new(Code::UnknownCredential, text));
        }
        Ok(())
    }
}

impl Acted<'_> {
    /// A principal that is known by the words of the event alone. Its owner is not known, and is not taken for the asker's, which may
    /// be unknown as well.
    pub(super) fn stand_in(&self) -> Principal {
        Principal {
            credential: self.credential,
            name: self.event.actor.clone(),
            subject: self.subject.to_owned(),
            owner: impossible("!"),
            role: self.role,
            // A gateway that is not known may be tied, and then it answers for the person that it names.
            tied_to: (self.role == Role::Channel).then(Vec::new),
            client: None,
            assurance: self.assurance,
        }
    }
}

/// The owner of an agent that is not known. No key has it.
pub(super) fn stranger() -> Owner {
    impossible("?")
}

/// An owner that no key has: it is longer than a name may be.
fn impossible(letter: &str) -> Owner {
    Owner(letter.repeat(domain::base::name::NAME_MAX + 1))
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    /// A key that is not kept may be the one of the person who answers.
    #[test]
    fn a_person_may_own_a_key_that_is_not_kept() {
        let key = |subject: String| Key {
            key_id: KeyId(uuid::Uuid::nil()),
            name: "bot".into(),
            role: Role::Agent,
            subject,
            owner: Owner("team-a".into()),
            tied_to: None,
            client: None,
            created_at: None,
            revoked_at: None,
            credential: None,
        };
        let at = DateTime::UNIX_EPOCH;
        let event = Happened { actor: "ada".into(), event_type: "", at, is_exact: true, leaf: 1 };
        let asker = Asker { name: "bot".into(), owner: Owner("team-a".into()) };
        let own = |keys: &Keys| keys.own([&asker, &asker], "ada@x.example", &event);
        let mut keys = Keys::default();
        keys.add(key("bot".into()), None);
        assert_eq!(own(&keys), Owned::No);
        keys.add(key("a".repeat(KEYS_BYTES_MAX)), None);
        assert_eq!(own(&keys), Owned::Unsure);
    }
}
