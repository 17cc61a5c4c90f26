//! A balancer before several servers: it spreads connections, and skips a server that takes none.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(250);
/// How often all servers are tried before the client's connection is closed. Real balancers try again in the same way.
const ROUNDS: usize = 40;
const PAUSE: Duration = Duration::from_millis(25);

/// A balancer of connections; it ends with the test's runtime.
pub(super) struct Balancer {
    port: u16,
}

impl Balancer {
    /// Takes a port; servers need to know it before they start.
    pub(super) fn reserve() -> (StdListener, String) {
        let listener = StdListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let base = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
        (listener, base)
    }

    /// Begins to hand connections to the servers at `ports`.
    #[expect(clippy::disallowed_methods, reason = "the balancer ends with the test's runtime")]
    pub(super) fn start(listener: StdListener, ports: Vec<u16>) -> Self {
        let port = listener.local_addr().unwrap().port();
        let listener = TcpListener::from_std(listener).unwrap();
        let (ports, turn) = (Arc::new(ports), Arc::new(AtomicUsize::new(0)));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let (ports, turn) = (ports.clone(), turn.clone());
                tokio::spawn(async move {
                    if let Some(mut server) = connect(&ports, &turn).await {
                        // Either side may be killed at any time; both are closed then.
                        drop(copy_bidirectional(&mut client, &mut server).await);
                    }
                });
            }
        });
        Self { port }
    }

    /// Its address, with a slash at its end.
    pub(super) fn base(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

async fn connect(ports: &[u16], turn: &AtomicUsize) -> Option<TcpStream> {
    for attempt in 0..ROUNDS * ports.len() {
        let port = ports[turn.fetch_add(1, Ordering::Relaxed) % ports.len()];
        if let Ok(Ok(server)) = timeout(CONNECT_TIMEOUT, TcpStream::connect(("127.0.0.1", port))).await {
            return Some(server);
        }
        if attempt % ports.len() == ports.len() - 1 {
            sleep(PAUSE).await;
        }
    }
    None
}
