//! Many questions from one client: its connections, the limits on calls at a time, and the order of the results.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use placet::{Client, IntentId, Question, RequestInputError, SuspensionId};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::holding::{Connection, Holding, PATIENCE, tasks, tasks_are};
use crate::script::{AT, record};

/// The most requests that `request_many` sends at a time to ask.
const ASKS: usize = 16;
/// The most waits that it holds at a time.
const WAITS: usize = 256;
/// The number of the question that the server refuses.
const REFUSED: usize = 7;

/// Holds requests until a number of them is here, and counts them.
struct Gate {
    opens_at: usize,
    now: AtomicUsize,
    most: AtomicUsize,
    open: Semaphore,
}

impl Gate {
    fn new(opens_at: usize) -> Self {
        Self { opens_at, now: AtomicUsize::new(0), most: AtomicUsize::new(0), open: Semaphore::new(0) }
    }

    async fn pass(&self) {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(now, SeqCst);
        if now == self.opens_at {
            // This leaves time for one request too many to arrive, so that it is counted before the gate opens.
            for _ in 0..1000 {
                tokio::task::yield_now().await;
            }
            self.open.close();
        }
        assert!(self.open.acquire().await.is_err(), "the gate gives no permits; it opens for all");
        self.now.fetch_sub(1, SeqCst);
    }
}

/// A server that holds requests at two gates: one gate for requests that ask, and one for requests that read or wait.
struct Crowd {
    asks: Gate,
    reads: Gate,
    connections: AtomicUsize,
    ended: AtomicUsize,
    lines: Mutex<Vec<String>>,
}

impl Crowd {
    /// Serves for as long as the returned task lives.
    async fn start(asks: usize, reads: usize) -> (Arc<Self>, Client, JoinSet<()>) {
        let (asks, reads) = (Gate::new(asks), Gate::new(reads));
        let (connections, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let crowd = Arc::new(Self { asks, reads, connections, ended, lines: Mutex::default() });
        let server = Holding::start().await;
        let client = Client::new(server.base.clone(), "the-key").unwrap();
        let (mut serving, accepting) = (JoinSet::new(), crowd.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let connection = server.connection().await;
                accepting.connections.fetch_add(1, SeqCst);
                connections.spawn(accepting.clone().serve(connection));
            }
        });
        (crowd, client, serving)
    }

    async fn serve(self: Arc<Self>, mut connection: Connection) {
        while let Some(request) = connection.request().await {
            let line = request.lines().next().unwrap().to_owned();
            self.lines.lock().unwrap().push(line.clone());
            let (status, body) = self.answer(&line).await;
            connection.reply(status, "", &body).await;
        }
        self.ended.fetch_add(1, SeqCst);
    }

    async fn answer(&self, line: &str) -> (u16, Value) {
        let id = line.split('/').nth(4).unwrap();
        let number = number(&id[..36]);
        if line.starts_with("POST") {
            self.asks.pass().await;
            if number == REFUSED {
                return (409, json!({"detail": "no", "code": "not_active"}));
            }
            return (200, record(json!({"id": id_of(number), "intent_id": id_of(number), "response_type": "text"})));
        }
        self.reads.pass().await;
        let answered = json!({"version": 2, "resolution": "responded", "response": format!("for {number}"), "responded_by": "alice",
            "responded_at": AT, "resolved_at": AT, "response_type": "text", "id": id_of(number), "intent_id": id_of(number)});
        (200, record(answered))
    }
}

/// The id of intent and question of this number.
fn id_of(number: usize) -> String {
    format!("0190a6c0-0000-7000-8000-{number:012}")
}

fn number(id: &str) -> usize {
    id[24..].parse().unwrap()
}

async fn until(is_so: impl Fn() -> bool) {
    let seen = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    assert!(timeout(PATIENCE, seen).await.is_ok(), "the server waited in vain");
}

fn questions(count: usize) -> Vec<(IntentId, Question<String>)> {
    (0..count).map(|number| (id_of(number).parse().unwrap(), Question::text("Which?"))).collect()
}

/// At stake: one refusal must not cost the answers that people gave to the other questions, and an answer must not be taken for
/// that of another question. A client that sent the requests for all questions at once would be a burden to the server and run
/// out of files.
#[tokio::test]
async fn of_many_questions_each_gets_its_own_end_in_the_order_of_asking() {
    let count = WAITS + ASKS + 1;
    let (crowd, client, _serving) = Crowd::start(ASKS, WAITS).await;
    let outcomes = client.request_many(questions(count)).await;
    assert_eq!(outcomes.len(), count);
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(answer) => assert_eq!(answer.value, format!("for {number}")),
            Err(RequestInputError::Refused(problem)) => assert!(number == REFUSED && problem.is("not_active")),
            Err(error) => panic!("{number}: {error}"),
        }
    }
    assert_eq!((crowd.asks.most.load(SeqCst), crowd.reads.most.load(SeqCst)), (ASKS, WAITS));
    // A request that waits for a connection of the pool also begins a new one, so there may be some more connections than waits.
    let connections = crowd.connections.load(SeqCst);
    assert!(connections <= WAITS + 2 * ASKS, "{connections}");
    let waits = crowd.lines.lock().unwrap().iter().filter(|line| line.contains("?wait=5&")).count();
    assert_eq!(waits, count - 1, "turns are short while questions wait for them");
    assert!(client.request_many(questions(0)).await.is_empty());
}

/// At stake: dropping many waits at once must end all of them, and must not lose one of the questions.
#[tokio::test]
async fn many_questions_that_are_dropped_leave_nothing_behind() {
    let (crowd, client, _serving) = Crowd::start(1, 9).await;
    let before = tasks();
    let mut asking = Box::pin(client.request_many(questions(9)));
    tokio::select! {
        _ = &mut asking => panic!("the server has not answered"),
        () = until(|| crowd.reads.now.load(SeqCst) == 8) => {}
    }
    assert_eq!(crowd.lines.lock().unwrap().iter().filter(|line| line.contains("?wait=50&")).count(), 8);
    assert_eq!(crowd.ended.load(SeqCst), 0);
    drop(asking);
    // The server notices closed connections only when it answers. The client still exists here, so they were closed because the
    // future was dropped, and not because the client's pool was.
    crowd.reads.open.close();
    until(|| crowd.ended.load(SeqCst) >= 8).await;
    drop(client);
    tasks_are(before).await;
}

/// At stake: a client that made a connection for each call would be slow, and use up the ports of its machine.
#[tokio::test]
async fn clones_of_a_client_share_their_connections() {
    const AT_A_TIME: usize = 8;
    let (crowd, client, _serving) = Crowd::start(1, AT_A_TIME).await;
    for _ in 0..3 {
        let mut reading = JoinSet::new();
        for number in 0..AT_A_TIME {
            let client = client.clone();
            reading.spawn(async move { client.suspension(SuspensionId::parse(&id_of(number)).unwrap()).await.unwrap() });
        }
        assert_eq!(reading.join_all().await.len(), AT_A_TIME);
    }
    assert_eq!(crowd.connections.load(SeqCst), AT_A_TIME);
}
