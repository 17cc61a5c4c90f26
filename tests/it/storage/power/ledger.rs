//! Everything a store has acknowledged or shown, kept outside the store, and the check that the store still has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use domain::base::ids::{DeliveryId, IntentId, SuspensionId};
use domain::log::{Sealed, verify_chain};
use domain::people::principal::{Principal, Role};
use domain::suspension::delivery::DeliveryState;
use domain::wire::SuspensionRecord;
use harness::requests::principal;
use serde_json::{Value, json};
use store::{DeliveryFilter, EventFilter, IntentFilter, Outcome, Store, StoreError, SuspensionFilter, Unit};

/// The events that end a suspension.
const ENDINGS: &[&str] = &["intent.resumed", "intent.suspension_expired", "intent.suspension_cancelled"];
/// The limit of each list. One run writes fewer records.
const PAGE: u32 = 1_000;
/// The complete texts of two errors that only mean that the machine is busy: too many reads wait, or no connection became free in
/// time. If opening a connection fails, the second text goes on with the cause. That is a real error, so whole texts are
/// compared.
const NO_TURN: [&str; 2] = ["too many reads are waiting", "timed out waiting for connection"];
/// The beginning of the error of a read that failed, whatever it read.
pub(super) const READ_FAILED: &str = "a read failed";
/// How long reads may be without a turn. After that, a busy machine is no longer the explanation.
pub(super) const TURN_MAX: Duration = Duration::from_mins(5);

/// The known state of one intent, as acknowledged or shown.
#[derive(Default)]
struct Intent {
    version: u32,
    /// The intent's events as served, oldest first. Readers may have acted on them.
    events: Vec<String>,
    /// The events whose appending was acknowledged.
    appended: Vec<String>,
}

/// The known state of one question, as acknowledged or shown.
#[derive(Default)]
struct Question {
    version: u32,
    expires_at: Option<DateTime<Utc>>,
    /// How the question ended, and with which response.
    ending: Option<Value>,
    /// The messages whose report as sent was acknowledged.
    sent: BTreeSet<DeliveryId>,
}

/// Everything that was acknowledged or shown.
#[derive(Default)]
pub(super) struct Ledger {
    intents: BTreeMap<IntentId, Intent>,
    questions: BTreeMap<String, Question>,
}

fn ending(record: &SuspensionRecord) -> Option<Value> {
    record.resolution.map(|resolution| json!([resolution, record.response]))
}

impl Ledger {
    /// The number of known intents and questions.
    pub(super) fn len(&self) -> usize {
        self.intents.len() + self.questions.len()
    }

    /// Records an acknowledged write. The reply to a repeated write may show the question as it was at the first write, so this
    /// reply proves only that the question exists.
    pub(super) fn heard(&mut self, again: bool, outcome: &Outcome) -> Result<(), String> {
        match outcome {
            Outcome::Intent(view) => {
                let intent = self.intents.entry(view.id).or_default();
                intent.version = intent.version.max(view.version);
            }
            Outcome::Suspension { record, .. } if again => {
                self.questions.entry(record.id.expose()).or_default();
            }
            Outcome::Suspension { record, .. } => self.see(record)?,
            Outcome::Responded { response, .. } => {
                let question = self.questions.entry(response.suspension_id.expose()).or_default();
                let answered = json!(["responded", response.value]);
                if question.ending.replace(answered.clone()).is_some_and(|ending| ending != answered) {
                    return Err(format!("a question has two endings, one of them {answered}"));
                }
            }
            Outcome::Event(served) => {
                let event: Value = serde_json::from_str(served).map_err(|error| error.to_string())?;
                let id = event["intent_id"].as_str().and_then(|id| id.parse().ok()).ok_or("an event of no intent")?;
                self.intents.entry(id).or_default().appended.push(served.clone());
            }
            Outcome::Lease(_)
            | Outcome::Access(_)
            | Outcome::Portfolio(_)
            | Outcome::Membership(_)
            | Outcome::Task(_)
            | Outcome::Plan(_)
            | Outcome::Coordinator(_)
            | Outcome::Stop(_)
            | Outcome::Subscription(_) => {}
        }
        Ok(())
    }

    /// Records that the report of a sent message was acknowledged.
    pub(super) fn sent(&mut self, question: SuspensionId, message: DeliveryId) {
        self.questions.entry(question.expose()).or_default().sent.insert(message);
    }

    /// Records a shown question.
    fn see(&mut self, record: &SuspensionRecord) -> Result<(), String> {
        let question = self.questions.entry(record.id.expose()).or_default();
        let (ended, now) = (question.ending.clone(), ending(record));
        if ended.is_some() && ended != now {
            return Err(format!("{} ended as {ended:?} and is {now:?} now", record.question));
        }
        if record.version < question.version {
            return Err(format!("{} was at version {} and is at {}", record.question, question.version, record.version));
        }
        if question.expires_at > record.expires_at {
            return Err(format!("the deadline of {} has moved back", record.question));
        }
        (question.version, question.expires_at, question.ending) = (record.version, record.expires_at, now);
        Ok(())
    }

    /// Records shown events, newest first.
    fn see_events(&mut self, id: IntentId, mut served: Vec<String>) -> Result<(), String> {
        served.reverse();
        let intent = self.intents.entry(id).or_default();
        if !served.starts_with(&intent.events) {
            return Err(format!(
                "the log of {id} has lost or changed events: {:#?} were seen, {served:#?} are there",
                intent.events
            ));
        }
        if let Some(lost) = intent.appended.iter().find(|appended| !served.contains(appended)) {
            return Err(format!("an acknowledged event is lost: {lost}"));
        }
        let events: Vec<Value> = served.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        let sealed: Option<Vec<Sealed>> = events.iter().map(Sealed::from_served).collect();
        let verified = verify_chain(&sealed.ok_or("an event is not sealed")?);
        if verified != Ok(served.len() as u64) {
            return Err(format!("the chain of {id} is broken: {verified:?}"));
        }
        let mut ended = BTreeSet::new();
        for event in events.iter().filter(|event| ENDINGS.contains(&event["event_type"].as_str().unwrap_or_default())) {
            if !ended.insert(event["payload"]["suspension_id"].to_string()) {
                return Err(format!("a question has two endings in the log: {event}"));
            }
        }
        intent.events = served;
        Ok(())
    }

    /// Checks the store against everything known, and records what the store shows.
    pub(super) async fn check(&mut self, store: &Arc<dyn Store>) -> Result<(), String> {
        let auditor = principal("auditor", Role::Auditor);
        let filter = IntentFilter { limit: PAGE, offset: 0, status: None, before: None };
        let listed = read(|| store.intents(auditor.clone(), Ok(filter))).await?.intents;
        let mut titles = BTreeSet::new();
        if let Some(twice) = listed.iter().find(|intent| !titles.insert(&intent.title)) {
            return Err(format!("one key made two intents: {}", twice.title));
        }
        let there: BTreeMap<IntentId, u32> = listed.iter().map(|intent| (intent.id, intent.version)).collect();
        for (id, intent) in &self.intents {
            match there.get(id) {
                None => return Err(format!("the acknowledged intent {id} is lost")),
                Some(version) if *version < intent.version => {
                    return Err(format!("{id} was at version {} and is at {version}", intent.version));
                }
                Some(_) => {}
            }
        }
        self.check_questions(store, &auditor).await?;
        for (id, version) in there {
            self.intents.entry(id).or_default().version = version;
            let filter = EventFilter { limit: PAGE, offset: 0, event_type: None, since: None, all: true, refuse_far: true };
            let served = read(|| store.events(auditor.clone(), id, Ok(filter.clone()))).await?;
            self.see_events(id, served)?;
        }
        Ok(())
    }

    async fn check_questions(&mut self, store: &Arc<dyn Store>, auditor: &Principal) -> Result<(), String> {
        let filter = SuspensionFilter { limit: PAGE, open: false, before: None, requests: None, beside: None, asked_under: None };
        let records = read(|| store.suspensions(auditor.clone(), Ok(filter.clone()))).await?.suspensions;
        let mut asked = BTreeSet::new();
        if let Some(twice) = records.iter().find(|record| !asked.insert(&record.question)) {
            return Err(format!("one key asked two questions: {}", twice.question));
        }
        let there: BTreeSet<String> = records.iter().map(|record| record.id.expose()).collect();
        if self.questions.keys().any(|id| !there.contains(id)) {
            return Err("an acknowledged question is lost".to_owned());
        }
        for record in &records {
            self.see(record)?;
            let sent = self.questions[&record.id.expose()].sent.clone();
            if sent.is_empty() {
                continue;
            }
            let filter = DeliveryFilter { limit: PAGE, after: 0 };
            let deliveries = read(|| store.deliveries(auditor.clone(), record.id, Ok(filter))).await?.deliveries;
            let is_sent = |id: &DeliveryId| deliveries.iter().any(|of| of.id == *id && of.state == DeliveryState::Sent);
            if !sent.iter().all(is_sent) {
                return Err(format!("a message about {} was reported sent, and is not: {deliveries:?}", record.question));
            }
        }
        Ok(())
    }

    /// The open questions, as the store shows them.
    pub(super) async fn open(store: &Arc<dyn Store>) -> Result<Vec<SuspensionRecord>, String> {
        let filter = SuspensionFilter { limit: PAGE, open: true, before: None, requests: None, beside: None, asked_under: None };
        let auditor = principal("auditor", Role::Auditor);
        Ok(read(|| store.suspensions(auditor.clone(), Ok(filter.clone()))).await?.suspensions)
    }
}

/// Reads must work whatever the disk does to writes.
async fn read<'a, T>(ask: impl Fn() -> Unit<'a, T>) -> Result<T, String> {
    patiently(ask).await.map_err(|error| format!("{READ_FAILED}: {error:?}"))
}

/// Whether the error is only that a read got no turn.
pub(super) fn is_no_turn(why: &str) -> bool {
    NO_TURN.contains(&why)
}

/// Repeats a read until it gets a turn. On a busy machine a read may wait in vain and get an error. That breaks no promise, so
/// the read is sent again.
pub(super) async fn patiently<'a, T>(ask: impl Fn() -> Unit<'a, T>) -> Result<T, StoreError> {
    let give_up = Instant::now() + TURN_MAX;
    loop {
        match ask().await {
            Err(StoreError::Unavailable(why)) if is_no_turn(&why) && Instant::now() < give_up => {}
            result => return result,
        }
    }
}
