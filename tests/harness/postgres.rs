//! A PostgreSQL that belongs to the test process: a scratch cluster, one database for each test.
//!
//! It is started once, from the system's binaries, and disappears with the process, however that ends: the shell that supervises
//! it waits on a pipe that only this process holds.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use store::host::clock::{SystemClock, SystemEntropy};
use store::postgres::{Address, CONNECTIONS_MIN};
use store::sqlite::Exclusive;
use store::{Database, Surroundings, open};
use tempfile::TempDir;
use tokio::sync::OnceCell;
pub use tokio_postgres::Row;
use tokio_postgres::{Client, NoTls};

use crate::folder;
use crate::process::free_port;

/// The folder where Debian keeps the servers of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// The user as which PostgreSQL runs if the tests run as root, because PostgreSQL refuses to run as root. This user owns no other
/// files.
const NOBODY: u32 = 65_534;
/// The password over TCP; the socket in a private folder needs none.
pub const PASSWORD: &str = "correct horse";
/// Connections of one test server: as many as a server needs and a few more.
pub const CONNECTIONS: u32 = 12;

/// How the name of a cluster's folder begins.
const PREFIX: &str = "placet-postgres-";

/// Settings with which tests give up durability for speed: a crash of the machine may lose everything.
const FORGETFUL: &str = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c autovacuum=off";

/// Supervises the cluster: `$1` its folder, `$2` its port, `$3` the programs, `$4` a password, `$5` settings.
const MINDER: &str = r#"
set -e
printf '%s' "$4" >"$1/password"
"$3/initdb" --data-checksums --pgdata="$1/data" --username=placet --auth-local=trust --auth-host=scram-sha-256 --pwfile="$1/password" \
    --encoding=UTF8 --locale=C --no-sync >"$1/log" 2>&1 </dev/null || { cat "$1/log" >&2; exit 1; }
# Two authorities that no other program trusts; one of them signs a certificate for the name localhost, and for no address.
certify() { # NAME OPTIONS…
    name=$1
    shift
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout "$name.key" -out "$name.pem" "$@" \
        >>log 2>&1 </dev/null || { cat log >&2; exit 1; }
}
certify authority -subj "/CN=Authority"
certify stranger -subj "/CN=Stranger"
certify server -CA authority.pem -CAkey authority.key -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" \
    -addext "basicConstraints=critical,CA:FALSE"
"$3/pg_ctl" --pgdata="$1/data" --log="$1/log" --wait --timeout=300 --options="-k '$1' -p $2 -c listen_addresses=127.0.0.1 \
    -c max_connections=400 -c shared_buffers=64MB $5 \
    -c log_line_prefix='%d ' -c ssl=on -c ssl_cert_file='$1/server.pem' -c ssl_key_file='$1/server.key'" start \
    >/dev/null 2>&1 </dev/null || { cat "$1/log" >&2; exit 1; }
# The test process that waits for this word may have ended already. The server that was started must be removed all the same.
trap '' PIPE
echo ready 2>/dev/null || true
read -r _ || true
"$3/pg_ctl" --pgdata="$1/data" --mode=immediate stop >/dev/null 2>&1 || true
rm -rf "$1"
"#;

/// A running PostgreSQL.
pub struct Cluster {
    folder: PathBuf,
    port: u16,
    // Its pipe keeps the cluster alive.
    _minder: Child,
    databases: AtomicU32,
    template: OnceCell<()>,
}

/// A foreign connection to a database, which keeps its transaction open.
pub struct Rival {
    client: tokio_postgres::Client,
}

impl Rival {
    /// Runs SQL, however long it has to wait.
    pub async fn sql(&self, sql: &str) {
        self.client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

/// A database of one test.
pub struct Scratch {
    name: String,
}

impl Cluster {
    /// The cluster of this process, started at first use.
    pub fn of_this_process() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| Self::start(folder::quick(PREFIX), FORGETFUL))
    }

    /// A cluster whose commits survive a crash of the machine, as PostgreSQL's do by default: for benchmarks and for tests that
    /// restart it.
    pub fn durable() -> Self {
        Self::start(TempDir::with_prefix(PREFIX).unwrap(), "")
    }

    /// The same with the memory that PostgreSQL's documentation recommends for a machine of 8 GB.
    pub fn roomy() -> Self {
        Self::start(TempDir::with_prefix(PREFIX).unwrap(), "-c shared_buffers=2GB")
    }

    /// A cluster that keeps uncommitted data in memory as long as it may. A crash loses this data, and afterwards the same
    /// transaction numbers are given out a second time.
    pub fn lazy() -> Self {
        Self::start(
            TempDir::with_prefix(PREFIX).unwrap(),
            "-c wal_writer_delay=10s -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off",
        )
    }

    fn start(folder: TempDir, settings: &str) -> Self {
        let folder = folder.keep();
        let port = free_port();
        let mut minder = Command::new("sh");
        minder.args(["-c", MINDER, "sh"]).arg(&folder).arg(port.to_string()).arg(programs()).arg(PASSWORD).arg(settings);
        minder.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C goes to a whole group of processes; the supervisor must outlive this one to clean up.
        std::os::unix::process::CommandExt::process_group(&mut minder, 0);
        if am_root(&folder) {
            std::os::unix::fs::chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
            std::os::unix::process::CommandExt::gid(&mut minder, NOBODY);
            std::os::unix::process::CommandExt::uid(&mut minder, NOBODY);
        }
        let mut minder = minder.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(minder.stdout.take().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said.trim(), "ready", "PostgreSQL did not start; what it said stands above");
        Self { folder, port, _minder: minder, databases: AtomicU32::new(1), template: OnceCell::new() }
    }

    /// A URL over the socket.
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.to_str().unwrap().replace('/', "%2F");
        format!("postgres://placet@{folder}:{}/{database}", self.port)
    }

    /// A URL over TCP, with a password.
    pub fn tcp_url(&self, database: &str, password: &str) -> String {
        format!("postgres://placet:{}@127.0.0.1:{}/{database}", password.replace(' ', "%20"), self.port)
    }

    /// A URL over TCP by a host's name or address, with a password.
    pub fn url_at(&self, host: &str, database: &str) -> String {
        format!("postgres://placet:{}@{host}:{}/{database}", PASSWORD.replace(' ', "%20"), self.port)
    }

    /// The file with the certificate of the authority that signed this cluster's.
    pub fn authority(&self) -> PathBuf {
        self.folder.join("authority.pem")
    }

    /// The file with the certificate of an authority that has signed no certificate.
    pub fn stranger(&self) -> PathBuf {
        self.folder.join("stranger.pem")
    }

    /// The port it listens on, on this machine only.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Stops the server as a crash would, and starts it again; returns when it takes connections.
    pub fn restart(&self) {
        let mut restart = Command::new(programs().join("pg_ctl"));
        restart.arg("--pgdata").arg(self.folder.join("data")).arg("--log").arg(self.folder.join("log"));
        restart.args(["--mode=immediate", "--wait", "--timeout=300", "restart"]).current_dir(&self.folder);
        if am_root(Path::new("/proc/self")) {
            std::os::unix::process::CommandExt::gid(&mut restart, NOBODY);
            std::os::unix::process::CommandExt::uid(&mut restart, NOBODY);
        }
        assert!(restart.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success(), "PostgreSQL did not start again");
    }

    /// A database as it is at this moment, to be read without interference.
    #[expect(clippy::disallowed_methods, reason = "the connection ends with the snapshot")]
    pub async fn snapshot(&self, database: &str) -> Snapshot {
        let (client, wire) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        tokio::spawn(wire);
        client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await.unwrap();
        Snapshot { client }
    }

    /// Whether the database refuses this SQL, which is one transaction.
    pub async fn refuses(&self, database: &str, sql: &str) -> bool {
        self.try_sql(database, sql).await.is_err()
    }

    async fn try_sql(&self, database: &str, sql: &str) -> Result<(), tokio_postgres::Error> {
        let (client, wire) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        let ran = async {
            let ran = client.batch_execute(sql).await;
            drop(client);
            ran
        };
        let (ran, _) = tokio::join!(ran, wire);
        ran
    }

    /// Runs SQL in a database.
    pub async fn sql(&self, database: &str, sql: &str) {
        let ran = self.try_sql(database, sql).await;
        ran.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Asks a database for one number.
    pub async fn number(&self, database: &str, sql: &str) -> i64 {
        let (client, wire) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        let asked = async {
            let row = client.query_one(sql, &[]).await;
            drop(client);
            row
        };
        let (row, _) = tokio::join!(asked, wire);
        row.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0)
    }

    /// Asks a database for lines of text.
    pub async fn lines(&self, database: &str, sql: &str) -> Vec<String> {
        let (client, wire) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        let asked = async {
            let rows = client.query(sql, &[]).await;
            drop(client);
            rows
        };
        let (rows, _) = tokio::join!(asked, wire);
        rows.unwrap_or_else(|error| panic!("{sql}: {error:?}")).iter().map(|row| row.get(0)).collect()
    }

    /// The columns of a table.
    pub async fn columns(&self, database: &str, table: &str) -> Vec<String> {
        let (client, wire) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        let asked = async {
            let columns = client.prepare(&format!("SELECT * FROM {table}")).await.unwrap();
            drop(client);
            columns.columns().iter().map(|column| column.name().to_owned()).collect()
        };
        tokio::join!(asked, wire).0
    }

    /// The entries of PostgreSQL's log about a database.
    pub fn log(&self, database: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.join("log")).unwrap();
        let mut entries: Vec<String> = Vec::new();
        for line in log.lines() {
            match (line.starts_with('\t'), entries.last_mut()) {
                (true, Some(entry)) => entry.push_str(line),
                _ => entries.push(line.to_owned()),
            }
        }
        let about = format!("{database} ");
        entries.retain(|entry| entry.starts_with(&about));
        entries
    }

    /// A database with the tables of a first start.
    pub async fn scratch(&self) -> Scratch {
        self.template.get_or_init(|| self.make_template()).await;
        let scratch = self.name();
        self.sql("postgres", &format!("CREATE DATABASE {} TEMPLATE placet_template", scratch.name)).await;
        scratch
    }

    /// A database with nothing in it.
    pub async fn empty(&self) -> Scratch {
        let scratch = self.name();
        self.sql("postgres", &format!("CREATE DATABASE {}", scratch.name)).await;
        scratch
    }

    fn name(&self) -> Scratch {
        Scratch { name: format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed)) }
    }

    async fn make_template(&self) {
        self.sql("postgres", "CREATE DATABASE placet_template").await;
        let outside = Surroundings::alone(std::sync::Arc::new(SystemClock), std::sync::Arc::new(SystemEntropy));
        let address = Box::new(Address::parse(&self.url("placet_template")).unwrap());
        let store = open(&Database::Postgres { address, connections: CONNECTIONS_MIN }, Exclusive::Beside, outside).await;
        store.unwrap().close().await;
        // A database can be copied only while no connection to it is open.
        let leave = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'placet_template'";
        self.sql("postgres", leave).await;
    }
}

/// All rows of one moment, whatever is written meanwhile.
pub struct Snapshot {
    client: Client,
}

impl Snapshot {
    /// The rows a query gives.
    pub async fn rows(&self, sql: &str) -> Vec<Row> {
        self.client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }
}

impl Scratch {
    /// Its URL, over the socket.
    pub fn url(&self) -> String {
        Cluster::of_this_process().url(&self.name)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection beside those of the servers; it ends with the test's runtime.
    #[expect(clippy::disallowed_methods, reason = "the connection ends with the test's runtime")]
    pub async fn rival(&self) -> Rival {
        let (client, wire) = tokio_postgres::connect(&self.url(), NoTls).await.unwrap();
        tokio::spawn(wire);
        Rival { client }
    }

    /// The database as a server's configuration names it.
    pub fn database(&self) -> Database {
        Database::Postgres { address: Box::new(Address::parse(&self.url()).unwrap()), connections: CONNECTIONS }
    }

    /// Everything in the database, with bytes as they are.
    pub fn dump(&self) -> Vec<u8> {
        let dumped = Command::new(programs().join("pg_dump")).arg(self.url()).output().unwrap();
        assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
        // pg_dump protects the text for psql with a word that it draws anew each time.
        let lines = dumped.stdout.split_inclusive(|byte| *byte == b'\n');
        let guard = |line: &&[u8]| !line.starts_with(b"\\restrict") && !line.starts_with(b"\\unrestrict");
        let mut held = lines.filter(guard).collect::<Vec<_>>().concat();
        let text = String::from_utf8(held.clone()).unwrap();
        for hex in text.split("\\\\x").skip(1) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            held.extend((0..end / 2).map(|byte| u8::from_str_radix(&hex[2 * byte..2 * byte + 2], 16).unwrap()));
        }
        held
    }

    /// Deletes the database: hundreds of them would fill the disk.
    pub async fn forget(self) {
        Cluster::of_this_process().sql("postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

/// Whether files that this process makes belong to root.
fn am_root(folder: &Path) -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(folder).unwrap()) == 0
}

/// The folder of `initdb`: Debian's newest version, or the one on the PATH.
fn programs() -> PathBuf {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))))
        .filter(|(_, programs)| programs.join("initdb").exists())
        .max();
    let in_path = || {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).find(|folder| folder.join("initdb").exists())
    };
    newest.map(|(_, programs)| programs).or_else(in_path).unwrap_or_else(|| {
        panic!("the tests need PostgreSQL: apt-get install postgresql (./test does it)");
    })
}
