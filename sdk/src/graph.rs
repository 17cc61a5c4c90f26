//! Intents that need each other (RFC-0002): dependencies, children, and the graph of both.

use domain::base::ids::IntentId;
use domain::wire::{AddDependencyRequest, GraphView, RelativesView};
use reqwest::header::HeaderValue;

use crate::backoff::Repeat;
use crate::client::CONFLICTS_MAX;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::Call;

/// Intents that are related to another one, as far as this key may read them.
#[derive(Clone, Debug)]
pub struct Related {
    /// The intents, oldest first; of [`Intent::ancestors`] the nearest first.
    pub intents: Vec<Intent>,
    /// Whether there are more than one reply holds: 1,000, or 8 MiB.
    pub truncated: bool,
}

impl Intent {
    /// The intents whose parent it is.
    pub async fn children(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/children", |view| view.children).await
    }

    /// Its children, their children, and so on.
    pub async fn descendants(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/descendants", |view| view.descendants).await
    }

    /// Its parent, the parent's parent, and so on.
    pub async fn ancestors(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/ancestors", |view| view.ancestors).await
    }

    /// The intents for which it waits, the completed ones included.
    pub async fn dependencies(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/dependencies", |view| view.dependencies).await
    }

    /// The intents that wait for it.
    pub async fn dependents(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/dependents", |view| view.dependents).await
    }

    /// Its children that could be worked on now: drafts and active ones whose dependencies are completed.
    pub async fn ready(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/ready", |view| view.ready).await
    }

    /// Its children that cannot go on: blocked ones, and others with a dependency that is not completed.
    pub async fn blocked(&self) -> Result<Related, CallError> {
        self.related("/api/v1/intents/{intent_id}/blocked", |view| view.blocked).await
    }

    /// The intent with everything that it needs, directly or through others.
    pub async fn graph(&self) -> Result<GraphView, CallError> {
        self.client.send(Call::read("/api/v1/intents/{intent_id}/graph", [self.id().to_string()])).await
    }

    /// Lets the intent wait until another one is completed, whatever the present version of the intent. If it is active and the other
    /// one is not completed, it is blocked from then on.
    ///
    /// ```no_run
    /// # async fn example(client: placet::Client) -> Result<(), placet::CallError> {
    /// let review = client.create_intent("Compliance review").active().send().await?;
    /// let mut report = client.create_intent("Report").active().send().await?;
    /// report.add_dependency(review.id()).await?;
    /// assert_eq!(report.view().blocked_by, [review.id()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Refused` with `not_found` if this key may not read the other intent, with `dependency_cycle` if the intents would wait for each
    /// other, with `dependency_exists`, and with `intent_ended` if the intent is completed or abandoned.
    pub async fn add_dependency(&mut self, dependency: IntentId) -> Result<(), CallError> {
        let request = AddDependencyRequest { dependency_id: dependency.to_string() };
        let path = "/api/v1/intents/{intent_id}/dependencies";
        self.change(|intent| Ok(Call::write(path, [intent.to_string()], &request, Repeat::Safe)?)).await
    }

    /// Lets the intent wait for another one no longer. If that was the last thing that blocked it, it is active again.
    ///
    /// # Errors
    ///
    /// `Refused` with `upstream_intent_suspended` while the other intent, or one that it needs, waits for a person, and with
    /// `upstream_intent_unanswered` if no person answered its last question: an agent may not go on without the person, an operator may.
    pub async fn remove_dependency(&mut self, dependency: IntentId) -> Result<(), CallError> {
        let path = "/api/v1/intents/{intent_id}/dependencies/{dependency_id}";
        self.change(|intent| Ok(Call::delete(path, [intent.to_string(), dependency.to_string()]))).await
    }

    async fn related(
        &self,
        path: &'static str,
        list: impl FnOnce(RelativesView) -> Option<Vec<domain::wire::IntentView>> + Send,
    ) -> Result<Related, CallError> {
        let view: RelativesView = self.client.send(Call::read(path, [self.id().to_string()])).await?;
        let truncated = view.truncated;
        let intents = list(view).unwrap_or_default().into_iter();
        Ok(Related { intents: intents.map(|view| Self::new(self.client.clone(), view)).collect(), truncated })
    }

    /// Sends a change of the intent under its present version; if the version has changed meanwhile, sends it again.
    pub(crate) async fn change(&mut self, call: impl Fn(IntentId) -> Result<Call, CallError> + Send) -> Result<(), CallError> {
        let mut conflicts = 0;
        loop {
            let version = self.client.intent_view(self.id()).await?.version;
            let call = call(self.id())?.header("idempotency-key", fresh_key());
            match self.client.send(call.header("if-match", HeaderValue::from(version))).await {
                Err(CallError::Refused(problem)) if problem.is("version_conflict") && conflicts < CONFLICTS_MAX => conflicts += 1,
                outcome => {
                    self.view = outcome?;
                    return Ok(());
                }
            }
        }
    }
}
