//! The one table of refusals: code, status, title.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::base::field::FieldError;
use crate::base::ids::{CoordinatorId, IntentId};
use crate::base::passkey_fault::PasskeyFault;
use crate::base::time::rfc3339;
use crate::suspension::lease::Lease;
use crate::suspension::proposal::Change;
use crate::suspension::stop_refusal::StopRefusal;
use crate::suspension::{RequiredAssurance, Resolution, ResolutionReason};

/// Why the server refused a request. A refusal is an answer, not a failure: the state is as it was.
#[derive(Clone, Debug, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Rejection {
    /// The object does not exist, or the caller may not read it: the two look the same.
    #[error("not found")]
    NotFound,
    /// The caller may read the object, but may not perform this action on it.
    #[error("{reason}")]
    Forbidden {
        /// The requirement that is not met.
        reason: String,
    },
    /// An agent tried to answer, or a key that has the name or the owner of the agent that asked or that created the intent.
    #[error("the agent that asked, the agent that created the intent, and their owners may not answer")]
    SelfResponse,
    /// The question is assigned to people, and the caller stands for none of them.
    #[error("the question is assigned to other people, and only they may answer")]
    NotAssigned,
    /// Another answer through the same gateway counts towards the quorum.
    #[error("an answer through this gateway counts already: of each gateway, a quorum counts one person")]
    GatewayCounted,
    /// Another person has edited the proposed action since it was shown to the person who answers.
    #[error("the proposed action was edited since; look at it again, and name its action_digest in based_on")]
    ProposalChanged {
        /// The digest of the action as it stands.
        action_digest: String,
        /// The differences from the action that the agent proposed.
        changes: Vec<Change>,
    },
    /// A person wants to take back an answer that does not count.
    #[error("the person has no counted answer to this question, so none can be taken back")]
    NotCounted,
    /// The caller has not claimed the question.
    #[error("you have not claimed this question, so there is no claim to release")]
    NotClaimed,
    /// The caller would hand on a place in which an answer counts.
    #[error("your answer to this question counts; take it back before you hand your place to another person")]
    HasAnswered,
    /// The question demands more assurance of the person than this way to answer gives.
    #[error("the question demands the assurance {required}: {}", how_to_meet(*required))]
    AssuranceTooLow {
        /// The assurance that the question demands.
        required: RequiredAssurance,
        /// The assurance of the answer; absent for a link or a key, which are less than every demand.
        given: Option<RequiredAssurance>,
    },
    /// The assertion of a passkey is not accepted.
    #[error("the passkey is not accepted: {reason}")]
    PasskeyRefused {
        /// The requirement that is not met.
        reason: PasskeyFault,
    },
    /// A client tried to write an event that only the server writes.
    #[error("clients may not append events of type {event_type}")]
    ReservedEventType {
        /// The type.
        event_type: String,
    },
    /// A write that needs `If-Match` came without it, or with an invalid version.
    #[error("If-Match header required")]
    IfMatchRequired,
    /// A write to a task that needs `If-Match` came without it, or with an invalid version.
    #[error("If-Match header required")]
    PreconditionRequired,
    /// The same idempotency key came with another body.
    #[error("this Idempotency-Key was used with another request")]
    IdempotencyMismatch,
    /// Fields that break rules.
    #[error("{}", first_message(.errors))]
    Invalid {
        /// The fields, each with its rule.
        errors: Vec<FieldError>,
    },
    /// The value is none of the choices.
    #[error("the value “{given}” is not one of the valid choices")]
    InvalidChoice {
        /// The value as plain text on one line, cut after 100 characters.
        #[serde(default)]
        given: String,
        /// The accepted values.
        valid_choices: Vec<String>,
    },
    /// The version in the request is not the current one.
    #[error("Version conflict")]
    VersionConflict {
        /// The current version.
        current_version: u32,
    },
    /// The deadline of the named suspension has passed, or the suspension was undeliverable.
    #[error("the deadline of this suspension has passed")]
    Expired {
        /// The deadline.
        #[serde(with = "crate::base::time::z_option", default)]
        expired_at: Option<DateTime<Utc>>,
    },
    /// The named suspension has ended already: it was answered or cancelled.
    #[error("this suspension is already {}", ending_word(*.resolution, *.reason))]
    AlreadyResolved {
        /// The ending.
        resolution: Resolution,
        /// The kind of cancellation.
        reason: Option<ResolutionReason>,
        /// When the suspension ended.
        #[serde(with = "crate::base::time::z")]
        resolved_at: DateTime<Utc>,
        /// The subject that ended it.
        resolved_by: Option<String>,
    },
    /// The id is not the id of the open suspension.
    #[error("suspension_id mismatch: it does not name the open suspension")]
    SuspensionMismatch,
    /// The intent has no open suspension.
    #[error("the intent is not suspended")]
    NotSuspended,
    /// Only an active intent can be suspended.
    #[error("the intent is {status}, and in this status no question or request can be made")]
    NotActive {
        /// The status of the intent.
        status: String,
    },
    /// The request writes to `_suspension` or `_pause`, which only the server may do.
    #[error(
        "state._suspension and state._pause are owned by the server; use POST /api/v1/intents/{{id}}/suspend, /pause or /park"
    )]
    SuspensionIsServerOwned,
    /// A client sent the record of a question, but had not set the status that announces it, or had set it too long ago.
    #[error("set the status suspended_awaiting_input first, and send the record at once")]
    NotAnnounced,
    /// The client gave this id to an earlier question of the intent.
    #[error("a question of this intent had this id before; give each question an id of its own")]
    RecordIdUsed,
    /// The new question would end before the deadline of the open question. People were told that later deadline.
    #[error("the question would end before the one that is open, and people were told of the later time")]
    EndsEarlier,
    /// The deadline of the question does not move.
    #[error("the deadline of this question does not move: its agent applies it by its own clock as well")]
    DeadlineFixed,
    /// The status `suspended_awaiting_input` is set only by asking a question.
    #[error(
        "use POST /api/v1/intents/{{id}}/suspend to suspend an intent; agents of the OpenIntent client need a key that was made with --client openintent-0.17"
    )]
    UseSuspend,
    /// The lifecycle has no step between these two statuses (RFC-0001, RFC-0025 §2).
    #[error("an intent cannot go from {from} to {to}")]
    InvalidTransition {
        /// The present status.
        from: String,
        /// The requested status.
        to: String,
    },
    /// Another agent holds the lease.
    #[error("the lease on this scope is held by another agent")]
    LeaseConflict {
        /// The lease in force.
        existing: Box<Lease>,
    },
    /// Another agent directs the intent (RFC-0013).
    #[error("another agent has the lease of the coordinator")]
    CoordinatorConflict {
        /// The lease in force.
        existing: Box<Directing>,
    },
    /// The lease of the coordinator has ended.
    #[error("the lease of the coordinator has ended; take it again")]
    CoordinatorEnded,
    /// A limit of the work on the intent forbids the command (RFC-0013).
    #[error("the guardrail {guardrail} of the intent allows {limit}, and this would be {attempted}")]
    GuardrailViolation {
        /// The guardrail.
        guardrail: String,
        /// Its limit.
        limit: String,
        /// The value that the command would bring.
        attempted: String,
    },
    /// The people were reminded a moment ago.
    #[error("people were reminded a moment ago; try again in {retry_after_seconds} seconds")]
    TooSoon {
        /// After how many seconds the request would not be refused.
        retry_after_seconds: u32,
    },
    /// Within an hour, the intent asked too many new questions after questions that got no answer.
    #[error(
        "questions of this intent were taken back and asked anew more than {asks_per_hour} times within an hour (questions.asks_per_hour); try again in \
         {retry_after_seconds} seconds"
    )]
    AskedTooOften {
        /// How often within an hour it may ask a new question after one that got no answer.
        asks_per_hour: u32,
        /// After how many seconds the request would not be refused.
        retry_after_seconds: u32,
    },
    /// The agent has written as many bytes today as it may.
    #[error(
        "this agent has written the {bytes_per_day} bytes it may write in a day (UTC); try again in {retry_after_seconds} seconds"
    )]
    BytesSpent {
        /// The limit.
        bytes_per_day: u64,
        /// The seconds until the day ends.
        retry_after_seconds: u32,
    },
    /// The disk is nearly full, and the space that is left is kept for people's answers.
    #[error("the server's disk is nearly full, and what is left is kept for answers; nothing was written")]
    NoRoom,
    /// The policy of the intent forbids the request.
    #[error("{message}")]
    GovernanceViolation {
        /// The rule: a member of the policy.
        rule: String,
        /// The requirement that is not met.
        message: String,
    },
    /// The portfolio is completed or abandoned, and its status never changes again.
    #[error("a portfolio cannot go from {from} to {to}")]
    PortfolioTransition {
        /// The present status.
        from: String,
        /// The requested status.
        to: String,
    },
    /// The portfolio is completed or abandoned, so no intent can be added to it or get another role or priority in it.
    #[error("the portfolio is {status}; only an active portfolio takes intents and can be changed")]
    PortfolioNotActive {
        /// The status of the portfolio.
        status: String,
    },
    /// The deadline of a portfolio has passed. Its intents then ask no more questions, no intent is added to it, and the deadline
    /// cannot be moved.
    #[error("the deadline of the portfolio passed at {}", rfc3339(*deadline))]
    PortfolioDeadlinePassed {
        /// The deadline.
        deadline: DateTime<Utc>,
    },
    /// The policy of the portfolio requires that all its intents are completed.
    #[error("the policy of the portfolio requires all its intents to be completed, and {incomplete} are not")]
    MembersIncomplete {
        /// How many are not.
        incomplete: usize,
    },
    /// The intent already depends on the intent that the request names.
    #[error("the intent depends on that intent already")]
    DependencyExists,
    /// Intents would wait for each other.
    #[error("the intents would wait for each other: an intent needs its dependencies and its children, and would need itself")]
    DependencyCycle {
        /// The intents on the circle. Each one needs the next one, and the last entry is the first intent again.
        cycle: Vec<IntentId>,
    },
    /// The intent waits for others.
    #[error("the intent needs intents that are not completed")]
    DependenciesIncomplete {
        /// The dependencies and children that are not completed, at most a hundred.
        blocking_intents: Vec<Blocking>,
    },
    /// The caller may not remove the dependency while it waits for a person: the intent would go on without that person.
    #[error(
        "the dependency, or an intent that it needs, waits for a person; an agent cannot remove it before the person has answered; an operator can"
    )]
    UpstreamSuspended {
        /// The dependency.
        suspended_intent_id: IntentId,
    },
    /// The caller may not remove the dependency, because no person answered its last question: the intent would go on without
    /// any person.
    #[error("no person answered the last question of the dependency, so an agent cannot remove it; an operator can")]
    UpstreamUnanswered {
        /// The dependency.
        unanswered_intent_id: IntentId,
    },
    /// The intent is completed or abandoned.
    #[error("the intent is {status}: it gets no dependencies, children or tasks any more, and none of its tasks begins")]
    IntentEnded {
        /// Its status.
        status: String,
    },
    /// The intent is not a draft any more, and the patch reaches its contract.
    #[error(
        "the keys of the state that begin with _io_ are the contract of the intent, and can be changed only while it is a draft"
    )]
    ContractFrozen,
    /// A dependency from which the intent takes inputs waits for a person.
    #[error("the work cannot begin, because an intent from which it takes inputs waits for a person")]
    InputsSuspended {
        /// The intent.
        intent_id: IntentId,
        /// Its title.
        title: String,
        /// The dependency.
        suspended_intent_id: IntentId,
        /// The time at which its question ends at the latest.
        resumes_at: Option<DateTime<Utc>>,
    },
    /// Inputs of the intent are not there.
    #[error("the work cannot begin until completed dependencies, or the intent itself, have these inputs: {}", unresolvable.join(", "))]
    InputsMissing {
        /// The intent.
        intent_id: IntentId,
        /// Its title.
        title: String,
        /// The sources of these inputs, as the contract names them.
        unresolvable: Vec<String>,
    },
    /// The state does not have the outputs that the contract of the intent names.
    #[error("a completed intent must have the outputs of its contract; missing, or of another type: {}", [missing.as_slice(), type_errors].concat().join("; "))]
    OutputsMissing {
        /// The intent.
        intent_id: IntentId,
        /// Its title.
        title: String,
        /// The keys that the state does not have.
        missing: Vec<String>,
        /// For each value of another type: its key, and what is wrong with it.
        type_errors: Vec<String>,
    },
    /// The lifecycle of a task has no step between these two statuses (RFC-0012).
    #[error("a task cannot go from {from} to {to}")]
    TaskTransition {
        /// The present status.
        from: String,
        /// The requested status.
        to: String,
    },
    /// The lifecycle of a plan has no step between these two states (RFC-0012).
    #[error("a plan cannot go from {from} to {to}")]
    PlanTransition {
        /// The present state.
        from: String,
        /// The requested state.
        to: String,
    },
    /// This server has no key with which it could sign a checkpoint of the log.
    #[error("this server has no key to sign checkpoints with; its own log says why, and PLACET_LOG_KEY_FILE names the key file")]
    LogNotSigned,
    /// The checkpoint file holds a checkpoint that the log does not extend.
    #[error(
        "the log does not extend the last checkpoint in the checkpoint file, so it is not signed: it was rolled back or rewritten, or the file is that of another log; what the server prints says more, and an operator who has found out why moves the file away"
    )]
    LogContradicted,
    /// The content that the request needs was erased.
    #[error("the content was erased, and the server does not have it any more")]
    Redacted,
    /// A question of the intent is open, and people still need its words.
    #[error("a question of this intent is open; withdraw or answer it before its content is erased")]
    QuestionOpen,
    /// The intent has not ended, so its content is still needed.
    #[error("the intent is {status}; only the content of an intent that is completed or abandoned is erased")]
    IntentNotEnded {
        /// The status of the intent.
        status: String,
    },
    /// A legal hold covers the intent, so its content stays.
    #[error("a legal hold covers this intent; its content is not erased while the hold is in force")]
    LegalHold,
    /// As many legal holds are in force as there may be.
    #[error("there are {most} legal holds, and no more are possible; lift one, or place one with a wider scope")]
    TooManyHolds {
        /// The most holds.
        most: usize,
    },
    /// The configuration file names the person or group, so it is changed and removed only there.
    #[error("the configuration file of the server decides this: change {setting} there, and start the server again")]
    ManagedByConfiguration {
        /// The part of the file.
        setting: String,
    },
    /// Events were erased after the checkpoint of the export, so the export at this size cannot be made any more.
    #[error("events were erased after this checkpoint; begin the export anew, with a newer one")]
    ExportOutdated,
    /// The question has no answer of a person that a receipt could show.
    #[error("no person has answered this question, or the answer is older than receipts")]
    NotAnswered,
    /// The receipt was used before.
    #[error("this receipt was used at {}", rfc3339(*.at))]
    ReceiptUsed {
        /// When.
        #[serde(with = "crate::base::time::z")]
        at: DateTime<Utc>,
    },
    /// The receipt was revoked.
    #[error("this receipt was revoked at {}", rfc3339(*.at))]
    ReceiptRevoked {
        /// When.
        #[serde(with = "crate::base::time::z")]
        at: DateTime<Utc>,
    },
    /// The receipt is about another action, or says another answer.
    #[error("{field}: the receipt has another {field} than the request")]
    ReceiptMismatch {
        /// The member that differs.
        field: String,
    },
    /// The question at a checkpoint is not open, so it cannot be answered.
    #[error("no question is open at the checkpoint, which is {status}")]
    CheckpointNotOpen {
        /// How far the checkpoint is.
        status: String,
    },
    /// The tasks, checkpoints and conditions of a plan change only while it is a draft.
    #[error("the plan is {state}, and its tasks, checkpoints and conditions change only while it is a draft")]
    PlanNotDraft {
        /// The state of the plan.
        state: String,
    },
    /// The task cannot begin, because its plan is not active.
    #[error("the plan of the task is {state}, and its tasks begin only while it is active")]
    PlanNotActive {
        /// The state of the plan.
        state: String,
    },
    /// The plan waits for the decision of a person.
    #[error("the plan waits for the decision of a person, so no agent resumes or cancels it")]
    PlanWaits,
    /// The task cannot begin or go on, because its intent waits for a person.
    #[error("the intent waits for a person, so no task of it can begin or go on")]
    IntentSuspended,
    /// The task cannot begin, because its intent is blocked.
    #[error("the intent is blocked, so no task of it can begin")]
    IntentBlocked,
    /// While the intent waits for a person, only the agent that asked can take a lease. While it is stopped, no agent can.
    #[error("no lease can be taken while the intent waits for a person, or is paused or parked")]
    LeaseWhileSuspended,
    /// A command about the stop of an intent.
    #[error("{0}")]
    Stop(Box<StopRefusal>),
}

/// The lease by which an agent directs an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directing {
    /// The lease.
    pub id: CoordinatorId,
    /// The agent.
    pub agent_id: String,
    /// Its last heartbeat.
    pub last_heartbeat: DateTime<Utc>,
    /// When the lease ends, if it ends by time.
    pub expires_at: Option<DateTime<Utc>>,
}

/// An intent that is not completed, and that another one needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocking {
    /// Its id.
    pub id: IntentId,
    /// Its status.
    pub status: String,
}

impl Rejection {
    /// A rejection of one field, by one rule.
    pub fn invalid(field: impl Into<String>, rule: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { errors: vec![FieldError::new(field, rule, message)] }
    }

    /// Refuses to take back the question of another agent.
    pub fn others_question() -> Self {
        let reason = "only the agent that asked the question, and the one that created the intent, may take it back";
        Self::Forbidden { reason: reason.into() }
    }

    /// Refuses to have an intent of another creator in a portfolio with a deadline.
    pub fn anothers_member() -> Self {
        let reason = "the deadline of a portfolio ends the questions of its intents, so a portfolio with a deadline holds only \
                      intents that its creator created";
        Self::Forbidden { reason: reason.into() }
    }

    /// Refuses to change a person whom the configuration file names.
    pub fn managed_person(address: &str) -> Self {
        Self::ManagedByConfiguration { setting: format!("the [[people]] entry with address = \"{address}\"") }
    }

    /// Refuses to change a group that the configuration file names, or to remove a member of it.
    pub fn managed_group(name: &str) -> Self {
        Self::ManagedByConfiguration { setting: format!("groups.{name}") }
    }

    /// Refuses a command that only the server itself gives.
    pub fn server_only() -> Self {
        Self::Forbidden { reason: "only the server itself does this".into() }
    }

    /// The row of the table: stable code, HTTP status, title.
    #[expect(clippy::too_many_lines, reason = "it has one row for each code, and is read as a table")]
    pub fn entry(&self) -> Entry {
        match self {
            Self::NotFound => entry("not_found", 404, "Not found"),
            Self::Forbidden { .. } => entry("forbidden", 403, "Forbidden"),
            Self::SelfResponse => entry("self_response", 403, "The asker may not answer"),
            Self::NotAssigned => entry("not_assigned", 403, "The question is assigned to other people"),
            Self::GatewayCounted => entry("gateway_counted", 409, "The gateway counts already"),
            Self::ProposalChanged { .. } => entry("proposal_changed", 412, "The proposed action has changed"),
            Self::NotCounted => entry("not_counted", 409, "No answer to take back"),
            Self::NotClaimed => entry("not_claimed", 409, "No claim to release"),
            Self::HasAnswered => entry("has_answered", 409, "Your answer counts already"),
            Self::AssuranceTooLow { .. } => entry("assurance_too_low", 403, "Assurance too low"),
            Self::PasskeyRefused { .. } => entry("passkey_refused", 403, "Passkey refused"),
            Self::ReservedEventType { .. } => entry("reserved_event_type", 403, "Reserved event type"),
            Self::IfMatchRequired => entry("if_match_required", 400, "If-Match required"),
            Self::PreconditionRequired => entry("precondition_required", 428, "If-Match required"),
            Self::IdempotencyMismatch => entry("idempotency_mismatch", 422, "Idempotency key reused"),
            Self::Invalid { .. } => entry("invalid", 422, "Invalid request"),
            Self::InvalidChoice { .. } => entry("invalid_choice", 422, "Invalid choice"),
            Self::VersionConflict { .. } => entry("version_conflict", 409, "Version conflict"),
            Self::Expired { .. } => stops::EXPIRED,
            Self::AlreadyResolved { .. } => stops::ALREADY_RESOLVED,
            Self::SuspensionMismatch => stops::MISMATCH,
            Self::NotSuspended => stops::NOT_SUSPENDED,
            Self::NotActive { .. } => stops::NOT_ACTIVE,
            Self::SuspensionIsServerOwned => entry("suspension_is_server_owned", 409, "Owned by the server"),
            Self::NotAnnounced => entry("not_announced", 409, "Not announced"),
            Self::RecordIdUsed => entry("record_id_used", 409, "Id used before"),
            Self::EndsEarlier => entry("ends_earlier", 409, "Ends before the open question"),
            Self::DeadlineFixed => entry("deadline_fixed", 409, "The deadline does not move"),
            Self::UseSuspend => entry("use_suspend", 409, "Use suspend"),
            Self::InvalidTransition { .. }
            | Self::PortfolioTransition { .. }
            | Self::TaskTransition { .. }
            | Self::PlanTransition { .. } => entry("invalid_transition", 409, "Invalid transition"),
            Self::LogNotSigned | Self::LogContradicted => entry("log_not_signed", 409, "Log not signed"),
            Self::Redacted => entry("redacted", 410, "The content was erased"),
            Self::QuestionOpen => entry("question_open", 409, "A question is open"),
            Self::IntentNotEnded { .. } => entry("intent_not_ended", 409, "The intent has not ended"),
            Self::LegalHold => entry("legal_hold", 409, "A legal hold is in force"),
            Self::TooManyHolds { .. } => entry("too_many_holds", 409, "Too many legal holds"),
            Self::ManagedByConfiguration { .. } => entry("managed_by_configuration", 409, "Managed by the configuration file"),
            Self::ExportOutdated => entry("export_outdated", 409, "The export is outdated"),
            Self::NotAnswered => entry("not_answered", 409, "Not answered"),
            Self::ReceiptUsed { .. } => entry("receipt_used", 409, "Receipt used"),
            Self::ReceiptRevoked { .. } => entry("receipt_revoked", 409, "Receipt revoked"),
            Self::ReceiptMismatch { .. } => entry("receipt_mismatch", 409, "Receipt of another decision"),
            Self::CheckpointNotOpen { .. } => entry("checkpoint_not_open", 409, "Checkpoint not open"),
            Self::TooSoon { .. } | Self::AskedTooOften { .. } => edge::RATE_LIMITED,
            Self::BytesSpent { .. } => entry("bytes_spent", 429, "Too many bytes in a day"),
            Self::NoRoom => entry("no_room", 507, "No room"),
            Self::LeaseConflict { .. } => entry("lease_conflict", 409, "Lease conflict"),
            Self::CoordinatorConflict { .. } => entry("coordinator_conflict", 409, "Another agent directs the intent"),
            Self::CoordinatorEnded => entry("coordinator_ended", 409, "The lease of the coordinator has ended"),
            Self::GuardrailViolation { .. } => entry("guardrail_violation", 403, "A guardrail of the intent forbids it"),
            Self::GovernanceViolation { .. } => entry("governance_violation", 403, "The policy of the intent forbids it"),
            Self::PortfolioNotActive { .. } => entry("portfolio_not_active", 409, "Portfolio not active"),
            Self::PortfolioDeadlinePassed { .. } => PORTFOLIO_DEADLINE_PASSED,
            Self::MembersIncomplete { .. } => entry("members_incomplete", 409, "Intents of the portfolio are not completed"),
            Self::DependencyExists => entry("dependency_exists", 400, "The dependency exists"),
            Self::DependencyCycle { .. } => entry("dependency_cycle", 400, "The intents would wait for each other"),
            Self::DependenciesIncomplete { .. } => entry("dependencies_incomplete", 409, "Other intents are not completed"),
            Self::UpstreamSuspended { .. } => entry("upstream_intent_suspended", 409, "The dependency waits for a person"),
            Self::UpstreamUnanswered { .. } => entry("upstream_intent_unanswered", 409, "No person answered for the dependency"),
            Self::IntentEnded { .. } => entry("intent_ended", 409, "The intent has ended"),
            Self::ContractFrozen => entry("io_contract_frozen", 409, "The contract of the intent is frozen"),
            Self::InputsSuspended { .. } => entry("io_upstream_suspended", 422, "An input waits for a person"),
            Self::InputsMissing { .. } => entry("io_inputs", 422, "Inputs are missing"),
            Self::OutputsMissing { .. } => entry("io_outputs", 422, "Outputs are missing"),
            Self::PlanNotDraft { .. } => entry("plan_not_draft", 409, "The plan is no draft"),
            Self::PlanNotActive { .. } => entry("plan_not_active", 409, "The plan is not active"),
            Self::PlanWaits => entry("plan_waits_for_person", 409, "The plan waits for a person"),
            Self::IntentSuspended => entry("intent_suspended", 409, "The intent waits for a person"),
            Self::IntentBlocked => entry("intent_blocked", 409, "The intent is blocked"),
            Self::LeaseWhileSuspended => entry("lease_while_suspended", 409, "Lease refused while suspended"),
            Self::Stop(refusal) => stops::entry_of(refusal),
        }
    }
}

/// One row of the table of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stable code clients match on.
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// A short title for people.
    pub title: &'static str,
}

const fn entry(code: &'static str, status: u16, title: &'static str) -> Entry {
    Entry { code, status, title }
}

/// The row that would take three lines of the table.
const PORTFOLIO_DEADLINE_PASSED: Entry = entry("portfolio_deadline_passed", 409, "The deadline of the portfolio has passed");

/// Refusals of commands about stops. Most of them have the code of the same refusal about questions.
mod stops {
    use super::{Entry, StopRefusal, entry};

    pub(super) const ALREADY_RESOLVED: Entry = entry("already_resolved", 409, "Already resolved");
    pub(super) const EXPIRED: Entry = entry("expired", 409, "Deadline passed");
    pub(super) const MISMATCH: Entry = entry("suspension_mismatch", 409, "Suspension mismatch");
    pub(super) const NOT_SUSPENDED: Entry = entry("not_suspended", 409, "Not suspended");
    pub(super) const NOT_ACTIVE: Entry = entry("not_active", 409, "Not active");

    pub(super) fn entry_of(refusal: &StopRefusal) -> Entry {
        match refusal {
            StopRefusal::NotRunning { .. }
            | StopRefusal::ParkedOtherwise
            | StopRefusal::IntentEnded { .. }
            | StopRefusal::Ending => NOT_ACTIVE,
            StopRefusal::NoHandoff => entry("not_stopping", 409, "The work is not being ended"),
            StopRefusal::NotStopped | StopRefusal::NothingStopped { .. } => NOT_SUSPENDED,
            StopRefusal::Mismatch => MISMATCH,
            StopRefusal::Lost { .. } | StopRefusal::QuestionEnded => ALREADY_RESOLVED,
            StopRefusal::TimeOver => EXPIRED,
            StopRefusal::StatusIsHeld
            | StopRefusal::NothingBegins
            | StopRefusal::HearsNothing { .. }
            | StopRefusal::TurnIsOver { .. } => entry("intent_stopped", 409, "The intent is paused or parked"),
        }
    }
}

/// Refusals and failures of the HTTP layer itself, beside the `Rejection`s of the domain.
pub mod edge {
    use super::{Entry, entry};

    /// The request has no key, or none that is valid.
    pub const UNAUTHORIZED: Entry = entry("unauthorized", 401, "Invalid or missing API key");
    /// Too many requests.
    pub const RATE_LIMITED: Entry = entry("rate_limited", 429, "Too many requests");
    /// The body is larger than allowed.
    pub const TOO_LARGE: Entry = entry("body_too_large", 413, "Body too large");
    /// The body took longer than allowed.
    pub const TOO_SLOW: Entry = entry("body_timeout", 408, "Body took too long");
    /// The body is not JSON.
    pub const UNSUPPORTED_MEDIA: Entry = entry("unsupported_media_type", 415, "Unsupported media type");
    /// The body is not JSON in the form that this server reads.
    pub const MALFORMED: Entry = entry("malformed_json", 422, "Malformed JSON");
    /// The path has no route.
    pub const NO_ROUTE: Entry = entry("not_found", 404, "Not found");
    /// OpenIntent has the route, and this server does not.
    pub const NOT_IMPLEMENTED: Entry = entry("not_implemented", 501, "Not implemented");
    /// The route exists, but not with this method.
    pub const NO_METHOD: Entry = entry("method_not_allowed", 405, "Method not allowed");
    /// The store cannot take the write now. Nothing was written, or the outcome is unknown. A write with an `Idempotency-Key` is
    /// safe to repeat, because the server recognises the repetition.
    pub const UNAVAILABLE: Entry = entry("unavailable", 503, "Temporarily unavailable");
    /// Too many requests are under way; nothing was done.
    pub const OVERLOADED: Entry = entry("overloaded", 503, "Overloaded");
    /// A stored record has changed since it was written, so nothing is decided from it, and it is not shown.
    pub const DAMAGED: Entry = entry("damaged_record", 500, "Damaged record");
    /// The server failed.
    pub const INTERNAL: Entry = entry("internal", 500, "Internal error");
}

fn first_message(errors: &[FieldError]) -> String {
    errors.first().map_or_else(|| "invalid request".to_owned(), |error| format!("{}: {}", error.field, error.message))
}

/// The way to an answer that meets a demand.
fn how_to_meet(required: RequiredAssurance) -> &'static str {
    match required {
        RequiredAssurance::Session => "only an answer on the page of the question counts, by a person who has logged in",
        RequiredAssurance::RecentLogin => {
            "only an answer on the page of the question counts, by a person who has logged in by the issuer of identities a few minutes ago"
        }
        RequiredAssurance::Passkey => "the answer page asks for a passkey, and no other way to answer counts",
    }
}

fn ending_word(resolution: Resolution, reason: Option<ResolutionReason>) -> &'static str {
    match (resolution, reason) {
        (Resolution::Responded, _) => "answered",
        (Resolution::Expired, _) => "expired",
        (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => "superseded",
        (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => "undeliverable",
        (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => "quorum_unmet",
        (
            Resolution::Cancelled,
            Some(ResolutionReason::Withdrawn | ResolutionReason::TimeLost | ResolutionReason::PortfolioDeadline) | None,
        ) => "cancelled",
    }
}
