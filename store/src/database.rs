//! Which database holds the data, and how it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

    /// Its file, if it is one of this machine.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres { .. } => None,
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
