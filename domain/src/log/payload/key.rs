//! Payloads of the server's own log: its keys, the people who log in, and their groups.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::base::ids::KeyId;
use crate::base::name::Owner;
use crate::base::time;
use crate::people::client::Client;
use crate::people::event::{
    GroupChanged, GroupRemoved, HoldChanged, IdentityBound, KeyFacts, LogExported, LogKeyAdded, PasskeyAdded, PasskeyRemoved,
    PayloadRedacted, PersonAdded, PersonAway, PersonChanged, PersonNamed, ServerEvent, SessionBegan, SessionEnded,
};
use crate::people::principal::{Credential, Role};

/// The payload of an event of the server's own log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ServerPayload {
    /// `key.created`, `key.imported` and `key.recorded`.
    Key(Key),
    /// `key.revoked`.
    KeyRevoked(KeyRevoked),
    /// `log_key.added`.
    LogKeyAdded(LogKeyAdded),
    /// `log.exported`.
    LogExported(LogExported),
    /// `payload.redacted`.
    PayloadRedacted(PayloadRedacted),
    /// `hold.placed` and `hold.lifted`.
    HoldChanged(HoldChanged),
    /// `person.added`.
    PersonAdded(PersonAdded),
    /// `person.away`.
    PersonAway(PersonAway),
    /// `person.confirmed`, `person.removed` and `person.back`.
    PersonNamed(PersonNamed),
    /// `person.changed`.
    PersonChanged(PersonChanged),
    /// `group.changed`.
    GroupChanged(GroupChanged),
    /// `group.removed`.
    GroupRemoved(GroupRemoved),
    /// `identity.bound`.
    IdentityBound(IdentityBound),
    /// `session.began`.
    SessionBegan(SessionBegan),
    /// `session.ended`.
    SessionEnded(SessionEnded),
    /// `passkey.added`.
    PasskeyAdded(PasskeyAdded),
    /// `passkey.removed`.
    PasskeyRemoved(PasskeyRemoved),
}

/// A key as it was made, or as it was found when the log began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The key's id.
    pub key_id: KeyId,
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The person or service that answers with it.
    pub subject: String,
    /// The group of keys that may not answer each other's questions.
    pub owner: Owner,
    /// The channels a gateway is tied to.
    #[serde(rename = "for", default, skip_serializing_if = "Option::is_none")]
    pub tied_to: Option<Vec<String>>,
    /// The client program that uses the key, if the server treats its requests in a special way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// When it was made; only for a key that is older than the log.
    #[serde(default, with = "time::z_option", skip_serializing_if = "Option::is_none")]
    pub created_at: Option<DateTime<Utc>>,
    /// When it was revoked; only for a key that is older than the log.
    #[serde(default, with = "time::z_option", skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<DateTime<Utc>>,
    /// The credential that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A key that was revoked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRevoked {
    /// The key's id.
    pub key_id: KeyId,
    /// Its name.
    pub name: String,
    /// The credential that revoked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl Key {
    fn of(key: &KeyFacts) -> Self {
        let KeyFacts { id, name, subject, owner, role, tied_to, client } = key.clone();
        Self { key_id: id, name, role, subject, owner, tied_to, client, created_at: None, revoked_at: None, credential: None }
    }
}

impl ServerPayload {
    /// The payload of `event`.
    pub fn of(event: &ServerEvent) -> Self {
        match event {
            ServerEvent::KeyCreated { key, credential } | ServerEvent::KeyImported { key, credential } => {
                Self::Key(Key { credential: *credential, ..Key::of(key) })
            }
            &ServerEvent::KeyRecorded { ref key, created_at, revoked_at } => {
                Self::Key(Key { created_at: Some(created_at), revoked_at, ..Key::of(key) })
            }
            ServerEvent::KeyRevoked { key_id, name, credential } => {
                Self::KeyRevoked(KeyRevoked { key_id: *key_id, name: name.clone(), credential: *credential })
            }
            ServerEvent::LogKeyAdded(added) => Self::LogKeyAdded(added.clone()),
            ServerEvent::LogExported(exported) => Self::LogExported(exported.clone()),
            ServerEvent::PayloadRedacted(redacted) => Self::PayloadRedacted(redacted.clone()),
            ServerEvent::HoldPlaced(changed) | ServerEvent::HoldLifted(changed) => Self::HoldChanged(changed.clone()),
            ServerEvent::PersonAdded(added) => Self::PersonAdded(added.clone()),
            ServerEvent::PersonConfirmed(named) | ServerEvent::PersonRemoved(named) | ServerEvent::PersonBack(named) => {
                Self::PersonNamed(named.clone())
            }
            ServerEvent::PersonAway(away) => Self::PersonAway(away.clone()),
            ServerEvent::PersonChanged(changed) => Self::PersonChanged(changed.clone()),
            ServerEvent::GroupChanged(changed) => Self::GroupChanged(changed.clone()),
            ServerEvent::GroupRemoved(removed) => Self::GroupRemoved(removed.clone()),
            ServerEvent::IdentityBound(bound) => Self::IdentityBound(bound.clone()),
            ServerEvent::SessionBegan(began) => Self::SessionBegan(began.clone()),
            ServerEvent::SessionEnded(ended) => Self::SessionEnded(ended.clone()),
            ServerEvent::PasskeyAdded(added) => Self::PasskeyAdded(added.clone()),
            ServerEvent::PasskeyRemoved(removed) => Self::PasskeyRemoved(removed.clone()),
        }
    }
}
