//! Events of the server itself, about things that belong to no intent.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::{HoldId, IntentId, KeyId, PersonId, SessionId};
use crate::base::name::Owner;
use crate::base::passkey::Octets;
use crate::base::time;
use crate::people::client::Client;
use crate::people::hold::HoldScope;
use crate::people::identity::LoginMethod;
use crate::people::principal::{Credential, Role};

/// The type of [`ServerEvent::LogKeyAdded`].
pub const LOG_KEY_ADDED: &str = "log_key.added";
/// The type of [`ServerEvent::PayloadRedacted`].
pub const PAYLOAD_REDACTED: &str = "payload.redacted";

/// The type of [`ServerEvent::PersonAdded`].
pub const PERSON_ADDED: &str = "person.added";
/// The type of [`ServerEvent::PersonChanged`].
pub const PERSON_CHANGED: &str = "person.changed";
/// The type of [`ServerEvent::PersonRemoved`].
pub const PERSON_REMOVED: &str = "person.removed";
/// The type of [`ServerEvent::PersonAway`].
pub const PERSON_AWAY: &str = "person.away";
/// The type of [`ServerEvent::PersonBack`].
pub const PERSON_BACK: &str = "person.back";
/// The type of [`ServerEvent::GroupChanged`].
pub const GROUP_CHANGED: &str = "group.changed";
/// The type of [`ServerEvent::GroupRemoved`].
pub const GROUP_REMOVED: &str = "group.removed";

/// The type of [`ServerEvent::PasskeyAdded`].
pub const PASSKEY_ADDED: &str = "passkey.added";
/// The type of [`ServerEvent::PasskeyRemoved`].
pub const PASSKEY_REMOVED: &str = "passkey.removed";

/// An event of the server's own log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// A key was made; the server drew its secret.
    KeyCreated {
        /// The key.
        key: KeyFacts,
        /// The credential that made it; absent for an account that works on the database itself.
        credential: Option<Credential>,
    },
    /// A key was made from a secret that another program drew.
    KeyImported {
        /// The key.
        key: KeyFacts,
        /// The credential that imported it.
        credential: Option<Credential>,
    },
    /// A key that was made before the server's log began; this event is written when the log begins.
    KeyRecorded {
        /// The key.
        key: KeyFacts,
        /// When the key was made.
        created_at: DateTime<Utc>,
        /// When the key was revoked; absent if it was still valid.
        revoked_at: Option<DateTime<Utc>>,
    },
    /// A key was revoked.
    KeyRevoked {
        /// The key's id.
        key_id: KeyId,
        /// The key's name.
        name: String,
        /// The credential that revoked it.
        credential: Option<Credential>,
    },
    /// A key signs checkpoints of the tree over all events from now on.
    LogKeyAdded(LogKeyAdded),
    /// A person exported events of all logs.
    LogExported(LogExported),
    /// Payload and salt of events were erased.
    PayloadRedacted(PayloadRedacted),
    /// A legal hold was placed.
    HoldPlaced(HoldChanged),
    /// A legal hold was lifted.
    HoldLifted(HoldChanged),
    /// A person may log in from now on.
    PersonAdded(PersonAdded),
    /// A person logged in for the first time: the address is that person's.
    PersonConfirmed(PersonNamed),
    /// A person has another role, time zone or locale from now on, or the configuration file took the person over.
    PersonChanged(PersonChanged),
    /// A person may log in no longer, is in no group, and the person's sessions have ended.
    PersonRemoved(PersonNamed),
    /// A person is out of office for a time, and has a deputy.
    PersonAway(PersonAway),
    /// A person is not out of office, whatever was said before.
    PersonBack(PersonNamed),
    /// A group was made, has other members from now on, or the configuration file took it over.
    GroupChanged(GroupChanged),
    /// There is no group of this name any more.
    GroupRemoved(GroupRemoved),
    /// A person logged in by an account at an issuer for the first time. From now on the account is that person's.
    IdentityBound(IdentityBound),
    /// A person logged in.
    SessionBegan(SessionBegan),
    /// A person logged out, in one browser or in all.
    SessionEnded(SessionEnded),
    /// A person registered a passkey.
    PasskeyAdded(PasskeyAdded),
    /// A passkey counts no longer.
    PasskeyRemoved(PasskeyRemoved),
}

/// A legal hold that was placed or lifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldChanged {
    /// The hold.
    pub hold_id: HoldId,
    /// The part of the log that it covers.
    pub scope: HoldScope,
    /// The reason of the change, in the words of the person who made it.
    pub reason: String,
    /// The credential of that person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// Consecutive events of one intent whose payload and salt were erased, together with every copy of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRedacted {
    /// The intent.
    pub intent_id: IntentId,
    /// The number of the first event.
    pub first_sequence: u64,
    /// The number of the last event.
    pub last_sequence: u64,
    /// The legal basis, in the words of the person who asked for the erasure.
    pub legal_basis: String,
    /// The credential of that person; absent if the server did it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A person who may log in from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAdded {
    /// The person's id.
    pub person_id: PersonId,
    /// The address to which login links are sent.
    pub address: String,
    /// The role that says what the person may do.
    pub role: Role,
    /// The name of the person's time zone, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The person's locale, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The credential that added the person; absent for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A person who was confirmed or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNamed {
    /// The person's id.
    pub person_id: PersonId,
    /// The person's address.
    pub address: String,
    /// The credential that did this; absent if it was the person's first login, and for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A person as the person is from now on. Time zone and locale are names as they were given: a later version may know other ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonChanged {
    /// The person's id.
    pub person_id: PersonId,
    /// The person's address.
    pub address: String,
    /// The role that says what the person may do from now on.
    pub role: Role,
    /// The name of the person's time zone from now on; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// The person's locale from now on; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The credential that changed it; absent for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A person who is out of office for a time, instead of what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonAway {
    /// The person's id.
    pub person_id: PersonId,
    /// The person's address.
    pub address: String,
    /// When it begins.
    #[serde(with = "time::z")]
    pub from: DateTime<Utc>,
    /// When it ends.
    #[serde(with = "time::z")]
    pub until: DateTime<Utc>,
    /// The person who answers meanwhile.
    pub deputy_id: PersonId,
    /// The address of that person.
    pub deputy: String,
    /// The credential of the person, or of an admin; absent for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A group as it is from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupChanged {
    /// The group's name.
    pub group: String,
    /// The addresses of all members, in the order of their characters: a reader needs no earlier event of the group.
    pub members: Vec<String>,
    /// The credential that set them; absent for an account that works on the database itself, and for the server, which follows an issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A group that was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRemoved {
    /// The group's name.
    pub group: String,
    /// The credential that removed it; absent for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An account at an issuer that is a person's from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdentityBound {
    /// The person's id.
    pub person_id: PersonId,
    /// The person's address at this time.
    pub address: String,
    /// The address of the issuer.
    pub issuer: String,
    /// The name of the account at the issuer.
    pub subject: String,
}

/// A login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionBegan {
    /// The session's id; its secret is in no log.
    pub session_id: SessionId,
    /// The person.
    pub person_id: PersonId,
    /// The person's role at this time.
    pub role: Role,
    /// The session of the same browser that this one replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<SessionId>,
    /// How the person logged in; absent in events that were written before there was more than one way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<LoginMethod>,
    /// When the person last proved to the issuer who they are, as the issuer says; absent if it does not say, and for a link in a mail.
    #[serde(default, with = "time::z_option", skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<DateTime<Utc>>,
    /// Until when it counts as a recent login; absent where `auth_time` is, and in earlier events.
    #[serde(default, with = "time::z_option", skip_serializing_if = "Option::is_none")]
    pub recent_until: Option<DateTime<Utc>>,
}

/// A logout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session from which the person logged out.
    pub session_id: SessionId,
    /// The person.
    pub person_id: PersonId,
    /// Whether all other sessions of the person ended with it.
    pub everywhere: bool,
}

/// A passkey that a person registered. Its private half is on the person's device alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyAdded {
    /// The person.
    pub person_id: PersonId,
    /// The person's address.
    pub person: String,
    /// The passkey.
    pub credential_id: Octets,
    /// Its public key in COSE.
    pub public_key: Octets,
    /// The number of its algorithm in COSE: -7 is ES256, -8 `EdDSA`, -257 RS256.
    pub algorithm: i64,
    /// The domain for which it was made.
    pub rp_id: String,
    /// The passkey of the same person that allowed this one; absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<Octets>,
    /// The session of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A passkey that counts no longer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasskeyRemoved {
    /// The person.
    pub person_id: PersonId,
    /// The person's address.
    pub person: String,
    /// The passkey.
    pub credential_id: Octets,
    /// The credential that removed it; absent for an account that works on the database itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An export of events, as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogExported {
    /// The format.
    pub format: String,
    /// How many leaves the tree had.
    pub size: u64,
    /// The first leaf that was sent, for an export that went on after an interruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The filters by name; absent for an export of everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Map<String, Value>>,
    /// The credential of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A key that signs checkpoints from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogKeyAdded {
    /// The public key, in the form of a signed note's key.
    pub key: String,
    /// The public key that signed before; absent for the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The signature of the key before under this change, in base64; absent for the first key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Everything an auditor must know of a key: the person or service that acts by it, and its permissions. Neither the secret nor
/// its hash is part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFacts {
    /// The key's id.
    pub id: KeyId,
    /// The actor in the logs of intents.
    pub name: String,
    /// The person or service that answers with it.
    pub subject: String,
    /// The group of keys that may not answer each other's questions.
    pub owner: Owner,
    /// The role that says what the key may do.
    pub role: Role,
    /// The channels a gateway is tied to; absent for an unbound gateway and for other roles.
    pub tied_to: Option<Vec<String>>,
    /// The client program, if the server makes allowances for it.
    pub client: Option<Client>,
}

impl ServerEvent {
    /// The event's type in the log.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::KeyCreated { .. } => "key.created",
            Self::KeyImported { .. } => "key.imported",
            Self::KeyRecorded { .. } => "key.recorded",
            Self::KeyRevoked { .. } => "key.revoked",
            Self::LogKeyAdded(_) => LOG_KEY_ADDED,
            Self::LogExported(_) => "log.exported",
            Self::PayloadRedacted(_) => PAYLOAD_REDACTED,
            Self::HoldPlaced(_) => "hold.placed",
            Self::HoldLifted(_) => "hold.lifted",
            Self::PersonAdded(_) => PERSON_ADDED,
            Self::PersonConfirmed(_) => "person.confirmed",
            Self::PersonChanged(_) => PERSON_CHANGED,
            Self::PersonRemoved(_) => PERSON_REMOVED,
            Self::PersonAway(_) => PERSON_AWAY,
            Self::PersonBack(_) => PERSON_BACK,
            Self::GroupChanged(_) => GROUP_CHANGED,
            Self::GroupRemoved(_) => GROUP_REMOVED,
            Self::IdentityBound(_) => "identity.bound",
            Self::SessionBegan(_) => "session.began",
            Self::SessionEnded(_) => "session.ended",
            Self::PasskeyAdded(_) => PASSKEY_ADDED,
            Self::PasskeyRemoved(_) => PASSKEY_REMOVED,
        }
    }
}
