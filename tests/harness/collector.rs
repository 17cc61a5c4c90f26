//! A collector of traces that keeps all requests.

use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// A collector of traces that keeps all requests.
pub struct Collector {
    url: Url,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    heads: Vec<String>,
    resources: Vec<ResourceSpans>,
}

impl Collector {
    /// Starts one on a port of its own.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let keep = kept.clone();
        #[expect(clippy::disallowed_methods, reason = "a panic in it shows as a span that is missing")]
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                take(stream, &keep).await;
            }
        });
        Self { url, kept }
    }

    /// Its base URL.
    pub fn url(&self) -> Url {
        self.url.clone()
    }

    /// All requests, as text.
    pub fn said(&self) -> String {
        let kept = self.kept.lock().unwrap();
        format!("{:?}\n{:?}", kept.heads, kept.resources)
    }

    /// The first line of each request.
    pub fn requests(&self) -> Vec<String> {
        self.kept.lock().unwrap().heads.iter().map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
    }

    /// The spans with this name, in the order they came.
    pub fn spans(&self, name: &str) -> Vec<Span> {
        let kept = self.kept.lock().unwrap();
        let spans = kept.resources.iter().flat_map(|resource| &resource.scope_spans).flat_map(|scope| &scope.spans);
        spans.filter(|span| span.name == name).cloned().collect()
    }
}

/// One request on one connection, answered with an empty 200.
async fn take(stream: TcpStream, kept: &Mutex<Kept>) {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap() <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    {
        let mut kept = kept.lock().unwrap();
        kept.heads.push(head);
        kept.resources.extend(request.resource_spans);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.unwrap();
}
