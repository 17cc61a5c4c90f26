//! The key that signs the log's checkpoints, and the name of the log.

use std::path::PathBuf;

use anyhow::bail;
use store::Database;
use store::sqlite::beside;

/// The ending that a database file's name gets for the key file beside it.
const KEY_FILE_ENDING: &str = ".log-key";

/// Where the key to the log is, and what the log is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogConfig {
    /// The file without which the server signs nothing; absent for PostgreSQL unless the operator names one.
    pub key_file: Option<PathBuf>,
    /// The name of a log that is begun; absent for a name made from the public URL.
    pub origin: Option<String>,
}

impl LogConfig {
    /// Checks the settings, and finds the key file beside a database file.
    pub(super) fn resolve(key_file: Option<PathBuf>, origin: Option<String>, database: &Database) -> anyhow::Result<Self> {
        if let Some(name) = &origin
            && let Err(error) = proof::key::check_name(name)
        {
            bail!("PLACET_LOG_ORIGIN: {error}");
        }
        Ok(Self { key_file: key_file.or_else(|| Self::beside(database).key_file), origin })
    }

    /// The settings of a log whose operator has set nothing.
    pub fn beside(database: &Database) -> Self {
        Self { key_file: database.file().map(|file| beside(file, KEY_FILE_ENDING)), origin: None }
    }
}
