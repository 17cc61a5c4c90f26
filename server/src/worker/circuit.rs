//! Stops trying an endpoint that does not work, and checks now and then whether it works again.
//!
//! Pure: time and chance are arguments. The time counts from boot, so that messages do not wait because a wall clock was set
//! back. A closed circuit lets messages through and counts failures. An open one lets no message through for a while, and then
//! one as a probe; the result of the probe closes the circuit or opens it for twice as long. An endpoint that said it is gone is
//! believed until the server starts again, or until an admin sends a message to it again.

use std::collections::VecDeque;
use std::time::Duration;

/// The number of failures in a row that opens the circuit.
const FAILURES_IN_A_ROW: u32 = 10;
/// The number of the last tries that are remembered. If so many are known and half of them failed, the circuit opens.
const REMEMBERED_MAX: usize = 20;
/// How long the circuit stays open the first time; each failed probe doubles it.
const OPEN: Duration = Duration::from_secs(30);
/// The longest time it stays open.
const OPEN_MAX: Duration = Duration::from_mins(15);
/// The percentage by which the time that a circuit stays open varies in either direction, so that circuits that opened together
/// are not probed together.
const VARIES_BY_PERCENT: u32 = 20;

/// The outcome of one try, as the circuit sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Worked,
    Failed,
    /// The endpoint said that it will never take a message again.
    Gone(String),
}

/// Which messages the circuit lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Free,
    /// One message, to see whether the endpoint works again.
    Probe,
    /// No message until that time.
    Until(Duration),
    /// No message while a probe is under way.
    Probing,
    /// No message ever.
    Gone(String),
}

/// A remembered try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Try {
    Worked,
    Failed,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Closed,
    Open(Duration),
    Probing,
    Gone(String),
}

/// The circuit of one endpoint.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    state: State,
    /// The last tries, oldest first.
    tries: VecDeque<Try>,
    in_a_row: u32,
    /// How often it has opened since the endpoint last worked.
    openings: u32,
}

impl Circuit {
    /// Which messages may pass at `now`.
    pub(super) fn passage(&self, now: Duration) -> Passage {
        match &self.state {
            State::Closed => Passage::Free,
            State::Open(until) if now < *until => Passage::Until(*until),
            State::Open(_) => Passage::Probe,
            State::Probing => Passage::Probing,
            State::Gone(reason) => Passage::Gone(reason.clone()),
        }
    }

    /// Whether the circuit holds messages back.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed)
    }

    /// Notes that a message is on its way.
    pub(super) fn begin(&mut self) {
        if let State::Open(_) = self.state {
            self.state = State::Probing;
        }
    }

    /// Notes the outcome of a try; `random` varies the time of the next probe.
    pub(super) fn record(&mut self, outcome: Outcome, now: Duration, random: u16) {
        match outcome {
            Outcome::Worked => *self = self.remembering(Try::Worked),
            Outcome::Gone(reason) => self.state = State::Gone(reason),
            Outcome::Failed => match self.state {
                State::Closed => {
                    *self = self.remembering(Try::Failed);
                    let failures = self.tries.iter().filter(|one| **one == Try::Failed).count();
                    let half_failed = self.tries.len() == REMEMBERED_MAX && failures * 2 >= REMEMBERED_MAX;
                    let fails = self.in_a_row >= FAILURES_IN_A_ROW || half_failed;
                    if fails {
                        self.open(now, random);
                    }
                }
                State::Probing => self.open(now, random),
                // A try that began before the circuit opened tells nothing new.
                State::Open(_) | State::Gone(_) => {}
            },
        }
    }

    /// Lets messages through again, whatever happened before.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    fn remembering(&mut self, newest: Try) -> Self {
        let mut remembered = std::mem::take(&mut self.tries);
        if self.is_open() {
            // The tries before the circuit opened have had their effect, and are forgotten.
            remembered.clear();
        }
        if remembered.len() == REMEMBERED_MAX {
            remembered.pop_front();
        }
        remembered.push_back(newest);
        let in_a_row = match newest {
            Try::Failed => self.in_a_row + 1,
            Try::Worked => 0,
        };
        Self { state: State::Closed, tries: remembered, in_a_row, openings: 0 }
    }

    fn open(&mut self, now: Duration, random: u16) {
        let open = (OPEN * (1 << self.openings.min(10))).min(OPEN_MAX);
        let least = open * (100 - VARIES_BY_PERCENT) / 100;
        let spread = open * (2 * VARIES_BY_PERCENT) / 100;
        self.openings += 1;
        self.state = State::Open(now + least + spread * u32::from(random) / u32::from(u16::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIDDLE: u16 = u16::MAX / 2;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn failing(circuit: &mut Circuit, times: u32) {
        for _ in 0..times {
            circuit.begin();
            circuit.record(Outcome::Failed, at(0), MIDDLE);
        }
    }

    #[test]
    fn ten_failures_in_a_row_open_it_and_nine_do_not() {
        let mut circuit = Circuit::default();
        failing(&mut circuit, 9);
        assert_eq!(circuit.passage(at(0)), Passage::Free);
        circuit.record(Outcome::Worked, at(0), MIDDLE);
        failing(&mut circuit, 9);
        assert_eq!(circuit.passage(at(0)), Passage::Free, "one that worked begins the row anew");
        failing(&mut circuit, 1);
        assert!(matches!(circuit.passage(at(0)), Passage::Until(_)));
    }

    /// The circuit opens when half of the last twenty tries failed, even if no ten failed in a row: an endpoint that takes every
    /// other message costs as much as one that takes none.
    #[test]
    fn half_of_the_last_twenty_open_it() {
        let mut circuit = Circuit::default();
        for _ in 0..9 {
            failing(&mut circuit, 1);
            circuit.record(Outcome::Worked, at(0), MIDDLE);
        }
        assert!(!circuit.is_open(), "nine of eighteen: too few are known");
        circuit.record(Outcome::Worked, at(0), MIDDLE);
        circuit.record(Outcome::Worked, at(0), MIDDLE);
        failing(&mut circuit, 1);
        assert!(!circuit.is_open(), "nine of the last twenty");
        failing(&mut circuit, 1);
        assert!(circuit.is_open(), "ten of the last twenty");
    }

    #[test]
    fn one_probe_passes_when_its_time_has_come_and_a_failed_one_doubles_the_time() {
        let mut circuit = Circuit::default();
        failing(&mut circuit, 10);
        let mut now = at(0);
        for seconds in [30, 60, 120, 240, 480, 900, 900] {
            let Passage::Until(until) = circuit.passage(now) else { panic!("{circuit:?}") };
            let open_for = until.saturating_sub(now);
            assert!(open_for.abs_diff(at(seconds)) <= Duration::from_millis(10), "{open_for:?}, not {seconds} s");
            assert_eq!(circuit.passage(until.saturating_sub(Duration::from_millis(1))), Passage::Until(until));
            assert_eq!(circuit.passage(until), Passage::Probe);
            circuit.begin();
            assert_eq!(circuit.passage(until), Passage::Probing);
            circuit.record(Outcome::Failed, until, MIDDLE);
            now = until;
        }
        let Passage::Until(until) = circuit.passage(now) else { panic!("{circuit:?}") };
        assert_eq!(circuit.passage(until), Passage::Probe);
        circuit.begin();
        circuit.record(Outcome::Worked, until, MIDDLE);
        assert_eq!(circuit.passage(until), Passage::Free);
        failing(&mut circuit, 9);
        assert!(!circuit.is_open(), "what failed before it opened is forgotten");
    }

    #[test]
    fn the_time_of_a_probe_varies_by_a_fifth_at_most() {
        for (random, millis) in [(0, 24_000), (u16::MAX, 36_000)] {
            let mut circuit = Circuit::default();
            for _ in 0..10 {
                circuit.record(Outcome::Failed, at(0), random);
            }
            assert_eq!(circuit.passage(at(0)), Passage::Until(Duration::from_millis(millis)));
        }
    }

    #[test]
    fn an_endpoint_that_is_gone_stays_gone_until_it_is_reset() {
        let mut circuit = Circuit::default();
        circuit.record(Outcome::Gone("410".into()), at(0), MIDDLE);
        circuit.record(Outcome::Failed, at(0), MIDDLE);
        assert_eq!(circuit.passage(at(1_000_000)), Passage::Gone("410".into()));
        circuit.reset();
        assert_eq!(circuit.passage(at(0)), Passage::Free);
    }
}
