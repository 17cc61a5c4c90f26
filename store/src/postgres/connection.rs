//! One connection: how it is made, its settings, and the error message when it cannot be made.

use std::cell::Cell;
use std::sync::Arc;

use diesel::connection::SimpleConnection;
use diesel_async::AsyncPgConnection;
use diesel_async::async_connection_wrapper::{AsyncConnectionWrapper, BlockOn};
use thiserror::Error;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Address;

/// A connection that diesel can use: its methods are synchronous, and its driver is pure Rust. Only threads that may block make
/// and use it.
pub(super) type Connection = AsyncConnectionWrapper<AsyncPgConnection, Pump>;
/// The half of a connection that moves bytes.
pub(crate) type Wire = tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// The settings of every connection, whatever the database's own defaults are. A 200 promises that the commit is on disk, so
/// `synchronous_commit` is at least `on`; a database's stronger setting (`remote_apply`) stays. The statements here read few rows, so to start
/// workers for them, or to compile them, takes longer than to run them.
const SETTINGS: &str = "SET statement_timeout = '10s'; SET lock_timeout = '5s'; SET idle_in_transaction_session_timeout = '30s'; \
                        SET default_transaction_isolation = 'read committed'; SET client_min_messages = 'warning'; \
                        SET max_parallel_workers_per_gather = 0; SET jit = off; \
                        SELECT set_config('synchronous_commit', 'on', false) \
                        WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');";

thread_local! {
    /// The pump of the connection that this thread is just making.
    static MADE_FOR: Cell<Option<Pump>> = const { Cell::new(None) };
}

/// Moves the bytes of one connection, on the thread that waits for them. If one thread moved the bytes of all connections, every
/// trip would wake that thread twice, and it would wake the waiting thread twice.
#[derive(Clone)]
pub(super) struct Pump(Arc<Turning>);

/// The runtime of one connection.
struct Turning(Option<Runtime>);

impl Pump {
    fn start() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self(Arc::new(Turning(Some(runtime)))))
    }
}

impl BlockOn for Pump {
    fn block_on<F: Future>(&self, work: F) -> F::Output {
        // Unwrap safety: the runtime is taken only when the last pump is dropped.
        self.0.0.as_ref().expect("a pump that is in use has its runtime").block_on(work)
    }

    /// Returns the pump of the connection being made: diesel asks for one without saying for which connection.
    fn get_runtime() -> Self {
        // Unwrap safety: only `connect` wraps connections, and it sets the pump first.
        MADE_FOR.take().expect("a connection is made with its pump")
    }
}

impl Drop for Turning {
    fn drop(&mut self) {
        // A session may be dropped where blocking is not allowed, so the runtime ends in the background. No work is left to wait
        // for.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub(crate) enum ConnectError {
    /// The database or the network refused the connection.
    #[error("{0}")]
    Refused(String),
    /// The connection was made and then failed.
    #[error("the connection to the database failed at once")]
    Broken(#[from] diesel::ConnectionError),
    #[error("the connection to the database failed at once")]
    Unusable(#[from] diesel::result::Error),
}

/// Connects without diesel, for SQL that diesel cannot write.
pub(crate) async fn dial(address: &Address) -> Result<(Client, Wire), ConnectError> {
    // The driver limits how long it takes to connect, but not how long the server may then stay silent.
    let patience = address.patience();
    let Ok(connected) = tokio::time::timeout(patience, address.config.connect(address.tls.clone())).await else {
        return Err(ConnectError::Refused(format!(
            "failed to reach {address}: the connection was made, but no answer came within {} s; does PostgreSQL run there?",
            patience.as_secs()
        )));
    };
    connected.map_err(|error| ConnectError::Refused(in_words(address, &error)))
}

/// Connects on a thread that may block.
pub(super) fn connect(address: &Address) -> Result<(Connection, Pump), ConnectError> {
    let pump = Pump::start().map_err(|error| ConnectError::Refused(format!("failed to prepare a connection: {error}")))?;
    let conn = pump.block_on(async {
        let (client, wire) = dial(address).await?;
        Ok::<_, ConnectError>(AsyncPgConnection::try_from_client_and_connection(client, wire).await?)
    })?;
    MADE_FOR.set(Some(pump.clone()));
    let mut conn = Connection::from(conn);
    conn.batch_execute(SETTINGS)?;
    Ok((conn, pump))
}

/// One line that says what is wrong and what to do, without the password.
fn in_words(address: &Address, error: &tokio_postgres::Error) -> String {
    let (user, database) = (address.user(), address.database());
    let Some(refused) = error.as_db_error() else {
        let mut cause = error.to_string();
        let mut source = std::error::Error::source(error);
        while let Some(deeper) = source {
            cause = format!("{cause}: {deeper}");
            source = deeper.source();
        }
        return format!(
            "failed to reach {address}: {cause}; is PLACET_DATABASE_URL right, does PostgreSQL run there, and may this machine connect?"
        );
    };
    let what_to_do = match *refused.code() {
        SqlState::INVALID_PASSWORD => format!("correct the password in PLACET_DATABASE_URL, or set that of {user}"),
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION => format!("make the user {user}, or let it in with a line in pg_hba.conf"),
        SqlState::INVALID_CATALOG_NAME => format!("make it: createdb --owner={user} {database}"),
        SqlState::TOO_MANY_CONNECTIONS => {
            "raise max_connections in PostgreSQL, or lower PLACET_DATABASE_CONNECTIONS on its servers".to_owned()
        }
        SqlState::CANNOT_CONNECT_NOW => "PostgreSQL is starting or stopping; try again in a moment".to_owned(),
        _ => "is PLACET_DATABASE_URL right?".to_owned(),
    };
    format!("failed to open {address}: {}; {what_to_do}", refused.message())
}
