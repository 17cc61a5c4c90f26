//! Tells the other servers on the database what a commit did here, and hears what their commits did.
//!
//! A notification is only a hint: a waiter that it wakes reads the database, and a waiter that no notification wakes reads the
//! database later all the same. A notification is sent after the commit and never within it, because PostgreSQL lets only one
//! transaction at a time commit a NOTIFY, and would make every answer wait for the disk writes of all others. Notifications sent
//! while this connection is down are lost. So all waiters are woken when the connection is up again, and every two seconds the
//! database is asked which of the questions waited for here have ended, and which of the logs followed here have grown.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::base::ids::{IntentId, SuspensionId};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_postgres::{AsyncMessage, Client};

use super::address::Address;
use super::connection::{ConnectError, Wire, dial};
use super::migrate::is_half;
use crate::host::task::spawn_named;
use crate::hub::{Hub, Notice};

/// The most words in one notification; each word stands for one change. PostgreSQL takes notifications of less than 8,000
/// bytes.
const ANNOUNCED_AT_ONCE: usize = 100;
/// The most words that wait to be announced; further words are dropped, and the other servers find those changes when they
/// next look at the database.
const UNANNOUNCED_MAX: usize = 8_192;
/// How often the database is asked which awaited questions have ended, and which logs that streams follow have grown.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The pause before a lost connection is made again.
const PAUSE: Duration = Duration::from_secs(1);

/// The first number of the advisory lock by which the others see that a server lives; it spells "plac" in ASCII.
const SERVERS: i32 = 0x706c_6163;
/// Counts the servers that live, apart from the one with the number `$1`.
pub(crate) const LIVING: &str = "SELECT count(*) AS living FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 \
     AND granted AND classid = 1886151011 AND objid::bigint <> $1 \
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
/// A number that no server has.
pub(crate) const NO_SERVER: i64 = -1;

/// The prefix of a word that names a channel whose message is sent again.
const REDRIVEN: &str = "redriven:";
/// The word for a new event for which the OpenIntent client has a handler.
const PUBLISHED: &str = "published";
/// The word for a change of people, groups or keys.
const DIRECTORY: &str = "directory";

/// The settings of the listening connection. If its network fails, the database soon closes its end as well,
/// and so releases the lock.
const SETTINGS: &str = "SET statement_timeout = '5s'; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 5; \
                        SET tcp_keepalives_count = 3; SET tcp_user_timeout = '15s'; LISTEN placet";
const LIVE: &str = "SELECT pg_try_advisory_lock($1, $2)";
const MOVING: &str = "SELECT to_regclass(quote_ident(current_schema()) || '.moving') IS NOT NULL";
const LOOK: &str = "SELECT id FROM suspensions WHERE id = ANY($1) AND resolution IS NOT NULL";
const LENGTHS: &str = "SELECT id, last_sequence FROM intents WHERE id = ANY($1)";

/// The connection that tells the other servers of commits and hears of theirs.
pub(super) struct Listener {
    announcements: mpsc::Sender<String>,
    stop: watch::Sender<bool>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Listener {
    /// Tells the other servers of changes.
    pub(super) fn tell(&self, notices: &[Notice]) {
        for notice in notices {
            if let Some(word) = word_of(notice)
                && self.announcements.try_send(word).is_err()
            {
                tracing::debug!(
                    "the queue of notices to the other servers is full; they find the remaining changes when they look at the database"
                );
                return;
            }
        }
    }

    /// Releases the lock under this server's number, so that the others do not take this server for alive, and ends the task.
    pub(super) async fn stop(&self) {
        self.stop.send_replace(true);
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // A panic in the task was logged where it happened.
            drop(task.await);
        }
    }
}

/// Connects and begins to listen. From then on the connection holds a lock under the number `server`, by which the others
/// see that this server lives.
///
/// # Errors
///
/// A database that cannot be reached, or that `placet migrate` has begun to fill since its tables were looked at.
pub(super) async fn start(address: Address, server: i32, hub: Arc<Hub>) -> Result<Listener, ConnectError> {
    let (announcer, announcements) = mpsc::channel(UNANNOUNCED_MAX);
    let (stop, stopping) = watch::channel(false);
    let mut listening = Listening { address, server, hub, announcements, stopping };
    let first = listening.connect().await?;
    // `placet migrate` marks the database and then looks for servers a last time. This server has taken its lock and now looks
    // for the mark. So at least one of the two sees the other.
    if first.client.query_one(MOVING, &[]).await.map_err(|error| lost(&error))?.get(0) {
        return Err(ConnectError::Refused(is_half(&listening.address)));
    }
    let task = spawn_named("database-listener", async move { listening.run(first).await });
    Ok(Listener { announcements: announcer, stop, task: Mutex::new(Some(task)) })
}

/// A connection that listens.
struct Heard {
    client: Client,
    hearing: JoinHandle<()>,
    /// The lengths of the logs that streams on this server follow, as they were when the database was last asked.
    lengths: HashMap<IntentId, i64>,
    /// Whether the connection holds the lock under this server's number.
    is_known: bool,
}

struct Listening {
    address: Address,
    server: i32,
    hub: Arc<Hub>,
    announcements: mpsc::Receiver<String>,
    stopping: watch::Receiver<bool>,
}

impl Listening {
    async fn connect(&mut self) -> Result<Heard, ConnectError> {
        let (client, wire) = dial(&self.address).await?;
        let hearing = spawn_named("database-notifications", hear(wire, self.server, self.hub.clone()));
        client.batch_execute(SETTINGS).await.map_err(|error| lost(&error))?;
        // Notifications that were sent while this server did not listen are lost, so all waiters are woken and read the database.
        self.hub.wake_all();
        let is_known = self.be_known(&client).await?;
        Ok(Heard { client, hearing, lengths: HashMap::new(), is_known })
    }

    /// Takes the lock under this server's number, by which the others see that it lives; false if an earlier connection still
    /// holds the lock, because the database has not noticed that connection's end yet. In that case the others see this server
    /// as alive, too, and the lock is tried again later.
    async fn be_known(&self, client: &Client) -> Result<bool, ConnectError> {
        Ok(client.query_one(LIVE, &[&SERVERS, &self.server]).await.map_err(|error| lost(&error))?.get(0))
    }

    async fn run(mut self, first: Heard) {
        let mut heard = Ok(first);
        while !*self.stopping.borrow() {
            match heard {
                Ok(connection) => match self.listen(connection).await {
                    Ok(()) => return,
                    Err(error) => {
                        tracing::warn!(
                            error = %error,
                            "this server lost the connection over which other servers report their commits; until it is back, \
                             waiting requests and streams may learn of those commits late"
                        );
                    }
                },
                Err(error) => {
                    tracing::debug!(error = %error, "the connection over which other servers report their commits is still down");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                // An error means that the store was dropped, which ends this task as well.
                _ = self.stopping.changed() => return,
            }
            let mut stopping = self.stopping.clone();
            heard = tokio::select! {
                connected = self.connect() => connected,
                _ = stopping.changed() => return,
            };
            if heard.is_ok() {
                tracing::info!("the connection over which other servers report their commits is back");
            }
        }
    }

    /// Sends this server's words and hears those of the others, until the listener is stopped or the connection is lost.
    async fn listen(&mut self, connection: Heard) -> Result<(), ConnectError> {
        let Heard { client, mut hearing, mut lengths, mut is_known } = connection;
        let mut look = tokio::time::interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut words = Vec::new();
        loop {
            tokio::select! {
                taken = self.announcements.recv_many(&mut words, ANNOUNCED_AT_ONCE) => {
                    if taken == 0 {
                        return Ok(());
                    }
                    tell(&client, self.server, std::mem::take(&mut words)).await?;
                }
                _ = look.tick() => {
                    is_known = is_known || self.be_known(&client).await?;
                    self.look(&client).await?;
                    lengths = self.look_at_logs(&client, lengths).await?;
                }
                _ = &mut hearing => return Err(ConnectError::Refused("the connection was closed".into())),
                _ = self.stopping.changed() => {
                    return client.batch_execute("SELECT pg_advisory_unlock_all()").await.map_err(|error| lost(&error));
                }
            }
        }
    }

    /// Wakes the waiters of every question that has ended, whether or not a notification told of it.
    async fn look(&self, client: &Client) -> Result<(), ConnectError> {
        let watched: Vec<uuid::Uuid> = self.hub.watched().into_iter().map(|id| id.0).collect();
        if watched.is_empty() {
            return Ok(());
        }
        let ended = client.query(LOOK, &[&watched]).await.map_err(|error| lost(&error))?;
        let notices: Vec<Notice> = ended.iter().map(|row| Notice::Suspension(SuspensionId(row.get(0)))).collect();
        self.hub.announce(&notices);
        Ok(())
    }

    /// Wakes the streams of every log that has grown since the database was last asked, and returns the lengths. A log without
    /// an earlier length counts as grown: its stream may have read it before it grew.
    async fn look_at_logs(
        &self,
        client: &Client,
        before: HashMap<IntentId, i64>,
    ) -> Result<HashMap<IntentId, i64>, ConnectError> {
        let followed: Vec<uuid::Uuid> = self.hub.publications().logs().into_iter().map(|id| id.0).collect();
        if followed.is_empty() {
            return Ok(HashMap::new());
        }
        let found = client.query(LENGTHS, &[&followed]).await.map_err(|error| lost(&error))?;
        let lengths: HashMap<_, _> = found.iter().map(|row| (IntentId(row.get(0)), row.get(1))).collect();
        let grown = lengths.iter().filter(|(id, length)| before.get(id).is_none_or(|before| before != *length));
        self.hub.announce(&grown.map(|(id, _)| Notice::Appended(*id)).collect::<Vec<_>>());
        Ok(lengths)
    }
}

/// The word that tells the other servers of a notice; `None` if they need not be told, for example because they look for
/// deadlines and messages themselves.
fn word_of(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Suspension(id) => Some(id.0.to_string()),
        Notice::Redriven(channel) => Some(format!("{REDRIVEN}{channel}")),
        Notice::Published => Some(PUBLISHED.to_owned()),
        Notice::Directory => Some(DIRECTORY.to_owned()),
        // Each server asks the database about the logs that its own streams follow, so the growth of a log needs no word.
        Notice::Appended(_)
        | Notice::Ended(_)
        | Notice::Delivery
        | Notice::Wake
        | Notice::Timer
        | Notice::Fact(_)
        | Notice::Story(_)
        | Notice::Span(_) => None,
    }
}

/// The notice that another server's word stands for.
fn notice_of(word: &str) -> Option<Notice> {
    if let Some(channel) = word.strip_prefix(REDRIVEN) {
        return Some(Notice::Redriven(channel.to_owned()));
    }
    if word == PUBLISHED {
        return Some(Notice::Published);
    }
    if word == DIRECTORY {
        return Some(Notice::Directory);
    }
    SuspensionId::parse(word).map(Notice::Suspension)
}

async fn tell(client: &Client, server: i32, mut words: Vec<String>) -> Result<(), ConnectError> {
    words.sort_unstable();
    words.dedup();
    let payload = format!("{server} {}", words.join(" "));
    client.execute("SELECT pg_notify('placet', $1)", &[&payload]).await.map_err(|error| lost(&error))?;
    Ok(())
}

/// Moves the connection's bytes, and announces the notifications it receives.
async fn hear(mut wire: Wire, server: i32, hub: Arc<Hub>) {
    while let Some(Ok(message)) = poll_fn(|context| wire.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message {
            let mut words = notification.payload().split_ascii_whitespace();
            // A server also receives its own notifications, which it has announced already.
            if words.next().is_none_or(|teller| teller == server.to_string()) {
                continue;
            }
            hub.announce(&words.filter_map(notice_of).collect::<Vec<_>>());
        }
    }
}

fn lost(error: &tokio_postgres::Error) -> ConnectError {
    ConnectError::Refused(error.to_string())
}
