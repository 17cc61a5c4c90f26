//! Wakes streams, and keeps the newest events for those of agents and portfolios.
//!
//! One reader follows the list of published events for all streams of a server, and sorts each event by the streams that carry it. So
//! a stream of an agent looks at its own events, and not at those of all others. A wake-up is a hint, and a stream that finds its
//! place too far behind the newest events walks over the whole list instead.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use domain::base::ids::IntentId;
use tokio::sync::{Notify, watch};

use crate::stream::{Followed, PublishedRow, StreamCursor};

/// So many of the newest events are kept for each agent and each portfolio that has a stream.
const NEWEST_MAX: usize = 64;
/// So many entries are kept before those without a stream are removed.
const KEPT_MIN: usize = 64;

/// The streams that are open.
#[derive(Default)]
pub(crate) struct Publications {
    // A std mutex: held for operations on the map, never across an await.
    topics: Mutex<Topics>,
    published: Notify,
}

#[derive(Default)]
struct Topics {
    open: HashMap<Followed, Topic>,
    /// At so many entries those without a stream are removed.
    crowded_at: usize,
    /// The reader has sorted all events up to this place; without a stream it has none.
    passed: Option<StreamCursor>,
}

/// The streams that carry the same events.
struct Topic {
    wake: watch::Sender<()>,
    /// The newest events, oldest first.
    newest: VecDeque<PublishedRow>,
    /// `newest` holds all events behind this place, as far as the reader has come.
    since: Option<StreamCursor>,
}

/// The task of the reader's next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sorting {
    /// The place behind which the events are new; without it the turn only finds the present place.
    pub(crate) after: Option<StreamCursor>,
    /// Whether a stream of an agent or a portfolio is open, so that events are sorted by these too.
    pub(crate) by_group: bool,
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sorted {
    pub(crate) turn: Sorting,
    /// The events, oldest first, each with the streams that carry it.
    pub(crate) events: Vec<(PublishedRow, Vec<Followed>)>,
    /// The place behind the events.
    pub(crate) passed: StreamCursor,
    /// Whether another turn may find more at once.
    pub(crate) more: bool,
}

/// The events of one stream that the reader has sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) events: Vec<PublishedRow>,
    /// The reader has come to this place.
    pub(crate) passed: StreamCursor,
}

impl Publications {
    /// Registers a stream. Register before you look: a change between looking and waiting would be lost.
    pub(crate) fn follow(&self, followed: Followed) -> watch::Receiver<()> {
        let mut topics = self.topics();
        topics.make_room();
        let since = topics.passed;
        let topic = topics.open.entry(followed);
        let woken =
            topic.or_insert_with(|| Topic { wake: watch::Sender::new(()), newest: VecDeque::new(), since }).wake.subscribe();
        drop(topics);
        if since.is_none() {
            self.published.notify_one();
        }
        woken
    }

    /// Wakes the streams of this subject.
    pub(crate) fn wake(&self, followed: &Followed) {
        if let Some(topic) = self.topics().open.get(followed) {
            topic.wake.send_replace(());
        }
    }

    /// Wakes all streams, and the reader.
    pub(crate) fn wake_all(&self) {
        for topic in self.topics().open.values() {
            topic.wake.send_replace(());
        }
        self.published.notify_one();
    }

    /// The logs that streams follow.
    pub(crate) fn logs(&self) -> Vec<IntentId> {
        let topics = self.topics();
        let log = |followed: &Followed| if let Followed::Log(intent) = followed { Some(*intent) } else { None };
        topics.open.iter().filter(|(_, topic)| topic.is_open()).filter_map(|(followed, _)| log(followed)).collect()
    }

    /// Tells the reader that there is a new event.
    pub(crate) fn announce(&self) {
        self.published.notify_one();
    }

    /// Waits for a new event; a permit is kept, so an event announced before the call is not lost.
    pub(crate) async fn announced(&self) {
        self.published.notified().await;
    }

    /// The task of the reader's next turn; `None` while no stream is open that needs it.
    pub(crate) fn next_turn(&self) -> Option<Sorting> {
        let mut topics = self.topics();
        let open = || topics.open.iter().filter(|(_, topic)| topic.is_open()).map(|(followed, _)| followed);
        let by_group = open().any(Followed::is_group);
        let is_needed = by_group || open().any(|followed| matches!(followed, Followed::Intent(_)));
        if !is_needed {
            topics.passed = None;
            return None;
        }
        Some(Sorting { after: topics.passed, by_group })
    }

    /// Keeps the events that a turn has found, and wakes their streams.
    pub(crate) fn pass(&self, sorted: Sorted) {
        let mut topics = self.topics();
        topics.passed = Some(sorted.passed);
        if sorted.turn.after.is_none() || !sorted.turn.by_group {
            // A stream that was opened during the turn looks at the list, because the turn has not sorted its events.
            for (followed, topic) in &mut topics.open {
                if followed.is_group() || sorted.turn.after.is_none() {
                    topic.begin_at(sorted.passed);
                }
            }
        }
        for (event, carried_by) in sorted.events {
            for followed in carried_by {
                if let Some(topic) = topics.open.get_mut(&followed) {
                    topic.add(&followed, event);
                }
            }
        }
    }

    /// The events behind `after` for these streams; `None` if not all of them are kept.
    pub(crate) fn newest(&self, followed: &Followed, after: StreamCursor) -> Option<Newest> {
        let topics = self.topics();
        let passed = topics.passed.filter(|passed| after <= *passed)?;
        let topic = topics.open.get(followed).filter(|_| followed.is_group())?;
        topic.since.filter(|since| *since <= after)?;
        let begin = topic.newest.partition_point(|event| event.at <= after);
        Some(Newest { events: topic.newest.range(begin..).copied().collect(), passed })
    }

    fn topics(&self) -> MutexGuard<'_, Topics> {
        // A panic leaves at worst a wake-up out, and the streams look now and then all the same.
        self.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Topics {
    /// Removes the entries without a stream, if there are many entries. Twice as many as remain may come before the next time, so
    /// that a new stream does not walk over all others.
    fn make_room(&mut self) {
        if self.open.len() >= self.crowded_at.max(KEPT_MIN) {
            self.open.retain(|_, topic| topic.is_open());
            self.crowded_at = self.open.len() * 2;
        }
    }
}

impl Topic {
    fn is_open(&self) -> bool {
        self.wake.receiver_count() > 0
    }

    fn begin_at(&mut self, place: StreamCursor) {
        self.newest.clear();
        self.since = Some(place);
        self.wake.send_replace(());
    }

    fn add(&mut self, followed: &Followed, event: PublishedRow) {
        if followed.is_group() {
            if self.newest.len() == NEWEST_MAX {
                self.since = self.newest.pop_front().map(|oldest| oldest.at);
            }
            self.newest.push_back(event);
        }
        self.wake.send_replace(());
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

    fn agent(name: &str) -> Followed {
        Followed::Agent(name.into())
    }

    fn is_woken(stream: &mut watch::Receiver<()>) -> bool {
        let is_woken = stream.has_changed().unwrap();
        stream.mark_unchanged();
        is_woken
    }

    /// Ends a turn that found `events`.
    fn pass(publications: &Publications, events: &[(i64, &[Followed])], passed: i64) {
        let turn = publications.next_turn().unwrap();
        let events = events.iter().map(|(place, carried_by)| (event(*place), carried_by.to_vec())).collect();
        publications.pass(Sorted { turn, events, passed: at(passed), more: false });
    }

    #[test]
    fn a_stream_is_woken_by_its_events_and_forgotten_when_it_is_gone() {
        let publications = Publications::default();
        assert_eq!(publications.next_turn(), None, "without a stream there is nothing to read");
        let log = Followed::Log(IntentId(uuid::Uuid::from_u128(1)));
        let (mut one, mut other) = (publications.follow(intent(1)), publications.follow(log.clone()));
        pass(&publications, &[], 10);
        assert!(is_woken(&mut one), "the first turn knows no place before it, so each stream looks once");
        other.mark_unchanged();
        pass(&publications, &[(11, &[intent(2)]), (12, &[intent(1)])], 12);
        assert!(is_woken(&mut one) && !is_woken(&mut other));
        publications.wake(&log);
        assert!(is_woken(&mut other) && !is_woken(&mut one));
        for number in 2..1_000 {
            drop(publications.follow(intent(number)));
        }
        assert!(publications.topics().open.len() <= 2 * KEPT_MIN);
        assert!(publications.topics().open.contains_key(&intent(1)), "a stream that is open is kept");
    }

    #[test]
    fn the_newest_events_of_an_agent_are_kept_from_its_first_stream_on() {
        let publications = Publications::default();
        let _intents = publications.follow(intent(1));
        pass(&publications, &[], 10);
        let mut stream = publications.follow(agent("a"));
        assert_eq!(publications.newest(&intent(1), at(10)), None, "its stream finds its events by an index");
        assert_eq!(publications.newest(&agent("a"), at(9)), None, "the place is before the first stream");
        let none = Newest { events: vec![], passed: at(10) };
        assert_eq!(publications.newest(&agent("a"), at(10)), Some(none));
        assert_eq!(publications.newest(&agent("a"), at(11)), None, "the reader has not come to the place");
        pass(&publications, &[(11, &[agent("b")]), (12, &[agent("a")])], 15);
        assert!(is_woken(&mut stream));
        let both = Newest { events: vec![event(12)], passed: at(15) };
        assert_eq!(publications.newest(&agent("a"), at(10)), Some(both));
        assert_eq!(publications.newest(&agent("a"), at(12)).unwrap().events, []);
        for place in (20..).take(NEWEST_MAX) {
            pass(&publications, &[(place, &[agent("a")])], place);
        }
        assert_eq!(publications.newest(&agent("a"), at(11)), None, "the oldest event had to go");
        assert_eq!(publications.newest(&agent("a"), at(12)).unwrap().events.len(), NEWEST_MAX);
    }

    /// A turn that begins before an agent's first stream and ends after it has not sorted by agents.
    #[test]
    fn a_stream_that_is_opened_during_a_turn_looks_at_the_list() {
        let publications = Publications::default();
        let _intents = publications.follow(intent(1));
        pass(&publications, &[], 10);
        let turn = publications.next_turn().unwrap();
        assert!(!turn.by_group);
        let mut stream = publications.follow(agent("a"));
        publications.pass(Sorted { turn, events: vec![(event(11), vec![intent(1)])], passed: at(11), more: false });
        assert!(is_woken(&mut stream));
        assert_eq!(publications.newest(&agent("a"), at(10)), None);
        assert!(publications.next_turn().unwrap().by_group);
    }
}
