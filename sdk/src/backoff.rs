//! Decides whether a failed call is sent again, by the kind of the failure, and when.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use chrono::DateTime;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The longest pause before the first repetition; it doubles from then on.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
/// The longest pause, unless the server asks for a longer one.
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// The shortest pause, whatever the random number.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause that the server may ask for: a wrong number in a header must not stop an agent for days.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(5);

/// The code with which a busy server refuses a request before it has done anything. After a 503 with another code it is unknown
/// whether the request was carried out.
pub(crate) const OVERLOADED: &str = "overloaded";
/// The code with which a server refuses a write because its disk is nearly full: it has written nothing, and keeps the rest of
/// the disk for answers.
pub(crate) const NO_ROOM: &str = "no_room";

/// Whether a call may be carried out twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Doing it twice is harmless: reads, and writes that the server recognizes.
    Safe,
    /// Doing it twice has two effects: the call is sent again only if the server certainly has not carried it out.
    Unsafe,
}

/// Whether another try helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another try may help, after the pause that the server asks for.
    Retry {
        /// The pause from `Retry-After`.
        after: Option<Duration>,
    },
    /// Another try does not help, or could carry the call out twice.
    Permanent,
}

/// Judges a reply whose HTTP status is no success; `code` is the problem code in its body.
pub(crate) fn judge_status(status: u16, code: Option<&str>, repeat: Repeat, headers: &HeaderMap) -> Verdict {
    match (status, code, repeat) {
        // A 429 and `overloaded` refuse the call before the server has done anything. After the other statuses the server may
        // have carried it out, so only a call that is safe to repeat is sent again.
        (429, _, _) | (503, Some(OVERLOADED), _) | (408 | 502 | 503 | 504, _, Repeat::Safe) => {
            Verdict::Retry { after: retry_after(headers) }
        }
        _ => Verdict::Permanent,
    }
}

/// Judges a failure of the network.
pub(crate) fn judge_network(error: &reqwest::Error, repeat: Repeat) -> Verdict {
    if error.is_builder() || is_of_encryption(error) {
        return Verdict::Permanent;
    }
    // Without a connection, nothing was sent.
    if error.is_connect() || repeat == Repeat::Safe { Verdict::Retry { after: None } } else { Verdict::Permanent }
}

/// Whether the encryption failed. Waiting does not make a certificate valid or a server speak TLS, so the caller learns of this
/// failure at once.
fn is_of_encryption(error: &reqwest::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(this) = cause {
        if let Some(error) = this.downcast_ref::<rustls::Error>() {
            return matches!(error, rustls::Error::InvalidCertificate(_) | rustls::Error::InvalidMessage(_));
        }
        // An I/O error wraps another error, and hides it from `source`.
        let inner = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = inner.map(|inner| inner as &(dyn std::error::Error + 'static)).or_else(|| this.source());
    }
    false
}

/// The pause before repetition number `tries` (from 0): a random time up to a bound that doubles, on top of the pause that the
/// server asked for.
///
/// The time up to the bound is random from zero on (full jitter), so that agents stopped by one outage do not all return at one
/// moment.
pub(crate) fn pause(tries: u32, after: Option<Duration>, jitter: f64) -> Duration {
    let bound = PAUSE_FIRST.saturating_mul(2_u32.saturating_pow(tries)).min(PAUSE_MAX);
    let spread = bound.mul_f64(jitter.clamp(0.0, 1.0));
    match after {
        Some(after) => after.min(RETRY_AFTER_MAX) + spread,
        None => spread.max(PAUSE_MIN),
    }
}

/// A random number from 0 to 1, new each time. It only spreads load, so it need not be hard to guess.
pub(crate) fn jitter() -> f64 {
    let bits = u32::try_from(RandomState::new().hash_one(()) >> 32).unwrap_or(0);
    f64::from(bits) / f64::from(u32::MAX)
}

/// Reads `Retry-After`: seconds, or a date, which is compared with the server's own clock.
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
            assert_eq!(judge_status(status, Some("unavailable"), Repeat::Safe, &none), retry, "{status}");
            assert_eq!(judge_status(status, Some("unavailable"), Repeat::Unsafe, &none), Verdict::Permanent, "{status}");
        }
        assert_eq!(judge_status(429, None, Repeat::Unsafe, &none), retry);
        assert_eq!(judge_status(503, Some("overloaded"), Repeat::Unsafe, &none), retry);
        assert_eq!(judge_status(500, Some("overloaded"), Repeat::Unsafe, &none), Verdict::Permanent);
        for status in [301, 400, 401, 403, 404, 409, 413, 422, 500, 501, 507] {
            assert_eq!(judge_status(status, None, Repeat::Safe, &none), Verdict::Permanent, "{status}");
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
    fn the_server_sets_the_pace_within_reason() {
        let asked = Duration::from_secs(90);
        assert_eq!(pause(0, Some(asked), 0.0), asked);
        assert_eq!(pause(9, Some(asked), 1.0), asked + PAUSE_MAX);
        for beyond in [RETRY_AFTER_MAX, RETRY_AFTER_MAX + Duration::from_secs(1), Duration::MAX] {
            assert_eq!(pause(0, Some(beyond), 0.0), RETRY_AFTER_MAX);
        }
    }

    #[test]
    fn pauses_double_up_to_their_cap_and_spread_over_all_of_it() {
        let bounds = |tries| (pause(tries, None, 0.0), pause(tries, None, 1.0));
        assert_eq!(bounds(0), (PAUSE_MIN, PAUSE_FIRST));
        assert_eq!(bounds(1), (PAUSE_MIN, PAUSE_FIRST * 2));
        assert_eq!(bounds(10), (PAUSE_MIN, PAUSE_MAX));
        assert_eq!(bounds(u32::MAX), (PAUSE_MIN, PAUSE_MAX));
        assert_eq!(pause(10, None, 0.5), PAUSE_MAX / 2);
        assert!((0.0..=1.0).contains(&jitter()));
    }
}
