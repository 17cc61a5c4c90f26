//! Wishes of the person who runs a test by hand, in variables of the environment: more rounds, a seed, a file.

use std::fmt::Debug;
use std::str::FromStr;

/// The value of a variable, if it is set.
#[expect(clippy::disallowed_methods, reason = "a long run by hand is asked for by a variable")]
pub fn wish(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The number in a variable, or the usual number if the variable is not set.
///
/// # Panics
///
/// The variable holds no number.
pub fn wished<N: FromStr<Err: Debug>>(name: &str, usual: N) -> N {
    wish(name).map_or(usual, |text| text.parse().unwrap_or_else(|error| panic!("{name} is a number: {error:?}")))
}
