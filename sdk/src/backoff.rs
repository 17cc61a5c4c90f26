//! When a failed call is sent again: what failed says whether, this says when.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The pause before the first repetition; it doubles from then on.
const PAUSE_MIN: Duration = Duration::from_millis(250);
/// The longest pause, unless the server asks for a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// Whether a call may be carried out twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Twice is as good as once: reading, and writes the server recognises.
    Safe,
    /// Twice does it twice: only what certainly did not arrive is sent again.
    Unsafe,
}

/// Whether sending again helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It may, after what the server asks for.
    Retry {
        /// From `Retry-After`.
        after: Option<Duration>,
    },
    /// It does not, or it would do it twice.
    Permanent,
}

/// Judges an HTTP status that is no success.
pub(crate) fn judge_status(status: u16, repeat: Repeat, headers: &HeaderMap) -> Verdict {
    match (status, repeat) {
        // Counted before anything is done, so nothing was done.
        (429, _) | (408 | 502 | 503 | 504, Repeat::Safe) => Verdict::Retry { after: retry_after(headers) },
        _ => Verdict::Permanent,
    }
}

/// Judges a failure of the network.
pub(crate) fn judge_network(error: &reqwest::Error, repeat: Repeat) -> Verdict {
    if error.is_builder() || is_certificate(error) {
        return Verdict::Permanent;
    }
    // Without a connection, nothing was sent.
    if error.is_connect() || repeat == Repeat::Safe { Verdict::Retry { after: None } } else { Verdict::Permanent }
}

/// A certificate does not become valid by waiting, and the caller should hear of it at once.
fn is_certificate(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        // An I/O error hides what it wraps from `source`.
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = inner.and_then(|inner| inner.downcast_ref()).or_else(|| error.downcast_ref());
        if matches!(tls, Some(rustls::Error::InvalidCertificate(_))) {
            return true;
        }
        source = error.source();
    }
    false
}

/// The pause before repetition number `tries` (from 0): doubling, capped, at least what the server asked for, and spread, so that
/// agents stopped by one outage do not return in one moment.
pub(crate) fn pause(tries: u32, after: Option<Duration>, jitter: f64) -> Duration {
    let full = PAUSE_MIN.saturating_mul(2_u32.saturating_pow(tries)).min(PAUSE_MAX);
    let spread = full.mul_f64(jitter.clamp(0.0, 1.0) / 2.0);
    match after {
        Some(after) => after.saturating_add(spread),
        None => full / 2 + spread,
    }
}

/// A number from 0 to 1, different each time; it spreads load and guards nothing.
pub(crate) fn jitter() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

/// Reads `Retry-After`: seconds, or a date, which is measured against the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let wanted = text(RETRY_AFTER)?;
    if let Ok(seconds) = wanted.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = DateTime::parse_from_rfc2822(wanted).ok()?;
    let now = DateTime::parse_from_rfc2822(text(DATE)?).ok()?;
    Some((until - now).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_what_may_be_done_twice_is_sent_twice() {
        let none = HeaderMap::new();
        let retry = Verdict::Retry { after: None };
        for status in [408, 502, 503, 504] {
            assert_eq!(judge_status(status, Repeat::Safe, &none), retry, "{status}");
            assert_eq!(judge_status(status, Repeat::Unsafe, &none), Verdict::Permanent, "{status}");
        }
        assert_eq!(judge_status(429, Repeat::Unsafe, &none), retry);
        for status in [301, 400, 401, 403, 404, 409, 413, 422, 500, 501] {
            assert_eq!(judge_status(status, Repeat::Safe, &none), Verdict::Permanent, "{status}");
        }
    }

    #[test]
    fn retry_after_is_read_in_both_forms() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(retry_after(&headers(&[("retry-after", "7")])), Some(Duration::from_secs(7)));
        let both = headers(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), ("date", date)]);
        assert_eq!(retry_after(&both), Some(Duration::from_mins(1)));
        assert_eq!(retry_after(&headers(&[("retry-after", date), ("date", date)])), Some(Duration::ZERO));
        for unreadable in [headers(&[("retry-after", date)]), headers(&[("retry-after", "soon")]), HeaderMap::new()] {
            assert_eq!(retry_after(&unreadable), None);
        }
    }

    #[test]
    fn pauses_double_up_to_their_cap_and_spread_over_half() {
        let bounds = |tries| (pause(tries, None, 0.0), pause(tries, None, 1.0));
        assert_eq!(bounds(0), (PAUSE_MIN / 2, PAUSE_MIN));
        assert_eq!(bounds(1), (PAUSE_MIN, PAUSE_MIN * 2));
        assert_eq!(bounds(10), (PAUSE_MAX / 2, PAUSE_MAX));
        assert_eq!(bounds(u32::MAX), (PAUSE_MAX / 2, PAUSE_MAX));
        let asked = Duration::from_secs(90);
        assert!(pause(0, Some(asked), 0.0) == asked && pause(9, Some(asked), 1.0) <= asked + PAUSE_MAX / 2);
        assert!((0.0..=1.0).contains(&jitter()));
    }
}
