//! A whole server in the test's process: real HTTP, a real SMTP dialogue, a real database file, and a clock that the test moves.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use channels::Channel;
use chrono::TimeDelta;
use domain::asking::floors::Floors;
use domain::asking::policy::{AskingPolicy, CLIENT_GUARD_SECONDS, UnknownChannel};
use domain::asking::pressing::Pressing;
use domain::base::address::AllowList;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, IntentId, KeyId};
use domain::log::{Sealed, verify_chain};
use domain::people::principal::Role;
use domain::suspension::FallbackPolicy;
use domain::suspension::channel::Channels;
use domain::suspension::seeming::SeemingSecret;
use domain::wire::CreateKeyRequest;
use placet::Client;
use placet_server::app::{App, Serving, hold_after_restore};
use placet_server::config::{A2aConfig, Config, InboxConfig, Limits, LogConfig, MailConfig, Mode, SubscriptionsConfig};
use placet_server::edge::admission::Admission;
use placet_server::edge::keys::{generate, new_key};
use placet_server::log::checkpoints::Checkpoints;
use placet_server::log::second_places::SecondPlaces;
use placet_server::observe::metrics::Metrics;
use placet_server::worker::deadlines::Deadlines;
use placet_server::worker::deliveries::{Deliveries, Resources};
use placet_server::worker::lane::Lane;
use placet_server::worker::subscriptions::Subscriptions;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use store::host::account;
use store::host::clock::SystemEntropy;
use store::{Database, SecretOrigin, Store};
use tempfile::TempDir;
use tokio::sync::watch;

use crate::api::Api;
use crate::clock::FakeClock;
use crate::folder;
use crate::person::Person;
use crate::postgres::{Cluster, Scratch};
use crate::smtp::{Received, SmtpSink};

/// How long a stopped server may keep its database.
const RESTART_WAIT_MAX: Duration = Duration::from_secs(20);

/// The person who is asked when a test names no recipient.
pub const OPERATOR: &str = "ops@example.com";

/// The kinds of database a server runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
}

/// A running server and everything around it.
pub struct TestApp {
    pub clock: Arc<FakeClock>,
    pub smtp: SmtpSink,
    /// `http://127.0.0.1:PORT/`; the same after a restart, so that links stay good.
    pub base: String,
    folder: TempDir,
    scratch: Option<Scratch>,
    config: Config,
    // Kept open over restarts, so that no other test can take the port.
    listener: TcpListener,
    keys: Vec<(Role, String)>,
    running: Option<Running>,
}

/// Another server beside the one of a test.
pub struct Replica {
    /// `http://127.0.0.1:PORT/`.
    pub base: String,
    pub store: Arc<dyn Store>,
    pub deadlines: Arc<Deadlines>,
    pub deliveries: Arc<Deliveries>,
    pub subscriptions: Arc<Subscriptions>,
    serving: Serving,
}

impl Replica {
    /// The connection of an actor to this server.
    pub fn api(&self, actor: &Api) -> Api {
        Api::new(&self.base, Some(actor.key()))
    }

    /// Stops it.
    pub async fn stop(self) {
        self.serving.stop().await;
    }
}

struct Running {
    serving: Serving,
    store: Arc<dyn Store>,
    deadlines: Arc<Deadlines>,
    deliveries: Arc<Deliveries>,
    subscriptions: Arc<Subscriptions>,
    checkpoints: Arc<Checkpoints>,
    second_places: Arc<SecondPlaces>,
    admission: Arc<Admission>,
    development_address: Option<watch::Receiver<String>>,
}

impl TestApp {
    /// Starts a server with the usual configuration and a key of each role.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server whose configuration `change` has changed.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Self::start_on(Backend::Sqlite, change).await
    }

    /// Starts a server on one kind of database.
    pub async fn start_on(backend: Backend, change: impl FnOnce(&mut Config)) -> Self {
        let folder = folder::quick("placet-server-");
        let scratch = match backend {
            Backend::Sqlite => None,
            Backend::Postgres => Some(Cluster::of_this_process().scratch().await),
        };
        let database = scratch.as_ref().map_or_else(|| Database::Sqlite(folder.path().join("placet.db")), Scratch::database);
        let smtp = SmtpSink::start().await;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut config = Config {
            listen: address,
            database,
            public_url: None,
            mode: Mode::Production,
            mail: Some(MailConfig {
                smtp_url: smtp.url().into(),
                from: "Placet <placet@example.com>".into(),
                bounce_to: None,
                allow_insecure: false,
            }),
            webhooks: Vec::new(),
            asking: asking_policy(),
            // Endpoints are listeners of the tests themselves.
            wakes: Vec::new(),
            senders: Vec::new(),
            subscriptions: SubscriptionsConfig {
                hosts: vec!["127.0.0.1".to_owned()],
                allow_subnets: vec!["127.0.0.0/8".parse().unwrap()],
            },
            a2a: A2aConfig::default(),
            retention: None,
            inbox: InboxConfig::default(),
            openid: None,
            roster: None,
            log: LogConfig {
                key_file: Some(folder.path().join("log-key")),
                origin: Some("log.example".to_owned()),
                ..LogConfig::default()
            },
            display_time_zone: None,
            otlp_endpoint: None,
            // Tests try more wrong keys from one address than people would.
            limits: Limits { bad_keys_per_minute: NonZeroU32::MAX, ..Limits::of_this_machine() },
        };
        change(&mut config);
        let clock = Arc::new(FakeClock::default());
        let base = format!("http://{address}/");
        let mut app = Self { clock, smtp, base, folder, scratch, config, listener, keys: Vec::new(), running: None };
        app.boot().await;
        for role in Role::ALL {
            let key = app.new_key(role, &format!("test-{role}")).await;
            app.keys.push((role, key));
        }
        app
    }

    async fn boot(&mut self) {
        self.boot_alone().await;
        // In production the deadline loop begins with this step; in these tests no loop runs.
        while !self.store().recover().await.unwrap().done {}
    }

    async fn build(&self, config: &Config) -> anyhow::Result<App> {
        let give_up = Instant::now() + RESTART_WAIT_MAX;
        loop {
            let listener = self.listener.try_clone().unwrap();
            match App::build_on(listener, config.clone(), self.clock.clone(), Arc::new(SystemEntropy)).await {
                // An earlier server holds the database until its last thread has ended, a moment after it reported its end.
                Err(error) if error.to_string().ends_with("stop it first") && Instant::now() < give_up => {
                    crate::pause::pause().await;
                }
                built => return built,
            }
        }
    }

    async fn boot_alone(&mut self) {
        let built = self.build(&self.config).await;
        let app = built.unwrap_or_else(|error| panic!("failed to start a server: {error:#}"));
        let (store, deadlines, deliveries, admission) = (app.store(), app.deadlines(), app.deliveries(), app.admission());
        let (subscriptions, checkpoints, second_places) = (app.subscriptions(), app.checkpoints(), app.second_places());
        let development_address = app.development_address();
        let serving = app.serve_only();
        self.running = Some(Running {
            serving,
            store,
            deadlines,
            deliveries,
            subscriptions,
            checkpoints,
            second_places,
            admission,
            development_address,
        });
    }

    fn running(&self) -> &Running {
        self.running.as_ref().unwrap()
    }

    /// Stops the server and starts another one on the same data and port: anything that was kept in memory only is lost.
    pub async fn restart(&mut self) {
        self.running.take().unwrap().serving.stop().await;
        self.boot().await;
    }

    /// Like [`TestApp::restart`], with other settings.
    pub async fn restart_with(&mut self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config);
        self.restart().await;
    }

    /// Tries to restart with other settings, which must be refused, and returns the words of the refusal. Then the server runs with its
    /// settings of before.
    pub async fn refused_with(&mut self, change: impl FnOnce(&mut Config)) -> String {
        let mut config = self.config.clone();
        change(&mut config);
        self.running.take().unwrap().serving.stop().await;
        let refused = self.build(&config).await.err().map(|error| format!("{error:#}"));
        self.boot().await;
        refused.expect("a server with these settings does not start")
    }

    /// Stops the server for this many seconds, as in an outage.
    pub async fn outage(&mut self, seconds: i64) {
        self.running.take().unwrap().serving.stop().await;
        self.clock.jump(TimeDelta::seconds(seconds));
        self.boot().await;
    }

    /// Like [`TestApp::outage`], up to the moment when requests are served but the deadline loop has done nothing yet.
    pub async fn outage_until_served(&mut self, seconds: i64) {
        self.running.take().unwrap().serving.stop().await;
        self.clock.jump(TimeDelta::seconds(seconds));
        self.boot_alone().await;
    }

    /// Stops the server and starts it again as `serve --after-restore` does.
    pub async fn restore(&mut self) {
        self.running.take().unwrap().serving.stop().await;
        hold_after_restore(&self.config.database, self.clock.clone(), Arc::new(SystemEntropy)).await.unwrap();
        self.boot().await;
    }

    /// Moves the clock and does everything that is due then.
    pub async fn advance(&self, seconds: i64) {
        self.clock.jump(TimeDelta::seconds(seconds));
        self.settle().await;
    }

    /// Asks as the usual agent, on a new intent, and delivers the messages that are due.
    pub async fn ask(&self, change: Value) -> (IntentId, String) {
        let asked = self.agent().ask(change).await;
        self.settle().await;
        asked
    }

    /// Runs the production workers until nothing is due.
    pub async fn settle(&self) {
        loop {
            let (fired, _) = self.running().deadlines.run_due().await.unwrap();
            let (sent, _) = self.running().deliveries.run_due().await.unwrap();
            let told = self.running().subscriptions.run_due().await.unwrap();
            if fired + sent + told == 0 {
                return;
            }
        }
    }

    /// The loop that keeps the tree over all events; nothing else runs it in these tests.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.running().checkpoints
    }

    /// The loops that send checkpoints to second places; nothing else runs them in these tests.
    pub fn second_places(&self) -> &SecondPlaces {
        &self.running().second_places
    }

    /// Waits until a mail is sent, for example about a question that another task is just asking, and returns it.
    pub async fn carried(&self) -> Received {
        while !self.smtp.has_unread() {
            self.store().hub().delivery().await;
            self.settle().await;
        }
        self.smtp.next_mail().await
    }

    /// The answer link in the next mail.
    pub async fn next_link(&self) -> String {
        self.smtp.next_mail().await.link(&self.base)
    }

    /// A person whose browser has not been here before.
    pub fn person(&self) -> Person {
        Person::new(&self.base)
    }

    /// Another server on the same database, clock and mail server; only PostgreSQL allows one.
    pub async fn replica(&self) -> Replica {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", listener.local_addr().unwrap());
        // Links lead to the address that people use, whichever server sends them.
        let config = Config { public_url: Some(self.base.parse().unwrap()), ..self.config.clone() };
        let app = App::build_on(listener, config, self.clock.clone(), Arc::new(SystemEntropy)).await.unwrap();
        let (store, deadlines, deliveries) = (app.store(), app.deadlines(), app.deliveries());
        let subscriptions = app.subscriptions();
        Replica { base, store, deadlines, deliveries, subscriptions, serving: app.serve_only() }
    }

    /// The scratch database, where there is one.
    pub fn scratch(&self) -> Option<&Scratch> {
        self.scratch.as_ref()
    }

    /// The loop that tells endpoints of events.
    pub fn subscriptions(&self) -> Arc<Subscriptions> {
        self.running().subscriptions.clone()
    }

    /// The deadline loop.
    pub fn deadlines(&self) -> Arc<Deadlines> {
        self.running().deadlines.clone()
    }

    /// The limit on requests that are served at the same time, for tests that occupy its places.
    pub fn admission(&self) -> Arc<Admission> {
        self.running().admission.clone()
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.config.listen
    }

    /// The limits of the server.
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// The delivery loop.
    pub fn deliveries(&self) -> Arc<Deliveries> {
        self.running().deliveries.clone()
    }

    /// The store, for facts that neither the API nor a page shows.
    pub fn store(&self) -> Arc<dyn Store> {
        self.running().store.clone()
    }

    /// The address that lets a browser in to the pages of development mode; there is a new one after each use.
    pub fn development_address(&self) -> String {
        let address = self.running().development_address.as_ref();
        address.unwrap_or_else(|| panic!("the server is not in development mode")).borrow().clone()
    }

    /// The folder that holds the database.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Makes a key and returns its secret.
    pub async fn new_key(&self, role: Role, name: &str) -> String {
        self.new_key_of(role, name, name).await
    }

    /// Makes a key that belongs to an owner and returns its secret.
    pub async fn new_key_of(&self, role: Role, name: &str, owner: &str) -> String {
        let secret = generate(role, &SystemEntropy);
        let unbound = role == Role::Channel;
        let request = CreateKeyRequest {
            role,
            name: name.into(),
            subject: None,
            owner: Some(owner.into()),
            tied_to: None,
            unbound,
            client: None,
        };
        self.keep_key(request, &secret).await;
        secret.expose_secret().to_owned()
    }

    /// Makes an agent's key for the OpenIntent client and returns its secret.
    pub async fn new_client_key(&self, name: &str) -> String {
        self.new_client_key_of(name, name).await
    }

    /// Makes an agent's key for the OpenIntent client that belongs to an owner and returns its secret.
    pub async fn new_client_key_of(&self, name: &str, owner: &str) -> String {
        let secret = generate(Role::Agent, &SystemEntropy);
        let (name, owner) = (name.to_owned(), Some(owner.to_owned()));
        let client = Some(domain::people::client::Client::OpenIntent017);
        let request = CreateKeyRequest { role: Role::Agent, name, subject: None, owner, tied_to: None, unbound: false, client };
        self.keep_key(request, &secret).await;
        secret.expose_secret().to_owned()
    }

    /// Makes a gateway's key that is tied to channels and returns its secret.
    pub async fn new_gateway(&self, name: &str, tied_to: &[&str]) -> String {
        let secret = generate(Role::Channel, &SystemEntropy);
        let tied_to = Some(tied_to.iter().map(|name| (*name).to_owned()).collect());
        let (role, name) = (Role::Channel, name.to_owned());
        self.keep_key(
            CreateKeyRequest { role, name, subject: None, owner: None, tied_to, unbound: false, client: None },
            &secret,
        )
        .await;
        secret.expose_secret().to_owned()
    }

    async fn keep_key(&self, request: CreateKeyRequest, secret: &SecretString) {
        let key = new_key(request, secret, KeyId(SystemEntropy.uuid(self.clock.now())), None, SecretOrigin::Drawn).unwrap();
        self.store().create_key(account::principal(), Ok(key)).await.unwrap();
    }

    /// A worker over the same queue whose mails go through `channel`.
    pub fn worker(&self, channel: Arc<dyn Channel>) -> Arc<Deliveries> {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let metrics = Arc::new(Metrics::new(clock.now()));
        let resources = Resources { store: self.store(), clock, entropy: Arc::new(SystemEntropy), metrics };
        let public_url = self.base.parse().unwrap();
        Arc::new(Deliveries::new(resources, vec![Lane::email(channel)], public_url, &asking_policy()))
    }

    /// Raw requests with the usual key of a role (named `test-<role>`).
    pub fn api(&self, role: Role) -> Api {
        let key = self.keys.iter().find(|(of, _)| *of == role).map(|(_, key)| key.as_str());
        Api::new(&self.base, key)
    }

    /// Raw requests of the usual agent.
    pub fn agent(&self) -> Api {
        self.api(Role::Agent)
    }

    /// Raw requests of the usual operator.
    pub fn operator(&self) -> Api {
        self.api(Role::Operator)
    }

    /// Raw requests without a key.
    pub fn anonymous(&self) -> Api {
        Api::new(&self.base, None)
    }

    /// The SDK with the usual agent's key.
    pub fn client(&self) -> Client {
        Client::new(self.base.clone(), self.agent().key().to_owned()).unwrap()
    }

    /// Ends a test: no work may be left that is due, and every chain must verify.
    pub async fn finish(self) {
        self.settle().await;
        let auditor = self.api(Role::Auditor);
        let intents = auditor.get("api/v1/intents?limit=1000").await.ok();
        for intent in intents["intents"].as_array().unwrap() {
            let events = auditor.events(intent["id"].as_str().unwrap().parse().unwrap()).await;
            let sealed: Vec<Sealed> = events.iter().map(|event| Sealed::from_served(event).unwrap()).collect();
            if sealed.len() < 1000 {
                assert_eq!(verify_chain(&sealed), Ok(sealed.len() as u64));
            }
        }
        let of_the_server = auditor.get("api/v1/server/events?limit=1000").await.ok();
        let sealed: Vec<Sealed> =
            of_the_server.as_array().unwrap().iter().map(|event| Sealed::from_served(event).unwrap()).collect();
        assert_eq!(verify_chain(&sealed), Ok(sealed.len() as u64));
        self.discard().await;
    }

    /// Ends a test whose rows were tampered with.
    pub async fn discard(mut self) {
        self.running.take().unwrap().serving.stop().await;
        if let Some(scratch) = self.scratch.take() {
            scratch.forget().await;
        }
    }
}

/// The policy of the tests' server: operators and every address at example.com, all fallbacks, windows from one second, asking
/// without limits.
pub fn asking_policy() -> AskingPolicy {
    AskingPolicy {
        default_retry_policy: None,
        operators: vec![OPERATOR.into()],
        notify_allow: AllowList::parse(["*@example.com"]).unwrap(),
        channels: Channels::email(),
        unknown_channel: UnknownChannel::Warn,
        seeming_secret: SeemingSecret::Warn,
        fallback_allowed: FallbackPolicy::ALL.to_vec(),
        min_interval_seconds: 1,
        pressing: Pressing::OFF,
        fallback_min_window_seconds: 1,
        fallback_requires_delivery: true,
        client_guard_seconds: CLIENT_GUARD_SECONDS,
        passkeys: false,
        recent_logins: false,
        floors: Floors::default(),
    }
}

/// Whether a JSON value contains a text anywhere.
pub fn mentions(value: &Value, text: &str) -> bool {
    value.to_string().contains(text)
}

/// A test on each database the store supports.
///
/// The body gets a running [`TestApp`]; afterwards no work may be left that is due, and every chain must verify.
#[macro_export]
macro_rules! on_each_store {
    ($($(#[$doc:meta])* async fn $name:ident($app:ident: &mut TestApp) $body:block)*) => {
        $crate::on_stores! { [on_sqlite Sqlite, on_postgres Postgres] $($(#[$doc])* async fn $name($app: &mut TestApp) $body)* }
    };
}

/// A test that does not depend on the database, for example of how pages look.
#[macro_export]
macro_rules! on_one_store {
    ($($(#[$doc:meta])* async fn $name:ident($app:ident: &mut TestApp) $body:block)*) => {
        $crate::on_stores! { [on_sqlite Sqlite] $($(#[$doc])* async fn $name($app: &mut TestApp) $body)* }
    };
}

/// A test on each of the databases named.
#[doc(hidden)]
#[macro_export]
macro_rules! on_stores {
    ($stores:tt) => {};
    ([$($on:ident $backend:ident),*] $(#[$doc:meta])* async fn $name:ident($app:ident: &mut TestApp) $body:block $($more:tt)*) => {
        $(#[$doc])*
        #[cfg(test)]
        async fn $name($app: &mut $crate::app::TestApp) $body

        mod $name {
            use $crate::app::{Backend, TestApp};

            async fn on(backend: Backend) {
                let mut app = TestApp::start_on(backend, |_| {}).await;
                super::$name(&mut app).await;
                app.finish().await;
            }

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $on() {
                on(Backend::$backend).await;
            })*
        }

        $crate::on_stores! { [$($on $backend),*] $($more)* }
    };
}
