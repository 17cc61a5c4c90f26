//! The signals that end a wait: Ctrl-C, SIGTERM and SIGHUP.

use anyhow::Context;

/// The signal that ended the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Ctrl-C, or a CI system that cancels a job.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP: the terminal was closed, or the connection to it broke.
    HungUp,
}

impl Interrupt {
    /// The exit code that shells expect of a process that a signal ended: 128 and the signal's number.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::HungUp => 129,
        }
    }

    /// The reason that the people who were asked read.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "The command that asked was interrupted (SIGINT).",
            Self::Terminated => "The command that asked was terminated (SIGTERM).",
            Self::HungUp => "The terminal of the command that asked was closed (SIGHUP).",
        }
    }
}

/// Signals are caught from the moment this is made, so an early signal is not lost.
#[cfg(unix)]
pub(super) struct Signals {
    interrupted: tokio::signal::unix::Signal,
    terminated: tokio::signal::unix::Signal,
    /// `None` if the parent process wants this program to outlive the terminal.
    hung_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("failed to listen for signals");
        let hung_up = if is_hangup_ignored() { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self { interrupted: listen(SignalKind::interrupt())?, terminated: listen(SignalKind::terminate())?, hung_up })
    }

    pub(super) async fn next(&mut self) -> Interrupt {
        let hung_up = async {
            match &mut self.hung_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupted.recv() => Interrupt::Interrupted,
            _ = self.terminated.recv() => Interrupt::Terminated,
            _ = hung_up => Interrupt::HungUp,
        }
    }
}

/// Whether this program was started to outlive its terminal, as by `nohup`: listening for SIGHUP would undo that. On systems that
/// do not tell, this is false.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores_hangup(&status))
}

/// SIGHUP is signal 1, the lowest bit of the mask.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

impl Signals {
    /// Waits for a second signal, from a person who does not want to wait. A hangup does not count: when a terminal closes, the
    /// system sends one, and often the shell sends another.
    pub(super) async fn insisted(&mut self) {
        while self.next().await == Interrupt::HungUp {}
    }
}

/// The same on Windows, for Ctrl-C alone.
#[cfg(windows)]
pub(super) struct Signals {
    interrupted: tokio::signal::windows::CtrlC,
}

#[cfg(windows)]
impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self { interrupted: tokio::signal::windows::ctrl_c().context("failed to listen for Ctrl-C")? })
    }

    pub(super) async fn next(&mut self) -> Interrupt {
        self.interrupted.recv().await;
        Interrupt::Interrupted
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_tells_whether_a_hangup_is_ignored() {
        let status =
            |mask: &str| format!("Name:\tplacet\nSigBlk:\t0000000000000001\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n");
        assert!(ignores_hangup(&status("0000000000000001")) && ignores_hangup(&status("0000000000001003")));
        assert!(!ignores_hangup(&status("0000000000000000")) && !ignores_hangup(&status("0000000000001006")));
        assert!(!ignores_hangup("Name:\tplacet\n") && !ignores_hangup(&status("?")));
    }
}
