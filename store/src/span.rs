//! Spans for the asking and the ending of a question, and for the beginning and the end of a stop. A span is made in the transaction, and exported after its commit.
//!
//! Days may lie between the asking and the ending. So their spans are not parent and child: they belong to two traces, and the
//! second span links to the first.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use domain::base::ids::{Entropy, IntentId, SuspensionId};
use domain::suspension::Kind;
use domain::suspension::stop::{Cause, Initiator};

use super::fact::{Method, Outcome};

/// The identity of a span, as `traceparent` carries it (W3C Trace Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    pub trace_id: [u8; 16],
    pub span_id: [u8; 8],
    pub sampled: bool,
}

/// The span of the asking or of the ending of a question, or of the beginning or the end of a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRecord {
    pub context: TraceContext,
    /// The caller's span, if it named one.
    pub parent: Option<TraceContext>,
    pub intent_id: IntentId,
    pub began: DateTime<Utc>,
    pub end: SpanEnd,
}

/// Whether a span stands for the asking of a question or for its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// The question was asked.
    Suspend,
    /// The question ended; `asked` is the span of its asking, absent if spans were not exported at that time.
    Resume { outcome: Outcome, method: Method, asked: Option<TraceContext> },
    /// An intent was stopped.
    Stop(Stopping),
    /// A stop ended; `kept` has the spans of its beginning, absent if spans were not exported at that time.
    GoOn { ending: GoingOn, kept: Option<KeptTrace> },
}

/// The facts that a span tells of the beginning of a stop: no words of callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopping {
    pub handle: SuspensionId,
    pub kind: Kind,
    pub initiator: Initiator,
    pub has_reason: bool,
    pub has_conditions: bool,
    /// The parent of the intent.
    pub parent: Option<IntentId>,
}

/// The facts that a span tells of the end of a stop: no input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoingOn {
    pub handle: SuspensionId,
    pub kind: Kind,
    pub cause: Cause,
    pub continue_transcript: bool,
    pub had_input: bool,
}

/// The spans to which the end of a suspension links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptTrace {
    /// The span of its beginning.
    pub own: TraceContext,
    /// The span of the caller at that time, for a stop.
    pub pipeline: Option<TraceContext>,
}

impl KeptTrace {
    /// The span of a question.
    pub(crate) fn of(own: TraceContext) -> Self {
        Self { own, pipeline: None }
    }
}

/// As the row has it: the texts of one or two spans.
impl fmt::Display for KeptTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.own)?;
        self.pipeline.map_or(Ok(()), |pipeline| write!(f, " {pipeline}"))
    }
}

impl FromStr for KeptTrace {
    type Err = NoTraceContext;

    fn from_str(text: &str) -> Result<Self, NoTraceContext> {
        let (own, pipeline) = text.split_once(' ').map_or((text, None), |(own, pipeline)| (own, Some(pipeline)));
        Ok(Self { own: own.parse()?, pipeline: pipeline.map(str::parse).transpose()? })
    }
}

impl TraceContext {
    /// A new span: in its caller's trace, or in a trace of its own.
    pub(super) fn new(parent: Option<Self>, end: SpanEnd, entropy: &dyn Entropy) -> Self {
        let mut span_id = [0; 8];
        entropy.fill(&mut span_id);
        let mut trace_id = [0; 16];
        entropy.fill(&mut trace_id);
        let asked = match end {
            SpanEnd::Suspend | SpanEnd::Stop(_) => None,
            SpanEnd::Resume { asked, .. } => asked,
            SpanEnd::GoOn { kept, .. } => kept.map(|kept| kept.own),
        };
        Self {
            span_id,
            trace_id: parent.map_or(trace_id, |parent| parent.trace_id),
            // The caller's span decides. Without one, an ending is sampled if the asking was. Without either, the span is
            // sampled.
            sampled: parent.or(asked).is_none_or(|chosen| chosen.sampled),
        }
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (u128::from_be_bytes(self.trace_id), u64::from_be_bytes(self.span_id));
        write!(f, "00-{trace:032x}-{span:016x}-{:02x}", u8::from(self.sampled))
    }
}

/// The text is no `traceparent` that this program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTraceContext;

impl FromStr for TraceContext {
    type Err = NoTraceContext;

    fn from_str(text: &str) -> Result<Self, NoTraceContext> {
        let mut parts = text.split('-');
        let mut part = |length: usize| {
            let part = parts.next().filter(|part| part.len() == length).ok_or(NoTraceContext)?;
            // `from_str_radix` also accepts a sign and capitals, but an invalid header must be ignored, not repaired.
            let hex = part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
            if hex { u128::from_str_radix(part, 16).map_err(|_| NoTraceContext) } else { Err(NoTraceContext) }
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        // Later versions may append parts; version 0 has exactly four, and version 255 is invalid.
        let whole = version != 0 || parts.next().is_none();
        if !whole || version == 255 || trace == 0 || span == 0 {
            return Err(NoTraceContext);
        }
        let span = u64::try_from(span).map_err(|_| NoTraceContext)?;
        Ok(Self { trace_id: trace.to_be_bytes(), span_id: span.to_be_bytes(), sampled: flags & 1 == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_strictly_and_written_as_it_was() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(text.parse::<TraceContext>().unwrap().to_string(), text);
        assert!(
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-more".parse::<TraceContext>().is_ok_and(|it| !it.sampled)
        );
        for pipeline in [None, Some(text.parse().unwrap())] {
            let kept = KeptTrace { own: text.parse().unwrap(), pipeline };
            assert_eq!(kept.to_string().parse(), Ok(kept));
        }
        for wrong in [
            "",
            "00",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert_eq!(wrong.parse::<TraceContext>(), Err(NoTraceContext), "{wrong}");
        }
    }
}
