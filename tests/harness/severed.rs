//! A wire between a server and its database that can be cut in the middle of a COMMIT.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// The point at which a commit is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The database never gets the commit.
    Before = 1,
    /// The database commits, and the server never learns of it.
    After = 2,
}

/// The wire; it ends with the test's runtime.
pub struct Wire {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    armed: AtomicU8,
    cuts: AtomicUsize,
    /// Whether the next cut is permanent.
    lasting: AtomicBool,
    /// Whether no connection gets through any more.
    dead: AtomicBool,
    /// Whether new connections get no answer.
    silent: AtomicBool,
    unheard: AtomicUsize,
    /// Whether the database does not notice a permanent cut.
    unnoticed: AtomicBool,
    /// The database's ends of connections that were cut without the database noticing it.
    kept: Mutex<Vec<(OwnedReadHalf, OwnedWriteHalf)>>,
}

impl Wire {
    /// A wire to a port of this machine.
    #[expect(clippy::disallowed_methods, reason = "the wire ends with the test's runtime")]
    pub async fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let wire = Self { port: listener.local_addr().unwrap().port(), state: Arc::default() };
        let state = wire.state.clone();
        tokio::spawn(async move {
            let mut unheard = Vec::new();
            while let Ok((server, _)) = listener.accept().await {
                let state = state.clone();
                if state.silent.load(Ordering::SeqCst) {
                    unheard.push(server);
                    state.unheard.store(unheard.len(), Ordering::SeqCst);
                    continue;
                }
                if state.dead.load(Ordering::SeqCst) {
                    continue;
                }
                tokio::spawn(async move {
                    let database = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    carry(server, database, &state).await;
                });
            }
        });
        wire
    }

    /// The port to which the server connects.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the next commit of a transaction that writes.
    pub fn arm(&self, cut: Cut) {
        self.state.armed.store(cut as u8, Ordering::SeqCst);
    }

    /// Like [`Wire::arm`], but after the cut no connection gets through until [`Wire::mend`] is called.
    pub fn arm_for_good(&self, cut: Cut) {
        self.state.lasting.store(true, Ordering::SeqCst);
        self.arm(cut);
    }

    /// Like [`Wire::arm_for_good`], but the database does not notice the cut. If it noticed, it would roll the transaction back
    /// and write that down at once.
    pub fn arm_unnoticed(&self, cut: Cut) {
        self.state.unnoticed.store(true, Ordering::SeqCst);
        self.arm_for_good(cut);
    }

    /// Lets new connections through again.
    pub fn mend(&self) {
        self.state.lasting.store(false, Ordering::SeqCst);
        self.state.dead.store(false, Ordering::SeqCst);
    }

    /// From now on new connections get no answer.
    pub fn fall_silent(&self) {
        self.state.silent.store(true, Ordering::SeqCst);
    }

    /// How many connections wait for an answer.
    pub fn unheard(&self) -> usize {
        self.state.unheard.load(Ordering::SeqCst)
    }

    /// How many commits were cut.
    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::SeqCst)
    }
}

/// Carries both directions until one ends or the wire is cut; then both are closed.
async fn carry(server: TcpStream, database: TcpStream, state: &State) {
    let (from_server, to_server) = server.into_split();
    let (mut from_database, mut to_database) = database.into_split();
    let deaf = Notify::new();
    tokio::select! {
        () = forth(from_server, &mut to_database, state, &deaf) => {}
        () = back(&mut from_database, to_server, &deaf) => {}
    }
    if state.dead.load(Ordering::SeqCst) && state.unnoticed.load(Ordering::SeqCst) {
        state.kept.lock().unwrap().push((from_database, to_database));
    }
}

/// Carries the bytes from the server to the database.
async fn forth(mut from: OwnedReadHalf, to: &mut OwnedWriteHalf, state: &State, deaf: &Notify) {
    let mut bytes = vec![0; 64 * 1024];
    let mut writes = false;
    while let Ok(length @ 1..) = from.read(&mut bytes).await {
        let said = &bytes[..length];
        let has = |words: &[u8]| said.windows(words.len()).any(|window| window == words);
        writes = (writes || has(b"BEGIN\0")) && !has(b"READ ONLY\0");
        let cut = if writes && has(b"COMMIT\0") { state.armed.swap(0, Ordering::SeqCst) } else { 0 };
        if cut != 0 {
            state.cuts.fetch_add(1, Ordering::SeqCst);
            state.dead.store(state.lasting.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        if cut == Cut::Before as u8 {
            return;
        }
        if cut == Cut::After as u8 {
            deaf.notify_one();
        }
        if to.write_all(said).await.is_err() {
            return;
        }
    }
}

/// Carries the bytes from the database to the server until `deaf` is notified. After that it waits for the database's next bytes,
/// which report the end of the commit, drops them and ends.
async fn back(from: &mut OwnedReadHalf, mut to: OwnedWriteHalf, deaf: &Notify) {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let length = tokio::select! {
            biased;
            () = deaf.notified() => {
                drop(from.read(&mut bytes).await);
                return;
            }
            read = from.read(&mut bytes) => match read {
                Ok(length @ 1..) => length,
                Ok(0) | Err(_) => return,
            },
        };
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
