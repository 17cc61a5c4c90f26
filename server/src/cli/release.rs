//! `placet release`: lets deadlines and messages go on after a restore.

use std::sync::Arc;

use clap::Args;

use super::say;
use crate::clock::{SystemClock, SystemEntropy};
use crate::config::DatabaseArgs;
use crate::store::sqlite::Exclusive;
use crate::store::{self, Outside};

#[derive(Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(args: ReleaseArgs) -> anyhow::Result<()> {
    let database = args.database.database()?;
    database.must_exist().await?;
    let outside = Outside::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = store::open(&database, Exclusive::Beside, outside).await?;
    say(if store.release().await? {
        "Released. The server goes on within five seconds, or when it starts: open questions get time back and are mailed afresh."
    } else {
        "Nothing waits to be released."
    })?;
    Ok(())
}
