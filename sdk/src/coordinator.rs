//! Coordinators: the agents that direct the work of intents, within guardrails and under a supervisor (RFC-0013).

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::base::ids::CoordinatorId;
use domain::container::coordinator::{CoordinatorType, INTERVAL_SECONDS_MAX, SuspensionPolicy};
use domain::wire::{
    CoordinatorDecisionView, CoordinatorView, CreateCoordinatorRequest, CreateDecisionRecordRequest, GuardrailsRequest,
    HeartbeatView,
};
use serde_json::{Map, Value};

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::problem::Problem;
use crate::seconds::whole_seconds;
use crate::transport::Call;

const COORDINATOR: &str = "/api/v1/coordinators/{coordinator_id}";

/// The lease by which an agent directs an intent, with the client for its server.
///
/// The agent keeps it by its heartbeats: after two intervals without one it is unresponsive, and after three more another agent may
/// take the lease. Dropping this value does not give the lease back.
#[derive(Clone)]
pub struct Coordinator {
    client: Client,
    view: CoordinatorView,
}

impl Client {
    /// The lease of a coordinator with this id.
    pub async fn coordinator(&self, id: CoordinatorId) -> Result<Coordinator, CallError> {
        let view = self.send(Call::read(COORDINATOR, [id.to_string()])).await?;
        Ok(Coordinator { client: self.clone(), view })
    }
}

impl Intent {
    /// Directs the intent as this agent, whose name must be that of the key or one below it; nothing is sent before
    /// [`Coordinate::send`].
    pub fn coordinate(&self, agent: impl Into<String>) -> Coordinate<'_> {
        let request = CreateCoordinatorRequest {
            agent_id: agent.into(),
            intent_id: self.id().to_string(),
            ..CreateCoordinatorRequest::default()
        };
        Coordinate { client: &self.client, request, interval: None }
    }

    /// The newest 100 leases of coordinators of the intent, the oldest first.
    pub async fn coordinators(&self) -> Result<Vec<Coordinator>, CallError> {
        let call = Call::read("/api/v1/intents/{intent_id}/coordinators", [self.id().to_string()]);
        let views: Vec<CoordinatorView> = self.client.send(call).await?;
        Ok(views.into_iter().map(|view| Coordinator { client: self.client.clone(), view }).collect())
    }

    /// The newest 100 decisions of its coordinators, the oldest first.
    pub async fn coordinator_decisions(&self) -> Result<Vec<CoordinatorDecisionView>, CallError> {
        let path = "/api/v1/intents/{intent_id}/coordinator-decisions";
        self.client.send(Call::read(path, [self.id().to_string()]).query("limit", "100".to_owned())).await
    }
}

/// A lease to be taken, from [`Intent::coordinate`].
#[must_use = "nothing is taken before send"]
pub struct Coordinate<'a> {
    client: &'a Client,
    request: CreateCoordinatorRequest,
    interval: Option<Duration>,
}

impl Coordinate<'_> {
    /// Sets the person or agent who supervises it; the operators of the server by default.
    pub fn supervisor(mut self, supervisor: impl Into<String>) -> Self {
        self.request.supervisor_id = Some(supervisor.into());
        self
    }

    /// Sets the kind of coordinator; a program with a language model by default.
    pub fn kind(mut self, kind: CoordinatorType) -> Self {
        self.request.coordinator_type = Some(kind);
        self
    }

    /// Sets the effect of a suspension of the intent; [`SuspensionPolicy::Isolate`] by default.
    pub fn suspension_policy(mut self, policy: SuspensionPolicy) -> Self {
        self.request.suspension_policy = Some(policy);
        self
    }

    /// Sets limits of the work on the intent. They hold for every agent, and later leases can only tighten them.
    pub fn guardrails(mut self, guardrails: GuardrailsRequest) -> Self {
        self.request.guardrails = Some(guardrails);
        self
    }

    /// Sets the time between two heartbeats: 5 seconds to one day, in whole seconds; one minute by default.
    pub fn heartbeat_every(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// Sets when the lease ends.
    pub fn until(mut self, at: DateTime<Utc>) -> Self {
        self.request.expires_at = Some(at);
        self
    }

    /// Takes the lease, or gets the one that this agent has already.
    ///
    /// # Errors
    ///
    /// `Refused` with `coordinator_conflict` if another agent has it (`existing_lease` in [`Problem::more`] tells which one), with
    /// `intent_ended`, and with `invalid`.
    pub async fn send(self) -> Result<Coordinator, CallError> {
        let Self { client, mut request, interval } = self;
        if let Some(interval) = interval {
            let seconds = whole_seconds("heartbeat_interval_seconds", interval, INTERVAL_SECONDS_MAX)
                .map_err(|error| CallError::Refused(Box::new(Problem::invalid(vec![error]))))?;
            request.heartbeat_interval_seconds = Some(seconds);
        }
        let call = Call::write("/api/v1/coordinators", [], &request, Repeat::Safe)?;
        Ok(Coordinator { client: client.clone(), view: client.send(call.header("idempotency-key", fresh_key())).await? })
    }
}

impl Coordinator {
    /// The id of the lease.
    pub fn id(&self) -> CoordinatorId {
        self.view.id
    }

    /// The lease as it was last read; see [`refresh`](Coordinator::refresh).
    pub fn view(&self) -> &CoordinatorView {
        &self.view
    }

    /// Reads the lease again.
    pub async fn refresh(&mut self) -> Result<&CoordinatorView, CallError> {
        self.view = self.client.send(Call::read(COORDINATOR, [self.id().to_string()])).await?;
        Ok(&self.view)
    }

    /// Says that the coordinator is alive; returns when the next heartbeat is due.
    ///
    /// # Errors
    ///
    /// `Refused` with `coordinator_ended` if the lease has ended; take it again.
    pub async fn heartbeat(&self) -> Result<DateTime<Utc>, CallError> {
        let path = "/api/v1/coordinators/{coordinator_id}/heartbeat";
        // A second heartbeat is harmless, so the call may be repeated.
        let call = Call::write(path, [self.id().to_string()], &Map::new(), Repeat::Safe)?;
        let beaten: HeartbeatView = self.client.send(call).await?;
        Ok(beaten.next_heartbeat_at)
    }

    /// Records a decision of the coordinator. `kind` is one of RFC-0013's ten words, for example `plan_created`.
    ///
    /// # Errors
    ///
    /// `Refused` with `coordinator_ended`, and with `invalid`.
    pub async fn record_decision(
        &self,
        kind: &str,
        summary: &str,
        rationale: &str,
        alternatives: Vec<Map<String, Value>>,
    ) -> Result<CoordinatorDecisionView, CallError> {
        let request = CreateDecisionRecordRequest {
            coordinator_id: self.id().to_string(),
            intent_id: self.view.intent_id.to_string(),
            decision_type: kind.to_owned(),
            summary: summary.to_owned(),
            rationale: rationale.to_owned(),
            alternatives_considered: Some(alternatives),
            confidence: None,
        };
        let call = Call::write("/api/v1/decisions", [], &request, Repeat::Safe)?;
        self.client.send(call.header("idempotency-key", fresh_key())).await
    }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("id", &self.view.id).field("status", &self.view.status).finish_non_exhaustive()
    }
}
