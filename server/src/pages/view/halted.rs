//! The course of a stop, for the record of its intent in plain words.

use chrono::{DateTime, Utc};
use domain::base::text::quoted;
use domain::intent::stop_event::StopEvent;
use domain::suspension::stop::{Cause, Mode, Stage};
use serde_json::Value;

use super::awaited::{Awaited, Document, document};
use super::{LINE_CHARS_MAX, line};

/// One thing that happened to the stop of an intent.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::pages) enum Halted {
    Paused {
        by: String,
        reason: Option<String>,
        /// Whether the agent had to break its turn off.
        at_once: bool,
    },
    Parked {
        by: String,
        reason: Option<String>,
        /// The conditions under which it goes on; absent if it only waited to be resumed.
        awaited: Option<Awaited>,
    },
    /// The work is being ended.
    Ending {
        by: String,
        reason: Option<String>,
        /// Until when the agent may hand in what it has; absent if it has no time.
        until: Option<DateTime<Utc>>,
    },
    TakenOver {
        by: String,
        reason: Option<String>,
    },
    /// The time of an outage was given back.
    MoreTime {
        until: DateTime<Utc>,
    },
    /// The agent has heard of it, or has stopped.
    Settled {
        by: String,
        has_stopped: bool,
    },
    Resumed {
        by: String,
        input: Option<Document>,
    },
    Woken {
        event: String,
        by: String,
        input: Option<Document>,
    },
    /// It goes on, because its time was over.
    Continued,
    /// The intent was abandoned while it was stopped.
    Closed {
        by: String,
    },
    /// A controller ended the work.
    Ended {
        by: String,
    },
    /// The intent was abandoned, because its time was over.
    TimeOver,
    HandedIn {
        by: String,
        document: Option<Document>,
    },
}

impl Halted {
    /// The meaning of an event; `None` if it is not about a stop, or has another form.
    pub(super) fn of(event_type: &str, event: &Value) -> Option<Self> {
        let read = StopEvent::read(event_type, &event["payload"])?.ok()?;
        let actor = || event["actor"].as_str().map(line).unwrap_or_default();
        let said = |reason: Option<&str>| reason.map(|reason| quoted(reason, LINE_CHARS_MAX));
        Some(match read {
            StopEvent::Paused(paused) => Self::Paused {
                by: line(&paused.paused_by),
                reason: said(paused.reason.as_deref()),
                at_once: paused.mode == Mode::InterruptImmediate,
            },
            StopEvent::Parked(parked) => Self::Parked {
                by: line(&parked.parked_by),
                reason: said(Some(&parked.reason)),
                awaited: Awaited::of(parked.conditions.as_ref(), parked.expires_at),
            },
            StopEvent::Stopping(stopping) => Self::Ending {
                by: line(&stopping.stopped_by),
                reason: said(stopping.reason.as_deref()),
                until: stopping.expires_at,
            },
            StopEvent::TakenOver(taken) => {
                Self::TakenOver { by: line(&taken.taken_over_by), reason: said(taken.reason.as_deref()) }
            }
            StopEvent::Extended(extended) => Self::MoreTime { until: extended.new_expires_at },
            StopEvent::Settled(settled) => Self::Settled { by: actor(), has_stopped: settled.stage == Stage::Suspended },
            StopEvent::Resumed(resumed) => {
                let (by, input) = (line(&resumed.resumed_by), resumed.input.as_ref().map(document));
                match (resumed.cause, &resumed.event) {
                    (Cause::Timeout, _) => Self::Continued,
                    (_, Some(event)) => Self::Woken { event: line(event), by, input },
                    (_, None) => Self::Resumed { by, input },
                }
            }
            StopEvent::Closed(closed) => {
                let by = line(&closed.closed_by);
                match closed.cause {
                    Cause::Timeout => Self::TimeOver,
                    Cause::Stopped => Self::Ended { by },
                    Cause::HandedOver => Self::HandedIn { by, document: closed.handoff.as_ref().map(document) },
                    Cause::Closed | Cause::ExplicitResume | Cause::ExternalEvent | Cause::ConditionFired => Self::Closed { by },
                }
            }
        })
    }

    /// The shape and the colour of its mark.
    pub(super) fn mark(&self) -> (&'static str, &'static str) {
        match self {
            Self::MoreTime { .. } | Self::Continued => ("clock", ""),
            Self::TimeOver => ("clock", "time"),
            Self::Resumed { .. } | Self::Woken { .. } | Self::HandedIn { .. } => ("tick", ""),
            Self::Paused { .. }
            | Self::Parked { .. }
            | Self::Ending { .. }
            | Self::TakenOver { .. }
            | Self::Settled { .. }
            | Self::Closed { .. }
            | Self::Ended { .. } => ("bar", ""),
        }
    }
}
