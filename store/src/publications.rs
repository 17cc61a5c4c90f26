//! Wakes streams, and keeps the newest events for the streams of agents and portfolios.
//!
//! One reader follows the list of published events for all streams of a server, and finds for each event the streams that carry
//! it. So a stream of an agent reads only its own events and not those of all agents, even when thousands of streams reconnect at
//! once. A wake-up carries no event; it only makes the stream read. A stream whose place is before the kept events reads the list
//! by itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::base::ids::IntentId;
use tokio::sync::{Notify, watch};

use crate::stream::{Followed, PublishedRow, StreamCursor};

/// How many of the newest events are kept. They must cover some seconds even on a busy server: a client learns the place of its
/// stream only every 15 seconds, so it may come back with a place that is that old.
pub(crate) const KEPT_EVENTS_MAX: usize = 32_768;
/// The most entries that all agents and portfolios together have for these events; beyond that fewer events are kept. An event
/// has one entry for each agent and each portfolio whose stream carries it.
const KEPT_ENTRIES_MAX: usize = 2 * KEPT_EVENTS_MAX;
/// The least number of entries in `open` at which the entries without a stream are removed.
const ENTRIES_MIN: usize = 64;

/// The streams that are open, and the newest events.
#[derive(Default)]
pub(crate) struct Publications {
    // A std mutex: held for operations on maps, never across an await.
    state: Mutex<State>,
    published: Notify,
}

#[derive(Default)]
struct State {
    open: HashMap<Followed, watch::Sender<()>>,
    /// Once `open` has so many entries, its entries without a stream are removed.
    crowded_at: usize,
    kept: Option<Kept>,
    /// Whether the reader has paused since it last read, because no stream needed it.
    has_rested: bool,
}

/// The newest events.
struct Kept {
    /// All events behind this place and up to `passed` are kept.
    since: StreamCursor,
    /// The place up to which the reader has read.
    passed: StreamCursor,
    /// Oldest first, each with the streams that carry it.
    events: VecDeque<(PublishedRow, Arc<[Followed]>)>,
    /// The same events, listed for each agent and each portfolio whose stream carries them.
    of_groups: HashMap<Followed, VecDeque<PublishedRow>>,
    /// How many entries all agents and portfolios have together.
    entries: usize,
}

/// The task of the reader for one read (a "turn") of a bounded number of new events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The place behind which the events are new; `None` if no event is kept.
    pub(crate) after: Option<StreamCursor>,
    /// Whether there may be far more new events than are kept.
    pub(crate) may_be_far: bool,
}

/// The result of one turn of the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sorted {
    /// The place behind which the turn began.
    pub(crate) after: StreamCursor,
    /// The events, oldest first, each with the streams that carry it.
    pub(crate) events: Vec<(PublishedRow, Arc<[Followed]>)>,
    /// The place behind the events.
    pub(crate) passed: StreamCursor,
    /// Whether another turn may find more at once.
    pub(crate) more: bool,
}

/// The kept events of one agent or portfolio behind a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) events: Vec<PublishedRow>,
    /// The place up to which the reader has read; `None` if `events` leaves out later events before that place.
    pub(crate) passed: Option<StreamCursor>,
}

impl Publications {
    /// Registers a stream. Register before you read its events: otherwise an event that comes after the read and before the
    /// registration would be lost.
    pub(crate) fn follow(&self, followed: Followed) -> watch::Receiver<()> {
        let mut state = self.state();
        state.make_room();
        let woken = state.open.entry(followed).or_insert_with(|| watch::Sender::new(())).subscribe();
        let is_read = state.kept.is_some() && !state.has_rested;
        drop(state);
        if !is_read {
            self.published.notify_one();
        }
        woken
    }

    /// Wakes the streams of this subject.
    pub(crate) fn wake(&self, followed: &Followed) {
        if let Some(stream) = self.state().open.get(followed) {
            stream.send_replace(());
        }
    }

    /// Wakes all streams, and the reader.
    pub(crate) fn wake_all(&self) {
        for stream in self.state().open.values() {
            stream.send_replace(());
        }
        self.published.notify_one();
    }

    /// The logs that streams follow.
    pub(crate) fn logs(&self) -> Vec<IntentId> {
        let state = self.state();
        let log = |followed: &Followed| if let Followed::Log(intent) = followed { Some(*intent) } else { None };
        state.followed().filter_map(log).collect()
    }

    /// Tells the reader that there is a new event.
    pub(crate) fn announce(&self) {
        self.published.notify_one();
    }

    /// Waits for a new event; a permit is kept, so an event announced before the call is not lost.
    pub(crate) async fn announced(&self) {
        self.published.notified().await;
    }

    /// The task of the reader for its next read; `None` while no open stream needs the reader.
    pub(crate) fn next_turn(&self) -> Option<Reading> {
        let mut state = self.state();
        if !state.followed().any(|followed| !matches!(followed, Followed::Log(_))) {
            state.has_rested = true;
            return None;
        }
        let after = state.kept.as_ref().map(|kept| kept.passed);
        Some(Reading { after, may_be_far: state.has_rested || after.is_none() })
    }

    /// Forgets the kept events, after the reader has failed; then each stream reads the list by itself.
    pub(crate) fn forget(&self) {
        self.state().kept = None;
    }

    /// Keeps the events that the reader has read, and wakes the streams that carry them.
    pub(crate) fn keep(&self, sorted: Sorted) {
        let mut state = self.state();
        let State { open, kept, has_rested, .. } = &mut *state;
        *has_rested = false;
        // If this read did not begin where the last one ended, events between the two places are missing. So the older events
        // are dropped.
        let kept = match kept {
            Some(kept) if kept.passed == sorted.after => kept,
            Some(_) | None => kept.insert(Kept::behind(sorted.after)),
        };
        for (event, carried_by) in sorted.events {
            for stream in carried_by.iter().filter_map(|followed| open.get(followed)) {
                stream.send_replace(());
            }
            kept.add(event, carried_by);
        }
        kept.passed = sorted.passed;
    }

    /// At most `limit` events of an agent or a portfolio behind `after`, the oldest first; `None` if not all of them are kept,
    /// and for a stream of one intent.
    pub(crate) fn newest(&self, followed: &Followed, after: StreamCursor, limit: usize) -> Option<Newest> {
        let state = self.state();
        // While the reader rests, it reads no new events, so the place up to which it has read is out of date.
        let kept = state.kept.as_ref().filter(|_| !state.has_rested);
        let kept = kept.filter(|kept| followed.is_group() && kept.since <= after && after <= kept.passed)?;
        let Some(events) = kept.of_groups.get(followed) else {
            return Some(Newest { events: Vec::new(), passed: Some(kept.passed) });
        };
        let behind = events.range(events.partition_point(|event| event.at <= after)..);
        let passed = Some(kept.passed).filter(|_| behind.len() <= limit);
        Some(Newest { events: behind.take(limit).copied().collect(), passed })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The lock is used even if a panic has poisoned it. At worst, that panic left out a wake-up, and streams also read now
        // and then without one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The subjects of the streams that are open.
    fn followed(&self) -> impl Iterator<Item = &Followed> {
        self.open.iter().filter(|(_, stream)| stream.receiver_count() > 0).map(|(followed, _)| followed)
    }

    /// Removes the entries without a stream, if there are many entries. The next removal waits until there are twice as many
    /// entries as remain now, so that not every new stream walks over all others.
    fn make_room(&mut self) {
        if self.open.len() >= self.crowded_at.max(ENTRIES_MIN) {
            self.open.retain(|_, stream| stream.receiver_count() > 0);
            self.crowded_at = self.open.len() * 2;
        }
    }
}

impl Kept {
    fn behind(place: StreamCursor) -> Self {
        Self { since: place, passed: place, events: VecDeque::new(), of_groups: HashMap::new(), entries: 0 }
    }

    fn add(&mut self, event: PublishedRow, carried_by: Arc<[Followed]>) {
        for group in carried_by.iter().filter(|followed| followed.is_group()) {
            self.of_groups.entry(group.clone()).or_default().push_back(event);
            self.entries += 1;
        }
        self.events.push_back((event, carried_by));
        while self.events.len() > KEPT_EVENTS_MAX || self.entries > KEPT_ENTRIES_MAX {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        let Some((oldest, carried_by)) = self.events.pop_front() else { return };
        self.since = oldest.at;
        for group in carried_by.iter().filter(|followed| followed.is_group()) {
            // Each group has its events in the same order, so `oldest` is the first event of each of its groups.
            let Some(events) = self.of_groups.get_mut(group) else { continue };
            self.entries -= usize::from(events.pop_front().is_some());
            if events.is_empty() {
                self.of_groups.remove(group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(place: i64) -> StreamCursor {
        StreamCursor { position: place, rid: place }
    }

    fn event(place: i64) -> PublishedRow {
        PublishedRow { at: at(place), intent: 1 }
    }

    fn intent(number: u128) -> Followed {
        Followed::Intent(IntentId(uuid::Uuid::from_u128(number)))
    }

    /// All kept events of a group behind a place.
    fn newest_of(publications: &Publications, followed: &Followed, after: StreamCursor) -> Option<Newest> {
        publications.newest(followed, after, usize::MAX)
    }

    fn agent(name: &str) -> Followed {
        Followed::Agent(name.into())
    }

    fn is_woken(stream: &mut watch::Receiver<()>) -> bool {
        let is_woken = stream.has_changed().unwrap();
        stream.mark_unchanged();
        is_woken
    }

    /// Ends a turn that found `events`.
    fn turn(publications: &Publications, after: i64, events: &[(i64, &[Followed])], passed: i64) {
        let events = events.iter().map(|(place, carried_by)| (event(*place), Arc::from(*carried_by))).collect();
        publications.keep(Sorted { after: at(after), events, passed: at(passed), more: false });
    }

    #[test]
    fn a_stream_is_woken_by_its_events_and_forgotten_when_it_is_gone() {
        let publications = Publications::default();
        let log = Followed::Log(IntentId(uuid::Uuid::from_u128(1)));
        let mut other = publications.follow(log.clone());
        assert_eq!(publications.next_turn(), None, "the log of an intent is not published");
        let mut one = publications.follow(intent(1));
        assert_eq!(publications.next_turn(), Some(Reading { after: None, may_be_far: true }));
        turn(&publications, 10, &[(11, &[intent(2)]), (12, &[intent(1)])], 12);
        assert!(is_woken(&mut one) && !is_woken(&mut other));
        publications.wake(&log);
        assert!(is_woken(&mut other) && !is_woken(&mut one));
        for number in 2..1_000 {
            drop(publications.follow(intent(number)));
        }
        assert!(publications.state().open.len() <= 2 * ENTRIES_MIN);
        assert!(publications.state().open.contains_key(&intent(1)), "a stream that is open is kept");
        assert_eq!(publications.next_turn(), Some(Reading { after: Some(at(12)), may_be_far: false }));
    }

    #[test]
    fn a_reader_that_has_rested_goes_on_where_it_was_or_keeps_nothing_before_a_gap() {
        let publications = Publications::default();
        let stream = publications.follow(agent("a"));
        turn(&publications, 10, &[(11, &[agent("a")])], 12);
        drop(stream);
        assert_eq!(publications.next_turn(), None);
        let _stream = publications.follow(agent("a"));
        assert_eq!(newest_of(&publications, &agent("a"), at(10)), None, "what happened meanwhile is not known");
        assert_eq!(publications.next_turn(), Some(Reading { after: Some(at(12)), may_be_far: true }));
        turn(&publications, 12, &[(13, &[agent("a")])], 14);
        assert_eq!(newest_of(&publications, &agent("a"), at(10)).unwrap().events, [event(11), event(13)]);
        turn(&publications, 20, &[(21, &[agent("a")])], 22);
        assert_eq!(newest_of(&publications, &agent("a"), at(14)), None);
        assert_eq!(newest_of(&publications, &agent("a"), at(20)).unwrap().events, [event(21)]);
        publications.forget();
        assert_eq!(newest_of(&publications, &agent("a"), at(20)), None);
    }

    #[test]
    fn the_newest_events_of_an_agent_are_kept_before_it_has_a_stream() {
        let publications = Publications::default();
        let mut stream = publications.follow(agent("a"));
        turn(&publications, 10, &[(11, &[agent("b")]), (12, &[intent(1), agent("a")])], 15);
        assert!(is_woken(&mut stream));
        assert_eq!(newest_of(&publications, &agent("a"), at(9)), None, "the place is before the kept events");
        assert_eq!(newest_of(&publications, &agent("a"), at(16)), None, "the reader has not come to the place");
        assert_eq!(newest_of(&publications, &intent(1), at(10)), None, "its stream finds its events by an index");
        let newest = |events: &[i64]| {
            let events = events.iter().copied().map(event).collect();
            Some(Newest { events, passed: Some(at(15)) })
        };
        assert_eq!(newest_of(&publications, &agent("a"), at(10)), newest(&[12]));
        assert_eq!(newest_of(&publications, &agent("a"), at(12)), newest(&[]));
        assert_eq!(newest_of(&publications, &agent("b"), at(10)), newest(&[11]));
        assert_eq!(newest_of(&publications, &agent("c"), at(10)), newest(&[]));
    }

    #[test]
    fn so_many_entries_are_kept() {
        let publications = Publications::default();
        let _stream = publications.follow(agent("a"));
        let crowd: Vec<Followed> = (0..KEPT_ENTRIES_MAX / 2).map(|number| agent(&number.to_string())).collect();
        turn(&publications, 10, &[(11, &crowd), (12, &crowd)], 12);
        assert_eq!(newest_of(&publications, &crowd[0], at(10)).unwrap().events, [event(11), event(12)]);
        turn(&publications, 12, &[(13, &crowd[..1])], 13);
        assert_eq!(newest_of(&publications, &crowd[0], at(10)), None);
        assert_eq!(newest_of(&publications, &crowd[0], at(11)).unwrap().events, [event(12), event(13)]);
    }

    #[test]
    fn so_many_events_are_kept_and_the_oldest_go_first() {
        let publications = Publications::default();
        let _stream = publications.follow(agent("a"));
        turn(&publications, 10, &[(11, &[agent("b")]), (12, &[agent("a")])], 12);
        for place in (13..).take(KEPT_EVENTS_MAX - 2) {
            turn(&publications, place - 1, &[(place, &[agent("a")])], place);
        }
        assert_eq!(newest_of(&publications, &agent("b"), at(10)).unwrap().events, [event(11)]);
        let next = 11 + i64::try_from(KEPT_EVENTS_MAX).unwrap();
        turn(&publications, next - 1, &[(next, &[agent("a")])], next);
        assert_eq!(newest_of(&publications, &agent("b"), at(10)), None);
        assert_eq!(newest_of(&publications, &agent("b"), at(11)).unwrap().events, []);
        assert_eq!(newest_of(&publications, &agent("a"), at(11)).unwrap().events.len(), KEPT_EVENTS_MAX);
        let Newest { events, passed } = publications.newest(&agent("a"), at(11), 2).unwrap();
        assert_eq!((events, passed), (vec![event(12), event(13)], None), "there are more");
        let rest = publications.newest(&agent("a"), at(next - 2), 2).unwrap();
        assert_eq!((rest.events.len(), rest.passed), (2, Some(at(next))));
        assert!(
            !publications.state().kept.as_ref().unwrap().of_groups.contains_key(&agent("b")),
            "an agent without events is forgotten"
        );
    }
}
