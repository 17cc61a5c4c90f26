//! Flipped bits and cut files: each is found or harmless, and none gives a wrong decision.
//!
//! A server makes a database through its HTTP API. Each round damages a copy in one place, opens it, reads everything, answers the open
//! questions, and lets the deadlines pass. Each result must be that of the undamaged database, or an error.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::TimeDelta;
use domain::base::clock::Clock;
use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::intent::command::{Command, Respond};
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::suspension::Resolution;
use harness::app::TestApp;
use harness::clock::FakeClock;
use harness::requests::{principal, write};
use harness::wish::wish;
use serde_json::{Value, json};
use store::sqlite::{Exclusive, SqliteStore};
use store::{
    CheckpointFilter, EventFilter, ExportFilter, IntentFilter, ServerEventFilter, Store, StoreError, Surroundings,
    SuspensionFilter, Target,
};
use verify::report::Verdict;
use verify::{Kept, Options, Watchers};

/// The variable with the number of rounds, which `tests/bitrot/run` sets.
const ROUNDS: &str = "PLACET_BITROT_ROUNDS";
const ROUNDS_USUAL: u64 = 24;
/// After how many rounds a long run tells its counts.
const TOLD_EVERY: u64 = 100;
/// More than the questions and intents of the test.
const LIMIT: u32 = 1_000;

/// Random bytes that are the same in each round.
struct Counted(AtomicU64);

impl Entropy for Counted {
    fn fill(&self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(8) {
            let next = mixed(self.0.fetch_add(1, Ordering::SeqCst)).to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
    }
}

/// A number that looks random (`SplitMix64`).
fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A database with traffic, and the names of what is in it.
struct Original {
    database: Vec<u8>,
    export: Vec<u8>,
    checkpoint: String,
    /// The number of leaves of the tree.
    leaves: u64,
    options: Options,
    clock: Arc<FakeClock>,
    intents: Vec<IntentId>,
    /// The questions, each with its intent; those that are still open first.
    questions: Vec<(IntentId, SuspensionId)>,
    open: usize,
    keys: Vec<[u8; 32]>,
}

async fn original() -> Original {
    let mut app = TestApp::start().await;
    let (mut open, mut answered, mut intents) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..24 {
        let change = match number % 3 {
            0 => json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny", "timeout_seconds": 7200}),
            1 => json!({"question": format!("question {number} {}", "é".repeat(number * 40)), "notify_to": ["ada@example.com"]}),
            _ => json!({"context": {"number": number, "text": "x".repeat(number * 300)}}),
        };
        let (intent, suspension) = app.ask(change).await;
        intents.push(intent);
        let question = (intent, SuspensionId::parse(&suspension).unwrap());
        if number % 4 == 1 {
            app.operator().respond(intent, &suspension, "approve").await.ok();
            answered.push(question);
        } else {
            open.push(question);
        }
    }
    app.agent().post("api/v1/portfolios", json!({"name": "a portfolio"})).await.ok();
    app.settle().await;
    app.checkpoints().turn().await.unwrap();
    let newest = CheckpointFilter { intent: None, before: None, limit: 1 };
    let kept = app.store().checkpoints(principal("auditor", Role::Auditor), Ok(newest)).await.unwrap().remove(0);
    app.ask(json!({"question": "one more"})).await;
    app.checkpoints().turn().await.unwrap();
    let last = app.store().checkpoints(principal("auditor", Role::Auditor), Ok(newest)).await.unwrap().remove(0);
    let export = app.api(Role::Auditor).get("api/v1/export").await.text.into_bytes();
    let options = Options::with_keys(vec![app.checkpoints().key().unwrap().verifying().clone()]);
    let keys = [app.operator(), app.agent()].map(|actor| placet_server::edge::keys::hash(actor.key()));
    app.restart().await; // The log of the stopped server was copied into the file.
    let database = std::fs::read(app.folder().join("placet.db")).unwrap();
    let clock = app.clock.clone();
    app.discard().await;
    let opened = open.len();
    let questions = open.into_iter().chain(answered).collect();
    let checkpoint = kept.note;
    let leaves = last.event_count;
    Original { database, export, checkpoint, leaves, options, clock, intents, questions, open: opened, keys: keys.into() }
}

/// The results of everything that is asked of a database, by name.
type Results = BTreeMap<String, Result<String, String>>;

fn put<T: std::fmt::Debug>(results: &mut Results, name: String, result: Result<T, StoreError>) {
    let result = match result {
        Ok(found) => Ok(format!("{found:?}")),
        // A refusal is a result like any other: "not found" for a question that is there would be wrong.
        Err(StoreError::Rejected(rejection)) => Ok(format!("refused: {rejection:?}")),
        Err(error) => Err(format!("{error:?}")),
    };
    results.insert(name, result);
}

async fn read_all(store: &dyn Store, original: &Original, results: &mut Results) {
    let (admin, auditor) = (principal("admin", Role::Admin), principal("auditor", Role::Auditor));
    for key in &original.keys {
        put(results, format!("read key {key:?}"), store.principal(*key).await);
    }
    let intents = IntentFilter { limit: LIMIT, offset: 0, status: None, before: None };
    put(results, "read intents".into(), store.intents(admin.clone(), Ok(intents)).await);
    let listed = SuspensionFilter { limit: LIMIT, open: true, before: None, requests: None, beside: None, asked_under: None };
    put(results, "read suspensions".into(), store.suspensions(admin.clone(), Ok(listed)).await);
    put(results, "read keys".into(), store.keys(admin.clone()).await);
    let server = ServerEventFilter { limit: LIMIT, after: 0 };
    put(results, "read server log".into(), store.server_events(auditor.clone(), Ok(server)).await);
    let checkpoints = CheckpointFilter { intent: None, before: None, limit: 100 };
    put(results, "read checkpoints".into(), store.checkpoints(auditor.clone(), Ok(checkpoints)).await);
    let filter = Arc::new(ExportFilter::default());
    put(results, "read export".into(), store.export_page(auditor.clone(), filter, original.leaves, 0).await);
    for intent in &original.intents {
        put(results, format!("read intent {intent}"), store.intent(admin.clone(), *intent).await);
        let events = EventFilter { limit: LIMIT, offset: 0, event_type: None, since: None, all: true, refuse_far: false };
        put(results, format!("read events {intent}"), store.events(admin.clone(), *intent, Ok(events)).await);
        let chain = store.chain(auditor.clone(), *intent).await;
        // A chain that does not verify is damage that was found.
        let chain = chain.and_then(|chain| {
            let broken = StoreError::Unavailable(format!("{:?}", chain.breaks));
            if chain.valid { Ok(chain) } else { Err(broken) }
        });
        put(results, format!("read chain {intent}"), chain);
    }
}

/// Reads each question: all of it, and the decision by itself. A question whose deadline has taken effect too early shows that in its
/// decision.
async fn read_questions(store: &dyn Store, original: &Original, phase: &str, results: &mut Results) {
    for (number, (_, question)) in original.questions.iter().enumerate() {
        let record = store.suspension(principal("admin", Role::Admin), *question).await;
        let decision = record.as_ref().ok().map(|record| {
            let is_early = record.resolution == Some(Resolution::Expired) && record.resolved_at < record.expires_at;
            (record.resolution, record.resolution_reason, record.response.clone(), is_early)
        });
        if let Some(decision) = decision {
            put(results, format!("{phase} decision {number}"), Ok(decision));
        }
        put(results, format!("{phase} {number}"), record);
    }
}

fn answer((intent, question): (IntentId, SuspensionId)) -> store::Request {
    let respond = Respond { suspension_id: question.expose(), value: Some(Value::from("approve")), ..Respond::default() };
    let operator: Principal = principal("operator", Role::Operator);
    write(&operator, Action::Respond, Target::Intent(intent), Ok(Command::Respond(Box::new(respond))))
}

/// Opens the database, reads everything, answers every second open question if `answers`, lets the deadlines pass, and reads again.
async fn results_of(path: &Path, original: &Original, answers: bool) -> Result<Results, String> {
    let clock = Arc::new(FakeClock::at(original.clock.now()));
    let surroundings = Surroundings::alone(clock.clone(), Arc::new(Counted(AtomicU64::new(0))));
    let store = SqliteStore::open(path, Exclusive::Serve, surroundings).map_err(|error| format!("{error:#}"))?;
    let mut results = Results::new();
    read_all(&store, original, &mut results).await;
    read_questions(&store, original, "read question", &mut results).await;
    for (number, question) in
        original.questions[..original.open].iter().enumerate().filter(|(number, _)| answers && number % 2 == 0)
    {
        put(&mut results, format!("decide {number}"), store.execute(answer(*question)).await);
    }
    for turn in 0..6 {
        let fired = store.fire_deadlines().await;
        put(&mut results, format!("fire {turn}"), fired.map(|fired| fired.rows));
        while store.recover().await.is_ok_and(|recovered| !recovered.done) {}
        clock.jump(TimeDelta::hours(turn % 2 * 4));
    }
    read_questions(&store, original, "after", &mut results).await;
    store.close().await;
    Ok(results)
}

/// The results of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    /// The database was not opened.
    NotOpened,
    /// At least one request was refused because of the damage; the others had the results of the undamaged database.
    Found,
    /// Everything was as in the undamaged database.
    Harmless,
    /// A result was another one.
    Wrong,
}

/// Compares a round with the undamaged database, `silent` being that one without answers.
fn compared(whole: &Results, silent: &Results, found: &Results) -> (Shown, String) {
    let failed = found.values().any(Result::is_err);
    let mut wrong = String::new();
    for (name, result) in found {
        let Ok(text) = result else { continue };
        if whole.get(name) == Some(result) {
            continue;
        }
        // A request that failed decided nothing. So a question may be as it was at first, or as it would be without an answer. The server's
        // other work may be done at another time than in the undamaged database.
        let is_undecided = failed
            && name.strip_prefix("after decision ").is_some_and(|number| {
                silent.get(name) == Some(result) || found.get(&format!("read question decision {number}")) == Some(result)
            });
        let is_work = failed && (name.starts_with("fire ") || name.starts_with("after ") && !name.starts_with("after decision "));
        if !is_undecided && !is_work {
            let expected = whole.get(name).cloned().unwrap_or(Err(String::new()));
            wrong = format!("{name}: {text:.300} and not {:.300}", expected.unwrap_or_default());
        }
    }
    let shown = match (wrong.is_empty(), failed) {
        (false, _) => Shown::Wrong,
        (true, true) => Shown::Found,
        (true, false) => Shown::Harmless,
    };
    (shown, wrong)
}

/// One place of damage in a file.
fn damage(bytes: &mut Vec<u8>, round: u64) -> String {
    let (place, kind) = (mixed(round * 3 + 1), mixed(round * 3 + 2));
    if kind % 10 == 0 {
        let length = usize::try_from(place % bytes.len() as u64).unwrap();
        bytes.truncate(length);
        return format!("cut to {length} bytes");
    }
    let bit = usize::try_from(place % (bytes.len() as u64 * 8)).unwrap();
    bytes[bit / 8] ^= 1 << (bit % 8);
    format!("bit {} of byte {}", bit % 8, bit / 8)
}

/// The numbers of the rounds: from 0, or from the number before two dots, so that several processes can share the work.
fn rounds() -> Range<u64> {
    let Some(wanted) = wish(ROUNDS) else { return 0..ROUNDS_USUAL };
    let (first, end) = wanted.split_once("..").unwrap_or(("0", &wanted));
    first.parse().unwrap()..end.parse().unwrap()
}

/// A folder in memory, where there is one: the rounds write many small files.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Damage in the database gives no wrong result, whatever byte it is in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_database_decides_nothing_wrong() {
    let original = original().await;
    let folder = folder();
    let at = |name: String| folder.path().join(name);
    let run = async |name: String, bytes: &[u8], answers| {
        let path = at(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("placet.db"), bytes).unwrap();
        let results = results_of(&path.join("placet.db"), &original, answers).await;
        std::fs::remove_dir_all(&path).unwrap();
        results
    };
    let whole = run("whole".into(), &original.database, true).await.unwrap();
    assert_eq!(run("again".into(), &original.database, true).await.as_ref(), Ok(&whole), "a round has one result");
    let silent = run("silent".into(), &original.database, false).await.unwrap();
    assert!(whole.values().all(Result::is_ok), "{:?}", whole.values().find(|result| result.is_err()));
    assert!(whole["decide 0"].as_ref().unwrap().contains("approve") && whole["after 0"] != silent["after 0"]);
    assert!(silent["after 0"] != silent["read question 0"], "the deadlines pass");
    let (mut counts, mut problems) = (BTreeMap::<Shown, u64>::new(), Vec::new());
    for round in rounds() {
        let mut bytes = original.database.clone();
        let what = damage(&mut bytes, round);
        let (shown, why) = match run(format!("round-{round}"), &bytes, true).await {
            Ok(found) => compared(&whole, &silent, &found),
            Err(_) => (Shown::NotOpened, String::new()),
        };
        *counts.entry(shown).or_default() += 1;
        if round % TOLD_EVERY == TOLD_EVERY - 1 {
            eprintln!("bitrot, database, to round {round}: {counts:?}");
        }
        if shown == Shown::Wrong {
            problems.push(format!("round {round}, {what}: {why}"));
        }
    }
    eprintln!("bitrot, database of {} bytes: {counts:?}", original.database.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(counts.contains_key(&Shown::Found) && counts.contains_key(&Shown::NotOpened), "{counts:?}");
}

/// Damage in an export or in a kept checkpoint is found by the verifier, unless the file still says the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_export_or_checkpoint_does_not_verify() {
    let original = original().await;
    let mut options = original.options.clone();
    options.kept = vec![Kept { file: "kept".into(), note: original.checkpoint.clone() }];
    let verdict = |export: &[u8], options: &Options| {
        verify::verify("export", std::io::Cursor::new(export), options, Watchers::default()).verdict
    };
    assert_eq!(verdict(&original.export, &options), Verdict::Verified);
    let mut counts = BTreeMap::<(&str, &str), u64>::new();
    let mut wrong = Vec::new();
    for round in rounds() {
        let mut export = original.export.clone();
        let what = damage(&mut export, round);
        let is_same = lines(&export) == lines(&original.export);
        let shown = match verdict(&export, &options) {
            Verdict::NotVerified | Verdict::Failed => "found",
            Verdict::Verified if is_same => "harmless",
            Verdict::Verified => {
                wrong.push(format!("export, round {round}: {what}"));
                "wrong"
            }
        };
        *counts.entry(("export", shown)).or_default() += 1;
        let mut note = original.checkpoint.clone().into_bytes();
        let what = damage(&mut note, round);
        let shown = match String::from_utf8(note) {
            Err(_) => "found",
            Ok(note) => {
                let options = Options { kept: vec![Kept { file: "kept".into(), note }], ..options.clone() };
                match verdict(&original.export, &options) {
                    Verdict::NotVerified | Verdict::Failed => "found",
                    Verdict::Verified => {
                        wrong.push(format!("checkpoint, round {round}: {what}"));
                        "wrong"
                    }
                }
            }
        };
        *counts.entry(("checkpoint", shown)).or_default() += 1;
    }
    eprintln!(
        "bitrot, export of {} bytes and checkpoint of {} bytes: {counts:?}",
        original.export.len(),
        original.checkpoint.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of an export as values.
fn lines(export: &[u8]) -> Vec<Option<Value>> {
    let lines: Vec<_> = export.split(|byte| *byte == b'\n').collect();
    lines.into_iter().map(|line| serde_json::from_slice(line).ok()).collect()
}
