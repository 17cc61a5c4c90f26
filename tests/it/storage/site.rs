//! A server's store and worker on a database in memory that can be made to fail and can be tampered with.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use channels::MemoryMailbox;
use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::intent::command::{Command, Later};
use domain::intent::event::ExtensionCause;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::wire::{DeliveryView, SuspendRequest, SuspensionRecord};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use harness::app::asking_policy;
use harness::clock::FakeClock;
use harness::requests::{body, create, principal, write};
use placet_server::observe::metrics::Metrics;
use placet_server::worker::deliveries::{Deliveries, Resources};
use placet_server::worker::lane::Lane;
use serde_json::{Value, json};
use store::host::clock::SystemEntropy;
use store::sqlite::simulated::{Ended, Fate, Scheduler, SimulatedDatabase, SimulatedStore};
use store::{DeliveryFilter, EventFilter, IntentFilter, Store, StoreError, Target};

/// A database that fails some transactions.
pub(crate) struct Weather {
    /// The number of further completions that fail, each as `fate` says.
    pub(crate) completions: AtomicU32,
    fate: Mutex<Fate>,
    /// Whether every transaction fails.
    pub(crate) is_down: Mutex<bool>,
    /// The transactions that were asked for, in order.
    pub(crate) units: Mutex<Vec<&'static str>>,
}

impl Scheduler for Weather {
    fn turn(&self, unit: &'static str) -> BoxFuture<'_, Fate> {
        self.units.lock().unwrap().push(unit);
        let fails = || self.completions.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        let fate = if *self.is_down.lock().unwrap() {
            Fate::Refused
        } else if unit == "complete_delivery" && fails() {
            *self.fate.lock().unwrap()
        } else {
            Fate::Committed
        };
        std::future::ready(fate).boxed()
    }

    fn ended(&self, _: Ended) {}

    fn heard(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// A worker on a store of the simulator with chosen failures, and one question that has been asked. No real disk fails on demand.
pub(crate) struct Site {
    pub(crate) weather: Arc<Weather>,
    pub(crate) clock: Arc<FakeClock>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) mailbox: MemoryMailbox,
    worker: Arc<Deliveries>,
    agent: Principal,
    database: Arc<SimulatedDatabase>,
    pub(crate) suspension: SuspensionId,
}

impl Site {
    pub(crate) async fn new(completions: u32, fate: Fate) -> Self {
        let weather = Arc::new(Weather {
            completions: completions.into(),
            fate: Mutex::new(fate),
            is_down: Mutex::new(false),
            units: Mutex::default(),
        });
        let (clock, entropy) = (Arc::new(FakeClock::default()), Arc::new(SystemEntropy));
        let database = Arc::new(SimulatedDatabase::new().unwrap());
        let channels = asking_policy().channels;
        let store = SimulatedStore::open(database.clone(), clock.clone(), entropy.clone(), channels, weather.clone()).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        while !store.recover().await.unwrap().done {}
        let agent = principal("agent", Role::Agent);
        let suspension = ask(&*store, &agent, clock.now(), json!({})).await;
        let mailbox = MemoryMailbox::new();
        let metrics = Arc::new(Metrics::new(clock.now()));
        let resources = Resources { store: store.clone(), clock: clock.clone(), entropy, metrics };
        let lanes = vec![Lane::email(Arc::new(mailbox.clone()))];
        let worker = Arc::new(Deliveries::new(resources, lanes, "http://127.0.0.1/".parse().unwrap(), &asking_policy()));
        Self { weather, clock, store, mailbox, worker, agent, database, suspension }
    }

    /// Asks another question, on an intent of its own.
    pub(crate) async fn ask(&self, change: Value) -> SuspensionId {
        ask(&*self.store, &self.agent, self.clock.now(), change).await
    }

    /// The number of events of a type in the log of the oldest intent, at most 100.
    pub(crate) async fn events(&self, event_type: Option<&str>) -> Result<usize, StoreError> {
        let filter = IntentFilter { limit: 100, offset: 0, status: None, before: None };
        let intents = self.store.intents(self.agent.clone(), Ok(filter)).await?.intents;
        let event_type = event_type.map(str::to_owned);
        let filter = EventFilter { limit: 100, offset: 0, event_type, since: None, all: true, refuse_far: true };
        Ok(self.store.events(self.agent.clone(), intents[intents.len() - 1].id, Ok(filter)).await?.len())
    }

    /// The number of events of these types in the log of the oldest intent, walked to its beginning.
    pub(crate) async fn records(&self, types: &'static [&'static str]) -> Result<usize, StoreError> {
        let filter = IntentFilter { limit: 100, offset: 0, status: None, before: None };
        let intents = self.store.intents(self.agent.clone(), Ok(filter)).await?.intents;
        Ok(self.store.records(self.agent.clone(), intents[intents.len() - 1].id, types, usize::MAX).await?.len())
    }

    /// Extends a question's deadline.
    pub(crate) async fn extend(&self, id: SuspensionId, later: Later) {
        let command = Command::Extend { suspension_id: id, later, reason: None, cause: ExtensionCause::Request };
        let request = write(&principal("operator", Role::Operator), Action::Extend, Target::Suspension(id), Ok(command));
        self.store.execute(request).await.unwrap();
    }

    /// The current record of a question.
    pub(crate) async fn record(&self, id: SuspensionId) -> SuspensionRecord {
        self.store.suspension(self.agent.clone(), id).await.unwrap()
    }

    /// Runs a statement on the database behind the server's back. Returns the number of rows it touched.
    pub(crate) fn tamper(&self, statement: &str) -> usize {
        self.database.lines(&format!("{statement} RETURNING 'touched'"), None).unwrap().len()
    }

    /// Changes the tables behind the server's back.
    pub(crate) fn alter(&self, statement: &str) {
        self.database.lines(statement, None).unwrap();
    }

    /// Lets time pass and does the work that is due.
    pub(crate) async fn after(&self, seconds: i64) {
        self.clock.jump(TimeDelta::seconds(seconds));
        // Work that fails now is due again at the next turn.
        if let Err(error) = self.worker.run_due().await {
            assert!(matches!(error, StoreError::Unavailable(_)), "{error:#}");
        }
    }

    pub(crate) fn mails(&self) -> usize {
        self.mailbox.messages().len()
    }

    pub(crate) async fn message(&self) -> DeliveryView {
        self.messages(self.suspension).await.remove(0)
    }

    /// The messages about a question.
    pub(crate) async fn messages(&self, id: SuspensionId) -> Vec<DeliveryView> {
        self.store.deliveries(self.agent.clone(), id, Ok(DeliveryFilter { limit: 100, after: 0 })).await.unwrap().deliveries
    }
}

async fn ask(store: &dyn Store, agent: &Principal, now: DateTime<Utc>, change: Value) -> SuspensionId {
    let (intent, id) = (IntentId(SystemEntropy.uuid(now)), SuspensionId(SystemEntropy.uuid(now)));
    store.create(create(agent, intent, body(agent, "Refunds"))).await.unwrap();
    let mut question = json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 86_400});
    for (key, value) in change.as_object().into_iter().flatten() {
        question[key] = value.clone();
    }
    let question: SuspendRequest = serde_json::from_value(question).unwrap();
    let accepted = asking_policy().accept(question, id, agent, None).unwrap();
    let command = Command::Suspend(Box::new(accepted));
    let request = write(agent, Action::Suspend, Target::Intent(intent), Ok(command));
    store.execute(request).await.unwrap();
    id
}
