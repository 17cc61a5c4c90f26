//! Commands: the changes to an intent that a caller, the server or the passing of time asks for.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use crate::base::field::FieldError;
use crate::base::ids::{IntentId, LeaseId, PortfolioId, SuspensionId, TaskId};
use crate::base::passkey::Assertion;
use crate::base::time::{rfc3339, seconds};
use crate::container::coordinator::{CoordinatorCommand, CoordinatorStep};
use crate::container::plan::{CheckpointId, PlanCommand, Prepared};
use crate::container::task::{TaskCommand, TaskStep};
use crate::form::Schema;
use crate::intent::access::ChangeAccess;
use crate::intent::assignment::{Assign, Assigned};
use crate::intent::body::Patch;
use crate::intent::event::{ClientEvent, ExtensionCause};
use crate::intent::governance::Policy;
use crate::intent::hands::{Hand, HandStep};
use crate::intent::record::Record;
use crate::intent::status::Status;
use crate::intent::stop_command::StopCommand;
use crate::people::answerer::Answerer;
use crate::people::authority::Action;
use crate::portfolio::membership::Join;
use crate::suspension::FallbackPolicy;
use crate::suspension::delivery::{Asked, Delivery, DeliveryRecord};
use crate::suspension::demand::CommentOnRefusal;
use crate::suspension::errand::Via;
use crate::suspension::evidence::Evidence;
use crate::suspension::proposal::{Named, Proposal};
use crate::suspension::quorum::Quorum;
use crate::suspension::retry::Schedule;
use crate::suspension::seeming::SeemingSecret;
use crate::suspension::{Kind, Question, ResponseType, SuspensionChoice};

/// A question as asked. It has already been checked against the server's rules for questions. Its deadline is computed later, by
/// [`Suspend::expires_at`].
#[derive(Clone, Debug)]
pub struct Suspend {
    /// The id it will have.
    pub id: SuspensionId,
    /// The condition it waits for.
    pub kind: Kind,
    /// The question that people read.
    pub question: Question,
    /// The kind of answer.
    pub response_type: ResponseType,
    /// The choices.
    pub choices: Vec<SuspensionChoice>,
    /// The times at which people are asked, and at which it ends.
    pub schedule: Schedule,
    /// The policy that applies when it expires.
    pub fallback_policy: FallbackPolicy,
    /// The value that then replaces an answer.
    pub fallback_value: Option<Value>,
    /// Whether a fallback other than `fail` applies only if a person has been reached.
    pub requires_delivery: bool,
    /// The treatment of the intent's title if it seems to hold a secret. The title has not been searched yet.
    pub seeming_secret: SeemingSecret,
    /// How many seconds before the requested deadline the server ends the question; present only if the asker's client applies
    /// the deadline by its own clock, too.
    pub guard_seconds: Option<u32>,
    /// How many people must agree; absent if one answer decides.
    pub quorum: Option<Quorum>,
    /// The JSON Schema that an answer must satisfy; only a `form` has one.
    pub schema: Option<Box<Schema>>,
    /// The open suspension it replaces.
    pub supersedes: Option<String>,
    /// The task that cannot go on without the answer, if an agent has escalated one.
    pub task_id: Option<TaskId>,
    /// Differences between the request as written and as understood, for its asker.
    pub warnings: Vec<String>,
}

impl Suspend {
    /// Asks a question that a plan has prepared, under this id.
    pub fn prepared(prepared: &Prepared, id: SuspensionId) -> Self {
        let question = prepared.question.clone();
        Self {
            id,
            kind: Kind::AwaitingInput,
            response_type: ResponseType::Confirm,
            choices: prepared.choices.clone(),
            schedule: Schedule {
                retry_policy: question.retry_policy.clone(),
                timeout_seconds: question.timeout_seconds,
                window_seconds: prepared.window_seconds,
            },
            question,
            fallback_policy: prepared.fallback_policy,
            fallback_value: prepared.fallback_value.clone(),
            requires_delivery: prepared.requires_delivery,
            seeming_secret: SeemingSecret::Warn,
            guard_seconds: None,
            quorum: prepared.quorum.clone(),
            schema: None,
            supersedes: None,
            task_id: None,
            warnings: Vec::new(),
        }
    }

    /// The deadline if the question is asked now: never before the deadline of the question that it supersedes, unless its own
    /// deadline is fixed.
    pub fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let own = self.schedule.expires_at(now);
        if let Some(guard) = self.guard_seconds {
            return own.map(|own| own - seconds(guard));
        }
        self.question.asked_before.as_ref().map_or(own, |before| before.at_least(own))
    }

    /// Whether it supersedes the suspension with this id.
    pub fn names(&self, id: SuspensionId) -> bool {
        self.supersedes.as_deref().and_then(SuspensionId::parse) == Some(id)
    }

    /// The warning for its asker if the deadline is later than the requested one.
    pub fn deadline_warning(&self, now: DateTime<Utc>) -> Option<String> {
        let (own, kept) = (self.schedule.expires_at(now), self.expires_at(now));
        (own != kept && self.guard_seconds.is_none()).then(|| match kept {
            Some(at) => format!(
                "it ends at {}, which is later than timeout_seconds or retry_policy would give, because the superseded question \
                 was asked with that deadline",
                rfc3339(at)
            ),
            None => "it has no deadline, although timeout_seconds or retry_policy would give one, because the superseded \
                     question was asked without a deadline"
                .to_owned(),
        })
    }
}

/// A question that a client wrote into the state of the intent, as a record.
#[derive(Clone, Debug)]
pub struct ByRecord {
    /// The id that the client gave it.
    pub client_id: String,
    /// The question, or the rules that the record breaks.
    pub asked: Result<Box<Suspend>, Vec<FieldError>>,
    /// Whether the id is already in use for a question of this intent; the store finds out.
    pub is_used: bool,
    /// The text of the open question; the store reads it.
    pub open: Option<Box<Question>>,
}

impl ByRecord {
    /// The same record, asking the people whom the open question has asked, if it names none itself. Who is among the assignees may have
    /// changed since, and does not make it another question.
    #[must_use]
    pub fn to_the_same_people(&self) -> Self {
        let mut record = self.clone();
        if let (Ok(suspend), Some(open)) = (&mut record.asked, &self.open)
            && suspend.question.recipients.is_empty()
        {
            suspend.question.recipients.clone_from(&open.recipients);
        }
        record
    }
}

/// An answer as given.
#[derive(Clone, Debug, Default)]
pub struct Respond {
    /// The suspension it names; empty if it names a checkpoint.
    pub suspension_id: String,
    /// The checkpoint whose question it answers, if it names that; the store finds the question.
    pub checkpoint: Option<CheckpointId>,
    /// The answer; absent when the body had none.
    pub value: Option<Value>,
    /// The person in whose name the body claims to answer.
    pub claimed_responded_by: Option<String>,
    /// The `metadata` object that came with the answer.
    pub metadata: Option<Map<String, Value>>,
    /// The kind that the suspension must have, if the answer came by a call that answers only requests of one kind.
    pub expects: Option<Kind>,
    /// The hashes of the open question; the store computes them, because only the store holds the question's text.
    pub evidence: Option<Evidence>,
    /// The signature of a passkey under the answer.
    pub assertion: Option<Box<Assertion>>,
    /// The listed person who answers; the store reads it if the question is assigned to people.
    pub answerer: Option<Answerer>,
    /// Whether a person who refuses must say why; the store reads it with the question.
    pub comment_on_refusal: Option<CommentOnRefusal>,
    /// The person in whose place that one answers, if a place was handed on.
    pub in_place_of: Option<String>,
    /// The action that the question proposes; the store reads it with the question.
    pub proposal: Option<Box<Proposal>>,
    /// The action about which it decides.
    pub named: Named,
    /// Whether the person takes an earlier answer back, in place of giving one.
    pub takes_back: bool,
    /// The door through which it comes; absent in answers of older logs.
    pub via: Option<Via>,
}

/// A later deadline, as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// At this time.
    Until(DateTime<Utc>),
    /// This long after the present deadline.
    By(TimeDelta),
}

/// A change to an existing intent that a caller, the server or the passing of time asks for.
#[derive(Clone, Debug)]
pub enum Command {
    /// Patch its state, acting as this agent.
    PatchState {
        /// The patches, in order.
        patches: Vec<Patch>,
        /// The acting agent.
        agent_id: String,
    },
    /// Change its status.
    SetStatus {
        /// The new status.
        status: Status,
        /// The reason.
        reason: Option<String>,
        /// The id of the announcement, if the status announces a question of a client that suspends in three calls.
        announces: Option<SuspensionId>,
    },
    /// Append a client's event.
    Append(ClientEvent),
    /// Keep data with the intent.
    Record(Box<Record>),
    /// Assign an agent.
    Assign(Box<Assign>),
    /// Take an agent off.
    Unassign {
        /// The agent.
        agent_id: String,
    },
    /// Change the access of agents to it.
    Access(Box<ChangeAccess>),
    /// Put it into a portfolio, or change its place there (RFC-0007).
    Join(Join),
    /// Take it out of a portfolio.
    Leave(PortfolioId),
    /// Let it wait for another intent (RFC-0002).
    AddDependency(IntentId),
    /// Let it wait for another intent no longer.
    RemoveDependency(IntentId),
    /// An intent for which it waits was completed.
    DependencyCompleted(IntentId),
    /// Create a task, change it, or say how far it is (RFC-0012).
    Task(Box<TaskCommand>),
    /// Create a plan, or change it (RFC-0012).
    Plan(Box<PlanCommand>),
    /// Take the lease of a coordinator, or say that the coordinator is alive (RFC-0013).
    Coordinate(Box<CoordinatorCommand>),
    /// The next step after a failure may be due (RFC-0010).
    RetryDue {
        /// The assignment of the fallback agent, if it is assigned already.
        in_force: Option<Box<Assigned>>,
    },
    /// Set the policy, or remove it (RFC-0013).
    Govern(Option<Box<Policy>>),
    /// Take a lease.
    AcquireLease {
        /// The id it will have.
        id: LeaseId,
        /// The agent that takes the lease.
        agent_id: String,
        /// The scope of the lease.
        scope: String,
        /// The duration, in seconds.
        duration_seconds: u32,
    },
    /// Prolong a lease.
    RenewLease {
        /// The lease.
        id: LeaseId,
        /// The agent that holds it.
        agent_id: String,
        /// The duration from now on, in seconds.
        duration_seconds: u32,
    },
    /// Give a lease back.
    ReleaseLease {
        /// The lease.
        id: LeaseId,
        /// The agent that holds it.
        agent_id: String,
    },
    /// Ask a question (RFC-0025 §9.1).
    Suspend(Box<Suspend>),
    /// Ask the question in the record that a client writes into the state: the second of its three calls to suspend an intent.
    SuspendByRecord(Box<ByRecord>),
    /// The time for an announced question is over.
    AnnouncementDue,
    /// Answer a question (RFC-0025 §8).
    Respond(Box<Respond>),
    /// Stop the intent, or let it go on.
    Stop(Box<StopCommand>),
    /// Change in whose hands a question is: claim it, release it, hand a place on, assign it to others.
    Hand(Box<Hand>),
    /// Withdraw a question.
    Cancel {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The reason.
        reason: Option<String>,
    },
    /// Move the deadline of an open question, later only.
    Extend {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The new deadline.
        later: Later,
        /// The reason in the caller's words.
        reason: Option<String>,
        /// The cause that made it necessary.
        cause: ExtensionCause,
    },
    /// Remind at once the people that an open question asks at present.
    Remind {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The question and the messages about it; the store reads them if the suspension is open.
        asked: Option<Box<Asked>>,
    },
    /// The deadline of a suspension is due (RFC-0025 §6).
    DeadlineReached {
        /// The suspension.
        suspension_id: SuspensionId,
    },
    /// The next attempt of a suspension is due (RFC-0026 §4).
    AttemptDue {
        /// The suspension.
        suspension_id: SuspensionId,
        /// The question, with its recipients; the caller has read it with the suspension.
        question: Box<Question>,
    },
    /// A message about a suspension was accepted for delivery, came back, or never will be accepted.
    RecordDelivery(Box<DeliveryRecord>),
    /// A message that has failed is sent again.
    Redrive(Box<Delivery>),
}

impl Command {
    /// The same command, which comes through this door; only an answer names its door.
    #[must_use]
    pub fn through(self, via: Via) -> Self {
        if let Self::Respond(respond) = self { Self::Respond(Box::new(Respond { via: Some(via), ..*respond })) } else { self }
    }

    /// The action that the caller must be allowed; `None` for commands that only the server itself gives.
    pub fn action(&self) -> Option<Action> {
        match self {
            Self::PatchState { .. } => Some(Action::PatchState),
            Self::SetStatus { .. } => Some(Action::SetStatus),
            Self::Record(record) if record.assigns().is_some() => Some(Action::Assign),
            Self::Append(_) | Self::Record(_) => Some(Action::AppendEvent),
            Self::Assign(_) | Self::Unassign { .. } => Some(Action::Assign),
            Self::Access(change) => Some(change.action()),
            Self::Join(_) => Some(Action::JoinPortfolio),
            Self::Leave(_) => Some(Action::LeavePortfolio),
            Self::AddDependency(_) => Some(Action::AddDependency),
            Self::RemoveDependency(_) => Some(Action::RemoveDependency),
            Self::Task(task) if task.step == TaskStep::LookAtLease => None,
            Self::Coordinate(command) if command.step == CoordinatorStep::Look => None,
            Self::Task(_) | Self::Plan(_) | Self::Coordinate(_) => Some(Action::WorkOnTask),
            Self::Govern(_) => Some(Action::Govern),
            Self::AcquireLease { .. } | Self::RenewLease { .. } | Self::ReleaseLease { .. } => Some(Action::Lease),
            Self::Suspend(_) | Self::SuspendByRecord(_) => Some(Action::Suspend),
            Self::Respond(respond) if respond.expects.is_some() || respond.takes_back => Some(Action::Decide),
            Self::Respond(_) => Some(Action::Respond),
            Self::Hand(hand) if matches!(hand.step, HandStep::StandIn { .. }) => None,
            Self::Hand(hand) => Some(hand.step.action()),
            Self::Stop(stop) => Some(stop.action()),
            Self::Cancel { .. } => Some(Action::Cancel),
            Self::Extend { .. } => Some(Action::Extend),
            Self::Remind { .. } => Some(Action::Remind),
            Self::Redrive(_) => Some(Action::Redrive),
            Self::AnnouncementDue
            | Self::RetryDue { .. }
            | Self::DependencyCompleted(_)
            | Self::DeadlineReached { .. }
            | Self::AttemptDue { .. }
            | Self::RecordDelivery(_) => None,
        }
    }

    /// The question that the command asks, in one call or by a record.
    pub fn asks(&self) -> Option<&Suspend> {
        if let Self::Suspend(suspend) = self {
            return Some(suspend);
        }
        if let Self::SuspendByRecord(record) = self { record.asked.as_deref().ok() } else { None }
    }

    /// The same command with another question to ask.
    #[must_use]
    pub fn asking(&self, suspend: Suspend) -> Self {
        if let Self::SuspendByRecord(record) = self {
            return Self::SuspendByRecord(Box::new(ByRecord { asked: Ok(Box::new(suspend)), ..(**record).clone() }));
        }
        Self::Suspend(Box::new(suspend))
    }

    /// Whether the policy of the intent can refuse this command. A policy cannot refuse commands that ask people or that answer.
    /// `Unassign` is not listed here: `govern::enforce` decides about it, because an agent may always take itself off.
    pub fn is_governed(&self) -> bool {
        matches!(
            self,
            Self::PatchState { .. }
                | Self::SetStatus { announces: None, .. }
                | Self::Record(_)
                | Self::Assign(_)
                | Self::AddDependency(_)
                | Self::RemoveDependency(_)
                | Self::AcquireLease { .. }
                | Self::RenewLease { .. }
                | Self::Task(_)
                | Self::Plan(_)
                | Self::Coordinate(_)
                | Self::Govern(_)
        )
    }

    /// The suspension that the command names, so that a store can load it even if it has ended.
    pub fn names_suspension(&self) -> Option<SuspensionId> {
        match self {
            Self::Respond(respond) => SuspensionId::parse(&respond.suspension_id),
            Self::Suspend(suspend) => suspend.supersedes.as_deref().and_then(SuspensionId::parse),
            Self::Hand(hand) => Some(hand.suspension_id),
            Self::Stop(stop) => stop.names_suspension(),
            Self::Cancel { suspension_id, .. }
            | Self::Extend { suspension_id, .. }
            | Self::Remind { suspension_id, .. }
            | Self::DeadlineReached { suspension_id }
            | Self::AttemptDue { suspension_id, .. } => Some(*suspension_id),
            Self::RecordDelivery(record) => Some(record.delivery.suspension_id),
            Self::Redrive(delivery) => Some(delivery.suspension_id),
            Self::PatchState { .. }
            | Self::SetStatus { .. }
            | Self::SuspendByRecord(_)
            | Self::AnnouncementDue
            | Self::Append(_)
            | Self::Record(_)
            | Self::Assign(_)
            | Self::Unassign { .. }
            | Self::Access(_)
            | Self::Join(_)
            | Self::Leave(_)
            | Self::AddDependency(_)
            | Self::RemoveDependency(_)
            | Self::DependencyCompleted(_)
            | Self::Task(_)
            | Self::Plan(_)
            | Self::Coordinate(_)
            | Self::RetryDue { .. }
            | Self::Govern(_)
            | Self::AcquireLease { .. }
            | Self::RenewLease { .. }
            | Self::ReleaseLease { .. } => None,
        }
    }

    /// The intent that the command adds to the dependencies or removes from them.
    pub fn names_dependency(&self) -> Option<IntentId> {
        if let Self::AddDependency(id) = self {
            return Some(*id);
        }
        if let Self::RemoveDependency(id) = self { Some(*id) } else { None }
    }

    /// The portfolio that the command is about.
    pub fn names_portfolio(&self) -> Option<PortfolioId> {
        if let Self::Leave(portfolio_id) = self {
            return Some(*portfolio_id);
        }
        if let Self::Join(join) = self { Some(join.portfolio_id) } else { None }
    }
}
