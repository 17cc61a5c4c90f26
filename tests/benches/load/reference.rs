//! The reference server of OpenIntent, at its defaults, under the same clients.
//!
//! ```text
//! python3 -m venv target/peer/venv && target/peer/venv/bin/pip install 'openintent[server]==0.17.0'
//! ```

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use harness::bench::arrival::closed_loop;
use harness::bench::connection::{Connection, Target};
use harness::bench::subject::{Made, Open, VALUES, question};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::sleep;
use uuid::Uuid;

pub(super) const NAME: &str = "OpenIntent reference server 0.17.0";
const KEY: &str = "agent-research-key";
const CLIENTS: usize = 32;
/// Requests of each kind in one round; the reference server needs seconds for these.
const COUNT: usize = 300;
const START_WITHIN: Duration = Duration::from_secs(30);

/// The paces of each workload, under the names of our own workloads.
pub(super) type Paces = BTreeMap<(String, String), Vec<f64>>;

/// A reference server that runs.
pub(super) struct Reference {
    target: Target,
    _server: Child,
    _folder: TempDir,
}

impl Reference {
    pub(super) async fn start() -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/peer/venv/bin/openintent-server");
        assert!(program.exists(), "install it first: pip install 'openintent[server]==0.17.0' into target/peer/venv");
        let folder = TempDir::new().unwrap();
        // The system chooses a free port here, because the reference server must be told the number of its port.
        let address: SocketAddr = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let server = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--log-level", "warning"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let began = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            assert!(began.elapsed() < START_WITHIN, "the reference server does not start");
            sleep(Duration::from_millis(50)).await;
        }
        Self { target: Target { address, key: KEY.into() }, _server: server, _folder: folder }
    }

    /// Creates, asks and answers, round by round.
    pub(super) async fn measure(&self, rounds: usize) -> Paces {
        let mut paces = Paces::new();
        let question: Value = serde_json::from_str(&question(86_400)).unwrap();
        for round in 0..=rounds {
            let created = closed_loop(&self.target, CLIENTS, vec![(); COUNT], create).await;
            let ask = async |connection: &mut Connection, intent| suspend(connection, intent, &question).await;
            let asked = closed_loop(&self.target, CLIENTS, created.results.clone(), ask).await;
            let answered = closed_loop(&self.target, CLIENTS, asked.results, respond).await;
            // The first round warms up.
            if round > 0 {
                for (workload, what, pace) in [
                    ("W1", "create, 32 clients", created.per_second),
                    ("W2", "suspend, 32 clients", asked.per_second),
                    ("W3", "respond, 32 clients", answered.per_second),
                ] {
                    paces.entry((workload.to_owned(), what.to_owned())).or_default().push(pace);
                }
            }
        }
        paces
    }
}

async fn create(connection: &mut Connection, (): ()) -> Uuid {
    connection.post("api/v1/intents", r#"{"title":"Refund order 12345","status":"active"}"#).await.ok::<Made>().id
}

/// The six calls that its SDK makes to ask.
async fn suspend(connection: &mut Connection, intent: Uuid, question: &Value) -> Open {
    let path = format!("api/v1/intents/{intent}");
    let version = async |connection: &mut Connection| connection.get(&path).await.ok::<Value>()["version"].as_u64().unwrap();
    let at = version(connection).await;
    let status = r#"{"status":"suspended_awaiting_input"}"#;
    let at_version = |version: u64| format!("if-match: {version}\r\n");
    connection.send("POST", &format!("{path}/status"), &at_version(at), status).await.ok::<Value>();
    let at = version(connection).await;
    let suspension = Uuid::from_u128(!intent.as_u128());
    let mut record = question.clone();
    record["id"] = json!(suspension);
    let change = json!({"patches": [{"op": "set", "path": "_suspension", "value": record}]}).to_string();
    connection.send("POST", &format!("{path}/state"), &at_version(at), &change).await.ok::<Value>();
    let mut payload = question.clone();
    payload["suspension_id"] = json!(suspension);
    let event = json!({"event_type": "intent.suspended", "actor": "agent", "payload": payload}).to_string();
    connection.post(&format!("{path}/events"), &event).await.ok::<Value>();
    version(connection).await;
    Open { intent, suspension }
}

async fn respond(connection: &mut Connection, open: Open) {
    let body = json!({"suspension_id": open.suspension, "value": VALUES[0]}).to_string();
    connection.post(&format!("api/v1/intents/{}/suspend/respond", open.intent), &body).await.ok::<Value>();
}
