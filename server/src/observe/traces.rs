//! Spans for a collector, over OTLP (HTTP, protobuf), when there is one.
//!
//! Guarantee: a span holds only the intent's id, how the question ended, and by what means; of a stop also its id, which opens nothing, and
//! which wishes it came with. It holds no texts, no addresses, no ids of questions. Mechanism: the writer puts the span of a commit into a bounded queue, from which a separate thread sends it. Failure:
//! spans are lost if a collector is slow or gone, and no other part of the server waits for it.

use std::fmt;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use domain::suspension::Kind;
use domain::suspension::stop::{Cause, Initiator};
use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor};
use store::span::{GoingOn, KeptTrace, SpanEnd, SpanRecord, Stopping, TraceContext};
use tokio::runtime::Handle;
use url::Url;

use crate::crypto::provide_crypto;

/// How long one export may take.
const EXPORT_WAIT: Duration = Duration::from_secs(5);
/// How long spans are gathered before they are exported.
const GATHER: Duration = Duration::from_secs(1);
/// How many spans wait for the collector; more are dropped.
const QUEUE_MAX: usize = 2_048;
/// How long a server that stops waits for its last spans to leave.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// The connection to the collector.
pub struct Traces {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
}

impl Traces {
    /// Starts to export to the collector at `endpoint` (`http://host:4318`); must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// An HTTP client that cannot be made.
    pub fn start(endpoint: &Url) -> anyhow::Result<Self> {
        provide_crypto();
        let http = reqwest::Client::builder().timeout(EXPORT_WAIT).redirect(reqwest::redirect::Policy::none()).build()?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Courier { http, runtime: Handle::current() })
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EXPORT_WAIT)
            .with_endpoint(format!("{}/v1/traces", endpoint.as_str().trim_end_matches('/')))
            .build()
            .context("failed to make the exporter of spans")?;
        let config = BatchConfigBuilder::default().with_scheduled_delay(GATHER).with_max_queue_size(QUEUE_MAX).build();
        let mut processor = BatchSpanProcessor::new(exporter, config);
        let resource = Resource::builder_empty()
            .with_service_name("placet")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_detector(Box::new(EnvResourceDetector::new()))
            .build();
        processor.set_resource(&resource);
        let scope = InstrumentationScope::builder("placet").with_version(env!("CARGO_PKG_VERSION")).build();
        Ok(Self { processor, scope })
    }

    /// Hands over the span of a commit; never waits.
    pub(crate) fn record(&self, span: &SpanRecord, ended: DateTime<Utc>) {
        if !span.context.sampled {
            return;
        }
        let mut attributes = vec![KeyValue::new("intent.id", span.intent_id.to_string())];
        let mut links = SpanLinks::default();
        let name = match span.end {
            SpanEnd::Suspend => "suspend",
            SpanEnd::Resume { outcome, method, asked } => {
                attributes.push(KeyValue::new("placet.outcome", outcome.as_str()));
                attributes.push(KeyValue::new("placet.method", method.as_str()));
                links.links.extend(asked.map(|asked| Link::new(context(asked, true), Vec::new(), 0)));
                "resume"
            }
            SpanEnd::Stop(stopping) => {
                attributes.extend(of_a_stop(&stopping));
                "suspend"
            }
            SpanEnd::GoOn { ending, kept } => {
                links.links.extend(kept.iter().flat_map(links_to));
                attributes.extend(of_an_ending(&ending, links.links.len()));
                "resume"
            }
        };
        self.processor.on_end(SpanData {
            span_context: context(span.context, false),
            parent_span_id: span.parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span_id)),
            parent_span_is_remote: span.parent.is_some(),
            span_kind: SpanKind::Server,
            name: name.into(),
            start_time: span.began.into(),
            end_time: ended.max(span.began).into(),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        });
    }

    /// Sends the spans that are in the queue; blocks until they have left, at most for [`STOP_WAIT`].
    pub(crate) fn stop(&self) {
        if let Err(error) = self.processor.shutdown_with_timeout(STOP_WAIT) {
            tracing::debug!(error = %error, "the last spans did not leave");
        }
    }
}

/// The attributes of the beginning of a stop, in Harn's words.
fn of_a_stop(stopping: &Stopping) -> Vec<KeyValue> {
    let initiator = match stopping.initiator {
        Initiator::Parent => "parent",
        Initiator::Operator => "operator",
        Initiator::Itself => "self",
    };
    let mut attributes = vec![
        KeyValue::new("harn.handle", stopping.handle.expose()),
        KeyValue::new("harn.kind", kind(stopping.kind)),
        KeyValue::new("harn.initiator", initiator),
        KeyValue::new("harn.has_reason", stopping.has_reason),
        KeyValue::new("harn.has_conditions", stopping.has_conditions),
    ];
    attributes.extend(stopping.parent.map(|parent| KeyValue::new("harn.parent_id", parent.to_string())));
    attributes
}

/// Whether an intent was paused or parked, or its work is being ended.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Parked => "parked",
        Kind::Stopping => "stopping",
        Kind::Paused | Kind::AwaitingInput | Kind::Approval | Kind::Escalation | Kind::Arbitration => "paused",
    }
}

/// The attributes of the end of a stop, in Harn's words.
fn of_an_ending(ending: &GoingOn, links: usize) -> Vec<KeyValue> {
    let cause = match ending.cause {
        Cause::ExplicitResume => "explicit_resume",
        Cause::ExternalEvent => "external_event",
        Cause::ConditionFired => "condition_fired",
        Cause::Timeout => "timeout",
        Cause::Closed => "closed",
        Cause::Stopped => "stopped",
        Cause::HandedOver => "handed_over",
    };
    vec![
        KeyValue::new("harn.handle", ending.handle.expose()),
        KeyValue::new("harn.kind", kind(ending.kind)),
        KeyValue::new("harn.cause", cause),
        KeyValue::new("harn.continue_transcript", ending.continue_transcript),
        KeyValue::new("harn.had_resume_input", ending.had_input),
        KeyValue::new("harn.linked_suspension_count", i64::try_from(links.min(1)).unwrap_or_default()),
    ]
}

/// The links of the end of a stop: to the span of its beginning, and to that in which its caller worked then.
fn links_to(kept: &KeptTrace) -> impl Iterator<Item = Link> {
    let link = |to, kind: &'static str| Link::new(context(to, true), vec![KeyValue::new("harn.link.kind", kind)], 0);
    let pipeline = kept.pipeline.map(|pipeline| link(pipeline, "pipeline"));
    std::iter::once(link(kept.own, "suspension")).chain(pipeline)
}

fn context(context: TraceContext, remote: bool) -> SpanContext {
    SpanContext::new(
        TraceId::from_bytes(context.trace_id),
        SpanId::from_bytes(context.span_id),
        if context.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() },
        remote,
        TraceState::default(),
    )
}

/// Sends exports with the HTTP client that the program has anyway. That client needs a tokio runtime, and the exporter's thread
/// has none, so the handle of the program's runtime is kept here.
struct Courier {
    http: reqwest::Client,
    runtime: Handle,
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Courier")
    }
}

#[async_trait]
impl HttpClient for Courier {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request: reqwest::Request = request.try_into()?;
        // Timers must be made on the runtime, so all of the request happens there.
        let http = self.http.clone();
        // Only the head is read: a collector that answers with an endless body costs nothing.
        let status = self.runtime.spawn(async move { http.execute(request).await.map(|response| response.status()) }).await??;
        Ok(Response::builder().status(status).body(Bytes::new())?)
    }
}
