//! The composition root: the only place that names every part.

use std::future::ready;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use actix_http::error::DispatchError;
use actix_http::{HttpService, Protocol};
use actix_service::{ServiceFactoryExt, map_config};
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Server, ServerHandle, ServiceFactory, ServiceRequest, ServiceResponse, fn_service};
use actix_web::middleware::{DefaultHeaders, from_fn};
use actix_web::rt::net::TcpStream;
use actix_web::{App as ActixApp, web};
use anyhow::Context;
use channels::{
    Channel, CheckpointPost, EmailChannel, EmailSettings, MemoryMailbox, Postbox, SignedHook, WebhookChannel, Withheld,
    WitnessEndpoint,
};
use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::Entropy;
use domain::base::time::rfc3339;
use store::allowance::Allowance;
use store::host::kill_points::{self, Point};
use store::host::task::spawn_named;
use store::link::LINK_SECRET;
use store::sqlite::Exclusive;
use store::{self, Database, PRODUCTION_MARK, Store, StoreError, Surroundings};
use tokio::sync::watch;
use url::Url;

use crate::config::{Config, Limits, Mode, site};
use crate::edge::admission::Admission;
use crate::edge::connection::{Connection, HEAD_WAIT, KEEP_ALIVE, UntakenRoom};
use crate::edge::doors::Doors;
use crate::edge::instance::{INSTANCE_SECRET, Instance};
use crate::edge::settings::Settings;
use crate::edge::shared::Shared;
use crate::edge::stamps::Stamps;
use crate::edge::turns::Turns;
use crate::log::checkpoints::Checkpoints;
use crate::log::hook::Hook;
use crate::log::mail::Mails;
use crate::log::second_places::SecondPlaces;
use crate::log::witness::Witness as LogWitness;
use crate::observe::Witness;
use crate::observe::metrics::Metrics;
use crate::observe::traces::Traces;
use crate::openid::{OPENID_SECRET, Provider};
use crate::pages::{self, AllPages, Development};
use crate::worker::deadlines::Deadlines;
use crate::worker::deliveries::{Deliveries, Resources};
use crate::worker::lane::Lane;
use crate::worker::logins::Logins;
use crate::worker::subscriptions::Subscriptions;
use crate::worker::upkeep::Sweep;
use crate::worker::{reach, scrub, streams, upkeep, wakes};
use crate::{api, edge, log, protocols};

/// How long requests may take to end when the server stops, in seconds.
const DRAIN_SECONDS: u64 = 25;
/// How long a server that stops works on the tree of the log.
const LAST_TURN_MAX: Duration = Duration::from_secs(3);
/// How long the rest of a refused body is read, so that the client can read the refusal.
const LINGER: Duration = Duration::from_secs(1);
/// How many connections wait in the system's queue until they are accepted.
#[cfg(unix)]
const BACKLOG: i32 = 1_024;
/// How long a client may take none of the data that was sent to it.
#[cfg(target_os = "linux")]
const UNTAKEN_MAX: Duration = Duration::from_secs(30);

/// A server, bound and ready to run.
pub struct App {
    server: Server,
    address: SocketAddr,
    public_url: Url,
    mode: Mode,
    /// How long the content of intents is kept.
    retention: Option<TimeDelta>,
    instance: Instance,
    store: Arc<dyn Store>,
    shared: web::Data<Shared>,
    pages: web::Data<AllPages>,
    mailbox: Option<MemoryMailbox>,
    deadlines: Arc<Deadlines>,
    deliveries: Arc<Deliveries>,
    subscriptions: Arc<Subscriptions>,
    checkpoints: Arc<Checkpoints>,
    second_places: Arc<SecondPlaces>,
    traces: Option<Arc<Traces>>,
}

impl App {
    /// Opens the store, binds the port, joins the parts.
    ///
    /// # Errors
    ///
    /// The errors in the configuration, the database or the port.
    pub async fn build(config: Config, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(config.listen).with_context(|| {
            format!("failed to listen on {}; stop what uses it, or choose another address with PLACET_LISTEN", config.listen)
        })?;
        Self::build_on(listener, config, clock, entropy).await
    }

    /// Like [`App::build`], on a port that is bound already, so that a restarted server keeps its port.
    ///
    /// # Errors
    ///
    /// The errors in the configuration or the database.
    pub async fn build_on(
        listener: TcpListener,
        config: Config,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> anyhow::Result<Self> {
        // The lanes come before the database, so that a server that cannot start leaves no database file.
        let mailbox = config.mode.is_development().then(MemoryMailbox::new);
        let address = listener.local_addr()?;
        let ways = ways(&config, mailbox.as_ref(), address)?;
        let (wake_rules, wake_endpoints) = wakes::of_config(&config.wakes, config.mode, address)?;
        let metrics = Arc::new(Metrics::new(clock.now()));
        let traces = config.otlp_endpoint.as_ref().map(Traces::start).transpose()?.map(Arc::new);
        let (asking, rules) = ((config.asking.channels.clone(), config.asking.pressing), config.asking.floors.agents.clone());
        let allowance = Allowance::new(config.limits.agent_bytes_per_day, config.database.file(), config.limits.reserve_bytes);
        let observer = Arc::new(Witness { metrics: metrics.clone(), traces: traces.clone() });
        let public_url = config.public_url.clone().map_or_else(|| own_url(address), Ok)?;
        let surroundings = Surroundings::observed(clock.clone(), entropy.clone(), asking, allowance, observer);
        let surroundings = surroundings.at(site(&public_url)).ruled_by(rules).waking(wake_rules);
        let store = store::open(&config.database, Exclusive::Serve, surroundings).await?;
        keep_off_production(&*store, &config, mailbox.as_ref()).await?;
        recover(&*store).await?;
        log::begin::begin(&*store, config.roster.clone()).await?;
        let instance = Instance::new(store.secret(INSTANCE_SECRET).await?).running_with(Settings::of(&config, address));
        let secrets = (store.secret("answer-page-nonce").await?, store.secret(LINK_SECRET).await?);
        let resources =
            Resources { store: store.clone(), clock: clock.clone(), entropy: entropy.clone(), metrics: metrics.clone() };
        let wakes = Arc::new(wakes::Wakes::new(resources.clone(), wake_endpoints));
        let deliveries = Deliveries::new(resources, ways.lanes, public_url.clone(), &config.asking);
        let logins = ways.logins.map(|postbox| Logins::new(postbox, store.clone(), public_url.clone()));
        let deliveries = Arc::new(deliveries.in_time_zone(config.display_time_zone).with_logins(logins));
        let development = Development::begin(mailbox.as_ref(), &deliveries, &*store, (&public_url, &*entropy)).await?;
        let public = (public_url.clone(), site(&public_url));
        let pages = AllPages::new(public, secrets, api::document, development, deliveries.sends_logins());
        let issuer = issuer(&config, &public_url, (&*store, &clock)).await?;
        let pages = web::Data::new(pages.keeping(config.retention).with_issuer(issuer).with_inbox(config.inbox.clone()));
        let (checkpoints, second_places) =
            keepers_of_the_log(&config, (address, &public_url, ways.checkpoints), (&store, &clock, &metrics), &*entropy).await?;
        let push = edge::pushes::Pushes::open(config.a2a.push, &config.log, address, protocols::a2a::messages);
        let subscribers = Arc::new(config.subscriptions.subscribers(address));
        let subscriptions =
            Arc::new(Subscriptions::new(store.clone(), subscribers.clone(), metrics.clone(), wakes).pushing(push.clone()));
        let shared = web::Data::new(Shared::new(
            (store.clone(), checkpoints.clone()),
            config.asking,
            subscribers,
            (clock.clone(), entropy),
            metrics,
            (
                instance.clone(),
                Doors::of(&public_url, (config.a2a.enabled, push), config.senders, clock.now()),
                Stamps::of(&*store).await?,
            ),
            &config.limits,
        ));
        let beats = shared.clone();
        let deadlines = Arc::new(Deadlines::new(store.clone(), clock, move || beats.health.deadlines_beat()));
        Ok(Self {
            server: serve(listener, shared.clone(), pages.clone(), &config.limits)?,
            address,
            public_url,
            mode: config.mode,
            retention: config.retention,
            instance,
            store,
            shared,
            pages,
            mailbox,
            deadlines,
            deliveries,
            subscriptions,
            checkpoints,
            second_places,
            traces,
        })
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address at which people reach the server.
    pub fn public_url(&self) -> &Url {
        &self.public_url
    }

    /// The identity that the server proves.
    pub(crate) fn instance(&self) -> Instance {
        self.instance.clone()
    }

    /// The store of the server.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// The mailbox of development mode.
    pub fn mailbox(&self) -> Option<MemoryMailbox> {
        self.mailbox.clone()
    }

    /// The address that lets one browser in to the pages of development mode; once it has been used, another replaces it.
    pub fn development_address(&self) -> Option<watch::Receiver<String>> {
        self.pages.development_address()
    }

    /// Whether a browser was shown the outcome of a question. A program that asks one question can end after that.
    pub(crate) fn outcome_shown(&self) -> watch::Receiver<bool> {
        self.pages.outcome_shown()
    }

    /// The places that requests need ([`Admission`]), for tests that take them one by one.
    pub fn admission(&self) -> Arc<Admission> {
        self.shared.admission.clone()
    }

    /// The deadline loop, for tests that run one pass of it at a time.
    pub fn deadlines(&self) -> Arc<Deadlines> {
        self.deadlines.clone()
    }

    /// The delivery loop, for tests that run one pass of it at a time.
    pub fn deliveries(&self) -> Arc<Deliveries> {
        self.deliveries.clone()
    }

    /// The loop that tells endpoints of events, for tests that run one pass of it at a time.
    pub fn subscriptions(&self) -> Arc<Subscriptions> {
        self.subscriptions.clone()
    }

    /// The loop that keeps the tree over all events, for tests that run one turn of it at a time.
    pub fn checkpoints(&self) -> Arc<Checkpoints> {
        self.checkpoints.clone()
    }

    /// The loops that send checkpoints to second places, for tests that run one turn of them at a time.
    pub fn second_places(&self) -> Arc<SecondPlaces> {
        self.second_places.clone()
    }

    /// Serves requests until the handle stops the server. The loops for deadlines and messages do not run: the caller runs them.
    pub fn serve_only(self) -> Serving {
        let handle = self.server.handle();
        let reader = spawn_named("streams", streams::run(self.store.clone(), self.shared.stopping.subscribe()));
        let task = spawn_named("http", async move {
            if let Err(error) = self.server.await {
                tracing::error!(error = %error, "the server ended with an error");
            }
        });
        Serving { handle, shared: self.shared, store: self.store, traces: self.traces, task, reader }
    }

    /// Serves requests, fires deadlines and delivers messages until `stop` resolves. Then it waits, for a limited time, for the
    /// requests and messages under way.
    ///
    /// # Errors
    ///
    /// The store stopped taking writes, or upkeep could not start.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> anyhow::Result<()> {
        if self.mode == Mode::Production {
            self.store.secret(PRODUCTION_MARK).await?;
        }
        let (pages, shared) = (self.pages.clone(), self.shared.clone());
        let forget_quiet = move || {
            pages.forget_quiet_links();
            shared.rates.forget_quiet();
        };
        // A person may try out a copy of a production database in development mode. Its subscriptions still name the endpoints of
        // production, which must not be told anything.
        let is_trial = self.mode.is_development() && self.store.was_in_production().await?;
        let sweep = Arc::new(Sweep::new(self.store(), self.shared.metrics.clone()));
        let mut upkeep = upkeep::start(self.store(), sweep.clone(), self.deliveries(), self.retention, forget_quiet).await?;
        let (deadlines, deliveries, subscriptions) = (self.deadlines(), self.deliveries(), self.subscriptions());
        let stopping = || self.shared.stopping.subscribe();
        let (stop_deadlines, stop_deliveries, stop_subscriptions) = (stopping(), stopping(), stopping());
        let mut deadlines = spawn_named("deadlines", async move { deadlines.run(stop_deadlines).await });
        let mut deliveries = spawn_named("deliveries", async move { deliveries.run(stop_deliveries).await });
        let mut subscriptions = spawn_named("subscriptions", async move {
            if is_trial { stopped(stop_subscriptions).await } else { subscriptions.run(stop_subscriptions).await }
        });
        let (checkpoints, stop_checkpoints) = (self.checkpoints(), stopping());
        let mut signing = spawn_named("checkpoints", async move { checkpoints.run(stop_checkpoints).await });
        let (second_places, stop_places) = (self.second_places(), stopping());
        let mut sending = spawn_named("second-places", async move { second_places.run(stop_places).await });
        let mut random = [0; 8];
        self.shared.entropy.fill(&mut random);
        let scrubbing = spawn_named("scrub", scrub::run(self.store(), u64::from_be_bytes(random), stopping()));
        let mut reaching = spawn_named("reach", reach::run(self.store(), sweep, self.deliveries(), reach::PAUSES, stopping()));
        let checkpoints = self.checkpoints();
        let (store, traces) = (self.store.clone(), self.traces.clone());
        let mut serving = self.serve_only();
        let stopped = tokio::select! {
            () = stop => Ok(()),
            () = store.closed() => Err(anyhow::anyhow!("the store cannot write any more")),
            // A server that no longer fires deadlines or sends mails must not look alive.
            _ = &mut deadlines => Err(anyhow::anyhow!("the deadline loop has ended")),
            _ = &mut deliveries => Err(anyhow::anyhow!("the delivery loop has ended")),
            _ = &mut serving.reader => Err(anyhow::anyhow!("the reader of streams has ended")),
            _ = &mut subscriptions => Err(anyhow::anyhow!("the loop that tells endpoints of events has ended")),
            _ = &mut signing => Err(anyhow::anyhow!("the loop that signs checkpoints has ended")),
            _ = &mut sending => Err(anyhow::anyhow!("the loop that sends checkpoints to second places has ended")),
        };
        tracing::info!("stopping: no new requests, waiting for those under way");
        serving.stop_requests().await;
        // A message whose sending does not end within [`DRAIN_SECONDS`] stays leased to this server. The next server makes it due
        // again when it starts.
        let drained = async {
            for sending in [&mut deliveries, &mut subscriptions, &mut reaching] {
                if !sending.is_finished() {
                    drop(sending.await);
                }
            }
        };
        if tokio::time::timeout(Duration::from_secs(DRAIN_SECONDS), drained).await.is_err() {
            deliveries.abort();
            subscriptions.abort();
        }
        deadlines.abort();
        signing.abort();
        sending.abort();
        scrubbing.abort();
        reaching.abort();
        // The last events of this server are in a checkpoint before it ends, unless so many events have no leaves yet that it would take long.
        if tokio::time::timeout(LAST_TURN_MAX, checkpoints.turn_or_say()).await.is_err() {
            tracing::info!("the last events are not in a checkpoint yet; the next server signs one");
        }
        depart(&*store).await;
        store.close().await;
        last_spans(traces).await;
        upkeep.shutdown().await.context("failed to stop the upkeep schedule")?;
        stopped
    }
}

/// Resolves when the server stops.
async fn stopped(mut stopping: watch::Receiver<bool>) {
    // The result is ignored: it is an error only if the sender was dropped, and then the server has stopped.
    drop(stopping.wait_for(|stopping| *stopping).await);
}

/// The ways out of the server.
struct Ways {
    /// One for each channel, for messages about questions.
    lanes: Vec<Lane>,
    /// The way for login links, if there is one.
    logins: Option<Arc<dyn Postbox>>,
    /// The way for mails with checkpoints, if there is one.
    checkpoints: Option<Arc<dyn CheckpointPost>>,
}

/// Makes one [`Lane`] per channel, through which the channel's messages are sent, and the ways for other mails. In development no
/// message leaves this machine: a person who tries Placet out must not reach people by accident.
fn ways(config: &Config, mailbox: Option<&MemoryMailbox>, address: SocketAddr) -> anyhow::Result<Ways> {
    let mut lanes = Vec::new();
    let mut logins: Option<Arc<dyn Postbox>> = None;
    let mut checkpoints: Option<Arc<dyn CheckpointPost>> = None;
    match (&config.mail, mailbox) {
        (_, Some(mailbox)) => {
            lanes.push(Lane::email(Arc::new(mailbox.clone())));
            logins = Some(Arc::new(mailbox.clone()));
        }
        (Some(mail), None) => {
            let email = Arc::new(EmailChannel::new(&EmailSettings {
                smtp_url: mail.smtp_url.clone(),
                from: mail.from.clone(),
                bounce_to: mail.bounce_to.clone(),
                allow_insecure: mail.allow_insecure,
                timeout: channels::DELIVERY_TIMEOUT,
            })?);
            lanes.push(Lane::email(email.clone()));
            logins = Some(email.clone());
            checkpoints = Some(email);
        }
        (None, None) if config.webhooks.is_empty() => anyhow::bail!("there is no channel to reach people by"),
        (None, None) => {}
    }
    for webhook in &config.webhooks {
        let name = &webhook.settings.name;
        let channel: Arc<dyn Channel> = match mailbox {
            Some(mailbox) if !webhook.is_this_machine => {
                tracing::info!(
                    channel = name,
                    "this webhook is on another machine, so in development mode the server does not call it and shows its messages in the mailbox"
                );
                Arc::new(Withheld::new(name.clone(), mailbox.clone()))
            }
            Some(_) | None => Arc::new(
                WebhookChannel::new(&webhook.settings, &[address])
                    .with_context(|| format!("failed to use the webhook {name}"))?,
            ),
        };
        for subnet in &webhook.settings.allow_subnets {
            tracing::warn!(channel = name, %subnet, "this webhook may lead to addresses in this subnet (allow_subnets)");
        }
        lanes.push(Lane::webhook(name.clone(), channel));
    }
    Ok(Ways { lanes, logins, checkpoints })
}

/// The issuer of identities by which people log in, if there is one. Nothing is asked of it yet, so the server starts without it.
async fn issuer(
    config: &Config,
    public_url: &Url,
    (store, clock): (&dyn Store, &Arc<dyn Clock>),
) -> anyhow::Result<Option<Arc<Provider>>> {
    let Some(openid) = config.openid.clone() else { return Ok(None) };
    let secret = store.secret(OPENID_SECRET).await?;
    Ok(Some(Arc::new(Provider::new(openid, public_url, clock.clone(), secret)?)))
}

/// Opens the key of the log, and makes the loop that signs its checkpoints and those that send them on.
async fn keepers_of_the_log(
    config: &Config,
    (address, public_url, post): (SocketAddr, &Url, Option<Arc<dyn CheckpointPost>>),
    (store, clock, metrics): (&Arc<dyn Store>, &Arc<dyn Clock>, &Arc<Metrics>),
    entropy: &dyn Entropy,
) -> anyhow::Result<(Arc<Checkpoints>, Arc<SecondPlaces>)> {
    let key = log::key::load(&**store, &config.log, public_url, entropy).await?;
    let checkpoints = Checkpoints::new(store.clone(), key, &config.log, metrics.clone());
    let second_places = second_places(config, (address, public_url, post), (store, clock, metrics))?;
    Ok((Arc::new(checkpoints), Arc::new(second_places)))
}

/// Makes the ways to the witnesses, to the auditor's webhook and to auditors' addresses. In development there are none: a copy of a production database has the
/// key of the log, and would show a witness a second history of it.
fn second_places(
    config: &Config,
    (address, public_url, post): (SocketAddr, &Url, Option<Arc<dyn CheckpointPost>>),
    (store, clock, metrics): (&Arc<dyn Store>, &Arc<dyn Clock>, &Arc<Metrics>),
) -> anyhow::Result<SecondPlaces> {
    let log = &config.log;
    if config.mode.is_development() {
        if log.webhook.is_some() || log.mail.is_some() || !log.witnesses.is_empty() {
            tracing::info!(
                "in development mode the server sends no checkpoints of the log to witnesses, to the webhook and by mail"
            );
        }
        return Ok(SecondPlaces::new(Vec::new(), None, None, metrics.clone()));
    }
    let mut witnesses = Vec::new();
    for witness in &log.witnesses {
        let endpoint = WitnessEndpoint::new(&witness.url, &witness.allow_subnets, &[address])
            .with_context(|| format!("failed to use the witness {}", witness.key.name()))?;
        witnesses.push(LogWitness::new(witness.key.clone(), endpoint, store.clone()));
    }
    let hook = log.webhook.as_ref().map(|settings| SignedHook::new(settings, &[address])).transpose();
    let hook = hook.context("failed to use the webhook of the log")?.map(|hook| Hook::new(hook, store.clone(), clock.clone()));
    let mails = post.zip(log.mail.clone());
    let mails = mails.map(|(post, settings)| Mails::new(post, settings, (store.clone(), clock.clone()), public_url));
    Ok(SecondPlaces::new(witnesses, hook, mails, metrics.clone()))
}

/// In development mode, refuses a database that was used in production, or only warns if the operator asked for that mode. A
/// server that has lost its settings may start in development mode by default, where no mail leaves. It would then take silence
/// for an answer, although people were never told.
async fn keep_off_production(store: &dyn Store, config: &Config, mailbox: Option<&MemoryMailbox>) -> anyhow::Result<()> {
    if !config.mode.is_development() || !store.was_in_production().await? {
        return Ok(());
    }
    if config.mode == Mode::DevelopmentByDefault {
        store.close().await;
        anyhow::bail!(
            "{} has been served in production, and without a mail server this start would be development, in which no message leaves the machine; \
             set PLACET_SMTP_URL and the rest as before (is the environment or --config missing?), or add --dev if that is what you want",
            config.database
        );
    }
    tracing::warn!(
        "this database has been used in production; in development mode the server shows mails instead of sending them, these \
         mails count as failed, and endpoints of subscriptions are told nothing"
    );
    if let Some(mailbox) = mailbox {
        mailbox.reach_nobody();
    }
    Ok(())
}

/// Prepares a restored database before a server is built on it: see [`Store::hold_after_restore`].
///
/// # Errors
///
/// A database that does not exist, cannot be used, or is served by another server.
pub async fn hold_after_restore(database: &Database, clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> anyhow::Result<()> {
    database.must_exist().await?;
    let store = store::open(database, Exclusive::Serve, Surroundings::alone(clock, entropy)).await?;
    let held = store.hold_after_restore().await;
    store.close().await;
    // A failure is reported by its cause alone, without the words of `StoreError::Failed` before it.
    held.map_err(|error| if let StoreError::Failed(why) = error { why } else { error.into() })
}

/// Makes the messages due again that an earlier server was sending when it ended. The lock on the file, or in PostgreSQL the
/// missing lock of the earlier server, proves that it is gone. If its leases had to run out first, people would wait longer for
/// their messages.
async fn release_leases(store: &dyn Store) -> anyhow::Result<()> {
    let released = store.release_deliveries().await?;
    if released > 0 {
        tracing::info!(messages = released, "messages that an earlier server had leased are due again");
    }
    Ok(())
}

/// Records, before the server serves requests or fires deadlines, that an earlier server was away. From then on nothing that
/// depends on time happens until the deadline loop has given every open question its time back. With many questions that takes
/// minutes, in which people can answer.
async fn recover(store: &dyn Store) -> anyhow::Result<()> {
    release_leases(store).await?;
    let recovered = loop {
        let recovered = store.recover().await?;
        if !recovered.more {
            break recovered;
        }
    };
    if let Some(since) = recovered.held_since {
        tracing::warn!(
            held_since = rfc3339(since),
            "the database was restored: deadlines and messages wait until `placet release`"
        );
    }
    if !recovered.done {
        kill_points::reached(Point::BetweenRecoveries);
    }
    Ok(())
}

/// Records when this server was last running. Without this record the next server goes by the last heartbeat, and gives open
/// questions a little more time back.
async fn depart(store: &dyn Store) {
    if let Err(error) = store.depart().await {
        tracing::warn!(
            error = %error,
            "failed to record when this server stopped; open questions may get back a little more time"
        );
    }
}

/// A server that serves requests.
pub struct Serving {
    handle: ServerHandle,
    shared: web::Data<Shared>,
    store: Arc<dyn Store>,
    traces: Option<Arc<Traces>>,
    task: tokio::task::JoinHandle<()>,
    reader: tokio::task::JoinHandle<()>,
}

impl Serving {
    /// Stops serving, and lets another server have the database.
    pub async fn stop(self) {
        let (store, traces) = (self.store.clone(), self.traces.clone());
        self.stop_requests().await;
        depart(&*store).await;
        store.close().await;
        last_spans(traces).await;
    }

    /// Ends long waits, takes no new requests, and waits for the requests under way.
    async fn stop_requests(self) {
        self.shared.stopping.send_replace(true);
        self.handle.stop(true).await;
        // A panic in the task was logged where it happened.
        drop(self.task.await);
    }
}

/// Sends the last spans. The wait for them blocks, so it happens on another thread: the exporter needs the calling thread to
/// send them.
async fn last_spans(traces: Option<Arc<Traces>>) {
    let Some(traces) = traces else { return };
    if let Err(error) = tokio::task::spawn_blocking(move || traces.stop()).await {
        tracing::warn!(error = %error, "failed to stop the export of spans");
    }
}

fn serve(
    listener: TcpListener,
    shared: web::Data<Shared>,
    pages: web::Data<AllPages>,
    limits: &Limits,
) -> anyhow::Result<Server> {
    // This replaces the queue that the standard library asked for, which is too short for many clients at once.
    #[cfg(unix)]
    rustix::net::listen(&listener, BACKLOG).context("failed to listen on the port")?;
    // One worker per two cores: the writer and the loops need the rest.
    let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let room = UntakenRoom::default();
    // This does the same as `HttpServer`, but wraps each connection in a `Connection` of our own.
    let worker = move || {
        let (stopping, room) = (shared.clone(), room.clone());
        let http = HttpService::build()
            .client_request_timeout(HEAD_WAIT)
            .client_disconnect_timeout(LINGER)
            .keep_alive(KEEP_ALIVE)
            .graceful_shutdown_signal(move || {
                let shared = stopping.clone();
                async move { shared.stopped().await }
            })
            .on_connect_ext(|connection: &Connection<TcpStream>, data| {
                data.insert(connection.exchange());
            })
            .finish(map_config(app(shared.clone(), pages.clone()), |()| AppConfig::default()));
        let take = fn_service(move |stream: TcpStream| {
            bound_what_is_untaken(&stream);
            let from = stream.peer_addr().ok();
            let connection = Connection::new(stream, room.clone(), Turns::here());
            ready(Ok::<_, DispatchError>((connection, Protocol::Http1, from)))
        });
        take.and_then(http)
    };
    let server = Server::build()
        .workers(workers)
        // Further connections wait in the system's queue.
        .max_concurrent_connections(limits.connections.div_ceil(workers))
        .shutdown_timeout(DRAIN_SECONDS)
        .disable_signals()
        .listen("http", listener, worker)
        .context("failed to serve on the port")?;
    Ok(server.run())
}

/// The routes, in the layers that every request passes.
fn app(
    shared: web::Data<Shared>,
    pages: web::Data<AllPages>,
) -> ActixApp<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody>,
        Error = actix_web::Error,
        InitError = (),
    >,
> {
    let doors = shared.doors.clone();
    ActixApp::new()
        .app_data(shared)
        .app_data(pages)
        .wrap(DefaultHeaders::new().add(("x-content-type-options", "nosniff")))
        .wrap(from_fn(edge::exchange::exchange))
        .wrap(from_fn(edge::trace::trace))
        .configure(api::routes)
        .configure(move |config| protocols::routes(config, &doors))
        .configure(pages::routes)
}

/// Lets the system end a connection whose client takes none of the data sent to it.
#[cfg(target_os = "linux")]
fn bound_what_is_untaken(stream: &TcpStream) {
    let milliseconds = u32::try_from(UNTAKEN_MAX.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds) {
        tracing::debug!(error = %error, "failed to bound how long a client may take nothing");
    }
}

#[cfg(not(target_os = "linux"))]
fn bound_what_is_untaken(_: &TcpStream) {}

/// The address of a server for which none is configured: the address at which it listens, or, if it listens on all addresses,
/// this machine's address in its network.
fn own_url(listening: SocketAddr) -> anyhow::Result<Url> {
    let mut address = listening;
    if address.ip().is_unspecified() {
        address.set_ip(network_address(listening.ip()).with_context(|| {
            format!(
                "this machine has no network address that a phone could reach; listen on one address instead, for example --listen 192.168.1.5:{}",
                address.port()
            )
        })?);
    }
    Ok(Url::parse(&format!("http://{address}"))?)
}

/// The address that this machine would use to reach others. Nothing is sent: connecting a datagram socket only looks at the
/// routes.
fn network_address(unspecified: IpAddr) -> std::io::Result<IpAddr> {
    // Documentation addresses lead out of every network (RFC 5737, RFC 3849).
    let (here, beyond) = match unspecified {
        IpAddr::V4(_) => ("0.0.0.0:0", "192.0.2.1:9"),
        IpAddr::V6(_) => ("[::]:0", "[2001:db8::1]:9"),
    };
    let socket = UdpSocket::bind(here)?;
    socket.connect(beyond)?;
    Ok(socket.local_addr()?.ip())
}
