//! Durations as the server takes them: in whole seconds, and never rounded.

use std::time::Duration;

use domain::base::field::FieldError;

/// The seconds of `time` for this field, from 1 to `max`.
///
/// # Errors
///
/// A fraction of a second has the rule `whole_seconds`, and a time beyond the limits has the rule `range`: a deadline that was
/// rounded without a word would be another deadline than the one that the program was written for.
pub(crate) fn whole_seconds(field: &'static str, time: Duration, max: u32) -> Result<u32, FieldError> {
    if time.subsec_nanos() != 0 {
        return Err(FieldError::new(field, "whole_seconds", "must be a whole number of seconds"));
    }
    let seconds = u32::try_from(time.as_secs()).ok().filter(|seconds| (1..=max).contains(seconds));
    seconds.ok_or_else(|| FieldError::new(field, "range", format!("must be 1 to {max} seconds")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_taken_within_their_limits_and_never_rounded() {
        let seconds = |time| whole_seconds("timeout_seconds", time, 60);
        assert_eq!((seconds(Duration::from_secs(1)), seconds(Duration::from_mins(1))), (Ok(1), Ok(60)));
        for beyond in
            [Duration::ZERO, Duration::from_secs(61), Duration::from_secs(u64::from(u32::MAX) + 2), Duration::from_secs(u64::MAX)]
        {
            assert_eq!(seconds(beyond).unwrap_err().rule, "range", "{beyond:?}");
        }
        for between in
            [Duration::from_millis(999), Duration::from_millis(1500), Duration::from_nanos(60_000_000_001), Duration::MAX]
        {
            assert_eq!(seconds(between).unwrap_err().rule, "whole_seconds", "{between:?}");
        }
    }
}
