//! An honest witness (C2SP `tlog-witness`), written for the tests: it cosigns a checkpoint if the tree extends the last one that it
//! cosigned, and keeps that one.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use placet_server::config::WitnessConfig;
use proof::checkpoint::TreeHead;
use proof::key::{SigningKey, VerifyingKey};
use proof::tree::{NodeHash, is_consistent};
use proof::witness::{PATH, SIZE_TYPE, WitnessKey};
use tokio::io::{AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::receiver::read;

/// The time of its cosignatures, in seconds since 1970.
const TIME_SECONDS: u64 = 1_770_000_000;

#[derive(Default)]
struct State {
    /// The key of the log; a witness knows it from its operator.
    log: Option<VerifyingKey>,
    last: Option<(TreeHead, String)>,
    is_away: bool,
    asked: usize,
}

/// A witness on 127.0.0.1.
pub struct Witness {
    address: SocketAddr,
    key: WitnessKey,
    state: Arc<Mutex<State>>,
    _serving: JoinSet<()>,
}

impl Witness {
    pub async fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let signing = Arc::new(SigningKey::new(name, &[9; 32]).unwrap());
        let key = WitnessKey::new(name, signing.verifying().public()).unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, state.clone(), signing, key.clone()));
        Self { address, key, state, _serving: serving }
    }

    /// Tells the witness the key of a log.
    pub fn knows(&self, log: VerifyingKey) {
        self.state.lock().unwrap().log = Some(log);
    }

    /// Whether it answers with 503.
    pub fn is_away(&self, is_away: bool) {
        self.state.lock().unwrap().is_away = is_away;
    }

    /// How many requests it got.
    pub fn asked(&self) -> usize {
        self.state.lock().unwrap().asked
    }

    /// The checkpoint that it cosigned last: the copy that an auditor reads from it.
    pub fn copy(&self) -> Option<String> {
        self.state.lock().unwrap().last.as_ref().map(|(_, note)| note.clone())
    }

    /// Its key.
    pub fn key(&self) -> &WitnessKey {
        &self.key
    }

    /// The settings of a server that asks it.
    pub fn config(&self) -> WitnessConfig {
        let url = format!("http://{}/secret-path{PATH}", self.address);
        WitnessConfig { key: self.key.clone(), url: url.into(), allow_subnets: vec!["127.0.0.0/8".parse().unwrap()] }
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>, signing: Arc<SigningKey>, key: WitnessKey) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (state, signing, key) = (state.clone(), signing.clone(), key.clone());
        connections.spawn(async move {
            // A log that goes away is no failure of the witness.
            converse(stream, &state, &signing, &key).await.unwrap_or_default();
        });
    }
}

async fn converse(stream: TcpStream, state: &Mutex<State>, signing: &SigningKey, key: &WitnessKey) -> io::Result<()> {
    let mut stream = BufStream::new(stream);
    let posted = read(&mut stream).await?;
    assert_eq!(posted.path, format!("/secret-path{PATH}"));
    let (status, kind, body) = answer(&mut state.lock().unwrap(), &String::from_utf8(posted.body).unwrap(), signing, key);
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    stream.flush().await
}

/// The answer to a request, as the specification has it.
fn answer(state: &mut State, request: &str, signing: &SigningKey, key: &WitnessKey) -> (u16, &'static str, String) {
    let plain = |status| (status, "text/plain", String::new());
    state.asked += 1;
    if state.is_away {
        return plain(503);
    }
    let Some((old, proof, note)) = parse(request) else { return plain(400) };
    let Some(log) = &state.log else { return plain(404) };
    let Ok(head) = TreeHead::verify(note, std::slice::from_ref(log)) else { return plain(403) };
    let (size, root) = state.last.as_ref().map_or((0, [0; 32]), |(last, _)| (last.size, last.root));
    if old > head.size {
        return plain(400);
    }
    if old != size {
        return (409, SIZE_TYPE, format!("{size}\n"));
    }
    if old == head.size && root != head.root {
        return plain(409);
    }
    if old > 0 && old < head.size && !is_consistent((size, root), (head.size, head.root), &proof) {
        return plain(422);
    }
    let text = &note[..=note.rfind("\n\n").unwrap()];
    let signature = signing.sign(format!("cosignature/v1\ntime {TIME_SECONDS}\n{text}").as_bytes());
    let bytes = [&key.hash()[..], &TIME_SECONDS.to_be_bytes(), &signature].concat();
    state.last = Some((head, note.to_owned()));
    (200, "text/plain", format!("\u{2014} {} {}\n", key.name(), STANDARD.encode(bytes)))
}

fn parse(request: &str) -> Option<(u64, Vec<NodeHash>, &str)> {
    let (head, note) = request.split_once("\n\n")?;
    let mut lines = head.lines();
    let old = lines.next()?.strip_prefix("old ")?.parse().ok()?;
    let hash = |line: &str| STANDARD.decode(line).ok()?.try_into().ok();
    Some((old, lines.map(hash).collect::<Option<_>>()?, note))
}
