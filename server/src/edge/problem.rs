//! Errors in the form of each surface: `application/problem+json` on ours, `{"detail": …}` on OpenIntent's.

use std::fmt;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use actix_web::{HttpResponse, ResponseError};
use chrono::{DateTime, Utc};
use domain::base::field::FieldError;
use domain::base::ids::IntentId;
use domain::base::time::{naive, rfc3339};
use domain::problem::{Directing, Entry, Rejection, edge};
use domain::suspension::RequiredAssurance;
use serde_json::{Map, Value, json};
use store::{Damaged, LogName, StoreError};

use super::admission::Refused;
use super::authenticator::LookError;

/// The address of the login, for a refusal of an answer that needs one.
pub(crate) const LOGIN: &str = "/login";
/// The path of the page that sends a person to a new login by the issuer, also if the person is logged in.
const FRESH_LOGIN: &str = "/login?fresh=1";
/// Seconds after which trying again makes sense when the store could not take a write.
pub(crate) const RETRY_AFTER_SECONDS: u32 = 1;

/// The reason for which a request failed; each surface (OpenIntent's, ours) makes a body of its own format from it.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) entry: Entry,
    pub(crate) detail: String,
    /// Boxed to keep results small.
    pub(crate) more: Box<More>,
}

/// Further members of some failures.
#[derive(Clone, Debug, Default)]
pub(crate) struct More {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) members: Map<String, Value>,
    /// Members that are times; each surface writes them in its own form.
    pub(crate) times: Vec<(&'static str, Option<DateTime<Utc>>)>,
    pub(crate) retry_after: Option<u32>,
}

/// Marks the response to a request that was refused because the server is overloaded. Under overload there are many of these
/// refusals, so the log does not warn of each.
pub(crate) struct TurnedAway;

/// A failure on our surface.
#[derive(Debug)]
pub(crate) struct Problem(pub(crate) Failure);

/// A failure on the OpenIntent surface.
#[derive(Debug)]
pub(crate) struct Detail(pub(crate) Failure);

impl Failure {
    /// A failure with one of the entries in `domain::problem::edge`.
    pub(crate) fn edge(entry: Entry, detail: impl Into<String>) -> Self {
        Self { entry, detail: detail.into(), more: Box::default() }
    }

    /// Too many requests are under way, so nothing was done; the client may try again after some seconds.
    pub(crate) fn overloaded(detail: impl Into<String>, retry_after: u32) -> Self {
        let mut failure = Self::edge(edge::OVERLOADED, detail);
        failure.more.retry_after = Some(retry_after);
        failure
    }

    /// There were too many of something; the client may try again after some seconds.
    pub(crate) fn too_many(detail: impl Into<String>, retry_after: u32) -> Self {
        let mut failure = Self::edge(edge::RATE_LIMITED, detail);
        failure.more.retry_after = Some(retry_after);
        failure
    }

    fn respond(&self, content_type: &'static str, body: &Value) -> HttpResponse {
        let status = StatusCode::from_u16(self.entry.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = HttpResponse::build(status);
        response.insert_header((CONTENT_TYPE, content_type));
        if self.entry == edge::OVERLOADED {
            response.extensions_mut().insert(TurnedAway);
        }
        if let Some(seconds) = self.more.retry_after {
            response.insert_header((RETRY_AFTER, seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.insert_header((HeaderName::from_static("www-authenticate"), HeaderValue::from_static("ApiKey")));
        }
        response.body(body.to_string())
    }
}

impl More {
    /// Adds how the suspension of a refusal has ended.
    fn add_ending(&mut self, rejection: &Rejection) {
        let Rejection::AlreadyResolved { resolution, reason, resolved_at, resolved_by } = rejection else { return };
        let members =
            [("resolution", json!(resolution)), ("resolution_reason", json!(reason)), ("resolved_by", json!(resolved_by))];
        self.members.extend(members.map(|(name, value)| (name.to_owned(), value)));
        self.times.push(("resolved_at", Some(*resolved_at)));
    }

    /// Adds the intents that a refusal about intents that need each other names.
    fn add_graph(&mut self, rejection: &Rejection) {
        let (name, ids) = if let Rejection::DependencyCycle { cycle } = rejection {
            ("cycle", json!(cycle))
        } else if let Rejection::DependenciesIncomplete { blocking_intents } = rejection {
            ("blocking_intents", json!(blocking_intents))
        } else if let Rejection::UpstreamSuspended { suspended_intent_id } = rejection {
            ("suspended_intent_id", json!(suspended_intent_id))
        } else if let Rejection::UpstreamUnanswered { unanswered_intent_id } = rejection {
            ("unanswered_intent_id", json!(unanswered_intent_id))
        } else {
            return;
        };
        self.members.insert(name.to_owned(), ids);
    }

    /// Adds the facts of a refusal about the coordinator of an intent, or about the limits of the work on it.
    fn add_coordinator(&mut self, rejection: &Rejection) {
        let mut member = |name: &str, value: Value| self.members.insert(name.to_owned(), value);
        if let Rejection::CoordinatorConflict { existing } = rejection {
            let Directing { id, agent_id, last_heartbeat, expires_at } = &**existing;
            let (last_heartbeat, expires_at) = (naive(*last_heartbeat), expires_at.map(naive));
            let lease = json!({ "id": id, "agent_id": agent_id, "last_heartbeat": last_heartbeat, "expires_at": expires_at });
            member("existing_lease", lease);
        } else if let Rejection::GuardrailViolation { guardrail, limit, attempted } = rejection {
            for (name, value) in [("guardrail", guardrail), ("limit", limit), ("attempted", attempted)] {
                member(name, json!(value));
            }
        }
    }

    /// Adds what was demanded.
    fn add_demand(&mut self, rejection: &Rejection) {
        if let Rejection::GovernanceViolation { rule, .. } = rejection {
            self.members.insert("rule".to_owned(), json!(rule));
        } else if let Rejection::AssuranceTooLow { required, given } = rejection {
            let given = given.map_or_else(|| json!("none"), |given| json!(given));
            let login = if *required == RequiredAssurance::RecentLogin { FRESH_LOGIN } else { LOGIN };
            let members = [("required_assurance", json!(required)), ("given_assurance", given), ("login", json!(login))];
            self.members.extend(members.map(|(name, value)| (name.to_owned(), value)));
        }
    }

    /// Adds the deadline that has passed.
    fn add_deadline(&mut self, rejection: &Rejection) {
        if let Rejection::Expired { expired_at } = rejection {
            self.times.push(("expired_at", *expired_at));
        } else if let Rejection::PortfolioDeadlinePassed { deadline } = rejection {
            self.times.push(("deadline", Some(*deadline)));
        }
    }

    /// Adds why a receipt cannot be used.
    fn add_receipt(&mut self, rejection: &Rejection) {
        if let Rejection::ReceiptUsed { at } = rejection {
            self.times.push(("used_at", Some(*at)));
        } else if let Rejection::ReceiptRevoked { at } = rejection {
            self.times.push(("revoked_at", Some(*at)));
        } else if let Rejection::ReceiptMismatch { field } = rejection {
            self.members.insert("field".to_owned(), json!(field));
        }
    }

    /// Adds the members that the OpenIntent client's own errors about the contract of a phase have (RFC-0024, RFC-0026).
    fn add_contract(&mut self, rejection: &Rejection) {
        let mut add = |error: &str, rule: &str, (intent_id, title): (&IntentId, &String), facts: &[(&str, Value)]| {
            let common =
                [("error", json!(error)), ("rule", json!(rule)), ("task_id", json!(intent_id)), ("phase_name", json!(title))];
            self.members.extend(common.iter().chain(facts).map(|(name, value)| ((*name).to_owned(), value.clone())));
        };
        if let Rejection::InputsSuspended { intent_id, title, suspended_intent_id, resumes_at } = rejection {
            let facts = [("suspended_intent_id", json!(suspended_intent_id))];
            add("UpstreamIntentSuspendedError", "upstream_intent_suspended", (intent_id, title), &facts);
            self.times.push(("expected_resume_at", *resumes_at));
        } else if let Rejection::InputsMissing { intent_id, title, unresolvable } = rejection {
            add("UnresolvableInputError", "io_inputs", (intent_id, title), &[("unresolvable", json!(unresolvable))]);
        } else if let Rejection::OutputsMissing { intent_id, title, missing, type_errors } = rejection {
            let error = if missing.is_empty() { "OutputTypeMismatchError" } else { "MissingOutputError" };
            let facts = [("missing", json!(missing)), ("type_errors", json!(type_errors))];
            add(error, "io_outputs", (intent_id, title), &facts);
        }
    }
}

impl From<Rejection> for Failure {
    #[expect(clippy::too_many_lines, reason = "it has one row for each rejection, and is read as a table")]
    fn from(rejection: Rejection) -> Self {
        let mut more = More::default();
        let mut member = |name: &str, value: Value| more.members.insert(name.to_owned(), value);
        match &rejection {
            Rejection::InvalidChoice { valid_choices, .. } => drop(member("valid_choices", json!(valid_choices))),
            Rejection::VersionConflict { current_version } => drop(member("current_version", json!(current_version))),
            Rejection::Expired { .. } | Rejection::PortfolioDeadlinePassed { .. } => more.add_deadline(&rejection),
            Rejection::ReceiptUsed { .. } | Rejection::ReceiptRevoked { .. } | Rejection::ReceiptMismatch { .. } => {
                more.add_receipt(&rejection);
            }
            Rejection::AlreadyResolved { .. } => more.add_ending(&rejection),
            Rejection::LeaseConflict { existing } => drop(member("existing_lease", json!(existing))),
            Rejection::CoordinatorConflict { .. } | Rejection::GuardrailViolation { .. } => more.add_coordinator(&rejection),
            Rejection::TooSoon { retry_after_seconds }
            | Rejection::AskedTooOften { retry_after_seconds, .. }
            | Rejection::BytesSpent { retry_after_seconds, .. } => more.retry_after = Some(*retry_after_seconds),
            Rejection::GovernanceViolation { .. } | Rejection::AssuranceTooLow { .. } => more.add_demand(&rejection),
            Rejection::DependencyCycle { .. }
            | Rejection::DependenciesIncomplete { .. }
            | Rejection::UpstreamSuspended { .. }
            | Rejection::UpstreamUnanswered { .. } => more.add_graph(&rejection),
            Rejection::InputsSuspended { .. } | Rejection::InputsMissing { .. } | Rejection::OutputsMissing { .. } => {
                more.add_contract(&rejection);
            }
            Rejection::ProposalChanged { action_digest, changes } => {
                member("action_digest", json!(action_digest));
                member("changes", json!(changes));
            }
            Rejection::ManagedByConfiguration { setting } => drop(member("setting", json!(setting))),
            Rejection::Invalid { errors } => more.errors.clone_from(errors),
            Rejection::Stop(refusal) => {
                if let Some(code) = refusal.harn_code() {
                    member("harn_code", json!(code));
                }
            }
            Rejection::NotFound
            | Rejection::Forbidden { .. }
            | Rejection::SelfResponse
            | Rejection::NotAssigned
            | Rejection::GatewayCounted
            | Rejection::NotCounted
            | Rejection::NotClaimed
            | Rejection::HasAnswered
            | Rejection::PasskeyRefused { .. }
            | Rejection::ReservedEventType { .. }
            | Rejection::IfMatchRequired
            | Rejection::PreconditionRequired
            | Rejection::IdempotencyMismatch
            | Rejection::SuspensionMismatch
            | Rejection::NotSuspended
            | Rejection::NotActive { .. }
            | Rejection::SuspensionIsServerOwned
            | Rejection::UseSuspend
            | Rejection::NotAnnounced
            | Rejection::RecordIdUsed
            | Rejection::EndsEarlier
            | Rejection::DeadlineFixed
            | Rejection::InvalidTransition { .. }
            | Rejection::TaskTransition { .. }
            | Rejection::PlanTransition { .. }
            | Rejection::CheckpointNotOpen { .. }
            | Rejection::LogNotSigned
            | Rejection::LogContradicted
            | Rejection::NotAnswered
            | Rejection::Redacted
            | Rejection::QuestionOpen
            | Rejection::IntentNotEnded { .. }
            | Rejection::ExportOutdated
            | Rejection::LegalHold
            | Rejection::TooManyHolds { .. }
            | Rejection::PlanNotDraft { .. }
            | Rejection::PlanNotActive { .. }
            | Rejection::PlanWaits
            | Rejection::CoordinatorEnded
            | Rejection::IntentSuspended
            | Rejection::IntentBlocked
            | Rejection::PortfolioTransition { .. }
            | Rejection::PortfolioNotActive { .. }
            | Rejection::MembersIncomplete { .. }
            | Rejection::NoRoom
            | Rejection::DependencyExists
            | Rejection::IntentEnded { .. }
            | Rejection::ContractFrozen
            | Rejection::LeaseWhileSuspended => {}
        }
        Self { entry: rejection.entry(), detail: rejection.to_string(), more: Box::new(more) }
    }
}

impl Failure {
    fn not_now(detail: &str) -> Self {
        let mut failure = Self::edge(edge::UNAVAILABLE, detail);
        failure.more.retry_after = Some(RETRY_AFTER_SECONDS);
        failure
    }
}

impl Failure {
    fn damaged(damaged: &Damaged) -> Self {
        // The name of the database's file is for the log.
        let detail = match damaged {
            Damaged::Event { .. } => format!("{damaged}; nothing was decided from it"),
            Damaged::Database(_) => {
                "a part of the database that this request needs is damaged; nothing was decided from it".to_owned()
            }
        };
        let mut failure = Self::edge(edge::DAMAGED, detail);
        if let Damaged::Event { log, sequence, .. } = damaged {
            let mut member = |name: &str, value: Value| failure.more.members.insert(name.to_owned(), value);
            match log {
                Some(LogName::Intent(id)) => drop(member("intent_id", json!(id))),
                Some(LogName::Portfolio(id)) => drop(member("portfolio_id", json!(id))),
                Some(LogName::Server) | None => {}
            }
            member("sequence", json!(sequence));
        }
        failure
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Rejected(rejection) => rejection.into(),
            StoreError::Unavailable(why) => {
                tracing::warn!(why, "the store could not take a request");
                Self::not_now(
                    "the server cannot use its database at present, for example because its disk is full; its log says why. If this request \
                     was to change something, that may have been done: look before you repeat it, or repeat it with the same Idempotency-Key",
                )
            }
            StoreError::Held(why) => {
                tracing::debug!(why, "a request was refused, because the server decides nothing by the clock at present");
                Self::not_now(
                    "the server decides nothing by the clock at present, so nothing was done; send the same request again",
                )
            }
            // The store has logged the damage, once.
            StoreError::Damaged(damaged) => Self::damaged(&damaged),
            StoreError::Failed(error) => {
                tracing::error!(error = format!("{error:#}"), "a request failed");
                Self::edge(edge::INTERNAL, "the server failed; the failure was logged")
            }
        }
    }
}

impl From<LookError> for Failure {
    fn from(error: LookError) -> Self {
        match error {
            LookError::Crowded => {
                Self::overloaded("too many unknown keys wait to be looked up; send the same request again", RETRY_AFTER_SECONDS)
            }
            LookError::Unavailable => {
                Self::not_now("the key could not be looked up, so nothing was done; send the same request again")
            }
            LookError::Failed => Self::edge(edge::INTERNAL, "the server failed; the failure was logged"),
        }
    }
}

impl From<Refused> for Failure {
    fn from(Refused(class): Refused) -> Self {
        Self::overloaded(
            "too many requests are under way; nothing was done, send the same request again",
            class.retry_after_seconds(),
        )
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.entry.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let Failure { entry, detail, more } = &self.0;
        let mut body = json!({
            "type": format!("/problems/{}", entry.code),
            "title": entry.title,
            "status": entry.status,
            "detail": detail,
            "code": entry.code,
        });
        if !more.errors.is_empty() {
            body["errors"] = json!(more.errors);
        }
        for (name, value) in &more.members {
            body[name] = value.clone();
        }
        for (name, time) in &more.times {
            body[*name] = json!(time.map(rfc3339));
        }
        self.0.respond("application/problem+json", &body)
    }
}

impl ResponseError for Detail {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.entry.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        let Failure { entry, detail, more } = &self.0;
        // The OpenIntent client reads `message` and the extra members at top level, and `detail` as a string or an object (see
        // the RFC, §8).
        let detail_value = match entry.code {
            "invalid_choice"
            | "invalid_transition"
            | "governance_violation"
            | "guardrail_violation"
            | "io_upstream_suspended"
            | "io_inputs"
            | "io_outputs" => {
                let mut object = json!({ "error": entry.code, "message": detail });
                for (name, value) in &more.members {
                    object[name] = value.clone();
                }
                for (name, time) in &more.times {
                    object[*name] = json!(time.map(naive));
                }
                object
            }
            "unauthorized" => json!(entry.title),
            _ => json!(detail),
        };
        let mut body = json!({ "detail": detail_value, "message": detail, "code": entry.code });
        if !more.errors.is_empty() {
            body["errors"] = json!(more.errors);
        }
        for (name, value) in &more.members {
            body[name] = value.clone();
        }
        for (name, time) in &more.times {
            body[*name] = json!(time.map(naive));
        }
        self.0.respond("application/json", &body)
    }
}

macro_rules! surface {
    ($type:ident) => {
        impl<E: Into<Failure>> From<E> for $type {
            fn from(error: E) -> Self {
                Self(error.into())
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.0.entry.code)
            }
        }
    };
}

surface!(Problem);
surface!(Detail);

/// The surfaces: the two of the API, which differ in the form of times and errors and in the treatment of unknown fields, and those of the
/// protocols.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Surface {
    Ours,
    OpenIntent,
    /// A protocol, which writes failures in a form of its own.
    Protocol(fn(Failure) -> actix_web::Error),
}

impl Surface {
    /// The failure in the form of this surface.
    pub(crate) fn error(self, failure: Failure) -> actix_web::Error {
        match self {
            Self::Ours => Problem(failure).into(),
            Self::OpenIntent => Detail(failure).into(),
            Self::Protocol(form) => form(failure),
        }
    }
}
