//! Portfolios: intents that belong together, and a deadline for all their questions (RFC-0007, RFC-0026).

use std::fmt;

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, PortfolioId};
use domain::portfolio::membership::MembershipRole;
use domain::portfolio::{PortfolioPolicy, PortfolioStatus};
use domain::wire::{
    AddToPortfolioRequest, CreatePortfolioRequest, MemberList, MemberView, MembershipView, PortfolioView,
    SetPortfolioStatusRequest, UpdatePortfolioRequest, WholePortfolioView,
};
use reqwest::Method;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::Call;

const PORTFOLIO: &str = "/api/v1/portfolios/{portfolio_id}";
const MEMBERS: &str = "/api/v1/portfolios/{portfolio_id}/intents";

/// A portfolio, with the client for its server.
#[derive(Clone)]
pub struct Portfolio {
    client: Client,
    view: PortfolioView,
}

impl Client {
    /// Creates a portfolio; nothing is sent before [`CreatePortfolio::send`].
    pub fn create_portfolio(&self, name: impl Into<String>) -> CreatePortfolio<'_> {
        let request = CreatePortfolioRequest { name: name.into(), ..CreatePortfolioRequest::default() };
        CreatePortfolio { client: self, request, policy: PortfolioPolicy::default() }
    }

    /// The portfolio with this id.
    pub async fn portfolio(&self, id: PortfolioId) -> Result<Portfolio, CallError> {
        let whole: WholePortfolioView = self.send(Call::read(PORTFOLIO, [id.to_string()])).await?;
        Ok(Portfolio { client: self.clone(), view: whole.portfolio })
    }
}

impl Intent {
    /// The portfolios that the intent is in, as far as this key may read them, newest first.
    pub async fn portfolios(&self) -> Result<Vec<Portfolio>, CallError> {
        let call = Call::read("/api/v1/intents/{intent_id}/portfolios", [self.id().to_string()]);
        let views: Vec<PortfolioView> = self.client.send(call).await?;
        Ok(views.into_iter().map(|view| Portfolio { client: self.client.clone(), view }).collect())
    }
}

/// A portfolio to be created, from [`Client::create_portfolio`].
#[must_use = "nothing is created before send"]
pub struct CreatePortfolio<'a> {
    client: &'a Client,
    request: CreatePortfolioRequest,
    policy: PortfolioPolicy,
}

impl CreatePortfolio<'_> {
    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.request.description = Some(description.into());
        self
    }

    /// Sets one entry of the portfolio's data, which mean nothing to the server.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Sets the moment from which no person can answer a question of its intents. Questions that are open then end as cancelled,
    /// without their fallback, and their intents are abandoned.
    pub fn deadline(mut self, at: DateTime<Utc>) -> Self {
        self.policy.deadline = Some(at);
        self
    }

    /// Lets the portfolio be completed only when all its intents are.
    pub fn require_all_completed(mut self) -> Self {
        self.policy.require_all_completed = Some(true);
        self
    }

    /// Creates the portfolio.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` for a deadline in the past, or a name that is empty or has more than 200 characters.
    pub async fn send(self) -> Result<Portfolio, CallError> {
        let Self { client, mut request, policy } = self;
        request.governance_policy = Some(policy.to_object());
        let call = Call::write("/api/v1/portfolios", [], &request, Repeat::Safe)?;
        let view = client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(Portfolio { client: client.clone(), view })
    }
}

impl Portfolio {
    /// The id of the portfolio.
    pub fn id(&self) -> PortfolioId {
        self.view.id
    }

    /// The portfolio as it was last read; see [`refresh`](Portfolio::refresh).
    pub fn view(&self) -> &PortfolioView {
        &self.view
    }

    /// Reads the portfolio again.
    pub async fn refresh(&mut self) -> Result<&PortfolioView, CallError> {
        self.view = self.client.portfolio(self.id()).await?.view;
        Ok(&self.view)
    }

    /// All intents of the portfolio that this key may read, by priority, the highest first, and then the oldest first.
    pub async fn intents(&self) -> Result<Vec<MemberView>, CallError> {
        let (mut intents, mut offset) = (Vec::new(), 0);
        loop {
            let call = Call::read(MEMBERS, [self.id().to_string()]).query("offset", offset.to_string());
            let page: MemberList = self.client.send(call).await?;
            intents.extend(page.intents);
            match page.next_offset {
                Some(next) => offset = next,
                None => return Ok(intents),
            }
        }
    }

    /// Puts an intent into the portfolio. An intent that is in it already gets this role and priority.
    ///
    /// # Errors
    ///
    /// `Refused` with `portfolio_not_active`, with `portfolio_deadline_passed`, and with `forbidden` if this agent did not create the
    /// portfolio, or if the portfolio has a deadline and another agent created the intent.
    pub async fn add(&self, intent: IntentId, role: MembershipRole, priority: i64) -> Result<MembershipView, CallError> {
        let request = AddToPortfolioRequest { intent_id: intent.to_string(), role: Some(role), priority: Some(priority) };
        let call = Call::write(MEMBERS, [self.id().to_string()], &request, Repeat::Safe)?;
        self.client.send(call.header("idempotency-key", fresh_key())).await
    }

    /// Takes an intent out of the portfolio.
    pub async fn remove(&self, intent: IntentId) -> Result<(), CallError> {
        let path = "/api/v1/portfolios/{portfolio_id}/intents/{intent_id}";
        let call = Call::delete(path, [self.id().to_string(), intent.to_string()]).header("idempotency-key", fresh_key());
        let _message: IgnoredAny = self.client.send(call).await?;
        Ok(())
    }

    /// Sets the rules in place of the present ones. A rule that is `None` is not set from then on.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid` for a deadline in the past, and with `portfolio_deadline_passed` if the present one has passed.
    pub async fn set_policy(&mut self, policy: PortfolioPolicy) -> Result<(), CallError> {
        let governance_policy = Some(policy.to_object());
        let request = UpdatePortfolioRequest { governance_policy, ..UpdatePortfolioRequest::default() };
        self.change(PORTFOLIO, &request).await
    }

    /// Completes or abandons the portfolio; its intents stay as they are.
    ///
    /// # Errors
    ///
    /// `Refused` with `members_incomplete` if the rules require that all intents are completed, and with `invalid_transition` if the
    /// portfolio is completed or abandoned already.
    pub async fn set_status(&mut self, status: PortfolioStatus) -> Result<(), CallError> {
        self.change("/api/v1/portfolios/{portfolio_id}/status", &SetPortfolioStatusRequest { status }).await
    }

    async fn change(&mut self, path: &'static str, request: &(impl serde::Serialize + Sync)) -> Result<(), CallError> {
        let call = Call::write(path, [self.id().to_string()], request, Repeat::Safe)?.method(Method::PATCH);
        self.view = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(())
    }
}

impl fmt::Debug for Portfolio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Portfolio").field("id", &self.view.id).field("status", &self.view.status).finish_non_exhaustive()
    }
}
