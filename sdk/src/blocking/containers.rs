//! Graphs and portfolios for programs without a runtime; the documentation of each call is that of the asynchronous one.

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, PortfolioId};
use domain::portfolio::membership::MembershipRole;
use domain::portfolio::{PortfolioPolicy, PortfolioStatus};
use domain::wire::{GraphView, MemberView, MembershipView, PortfolioView};
use serde_json::Value;

use super::{Client, CreateIntent, Intent};
use crate::error::CallError;

/// Intents that are related to another one, as far as this key may read them.
#[derive(Clone)]
pub struct Related {
    /// The intents, oldest first; of [`Intent::ancestors`] the nearest first.
    pub intents: Vec<Intent>,
    /// Whether there are more than one reply holds: 1,000, or 8 MiB.
    pub truncated: bool,
}

impl CreateIntent<'_> {
    /// Lets the intent wait until these intents are completed; see [`crate::CreateIntent::depends_on`].
    pub fn depends_on(mut self, intents: impl IntoIterator<Item = IntentId>) -> Self {
        self.intent = self.intent.depends_on(intents);
        self
    }

    /// Makes the intent a child of this one; see [`crate::CreateIntent::parent`].
    pub fn parent(mut self, parent: IntentId) -> Self {
        self.intent = self.intent.parent(parent);
        self
    }
}

/// Writes the calls that list intents.
macro_rules! lists {
    ($($name:ident: $doc:literal),*) => {
        impl Intent {
            $(#[doc = $doc]
            pub fn $name(&self) -> Result<Related, CallError> {
                let related = self.client.driver.run(self.intent.$name())?;
                let own = |intent| Self { client: self.client.clone(), intent };
                Ok(Related { intents: related.intents.into_iter().map(own).collect(), truncated: related.truncated })
            })*
        }
    };
}

lists! {
    children: "The intents whose parent it is.",
    descendants: "Its children, their children, and so on.",
    ancestors: "Its parent, the parent's parent, and so on.",
    dependencies: "The intents for which it waits, the completed ones included.",
    dependents: "The intents that wait for it.",
    ready: "Its children that could be worked on now; see [`crate::Intent::ready`].",
    blocked: "Its children that cannot go on; see [`crate::Intent::blocked`]."
}

impl Intent {
    /// The intent with everything that it needs, directly or through others.
    pub fn graph(&self) -> Result<GraphView, CallError> {
        self.client.driver.run(self.intent.graph())
    }

    /// Lets the intent wait until another one is completed; see [`crate::Intent::add_dependency`].
    pub fn add_dependency(&mut self, dependency: IntentId) -> Result<(), CallError> {
        self.client.driver.run(self.intent.add_dependency(dependency))
    }

    /// Lets the intent wait for another one no longer; see [`crate::Intent::remove_dependency`].
    pub fn remove_dependency(&mut self, dependency: IntentId) -> Result<(), CallError> {
        self.client.driver.run(self.intent.remove_dependency(dependency))
    }

    /// The portfolios that the intent is in, as far as this key may read them, newest first.
    pub fn portfolios(&self) -> Result<Vec<Portfolio>, CallError> {
        let portfolios = self.client.driver.run(self.intent.portfolios())?;
        Ok(portfolios.into_iter().map(|portfolio| Portfolio { client: self.client.clone(), portfolio }).collect())
    }
}

impl Client {
    /// Starts the creation of a portfolio.
    pub fn create_portfolio(&self, name: impl Into<String>) -> CreatePortfolio<'_> {
        CreatePortfolio { client: self, portfolio: self.client.create_portfolio(name) }
    }

    /// Finds a portfolio.
    pub fn portfolio(&self, id: PortfolioId) -> Result<Portfolio, CallError> {
        let portfolio = self.driver.run(self.client.portfolio(id))?;
        Ok(Portfolio { client: self.clone(), portfolio })
    }
}

/// A portfolio to be created, from [`Client::create_portfolio`].
#[must_use = "nothing is created before send"]
pub struct CreatePortfolio<'a> {
    client: &'a Client,
    portfolio: crate::CreatePortfolio<'a>,
}

impl CreatePortfolio<'_> {
    /// Sets the description.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.portfolio = self.portfolio.description(description);
        self
    }

    /// Sets one entry of the portfolio's data.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.portfolio = self.portfolio.metadata(key, value);
        self
    }

    /// Sets the deadline of all questions of its intents; see [`crate::CreatePortfolio::deadline`].
    pub fn deadline(mut self, at: DateTime<Utc>) -> Self {
        self.portfolio = self.portfolio.deadline(at);
        self
    }

    /// Lets the portfolio be completed only when all its intents are.
    pub fn require_all_completed(mut self) -> Self {
        self.portfolio = self.portfolio.require_all_completed();
        self
    }

    /// Creates the portfolio.
    pub fn send(self) -> Result<Portfolio, CallError> {
        let portfolio = self.client.driver.run(self.portfolio.send())?;
        Ok(Portfolio { client: self.client.clone(), portfolio })
    }
}

/// A portfolio, with the client for its server.
#[derive(Clone)]
pub struct Portfolio {
    client: Client,
    portfolio: crate::Portfolio,
}

impl Portfolio {
    /// The id of the portfolio.
    pub fn id(&self) -> PortfolioId {
        self.portfolio.id()
    }

    /// The portfolio as it was last read; see [`refresh`](Portfolio::refresh).
    pub fn view(&self) -> &PortfolioView {
        self.portfolio.view()
    }

    /// Reads the portfolio again.
    pub fn refresh(&mut self) -> Result<&PortfolioView, CallError> {
        self.client.driver.run(self.portfolio.refresh())
    }

    /// All intents of the portfolio that this key may read; see [`crate::Portfolio::intents`].
    pub fn intents(&self) -> Result<Vec<MemberView>, CallError> {
        self.client.driver.run(self.portfolio.intents())
    }

    /// Puts an intent into the portfolio; see [`crate::Portfolio::add`].
    pub fn add(&self, intent: IntentId, role: MembershipRole, priority: i64) -> Result<MembershipView, CallError> {
        self.client.driver.run(self.portfolio.add(intent, role, priority))
    }

    /// Takes an intent out of the portfolio.
    pub fn remove(&self, intent: IntentId) -> Result<(), CallError> {
        self.client.driver.run(self.portfolio.remove(intent))
    }

    /// Sets the rules in place of the present ones; see [`crate::Portfolio::set_policy`].
    pub fn set_policy(&mut self, policy: PortfolioPolicy) -> Result<(), CallError> {
        self.client.driver.run(self.portfolio.set_policy(policy))
    }

    /// Completes or abandons the portfolio; see [`crate::Portfolio::set_status`].
    pub fn set_status(&mut self, status: PortfolioStatus) -> Result<(), CallError> {
        self.client.driver.run(self.portfolio.set_status(status))
    }
}
