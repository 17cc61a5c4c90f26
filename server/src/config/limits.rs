//! How much the server does at the same time: as much as the machine can take, unless the operator sets it.

use std::num::NonZeroU32;

use anyhow::bail;
use domain::suspension::stop::{HANDOFF_SECONDS, HANDOFF_SECONDS_MAX};
use serde::Deserialize;
use store::allowance::{AGENT_BYTES_PER_DAY, RESERVE_BYTES};

/// The fewest requests worked on at the same time, unless set otherwise: two full batches of the writer.
const CONCURRENT_REQUESTS_MIN: usize = 512;
/// The requests worked on at the same time for each processor, unless set otherwise.
const CONCURRENT_REQUESTS_PER_CORE: usize = 128;
/// The most requests that may be worked on at the same time: answers, writes, deadlines and messages together must not fill the
/// writer's queue.
const CONCURRENT_REQUESTS_MAX: usize = 3_072;
/// The most connections, unless set otherwise.
const CONNECTIONS_DEFAULT: usize = 25_000;
/// How many invalid keys one address may present in a minute: more than people mistype, fewer than a program tries.
const BAD_KEYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).expect("60 is not zero");
/// The open files that the server needs besides its clients' connections: for the database, mail servers and webhooks. A
/// connection to PostgreSQL takes five files, and there may be two hundred of these connections.
const FILES_KEPT: usize = 1_536;

/// How much the server takes at the same time, and how often from one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests worked on at the same time.
    pub concurrent_requests: usize,
    /// Connections.
    pub connections: usize,
    /// Requests of one key, if they are limited.
    pub key_requests_per_minute: Option<NonZeroU32>,
    /// Bytes one agent may have written in a day.
    pub agent_bytes_per_day: u64,
    /// Bytes of the volume under a SQLite database that are kept free for people's answers.
    pub reserve_bytes: u64,
    /// Seconds that an agent has to hand in what it has, when its work is ended.
    pub handoff_seconds: u32,
    /// Invalid keys from one address in a minute. The file has no setting for this limit, because it never refuses a valid key.
    pub bad_keys_per_minute: NonZeroU32,
}

impl Limits {
    /// The limits of this machine.
    pub fn of_this_machine() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let concurrent_requests = cores * CONCURRENT_REQUESTS_PER_CORE;
        Self {
            concurrent_requests: concurrent_requests.clamp(CONCURRENT_REQUESTS_MIN, CONCURRENT_REQUESTS_MAX),
            connections: CONNECTIONS_DEFAULT.min(connections_within(files_max())),
            key_requests_per_minute: None,
            agent_bytes_per_day: AGENT_BYTES_PER_DAY,
            reserve_bytes: RESERVE_BYTES,
            handoff_seconds: HANDOFF_SECONDS,
            bad_keys_per_minute: BAD_KEYS_PER_MINUTE,
        }
    }
}

/// How many connections a process may have if it may open so many files.
fn connections_within(files: usize) -> usize {
    files.saturating_sub(FILES_KEPT).max(files / 2).max(1)
}

/// How many files the process may have open, after it has asked for as many as it can get.
#[cfg(unix)]
fn files_max() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.maximum.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

#[cfg(not(unix))]
fn files_max() -> usize {
    usize::MAX
}

/// Asks for as many open files as the system allows: each connection is a file, and shells allow 1,024 where the system would
/// allow more.
pub fn raise_files_max() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
            tracing::warn!(error = %error, "failed to raise the limit of open files; connections may be refused early");
        }
    }
}

/// Asks the system to back memory with small pages only: thousands of connections each use a small part of their buffers, and in
/// a large page the unused parts take memory as well.
pub fn use_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(error = %error, "failed to turn large pages off; each connection takes more memory");
    }
}

/// `[limits]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsSection {
    concurrent_requests: Option<usize>,
    connections: Option<usize>,
    key_requests_per_minute: Option<NonZeroU32>,
    agent_bytes_per_day: Option<u64>,
    reserve_bytes: Option<u64>,
    handoff_seconds: Option<u32>,
}

impl LimitsSection {
    pub(super) fn resolve(self) -> anyhow::Result<Limits> {
        let machine = Limits::of_this_machine();
        let limits = Limits {
            concurrent_requests: self.concurrent_requests.unwrap_or(machine.concurrent_requests),
            connections: self.connections.unwrap_or(machine.connections),
            key_requests_per_minute: self.key_requests_per_minute,
            agent_bytes_per_day: self.agent_bytes_per_day.unwrap_or(machine.agent_bytes_per_day),
            reserve_bytes: self.reserve_bytes.unwrap_or(machine.reserve_bytes),
            handoff_seconds: self.handoff_seconds.unwrap_or(machine.handoff_seconds),
            ..machine
        };
        if !(1..=CONCURRENT_REQUESTS_MAX).contains(&limits.concurrent_requests) {
            bail!("limits.concurrent_requests must be 1 to {CONCURRENT_REQUESTS_MAX}");
        }
        if !(1..=HANDOFF_SECONDS_MAX).contains(&limits.handoff_seconds) {
            bail!("limits.handoff_seconds must be 1 to {HANDOFF_SECONDS_MAX}");
        }
        if limits.agent_bytes_per_day == 0 {
            bail!("limits.agent_bytes_per_day must be 1 or more");
        }
        let connections_max = connections_within(files_max());
        if !(1..=connections_max).contains(&limits.connections) {
            bail!("limits.connections must be 1 to {connections_max}; the process's limit of open files allows no more");
        }
        Ok(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_keep_their_bounds() {
        let resolve = |concurrent_requests, connections| {
            LimitsSection { concurrent_requests, connections, ..LimitsSection::default() }.resolve()
        };
        assert_eq!(resolve(None, None).unwrap(), Limits::of_this_machine());
        for (right, wrong) in [(1, 0), (CONCURRENT_REQUESTS_MAX, CONCURRENT_REQUESTS_MAX + 1)] {
            assert_eq!(resolve(Some(right), None).unwrap().concurrent_requests, right);
            assert!(resolve(Some(wrong), None).is_err());
        }
        let seconds = |handoff_seconds| LimitsSection { handoff_seconds, ..LimitsSection::default() }.resolve();
        assert_eq!(seconds(None).unwrap().handoff_seconds, 60);
        for (right, wrong) in [(1, 0), (HANDOFF_SECONDS_MAX, HANDOFF_SECONDS_MAX + 1)] {
            assert_eq!(seconds(Some(right)).unwrap().handoff_seconds, right);
            assert!(seconds(Some(wrong)).is_err());
        }
        assert_eq!(resolve(None, Some(1)).unwrap().connections, 1);
        assert!(resolve(None, Some(0)).is_err());
        assert!(files_max() == usize::MAX || resolve(None, Some(files_max())).is_err());
    }

    /// Where a process may open only few files, connections take only half of them, so that some are left for the database.
    #[test]
    fn connections_leave_files_for_the_rest() {
        for (files, connections) in [(1, 1), (256, 128), (1_024, 512), (20_000, 18_464)] {
            assert_eq!(connections_within(files), connections);
        }
    }
}
