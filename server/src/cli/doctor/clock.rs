//! The clock, which decides when deadlines take effect.

use std::time::Instant;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use domain::base::clock::Clock;
use domain::base::time::rfc3339;
use store::host::clock::SystemClock;
use store::sqlite::known_migrations;

use super::finding::Finding;

const CHECK: &str = "clock";
/// How far in the future the newest event may be: a server beside the doctor goes on writing, and time services take small steps.
const AHEAD_MAX: TimeDelta = TimeDelta::seconds(5);
/// How far the wall clock and the monotonic clock may drift apart during the examination.
const DRIFT_MAX: TimeDelta = TimeDelta::milliseconds(500);

/// The wall clock and the monotonic clock at the beginning of the examination.
pub(super) struct Watch {
    wall: DateTime<Utc>,
    steady: Instant,
}

impl Watch {
    pub(super) fn start() -> Self {
        Self { wall: SystemClock.now(), steady: Instant::now() }
    }

    /// Reads both clocks again.
    pub(super) fn check(&self, last_event: Option<DateTime<Utc>>) -> anyhow::Result<Vec<Finding>> {
        let now = SystemClock.now();
        let steady = TimeDelta::from_std(self.steady.elapsed()).unwrap_or(TimeDelta::MAX);
        Ok(judge(now, now - self.wall - steady, written()?, last_event))
    }
}

/// A time before which this program cannot have been written: the date in the name of its newest migration.
pub(in crate::cli) fn written() -> anyhow::Result<DateTime<Utc>> {
    let newest = known_migrations()?.last().cloned().unwrap_or_default();
    Ok(NaiveDateTime::parse_from_str(&newest, "%Y%m%d%H%M%S").map(|made| made.and_utc()).unwrap_or_default())
}

fn judge(now: DateTime<Utc>, drift: TimeDelta, made: DateTime<Utc>, last_event: Option<DateTime<Utc>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if now < made {
        findings.push(Finding::fail(
            CHECK,
            format!("The clock says {}, which is before this program was written.", rfc3339(now)),
            "Set the clock and keep it right with a time service (chrony, systemd-timesyncd): deadlines depend on it.",
        ));
    }
    if let Some(last) = last_event.filter(|last| *last - now > AHEAD_MAX) {
        findings.push(Finding::fail(
            CHECK,
            format!("The newest event in the database is of {}, which is {} s in the future.", rfc3339(last), (last - now).num_seconds()),
            "The clock was set back, or this database comes from a machine whose clock is ahead: correct the clock before you start the server.",
        ));
    }
    if drift.abs() > DRIFT_MAX {
        findings.push(Finding::warn(
            CHECK,
            format!("The clock was changed by {} ms during this examination.", drift.num_milliseconds()),
            "Let one time service correct it slowly; a jump makes deadlines come early or late.",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, format!("The clock says {}.", rfc3339(now))));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    fn levels(now: i64, drift: i64, last_event: Option<i64>) -> Vec<Level> {
        let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::milliseconds(seconds);
        let findings = judge(at(now), TimeDelta::milliseconds(drift), at(100_000), last_event.map(at));
        findings.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn a_clock_that_cannot_be_right_is_found() {
        assert_eq!(levels(100_000, 0, None), [Level::Ok]);
        assert_eq!(levels(99_999, 0, None), [Level::Fail]);
        assert_eq!(levels(200_000, 0, Some(205_000)), [Level::Ok]);
        assert_eq!(levels(200_000, 0, Some(205_001)), [Level::Fail]);
        assert_eq!(levels(200_000, 500, None), [Level::Ok]);
        assert_eq!(levels(200_000, 501, None), [Level::Warn]);
        assert_eq!(levels(200_000, -501, None), [Level::Warn]);
    }
}
