//! The endpoints of webhooks, which are not part of the server: they take messages, refuse them, hang, and are away for a while
//! or for ever.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use channels::{Channel, DeliveryError, Message, Receipt};

use crate::executor::{MILLISECOND, ProcessId, SECOND};
use crate::mail;
use crate::process;
use crate::routes::Line;
use crate::world::World;

/// Calls to one endpoint at the same time.
const IN_FLIGHT_MAX: u64 = 4;
/// After this many failures in a row the server leaves an endpoint alone.
const FAILURES_IN_A_ROW: u64 = 10;
/// The time for which a failing endpoint is left alone before the first probe. Each failed probe doubles the time, up to
/// `LEFT_ALONE_MAX`.
const LEFT_ALONE: i64 = 24 * SECOND;
const LEFT_ALONE_MAX: i64 = 720 * SECOND;

/// The production channel through which one process calls one endpoint.
pub(crate) struct Endpoint {
    pub(crate) world: Arc<World>,
    pub(crate) process: ProcessId,
    pub(crate) line: Line,
}

/// The calls of one process to one endpoint: its failures since the last success, the time at which they became so many that the
/// server must leave it alone (`failing_since`), and the calls since that time (`since`).
#[derive(Default)]
pub(crate) struct Calls {
    in_flight: u64,
    failures: u64,
    failing_since: i64,
    since: u64,
    is_gone: bool,
    after_gone: u64,
}

impl Calls {
    /// Assumes that the endpoint works.
    pub(crate) fn believe(&mut self) {
        *self = Self { in_flight: self.in_flight, ..Self::default() };
    }
}

#[async_trait]
impl Channel for Endpoint {
    fn name(&self) -> &str {
        self.line.name
    }

    async fn deliver(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        self.begin();
        process::under_way(&self.world, self.process, 1);
        let result = self.take(message).await;
        process::under_way(&self.world, self.process, -1);
        self.end(result.as_ref().err());
        result
    }
}

impl Endpoint {
    fn calls<T>(&self, change: impl FnOnce(&mut Calls) -> T) -> T {
        change(self.world.endpoints.lock().unwrap().entry((self.process, self.line.name)).or_default())
    }

    /// A call begins; a forbidden call is the server's fault (I39).
    fn begin(&self) {
        let (world, name, now) = (&self.world, self.line.name, self.world.executor.micros());
        let wrong = self.calls(|calls| {
            calls.in_flight += 1;
            calls.since += 1;
            calls.after_gone += u64::from(calls.is_gone);
            if calls.in_flight > IN_FLIGHT_MAX {
                return Some(format!("I39: {} calls to {name} at the same time", calls.in_flight));
            }
            // After the endpoint said that it is gone, a few calls may still begin: their messages were leased before.
            if calls.after_gone > IN_FLIGHT_MAX {
                return Some(format!("I39: {name} said that it is gone, and is called again"));
            }
            // While the endpoint is left alone, calls may begin for messages that were leased before, and for probes.
            let allowed = || IN_FLIGHT_MAX + 1 + probes(now - calls.failing_since, world.plan.faults.jump == 0);
            let is_left_alone = calls.failures < FAILURES_IN_A_ROW || calls.since <= allowed();
            (!is_left_alone).then(|| format!("I39: {name} fails, and was called {} times since", calls.since))
        });
        if let Some(wrong) = wrong {
            world.fail(wrong);
        }
    }

    fn end(&self, error: Option<&DeliveryError>) {
        let now = self.world.executor.micros();
        let opened = self.calls(|calls| {
            calls.in_flight -= 1;
            let was_left_alone = calls.failures >= FAILURES_IN_A_ROW;
            match error {
                None => calls.believe(),
                Some(DeliveryError::Gone { .. }) => calls.is_gone = true,
                Some(_) => calls.failures += 1,
            }
            let is_left_alone = calls.failures >= FAILURES_IN_A_ROW;
            if is_left_alone && !was_left_alone {
                (calls.failing_since, calls.since) = (now, 0);
            }
            (was_left_alone, is_left_alone)
        });
        match opened {
            (false, true) => self.world.coverage.count("endpoint left alone"),
            (true, false) => self.world.coverage.count("endpoint probed with success"),
            _ => {}
        }
    }

    async fn take(&self, message: &Message) -> Result<Receipt, DeliveryError> {
        let (world, name) = (&self.world, self.line.name);
        let faults = &world.plan.faults.webhook;
        process::strike(world, self.process, "calling an endpoint");
        world.think(200 * MILLISECOND).await;
        world.executor.unpaused(self.process).await;
        let retry = |reason: &str, after| Err(DeliveryError::Retry { reason: reason.to_owned(), after });
        let mail = mail::opened(world, message);
        if world.gone.lock().unwrap().contains(name) {
            return Err(DeliveryError::Gone { reason: "410".to_owned() });
        }
        if self.is_down() {
            return retry("the connection was refused", None);
        }
        if world.strikes(faults.panics) {
            self.end(Some(&DeliveryError::Permanent { reason: String::new() }));
            process::under_way(world, self.process, -1);
            std::panic::panic_any("planned: the channel panics");
        }
        if world.strikes(faults.not_now) {
            let after = world.draw(|chance| chance.happens(30)).then(|| Duration::from_mins(10));
            return retry("503", after);
        }
        if world.strikes(faults.never) {
            return Err(DeliveryError::Permanent { reason: "422".to_owned() });
        }
        if world.befalls(|chance| chance.rarely(12 * faults.gone)) {
            world.tell(format!("{name} says that it is gone"));
            world.gone.lock().unwrap().insert(name);
            world.coverage.count("endpoint gone");
            return Err(DeliveryError::Gone { reason: "410".to_owned() });
        }
        if world.strikes(faults.hangs) {
            world.executor.after(30 * SECOND).await;
            return retry("timed out", None);
        }
        if world.strikes(faults.doubtful) {
            self.hand_over(mail);
            return retry("the connection was lost after the message", None);
        }
        world.watch.lock().unwrap().taken.insert(mail.delivery.clone());
        world.coverage.count("webhook taken");
        self.hand_over(mail);
        Ok(Receipt { reply: "204".to_owned() })
    }

    /// Whether this endpoint takes no messages at present. It may be away for a moment, or for longer than any message is tried.
    fn is_down(&self) -> bool {
        let (world, now) = (&self.world, self.world.executor.micros());
        if !world.is_healed() && world.down_until.lock().unwrap().get(self.line.name).is_some_and(|until| now < *until) {
            return true;
        }
        if !world.strikes(world.plan.faults.webhook.down) {
            return false;
        }
        let longest = world.draw(|chance| *chance.pick(&[60, 3_600, 20 * world.plan.scale_seconds])) * SECOND;
        let until = now + world.draw(|chance| chance.within(0..=longest));
        world.down_until.lock().unwrap().insert(self.line.name, until);
        world.tell(format!("{} is down", self.line.name));
        true
    }

    /// A message with links reaches a person of the audience, who may answer; a message without links is only shown in a room.
    fn hand_over(&self, mail: mail::Mail) {
        self.world.tell(format!("a message for {} is taken", mail.recipient));
        if self.line.links {
            mail::hand_over(&self.world, mail);
        }
    }
}

/// How often an endpoint may have been probed that has been failing for this long. If the clock jumps, each pause before a probe
/// may end at once, so no pause counts as longer than the shortest.
fn probes(failing: i64, is_clock_steady: bool) -> u64 {
    let (mut left, mut pause, mut probes) = (failing, LEFT_ALONE, 0);
    while left >= pause {
        left -= pause;
        probes += 1;
        if is_clock_steady {
            pause = (2 * pause).min(LEFT_ALONE_MAX);
        }
    }
    probes
}
