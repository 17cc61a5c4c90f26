//! Who acts: a role, and the credential that names it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{DeliveryId, KeyId};
use crate::base::name::{SERVER, form};
use crate::suspension::channel::{EMAIL, Route};

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Asks: creates and suspends its own intents, reads them.
    Agent,
    /// Answers.
    Operator,
    /// Manages keys, withdraws questions; does not answer.
    Admin,
    /// Reads everything, changes nothing.
    Auditor,
    /// A gateway that answers for people it names.
    Channel,
}

impl Role {
    /// All roles, for tables and help texts.
    pub const ALL: [Self; 5] = [Self::Agent, Self::Operator, Self::Admin, Self::Auditor, Self::Channel];

    /// The word used on every surface.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Operator => "operator",
            Self::Admin => "admin",
            Self::Auditor => "auditor",
            Self::Channel => "channel",
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
            .ok_or_else(|| "expected agent, operator, admin, auditor or channel".to_owned())
    }
}

/// How sure we are that the subject is who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Possession of the mailbox a link was sent to.
    EmailLink,
    /// Possession of an API key.
    ApiKey,
    /// The server itself, on a timer.
    Server,
    /// An account of a machine that can open the database.
    Local,
}

/// By which credential somebody acts. The log names it, because names can be given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "id", rename_all = "snake_case")]
pub enum Credential {
    /// An API key.
    ApiKey(KeyId),
    /// The answer link of this message.
    EmailLink(DeliveryId),
}

/// Who acts, as the credential says; nothing in a body changes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The credential; absent for the server itself, and for a link of a message from before links were kept with theirs.
    pub credential: Option<Credential>,
    /// The credential's name; the actor in the log, and for agents their identity.
    pub name: String,
    /// The person or service behind it; what `responded_by` says.
    pub subject: String,
    /// Groups credentials that belong together; none of them answers what another asked.
    pub owner: String,
    /// What it is for.
    pub role: Role,
    /// The channels a gateway is tied to by name; absent for an unbound gateway, which answers whatever it knows the id of, and for every
    /// other credential.
    pub tied_to: Option<Vec<String>>,
    /// How sure we are.
    pub assurance: Assurance,
}

impl Principal {
    /// The server itself, when a deadline acts.
    pub fn server() -> Self {
        Self {
            credential: None,
            name: SERVER.to_owned(),
            subject: SERVER.to_owned(),
            owner: SERVER.to_owned(),
            role: Role::Admin,
            tied_to: None,
            assurance: Assurance::Server,
        }
    }

    /// An account that works on the database itself, by the command line: `local:<uid>@<host>`. It may do what an admin may.
    pub fn local(account: &str) -> Self {
        let name = format!("local:{account}");
        Self {
            credential: None,
            name: name.clone(),
            subject: name.clone(),
            owner: name,
            role: Role::Admin,
            tied_to: None,
            assurance: Assurance::Local,
        }
    }

    /// The holder of the answer link in a message to `recipient`.
    pub fn link_holder(recipient: &str, message: Option<DeliveryId>) -> Self {
        Self {
            credential: message.map(Credential::EmailLink),
            name: recipient.to_owned(),
            subject: recipient.to_owned(),
            // A mailbox is no key's owner: who runs an agent may be the one it has to ask.
            owner: format!("mailbox:{recipient}"),
            role: Role::Operator,
            tied_to: None,
            assurance: Assurance::EmailLink,
        }
    }

    /// The key, when a key was presented.
    pub fn key_id(&self) -> Option<KeyId> {
        match self.credential {
            Some(Credential::ApiKey(id)) => Some(id),
            Some(Credential::EmailLink(_)) | None => None,
        }
    }

    /// Whether a message by this route was handed to this gateway, to be passed on. A mail never is: who gets it answers on its page.
    pub fn is_handed(&self, route: &Route<'_>) -> bool {
        route.channel != EMAIL && self.reports_on(route.channel)
    }

    /// Whether this gateway may say what became of messages by this channel.
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
