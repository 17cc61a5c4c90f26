//! Clients of streams: one follows the events of an agent's intents, one the log of an intent. Whatever dies meanwhile, each gets every
//! event once and in its order, or is told how many it missed (I41).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::people::principal::{Principal, Role};
use futures_util::FutureExt;
use harness::requests;
use store::{Store, StoreError, StreamCursor, StreamOf, Streamed};

use crate::executor::SECOND;
use crate::world::{Failed, World};

/// How many clients there are.
pub(crate) const SUBSCRIBERS: u64 = 2;
/// Once every fault is over, the longest pause of a client between two reads is at least this long, so that clients do not use up
/// the world's steps.
const CALM: i64 = 3_600 * SECOND;
/// The types of the events in a world for which the OpenIntent client has a handler.
const TOLD: [&str; 2] = ["state_patched", "lease_released"];

/// A client, with the numbers of the events that it has.
struct Subscriber {
    world: Arc<World>,
    principal: Principal,
    of: StreamOf,
    cursor: StreamCursor,
    has: Vec<u64>,
    era: u64,
}

pub(crate) fn start(world: &Arc<World>) {
    for number in 0..SUBSCRIBERS {
        let (world, name) = (world.clone(), "agent-0".to_owned());
        world.clone().spawn(format!("subscriber {number}"), async move {
            // After a restore a client begins anew: events that it has, and the intent that it follows, may be gone.
            loop {
                let era = world.era();
                let of = if number == 0 { Some(StreamOf::Agent(name.clone())) } else { logs(&world, &name).await.pop() };
                let Some(of) = of else { return };
                let principal = requests::principal(&name, Role::Agent);
                Subscriber { world: world.clone(), principal, of, cursor: begin(), has: Vec::new(), era }.follow().await;
                if world.era() == era {
                    return;
                }
            }
        });
    }
}

fn begin() -> StreamCursor {
    "0-0".parse().unwrap()
}

/// The logs of the agent's intents, once there are any. An agent that heard of its first intent only after the outcome of the
/// creation was forgotten has two, and works on the later one.
async fn logs(world: &Arc<World>, agent: &str) -> Vec<StreamOf> {
    loop {
        let ids: Vec<_> = {
            let watch = world.watch.lock().unwrap();
            watch.intents.values().filter(|intent| intent.creator == agent).map(|intent| intent.id.clone()).collect()
        };
        if !ids.is_empty() || is_last(world) {
            return ids.iter().filter_map(|id| id.parse().ok()).map(StreamOf::Log).collect();
        }
        world.pause().await;
    }
}

/// Whether only clients of streams are left.
fn is_last(world: &World) -> bool {
    world.is_healed() && world.busy.load(Ordering::SeqCst) <= i64::try_from(SUBSCRIBERS).unwrap()
}

impl Subscriber {
    async fn follow(mut self) {
        loop {
            let is_last = is_last(&self.world);
            let looked = self.look(is_last).await;
            if self.is_over() {
                return;
            }
            if let Ok(streamed) = looked {
                self.take(&streamed);
                if is_last && !streamed.more {
                    break;
                }
            } else if let Err(Failed::Rejected(_)) = looked {
                self.world.fail("I41: a client may not follow its own events");
                return;
            }
            let often = self.world.plan.scale_seconds * SECOND / 2;
            self.world.think(if self.world.is_healed() { often.max(CALM) } else { often }).await;
            if self.is_over() {
                return;
            }
        }
        self.compare().await;
    }

    /// Reads the stream at one of the processes. By chance, or if `is_read`, this process first sorts all new events by their
    /// streams.
    async fn look(&self, is_read: bool) -> Result<Streamed, Failed> {
        let (principal, of, after) = (self.principal.clone(), self.of.clone(), self.cursor);
        let is_read = is_read || self.world.draw(|chance| chance.happens(50));
        let look = move |store: Arc<dyn Store>| async move {
            let _woken = store.hub().follow(of.followed());
            while is_read && store.sort_published().await? {}
            store.stream(principal, of, Ok(Some(after))).await
        };
        self.world.call("a subscriber looks", |store| look(store).boxed()).await
    }

    /// Whether the database was set back since this client began.
    fn is_over(&self) -> bool {
        self.world.era() != self.era
    }

    fn take(&mut self, streamed: &Streamed) {
        let is_log = matches!(self.of, StreamOf::Log(_));
        if let Some((_, missed)) = streamed.missed {
            let last = self.has.last().copied().unwrap_or(0);
            self.has.push(last + missed);
        }
        for (_, event) in &streamed.events {
            let last = self.has.last().copied().unwrap_or(0);
            if event.sequence <= last || (is_log && event.sequence != last + 1) {
                self.world.fail(format!("I41: a stream tells of event {} after {last}", event.sequence));
            }
            self.has.push(event.sequence);
            self.world.coverage.count("event told by a stream");
        }
        self.cursor = streamed.cursor;
    }

    /// Compares the events that this client has with the logs of the agent's intents.
    async fn compare(&self) {
        let logs = match &self.of {
            StreamOf::Log(_) => vec![self.of.clone()],
            StreamOf::Intent(_) | StreamOf::Agent(_) | StreamOf::Portfolio(_) => logs(&self.world, &self.principal.name).await,
        };
        let mut looked = Vec::new();
        for log in logs {
            looked.extend(self.whole(log).await);
        }
        let is_whole = match &self.of {
            // Each event came after the one before it, so the last one tells whether all came.
            StreamOf::Log(_) => looked.last().map(|(sequence, _)| sequence) == self.has.last(),
            StreamOf::Intent(_) | StreamOf::Agent(_) | StreamOf::Portfolio(_) => {
                looked.iter().filter(|(_, is_told)| *is_told).map(|(sequence, _)| sequence).eq(&self.has)
            }
        };
        if !self.is_over() && !is_whole {
            self.world.fail(format!("I41: a stream told of the events {:?}, and the log has {looked:?}", self.has));
        }
    }

    /// The numbers of the events in a log, each with whether the OpenIntent client has a handler for it.
    async fn whole(&self, log: StreamOf) -> Vec<(u64, bool)> {
        loop {
            let (principal, log) = (self.principal.clone(), log.clone());
            let read = |store: Arc<dyn Store>| async move { whole(&store, &principal, &log).await };
            match self.world.call("a subscriber reads the log", |store| read(store).boxed()).await {
                Ok(whole) => return whole,
                Err(_) => self.world.pause().await,
            }
        }
    }
}

async fn whole(store: &Arc<dyn Store>, principal: &Principal, log: &StreamOf) -> Result<Vec<(u64, bool)>, StoreError> {
    let (mut has, mut after) = (Vec::new(), begin());
    loop {
        let streamed = store.stream(principal.clone(), log.clone(), Ok(Some(after))).await?;
        has.extend(streamed.events.iter().map(|(_, event)| (event.sequence, TOLD.contains(&event.event_type.as_str()))));
        after = streamed.cursor;
        if !streamed.more {
            return Ok(has);
        }
    }
}
