//! W9: how soon and how fast messages leave, to a mail server and to webhooks in this process.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use harness::bench::arrival::{closed_loop, milliseconds};
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::percentile;
use harness::bench::subject::{Subject, Told, ask, question};
use harness::process::Site;
use harness::receiver::{Receiver, SECRET};
use harness::smtp::SmtpSink;
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
    webhooks(arguments, report).await;
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
    std::fs::write(&file, format!("[channels]\ndefault = ['email']\n{settings}")).unwrap();
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
