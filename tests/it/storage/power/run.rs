//! One seed: a database, the servers that run on it one after another, and the ways in which they end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::wire::SuspensionRecord;
use futures_util::future::join_all;
use harness::clock::FakeClock;
use placet_disk::{Disk, FailedPages, Syncs, Weather, open_sync, query, rewrite};
use serde_json::json;
use store::sqlite::{Exclusive, FileWork, LogLimits, SqliteStore};
use store::{Copied, DeliveryResult, Observer, Outcome, Store, StoreError, Surroundings, Turn};
use tempfile::TempDir;

use super::chance::{Chance, SeededEntropy};
use super::ledger::{Ledger, READ_FAILED, TURN_MAX, is_no_turn, patiently};
use super::workload::{Workload, Write, answer};

/// The things that must have happened in the default number of runs. Otherwise the runs prove little.
pub(super) const MUST_HAPPEN: &[&str] = &[
    "the power went while the database was opened",
    "the power went under load",
    "the power was cut between two writes",
    "a process was killed and the disk kept its cache",
    "a process was killed within a write",
    "a server stopped in order",
    "a sync or a write failed",
    "there was no room",
    "a checkpoint",
    "the log was copied beside the writer",
    "an unheard write was sent again and counted once",
    "an unheard write was sent again and had to be done",
    "a deadline came",
    "a message was sent",
];
/// The largest number of servers that run one after another.
const LIVES_MAX: i64 = 4;
/// The largest number of turns in which a server does something.
const TURNS_MAX: i64 = 20;
/// How long a stopped server may keep the lock on its database.
const LOCKED_MAX: Duration = Duration::from_secs(20);
/// The number of lines of the story that a failure reports.
const STORY_LINES: usize = 60;

/// Whether the disk keeps its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Deserved,
    Betrayed,
}

/// The result of a run.
pub(super) struct Report {
    pub(super) counts: BTreeMap<&'static str, u64>,
    pub(super) violation: Option<String>,
}

struct Run {
    chance: Chance,
    trust: Trust,
    entropy: Arc<SeededEntropy>,
    clock: Arc<FakeClock>,
    // Fields are dropped in their order, so the disk is dropped before its folder.
    disk: Arc<Disk>,
    folder: TempDir,
    ledger: Ledger,
    workload: Workload,
    /// Writes whose outcome is unknown, because they got no reply.
    unheard: Vec<Write>,
    counts: BTreeMap<&'static str, u64>,
    copies: Arc<Copies>,
    limits: LogLimits,
    story: Vec<String>,
}

/// Counts how often the store copied its log.
#[derive(Default)]
struct Copies(AtomicU64);

impl Observer for Copies {
    fn log_copied(&self, result: Copied, _: Duration) {
        self.0.fetch_add(u64::from(result == Copied::Whole), Ordering::SeqCst);
    }
}

/// How the life of a server (from its start to its end) ends by itself.
enum Ended {
    /// The disk no longer works.
    Powerless,
    /// The server has done all its turns.
    Content(Arc<SqliteStore>),
}

/// A database that has only its tables. It is made once, because that takes longer than a run.
fn fresh() -> &'static BTreeMap<String, Vec<u8>> {
    static FRESH: OnceLock<BTreeMap<String, Vec<u8>>> = OnceLock::new();
    FRESH.get_or_init(|| {
        let run = Run::new(0, Trust::Deserved);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            run.open().unwrap().close().await;
        });
        run.disk.image()
    })
}

/// Whether a database did not open only because no connection could be opened in time.
fn is_without_a_turn(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| is_no_turn(&cause.to_string()))
}

/// Runs one seed.
pub(super) fn run(seed: u64, trust: Trust) -> Report {
    let mut run = Run::new(seed, trust);
    // Some runs begin without a database, so that the power may go while its tables are made.
    if !run.chance.happens(15) {
        run.disk.restore(fresh());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let lived = runtime.block_on(run.live());
    let violation = lived.err().map(|violation| {
        let story = run.story[run.story.len().saturating_sub(STORY_LINES)..].join("\n  ");
        format!(
            "seed {seed}: {violation}\n  {story}\n  again: PLACET_POWER_SEED={seed} PLACET_POWER_CUTS=1 cargo test -p placet-tests \
             --test it nothing_acknowledged_is_lost_when_the_power_goes"
        )
    });
    if run.copies.0.load(Ordering::SeqCst) > 0 {
        run.count("the log was copied beside the writer");
    }
    Report { counts: run.counts, violation }
}

impl Run {
    fn new(seed: u64, trust: Trust) -> Self {
        let folder = TempDir::new().unwrap();
        let mut chance = Chance::new(seed, 2);
        let begin = *chance.pick(&[10, 40, LogLimits::DEFAULT.begin]);
        let limits = LogLimits { pause: Duration::ZERO, begin, rest: begin / 4, ..LogLimits::DEFAULT };
        Self {
            chance: Chance::new(seed, 0),
            trust,
            entropy: Arc::new(SeededEntropy(Mutex::new(Chance::new(seed, 1)))),
            clock: Arc::new(FakeClock::default()),
            disk: Disk::mount(folder.path(), seed),
            folder,
            ledger: Ledger::default(),
            workload: Workload::new(),
            unheard: Vec::new(),
            counts: BTreeMap::new(),
            copies: Arc::default(),
            limits,
            story: Vec::new(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("placet.db")
    }

    fn open(&self) -> anyhow::Result<Arc<SqliteStore>> {
        let began = Instant::now();
        loop {
            let alone = Surroundings::alone(self.clock.clone(), self.entropy.clone());
            let outside = Surroundings { observer: self.copies.clone(), ..alone };
            match SqliteStore::open_on(&self.path(), Exclusive::Serve, outside, FileWork { rewrite, open_sync }, self.limits) {
                // A process that another test starts holds our lock too, from its fork to its exec.
                Err(error) if error.to_string().ends_with("stop it first") && began.elapsed() < LOCKED_MAX => {
                    std::thread::yield_now();
                }
                // On a busy machine no connection may open in time. An operator would start the server again.
                Err(error) if is_without_a_turn(&error) && self.disk.has_power() && began.elapsed() < TURN_MAX => {}
                opened => return opened.map(Arc::new),
            }
        }
    }

    fn tell(&mut self, line: impl Into<String>) {
        self.story.push(line.into());
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn weather(&mut self) -> Weather {
        let chance = &mut self.chance;
        let failing = chance.happens(25);
        let percent = *chance.pick(&[2, 10, 40]);
        Weather {
            power_lasts: chance.happens(70).then(|| {
                let longest = *chance.pick(&[60, 300, 1_200]);
                1 + chance.below(longest)
            }),
            until_a_sync: chance.happens(30),
            room: chance.happens(12).then(|| self.disk.used() + usize::try_from(chance.below(200_000)).unwrap()),
            failing_writes_percent: if chance.happens(8) { 2 } else { 0 },
            syncs: match self.trust {
                Trust::Betrayed => Syncs::Lying,
                Trust::Deserved if failing => Syncs::Failing(percent),
                Trust::Deserved => Syncs::Honest,
            },
            failed_pages: *chance.pick(&[FailedPages::Kept, FailedPages::Dropped]),
        }
    }

    async fn live(&mut self) -> Result<(), String> {
        for life in 1..=self.chance.within(1..=LIVES_MAX) {
            let weather = self.weather();
            self.tell(format!("life {life}: {weather:?}"));
            self.disk.set(weather);
            let ended = self.one_life().await?;
            self.end(ended).await;
        }
        self.disk.set(Weather::FINE);
        let store = self.open().map_err(|error| format!("the database does not open: {error:#}"))?;
        self.start(&store).await.map_err(|error| format!("a server does not start: {error:?}"))?;
        self.examine(&store).await?;
        self.finish(&store).await?;
        self.examine(&store).await?;
        store.close().await;
        Ok(())
    }

    /// Starts a server, checks the store against everything known, and works until all turns are done or the power goes.
    async fn one_life(&mut self) -> Result<Ended, String> {
        let faults = self.disk.faults();
        let store = match self.open() {
            Ok(store) => store,
            Err(_) if !self.disk.has_power() => {
                self.count("the power went while the database was opened");
                return Ok(Ended::Powerless);
            }
            Err(_) if self.disk.faults() > faults => return Ok(Ended::Powerless),
            Err(error) => return Err(format!("the database does not open: {error:#}")),
        };
        match self.start(&store).await {
            Ok(()) => {
                let examined = self.examine(&store).await;
                self.excuse(examined)?;
            }
            Err(StoreError::Unavailable(_)) if self.is_excused(faults) => {}
            Err(error) => return Err(format!("a server does not start: {error:?}")),
        }
        for _ in 0..self.chance.within(1..=TURNS_MAX) {
            if !self.disk.has_power() {
                break;
            }
            let turned = self.turn(&store, faults).await;
            self.excuse(turned)?;
        }
        if self.disk.faults() > faults {
            self.count("a sync or a write failed");
        }
        if self.disk.has_power() {
            return Ok(Ended::Content(store));
        }
        self.count("the power went under load");
        store.close().await;
        Ok(Ended::Powerless)
    }

    /// Whether a write may have failed because of the disk.
    fn is_excused(&self, faults: u64) -> bool {
        !self.disk.has_power() || self.disk.faults() > faults
    }

    /// Accepts that a read failed if the power went meanwhile. That happens even while the workload only reads, because the
    /// thread that copies the log writes at the same time.
    fn excuse(&mut self, done: Result<(), String>) -> Result<(), String> {
        match done {
            Err(why) if why.starts_with(READ_FAILED) && !self.disk.has_power() => {
                self.tell(why);
                self.count("the power went during a read");
                Ok(())
            }
            done => done,
        }
    }

    async fn end(&mut self, ended: Ended) {
        let store = match ended {
            // Here only the process ends, at the instant at which the power would have gone, and the disk keeps its cache.
            Ended::Powerless if self.chance.happens(30) => {
                self.tell("killed within a write");
                self.count("a process was killed within a write");
                return self.disk.kill();
            }
            Ended::Powerless => {
                self.tell("the power went");
                return self.disk.cut();
            }
            Ended::Content(store) => store,
        };
        match self.chance.below(4) {
            0 => {
                self.tell("stopped in order");
                self.count("a server stopped in order");
                store.close().await;
                drop(store);
                // After the stop, the power is cut by chance, and always if it went during the stop. In every other case the process
                // is ended: after a failed sync it leaves a connection open, whose locks must go.
                if self.chance.happens(50) || !self.disk.has_power() {
                    self.tell("and the power was cut");
                    self.disk.cut();
                } else {
                    self.disk.kill();
                }
            }
            1 => {
                self.tell("the power was cut");
                self.count("the power was cut between two writes");
                self.disk.cut();
                store.close().await;
            }
            _ => {
                self.tell("killed");
                self.count("a process was killed and the disk kept its cache");
                self.disk.kill();
                store.close().await;
            }
        }
    }

    /// The steps of a server before it serves.
    async fn start(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        store.release_deliveries().await?;
        while !store.recover().await?.done {}
        Ok(())
    }

    /// Checks that the database is undamaged and holds everything known.
    async fn examine(&mut self, store: &Arc<SqliteStore>) -> Result<(), String> {
        if !self.disk.has_power() {
            return Ok(());
        }
        for check in ["PRAGMA integrity_check", "PRAGMA foreign_key_check"] {
            let said = query(&self.path(), check).map_err(|error| format!("{READ_FAILED}: {check}: {error}"))?;
            if said.iter().any(|line| line != "ok") {
                // The check tells of pages that it cannot read as it tells of damaged ones, and without power none can be read.
                let what = if self.disk.has_power() { "the database is damaged" } else { READ_FAILED };
                return Err(format!("{what}: {check}: {said:?}"));
            }
        }
        let store: Arc<dyn Store> = store.clone();
        self.ledger.check(&store).await
    }

    /// One turn: a write, or the passing of time.
    async fn turn(&mut self, store: &Arc<SqliteStore>, faults: u64) -> Result<(), String> {
        let done = match self.chance.below(20) {
            0 | 1 => {
                self.clock.jump(TimeDelta::seconds(self.chance.within(1..=3_600)));
                self.fire(store).await
            }
            2..=4 => self.deliver(store).await,
            5 | 6 => {
                let mode = *self.chance.pick(&["PASSIVE", "FULL", "RESTART", "TRUNCATE"]);
                self.tell(format!("checkpoint {mode}"));
                self.count("a checkpoint");
                // The checkpoint may fail like any write.
                query(&self.path(), &format!("PRAGMA wal_checkpoint({mode})")).ok();
                Ok(())
            }
            7 => self.examine(store).await.map(Ok)?,
            _ => return self.write(store, faults).await,
        };
        match done {
            Ok(()) => Ok(()),
            Err(StoreError::Unavailable(_)) if self.is_excused(faults) => Ok(()),
            Err(error) => Err(format!("a server's own write failed: {error:?}")),
        }
    }

    async fn fire(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        loop {
            let fired = store.fire_deadlines().await?;
            self.tell(format!("time passed: {} deadlines", fired.rows));
            if fired.rows == 0 {
                return Ok(());
            }
            self.count("a deadline came");
        }
    }

    async fn deliver(&mut self, store: &SqliteStore) -> Result<(), StoreError> {
        for delivery in store.lease_deliveries(Turn::of("email")).await?.deliveries {
            let result = match self.chance.below(4) {
                0 => DeliveryResult::Retry { reason: "later".to_owned(), after: None },
                1 => DeliveryResult::Failed("never".to_owned()),
                _ => DeliveryResult::Sent("250".to_owned()),
            };
            let sent = matches!(result, DeliveryResult::Sent(_));
            if store.complete_delivery(delivery.rid, delivery.lease, result).await? && sent {
                self.ledger.sent(delivery.suspension.id, delivery.id);
                self.count("a message was sent");
            }
        }
        Ok(())
    }

    /// Sends several writes at once, which may share a commit.
    async fn write(&mut self, store: &Arc<SqliteStore>, faults: u64) -> Result<(), String> {
        let open = {
            let store: Arc<dyn Store> = store.clone();
            Ledger::open(&store).await?
        };
        let mut writes = Vec::new();
        for _ in 0..*self.chance.pick(&[1, 1, 2, 8]) {
            let again = !self.unheard.is_empty() && self.chance.happens(40);
            let write = if again { self.unheard.swap_remove(0) } else { self.draw(&open) };
            writes.push((again, write));
        }
        self.tell(format!("{} writes, {} of them again", writes.len(), writes.iter().filter(|(again, _)| *again).count()));
        let before = self.ledger.len();
        let results = join_all(writes.iter().map(|(_, write)| write.send(&**store))).await;
        for ((again, write), result) in writes.into_iter().zip(results) {
            self.hear(again, write, result, faults)?;
        }
        self.tell(format!("{} things acknowledged", self.ledger.len() - before));
        Ok(())
    }

    fn draw(&mut self, open: &[SuspensionRecord]) -> Write {
        let now = self.clock.now();
        self.workload.draw(&mut self.chance, &self.entropy, now, open)
    }

    fn hear(&mut self, again: bool, write: Write, result: Result<Outcome, StoreError>, faults: u64) -> Result<(), String> {
        match result {
            Ok(outcome) => {
                if let Outcome::Intent(view) = &outcome
                    && !self.workload.intents.contains(&view.id)
                {
                    self.workload.intents.push(view.id);
                    if let (true, Write::Create(request)) = (again, &write) {
                        // A new intent's request holds its id. A repeat that got another id back would have made a second intent.
                        let mine = request.intent.as_ref().is_ok_and(|new| new.id == view.id);
                        assert!(mine, "the same request has the same id");
                    }
                }
                self.ledger.heard(again, &outcome)
            }
            Err(StoreError::Rejected(_) | StoreError::Held(_)) => Ok(()),
            Err(StoreError::Unavailable(why)) if self.is_excused(faults) => {
                self.tell(format!("unheard: {why}"));
                if why.contains("full") {
                    self.count("there was no room");
                }
                self.unheard.push(write);
                Ok(())
            }
            Err(error) => Err(format!("a write failed: {error:?}")),
        }
    }

    /// The server goes on: each open question can be answered or ends at its deadline.
    async fn finish(&mut self, store: &Arc<SqliteStore>) -> Result<(), String> {
        let faults = self.disk.faults();
        for write in std::mem::take(&mut self.unheard) {
            let is_there = self.is_there(store, &write).await?;
            let result = write.send(&**store).await;
            if let (Ok(_), Some(is_there)) = (&result, is_there) {
                self.count(if is_there {
                    "an unheard write was sent again and counted once"
                } else {
                    "an unheard write was sent again and had to be done"
                });
            }
            self.hear(true, write, result, faults)?;
        }
        self.deliver(store).await.map_err(|error| format!("{error:?}"))?;
        for (number, record) in Ledger::open(&(store.clone() as Arc<dyn Store>)).await?.iter().enumerate() {
            if number % 2 == 0 || record.expires_at.is_none() {
                let call = 1_000_000 + number as u64;
                let result = answer(record, &json!("in the end"), call).send(&**store).await;
                let refused = matches!(result, Err(StoreError::Rejected(_)));
                if refused && record.expires_at.is_none() {
                    return Err(format!("{} is open and cannot be answered: {result:?}", record.question));
                }
                self.hear(false, answer(record, &json!("in the end"), call), result, faults)?;
            }
        }
        for _ in 0..24 {
            self.clock.jump(TimeDelta::hours(1));
            self.fire(store).await.map_err(|error| format!("{error:?}"))?;
        }
        let open = Ledger::open(&(store.clone() as Arc<dyn Store>)).await?;
        match open.first() {
            None => Ok(()),
            Some(record) => Err(format!("{} never ended, due {:?}", record.question, record.expires_at)),
        }
    }

    /// Whether a creation without a reply took place. Other writes are not checked.
    async fn is_there(&self, store: &Arc<SqliteStore>, write: &Write) -> Result<Option<bool>, String> {
        let Write::Create(request) = write else { return Ok(None) };
        let Ok(new) = &request.intent else { return Ok(None) };
        match patiently(|| store.intent(request.principal.clone(), new.id)).await {
            Ok(_) => Ok(Some(true)),
            Err(StoreError::Rejected(_)) => Ok(Some(false)),
            Err(error) => Err(format!("{READ_FAILED}: {error:?}")),
        }
    }
}
