//! The objects of A2A 1.0, as they are written: JSON with names in camelCase. Those of 0.3 are made from these ([`super::earlier`]).

use chrono::{DateTime, SecondsFormat, Utc};
use serde::Serialize;
use serde_json::{Map, Value};

/// The URI of the extension for questions: a data part with it is a question, or says which answers a question takes.
pub(crate) const QUESTION: &str = "urn:placet:a2a:question:v1";
/// The URI of the extension for pauses: calls that stop work and let it go on, and the stop in the status of a task.
pub(crate) const PAUSE: &str = "urn:placet:a2a:pause:v1";
/// The URI of the extension for a state of its own of work that is stopped.
pub(crate) const PAUSED_STATE: &str = "urn:placet:a2a:paused-state:v1";
/// The media type of every data part.
pub(crate) const JSON: &str = "application/json";

/// A time with milliseconds and `Z`, as A2A writes it.
pub(crate) fn timestamp(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum State {
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
    /// Only clients that have activated the extension for it see this state.
    #[serde(rename = "TASK_STATE_PAUSED")]
    Paused,
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
}

impl State {
    /// Whether a task stays in this state.
    pub(crate) fn is_final(self) -> bool {
        match self {
            Self::Submitted | Self::Working | Self::InputRequired | Self::AuthRequired | Self::Paused => false,
            Self::Completed | Self::Failed | Self::Canceled => true,
        }
    }
}

/// The sender of a message: the client of the protocol, or this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Role {
    #[serde(rename = "ROLE_USER")]
    User,
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

/// A part of a message or of an artifact: a text or data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Part {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<&'static str>,
}

impl Part {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub(crate) fn data(data: Value) -> Self {
        Self { data: Some(data), media_type: Some(JSON), ..Self::default() }
    }
}

/// A message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the protocol gives the names")]
pub(crate) struct Message {
    pub(crate) message_id: String,
    pub(crate) context_id: String,
    pub(crate) task_id: String,
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) extensions: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// The status of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Status {
    pub(crate) state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<Message>,
    pub(crate) timestamp: String,
    /// The stop of the work; only clients that have activated an extension for it see this member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pause: Option<Pause>,
}

/// The stop of the work of a task, as the revised proposal has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pause {
    pub(crate) initiated_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) paused_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) paused_until: Option<String>,
    /// When the work ends at the latest, if it is being ended: it is not paused until then, because it does not go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ends_at: Option<String>,
    /// Only a caller that may let the work go on sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resume_token: Option<String>,
    /// Whether this caller may let the work go on.
    pub(crate) resumable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) conditions: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resume_mode: Option<&'static str>,
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the protocol gives the names")]
pub(crate) struct Artifact {
    pub(crate) artifact_id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) parts: Vec<Part>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) context_id: String,
    pub(crate) status: Status,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<Artifact>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) history: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// A change of the status of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusUpdate {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    pub(crate) status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// A new artifact of a task.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactUpdate {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    pub(crate) artifact: Artifact,
    pub(crate) last_chunk: bool,
}

/// An item of a stream, or the result of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Item {
    Task(Box<Task>),
    StatusUpdate(Box<StatusUpdate>),
    ArtifactUpdate(Box<ArtifactUpdate>),
}

/// A page of a list of tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskPage {
    pub(crate) tasks: Vec<Task>,
    pub(crate) next_page_token: String,
    pub(crate) page_size: u32,
    pub(crate) total_size: u32,
}
