//! Notices when the wall clock is set: a wrong clock must not make deadlines due.
//!
//! Guarantee: after a jump ahead of more than a minute the clock counts as unsteady until it has kept pace for half a minute.
//! Mechanism: the wall clock is compared with the time since boot, which no one can set and which goes on while a laptop sleeps.
//! Failure: if the clock is set back, deadlines take effect late. None takes effect twice, because a due timer fires in the
//! transaction that removes it. An open question with a fallback is ended at once if its asker applies the deadline by its own
//! clock, because the server and the asker then no longer agree on the deadline. Slow drift is no danger.
//!
//! A jump ahead takes away time in which people could have answered, so it counts as an absence of the server: once the clock is
//! steady, that time is given back before anything is decided.
//!
//! The watch also knows when the deadline loop last did its work. If the loop of a running server did nothing for more than ten
//! seconds, the server counts as away for that time. A question with a fallback and a fixed deadline ends if this took too much
//! of its time. Other questions get time back only after more than a minute.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::clock::Clock;

/// The deadline loop runs every five seconds (a "turn"). A server whose last turn is longer ago than this was away.
const AWAY_MAX: Duration = Duration::from_secs(10);
/// If the clock is set ahead by more than this many seconds, deadlines wait until it is steady.
const JUMP_SECONDS_MIN: i64 = 60;
/// The largest step, ahead or back, that is ignored, in seconds: a time service may move the clock by that much.
pub(crate) const STEP_SECONDS_MAX: i64 = 1;
/// While the clock counts as unsteady after a jump, a further step of more than this many seconds begins the wait anew.
const STEADY_STEP_SECONDS_MAX: i64 = 1;
/// How long the clock must keep pace after a jump before deadlines go on.
const STEADY_FOR: Duration = Duration::from_secs(30);
/// If the two clocks are read further apart than this, they cannot be compared: the process was stopped in between.
const READ_WITHIN: Duration = Duration::from_millis(500);
/// How many times reading both clocks is tried.
const READS_MAX: usize = 5;

/// Watches the wall clock for jumps.
pub(crate) struct ClockWatch {
    clock: Arc<dyn Clock>,
    // A std mutex: held for a comparison, never across an await.
    seen: Mutex<Seen>,
    // A std mutex, for the same reason.
    attendance: Mutex<Attendance>,
}

/// The state of the deadline loop, as far as it is known.
#[derive(Clone, Copy, Default)]
enum Attendance {
    /// No deadline loop runs: in a command beside a server, or in a test that moves the clock by hand.
    #[default]
    Unwatched,
    /// The deadline loop runs, and last did its work at this time since boot; `None` before its first turn, or
    /// without a time since boot.
    Watched(Option<Duration>),
}

#[derive(Default)]
struct Seen {
    /// The time of the wall clock minus the time since boot, when both were last compared.
    lead: Option<TimeDelta>,
    /// The time since boot until which the clock is not trusted.
    unsteady_until: Option<Duration>,
    /// The newest step of the clock, until the deadline loop has dealt with it.
    step: Option<Step>,
}

/// A step of the wall clock.
#[derive(Clone, Copy)]
struct Step {
    /// The time since boot at which it was noticed.
    at: Duration,
    size: Size,
}

/// The size of a step, or of all steps together that the deadline loop has not dealt with.
#[derive(Clone, Copy)]
enum Size {
    /// The clock was set ahead by this time, and by so little that deadlines need not wait.
    Small(TimeDelta),
    /// The clock was set ahead by so much that deadlines wait.
    Jump,
    /// The clock was set back, by any time.
    Back,
}

impl Seen {
    /// Notes a step, together with an earlier one that the deadline loop has not dealt with.
    fn stepped(&mut self, at: Duration, size: Size) {
        let before = self.step.map(|step| step.size);
        let size = match (before, size) {
            (Some(Size::Back), _) | (_, Size::Back) => Size::Back,
            (Some(Size::Jump), _) | (_, Size::Jump) => Size::Jump,
            (Some(Size::Small(before)), Size::Small(ahead)) => Size::Small(before + ahead),
            (None, Size::Small(_)) => size,
        };
        self.step = Some(Step { at, size });
    }
}

impl ClockWatch {
    /// Makes a watch, and reads both clocks once, so that the next reading can be compared with this one.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let watch = Self { clock, seen: Mutex::default(), attendance: Mutex::default() };
        watch.is_steady();
        watch
    }

    /// Looks at the clocks, and says whether the wall clock may be acted upon.
    pub(crate) fn is_steady(&self) -> bool {
        let clocks = self.both();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        // If the clocks cannot be compared, nothing is learned: a wait that has begun goes on.
        let Some((boot, wall)) = clocks else { return seen.unsteady_until.is_none() };
        let lead = (wall - DateTime::UNIX_EPOCH) - TimeDelta::from_std(boot).unwrap_or(TimeDelta::MAX);
        let step = seen.lead.replace(lead).map_or(TimeDelta::zero(), |before| lead - before);
        if step < -TimeDelta::seconds(STEP_SECONDS_MAX) {
            tracing::warn!(step_seconds = step.num_seconds(), "the clock was set back; deadlines take effect that much later");
            seen.stepped(boot, Size::Back);
        } else if step > TimeDelta::seconds(STEP_SECONDS_MAX) {
            let is_jump = step > TimeDelta::seconds(JUMP_SECONDS_MIN);
            seen.stepped(boot, if is_jump { Size::Jump } else { Size::Small(step) });
        }
        if step > TimeDelta::seconds(JUMP_SECONDS_MIN) {
            tracing::warn!(
                step_seconds = step.num_seconds(),
                "the clock jumped ahead; deadlines and messages wait until it has been steady for {} seconds",
                STEADY_FOR.as_secs()
            );
            seen.unsteady_until = Some(boot + STEADY_FOR);
        } else if seen.unsteady_until.is_some() && step.abs() > TimeDelta::seconds(STEADY_STEP_SECONDS_MAX) {
            tracing::warn!(
                step_seconds = step.num_seconds(),
                "the clock was set again; deadlines and messages wait until it has been steady for {} seconds",
                STEADY_FOR.as_secs()
            );
            seen.unsteady_until = Some(boot + STEADY_FOR);
        } else if seen.unsteady_until.is_some_and(|until| boot >= until) {
            tracing::info!("the clock is steady again; deadlines and messages go on");
            seen.unsteady_until = None;
        }
        seen.unsteady_until.is_none()
    }

    fn step(&self) -> Option<Size> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).step.map(|step| step.size)
    }

    /// Whether the clock was set back, and the deadline loop has not dealt with that yet.
    pub(crate) fn has_stepped_back(&self) -> bool {
        matches!(self.step(), Some(Size::Back))
    }

    /// How far the clock was set ahead, if deadlines need not wait for that; `None` once the deadline loop has dealt with it.
    pub(crate) fn small_step(&self) -> Option<TimeDelta> {
        match self.step() {
            Some(Size::Small(ahead)) => Some(ahead),
            Some(Size::Jump | Size::Back) | None => None,
        }
    }

    /// Whether the clock was set, ahead or back, and the deadline loop has not dealt with that yet.
    pub(crate) fn has_stepped(&self) -> bool {
        self.step().is_some()
    }

    /// Notes that the clock was set back while no server ran. On a system that does not tell the time since boot, nothing is
    /// noted.
    pub(crate) fn was_set_back(&self) {
        if let Some(at) = self.clock.since_boot() {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).stepped(at, Size::Back);
        }
    }

    /// Notes that the deadline loop runs from now on. If it then makes no turn for more than [`AWAY_MAX`], the server counts as
    /// away.
    pub(crate) fn attend(&self) {
        *self.attendance.lock().unwrap_or_else(PoisonError::into_inner) = Attendance::Watched(None);
    }

    /// Notes that the deadline loop has done its work once (a turn). The transaction of this turn began at the time since boot
    /// `began`, and is on the disk. So the turn has dealt with every step that was noticed before it began.
    pub(crate) fn turned(&self, began: Duration) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).step.take_if(|step| step.at <= began);
        let mut attendance = self.attendance.lock().unwrap_or_else(PoisonError::into_inner);
        if let Attendance::Watched(turned) = &mut *attendance {
            *turned = Some(began);
        }
    }

    /// The wall clock's time.
    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// The time since boot.
    pub(crate) fn since_boot(&self) -> Option<Duration> {
        self.clock.since_boot()
    }

    /// Whether there is an absence that is not recorded yet: the server was away until now, or the clock was set.
    pub(crate) fn is_away(&self, beat_at: DateTime<Utc>) -> bool {
        self.has_stepped() || self.is_late(beat_at)
    }

    /// The time since the last turn of the deadline loop; `None` if the loop does not run in this process or has not turned
    /// yet, or if the system does not tell the time since boot.
    pub(crate) fn since_turn(&self) -> Option<Duration> {
        let attendance = *self.attendance.lock().unwrap_or_else(PoisonError::into_inner);
        let Attendance::Watched(Some(turned)) = attendance else { return None };
        self.clock.since_boot().map(|now| now.saturating_sub(turned))
    }

    /// Whether the deadline loop runs in this process and its last turn is longer ago than [`AWAY_MAX`]. If the time of its
    /// last turn is not known, the age of the last sign of life (`beat_at`) counts instead.
    pub(crate) fn is_late(&self, beat_at: DateTime<Utc>) -> bool {
        let Attendance::Watched(turned) = *self.attendance.lock().unwrap_or_else(PoisonError::into_inner) else { return false };
        match self.clock.since_boot().zip(turned) {
            Some((now, turned)) => now.saturating_sub(turned) > AWAY_MAX,
            None => (self.clock.now() - beat_at).to_std().is_ok_and(|age| age > AWAY_MAX),
        }
    }

    /// Both clocks, read at the same moment.
    fn both(&self) -> Option<(Duration, DateTime<Utc>)> {
        for _ in 0..READS_MAX {
            let before = self.clock.since_boot()?;
            let wall = self.clock.now();
            let after = self.clock.since_boot()?;
            if after.saturating_sub(before) < READ_WITHIN {
                return Some((before, wall));
            }
        }
        // The machine is too slow just now; the next call tries again.
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock for tests: the time of the wall clock and the time since boot, in seconds, and whether the time since boot is
    /// hidden.
    #[derive(Default)]
    struct Hands(Mutex<(i64, u64)>, bool);

    impl Clock for Hands {
        fn now(&self) -> DateTime<Utc> {
            DateTime::UNIX_EPOCH + TimeDelta::seconds(self.0.lock().unwrap().0)
        }

        fn since_boot(&self) -> Option<Duration> {
            (!self.1).then(|| Duration::from_secs(self.0.lock().unwrap().1))
        }
    }

    /// Moves the wall clock by `shown` seconds and the time since boot by `passed`; returns whether the clock is then trusted.
    fn after(hands: &Hands, watch: &ClockWatch, (shown, passed): (i64, u64)) -> bool {
        let mut time = hands.0.lock().unwrap();
        *time = (time.0 + shown, time.1 + passed);
        drop(time);
        watch.is_steady()
    }

    fn watched() -> (Arc<Hands>, ClockWatch) {
        let hands = Arc::new(Hands::default());
        (hands.clone(), ClockWatch::new(hands))
    }

    #[test]
    fn only_a_jump_ahead_of_more_than_a_minute_is_one() {
        let (hands, watch) = watched();
        // A night asleep, a step at the limit, a step back: none of them is a jump.
        for step in [(28_800, 28_800), (65, 5), (-7_200, 5), (5, 5)] {
            assert!(after(&hands, &watch, step), "{step:?}");
        }
        assert!(!after(&hands, &watch, (66, 5)));
    }

    #[test]
    fn a_clock_that_is_set_by_more_than_a_second_counts_as_away_until_a_turn_has_dealt_with_it() {
        let (hands, watch) = watched();
        for second in [4, 6] {
            assert!(after(&hands, &watch, (second, 5)));
            assert!(!watch.is_away(hands.now()), "a time service may move the clock by a second");
        }
        for (step, is_back) in [(7, false), (3, true), (7, true)] {
            assert!(after(&hands, &watch, (step, 5)));
            assert!(watch.is_away(hands.now()));
            assert_eq!(watch.has_stepped_back(), is_back, "a step ahead does not undo one back with which no turn has dealt");
            if step == 7 {
                watch.turned(watch.since_boot().unwrap());
                assert!(!watch.is_away(hands.now()));
            }
        }
        watch.was_set_back();
        assert!(watch.is_away(hands.now()));
    }

    #[test]
    fn a_jump_is_waited_out_until_the_clock_has_been_steady() {
        let (hands, watch) = watched();
        assert!(!after(&hands, &watch, (3_600, 0)));
        assert!(!after(&hands, &watch, (29, 29)));
        assert!(!after(&hands, &watch, (-3_600, 0)), "set right again: the wait begins anew");
        assert!(!after(&hands, &watch, (29, 29)));
        assert!(after(&hands, &watch, (1, 1)));
        assert!(after(&hands, &watch, (5, 5)));
    }

    /// A jump of the clock counts as an absence until a turn of the deadline loop that began later is over. A turn that began
    /// before the jump has not recorded it.
    #[test]
    fn a_jump_is_an_absence_until_a_later_turn_has_recorded_it() {
        let (hands, watch) = watched();
        let boot = || watch.since_boot().unwrap();
        assert!(!watch.is_away(hands.now()));
        after(&hands, &watch, (0, 10));
        let before = boot();
        assert!(!after(&hands, &watch, (7_205, 5)));
        assert!(watch.is_away(hands.now()), "whoever runs the loop");
        watch.turned(before);
        assert!(watch.is_away(hands.now()));
        assert!(after(&hands, &watch, (30, 30)));
        assert!(watch.is_away(hands.now()), "steady, and not recorded");
        watch.turned(boot());
        assert!(!watch.is_away(hands.now()));
    }

    #[test]
    fn a_loop_that_did_not_turn_for_more_than_ten_seconds_was_away() {
        let (hands, watch) = watched();
        let beat_at = hands.now();
        watch.turned(Duration::ZERO);
        after(&hands, &watch, (3_600, 3_600));
        assert!(!watch.is_away(beat_at), "nobody runs it");
        watch.attend();
        assert!(watch.is_away(beat_at), "before the first turn the sign of life tells");
        assert!(!watch.is_away(hands.now()));
        watch.turned(Duration::from_hours(1));
        after(&hands, &watch, (10, 10));
        assert!(!watch.is_away(beat_at));
        after(&hands, &watch, (1, 1));
        assert!(watch.is_away(hands.now()), "whatever the sign of life shows");
    }

    /// On a system that does not tell the time since boot, the age of the last sign of life says whether the server was away.
    #[test]
    fn without_a_time_since_boot_the_sign_of_life_tells() {
        let hands = Arc::new(Hands(Mutex::default(), true));
        let watch = ClockWatch::new(hands.clone());
        watch.attend();
        watch.turned(Duration::ZERO);
        let beat_at = hands.now();
        after(&hands, &watch, (10, 10));
        assert!(!watch.is_away(beat_at));
        after(&hands, &watch, (1, 1));
        assert!(watch.is_away(beat_at));
    }
}
