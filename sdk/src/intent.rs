//! An intent, as its agent uses it.

use std::fmt;

use domain::asking::engagement::EngagementSignals;
use domain::base::ids::IntentId;
use domain::intent::governance::Policy;
use domain::intent::status::Status;
use domain::wire::{CreateIntentRequest, EventView, IntentView};
use serde_json::Value;

use crate::answer::Answer;
use crate::backoff::Repeat;
use crate::client::Client;
use crate::engagement::Engagement;
use crate::error::{CallError, RequestInputError};
use crate::key::key_header;
use crate::problem::Problem;
use crate::question::Question;
use crate::transport::Call;

/// An intent, with the client for its server.
#[derive(Clone)]
pub struct Intent {
    pub(crate) client: Client,
    pub(crate) view: IntentView,
}

impl Intent {
    pub(crate) fn new(client: Client, view: IntentView) -> Self {
        Self { client, view }
    }

    /// The id of the intent.
    pub fn id(&self) -> IntentId {
        self.view.id
    }

    /// The intent as it was last read; see [`refresh`](Intent::refresh).
    pub fn view(&self) -> &IntentView {
        &self.view
    }

    /// Reads the intent again.
    pub async fn refresh(&mut self) -> Result<&IntentView, CallError> {
        self.view = self.client.intent_view(self.view.id).await?;
        Ok(&self.view)
    }

    /// Asks a person and waits; see [`Client::request_input`].
    pub async fn request_input<T>(&self, question: Question<T>) -> Result<Answer<T>, RequestInputError> {
        self.client.request_input(self.view.id, question).await
    }

    /// Decides whether to ask at all; see [`Client::should_request_input`].
    pub async fn should_request_input(&self, signals: EngagementSignals) -> Result<Engagement, CallError> {
        self.client.should_request_input(self.view.id, signals).await
    }

    /// Changes the status of the intent; see [`Client::set_status`].
    pub async fn set_status(&mut self, status: Status, reason: Option<&str>) -> Result<(), CallError> {
        self.view = self.client.set_status(self.view.id, status, reason).await?;
        Ok(())
    }

    /// The events of the intent, oldest first; see [`Client::events`].
    pub async fn events(&self) -> Result<Vec<EventView>, CallError> {
        self.client.events(self.view.id).await
    }
}

impl fmt::Debug for Intent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The state is left out: `state._suspension` holds the id of the open question.
        f.debug_struct("Intent")
            .field("id", &self.view.id)
            .field("status", &self.view.status)
            .field("version", &self.view.version)
            .finish_non_exhaustive()
    }
}

/// An intent to be created, from [`Client::create_intent`].
#[must_use = "nothing is created before send"]
pub struct CreateIntent<'a> {
    client: &'a Client,
    request: CreateIntentRequest,
    idempotency_key: Option<String>,
}

impl<'a> CreateIntent<'a> {
    pub(crate) fn new(client: &'a Client, title: String) -> Self {
        Self { client, request: CreateIntentRequest { title, ..CreateIntentRequest::default() }, idempotency_key: None }
    }

    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.request.description = Some(description.into());
        self
    }

    /// Sets one entry of the intent's state.
    pub fn state(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.state.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Creates the intent as `active` instead of `draft`; only an active intent can ask.
    pub fn active(mut self) -> Self {
        self.request.status = Some(Status::Active.as_str().to_owned());
        self
    }

    /// Lets the intent wait until these intents are completed (RFC-0002). An active intent is created blocked if one of them is not.
    pub fn depends_on(mut self, intents: impl IntoIterator<Item = IntentId>) -> Self {
        self.request.depends_on.get_or_insert_default().extend(intents.into_iter().map(|id| id.to_string()));
        self
    }

    /// Makes the intent a child of this one, which is not completed before it.
    pub fn parent(mut self, parent: IntentId) -> Self {
        self.request.parent_intent_id = Some(parent.to_string());
        self
    }

    /// Sets the rules for the work on the intent; see [`Intent::set_policy`].
    pub fn policy(mut self, policy: &Policy) -> Self {
        self.request.governance_policy = Some(policy.to_object());
        self
    }

    /// Makes the creation safe to repeat: for 24 hours, creating with the same key gives the same intent. Without a key, a
    /// creation whose outcome is unknown is reported as an error and not repeated.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Creates the intent.
    pub async fn send(self) -> Result<Intent, CallError> {
        let path = "/api/v1/intents";
        let call = match self.idempotency_key {
            Some(key) => {
                let key = key_header(&key).map_err(|error| CallError::Refused(Box::new(Problem::invalid(vec![error]))))?;
                Call::write(path, [], &self.request, Repeat::Safe)?.header("idempotency-key", key)
            }
            None => Call::write(path, [], &self.request, Repeat::Unsafe)?,
        };
        let view = self.client.send(call).await?;
        Ok(Intent::new(self.client.clone(), view))
    }
}
