//! `placet release`: lets deadlines and messages go on after a restore.

use std::sync::Arc;

use clap::Args;
use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::Exclusive;
use store::{self, Surroundings};

use super::say;
use crate::config::DatabaseArgs;

#[derive(Args)]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(args: ReleaseArgs) -> anyhow::Result<()> {
    let database = args.database.database()?;
    database.must_exist().await?;
    let surroundings = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = store::open(&database, Exclusive::Beside, surroundings).await?;
    say(if store.release().await? {
        "Released. The server goes on within five seconds, or when it starts: open questions get more time and are mailed again."
    } else {
        "Nothing waits to be released."
    })?;
    Ok(())
}
