//! Events about coordinators, in the log of their intent.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::coordinator::{Coordinator, CoordinatorStatus, CoordinatorType, Guardrails, SuspensionPolicy};
use crate::base::ids::{CoordinatorId, SuspensionId};
use crate::people::principal::Credential;

/// One thing that happened to the lease of a coordinator; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CoordinatorEvent {
    /// `coordinator.granted`: an agent directs the intent from now on.
    Granted(Box<Granted>),
    /// `coordinator.heartbeat`: it is alive.
    Heartbeat(Named),
    /// `coordinator.unresponsive`: it has missed two heartbeats.
    Unresponsive(Named),
    /// `coordinator.failed_over`: it has missed three more, and its lease has ended.
    FailedOver(Named),
    /// `coordinator.ended`: its lease has ended for another reason.
    Ended(Ended),
    /// `coordinator.escalation_required`: its intent waits for a person, and its supervisor is asked as well.
    EscalationRequired(EscalationRequired),
}

/// A lease as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Granted {
    /// The lease.
    pub coordinator_id: CoordinatorId,
    /// The agent.
    pub agent_id: String,
    /// The role, in the agent's words.
    pub role: String,
    /// The person or agent who supervises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor_id: Option<String>,
    /// The kind of coordinator.
    pub coordinator_type: CoordinatorType,
    /// The effect of a suspension.
    pub suspension_policy: SuspensionPolicy,
    /// The people who are asked as well if the policy is to escalate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalates_to: Vec<String>,
    /// The limits of the work from now on.
    pub guardrails: Guardrails,
    /// The time between two heartbeats, in seconds.
    pub heartbeat_interval_seconds: u32,
    /// When it ends.
    #[serde(default, with = "crate::base::time::z_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// Data of the agent.
    pub metadata: Map<String, Value>,
    /// The credential that took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A lease, and the credential that acted; absent if the server itself did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The lease.
    pub coordinator_id: CoordinatorId,
    /// The agent.
    pub agent_id: String,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// Why a lease ended although its coordinator was alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// Its time has passed.
    Expired,
    /// Its intent has ended.
    IntentEnded,
    /// The agent may no longer work on the intent.
    AccessLost,
}

/// A lease that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The lease.
    pub coordinator_id: CoordinatorId,
    /// The agent.
    pub agent_id: String,
    /// Why.
    pub reason: EndReason,
}

/// A question that the supervisor is asked as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EscalationRequired {
    /// The lease.
    pub coordinator_id: CoordinatorId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// The people who are asked as well.
    pub escalated_to: Vec<String>,
}

impl CoordinatorEvent {
    /// The lease.
    pub fn coordinator_id(&self) -> CoordinatorId {
        match self {
            Self::Granted(granted) => granted.coordinator_id,
            Self::Heartbeat(named) | Self::Unresponsive(named) | Self::FailedOver(named) => named.coordinator_id,
            Self::Ended(ended) => ended.coordinator_id,
            Self::EscalationRequired(required) => required.coordinator_id,
        }
    }

    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Granted(_) => "coordinator.granted",
            Self::Heartbeat(_) => "coordinator.heartbeat",
            Self::Unresponsive(_) => "coordinator.unresponsive",
            Self::FailedOver(_) => "coordinator.failed_over",
            Self::Ended(_) => "coordinator.ended",
            Self::EscalationRequired(_) => "coordinator.escalation_required",
        }
    }

    /// Reads the payload of an event of this type; `None` if no event about leases of coordinators has this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(
            payload: &Value,
            kind: impl FnOnce(T) -> CoordinatorEvent,
        ) -> Result<CoordinatorEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        Some(match event_type {
            "coordinator.granted" => of(payload, |granted| Self::Granted(Box::new(granted))),
            "coordinator.heartbeat" => of(payload, Self::Heartbeat),
            "coordinator.unresponsive" => of(payload, Self::Unresponsive),
            "coordinator.failed_over" => of(payload, Self::FailedOver),
            "coordinator.ended" => of(payload, Self::Ended),
            "coordinator.escalation_required" => of(payload, Self::EscalationRequired),
            _ => return None,
        })
    }

    /// Applies the event to the newest lease of a coordinator of its intent.
    pub fn apply(&self, newest: &mut Option<Box<Coordinator>>, dated: DateTime<Utc>) {
        if let Self::Granted(granted) = self {
            *newest = Some(Box::new(granted.coordinator(dated)));
            return;
        }
        let Some(coordinator) = newest.as_mut().filter(|newest| newest.id == self.coordinator_id()) else { return };
        coordinator.version += 1;
        match self {
            Self::Heartbeat(_) => {
                coordinator.status = CoordinatorStatus::Active;
                (coordinator.last_heartbeat, coordinator.silent_since) = (dated, dated);
            }
            Self::Unresponsive(_) => (coordinator.status, coordinator.silent_since) = (CoordinatorStatus::Unresponsive, dated),
            Self::FailedOver(_) => coordinator.status = CoordinatorStatus::FailedOver,
            Self::Ended(_) => coordinator.status = CoordinatorStatus::Completed,
            Self::Granted(_) | Self::EscalationRequired(_) => {}
        }
    }
}

impl Granted {
    fn coordinator(&self, granted_at: DateTime<Utc>) -> Coordinator {
        Coordinator {
            id: self.coordinator_id,
            agent_id: self.agent_id.clone(),
            status: CoordinatorStatus::Active,
            version: 1,
            role: self.role.clone(),
            supervisor_id: self.supervisor_id.clone(),
            coordinator_type: self.coordinator_type,
            suspension_policy: self.suspension_policy,
            escalates_to: self.escalates_to.clone(),
            guardrails: self.guardrails.clone(),
            heartbeat_interval_seconds: self.heartbeat_interval_seconds,
            last_heartbeat: granted_at,
            silent_since: granted_at,
            granted_at,
            expires_at: self.expires_at,
        }
    }
}
