//! The tree over all events: each process adds events to it and signs it, a witness keeps every checkpoint, and in the end an auditor
//! exports the log and verifies it.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::base::clock::Clock;
use domain::people::principal::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use harness::requests;
use placet_server::config::LogConfig;
use placet_server::edge::export;
use placet_server::log::checkpoints::Checkpoints;
use placet_server::observe::metrics::Metrics;
use proof::checkpoint::TreeHead;
use proof::key::SigningKey;
use store::sqlite::simulated::{Ended, Fate, Scheduler, SimulatedDatabase, SimulatedStore};
use store::{LogKeyRow, Store, StoreError};
use verify::report::Verdict;
use verify::{Kept, Options, Watchers};

use crate::model::{Checked, must};
use crate::process;
use crate::world::{World, WorldClock};

/// The name of the log.
const ORIGIN: &str = "placet.example.com/sim";
/// The rows of all events.
const EVENTS: &str = "SELECT CAST((SELECT count(*) FROM events) + (SELECT count(*) FROM portfolio_events) \
     + (SELECT count(*) FROM server_events) AS TEXT)";
/// Whether the newest checkpoint covers every event.
const IS_SIGNED: &str = "SELECT CAST(size = signed_size AND NOT EXISTS (SELECT 1 FROM unplaced) \
     AND tree.events = (SELECT coalesce(max(rid), 0) FROM events) AS TEXT) FROM tree";
/// The checkpoints with more leaves than a number, which is appended; the smallest first.
const NEWER: &str = "SELECT note FROM checkpoints WHERE size > ";

/// The key that signs, which all processes share.
fn key() -> Arc<SigningKey> {
    Arc::new(SigningKey::new(ORIGIN, &[7; 32]).unwrap())
}

/// Puts the key in force, as a server does before it serves.
///
/// # Errors
///
/// The store failed.
pub(crate) async fn adopt(store: &dyn Store) -> Result<(), StoreError> {
    let (key, sealed, signature) = (key(), None, None);
    let row = LogKeyRow { name: ORIGIN.to_owned(), public: key.verifying().public(), sealed, signature };
    store.adopt_log_key(row, key.verifying().to_string()).await.map(|_| ())
}

/// Runs the turns of one process.
pub(crate) async fn keep(world: Arc<World>, store: Arc<SimulatedStore>) {
    let config =
        LogConfig { key_file: None, origin: None, checkpoint_file: None, witnesses: Vec::new(), webhook: None, mail: None };
    let metrics = Arc::new(Metrics::new(WorldClock(world.clone()).now()));
    let checkpoints = Checkpoints::new(store, Some(key()), &config, metrics);
    loop {
        world.executor.after(process::rest(&world)).await;
        // A turn without new events changes nothing.
        if is_signed(&world.database) {
            continue;
        }
        match checkpoints.turn().await {
            Ok(Some(_)) => world.coverage.count("checkpoint signed"),
            Ok(None) => world.coverage.count("checkpoint signed before"),
            Err(error) => world.executor.after(process::failed(&world, &error)).await,
        }
    }
}

/// Whether the newest checkpoint covers every event.
pub(crate) fn is_signed(database: &SimulatedDatabase) -> bool {
    database.lines(IS_SIGNED, None).unwrap() == ["1"]
}

/// A person outside who keeps every checkpoint that was signed.
#[derive(Clone, Default)]
pub(crate) struct Witness {
    /// By their sizes.
    notes: BTreeMap<u64, String>,
}

impl Witness {
    /// The size of the newest checkpoint.
    fn size(&self) -> u64 {
        self.notes.last_key_value().map_or(0, |(size, _)| *size)
    }

    /// Looks for a new checkpoint after a transaction.
    pub(crate) fn look(&mut self, database: &SimulatedDatabase, ended: Ended) -> Checked {
        if ended.unit != "sign_tree" || !ended.committed {
            return Ok(());
        }
        let known = i64::try_from(self.size()).map_err(|error| error.to_string())?;
        for note in database.lines(NEWER, Some(known)).map_err(|error| format!("{error:#}"))? {
            let head = TreeHead::verify(&note, &[key().verifying().clone()]);
            let size = head.map_err(|error| format!("I28: a checkpoint that does not verify: {error}"))?.size;
            must!(size > self.size(), "I28: a checkpoint of {size} events after one of {}", self.size());
            self.notes.insert(size, note);
        }
        Ok(())
    }
}

/// The whole log, as an auditor exports it.
///
/// # Errors
///
/// The export failed.
pub(crate) fn export(world: &Arc<World>) -> Result<String, String> {
    let (clock, entropy) = (Arc::new(WorldClock(world.clone())), world.entropy.clone());
    let channels = world.policy.channels.clone();
    let store = SimulatedStore::open(world.database.clone(), clock, entropy, channels, Arc::new(Calm)).unwrap();
    let auditor = requests::principal("auditor", Role::Auditor);
    let exported = export::whole(Arc::new(store), auditor).now_or_never().ok_or("I30: an export that waits")?;
    exported.map_err(|error| format!("I30: no export: {error}"))
}

/// Verifies an export against every checkpoint that the witness keeps; that replays every decision (I27, I28, I30).
pub(crate) fn verify(world: &World, text: &str) -> Checked {
    let witness = world.witness.lock().unwrap();
    let mut options = Options::with_keys(vec![key().verifying().clone()]);
    options.kept = witness.notes.values().map(|note| Kept { file: "witness".to_owned(), note: note.clone() }).collect();
    let report = verify::verify("export", text.as_bytes(), &options, Watchers::default());
    must!(report.verdict == Verdict::Verified, "I30: an honest log does not verify: {:?}", report.findings);
    let rows = world.database.lines(EVENTS, None).map_err(|error| format!("{error:#}"))?.concat();
    must!(report.events.to_string() == rows, "I27: the tree has {} events, the tables {rows}", report.events);
    world.coverage.counted("decision replayed", report.decisions);
    for remark in &report.not_checkable {
        world.coverage.counted(remark.code, remark.count.unwrap_or(0));
    }
    Ok(())
}

/// The surroundings of a store to which nothing happens.
struct Calm;

impl Scheduler for Calm {
    fn turn(&self, _: &'static str) -> BoxFuture<'_, Fate> {
        async { Fate::Committed }.boxed()
    }

    fn ended(&self, _: Ended) {}

    fn heard(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}
