//! `placet keys rotate-log`: puts another key in force that signs checkpoints of the log; works beside running servers.

use std::path::PathBuf;

use clap::Args;
use store::host::account;
use store::host::clock::SystemEntropy;

use super::beside::open_existing;
use super::remote::tell;
use super::say;
use crate::config::DatabaseArgs;
use crate::log::key::{open_to_others, rotate};

#[derive(Args)]
pub(super) struct RotateLogArgs {
    /// The key file of the servers; beside a database file by default.
    #[arg(long, env = "PLACET_LOG_KEY_FILE", value_name = "FILE")]
    log_key_file: Option<PathBuf>,
    /// A key file for the new key: with a signing key that you made, or with other bytes to encrypt a new one. Servers need it in place
    /// of their key file afterwards. By default the new key is made and encrypted under the present key file.
    #[arg(long, value_name = "FILE")]
    new_key_file: Option<PathBuf>,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Rotates the key, and prints the new public key alone on standard output.
pub(super) async fn run(args: RotateLogArgs) -> anyhow::Result<()> {
    let path = args.database.log_key_file(args.log_key_file)?;
    let store = open_existing(&args.database).await?;
    if let Some(warning) = args.new_key_file.as_deref().and_then(open_to_others) {
        tell(warning);
    }
    let files = (path.as_deref(), args.new_key_file.as_deref());
    let passed_on = rotate(&*store, account::principal(), files, &SystemEntropy).await?;
    tell(format!("the key {} signs no more; it has named the new key, which is written to standard output", passed_on.replaces));
    if let Some(next) = &args.new_key_file {
        tell(format!("each server signs again when {} is in the place of its key file", next.display()));
    } else {
        tell("servers that run sign with the new key within five seconds");
    }
    tell("give the new public key to the people who check the log, and to each witness");
    Ok(say(passed_on.key)?)
}
