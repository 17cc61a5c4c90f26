//! Client programs of agents that do not leave every decision to the server, because they apply fallbacks by their own clock,
//! too. The key of an agent names its client program.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A client program that the server makes allowances for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Client {
    /// The Python package `openintent` 0.17: it suspends in three calls, and applies fallbacks by its own clock.
    #[serde(rename = "openintent-0.17")]
    OpenIntent017,
}

impl Client {
    /// The name of the client program in the API, in the log and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenIntent017 => "openintent-0.17",
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Client {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::OpenIntent017;
        if text == known.as_str() { Ok(known) } else { Err(format!("expected {known}")) }
    }
}
