//! Looks at the rows after every transaction and compares them with the reference, and with what people were told.

use std::collections::{BTreeMap, BTreeSet};

use domain::log::{Hash, Sealed};
use serde_json::Value;
use store::sqlite::simulated::{Ended, SimulatedDatabase};

use crate::cast;
use crate::council::{Council, Dated};
use crate::dependents;
use crate::model::{Checked, ModelIntent, ModelSuspension, Rules, must};
use crate::plan::Plan;
use crate::routes::Route;

/// A query for the state: the intents, suspensions and messages that were written, all timers, and some counts. Each result is a
/// JSON array whose first element names its kind.
const ROWS: &str = "\
SELECT json_array('intent', rid, lower(hex(id)), status, version, updated_at, open_suspension, last_sequence, lower(hex(last_hash))) FROM intents \
WHERE rid IN (SELECT rid FROM written WHERE place = 'intents') \
UNION ALL SELECT json_array('suspension', rid, lower(hex(id)), intent, version, attempt, expires_at, reached, refusals, resolution, resolution_reason, \
resolved_at, CASE WHEN response IS NULL THEN NULL ELSE json(response) END, resolved_by, suspended_at, requires_delivery) FROM suspensions \
WHERE rid IN (SELECT rid FROM written WHERE place = 'suspensions') \
UNION ALL SELECT json_array('message', rid, lower(hex(id)), suspension, attempt, recipient, state, due_at, tries, lower(hex(lease)), channel) FROM outbox \
WHERE rid IN (SELECT rid FROM written WHERE place = 'outbox') \
UNION ALL SELECT json_array('lost', rid) FROM written WHERE place = 'outbox' AND rid NOT IN (SELECT rid FROM outbox) \
UNION ALL SELECT json_array('timer', due_at, suspension, kind, attempt) FROM timers \
UNION ALL SELECT json_array('kept', (SELECT count(*) FROM idempotency), (SELECT count(*) FROM suspension_keys), (SELECT count(*) FROM leases), \
(SELECT coalesce(max(rid), 0) FROM tokens), (SELECT coalesce(sum(length(state)), 0) FROM intent_bodies)) \
UNION ALL SELECT json_array('restored', held_since IS NOT NULL OR released OR (restored AND absent_until IS NOT NULL)) FROM presence";

/// The beginning of a query for the events after a row, oldest first; the row's id is appended to it.
const EVENTS: &str =
    "SELECT json_array(rid, intent, previous, event_type, created_at, hex(hash), CAST(bytes AS TEXT)) FROM events WHERE rid > ";
/// A number that grows with each change since the database was opened.
const CHANGES: &str = "SELECT CAST(total_changes() AS TEXT)";
const FORGET_WRITTEN: &str = "DELETE FROM written RETURNING place";
/// After one of this many transactions that write, all rows are checked, whether they were written or not.
const LOOKS_APART: u64 = 64;
/// Two turns of a deadline loop that are further apart than this are certainly an absence. An absence is more than 60 seconds
/// without a sign of life, and the last sign may be ten seconds older than the last turn.
const ABSENCE_MIN: i64 = 75 * 1_000_000;

/// How many of the waiting timers, and how many of the waiting messages, a report names.
const WAITING_NAMED: usize = 3;

/// The names in each of these three arrays stand in the order of the numbers that the rows hold (`store/src/rows/codes.rs`).
const STATUSES: [&str; 6] = ["draft", "active", "blocked", "suspended_awaiting_input", "completed", "abandoned"];
const RESOLUTIONS: [&str; 3] = ["responded", "expired", "cancelled"];
const REASONS: [&str; 6] = ["withdrawn", "superseded", "undeliverable", "time_lost", "portfolio_deadline", "quorum_unmet"];
/// The longest a channel may take, in microseconds.
const DELIVERY_MAX: i64 = 30 * 1_000_000;
const QUEUED: i64 = 0;
const SENT: i64 = 1;
const FAILED: i64 = 2;
const OBSOLETE: i64 = 3;
const BOUNCED: i64 = 4;

/// Events that a refused call may leave behind: a record of the try, and effects of the time that passed.
const MAY_FOLLOW_A_REFUSAL: [&str; 13] = [
    "coordinator.ended",
    "intent.late_answer",
    "intent.response_rejected",
    "intent.suspension_cancelled",
    "intent.suspension_expired",
    "intent.suspension_undeliverable",
    "lease_released",
    "lifecycle.closed",
    "lifecycle.resumed",
    "portfolio.member_resumed",
    "status_changed",
    "task.cancelled",
    "task.unblocked",
];

/// Events that happen because of time.
const TIMES_OWN: [&str; 5] = [
    "coordinator.failed_over",
    "coordinator.unresponsive",
    "intent.suspension_expired",
    "intent.suspension_renotified",
    "intent.suspension_undeliverable",
];

/// A message's row.
#[derive(Clone, PartialEq)]
pub(crate) struct MessageRow {
    pub(crate) id: String,
    pub(crate) suspension: i64,
    pub(crate) attempt: i64,
    pub(crate) recipient: String,
    pub(crate) state: i64,
    pub(crate) due_at: i64,
    pub(crate) tries: i64,
    pub(crate) lease: String,
    pub(crate) channel: String,
}

/// A moment by the server's clock, and in true time.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) clock: i64,
    pub(crate) truly: i64,
}

/// Everything known about the rows, and their earlier values.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) intents: BTreeMap<i64, ModelIntent>,
    /// For the row of each suspension: the row of its intent, and the suspension's id.
    pub(crate) suspensions: BTreeMap<i64, (i64, String)>,
    pub(crate) messages: BTreeMap<i64, MessageRow>,
    pub(crate) timers: Vec<(i64, i64, i64, i64)>,
    pub(crate) chains: BTreeMap<i64, Vec<Sealed>>,
    /// The people, and who may answer.
    pub(crate) council: Council,
    kept: Value,
    last_event: i64,
    changes: String,
    /// Open questions by their intents, according to the rows.
    open: BTreeMap<i64, BTreeSet<i64>>,
    looks: u64,
    rules: Rules,
    /// Whether the clock runs like the true time.
    is_steady: bool,
    /// When a deadline loop last did its work.
    turned: Option<Moment>,
    /// Whether deadlines and messages wait for a release.
    pub(crate) is_held: bool,
    /// Whether the database was restored, and the consequences are not all done yet.
    is_restored: bool,
    /// Deliveries that were truly reported as never arriving.
    pub(crate) returned: BTreeSet<String>,
    /// The message that failed or came back last in the transaction that is checked now, and its attempt.
    lost_now: Option<(String, i64)>,
    /// How many questions got time back in the transaction that was checked last.
    pub(crate) given_back: usize,
    /// The results that people were told: the one accepted answer to each question.
    pub(crate) accepted: BTreeMap<String, (Value, String)>,
    /// The callers who were told that they let a stopped intent go on, by the ids of the stops.
    pub(crate) released: BTreeMap<String, String>,
    /// Questions that agents were told of, and the endings that they were told.
    pub(crate) asked: BTreeMap<String, Option<Value>>,
    /// Deliveries whose message the mail server took and acknowledged.
    pub(crate) taken: BTreeSet<String>,
    /// The deadlines of portfolios, by their ids.
    pub(crate) deadlines: BTreeMap<String, i64>,
    /// The events that were new when the rows were last checked, oldest first.
    pub(crate) news: Vec<(i64, String)>,
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(i64::MIN)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A uuid as hex digits, as it is written elsewhere.
pub(crate) fn hyphenated(hex: &str) -> String {
    let Ok(uuid) = uuid::Uuid::parse_str(hex) else { return hex.to_owned() };
    uuid.hyphenated().to_string()
}

impl Watch {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            intents: BTreeMap::new(),
            suspensions: BTreeMap::new(),
            messages: BTreeMap::new(),
            timers: Vec::new(),
            chains: BTreeMap::new(),
            council: cast::council(plan),
            kept: Value::Null,
            last_event: 0,
            changes: String::new(),
            open: BTreeMap::new(),
            looks: 0,
            rules: Rules { requires_delivery: plan.requires_delivery, lines: plan.lines.clone() },
            is_steady: plan.faults.jump == 0,
            turned: None,
            is_held: false,
            is_restored: false,
            returned: BTreeSet::new(),
            lost_now: None,
            given_back: 0,
            accepted: BTreeMap::new(),
            released: BTreeMap::new(),
            asked: BTreeMap::new(),
            taken: BTreeSet::new(),
            deadlines: BTreeMap::new(),
            news: Vec::new(),
        }
    }

    /// Checks everything that one transaction has written.
    pub(crate) fn look(&mut self, database: &SimulatedDatabase, ended: Ended, now: Moment) -> Checked {
        self.news.clear();
        self.given_back = 0;
        self.lost_now = None;
        let changes = lines(database, CHANGES, None)?.concat();
        let is_changed = self.changes != changes;
        must!(!is_changed || !ended.reads, "I31: {} wrote something", ended.unit);
        if ended.committed {
            self.attend(ended.unit, now);
        }
        if !is_changed {
            return Ok(());
        }
        self.looks += 1;
        if self.looks.is_multiple_of(LOOKS_APART) {
            mark_all(database)?;
        }
        self.take_events(database)?;
        if !ended.committed {
            must!(self.news.is_empty(), "I26: a transaction that failed left events");
        }
        if ended.refused {
            let odd = self.news.iter().find(|(_, event)| !MAY_FOLLOW_A_REFUSAL.contains(&event.as_str()));
            must!(odd.is_none(), "I23: a refusal left {odd:?}");
        }
        if self.is_held {
            let odd = self.news.iter().find(|(_, event)| TIMES_OWN.contains(&event.as_str()));
            must!(odd.is_none(), "I20: {odd:?} while everything waits for a release");
        }
        let kept = self.kept.clone();
        self.take_rows(database, Some(ended), now.clock)?;
        if !ended.committed || ended.refused {
            let unchanged = kept.is_null() || self.kept == kept;
            must!(unchanged, "I23: a refused or failed call changed what is kept: {kept} is now {}", self.kept);
        }
        self.changes = lines(database, CHANGES, None)?.concat();
        if self.news.is_empty() {
            return Ok(());
        }
        dependents::check(&self.intents)?;
        self.check_told()
    }

    /// Checks every row, whichever transaction wrote it.
    pub(crate) fn look_at_all(&mut self, database: &SimulatedDatabase, now: i64) -> Checked {
        mark_all(database)?;
        self.take_rows(database, None, now)?;
        self.changes = lines(database, CHANGES, None)?.concat();
        Ok(())
    }

    /// Reads the rows that were written since the last look, and checks them.
    fn take_rows(&mut self, database: &SimulatedDatabase, ended: Option<Ended>, now: i64) -> Checked {
        let rows = lines(database, ROWS, None)?;
        lines(database, FORGET_WRITTEN, None)?;
        let (mut timers, mut messages, mut touched) = (Vec::new(), BTreeMap::new(), BTreeSet::new());
        let was_restored = std::mem::take(&mut self.is_restored);
        for row in &rows {
            let row: Value = serde_json::from_str(row).map_err(|error| error.to_string())?;
            match row[0].as_str().unwrap_or_default() {
                "intent" => self.check_intent(&row)?,
                "suspension" => {
                    self.check_suspension(&row)?;
                    touched.insert(number(&row[1]));
                    let open = self.open.entry(number(&row[3])).or_default();
                    if row[9].is_null() {
                        open.insert(number(&row[1]));
                        must!(open.len() == 1, "I8: two questions are open on one intent");
                    } else {
                        open.remove(&number(&row[1]));
                    }
                }
                "message" => {
                    touched.insert(number(&row[3]));
                    messages.insert(number(&row[1]), message(&row));
                }
                "lost" => return Err("I11: a message was lost".into()),
                "restored" => self.is_restored = number(&row[1]) == 1,
                "timer" => timers.push((number(&row[1]), number(&row[2]), number(&row[3]), number(&row[4]))),
                _ => self.kept = row,
            }
        }
        if !touched.is_empty() || self.timers != timers {
            self.check_timers(&timers)?;
            self.timers = timers;
        }
        if was_restored && !self.is_restored {
            self.check_asked_afresh(now)?;
        }
        for (rid, message) in messages {
            self.check_message(rid, &message, ended, now)?;
            self.messages.insert(rid, message);
        }
        touched.iter().try_for_each(|suspension| self.check_told_by_messages(*suspension, now))
    }

    /// Notes a turn of a deadline loop: after a long time without one, questions must get that time back.
    fn attend(&mut self, unit: &str, now: Moment) {
        match unit {
            "hold_after_restore" => self.is_held = true,
            "release" => self.is_held = false,
            "fire_deadlines" | "recover" if !self.is_held => {
                let Some(last) = self.turned.replace(now) else { return };
                // A shorter absence gives no time back, so a question may end in it. A restore gives back even a short time
                // without links; this is tested in `tests/it/time/restore.rs`.
                if !self.is_steady || now.truly - last.truly <= ABSENCE_MIN {
                    return;
                }
                for suspension in self.open_suspensions() {
                    let was_open =
                        suspension.suspended_at <= last.clock && suspension.expires_at.is_some_and(|at| at > last.clock);
                    suspension.is_owed_time |= was_open && suspension.fallback_policy != "fail";
                    suspension.is_owed_a_link |= was_open && suspension.is_without_links;
                }
            }
            _ => {}
        }
    }

    /// Notes that, in production, an idle deadline loop would have had its turns up to now.
    pub(crate) fn turned(&mut self, database: &SimulatedDatabase, truly: i64, clock: i64) {
        if !self.is_held {
            self.turned = Some(Moment { clock, truly });
        }
        self.overlook(database);
    }

    /// Checks a restored database after its release, when all consequences of the restore are done: people who could answer
    /// before can answer again, or are told in a moment by an attempt that is due.
    fn check_asked_afresh(&self, now: i64) -> Checked {
        let all = self.intents.values().flat_map(|intent| intent.suspensions.values());
        for open in all.filter(|one| one.resolution.is_none() && one.is_without_links) {
            let is_told_soon = open.attempt < open.max_attempts && open.due_at(open.attempt + 1) <= now;
            let is_over = open.is_expired(now);
            must!(is_over || is_told_soon, "I20: released, and nobody whose link ended with a restore was asked afresh");
        }
        Ok(())
    }

    fn open_suspensions(&mut self) -> impl Iterator<Item = &mut ModelSuspension> {
        let all = self.intents.values_mut().flat_map(|intent| intent.suspensions.values_mut());
        all.filter(|suspension| suspension.resolution.is_none())
    }

    /// Sets this record of the rows back to the time of the backup, as the database was. The record of what happened outside of
    /// the database (mails that were taken or came back) stays.
    pub(crate) fn set_back(&mut self, backup: Self, database: &SimulatedDatabase, now: i64) -> Checked {
        let (taken, returned) = (std::mem::take(&mut self.taken), std::mem::take(&mut self.returned));
        let deadlines = std::mem::take(&mut self.deadlines);
        *self = Self { taken, returned, deadlines, looks: self.looks, ..backup };
        let (is_steady, turned) = (self.is_steady, self.turned.map_or(now, |turned| turned.clock));
        for suspension in self.open_suspensions() {
            let is_told = suspension.finished.values().any(|state| *state == "sent");
            let was_over = suspension.expires_at.is_some_and(|at| at <= turned);
            suspension.is_without_links = is_steady && is_told && !was_over;
        }
        lines(database, FORGET_WRITTEN, None)?;
        self.look_at_all(database, now)
    }

    /// Leaves the latest writes unchecked, because the simulator made them and not a process of the server.
    pub(crate) fn overlook(&mut self, database: &SimulatedDatabase) {
        self.changes = lines(database, CHANGES, None).unwrap_or_default().concat();
    }

    fn take_events(&mut self, database: &SimulatedDatabase) -> Checked {
        self.council.take_events(database)?;
        for line in lines(database, EVENTS, Some(self.last_event))? {
            let row: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
            let (rid, intent, bytes) = (number(&row[0]), number(&row[1]), text(&row[6]).into_bytes());
            must!(rid > self.last_event, "I25: events out of order");
            self.last_event = rid;
            let event = domain::base::json::unambiguous(&bytes).map_err(|error| error.to_string())?;
            let hash = unhex(row[5].as_str().unwrap_or_default()).ok_or("I25: an event without a hash")?;
            must!(event["event_type"] == row[3], "I26: a row says {}, its event {}", row[3], event["event_type"]);
            let model = self.intents.entry(intent).or_default();
            let (before, created_at) = (model.updated_at, number(&row[4]));
            model.fold(&event, Hash(hash), &bytes, &self.rules)?;
            let dated = Dated { at: created_at, is_exact: created_at != before };
            self.council.of_intent(&text(&row[3]), &model.creator, &event["payload"], dated)?;
            if row[3] == "added_to_portfolio" {
                model.join(self.deadlines.get(&text(&event["payload"]["portfolio_id"])).copied());
            }
            if row[3] == "delivery.bounced" {
                let id = text(&event["payload"]["delivery_id"]);
                must!(self.returned.contains(&id), "I32: a message counts as come back, and nobody said so");
            }
            if matches!(row[3].as_str(), Some("delivery.failed" | "delivery.bounced")) {
                let payload = &event["payload"];
                self.lost_now = Some((text(&payload["delivery_id"]), number(&payload["attempt"])));
            }
            self.given_back += usize::from(event["payload"]["cause"] == "outage" || row[3] == "lifecycle.extended");
            must!(number(&row[4]) == model.updated_at, "I26: an event's row has another time than the event");
            dependents::check_removal(&self.intents, &event)?;
            self.chains.entry(intent).or_default().push(Sealed { bytes, hash: Hash(hash) });
            self.news.push((intent, text(&row[3])));
        }
        Ok(())
    }

    fn check_intent(&mut self, row: &Value) -> Checked {
        let model = self.intents.get(&number(&row[1])).ok_or("I26: an intent without events")?;
        let status = STATUSES[usize::try_from(number(&row[3])).unwrap_or(0)];
        must!(hyphenated(&text(&row[2])) == model.id, "I26: an intent's id");
        must!(status == model.status, "I26: the row says {status}, the events {}", model.status);
        must!(number(&row[4]) == model.version, "I26: version {} in the row, {} by the events", row[4], model.version);
        must!(number(&row[5]) == model.updated_at, "I26: updated_at");
        must!(number(&row[7]) == model.sequence, "I25: the row counts {} events, there are {}", row[7], model.sequence);
        model.work.check(status, model.stops.is_ending())?;
        let hash = model.last_hash.map(|hash| hex(&hash.0)).unwrap_or_default();
        must!(text(&row[8]) == hash, "I25: the row's last hash");
        must!((status == "suspended_awaiting_input") != row[6].is_null(), "I8: {status}, open suspension {}", row[6]);
        must!(
            row[6].is_null() == model.open.is_none(),
            "I8: open in the row: {}, by the events: {:?}",
            row[6],
            model.open.is_some()
        );
        Ok(())
    }

    fn check_suspension(&mut self, row: &Value) -> Checked {
        let (rid, id, intent) = (number(&row[1]), hyphenated(&text(&row[2])), number(&row[3]));
        let known = self.suspensions.entry(rid).or_insert_with(|| (intent, id.clone()));
        must!(*known == (intent, id.clone()), "I14: a suspension's row changed its id");
        let model = self.suspension(rid).ok_or("I26: a suspension without its event")?;
        must!(number(&row[4]) == model.version, "I26: suspension version {} in the row, {} by the events", row[4], model.version);
        must!(number(&row[5]) == model.attempt, "I26: attempt {} in the row, {} by the events", row[5], model.attempt);
        must!(row[6].as_i64() == model.expires_at, "I16: expires_at moved");
        must!(model.reached_perhaps || (number(&row[7]) == 1) == model.reached, "I26: reached is {} in the row", row[7]);
        must!(number(&row[8]) == model.refusals, "I26: {} refusals in the row, {} by the events", row[8], model.refusals);
        must!(number(&row[14]) == model.suspended_at, "I16: suspended_at moved");
        must!((number(&row[15]) == 1) == model.requires_delivery, "I15: requires_delivery");
        let Some(resolved) = &model.resolution else {
            must!(row[9].is_null(), "I26: ended in the row, open by the events");
            return Ok(());
        };
        let resolution = row[9].as_i64().and_then(|code| RESOLUTIONS.get(usize::try_from(code).ok()?)).copied();
        must!(resolution == Some(resolved.resolution), "I1: {resolution:?} in the row, {} by the events", resolved.resolution);
        let reason =
            row[10].as_i64().and_then(|code| REASONS.get(usize::try_from(code).ok()?)).map(|reason| (*reason).to_owned());
        must!(reason == resolved.reason, "I1: {reason:?} in the row, {:?} by the events", resolved.reason);
        must!(number(&row[11]) == resolved.at, "I1: resolved_at");
        must!(row[12] == resolved.response, "I5: the row holds {}, the event {}", row[12], resolved.response);
        must!(row[13] == resolved.by, "I5: resolved by {} in the row, {} by the events", row[13], resolved.by);
        Ok(())
    }

    /// The suspension in a row, according to the events.
    pub(crate) fn suspension(&self, rid: i64) -> Option<&ModelSuspension> {
        let (intent, id) = self.suspensions.get(&rid)?;
        self.intents.get(intent)?.suspensions.get(id)
    }

    /// A suspension by its id.
    pub(crate) fn suspension_named(&self, id: &str) -> Option<&ModelSuspension> {
        self.intents.values().find_map(|intent| intent.suspensions.get(id))
    }

    fn check_timers(&self, timers: &[(i64, i64, i64, i64)]) -> Checked {
        let mut seen = BTreeSet::new();
        for (due_at, suspension, kind, attempt) in timers {
            must!(seen.insert((*suspension, *kind, *attempt)), "I17: one timer twice");
            let model = self.suspension(*suspension).ok_or("I17: a timer of nothing")?;
            if model.resolution.is_none() {
                let due = match *kind {
                    0 => model.expires_at,
                    1 => Some(model.due_at(*attempt)),
                    _ => model.portfolio_ends,
                };
                must!(Some(*due_at) == due, "I10: a timer of kind {kind} is due at {due_at}, not {due:?}");
                must!(*kind != 1 || *attempt == model.attempt + 1, "I9: a timer for attempt {attempt} after {}", model.attempt);
            }
        }
        for (rid, (intent, id)) in &self.suspensions {
            let model = &self.intents[intent].suspensions[id];
            if model.resolution.is_some() {
                continue;
            }
            must!(model.expires_at.is_none() || seen.contains(&(*rid, 0, 0)), "I20: a question waits without a deadline's timer");
            let is_grouped = model.portfolio_ends.is_some();
            must!(!is_grouped || seen.contains(&(*rid, 2, 0)), "I45: a question waits without the timer of its portfolio");
            let next = model.interval.is_some() && model.attempt < model.max_attempts;
            must!(!next || seen.contains(&(*rid, 1, model.attempt + 1)), "I20: attempt {} has no timer", model.attempt + 1);
        }
        Ok(())
    }

    /// Checks one message that was written.
    fn check_message(&self, rid: i64, message: &MessageRow, ended: Option<Ended>, now: i64) -> Checked {
        let model = self.suspension(message.suspension).ok_or("I11: a message about nothing")?;
        let finished = model.finished.get(&hyphenated(&message.id)).copied();
        let in_log = match message.state {
            SENT => finished == Some("sent"),
            FAILED => finished == Some("failed"),
            BOUNCED => finished == Some("bounced"),
            QUEUED | OBSOLETE => finished.is_none(),
            _ => false,
        };
        must!(in_log, "I11: a message is in state {}, the log says {finished:?}", message.state);
        let Some(before) = self.messages.get(&rid) else {
            // A message to people who are asked as replacements may be leased in the same transaction that queues it. If its
            // endpoint is gone as well, the message may fail in that transaction.
            let begins = (message.state == QUEUED && message.tries <= 1) || (message.state == FAILED && message.tries == 0);
            must!(begins, "I11: a message that begins in state {}", message.state);
            return Ok(());
        };
        match (before.state, message.state) {
            (QUEUED, _) | (SENT, BOUNCED) => {}
            (FAILED, QUEUED) => must!(message.tries == 0 && message.lease.is_empty(), "I11: sent again, and not from the start"),
            _ => must!(before == message, "I11: a message that had ended changed"),
        }
        if message.tries > before.tries {
            must!(!self.is_held, "I20: a message is under way while everything waits for a release");
            must!(model.resolution.is_none(), "I12: a message about an ended question is under way");
            must!(!model.is_expired(now), "I12: a message is under way after the deadline");
            must!(message.lease != before.lease && !message.lease.is_empty(), "I18: under way without a lease of its own");
            must!(before.due_at <= now, "I18: taken before its lease ended");
            must!(message.due_at >= now + DELIVERY_MAX, "I18: a lease shorter than a delivery may take");
        }
        if message.state == OBSOLETE && before.state == QUEUED {
            let is_over = model.is_assigned || model.resolution.is_some() || model.is_expired(now);
            must!(is_over, "I11: a message was dropped while its question is open");
        }
        if message.state != before.state && message.state == SENT {
            must!(self.taken.contains(&hyphenated(&message.id)), "I11: a message counts as sent, and nobody took it");
            must!(!before.lease.is_empty(), "I18: sent by nobody ({:?})", ended.map(|ended| ended.unit));
        }
        Ok(())
    }

    /// Compares all messages about one question with the people that it told, and with the replacements that it must ask.
    fn check_told_by_messages(&self, suspension: i64, now: i64) -> Checked {
        let model = self.suspension(suspension).ok_or("I26: a suspension without its event")?;
        let mut told: BTreeMap<i64, Vec<(Route, i64)>> = BTreeMap::new();
        for message in self.messages.values().filter(|message| message.suspension == suspension) {
            let route = (message.channel.clone(), message.recipient.clone());
            told.entry(message.attempt).or_default().push((route, message.state));
        }
        let lines = &self.rules.lines;
        let in_force = told.get(&model.attempt).cloned().unwrap_or_default();
        let is_lost = |(route, state): &(Route, i64)| !lines.carries_links(&route.0) || !matches!(*state, QUEUED | SENT);
        if model.resolution.is_none() && !model.is_expired(now) && in_force.iter().all(is_lost) && self.has_lost(model) {
            let tried: Vec<Route> = in_force.into_iter().map(|(route, _)| route).collect();
            must!(
                !model.has_stand_ins(&tried, lines),
                "I13: nobody of attempt {} can be reached, and nobody is asked instead",
                model.attempt
            );
        }
        for (attempt, routes) in &model.told {
            let queued: Vec<Route> = told.remove(attempt).unwrap_or_default().into_iter().map(|(route, _)| route).collect();
            let begins = queued.len() >= routes.len() && queued[..routes.len()] == *routes;
            must!(begins, "I11: attempt {attempt} tells {routes:?}, queued were {queued:?}");
            // Further messages of the attempt are reminders on request, which go to the same people, or go to replacements for
            // people who cannot be reached.
            let asked_for = &queued[routes.len()..];
            must!(
                asked_for.is_empty()
                    || model.changes_hands()
                    || model.reminded_at.is_some()
                    || model.stand_ins.contains_key(attempt),
                "I11: more was queued than attempt {attempt} tells"
            );
            must!(asked_for.iter().all(|route| model.may_be_told(*attempt, route, lines)), "I13: reminded were {asked_for:?}");
        }
        must!(told.is_empty(), "I13: messages for attempts that told nobody");
        Ok(())
    }

    /// Whether the transaction that is checked now recorded that a message of the present attempt failed or came back. Only then
    /// must the server ask replacements.
    fn has_lost(&self, model: &ModelSuspension) -> bool {
        self.lost_now.as_ref().is_some_and(|(id, attempt)| *attempt == model.attempt && model.finished.contains_key(id))
    }

    /// The results that people were told must be true, after any crash.
    pub(crate) fn check_told(&self) -> Checked {
        for (id, (value, by)) in &self.accepted {
            let model = self.suspension_named(id).ok_or("I22: an answered question is gone")?;
            let Some(resolved) = &model.resolution else { return Err("I22: an answer that was acknowledged is gone".into()) };
            must!(resolved.resolution == "responded", "I4: told that the answer counts, but it ended as {}", resolved.resolution);
            must!(resolved.response == *value, "I5: told {value}, recorded {}", resolved.response);
            must!(resolved.by == by.as_str(), "I5: told that {by} answered, recorded {}", resolved.by);
        }
        for (id, by) in &self.released {
            let model = self.suspension_named(id).ok_or("I22: a stop that ended is gone")?;
            let ended = model.resolution.as_ref().ok_or("I22: a resumption that was acknowledged is gone")?;
            must!(ended.resolution != "cancelled", "I51: {by} was told that an intent goes on which was closed");
            must!(
                ended.resolution == "responded",
                "I49: told that the intent goes on, but the stop ended as {}",
                ended.resolution
            );
            must!(ended.by == by.as_str(), "I49: {by} was told that the intent goes on, and {} had let it go on", ended.by);
        }
        for (id, ending) in &self.asked {
            let model = self.suspension_named(id).ok_or("I22: a question that was acknowledged is gone")?;
            let Some(ending) = ending else { continue };
            let Some(resolved) = &model.resolution else { return Err("I1: an agent was told of an ending that is gone".into()) };
            must!(ending["resolution"] == resolved.resolution, "I5: an agent was told of another ending");
            must!(
                ending["response"] == resolved.response,
                "I5: an agent was told {}, recorded {}",
                ending["response"],
                resolved.response
            );
        }
        Ok(())
    }

    /// Checks the state once every fault is over and time has passed (I20).
    pub(crate) fn check_quiet(&self, now: i64, poll: i64) -> Checked {
        for (due_at, suspension, kind, attempt) in &self.timers {
            must!(*due_at + 2 * poll > now, "I20: timer {kind}/{attempt} of suspension {suspension} was due long ago");
        }
        for (rid, message) in &self.messages {
            let late = message.state == QUEUED && message.due_at + 2 * poll <= now;
            must!(!late, "I20: message {rid} was due long ago");
        }
        for intent in self.intents.values() {
            for suspension in intent.suspensions.values() {
                let late = suspension.expires_at.is_some_and(|at| at + 2 * poll <= now);
                must!(suspension.resolution.is_some() || !late, "I20: a question is open long after its deadline");
                let is_asked = suspension.resolution.is_some() || !suspension.is_without_links;
                must!(is_asked, "I20: nobody whose link ended with a restore was asked afresh");
            }
        }
        Ok(())
    }

    /// Messages that are leased, with their tries.
    pub(crate) fn leased(&self) -> impl Iterator<Item = (i64, i64)> {
        let leased = self.messages.iter().filter(|(_, message)| message.state == QUEUED && !message.lease.is_empty());
        leased.map(|(rid, message)| (*rid, message.tries))
    }

    /// The work that will still happen by itself, in words.
    pub(crate) fn what_waits(&self, now: i64) -> String {
        let seconds = |at: i64| (at - now) / 1_000_000;
        let queued = self.messages.values().filter(|message| message.state == QUEUED).count();
        let timers: Vec<String> = self
            .timers
            .iter()
            .take(WAITING_NAMED)
            .map(|(due_at, of, kind, attempt)| format!("timer {kind}/{attempt} of {of} in {} s", seconds(*due_at)))
            .collect();
        let messages: Vec<String> = self
            .messages
            .iter()
            .filter(|(_, message)| message.state == QUEUED)
            .take(WAITING_NAMED)
            .map(|(rid, message)| {
                format!("message {rid} by {} in {} s, tries {}", message.channel, seconds(message.due_at), message.tries)
            })
            .collect();
        format!("{} timers ({}), {queued} messages ({})", self.timers.len(), timers.join(", "), messages.join(", "))
    }

    /// Whether nothing will happen by itself any more.
    pub(crate) fn is_quiet(&self) -> bool {
        self.timers.is_empty() && self.messages.values().all(|message| message.state != QUEUED)
    }
}

fn message(row: &Value) -> MessageRow {
    MessageRow {
        id: text(&row[2]),
        suspension: number(&row[3]),
        attempt: number(&row[4]),
        recipient: text(&row[5]),
        state: number(&row[6]),
        due_at: number(&row[7]),
        tries: number(&row[8]),
        lease: text(&row[9]),
        channel: text(&row[10]),
    }
}

pub(crate) fn lines(database: &SimulatedDatabase, query: &str, number: Option<i64>) -> Result<Vec<String>, String> {
    database.lines(query, number).map_err(|error| format!("{error:#}"))
}

/// Marks every row to be checked.
fn mark_all(database: &SimulatedDatabase) -> Checked {
    let mark = "INSERT OR IGNORE INTO written SELECT 'intents', rid FROM intents UNION ALL SELECT 'suspensions', rid FROM suspensions \
                UNION ALL SELECT 'outbox', rid FROM outbox RETURNING place";
    lines(database, mark, None).map(|_| ())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let bytes: Vec<u8> = digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    bytes.try_into().ok()
}
