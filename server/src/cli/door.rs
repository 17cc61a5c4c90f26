//! Tells the address that lets a browser read the mails of development mode: on the terminal, or in a file beside the database
//! that only its owner can read. The address never stands in a log, which others read.

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use store::Database;
use tokio::sync::watch;
use url::Url;

use super::say;
use crate::config::is_loopback;

/// The end of the file's name, behind the name of the database.
const FILE_END: &str = "-address";

/// Shows the address to the person who started the server. Dropping the door removes the file.
pub(super) struct Door {
    way: Way,
    /// Whether a phone can reach the server. If one can, the address is also drawn as a QR code.
    is_drawn: bool,
}

enum Way {
    Terminal,
    File(PathBuf),
    /// There is no terminal, and no folder that belongs to this database.
    None,
}

impl Door {
    pub(super) fn new(database: &Database, public_url: &Url) -> Self {
        let way = match (std::io::stdout().is_terminal(), database) {
            (true, _) => Way::Terminal,
            (false, Database::Sqlite(path)) => Way::File(beside(path)),
            (false, Database::Postgres { .. }) => Way::None,
        };
        Self { way, is_drawn: !is_loopback(public_url) }
    }

    /// Says that mails stay in memory for the reason `why`, and where they can be read.
    pub(super) fn open(&self, why: &str, address: &str) -> anyhow::Result<()> {
        match &self.way {
            Way::Terminal => {
                say(format!("{why}. To read them, open this address; it lets one browser in, once: {address}"))?;
                self.draw(address)
            }
            Way::File(file) => {
                write(file, address)?;
                let file = file.display();
                Ok(say(format!("{why}. To read them, open the address in {file}; it lets one browser in, once."))?)
            }
            Way::None => Ok(say(format!("{why}. Start on a terminal to see where to read them."))?),
        }
    }

    /// Tells each new address that replaces a used one.
    pub(super) async fn keep(self, mut address: watch::Receiver<String>) {
        while address.changed().await.is_ok() {
            let next = address.borrow_and_update().clone();
            if let Err(error) = self.again(&next) {
                tracing::warn!(error = format!("{error:#}"), "failed to show or write down the address for another browser");
            }
        }
    }

    fn again(&self, address: &str) -> anyhow::Result<()> {
        match &self.way {
            Way::Terminal => {
                say(format!("A browser was let in. For another browser, use this new address: {address}"))?;
                self.draw(address)
            }
            Way::File(file) => write(file, address),
            Way::None => Ok(()),
        }
    }

    fn draw(&self, address: &str) -> anyhow::Result<()> {
        if !self.is_drawn {
            return Ok(());
        }
        let code = QrCode::new(address).context("failed to draw the address")?;
        // The colours suit dark terminals, which are more common; phones read the inverse as well.
        let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
        Ok(say(drawn)?)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Way::File(file) = &self.way {
            // If the file stays behind, its address lets no browser in once this server has stopped.
            drop(std::fs::remove_file(file));
        }
    }
}

/// `placet.db-address` beside `placet.db`.
fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(FILE_END);
    PathBuf::from(name)
}

/// Writes a file that only its owner can read. It always makes a new file: an existing one may be open elsewhere, or be a link.
fn write(file: &Path, address: &str) -> anyhow::Result<()> {
    let unwritten = || format!("failed to write {}", file.display());
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(unwritten),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file).with_context(unwritten)?;
    writeln!(file, "{address}").with_context(unwritten)
}
