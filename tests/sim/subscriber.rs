//! Clients of streams: one follows the events of an agent's intents, one the log of an intent. Whatever dies meanwhile, each gets every
//! event once and in its order, or is told how many it missed (I41).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use domain::base::ids::IntentId;
use domain::people::principal::{Principal, Role};
use domain::wire::EventView;
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
/// An event: its intent, and its number there.
type Place = (IntentId, u64);

/// A client, with the numbers of the events that it has.
struct Subscriber {
    world: Arc<World>,
    principal: Principal,
    of: StreamOf,
    cursor: StreamCursor,
    has: Vec<Place>,
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
        let log = if let StreamOf::Log(id) = &self.of { Some(*id) } else { None };
        if let (Some((_, missed)), Some(id)) = (streamed.missed, log) {
            self.has.push((id, self.last_of(id) + missed));
        }
        for (_, event) in &streamed.events {
            let last = self.last_of(event.intent_id);
            if event.sequence <= last || (log.is_some() && event.sequence != last + 1) {
                self.world.fail(format!("I41: a stream tells of event {} after {last}", event.sequence));
            }
            self.has.push((event.intent_id, event.sequence));
            self.world.coverage.count("event told by a stream");
        }
        self.cursor = streamed.cursor;
    }

    /// The number of the last event of this intent that it has.
    fn last_of(&self, intent: IntentId) -> u64 {
        self.has.iter().rfind(|(of, _)| *of == intent).map_or(0, |(_, sequence)| *sequence)
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
            StreamOf::Log(_) => looked.last().map(|(place, _)| place) == self.has.last(),
            StreamOf::Intent(_) | StreamOf::Agent(_) | StreamOf::Portfolio(_) => {
                let told: BTreeSet<&Place> = looked.iter().filter(|(_, is_told)| *is_told).map(|(place, _)| place).collect();
                told == self.has.iter().collect() && told.len() == self.has.len()
            }
        };
        if !self.is_over() && !is_whole {
            self.world.fail(format!("I41: a stream told of the events {:?}, and the log has {looked:?}", self.has));
        }
    }

    /// The events in a log, each with whether the OpenIntent client has a handler for it.
    async fn whole(&self, log: StreamOf) -> Vec<(Place, bool)> {
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

async fn whole(store: &Arc<dyn Store>, principal: &Principal, log: &StreamOf) -> Result<Vec<(Place, bool)>, StoreError> {
    let (mut has, mut after) = (Vec::new(), begin());
    loop {
        let streamed = store.stream(principal.clone(), log.clone(), Ok(Some(after))).await?;
        has.extend(streamed.events.iter().map(|(_, event)| ((event.intent_id, event.sequence), is_told(event))));
        after = streamed.cursor;
        if !streamed.more {
            return Ok(has);
        }
    }
}

/// Whether the stream of an agent carries an event of a world, in which no agent is assigned.
fn is_told(event: &EventView) -> bool {
    match event.event_type.as_str() {
        "state_patched" | "lease_released" => true,
        "status_changed" => event.payload["new_status"] == "completed",
        _ => false,
    }
}
