//! The reference: the history of one intent according to its events, computed a second time and in the plainest way.
//!
//! It shares no code with the server. Each event is checked against the state before it; the state after it is the one that the
//! rows must have.

use std::collections::{BTreeMap, BTreeSet};

use domain::base::time::{micros, parse};
use domain::log::Hash;
use serde_json::Value;

use crate::routes::{Lines, Route, add, contains};
use crate::stops::ModelStops;
use crate::work::ModelWork;

/// The violation that a step of the model finds.
pub(crate) type Checked = Result<(), String>;

/// Checks a condition, or fails with the number of the invariant.
macro_rules! must {
    ($holds:expr, $($said:tt)*) => {
        if !$holds {
            return Err(format!($($said)*));
        }
    };
}
pub(crate) use must;

/// The rules that all questions of a world share.
#[derive(Clone)]
pub(crate) struct Rules {
    pub(crate) requires_delivery: bool,
    pub(crate) lines: Lines,
}

/// One intent according to its events.
#[derive(Clone, Default)]
pub(crate) struct ModelIntent {
    pub(crate) id: String,
    pub(crate) creator: String,
    pub(crate) status: String,
    pub(crate) version: i64,
    pub(crate) updated_at: i64,
    /// Whether the last event may have happened before its date.
    pub(crate) is_dated_later: bool,
    pub(crate) sequence: i64,
    pub(crate) last_hash: Option<Hash>,
    pub(crate) open: Option<String>,
    /// The status that the ending of a question gives the intent.
    pub(crate) next_status: Option<&'static str>,
    pub(crate) suspensions: BTreeMap<String, ModelSuspension>,
    pub(crate) work: ModelWork,
    pub(crate) stops: ModelStops,
    /// The intents that it needs and that are not completed.
    pub(crate) needs: BTreeSet<String>,
    /// The deadline of its portfolio.
    pub(crate) portfolio_ends: Option<i64>,
}

/// One suspension according to its events.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own, and all combinations occur")]
#[derive(Clone, Default)]
pub(crate) struct ModelSuspension {
    pub(crate) suspended_at: i64,
    pub(crate) expires_at: Option<i64>,
    /// The deadline of the portfolio, if that ends it.
    pub(crate) portfolio_ends: Option<i64>,
    pub(crate) interval: Option<i64>,
    /// The most time that is given back after an outage: the interval between two attempts, or the whole timeout if there is no
    /// interval.
    window: Option<i64>,
    pub(crate) max_attempts: i64,
    /// The people who are told, by the attempt from which they are told; an empty list means the question's own recipients.
    pub(crate) rungs: BTreeMap<i64, Vec<String>>,
    pub(crate) recipients: Vec<String>,
    /// The preferred channel, by the attempt from which it is preferred. `hint` is the channel that the question itself prefers;
    /// it counts where no attempt prefers one.
    hints: BTreeMap<i64, Option<String>>,
    hint: Option<String>,
    pub(crate) response_type: String,
    pub(crate) choices: Vec<String>,
    pub(crate) fallback_policy: String,
    pub(crate) fallback_value: Value,
    pub(crate) requires_delivery: bool,
    pub(crate) asked_by: String,
    pub(crate) attempt: i64,
    pub(crate) version: i64,
    pub(crate) reached: bool,
    /// Whether the log leaves open if a person was reached in time: an event about a message may have happened before its date.
    pub(crate) reached_perhaps: bool,
    pub(crate) refusals: i64,
    pub(crate) reminded_at: Option<i64>,
    /// The people who were asked at an attempt in place of people who cannot be reached.
    pub(crate) stand_ins: BTreeMap<i64, Vec<Route>>,
    /// The people that each attempt told; skipped attempts told none.
    pub(crate) told: BTreeMap<i64, Vec<Route>>,
    pub(crate) resolution: Option<Resolved>,
    /// Messages with their final state according to the log.
    pub(crate) finished: BTreeMap<String, &'static str>,
    /// The messages that a mail server or an endpoint took and that a person can answer, each with its channel and recipient.
    answerable: BTreeMap<String, Route>,
    /// Whether it is assigned to people, and those who got a place in it later.
    pub(crate) is_assigned: bool,
    asked_later: Vec<String>,
    /// Whether the server was away while the question was open, and the question has not got that time back.
    pub(crate) is_owed_time: bool,
    /// Whether people were told, and their links are invalid since a restore.
    pub(crate) is_without_links: bool,
    /// Whether the people without valid links must get new ones before the question ends.
    pub(crate) is_owed_a_link: bool,
}

/// How a suspension ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) resolution: &'static str,
    pub(crate) reason: Option<String>,
    pub(crate) at: i64,
    pub(crate) response: Value,
    pub(crate) by: Value,
}

impl ModelSuspension {
    /// The people who are told at an attempt.
    pub(crate) fn people_at(&self, attempt: i64) -> &[String] {
        let rung = self.rungs.range(..=attempt).next_back().map(|(_, people)| people);
        rung.filter(|people| !people.is_empty()).unwrap_or(&self.recipients)
    }

    /// The channel preferred at an attempt.
    pub(crate) fn hint_at(&self, attempt: i64) -> Option<&str> {
        let rung = self.hints.range(..=attempt).next_back().and_then(|(_, hint)| hint.as_deref());
        rung.or(self.hint.as_deref())
    }

    /// The ways of an attempt's own messages, without those of earlier attempts and those to people who are asked in place of
    /// others.
    pub(crate) fn routes_at(&self, attempt: i64, lines: &Lines) -> Vec<Route> {
        lines.routes(self.hint_at(attempt), once(self.people_at(attempt).iter()).iter())
    }

    /// Every way by which a person may get a message of this attempt.
    fn ways_at(&self, attempt: i64, lines: &Lines) -> Vec<Route> {
        let past = self.told.range(..=attempt).chain(self.stand_ins.range(..=attempt));
        let later = lines.routes(self.hint_at(attempt), self.asked_later.iter());
        past.flat_map(|(_, routes)| routes.iter().cloned()).chain(self.routes_at(attempt, lines)).chain(later).collect()
    }

    /// Whether a message of this attempt may go by this channel to this recipient.
    pub(crate) fn may_be_told(&self, attempt: i64, (channel, recipient): &Route, lines: &Lines) -> bool {
        contains(&self.ways_at(attempt, lines), channel, recipient)
    }

    /// Whether the people of a later attempt can be asked now, because the people of the present attempt cannot be reached. Only
    /// a way that is not among `tried` counts, and only if its messages carry links.
    pub(crate) fn has_stand_ins(&self, tried: &[Route], lines: &Lines) -> bool {
        (self.attempt + 1..=self.max_attempts).any(|later| {
            let routes = self.routes_at(later, lines);
            routes.iter().any(|(channel, recipient)| lines.carries_links(channel) && !contains(tried, channel, recipient))
        })
    }

    /// Whether people can be told of it who were not asked at first.
    pub(crate) fn changes_hands(&self) -> bool {
        self.is_assigned || !self.asked_later.is_empty()
    }

    pub(crate) fn due_at(&self, attempt: i64) -> i64 {
        self.suspended_at + (attempt - 1) * self.interval.unwrap_or(0)
    }

    pub(crate) fn is_expired(&self, now: i64) -> bool {
        [self.expires_at, self.portfolio_ends].into_iter().flatten().any(|at| now >= at)
    }

    /// Whether the deadline of the portfolio comes first, and has passed.
    fn is_ended_by_portfolio(&self, now: i64) -> bool {
        self.portfolio_ends.is_some_and(|at| now >= at && self.expires_at.is_none_or(|own| at <= own))
    }

    /// Whether a value answers the question (RFC-0025 §8).
    pub(crate) fn takes(&self, value: &Value) -> bool {
        match self.response_type.as_str() {
            "choice" | "confirm" => value.as_str().is_some_and(|text| self.choices.iter().any(|choice| choice == text)),
            "text" => value.as_str().is_some_and(|text| !text.is_empty()),
            _ => true,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn time(value: &Value) -> Option<i64> {
    value.as_str().and_then(parse).map(micros)
}

/// Each person once, whatever the spelling.
fn once<'a>(people: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    people.filter(|person| seen.insert(person.to_lowercase())).cloned().collect()
}

/// The least time between two reminders on request.
const REMINDER_PAUSE: i64 = 300 * 1_000_000;

const TRANSITIONS: &[(&str, &str)] = &[
    ("draft", "active"),
    ("draft", "abandoned"),
    ("active", "blocked"),
    ("active", "completed"),
    ("active", "abandoned"),
    ("active", "suspended_awaiting_input"),
    ("blocked", "active"),
    ("blocked", "abandoned"),
    ("suspended_awaiting_input", "active"),
    ("suspended_awaiting_input", "abandoned"),
    // The work is ended while a question is open.
    ("suspended_awaiting_input", "blocked"),
];

impl ModelIntent {
    /// Applies the next event of this intent, as stored.
    pub(crate) fn fold(&mut self, event: &Value, hash: Hash, bytes: &[u8], rules: &Rules) -> Checked {
        let at = time(&event["created_at"]).ok_or("an event without a time")?;
        must!(event["sequence"] == self.sequence + 1, "I25: event {} follows {}", event["sequence"], self.sequence);
        let previous = self.last_hash.map_or(Value::Null, |hash| Value::from(hash.to_string()));
        must!(event["previous_event_hash"] == previous, "I25: event {} does not name the one before it", event["sequence"]);
        must!(Hash::of(bytes) == hash, "I25: the hash of event {} is not that of its bytes", event["sequence"]);
        must!(at >= self.updated_at, "I19: event {} is older than the one before it", event["sequence"]);
        // No event has an earlier date than the one it follows. An event with the same date may have happened earlier, by a clock
        // that was set back.
        self.is_dated_later = at == self.updated_at;
        self.sequence += 1;
        self.last_hash = Some(hash);
        self.updated_at = at;
        let payload = &event["payload"];
        let event_type = event["event_type"].as_str().unwrap_or_default();
        self.must_rest(event_type, payload)?;
        match event_type {
            "intent_created" => {
                self.id = text(&event["intent_id"]);
                self.creator = text(&event["actor"]);
                self.status = text(&payload["status"]);
                self.version = 1;
                Ok(())
            }
            "state_patched" => {
                self.version += 1;
                let reaches = |patch: &Value| {
                    text(&patch["path"]).split('/').find(|part| !part.is_empty()).is_none_or(|part| part == "_suspension")
                };
                must!(!payload["patches"].as_array().into_iter().flatten().any(reaches), "I40: a patch reached _suspension");
                Ok(())
            }
            "status_changed" => self.status_changed(payload),
            "intent.suspended" => self.suspended(payload, at, rules),
            "intent.suspension_renotified" => self.renotified(payload, at, &rules.lines),
            "intent.suspension_escalated" => self.escalated(payload),
            "intent.suspension_reminded" => self.reminded(payload, at, &rules.lines),
            "intent.suspension_extended" => self.extended(payload, at),
            "intent.resumed" => self.resumed(payload, at),
            "intent.suspension_expired" => self.expired(payload, at),
            "intent.suspension_undeliverable" => {
                let open = self.open(payload)?;
                must!(open.is_expired(at), "I3: undeliverable before its deadline");
                must!(!open.reached || open.reached_perhaps, "I15: undeliverable although somebody was reached");
                must!(!open.is_owed_time, "I16: undeliverable, and the time of an absence was not given back");
                self.end(payload, "cancelled", Some("undeliverable"), at, Value::Null, Value::Null)
            }
            "intent.suspension_cancelled" => self.cancelled(payload, at),
            "intent.late_answer" | "intent.response_rejected" => {
                let suspension = self.any(payload)?;
                suspension.refusals += 1;
                must!(suspension.refusals <= 20, "I33: more refusals recorded than the limit");
                Ok(())
            }
            "intent.answer_counted"
            | "intent.answer_taken_back"
            | "intent.claimed"
            | "intent.claim_released"
            | "intent.delegated"
            | "intent.reassigned" => self.handed(payload),
            "delivery.sent" => self.delivered(payload, at, "sent", &rules.lines),
            "delivery.failed" => self.delivered(payload, at, "failed", &rules.lines),
            "delivery.bounced" => self.bounced(payload, at),
            "delivery.redriven" => self.redriven(payload, at),
            "delivery.failover" => self.failover(payload, at, &rules.lines),
            "dependency_added" => self.depends(payload, payload["completed"] == false, 1),
            "dependency_removed" => self.depends(payload, false, 1),
            "intent.dependency_completed" => self.depends(payload, false, 0),
            other => match other.strip_prefix("lifecycle.") {
                Some(step) => self.stop(step, payload, at),
                None => self.work.fold(other, payload, &self.status),
            },
        }
    }

    fn cancelled(&mut self, payload: &Value, at: i64) -> Checked {
        let (reason, dated_later) = (text(&payload["resolution_reason"]), self.is_dated_later);
        let open = self.open(payload)?;
        if reason == "quorum_unmet" {
            must!(open.is_expired(at) && !open.is_owed_time, "I3: ended for want of a quorum before its deadline");
        } else {
            must!(dated_later || !open.is_expired(at), "I3: cancelled after its deadline");
        }
        self.end(payload, "cancelled", Some(&reason), at, Value::Null, payload["cancelled_by"].clone())
    }

    /// An answer counts, or counts no longer, or the question is in other hands; some people are told of that.
    fn handed(&mut self, payload: &Value) -> Checked {
        let open = self.open(payload)?;
        open.version += 1;
        open.asked_later.extend(payload["to"].as_str().map(str::to_owned).into_iter().chain(texts(&payload["notify_to"])));
        Ok(())
    }

    /// The intent was put into a portfolio with this deadline.
    pub(crate) fn join(&mut self, deadline: Option<i64>) {
        self.portfolio_ends = deadline;
        if let Some(open) = self.open.as_ref().and_then(|id| self.suspensions.get_mut(id)) {
            open.portfolio_ends = deadline;
        }
    }

    /// Notes whether the intent needs another one that is not completed. A change of the list of dependencies makes a new version.
    fn depends(&mut self, payload: &Value, needs: bool, versions: i64) -> Checked {
        self.version += versions;
        let needed = text(&payload["dependency_id"]);
        let did = self.needs.remove(&needed);
        must!(!(needs && did), "I44: a dependency was added twice");
        if needs {
            self.needs.insert(needed);
        }
        Ok(())
    }

    fn any(&mut self, payload: &Value) -> Result<&mut ModelSuspension, String> {
        let id = text(&payload["suspension_id"]);
        self.suspensions.get_mut(&id).ok_or_else(|| "I14: an event names a suspension that was never asked".to_owned())
    }

    fn open(&mut self, payload: &Value) -> Result<&mut ModelSuspension, String> {
        must_be_open(self.open.as_deref(), payload)?;
        self.any(payload)
    }

    fn status_changed(&mut self, payload: &Value) -> Checked {
        let (old, new) = (text(&payload["old_status"]), text(&payload["new_status"]));
        must!(old == self.status, "I8: status changed from {old}, but it was {}", self.status);
        must!(TRANSITIONS.contains(&(old.as_str(), new.as_str())), "I8: no status goes from {old} to {new}");
        let expected = self.next_status.take();
        let withdrawn = new == "abandoned" && expected == Some("active");
        must!(
            expected.is_none_or(|expected| expected == new) || withdrawn,
            "I8: {new} after an ending that leads to {expected:?}"
        );
        let suspended = new == "suspended_awaiting_input";
        must!(suspended == self.open.is_some(), "I8: {new} with a question open: {}", self.open.is_some());
        self.status = new;
        self.version += 1;
        Ok(())
    }

    fn suspended(&mut self, payload: &Value, at: i64, rules: &Rules) -> Checked {
        must!(self.open.is_none(), "I8: a second question while one is open");
        must!(matches!(self.status.as_str(), "active" | "suspended_awaiting_input"), "I8: suspended while {}", self.status);
        let policy = &payload["retry_policy"];
        let seconds = |value: &Value| value.as_i64().map(|seconds| seconds * 1_000_000);
        let ladder = || policy["escalation_ladder"].as_array().into_iter().flatten();
        let attempt = |rung: &Value| rung["attempt"].as_i64().unwrap_or(0);
        let hint = |value: &Value| value["channel_hint"].as_str().map(str::to_owned);
        let suspension = ModelSuspension {
            portfolio_ends: self.portfolio_ends,
            suspended_at: time(&payload["suspended_at"]).ok_or("a question without a time")?,
            expires_at: time(&payload["expires_at"]),
            interval: seconds(&policy["interval_seconds"]),
            max_attempts: policy["max_attempts"].as_i64().unwrap_or(1),
            rungs: ladder().map(|rung| (attempt(rung), texts(&rung["notify_to"]))).collect(),
            hints: ladder().map(|rung| (attempt(rung), hint(rung))).collect(),
            hint: hint(payload),
            window: seconds(&policy["interval_seconds"]).or(seconds(&payload["timeout_seconds"])),
            recipients: texts(payload.get("original_notify_to").unwrap_or(&payload["notify_to"])),
            response_type: text(&payload["response_type"]),
            choices: payload["choices"].as_array().into_iter().flatten().map(|choice| text(&choice["value"])).collect(),
            fallback_policy: text(&payload["fallback_policy"]),
            fallback_value: payload["fallback_value"].clone(),
            requires_delivery: rules.requires_delivery,
            is_assigned: !payload["assignees"].is_null(),
            asked_by: text(&payload["asked_by"]),
            attempt: 1,
            version: 1,
            ..ModelSuspension::default()
        };
        let window = suspension.interval.map(|interval| interval * suspension.max_attempts);
        let window = window.or(seconds(&payload["timeout_seconds"]));
        let asked_at = suspension.suspended_at;
        must!(asked_at == at || (self.is_dated_later && asked_at < at), "I16: asked at another time than its event's");
        let own = window.map(|window| asked_at + window);
        let before = &payload["asked_before"];
        let until = if before["superseded"] == true {
            own.zip(time(&before["expires_at"])).map(|(own, kept)| own.max(kept))
        } else {
            own
        };
        must!(suspension.expires_at == until, "I16: the deadline is not the end of all attempts, or of what it supersedes");
        must!(texts(&payload["notify_to"]) == suspension.people_at(1), "I13: asked are {}", payload["notify_to"]);
        let mut suspension = suspension;
        suspension.told.insert(1, suspension.routes_at(1, &rules.lines));
        let id = text(&payload["suspension_id"]);
        must!(!self.suspensions.contains_key(&id), "I14: one id for two questions");
        self.open = Some(id.clone());
        self.suspensions.insert(id, suspension);
        Ok(())
    }

    fn renotified(&mut self, payload: &Value, at: i64, lines: &Lines) -> Checked {
        let dated_later = self.is_dated_later;
        let open = self.open(payload)?;
        let attempt = payload["attempt"].as_i64().unwrap_or(0);
        must!(attempt == open.attempt + 1, "I9: attempt {attempt} follows {}", open.attempt);
        must!(attempt <= open.max_attempts, "I9: attempt {attempt} of {}", open.max_attempts);
        must!(at >= open.due_at(attempt), "I10: attempt {attempt} before it was due");
        let skipped = payload["skipped"] == true;
        let told = texts(&payload["notify_to"]);
        if skipped {
            must!(at >= open.due_at(attempt + 1), "I9: attempt {attempt} was skipped, but the next is not due");
            must!(told == open.people_at(attempt), "I13: attempt {attempt} names {told:?}");
        } else {
            let newest = (attempt..=open.max_attempts).rev().find(|later| open.due_at(*later) <= at).unwrap_or(attempt);
            must!(
                dated_later || attempt == newest || open.is_expired(at),
                "I9: attempt {attempt} was told although {newest} is due"
            );
            let since = open.told.keys().next_back().map_or(1, |last| last + 1);
            let people = once((since..=attempt).flat_map(|attempt| open.people_at(attempt)));
            must!(told == people, "I13: attempt {attempt} tells {told:?}, not {people:?}");
            let mut routes = Vec::new();
            for (channel, recipient) in (since..=attempt).flat_map(|attempt| open.routes_at(attempt, lines)) {
                add(&mut routes, &channel, &recipient);
            }
            // An attempt that comes due while links are invalid sends new links, but only to its own people. If everyone with an
            // invalid link is among them, no one is without a link any more.
            if open.answerable.values().all(|(channel, recipient)| contains(&routes, channel, recipient)) {
                (open.is_without_links, open.is_owed_a_link) = (false, false);
            }
            open.told.insert(attempt, routes);
        }
        open.attempt = attempt;
        open.version += 1;
        Ok(())
    }

    fn escalated(&mut self, payload: &Value) -> Checked {
        let open = self.open(payload)?;
        let attempt = payload["attempt"].as_i64().unwrap_or(0);
        must!(open.rungs.contains_key(&attempt), "I13: no rung takes effect at {attempt}");
        must!(texts(&payload["escalated_to"]) == open.people_at(attempt), "I13: escalated to others than the ladder says");
        Ok(())
    }

    fn reminded(&mut self, payload: &Value, at: i64, lines: &Lines) -> Checked {
        let dated_later = self.is_dated_later;
        let open = self.open(payload)?;
        must!(dated_later || !open.is_expired(at), "I10: reminded after the deadline");
        must!(payload["attempt"] == open.attempt, "I9: reminded at attempt {}", payload["attempt"]);
        let ways = open.ways_at(open.attempt, lines);
        let known = |person: &String| ways.iter().any(|(_, recipient)| recipient.eq_ignore_ascii_case(person));
        must!(texts(&payload["notify_to"]).iter().all(known), "I13: reminded others than the ladder says");
        let by_the_server = payload["reminded_by"].as_str().is_some_and(|by| !by.starts_with("operator"));
        let is_too_soon = open.reminded_at.is_some_and(|before| at - before < REMINDER_PAUSE);
        must!(dated_later || by_the_server || !is_too_soon, "I10: reminded again too soon");
        open.reminded_at = Some(at);
        open.is_without_links &= !by_the_server;
        open.is_owed_a_link &= !by_the_server;
        Ok(())
    }

    fn extended(&mut self, payload: &Value, at: i64) -> Checked {
        let dated_later = self.is_dated_later;
        let open = self.open(payload)?;
        must!(time(&payload["old_expires_at"]) == open.expires_at, "I16: the deadline was another before it was moved");
        let new = time(&payload["new_expires_at"]);
        must!(new > open.expires_at, "I16: a deadline moved to an earlier time");
        if payload["cause"] == "outage" {
            must!(open.fallback_policy != "fail", "I16: a question without a fallback got an outage's time back");
            let latest = open.window.map(|window| open.expires_at.map_or(at, |old| old.max(at)) + window);
            must!(latest.is_none_or(|latest| new <= Some(latest)), "I16: more than an attempt's time was given back");
            open.is_owed_time = false;
        } else {
            must!(dated_later || !open.is_expired(at), "I16: a deadline was moved after it had passed");
        }
        open.expires_at = new;
        open.version += 1;
        Ok(())
    }

    fn resumed(&mut self, payload: &Value, at: i64) -> Checked {
        let responded_at = time(&payload["responded_at"]).ok_or("an answer without a time")?;
        must!(responded_at == at || (self.is_dated_later && responded_at < at), "I2: answered at another time than its event's");
        let open = self.open(payload)?;
        must!(!open.is_expired(responded_at), "I2: an answer was accepted after the deadline");
        must!(open.takes(&payload["value"]), "I6: the accepted value {} is no answer", payload["value"]);
        must!(payload["responded_by"] != open.asked_by.as_str(), "I7: the asker answered");
        self.end(payload, "responded", None, responded_at, payload["value"].clone(), payload["responded_by"].clone())
    }

    fn expired(&mut self, payload: &Value, at: i64) -> Checked {
        if payload["reason"] == "undeliverable" {
            // An undeliverable question ends by another event, which came before. This one repeats the ending for readers that
            // know only the events of the RFC.
            let ended = self.any(payload)?.resolution.clone();
            must!(ended.is_some_and(|ended| ended.reason.as_deref() == Some("undeliverable")), "I15: expired as undeliverable");
            return Ok(());
        }
        let open = self.open(payload)?;
        must!(payload["attempts"] == open.attempt, "I9: expired after {} attempts", payload["attempts"]);
        let by_portfolio = payload["reason"] == "portfolio_deadline";
        let is_over = open.portfolio_ends.is_some_and(|ends| at >= ends);
        must!(by_portfolio || !open.is_ended_by_portfolio(at), "I45: the deadline of a portfolio came first, and did not decide");
        // If the server was away, the question's own deadline may have been the earlier one: time is given back to it, not to a portfolio.
        must!(!by_portfolio || is_over, "I45: ended by its portfolio before the deadline of that");
        if by_portfolio {
            must!(payload["fallback_value"].is_null(), "I45: a fallback after the deadline of a portfolio");
            return self.end(payload, "cancelled", Some("portfolio_deadline"), at, Value::Null, Value::Null);
        }
        must!(open.is_expired(at), "I3: expired before its deadline");
        must!(!open.is_owed_time, "I16: expired, and the time of an absence was not given back");
        let is_asked = !open.is_owed_a_link || open.fallback_policy == "fail";
        must!(is_asked, "I20: expired, and nobody whose link ended with a restore was asked afresh");
        if open.reached_perhaps {
            open.reached = payload["reached"] == true;
        }
        must!(payload["reached"] == open.reached, "I15: the log says reached: {}", payload["reached"]);
        let falls_back = open.fallback_policy != "fail";
        must!(
            open.reached || (falls_back && !open.requires_delivery),
            "I15: nobody was reached, and yet it did not end as undeliverable"
        );
        let value = if falls_back { open.fallback_value.clone() } else { Value::Null };
        must!(payload["fallback_value"] == value, "I15: the fallback is {}", payload["fallback_value"]);
        self.end(payload, "expired", None, at, value, Value::Null)
    }

    fn end(
        &mut self,
        payload: &Value,
        resolution: &'static str,
        reason: Option<&str>,
        at: i64,
        response: Value,
        by: Value,
    ) -> Checked {
        let open = self.open(payload)?;
        must!(open.resolution.is_none(), "I1: a question ended twice");
        open.resolution = Some(Resolved { resolution, reason: reason.map(str::to_owned), at, response, by });
        open.version += 1;
        let goes_on = match (resolution, reason) {
            ("expired", _) => open.fallback_policy != "fail",
            (_, reason) => !matches!(reason, Some("undeliverable" | "portfolio_deadline" | "quorum_unmet")),
        };
        self.next_status = match reason {
            Some("superseded") => None,
            _ => Some(if goes_on { "active" } else { "abandoned" }),
        };
        self.open = None;
        Ok(())
    }

    fn failover(&mut self, payload: &Value, at: i64, lines: &Lines) -> Checked {
        let dated_later = self.is_dated_later;
        let open = self.open(payload)?;
        must!(dated_later || !open.is_expired(at), "I10: somebody was asked in another's place after the deadline");
        let attempt = payload["attempt"].as_i64().unwrap_or(0);
        must!(attempt == open.attempt, "I9: failover at attempt {attempt}, which is not the one in force");
        let rung = payload["rung_attempt"].as_i64().unwrap_or(0);
        must!(rung > attempt && rung <= open.max_attempts, "I13: failover to the people of attempt {rung}");
        let people = texts(&payload["notify_to"]);
        must!(people.iter().all(|person| open.people_at(rung).contains(person)), "I13: failover asks {people:?}");
        must!(payload["channel_hint"].as_str() == open.hint_at(rung), "I38: failover by {}", payload["channel_hint"]);
        let routes = lines.routes(open.hint_at(rung), people.iter());
        open.stand_ins.entry(attempt).or_default().extend(routes);
        Ok(())
    }

    fn delivered(&mut self, payload: &Value, at: i64, state: &'static str, lines: &Lines) -> Checked {
        let dated_later = self.is_dated_later;
        let suspension = self.any(payload)?;
        let attempt = payload["attempt"].as_i64().unwrap_or(0);
        let route = (text(&payload["channel"]), text(&payload["recipient"]));
        must!(suspension.may_be_told(attempt, &route, lines), "I13: a message to {route:?} nobody asked for");
        let id = text(&payload["delivery_id"]);
        let answerable = lines.carries_links(&route.0);
        if state == "sent" && answerable {
            suspension.answerable.insert(id.clone(), route);
        }
        let twice = suspension.finished.insert(id, state);
        must!(twice.is_none(), "I11: a message ended twice: {twice:?}, then {state}");
        if state == "sent" && answerable && suspension.resolution.is_none() {
            suspension.reached |= !suspension.is_expired(at);
            suspension.reached_perhaps |= dated_later;
        }
        Ok(())
    }
}

impl ModelIntent {
    /// A message came back, although a mail server or an endpoint had taken it, or may have taken it.
    fn bounced(&mut self, payload: &Value, at: i64) -> Checked {
        let dated_later = self.is_dated_later;
        let suspension = self.any(payload)?;
        let id = text(&payload["delivery_id"]);
        let before = suspension.finished.insert(id.clone(), "bounced");
        must!(matches!(before, None | Some("sent")), "I11: a message came back that was {before:?}");
        suspension.answerable.remove(&id);
        if suspension.resolution.is_none() {
            if !suspension.is_expired(at) {
                suspension.reached = !suspension.answerable.is_empty();
            }
            suspension.reached_perhaps |= dated_later;
            let is_anything_sent = suspension.finished.values().any(|state| *state == "sent");
            suspension.is_without_links &= is_anything_sent;
            suspension.is_owed_a_link &= is_anything_sent;
        }
        Ok(())
    }

    /// A message that had failed is sent again.
    fn redriven(&mut self, payload: &Value, at: i64) -> Checked {
        let dated_later = self.is_dated_later;
        let open = self.open(payload)?;
        must!(dated_later || !open.is_expired(at), "I12: a message is sent again after the deadline");
        let before = open.finished.remove(&text(&payload["delivery_id"]));
        must!(before == Some("failed"), "I11: a message is sent again that was {before:?}");
        Ok(())
    }
}

fn must_be_open(open: Option<&str>, payload: &Value) -> Checked {
    must!(
        open.is_some() && open == payload["suspension_id"].as_str(),
        "I1: an event about a question that is not open: {payload}"
    );
    Ok(())
}
