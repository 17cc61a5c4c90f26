//! Principals: the role of a caller, and the credential that names it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, KeyId, SessionId};
use crate::base::name::{CONFIGURATION, LOCAL, Owner, SENDER, SERVER, form};
use crate::people::client::Client;
use crate::suspension::channel::{EMAIL, Route};

/// The purpose of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks. Creates intents; suspends and reads its own intents and those to which it is assigned.
    Agent,
    /// Answers.
    Operator,
    /// Manages keys, withdraws questions; does not answer.
    Admin,
    /// Reads everything, changes nothing.
    Auditor,
    /// Answers for the people it names: a gateway.
    Channel,
    /// Checks receipts of decisions, and uses them before it acts.
    Verifier,
}

impl Role {
    /// All roles, for tables and help texts.
    pub const ALL: [Self; 6] = [Self::Agent, Self::Operator, Self::Admin, Self::Auditor, Self::Channel, Self::Verifier];

    /// The name of the role in the API, in the log and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Auditor => "auditor",
            Self::Channel => "channel",
            Self::Verifier => "verifier",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| "expected agent, operator, admin, auditor, channel or verifier".to_owned())
    }
}

/// How the server knows the subject of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Possession of the mailbox a link was sent to.
    EmailLink,
    /// Possession of an API key.
    ApiKey,
    /// A session that began with a login.
    Session,
    /// A session that began with a login by the issuer of identities, who says that the person proved to be there a few minutes ago. Only an
    /// answer to a question that demands it has it.
    RecentLogin,
    /// A passkey of the person, which signed the answer.
    Passkey,
    /// The server itself, on a timer.
    Server,
    /// An account of a machine that can open the database.
    Local,
}

/// The credential of a caller. The log names it, because two credentials can have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Credential {
    /// An API key.
    ApiKey(KeyId),
    /// The answer link of this message.
    EmailLink(DeliveryId),
    /// This session of a person who logged in.
    Session(SessionId),
}

/// The caller, as its credential says; nothing in a request's body changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The credential; absent for the server itself, for an account that works on the database itself, and for old answer links,
    /// which were stored without their message.
    pub credential: Option<Credential>,
    /// The credential's name; the actor in the log, and for agents their identity.
    pub name: String,
    /// The person or service behind the credential; shown as `responded_by`.
    pub subject: String,
    /// The owner, which groups credentials that belong together; none of them may answer a question that another one asked.
    pub owner: Owner,
    /// The role.
    pub role: Role,
    /// The channels that a gateway is tied to, by name; absent for an unbound gateway, which may answer every question whose id
    /// it knows, and for every other credential.
    pub tied_to: Option<Vec<String>>,
    /// The client program that uses an agent's key, if the server makes allowances for it.
    pub client: Option<Client>,
    /// How the server knows the subject.
    pub assurance: Assurance,
}

impl Principal {
    /// The server itself, for example when a deadline takes effect.
    pub fn server() -> Self {
        Self {
            credential: None,
            name: SERVER.to_owned(),
            subject: SERVER.to_owned(),
            owner: Owner(SERVER.to_owned()),
            role: Role::Admin,
            tied_to: None,
            client: None,
            assurance: Assurance::Server,
        }
    }

    /// The server itself, when it does at its start what its configuration file says.
    pub fn configuration() -> Self {
        Self { name: CONFIGURATION.to_owned(), subject: CONFIGURATION.to_owned(), ..Self::server() }
    }

    /// An account that works on the database itself, by the command line: `local:<uid>@<host>`. It has the
    /// permissions of an admin.
    pub fn local(account: &str) -> Self {
        let name = format!("{LOCAL}{account}");
        Self {
            credential: None,
            name: name.clone(),
            subject: name.clone(),
            owner: Owner(name),
            role: Role::Admin,
            tied_to: None,
            client: None,
            assurance: Assurance::Local,
        }
    }

    /// A sender of the configuration file that proved itself by a signature: `webhook:<name>`. It tells of events, as a gateway does, and no
    /// request but that one is made in its name.
    pub fn sender(name: &str) -> Self {
        let name = format!("{SENDER}{name}");
        Self {
            credential: None,
            name: name.clone(),
            subject: name.clone(),
            owner: Owner(name),
            role: Role::Channel,
            // It is tied to no channel at all, so it could answer nothing.
            tied_to: Some(Vec::new()),
            client: None,
            assurance: Assurance::ApiKey,
        }
    }

    /// The agent with this name and owner, for decisions that depend on nothing else of its key.
    pub fn agent(name: &str, owner: Owner) -> Self {
        Self {
            credential: None,
            name: name.to_owned(),
            subject: name.to_owned(),
            owner,
            role: Role::Agent,
            tied_to: None,
            client: None,
            assurance: Assurance::ApiKey,
        }
    }

    /// The holder of the answer link in a message to `recipient`.
    pub fn link_holder(recipient: &str, message: Option<DeliveryId>) -> Self {
        Self {
            credential: message.map(Credential::EmailLink),
            name: recipient.to_owned(),
            subject: recipient.to_owned(),
            // A mailbox never has the owner of a key. If it had, the person who runs an agent could not answer the agent's
            // questions, although the agent may have no other person to ask.
            owner: Owner(format!("mailbox:{recipient}")),
            role: Role::Operator,
            tied_to: None,
            client: None,
            assurance: Assurance::EmailLink,
        }
    }

    /// The person with this address and role who logged in.
    pub fn person(address: &str, role: Role, session: SessionId) -> Self {
        Self {
            credential: Some(Credential::Session(session)),
            name: address.to_owned(),
            subject: address.to_owned(),
            // The same person who follows an answer link has the same owner.
            owner: Owner(format!("mailbox:{address}")),
            role,
            tied_to: None,
            client: None,
            assurance: Assurance::Session,
        }
    }

    /// The id of the key, if the caller presented one.
    pub fn key_id(&self) -> Option<KeyId> {
        match self.credential {
            Some(Credential::ApiKey(id)) => Some(id),
            Some(Credential::EmailLink(_) | Credential::Session(_)) | None => None,
        }
    }

    /// The id of the session, if the caller logged in.
    pub fn session_id(&self) -> Option<SessionId> {
        match self.credential {
            Some(Credential::Session(id)) => Some(id),
            Some(Credential::ApiKey(_) | Credential::EmailLink(_)) | None => None,
        }
    }

    /// Whether an admin's key or account acts, and not a person who logged in: a stolen mailbox must not be enough to decide who may answer.
    pub fn decides_who_answers(&self) -> bool {
        self.role == Role::Admin && self.session_id().is_none()
    }

    /// Whether a message by this route was handed to this gateway, to be passed on. A mail never is: its
    /// recipient answers on a page.
    pub fn is_handed(&self, route: &Route<'_>) -> bool {
        route.channel != EMAIL && self.reports_on(route.channel)
    }

    /// Whether this gateway may report on messages by this channel.
    pub fn reports_on(&self, channel: &str) -> bool {
        self.tied_to.as_ref().is_none_or(|names| names.iter().any(|name| name == channel))
    }

    /// Whether this key may act under the agent name `agent_id` (`X-Agent-ID`): its own name, its subject, or a name below its own (`name/…`).
    pub fn may_act_for(&self, agent_id: &str) -> bool {
        let (agent_id, name) = (form(agent_id), form(&self.name));
        agent_id == name
            || agent_id == form(&self.subject)
            || agent_id.strip_prefix(&name).is_some_and(|rest| rest.len() > 1 && rest.starts_with('/'))
    }
}
