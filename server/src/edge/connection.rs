//! Deadlines and memory for connections: how long a client may take to send a request and to take an answer, and how much data
//! may wait for slow clients.
//!
//! Guarantee: no connection without a request under way lives beyond its deadlines, however little it sends; and the data that is
//! ready for clients that do not take it is limited, in time and in memory. Mechanism: actix limits only the first head and the
//! pauses between requests, so the stream that it reads and writes is wrapped; layers of the server tell the wrapper when a
//! request begins and ends. Failure: a connection beyond its limits is closed; to actix this looks as if the client had hung up.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_web::rt::net::ActixStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep_until};

use super::turns::{Ticket, Turns};

/// How long a client may take to send a request head.
pub(crate) const HEAD_WAIT: Duration = Duration::from_secs(10);
/// How long a connection may idle. This is longer than clients and proxies keep theirs (mostly 60 seconds), so that they close it
/// first: a server that closes first may do so just when the next request leaves.
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(75);
/// How long a client may need to take the data sent to it, plus one second for each [`TAKE_BYTES_PER_SECOND`] bytes.
const TAKE_WAIT: Duration = Duration::from_secs(30);
/// The speed at which a client must at least take the data sent to it.
const TAKE_BYTES_PER_SECOND: usize = 64 * 1024;
/// How many bytes that wait for one client do not count against the memory that all clients share. A page for a person is smaller
/// than this, so large answers to other clients cannot keep it out.
const UNTAKEN_FREE_BYTES: usize = 64 * 1024;
/// How much data may wait for all clients together, beyond the free part of each.
pub const UNTAKEN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The unit, in bytes, in which the memory for waiting data is counted.
const ROOM_BYTES: usize = 1024;

/// How long a server waits for its clients.
#[derive(Clone, Copy, Debug)]
struct Patience {
    head: Duration,
    idle: Duration,
    take: Duration,
}

const PATIENCE: Patience = Patience { head: HEAD_WAIT, idle: KEEP_ALIVE, take: TAKE_WAIT };

/// The phase of a connection between and within requests.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No request has begun; actix limits the first head itself, and answers 408.
    First,
    /// A request was answered at this time, and no data has come since.
    Idle(Instant),
    /// The first part of the next head came at this time.
    Head(Instant),
    /// A request is under way.
    Request,
    /// A response is sent that has no end of its own, to a client that has nothing more to say: if it hangs up, the response ends.
    Stream,
}

/// The handle through which the layers of the server tell a connection its phase.
#[derive(Clone)]
pub(crate) struct Exchange(Rc<Cell<Phase>>);

impl Exchange {
    /// Tells that a request has come; it is under way until the guard is dropped.
    pub(crate) fn begin(&self) -> UnderWay {
        self.0.set(Phase::Request);
        UnderWay(self.clone())
    }

    /// Tells that a stream is sent until the guard is dropped. A client that closes its side of the connection ends it at once: actix would
    /// notice only when it writes the next time, and until then the stream would hold its place.
    pub(crate) fn begin_stream(&self) -> UnderWay {
        self.0.set(Phase::Stream);
        UnderWay(self.clone())
    }
}

/// A request under way.
#[must_use = "a request that is dropped at once has ended"]
pub(crate) struct UnderWay(Exchange);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.set(Phase::Idle(Instant::now()));
    }
}

/// Room for the data that waits for clients, in all connections together.
#[derive(Clone)]
pub(crate) struct UntakenRoom(Arc<Semaphore>);

impl Default for UntakenRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(UNTAKEN_BYTES_MAX / ROOM_BYTES)))
    }
}

/// The data that a client has not taken yet.
struct Untaken {
    deadline: Pin<Box<Sleep>>,
    room: Option<OwnedSemaphorePermit>,
}

impl Untaken {
    fn new(bytes: usize, patience: Duration) -> Self {
        let seconds = u64::try_from(bytes / TAKE_BYTES_PER_SECOND).unwrap_or(u64::MAX);
        let deadline = Instant::now() + patience.saturating_add(Duration::from_secs(seconds));
        Self { deadline: Box::pin(sleep_until(deadline)), room: None }
    }

    /// Takes room for the `bytes` that wait now, which are more than at the last call if another answer was added. Returns
    /// `false` if there is no room.
    fn make_room(&mut self, bytes: usize, all: &UntakenRoom) -> bool {
        let taken = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let needed = bytes.saturating_sub(UNTAKEN_FREE_BYTES).div_ceil(ROOM_BYTES);
        if needed <= taken {
            return true;
        }
        let Ok(more) = all.0.clone().try_acquire_many_owned(u32::try_from(needed - taken).unwrap_or(u32::MAX)) else {
            return false;
        };
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        true
    }
}

/// A client's connection.
pub(crate) struct Connection<S> {
    stream: S,
    exchange: Exchange,
    patience: Patience,
    /// Wakes the task at a deadline. It is made when first needed, and is not set anew for each request, because that would cost
    /// more. It is set anew only if it would wake the task too late, or has woken it too early.
    alarm: Option<Pin<Box<Sleep>>>,
    untaken: Option<Untaken>,
    room: UntakenRoom,
    turns: Rc<Turns>,
    /// Present while the connection waits for its turn to read a new request.
    ticket: Option<Rc<Ticket>>,
}

impl<S> Connection<S> {
    /// Wraps a connection that was just accepted.
    pub(crate) fn new(stream: S, room: UntakenRoom, turns: Rc<Turns>) -> Self {
        let exchange = Exchange(Rc::new(Cell::new(Phase::First)));
        Self { stream, exchange, patience: PATIENCE, alarm: None, untaken: None, room, turns, ticket: None }
    }

    /// The handle through which the connection learns its phase.
    pub(crate) fn exchange(&self) -> Exchange {
        self.exchange.clone()
    }

    /// Notes that data has come.
    fn heard(&self) {
        if let Phase::Idle(_) = self.exchange.0.get() {
            self.exchange.0.set(Phase::Head(Instant::now()));
        }
    }

    /// Whether the server has given up on the client; if not yet, the task is woken when the client's time is over.
    fn is_given_up(&mut self, cx: &mut Context<'_>) -> bool {
        let until = match self.exchange.0.get() {
            // The deadlines of the next request do not run while the client is still taking an answer.
            _ if self.untaken.is_some() => return false,
            Phase::First | Phase::Request | Phase::Stream => return false,
            Phase::Idle(since) => since + self.patience.idle,
            Phase::Head(since) => since + self.patience.head,
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if alarm.deadline() > until {
            alarm.as_mut().reset(until);
        }
        while alarm.as_mut().poll(cx).is_ready() {
            if alarm.deadline() >= until {
                return true;
            }
            alarm.as_mut().reset(until);
        }
        false
    }

    /// Goes on waiting for a client that takes no data, unless its time is over or there is no room for its data.
    fn wait_for_taker(&mut self, bytes: usize, cx: &mut Context<'_>) -> Poll<io::Error> {
        let untaken = self.untaken.get_or_insert_with(|| Untaken::new(bytes, self.patience.take));
        if !untaken.make_room(bytes, &self.room) {
            return Poll::Ready(given_up(
                io::ErrorKind::OutOfMemory,
                "too many bytes of answers wait for clients that do not read them",
            ));
        }
        ready!(untaken.deadline.as_mut().poll(cx));
        Poll::Ready(given_up(io::ErrorKind::TimedOut, "a client took too long to take an answer"))
    }
}

/// The error that closes the connection of a client that is given up. It is logged as debug: it is no failure of the server.
fn given_up(kind: io::ErrorKind, why: &'static str) -> io::Error {
    tracing::debug!(why, "a connection is closed");
    io::Error::new(kind, why)
}

impl<S: ActixStream> AsyncRead for Connection<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let begins = !matches!(this.exchange.0.get(), Phase::Request | Phase::Stream);
        if begins && this.stream.poll_read_ready(cx).is_ready() {
            ready!(this.turns.poll_turn(&mut this.ticket, cx));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        if read.is_pending() {
            // Success without data tells actix that the stream has ended, as if the client had hung up.
            return if this.is_given_up(cx) { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        let has_data = buffer.filled().len() > before;
        if has_data {
            this.heard();
        } else if matches!(this.exchange.0.get(), Phase::Stream) {
            return Poll::Ready(Err(given_up(io::ErrorKind::ConnectionReset, "the client of a stream has hung up")));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Connection<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        // actix writes all it has for a client at once, so `bytes` is all the data that waits for this client.
        match Pin::new(&mut this.stream).poll_write(cx, bytes) {
            Poll::Pending => this.wait_for_taker(bytes.len(), cx).map(Err),
            Poll::Ready(Ok(written)) => {
                if written == bytes.len() {
                    this.untaken = None;
                }
                Poll::Ready(Ok(written))
            }
            failed @ Poll::Ready(Err(_)) => failed,
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::poll;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    /// A connection and its client.
    async fn connected(patience: Patience, room: UntakenRoom) -> (Connection<TcpStream>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (client, taken) = tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        (Connection { patience, ..Connection::new(taken.unwrap().0, room, Rc::default()) }, client.unwrap())
    }

    /// Reads once; 0 is the end of the stream.
    async fn read(connection: &mut Connection<TcpStream>) -> usize {
        let mut bytes = [0; 64];
        let mut buffer = ReadBuf::new(&mut bytes);
        poll_fn(|cx| Pin::new(&mut *connection).poll_read(cx, &mut buffer)).await.unwrap();
        buffer.filled().len()
    }

    async fn send(client: &TcpStream, bytes: &[u8]) {
        client.writable().await.unwrap();
        assert_eq!(client.try_write(bytes).unwrap(), bytes.len());
    }

    /// Writes until the connection waits for the client, or fails.
    async fn fill(connection: &mut Connection<TcpStream>, bytes: &[u8]) -> Poll<io::Error> {
        loop {
            match poll!(poll_fn(|cx| Pin::new(&mut *connection).poll_write(cx, bytes))) {
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// After the first request, a head and a pause between requests have a deadline, and a request under way has none. Otherwise
    /// a client that sends a part of a head, or nothing, could keep its connection for ever.
    #[tokio::test]
    async fn a_head_has_a_deadline_and_so_has_a_pause_and_a_request_has_none() {
        for (head, idle, is_heard, is_ended) in [
            (Duration::ZERO, LONG, true, true),
            (Duration::ZERO, LONG, false, false),
            (LONG, Duration::ZERO, false, true),
            (LONG, Duration::ZERO, true, false),
        ] {
            let patience = Patience { head, idle, take: LONG };
            let (mut connection, client) = connected(patience, UntakenRoom::default()).await;
            send(&client, b"GET /").await;
            assert_eq!(read(&mut connection).await, 5);
            assert!(poll!(Box::pin(read(&mut connection))).is_pending(), "actix ends the first head");
            let under_way = connection.exchange().begin();
            send(&client, b"x").await;
            assert_eq!(read(&mut connection).await, 1, "a body");
            assert!(poll!(Box::pin(read(&mut connection))).is_pending(), "a request takes as long as it takes");
            drop(under_way);
            if is_heard {
                send(&client, b"GET").await;
                assert_eq!(read(&mut connection).await, 3);
            }
            if is_ended {
                assert_eq!(read(&mut connection).await, 0);
            } else {
                assert!(poll!(Box::pin(read(&mut connection))).is_pending());
            }
        }
    }

    /// A stream that no client reads any more must not hold its place until the next write fails.
    #[tokio::test]
    async fn a_client_that_hangs_up_ends_its_stream_and_no_other_request() {
        for streams in [false, true] {
            let patience = Patience { head: LONG, idle: LONG, take: LONG };
            let (mut connection, client) = connected(patience, UntakenRoom::default()).await;
            let exchange = connection.exchange();
            let _under_way = if streams { exchange.begin_stream() } else { exchange.begin() };
            drop(client);
            let mut bytes = [0; 64];
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = poll_fn(|cx| Pin::new(&mut connection).poll_read(cx, &mut buffer)).await;
            assert_eq!((read.is_err(), buffer.filled().len()), (streams, 0));
        }
    }

    /// An alarm that was set for a pause must ring earlier when a head begins. If it was set for a head, it must ring later when
    /// a pause begins.
    #[tokio::test]
    async fn the_alarm_is_set_to_what_ends_first() {
        let patience = Patience { head: Duration::ZERO, idle: LONG, take: LONG };
        let (mut connection, client) = connected(patience, UntakenRoom::default()).await;
        drop(connection.exchange().begin());
        assert!(poll!(Box::pin(read(&mut connection))).is_pending());
        send(&client, b"GET").await;
        assert_eq!(read(&mut connection).await, 3);
        assert_eq!(read(&mut connection).await, 0);
        // The rest of the head arrived after all, and the request was answered.
        drop(connection.exchange().begin());
        assert!(poll!(Box::pin(read(&mut connection))).is_pending());
    }

    /// A connection is closed if its client takes no data and the memory that all slow clients share is used up. Data up to the
    /// free part of each client needs none of that memory.
    #[tokio::test]
    async fn what_nobody_takes_has_a_deadline_and_shares_a_room() {
        let large = vec![0; UNTAKEN_FREE_BYTES + 2 * ROOM_BYTES];
        let free = vec![0; UNTAKEN_FREE_BYTES];
        let patience = |take| Patience { head: LONG, idle: LONG, take };
        let room = UntakenRoom(Arc::new(Semaphore::new(3)));
        let (mut first, _client) = connected(patience(LONG), room.clone()).await;
        assert!(fill(&mut first, &large).await.is_pending());
        assert!(fill(&mut first, &large).await.is_pending(), "room is taken once");
        assert_eq!(room.0.available_permits(), 1);
        let (mut second, _client) = connected(patience(LONG), room.clone()).await;
        assert!(fill(&mut second, &free).await.is_pending(), "what people read needs no room");
        let Poll::Ready(refused) = fill(&mut second, &large).await else { panic!("there is no room for it") };
        assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
        drop(first);
        assert_eq!(room.0.available_permits(), 3);
        let (mut third, client) = connected(patience(LONG), room.clone()).await;
        assert!(fill(&mut third, &large).await.is_pending());
        // Once the client has taken the data, its room is free and its time begins anew.
        let mut taken = vec![0; 1 << 20];
        while third.untaken.is_some() {
            // Waiting for one side alone would block for ever, because each side waits for the other.
            tokio::task::yield_now().await;
            drop(client.try_read(&mut taken));
            drop(poll!(poll_fn(|cx| Pin::new(&mut third).poll_write(cx, &large[..1]))));
        }
        assert_eq!(room.0.available_permits(), 3);
    }

    /// The time that a client has to take data grows with the amount of data, and it ends.
    #[tokio::test]
    async fn a_client_has_time_by_what_there_is_to_take() {
        for (bytes, seconds) in [(0, 0), (TAKE_BYTES_PER_SECOND, 1), (8 << 20, 128)] {
            let now = Instant::now();
            let untaken = Untaken::new(bytes, TAKE_WAIT);
            let patience = untaken.deadline.deadline() - now;
            assert!(patience.abs_diff(TAKE_WAIT + Duration::from_secs(seconds)) < Duration::from_secs(1), "{patience:?}");
        }
        let (mut connection, _client) =
            connected(Patience { head: LONG, idle: LONG, take: Duration::ZERO }, UntakenRoom::default()).await;
        let bytes = [0; 1_024];
        let error = loop {
            match poll_fn(|cx| Pin::new(&mut connection).poll_write(cx, &bytes)).await {
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
