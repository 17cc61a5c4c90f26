//! Writes as callers ask for them, and what they get.

use domain::base::field::FieldError;
use domain::base::ids::{DeliveryId, IntentId, KeyId, SuspensionId};
use domain::intent::body::IntentBody;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::suspension::lease::Lease;
use domain::wire::{IntentView, RespondResponse, SuspensionRecord};
use serde::{Deserialize, Serialize};

use crate::span::TraceContext;

/// What `If-Match` said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing, and nothing was needed.
    None,
    /// Nothing, or no version, where a version was needed.
    Missing,
    /// This version.
    Version(u32),
}

/// What makes a repeat recognisable: hashes of (principal, method, route, key) and of the canonical body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key_hash: [u8; 32],
    pub body_hash: [u8; 32],
}

/// One write by somebody, with everything that is checked before it is decided.
#[derive(Clone, Debug)]
pub struct Request {
    pub principal: Principal,
    pub target: Target,
    pub precondition: Precondition,
    pub idempotency: Option<Idempotency>,
    /// The command, or why it could not be read.
    pub command: Result<Command, Unreadable>,
    /// The caller's span, if it named one.
    pub trace_parent: Option<TraceContext>,
}

/// A command whose fields break rules. The caller hears which ones only if it may do what it meant.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// What the caller meant to do.
    pub action: Action,
    pub errors: Vec<FieldError>,
}

impl Request {
    /// What the caller must be allowed to do: the command says so itself. `None` for what only the server does.
    pub fn action(&self) -> Option<Action> {
        match &self.command {
            Ok(command) => command.action(),
            Err(unreadable) => Some(unreadable.action),
        }
    }
}

/// What a write is aimed at.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Intent(IntentId),
    /// The intent of this suspension.
    Suspension(SuspensionId),
}

/// A message that is to be sent again.
#[derive(Clone, Copy, Debug)]
pub struct Redrive {
    pub id: DeliveryId,
    pub idempotency: Option<Idempotency>,
}

/// A new intent, with everything that is checked before it exists.
#[derive(Clone, Debug)]
pub struct CreateIntent {
    pub principal: Principal,
    pub idempotency: Option<Idempotency>,
    pub intent: Result<NewIntent, Vec<FieldError>>,
}

/// A new intent.
#[derive(Clone, Debug)]
pub struct NewIntent {
    pub id: IntentId,
    pub status: Status,
    pub body: IntentBody,
}

/// Where the secret of a new key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretOrigin {
    /// This program drew it.
    Drawn,
    /// It was brought along.
    Imported,
}

/// A key to be kept: everything but its secret, of which only the hash goes in.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub subject: String,
    pub owner: String,
    /// The channels a gateway is tied to.
    pub tied_to: Option<Vec<String>>,
    pub hash: [u8; 32],
    pub origin: SecretOrigin,
}

/// What a write did, as the caller gets to see it; stored for replays.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Intent(Box<IntentView>),
    Suspension {
        record: Box<SuspensionRecord>,
        /// For `ETag`: the intent's where an intent was written, else the suspension's.
        version: u32,
    },
    Responded {
        response: Box<RespondResponse>,
        /// The intent's, for `ETag`.
        version: u32,
    },
    /// The event as served.
    Event(String),
    Lease(Box<Lease>),
}
