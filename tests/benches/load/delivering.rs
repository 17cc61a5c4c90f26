//! W9: how soon and how fast messages leave, to a mail server and to webhooks in this process, and how long answers take meanwhile.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use harness::bench::arrival::{Done, closed_loop, milliseconds};
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
/// How many endpoints share the messages. To a single endpoint the server would send only four messages at the same time.
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

/// Answers in random order, once while no mail leaves and once while as many mails leave as there are answers. The mails are
/// about other questions than those that are answered, because an answer withdraws the queued mails of its own question.
async fn answers_beside_mails(arguments: &Arguments, report: &mut Report) {
    let (sink, gate) = mail_server_apart();
    let mut subject = Subject::start_in(Site::production(gate.url()), Told::OnePerson, Vec::new()).await;
    let count = arguments.count;
    answer_all(&subject, ask_all(&subject, count / 4).await).await; // Warms up.
    let (mut paces, mut p99s, mut ratios, mut mails) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..arguments.rounds {
        let (first, second) = (ask_all(&subject, count).await, ask_all(&subject, count).await);
        until_all_left(&sink).await;
        let (calm, busy) = if round.is_multiple_of(2) {
            let calm = answer_all(&subject, first).await;
            (calm, answer_while_mails_leave(&subject, &sink, &gate, second, &mut mails).await)
        } else {
            let busy = answer_while_mails_leave(&subject, &sink, &gate, second, &mut mails).await;
            until_all_left(&sink).await;
            (answer_all(&subject, first).await, busy)
        };
        let [calm, busy_p99] = [&calm, &busy].map(|done| percentile(&done.milliseconds, 0.99));
        paces.push(busy.per_second);
        p99s.push(busy_p99);
        ratios.push(busy_p99 / calm);
    }
    let what = format!("respond in random order, {CLIENTS} clients, while {count} queued mails leave");
    report.add(Figure::new("W9", what.clone(), "/s", paces));
    report.add(Figure::new("W9", format!("{what}, p99"), "ms", p99s));
    report.add(Figure::new("W9", format!("{what}, p99 against none"), "×", ratios).at_most(1.5));
    report.add(Figure::new("W9", format!("{what}, mails meanwhile"), "/s", mails).at_least(100.0));
    subject.kill().await;
}

async fn ask_all(subject: &Subject, count: usize) -> Vec<Open> {
    let question = question(86_400);
    let ask = async |connection: &mut Connection, ()| ask(connection, &question).await;
    closed_loop(&subject.agent, CLIENTS, vec![(); count], ask).await.results
}

async fn answer_all(subject: &Subject, open: Vec<Open>) -> Done<()> {
    let answer = async |connection: &mut Connection, open| {
        respond(connection, open, VALUES[0], None).await;
    };
    closed_loop(&subject.operator, CLIENTS, shuffled(open), answer).await
}

/// Queues as many mails as there are answers, lets them leave, and begins to answer when the first mail has arrived.
async fn answer_while_mails_leave(
    subject: &Subject,
    sink: &SmtpSink,
    gate: &Gate,
    open: Vec<Open>,
    mails: &mut Vec<f64>,
) -> Done<()> {
    gate.set_open(false);
    ask_all(subject, open.len()).await;
    let before = sink.count();
    gate.set_open(true);
    while sink.count() == before {
        sleep(LOOK).await;
    }
    let (began, before) = (Instant::now(), sink.count());
    let done = answer_all(subject, open).await;
    let left = u32::try_from(sink.count() - before).unwrap();
    mails.push(f64::from(left) / began.elapsed().as_secs_f64());
    done
}

/// Waits until no mail has come for a second.
async fn until_all_left(sink: &SmtpSink) {
    let mut seen = usize::MAX;
    while std::mem::replace(&mut seen, sink.count()) != sink.count() {
        sleep(Duration::from_secs(1)).await;
    }
}

/// A mail server behind a gate, on a thread of their own: their work must not delay the clients.
fn mail_server_apart() -> (SmtpSink, Gate) {
    let (sender, started) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sink = SmtpSink::start().await;
            let gate = Gate::start(&sink.url()).await;
            sender.send((sink, gate)).unwrap();
            std::future::pending::<()>().await;
        });
    });
    started.recv().unwrap()
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
