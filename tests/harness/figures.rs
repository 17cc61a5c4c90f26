//! What benchmarks of a server share: how figures are made, and what a figure needs on its line to be one.

use std::collections::BTreeMap;
use std::process::Command;

use crate::process::{Running, profile};

/// The arguments behind `--`: `--open 10000` and the like, each with its default.
pub struct Arguments(BTreeMap<String, u32>);

impl Arguments {
    /// Reads the command line; a name that has no default is refused.
    pub fn read(defaults: &[(&str, u32)]) -> Self {
        let mut values: BTreeMap<String, u32> = defaults.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            let known = word.strip_prefix("--").and_then(|name| values.get_mut(name));
            let value = words.next().and_then(|value| value.parse().ok());
            match (known, value) {
                (Some(known), Some(value)) => *known = value,
                _ => panic!("{word} is not understood; known, each with a number: {:?}", values.keys()),
            }
        }
        Self(values)
    }

    /// The value of a name that has a default.
    pub fn value(&self, name: &str) -> u32 {
        self.0[name]
    }
}

/// The value below which `part` of the sorted figures lie.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place in a short list"
)]
pub fn percentile(sorted: &[f64], part: f64) -> f64 {
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted[place.clamp(1, sorted.len()) - 1]
}

fn line_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| "unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What a figure needs on its line to be one.
pub fn circumstances() -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map_or("unknown CPU", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let commit = line_of("git", &["rev-parse", "--short", "HEAD"]);
    let dirty = if line_of("git", &["status", "--porcelain"]).is_empty() { "" } else { "-dirty" };
    let system = line_of("uname", &["-sr"]);
    format!("{cpu}, {cores} cores, {system}; commit {commit}{dirty}, profile {}; SQLite WAL synchronous=FULL", profile())
}

/// Whether what runs was built for speed.
pub fn profile_is_release() -> bool {
    profile() != "debug"
}

/// Memory of the server's process, in KiB.
pub fn resident_kib(server: &Running) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}
