//! How requests arrive. In a closed loop each client waits for its answer; this finds the peak. In an open loop requests come at
//! fixed times, whatever the server does; this finds latencies. A closed loop would hide stalls, because its clients ask nothing
//! while the server stands still.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::time::sleep_until;

use super::connection::{Connection, Target};

/// The results of a number of requests.
pub struct Done<R> {
    /// The result of each item, in the order of the items.
    pub results: Vec<R>,
    /// How long each item took, in milliseconds, sorted.
    pub milliseconds: Vec<f64>,
    /// Items a second.
    pub per_second: f64,
}

/// One item's place, its time in milliseconds and its result.
type Finished<R> = (usize, f64, R);

fn done<R>(finished: Vec<Vec<Finished<R>>>, took: Duration) -> Done<R> {
    let mut finished: Vec<_> = finished.into_iter().flatten().collect();
    finished.sort_by_key(|(place, ..)| *place);
    let mut milliseconds: Vec<f64> = finished.iter().map(|(_, milliseconds, _)| *milliseconds).collect();
    milliseconds.sort_by(f64::total_cmp);
    let count = u32::try_from(finished.len()).unwrap();
    let results = finished.into_iter().map(|(.., result)| result).collect();
    Done { results, milliseconds, per_second: f64::from(count) / took.as_secs_f64() }
}

/// Opens this many connections to a target.
pub async fn connections(target: &Target, count: usize) -> Vec<Connection> {
    join_all((0..count).map(|_| Connection::open(target))).await
}

/// Does `step` for each item, by the given number of clients; each takes its next item when it has the answer to the one before.
pub async fn closed_loop<I, R>(
    target: &Target,
    clients: usize,
    items: Vec<I>,
    step: impl AsyncFn(&mut Connection, I) -> R,
) -> Done<R> {
    each(target, clients, items, async |_, _| Instant::now(), step).await
}

/// Does `step` for each item, at the given rate per second, over as many connections as may be needed. A time counts from when
/// its item was due, even if no connection was free then: a stall of the server counts for every request that it delayed.
pub async fn open_loop<I, R>(
    target: &Target,
    clients: usize,
    per_second: u32,
    items: Vec<I>,
    step: impl AsyncFn(&mut Connection, I) -> R,
) -> Done<R> {
    let when_due = async |began: Instant, place| {
        let due = began + Duration::from_secs(u64::try_from(place).unwrap()) / per_second;
        if Instant::now() >= due {
            return due;
        }
        sleep_until(due.into()).await;
        // The time counts from now and not from `due`: a timer is late by up to a millisecond, which is not the server's fault.
        Instant::now()
    };
    each(target, clients, items, when_due, step).await
}

/// Does `step` for each item. Before each one `start` is called with the beginning of the loop and the item's place: it waits
/// until the item may begin, and returns the moment from which the item's time counts.
async fn each<I, R>(
    target: &Target,
    clients: usize,
    items: Vec<I>,
    start: impl AsyncFn(Instant, usize) -> Instant,
    step: impl AsyncFn(&mut Connection, I) -> R,
) -> Done<R> {
    let connections = connections(target, clients).await;
    let left = RefCell::new(items.into_iter().enumerate());
    let next = || left.borrow_mut().next();
    let began = Instant::now();
    let clients = connections.into_iter().map(|mut connection| {
        let (next, start, step) = (&next, &start, &step);
        async move {
            let mut finished = Vec::new();
            while let Some((place, item)) = next() {
                let since = start(began, place).await;
                let result = step(&mut connection, item).await;
                finished.push((place, milliseconds(since), result));
            }
            finished
        }
    });
    let finished = join_all(clients).await;
    done(finished, began.elapsed())
}

/// The time since then, in milliseconds.
pub fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}
