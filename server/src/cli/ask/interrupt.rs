//! The signals that end a wait: Ctrl-C and SIGTERM.

use anyhow::Context;

/// Who ended the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// Ctrl-C, or a CI system that cancels a job.
    Interrupted,
    /// SIGTERM.
    Terminated,
}

impl Interrupt {
    /// What shells expect of a process that a signal ended: 128 and its number.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// What the people asked read.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "The command that asked was interrupted (SIGINT).",
            Self::Terminated => "The command that asked was terminated (SIGTERM).",
        }
    }
}

/// Listens from its making on: a signal that comes early is not lost.
#[cfg(unix)]
pub(super) struct Signals {
    interrupted: tokio::signal::unix::Signal,
    terminated: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| signal(kind).context("failed to listen for signals");
        Ok(Self { interrupted: listen(SignalKind::interrupt())?, terminated: listen(SignalKind::terminate())? })
    }

    pub(super) async fn next(&mut self) -> Interrupt {
        tokio::select! {
            _ = self.interrupted.recv() => Interrupt::Interrupted,
            _ = self.terminated.recv() => Interrupt::Terminated,
        }
    }
}

/// As on Unix, for Ctrl-C.
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
