//! The layer in front of the server. It adds the keys, and has the person answer. Paths, forms, errors, streams and pushes are the
//! server's own.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use anyhow::ensure;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use store::host::task::spawn_named;
use tokio::time::sleep;

use crate::skill::{Skill, shown};

/// The largest body, in bytes; more than the server takes, so that the server refuses a body.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The headers that belong to a connection, and not to what is sent over it.
const OF_CONNECTIONS: [&str; 4] = ["host", "content-length", "connection", "transfer-encoding"];

/// The layer.
pub(crate) struct Front {
    http: reqwest::Client,
    /// The address of the server.
    server: String,
    /// The keys of the agent that asks, and of the person who answers.
    agent: String,
    person: String,
    /// How many messages came so far.
    messages: AtomicU64,
}

/// A request as it is passed on.
#[derive(Clone)]
struct Passed {
    method: reqwest::Method,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

/// A message in a request.
struct Sending {
    skill: Skill,
    /// Whether it begins a task.
    begins: bool,
    at_once: bool,
}

impl Front {
    pub(crate) fn new(server: SocketAddr, agent: String, person: String) -> Self {
        Self { http: reqwest::Client::new(), server: format!("http://{server}"), agent, person, messages: AtomicU64::new(0) }
    }

    async fn pass(&self, passed: &Passed, key: &str) -> anyhow::Result<reqwest::Response> {
        let mut request = self.http.request(passed.method.clone(), format!("{}{}", self.server, passed.path));
        for (name, value) in &passed.headers {
            request = request.header(name, value.as_slice());
        }
        Ok(request.header("x-api-key", key).body(passed.body.clone()).send().await?)
    }

    /// The person answers the question of a task, by a message as every other client sends it.
    async fn answer(&self, task: &str, answer: &str) -> anyhow::Result<()> {
        let number = self.messages.fetch_add(1, Ordering::Relaxed);
        let message = json!({
            "messageId": format!("answer-{number}"),
            "role": "ROLE_USER",
            "taskId": task,
            "parts": [{ "text": answer }],
        });
        let request = self.http.post(format!("{}/a2a/message:send", self.server)).header("x-api-key", &self.person);
        let response = request.header("a2a-version", "1.0").json(&json!({ "message": message })).send().await?;
        let (status, body) = (response.status(), response.text().await?);
        ensure!(status.is_success(), "the answer was refused: {body}");
        Ok(())
    }

    /// Reads the message in a request, and gives it an id of its own: the kit sends different messages under one id, and to the server that
    /// is a message that comes again.
    fn read(&self, passed: &mut Passed) -> Option<Sending> {
        let mut body: Value = serde_json::from_slice(&passed.body).ok()?;
        let params = match (&*passed.path, body["method"].as_str()) {
            // The kit ends the address of JSON-RPC, as the card has it, with a slash.
            ("/a2a" | "/a2a/", Some("SendMessage" | "SendStreamingMessage")) => body.get_mut("params")?,
            ("/a2a/message:send" | "/a2a/message:stream", _) => &mut body,
            _ => return None,
        };
        let at_once = params["configuration"]["returnImmediately"] == true;
        let message = params.get_mut("message")?;
        let id = message["messageId"].as_str()?.to_owned();
        let skill = Skill::of(&id);
        let begins = message["taskId"].as_str().is_none_or(str::is_empty);
        message["messageId"] = json!(format!("{id}.{}", self.messages.fetch_add(1, Ordering::Relaxed)));
        if begins && let Some(question) = skill.question() {
            message["parts"] = question;
        } else if !begins && id.starts_with("tck-complete-task") {
            // The kit's words are no answer to a question. By its scenario this message ends the task.
            message["parts"] = json!([{ "text": "yes" }]);
        }
        passed.body = body.to_string().into_bytes();
        Some(Sending { skill, begins, at_once })
    }
}

/// Answers every request.
pub(crate) async fn answer(request: HttpRequest, body: Bytes, front: Data<Front>) -> HttpResponse {
    let answered = answered(&request, body, front).await;
    answered.unwrap_or_else(|error| HttpResponse::BadGateway().body(format!("{error:#}")))
}

async fn answered(request: &HttpRequest, body: Bytes, front: Data<Front>) -> anyhow::Result<HttpResponse> {
    let headers = request.headers().iter().filter(|(name, _)| !OF_CONNECTIONS.contains(&name.as_str()));
    let query = request.uri().query().map_or_else(String::new, |query| format!("?{query}"));
    let mut passed = Passed {
        method: request.method().as_str().parse()?,
        path: format!("{}{query}", request.path()),
        headers: headers.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_owned())).collect(),
        body: body.to_vec(),
    };
    let sending = front.read(&mut passed);
    // A message to a task comes from the side that answers, and everything else from the agent that asks.
    let key = if sending.as_ref().is_some_and(|sending| !sending.begins) { &front.person } else { &front.agent };
    let response = front.pass(&passed, key).await?;
    let asks = sending.filter(|sending| sending.begins);
    let at_once = asks.as_ref().is_some_and(|asks| asks.at_once);
    let answer = asks.and_then(|asks| asks.skill.answer());
    if is_stream(&response) {
        return streamed(response, front, answer);
    }
    let (reply, task) = whole(response).await?;
    let (Some(task), Some((answer, after))) = (task, answer) else { return Ok(reply) };
    if at_once {
        answer_later(front, task, answer, after);
        return Ok(reply);
    }
    sleep(after).await;
    front.answer(&task, &answer).await?;
    // The same message again is the same task, as it is by then.
    Ok(whole(front.pass(&passed, &front.agent).await?).await?.0)
}

fn answer_later(front: Data<Front>, task: String, answer: String, after: Duration) {
    drop(spawn_named("person", async move {
        sleep(after).await;
        // A client that cancels is quicker than the person now and then.
        drop(front.answer(&task, &answer).await);
    }));
}

fn is_stream(response: &reqwest::Response) -> bool {
    let kind = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// The status and the headers of a response.
fn head(response: &reqwest::Response) -> anyhow::Result<HttpResponseBuilder> {
    let mut head = HttpResponse::build(StatusCode::from_u16(response.status().as_u16())?);
    for (name, value) in response.headers().iter().filter(|(name, _)| !OF_CONNECTIONS.contains(&name.as_str())) {
        head.append_header((name.as_str(), value.as_bytes()));
    }
    Ok(head)
}

/// A response that is no stream, and the id of the task in it that waits.
async fn whole(response: reqwest::Response) -> anyhow::Result<(HttpResponse, Option<String>)> {
    let mut head = head(&response)?;
    let bytes = response.bytes().await?;
    let Ok(mut body) = serde_json::from_slice::<Value>(&bytes) else { return Ok((head.body(bytes), None)) };
    let task = waiting(&body);
    shown(&mut body);
    Ok((head.body(body.to_string()), task))
}

/// The id of the task in the result of a message, if it waits for an answer.
fn waiting(body: &Value) -> Option<String> {
    let task = body.get("result").unwrap_or(body).get("task")?;
    let waits = task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED";
    task["id"].as_str().filter(|_| waits).map(str::to_owned)
}

/// A stream. The person answers once the client was told of the task.
fn streamed(response: reqwest::Response, front: Data<Front>, answer: Option<(String, Duration)>) -> anyhow::Result<HttpResponse> {
    let mut head = head(&response)?;
    let events = Events { response, unread: String::new(), front, answer };
    let body = unfold(events, async |mut events| {
        let next = events.next().await.transpose()?;
        Some((next, events))
    });
    Ok(head.streaming(body))
}

/// The events of a stream of the server.
struct Events {
    response: reqwest::Response,
    unread: String,
    front: Data<Front>,
    /// The answer that the person still has to give, and how long it takes.
    answer: Option<(String, Duration)>,
}

impl Events {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            if let Some((event, rest)) = self.unread.split_once("\n\n") {
                let (event, rest) = (self.event(event), rest.to_owned());
                self.unread = rest;
                return Ok(Some(event));
            }
            match self.response.chunk().await.map_err(io::Error::other)? {
                Some(bytes) => self.unread.push_str(std::str::from_utf8(&bytes).map_err(io::Error::other)?),
                None => return Ok(None),
            }
        }
    }

    fn event(&self, event: &str) -> Bytes {
        let item = event.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        let Some(mut item) = item else { return Bytes::from(format!("{event}\n\n")) };
        if let (Some(task), Some((answer, after))) = (waiting(&item), &self.answer) {
            answer_later(self.front.clone(), task, answer.clone(), *after);
        }
        shown(&mut item);
        Bytes::from(format!("data: {item}\n\n"))
    }
}
