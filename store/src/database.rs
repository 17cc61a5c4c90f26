//! Which database holds the data, and how it is opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::base::ids::KeyId;
use domain::people::principal::Role;
use domain::wire::KeyView;

use super::postgres::{Address, PostgresStore, is_empty};
use super::sqlite::{Exclusive, SqliteStore};
use super::{Store, Surroundings};

/// Where the data is.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file of this machine.
    Sqlite(PathBuf),
    /// A database other servers may share, and how many connections this one makes to it.
    Postgres { address: Box<Address>, connections: u32 },
}

impl Database {
    /// Refuses a file that is not there, or a database without tables, for a command that has nothing to do on an empty one but would
    /// make it.
    ///
    /// # Errors
    ///
    /// Where it would have to be: the usual reason is another folder, or other settings than the server's.
    pub async fn must_exist(&self) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(path) if !path.exists() => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                anyhow::bail!(
                    "there is no database at {}; is this the server's folder, and are PLACET_DATABASE_URL and --config as it has them?",
                    path.display()
                )
            }
            Self::Sqlite(_) => Ok(()),
            Self::Postgres { address, .. } => {
                if is_empty(address).await? {
                    anyhow::bail!(
                        "{address} holds no tables; is PLACET_DATABASE_URL the server's, and has a server ever run on it?"
                    )
                }
                Ok(())
            }
        }
    }
}

impl Database {
    /// Whether opening it would make it: the file is not there, or the database has no tables.
    ///
    /// # Errors
    ///
    /// A database that cannot be reached.
    pub async fn is_new(&self) -> anyhow::Result<bool> {
        match self {
            Self::Sqlite(path) => Ok(!path.exists()),
            Self::Postgres { address, .. } => is_empty(address).await,
        }
    }

    /// Where it is, from whatever folder one looks.
    pub fn place(&self) -> String {
        match self {
            Self::Sqlite(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string(),
            Self::Postgres { address, .. } => address.to_string(),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres { address, .. } => write!(f, "{address}"),
        }
    }
}

/// How the tables of a database relate to this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// There are none yet; the first start makes them.
    Empty,
    /// They are somebody else's.
    Foreign,
    /// The next start adds so many migrations.
    Older(usize),
    /// They are this program's.
    Current,
    /// `placet migrate` fills them, and has not finished.
    Half,
    /// A newer program wrote this migration.
    Newer(String),
}

/// A key with the role `channel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway {
    pub id: KeyId,
    pub name: String,
    /// The channels it is tied to; absent for an unbound one.
    pub tied_to: Option<Vec<String>>,
}

impl Gateway {
    /// Those among all keys.
    pub(super) fn among(keys: Vec<KeyView>) -> Vec<Self> {
        let counts = |key: &KeyView| key.role == Role::Channel && key.revoked_at.is_none();
        keys.into_iter().filter(counts).map(|key| Self { id: key.id, name: key.name, tied_to: key.tied_to }).collect()
    }
}

/// What a database holds, as far as its operator is concerned.
#[derive(Debug)]
pub struct Inspection {
    /// Whose tables these are; the rest is known only of `Older` and `Current` ones.
    pub schema: Schema,
    /// Whether commits go to a write-ahead log; those of PostgreSQL always do.
    pub write_ahead: bool,
    /// What the database's own check says is broken; PostgreSQL has none to ask.
    pub damage: Option<String>,
    /// Where everything went, if `placet migrate` moved it; no server starts here any more.
    pub moved_to: Option<String>,
    /// When the newest event was written.
    pub last_event: Option<DateTime<Utc>>,
    /// Keys that count.
    pub keys: i64,
    /// Gateways whose keys count, once the tables are of this version.
    pub gateways: Vec<Gateway>,
    /// Since when deadlines and messages wait after a restore.
    pub held_since: Option<DateTime<Utc>>,
    /// A secret of the server's own, if it has made it.
    pub secret: Option<[u8; 32]>,
    /// Whether a server in production has served it.
    pub was_in_production: bool,
}

impl Inspection {
    /// A database of which nothing more is known yet.
    pub(super) fn of(schema: Schema) -> Self {
        Self {
            schema,
            write_ahead: false,
            damage: None,
            moved_to: None,
            last_event: None,
            keys: 0,
            gateways: Vec::new(),
            held_since: None,
            secret: None,
            was_in_production: false,
        }
    }
}

/// Opens a database, making its tables where they are missing.
///
/// # Errors
///
/// What is wrong with it, in one or two lines.
pub async fn open(database: &Database, exclusive: Exclusive, surroundings: Surroundings) -> anyhow::Result<Arc<dyn Store>> {
    Ok(match database {
        Database::Sqlite(path) => Arc::new(SqliteStore::open(path, exclusive, surroundings)?),
        Database::Postgres { address, connections } => Arc::new(PostgresStore::open(address, *connections, surroundings).await?),
    })
}
