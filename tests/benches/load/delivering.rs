//! W9: how soon and how fast messages leave, to a mail server and to webhooks in this process, and how long answers take meanwhile.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use harness::bench::arrival::{closed_loop, milliseconds};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, Told, UNPRESSED, VALUES, ask, question, respond};
use harness::bench::{percentile, shuffled};
use harness::process::Site;
use harness::receiver::{Receiver, SECRET};
use harness::smtp::SmtpSink;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Arguments;

/// Questions asked one by one, each when the message of the one before has arrived.
const ONE_BY_ONE: usize = 200;
const CLIENTS: usize = 32;
/// Endpoints over which the messages are spread: a single one would get four at a time.
const ENDPOINTS: usize = 16;
/// How often the benchmark looks for new messages.
const LOOK: Duration = Duration::from_millis(1);

pub(super) async fn measure(arguments: &Arguments, report: &mut Report) {
    let question = question(86_400);
    let sink = SmtpSink::start().await;
    let mut subject = Subject::start_in(Site::production(sink.url()), Told::OnePerson, Vec::new()).await;
    let mut connection = Connection::open(&subject.agent).await;
    let mut latencies = Vec::new();
    for _ in 0..ONE_BY_ONE {
        ask(&mut connection, &question).await;
        let asked = Instant::now();
        sink.next_mail().await;
        latencies.push(milliseconds(asked));
    }
    latencies.sort_by(f64::total_cmp);
    let p99 = percentile(&latencies, 0.99);
    report
        .add(Figure::new("W9", "from the answer of suspend to the mail in the mail server, p99", "ms", vec![p99]).at_most(100.0));
    let count = arguments.count / 10;
    let mut paces = Vec::new();
    for _ in 0..arguments.rounds {
        let began = Instant::now();
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await).await;
        for _ in 0..count {
            sink.next_mail().await;
        }
        paces.push(f64::from(u32::try_from(count).unwrap()) / began.elapsed().as_secs_f64());
    }
    report.add(Figure::new("W9", "mails, from the first question until the last mail", "/s", paces).at_least(500.0));
    subject.kill().await;
    answers_beside_mails(arguments, report).await;
    webhooks(arguments, report).await;
}

/// Answers in random order, once while nothing leaves and once while as many mails leave as there are answers. The mails are about
/// other questions: an answer withdraws the queued mails of its own.
async fn answers_beside_mails(arguments: &Arguments, report: &mut Report) {
    let sink = SmtpSink::start().await;
    let gate = Gate::start(&sink.url()).await;
    let mut subject = Subject::start_in(Site::production(gate.url()), Told::OnePerson, Vec::new()).await;
    let question = question(86_400);
    let count = arguments.count;
    let ask_all = async || {
        closed_loop(&subject.agent, CLIENTS, vec![(); count], async |connection, ()| ask(connection, &question).await)
            .await
            .results
    };
    let answer_all = async |open: Vec<Open>| {
        let answer = async |connection: &mut Connection, open| {
            respond(connection, open, VALUES[0], None).await;
        };
        closed_loop(&subject.operator, CLIENTS, shuffled(open), answer).await
    };
    let (first, second) = (ask_all().await, ask_all().await);
    for _ in 0..2 * count {
        sink.next_mail().await;
    }
    let alone = answer_all(first).await;
    gate.set_open(false);
    ask_all().await;
    gate.set_open(true);
    sink.next_mail().await;
    let before = sink.count();
    let beside = answer_all(second).await;
    let left = sink.count() - before;
    assert!(left < count, "all mails had left before the answers were given");
    let what = format!("respond in random order, {CLIENTS} clients, while {left} of {count} queued mails leave");
    let [calm, busy] = [&alone, &beside].map(|done| percentile(&done.milliseconds, 0.99));
    report.add(Figure::new("W9", what.clone(), "/s", vec![beside.per_second]));
    report.add(Figure::new("W9", format!("{what}, p99"), "ms", vec![busy]));
    report.add(Figure::new("W9", format!("{what}, p99 against none"), "×", vec![busy / calm]).at_most(1.5));
    subject.kill().await;
}

/// The way to a mail server, which can be closed: then mails queue.
struct Gate {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
    _connections: JoinSet<()>,
}

impl Gate {
    async fn start(smtp_url: &str) -> Self {
        let behind = smtp_url.trim_start_matches("smtp://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (is_open, open) = watch::channel(true);
        let mut connections = JoinSet::new();
        connections.spawn(async move {
            let mut passing = JoinSet::new();
            while let Ok((from, _)) = listener.accept().await {
                let to = TcpStream::connect(&behind).await.unwrap();
                let ((from_reader, from_writer), (to_reader, to_writer)) = (from.into_split(), to.into_split());
                passing.spawn(pass(from_reader, to_writer, open.clone()));
                passing.spawn(pass(to_reader, from_writer, open.clone()));
            }
        });
        Self { address, is_open, _connections: connections }
    }

    fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    fn set_open(&self, open: bool) {
        self.is_open.send_replace(open);
    }
}

/// Passes on the bytes of one direction, while the gate is open.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut open: watch::Receiver<bool>) {
    let mut bytes = vec![0; 64 * 1_024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        let is_open = open.wait_for(|open| *open).await.is_ok();
        if !is_open || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn webhooks(arguments: &Arguments, report: &mut Report) {
    let receiver = Receiver::start().await;
    let site = Site::development();
    let settings = (0..ENDPOINTS).fold(String::new(), |mut text, number| {
        let url = receiver.url();
        let entry = format!("[[channels.webhook]]\nname = 'w{number}'\nurl = '{url}'\nsecret = '{SECRET}'\n");
        writeln!(text, "{entry}allow_subnets = ['127.0.0.0/8']\nlinks = true").unwrap();
        text
    });
    let file = site.folder().join("placet.toml");
    std::fs::write(&file, format!("{UNPRESSED}[channels]\ndefault = ['email']\n{settings}")).unwrap();
    let serve = vec!["--config".to_owned(), file.to_str().unwrap().to_owned()];
    let mut subject = Subject::start_in(site, Told::OnePerson, serve).await;
    let question = question(86_400);
    let count = arguments.count / 10;
    let mut paces = Vec::new();
    for _ in 0..arguments.rounds {
        let began = Instant::now();
        let step = async |connection: &mut Connection, place: usize| {
            let hint = format!(r#"{{"channel_hint":"w{}","#, place % ENDPOINTS);
            ask(connection, &question.replacen('{', &hint, 1)).await
        };
        closed_loop(&subject.agent, CLIENTS, (0..count).collect(), step).await;
        let mut arrived = 0;
        while arrived < count {
            arrived += receiver.posted().len();
            sleep(LOOK).await;
        }
        paces.push(f64::from(u32::try_from(count).unwrap()) / began.elapsed().as_secs_f64());
    }
    let what = format!("webhooks to {ENDPOINTS} endpoints, from the first question until the last message");
    report.add(Figure::new("W9", what, "/s", paces).at_least(2_000.0));
    subject.kill().await;
}
