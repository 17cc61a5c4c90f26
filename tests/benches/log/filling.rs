//! Questions that are created, asked and answered, all of it by requests.

use std::time::Instant;

use harness::bench::arrival::closed_loop;
use harness::bench::connection::Connection;
use harness::bench::figures::{Figure, Report};
use harness::bench::subject::{Open, Subject, VALUES, create, question, respond, suspend};
use uuid::Uuid;

/// Requests under way at the same time.
const CLIENTS: usize = 256;
/// Questions that are open at the same time.
const CHUNK: usize = 20_000;
/// One of so many questions is not answered.
const ONE_STAYS_OPEN: usize = 1_000;
/// The deadline of a question, in seconds: no question ends while the log is measured.
const YEAR_SECONDS: u32 = 31_536_000;

/// Asks this many questions and answers them, in the order of asking.
pub(super) async fn decide(subject: &Subject, count: usize) {
    let question = question(YEAR_SECONDS);
    for begin in (0..count).step_by(CHUNK) {
        let intents = vec![(); CHUNK.min(count - begin)];
        let intents = closed_loop(&subject.agent, CLIENTS, intents, async |connection, ()| create(connection).await).await;
        let ask = async |connection: &mut Connection, intent: Uuid| suspend(connection, intent, &question).await;
        let asked = closed_loop(&subject.agent, CLIENTS, intents.results, ask).await.results;
        let asked = asked.into_iter().enumerate().filter(|(place, _)| place % ONE_STAYS_OPEN != 0).collect();
        let answer = async |connection: &mut Connection, (place, open): (usize, Open)| {
            respond(connection, open, VALUES[place % VALUES.len()], None).await;
        };
        closed_loop(&subject.operator, CLIENTS, asked, answer).await;
    }
}

/// Fills the database.
pub(super) async fn fill(subject: &Subject, questions: usize, report: &mut Report) {
    let began = Instant::now();
    decide(subject, questions).await;
    let pace = f64::from(u32::try_from(questions).unwrap()) / began.elapsed().as_secs_f64();
    let what = format!("create, suspend and respond, {CLIENTS} clients, until {questions} questions are there");
    report.add(Figure::new("W15", what, "/s", vec![pace]));
}
