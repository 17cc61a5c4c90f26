//! Encrypts what the database must not show to a reader of a copy of it, under the key file outside the database.

use std::path::Path;

use anyhow::{Context, bail};
use domain::base::ids::Entropy;
use proof::key::{KeyFile, open_bytes, seal_bytes};

/// The key of the key file.
pub(crate) struct Vault([u8; 32]);

impl Vault {
    /// Reads the key file, which the log has made at the first start.
    ///
    /// # Errors
    ///
    /// A file that is missing, or that holds the signing key of an operator and no key to encrypt with.
    pub(crate) fn of_file(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { bail!("no key file is named; set PLACET_LOG_KEY_FILE") };
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read the key file {}", path.display()))?;
        match KeyFile::read(&text).with_context(|| format!("failed to use {}", path.display()))? {
            KeyFile::Wrapping(key) => Ok(Self(key)),
            KeyFile::Given(_) => {
                bail!("the key file {} holds a signing key of your own, and none to encrypt with", path.display())
            }
        }
    }

    /// Encrypts; `about` is needed once more to decrypt. `None` cannot happen with a key of this length.
    pub(crate) fn seal(&self, about: &str, bytes: &[u8], entropy: &dyn Entropy) -> Option<Vec<u8>> {
        let mut nonce = [0; 12];
        entropy.fill(&mut nonce);
        seal_bytes(&self.0, about, bytes, nonce).ok()
    }

    /// Decrypts; `None` if it was encrypted under another key, is about something else, or was changed.
    pub(crate) fn open(&self, about: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        open_bytes(&self.0, about, sealed).ok()
    }
}
