//! Writes as callers request them, and their outcomes.

use domain::base::field::FieldError;
use domain::base::ids::{CoordinatorId, DeliveryId, IntentId, KeyId, PlanId, PortfolioId, SubscriptionId, SuspensionId, TaskId};
use domain::base::name::Owner;
use domain::intent::body::IntentBody;
use domain::intent::command::Command;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::client::Client;
use domain::people::principal::{Principal, Role};
use domain::portfolio::PortfolioBody;
use domain::subscription::{Push, SubscriptionBody};
use domain::suspension::lease::Lease;
use domain::wire::{
    AccessView, CoordinatorView, IntentView, MembershipView, PlanView, PortfolioView, RespondResponse, StopRecord,
    SubscriptionView, SuspensionRecord, TaskView,
};
use serde::{Deserialize, Serialize};

use crate::error::Wanted;
use crate::span::TraceContext;

/// The `If-Match` header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// No version was given, and none was needed.
    None,
    /// No valid version was given, and one was needed.
    Missing,
    /// This version must be the current one.
    Version(u32),
}

/// Makes a repeated request recognisable: hashes of (principal, method, route, key) and of the canonical body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key_hash: [u8; 32],
    pub body_hash: [u8; 32],
}

/// One write by a principal, with everything that is checked before it is decided.
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

/// A command whose fields break rules. A caller learns which fields only if it may give the command.
#[derive(Clone, Debug)]
pub struct Unreadable {
    /// The action that the caller meant.
    pub action: Action,
    pub errors: Vec<FieldError>,
}

impl Request {
    /// A request without a condition, an idempotency key and a span.
    pub fn plain(principal: Principal, target: Target, command: Result<Command, Unreadable>) -> Self {
        Self { principal, target, precondition: Precondition::None, idempotency: None, command, trace_parent: None }
    }

    /// Whether the request asks a question by a call of its own, and not by a record in the intent's state. The idempotency key
    /// of that call is kept with the question.
    pub(crate) fn asks_under_a_key(&self) -> bool {
        self.action() == Some(Action::Suspend) && !matches!(self.command, Ok(Command::SuspendByRecord(_)))
    }

    /// Whether the request stops an intent, or lets it go on.
    pub(crate) fn is_about_a_stop(&self) -> bool {
        matches!(self.action(), Some(Action::Pause | Action::Park | Action::Settle | Action::Resume | Action::Stop))
    }

    /// The action for which the caller needs permission, as the command determines it. `None` for commands that only the server
    /// may give.
    pub fn action(&self) -> Option<Action> {
        match &self.command {
            Ok(command) => command.action(),
            Err(unreadable) => Some(unreadable.action),
        }
    }
}

/// The target of a write.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    Intent(IntentId),
    /// The intent of this suspension.
    Suspension(SuspensionId),
    /// The intent of this task.
    Task(TaskId),
    /// The intent of this plan.
    Plan(PlanId),
    /// The intent of this lease of a coordinator.
    Coordinator(CoordinatorId),
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
    /// The parent in the path, if the path has one. A parent that the caller may not read is reported as not found before the
    /// fields of the body are checked.
    pub below: Option<IntentId>,
    pub intent: Result<NewIntent, Vec<FieldError>>,
}

/// A new intent.
#[derive(Clone, Debug)]
pub struct NewIntent {
    pub id: IntentId,
    pub status: Status,
    pub body: IntentBody,
}

/// A new portfolio.
#[derive(Clone, Debug)]
pub struct NewPortfolio {
    pub id: PortfolioId,
    pub body: PortfolioBody,
}

/// A write to an object other than an intent; it may repeat an earlier write.
#[derive(Clone, Debug)]
pub struct Repeatable<T> {
    pub idempotency: Option<Idempotency>,
    /// The content of the write, or why it could not be read.
    pub wanted: Wanted<T>,
}

/// A new endpoint for the changes of a task.
#[derive(Clone, Debug)]
pub struct NewPush {
    pub id: SubscriptionId,
    pub intent_id: IntentId,
    pub url: String,
    pub push: Push,
}

/// A new subscription.
#[derive(Clone, Debug)]
pub struct NewSubscription {
    pub id: SubscriptionId,
    pub intent_id: IntentId,
    pub body: SubscriptionBody,
}

/// Where the secret of a new key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretOrigin {
    /// This program made it at random.
    Drawn,
    /// It came from outside this program.
    Imported,
}

/// A key to be stored: everything but its secret, of which only the hash is stored.
#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: KeyId,
    pub name: String,
    pub role: Role,
    pub subject: String,
    pub owner: Owner,
    /// The channels a gateway is tied to.
    pub tied_to: Option<Vec<String>>,
    /// The client program that uses the key.
    pub client: Option<Client>,
    pub hash: [u8; 32],
    pub origin: SecretOrigin,
}

/// The outcome of a write, as its caller sees it; stored for repeated requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Intent(Box<IntentView>),
    Suspension {
        record: Box<SuspensionRecord>,
        /// The version for `ETag`: the intent's if an intent was written, else the suspension's.
        version: u32,
    },
    Responded {
        response: Box<RespondResponse>,
        /// The version of the intent, for `ETag`.
        version: u32,
    },
    /// The event as served.
    Event(String),
    Lease(Box<Lease>),
    Access(Box<AccessView>),
    Portfolio(Box<PortfolioView>),
    /// The place of an intent in a portfolio.
    Membership(MembershipView),
    Task(Box<TaskView>),
    Plan(Box<PlanView>),
    Coordinator(Box<CoordinatorView>),
    /// The stop of an intent.
    Stop(Box<StopRecord>),
    /// The subscription without its secret.
    Subscription(Box<SubscriptionView>),
}
