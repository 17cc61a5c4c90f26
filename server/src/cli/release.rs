//! `placet release`: lets deadlines and messages go on after a restore.

use std::sync::Arc;

use clap::Args;

use super::say;
use crate::clock::{SystemClock, SystemEntropy};
use crate::config::DatabaseArgs;
use crate::store::Store;
use crate::store::sqlite::{Exclusive, SqliteStore};

#[derive(Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(args: ReleaseArgs) -> anyhow::Result<()> {
    let path = args.database.path()?;
    if !path.exists() {
        anyhow::bail!("there is no database at {}", path.display());
    }
    let store = SqliteStore::open(&path, Exclusive::Beside, Arc::new(SystemClock), Arc::new(SystemEntropy))?;
    say(if store.release().await? {
        "Released. The server goes on within five seconds, or when it starts: open questions get time back and are mailed afresh."
    } else {
        "Nothing waits to be released."
    })?;
    Ok(())
}
