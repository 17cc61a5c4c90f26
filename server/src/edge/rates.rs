//! Limits on the rate of requests: per key, and per address for invalid keys.
//!
//! The limits use the machine's monotonic clock, so a jump of the wall clock does not change them. Their memory is bounded, and a
//! counter that has been quiet for a while is forgotten.

use std::net::{IpAddr, Ipv6Addr};

use domain::base::ids::KeyId;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};

use crate::config::Limits;

/// How many addresses have a counter of their own; further addresses share one until some have been quiet.
const ADDRESSES_MAX: usize = 10_000;

/// The limits of a server.
pub(crate) struct Rates {
    keys: Option<DefaultKeyedRateLimiter<KeyId>>,
    bad_keys: DefaultKeyedRateLimiter<Option<IpAddr>>,
}

impl Rates {
    /// Starts with empty counters.
    pub(crate) fn new(limits: &Limits) -> Self {
        let limiter = |times| RateLimiter::keyed(Quota::per_minute(times));
        Self {
            keys: limits.key_requests_per_minute.map(limiter),
            bad_keys: RateLimiter::keyed(Quota::per_minute(limits.bad_keys_per_minute)),
        }
    }

    /// Counts a request of a key. If it is refused, the error tells after how many seconds the next one would be let through.
    pub(crate) fn request(&self, key: KeyId) -> Result<(), u32> {
        let Some(keys) = &self.keys else { return Ok(()) };
        keys.check_key(&key).map_err(|refused| seconds_until(&refused))
    }

    /// Counts an invalid key.
    pub(crate) fn bad_key(&self, from: Option<IpAddr>) -> Result<(), u32> {
        self.bad_key_of(from, ADDRESSES_MAX)
    }

    fn bad_key_of(&self, from: Option<IpAddr>, addresses_max: usize) -> Result<(), u32> {
        let told_apart = self.bad_keys.len() < addresses_max;
        let from = from.filter(|_| told_apart).map(network);
        self.bad_keys.check_key(&from).map_err(|refused| seconds_until(&refused))
    }

    /// Forgets counters that have been quiet for a while.
    pub(crate) fn forget_quiet(&self) {
        if let Some(keys) = &self.keys {
            keys.retain_recent();
        }
        self.bad_keys.retain_recent();
    }
}

/// After how many seconds a request like the refused one would be let through.
pub(crate) fn seconds_until(refused: &NotUntil<<DefaultClock as Clock>::Instant>) -> u32 {
    let wait = refused.wait_time_from(DefaultClock::default().now());
    u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1)
}

/// The address, or network, that counts as one client: in IPv6 a network, because every client there has 2^64 addresses.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use uuid::Uuid;

    use super::*;

    fn key(number: u128) -> KeyId {
        KeyId(Uuid::from_u128(number))
    }

    fn rates(key_requests_per_minute: Option<NonZeroU32>) -> Rates {
        Rates::new(&Limits { key_requests_per_minute, ..Limits::of_this_machine() })
    }

    #[test]
    fn a_key_has_its_requests_and_no_other_keys() {
        let rates = rates(NonZeroU32::new(2));
        assert_eq!((rates.request(key(1)), rates.request(key(1))), (Ok(()), Ok(())));
        assert_eq!(rates.request(key(1)), Err(30), "one of two in a minute comes back every 30 seconds");
        assert_eq!(rates.request(key(2)), Ok(()));
        let unlimited = self::rates(None);
        assert!((0..10_000).all(|_| unlimited.request(key(1)).is_ok()));
    }

    #[test]
    fn addresses_of_one_network_count_together_in_ipv6_alone() {
        let same = |a: &str, b: &str| network(a.parse().unwrap()) == network(b.parse().unwrap());
        assert!(same("2001:db8::1", "2001:db8::ffff:1") && !same("2001:db8::1", "2001:db8:0:1::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.1") && !same("192.0.2.1", "192.0.2.2"));
    }

    /// Once as many addresses as allowed have counters of their own, all further addresses share one. So a client with many
    /// addresses neither fills the memory nor escapes the limit.
    #[test]
    fn addresses_beyond_the_bound_share_one_limit() {
        let rates = rates(None);
        let address = |number: u8| Some(IpAddr::from([192, 0, 2, number]));
        for number in 0..3 {
            assert_eq!(rates.bad_key_of(address(number), 3), Ok(()));
        }
        let beyond = (3..=u8::MAX).filter(|number| rates.bad_key_of(address(*number), 3).is_ok()).count();
        // On a slow machine the limit lets some more requests through meanwhile.
        assert!((60..65).contains(&beyond), "{beyond}");
        assert_eq!(rates.bad_keys.len(), 4);
        rates.forget_quiet();
        assert_eq!(rates.bad_keys.len(), 4, "nobody was quiet yet");
    }
}
