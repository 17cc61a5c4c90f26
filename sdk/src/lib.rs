//! Ask a person from an agent, and get a typed answer.
//!
//! This is the client of the Placet approval server (OpenIntent RFC-0025 and RFC-0026). An agent suspends its intent with a
//! question; the server keeps the deadline, the reminders and the fallback, and carries the question to people; the agent gets an
//! [`Answer`] whose [`Source`] tells whether a person gave it.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use placet::{Choice, Choices, Client, Question, Source, Style};
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum RefundDecision {
//!     Approve,
//!     Deny,
//! }
//!
//! impl Choices for RefundDecision {
//!     fn choices() -> Vec<(Self, Choice)> {
//!         vec![
//!             (Self::Approve, Choice::new("approve", "Approve refund").style(Style::Primary)),
//!             (Self::Deny, Choice::new("deny", "Deny refund").style(Style::Danger)),
//!         ]
//!     }
//! }
//!
//! # async fn example(api_key: String) -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("https://placet.example.com", api_key)?;
//! let intent = client.create_intent("Refund order #12345").active().send().await?;
//! let question = Question::choice::<RefundDecision>("Refund order #12345?")
//!     .context("amount", 499.99)
//!     .timeout(Duration::from_hours(1))
//!     .fallback(RefundDecision::Deny);
//! let answer = intent.request_input(question).await?;
//! match (answer.value, answer.source) {
//!     (RefundDecision::Approve, Source::Human { by, .. }) => println!("{by} approved"),
//!     (RefundDecision::Deny, Source::Human { by, .. }) => println!("{by} denied"),
//!     (_, Source::Fallback { .. }) => println!("no person answered, so no refund"),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * Waiting survives crashes: asking again finds the question asked before, see [`Question`].
//! * A program cannot mistake silence for a person: a fallback arrives as [`Source::Fallback`], and every other ending without an
//!   answer is a variant of [`RequestInputError`].
//! * The decision whether to ask at all is an [`Engagement`], an enum to be matched, because "do not ask" may also mean "do not
//!   act".
//! * [`Hooks`] tell a program about events during a wait; [`Client::pending`] resumes a wait by the question's id.
//! * The feature `blocking` adds `placet::blocking`, the same client for programs without an async runtime.
//! * A key and a suspension id are secrets: this crate never logs or shows them.
#![warn(missing_docs)]

mod agents;
mod answer;
mod approval;
mod backoff;
#[cfg(feature = "blocking")]
pub mod blocking;
mod choice;
mod client;
mod coordinator;
mod demand;
mod drafts;
mod engagement;
mod error;
mod failure;
mod governance;
mod graph;
mod hands;
mod hooks;
mod intent;
mod key;
mod lease;
mod log;
mod many;
mod operator;
mod pending;
mod plan;
mod portfolio;
mod problem;
mod question;
mod receipt;
mod seconds;
mod several;
mod sse;
mod stop;
mod subscription;
mod task;
mod transport;

pub use domain::asking::engagement::{EngagementDecision, EngagementMode, EngagementSignals};
pub use domain::base::field::FieldError;
pub use domain::base::ids::{CoordinatorId, IntentId, PlanId, PortfolioId, ReceiptId, SuspensionId, TaskId};
pub use domain::base::passkey::{Assertion, KnownPasskey, Octets};
pub use domain::base::sealed::Hash;
pub use domain::container::coordinator::{CoordinatorStatus, CoordinatorType, SuspensionPolicy};
pub use domain::container::plan::{CheckpointStatus, FailureAction, PlanState, TimeoutAction};
pub use domain::container::task::TaskStatus;
pub use domain::intent::governance::{CompletionMode, Policy as GovernancePolicy, WriteScope};
pub use domain::intent::receipt::Decision;
pub use domain::intent::record::RetryStrategy;
pub use domain::intent::status::Status;
pub use domain::portfolio::membership::MembershipRole;
pub use domain::portfolio::{PortfolioPolicy, PortfolioStatus};
pub use domain::suspension::assignees::{AssignedRole, Assignees};
pub use domain::suspension::demand::Risk;
pub use domain::suspension::draft::DraftValues;
pub use domain::suspension::evidence::action_digest;
pub use domain::suspension::grounds::{Explanation, Reversibility};
pub use domain::suspension::lease::{Lease as LeaseView, LeaseStatus};
pub use domain::suspension::retry::{HumanRetryPolicy, OneOrMany, PartialRetryPolicy, Rung};
pub use domain::suspension::stop::{Cause, Conditions, Mode, OnTimeout, Provider, Stage, Timeout, Trigger};
pub use domain::suspension::{FallbackPolicy, Kind, RequiredAssurance, Resolution, ResolutionReason, ResponseType, Style};
pub use domain::wire::{
    AggregateStatus, AssignmentView, AtTheEnd, CoordinatorDecisionView, CoordinatorView, DraftList, DraftView, EarlierDecision,
    EventView, FailureView, GraphView, GuardrailsRequest as Guardrails, IntentView, MemberView, MembershipView, PlanView,
    PortfolioView, ReceiptFileView, ReceiptState, ReceiptView, RecordFailureRequest as Failure, RespondResponse, RetryPolicyView,
    ScheduledAttempt, ServerConfigView, ServerEventView, SetRetryPolicyRequest as AgentRetryPolicy, StopRecord, StopResolution,
    SuspensionPage, SuspensionPreview, SuspensionRecord, SuspensionView, TaskView, What,
};
pub use proof::key::VerifyingKey;
pub use proof::passkey::PasskeyError;
pub use proof::receipt::{FileError as ReceiptError, LogKeys};
pub use secrecy::SecretString;

pub use crate::answer::{Answer, Source};
pub use crate::approval::Approval;
pub use crate::choice::{Choice, Choices};
pub use crate::client::{Client, ClientBuilder};
pub use crate::coordinator::{Coordinate, Coordinator};
pub use crate::engagement::Engagement;
pub use crate::error::{CallError, CancelReason, RequestInputError, SetupError, TimeoutReason, TransportError};
pub use crate::graph::Related;
pub use crate::hooks::{Expiry, Hooks};
pub use crate::intent::{CreateIntent, Intent};
pub use crate::lease::Lease;
pub use crate::log::{LogCheckpoint, LogError};
pub use crate::pending::Pending;
pub use crate::plan::{Checkpoint, CreatePlan, Plan};
pub use crate::portfolio::{CreatePortfolio, Portfolio};
pub use crate::problem::Problem;
pub use crate::question::Question;
pub use crate::receipt::{SignatureError, Signed, verify_receipt, verify_signature};
pub use crate::stop::GoOn;
pub use crate::subscription::{StreamEvent, Streamed, Subscription};
pub use crate::task::{CreateTask, Task};

/// The examples of the documents, which compile unchanged.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/sdk.md")]
    struct Sdk;
}
