//! Which database holds the data, and how it is opened.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::postgres::{Address, PostgresStore, is_empty};
use super::sqlite::{Exclusive, SqliteStore};
use super::{Store, Surroundings};

/// The place of the data.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file on this machine.
    Sqlite(PathBuf),
    /// A database that other servers may share, and how many connections this server makes to it.
    Postgres { address: Box<Address>, connections: u32 },
}

impl Database {
    /// Refuses a missing file or a database without tables. A command that has nothing to do on an empty database calls this
    /// first, because opening would create the database.
    ///
    /// # Errors
    ///
    /// The error names the place where the database should be. Usually the command runs in another folder than the server, or
    /// with other settings.
    pub async fn must_exist(&self) -> anyhow::Result<()> {
        match self {
            Self::Sqlite(path) if !path.exists() => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                anyhow::bail!(
                    "there is no database at {}; is this the server's folder, and do PLACET_DATABASE_URL and --config have the \
                     server's values?",
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
    /// Whether opening the database would make it: the file is not there, or the database has no tables.
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

    /// The file of the database, if it is on this machine.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Postgres { .. } => None,
        }
    }

    /// The place of the database, in a form that is valid from every folder.
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
/// The problem with the database, in one or two lines.
pub async fn open(database: &Database, exclusive: Exclusive, surroundings: Surroundings) -> anyhow::Result<Arc<dyn Store>> {
    Ok(match database {
        Database::Sqlite(path) => Arc::new(SqliteStore::open(path, exclusive, surroundings)?),
        Database::Postgres { address, connections } => Arc::new(PostgresStore::open(address, *connections, surroundings).await?),
    })
}
