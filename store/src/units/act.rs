//! Commands that the server itself gives.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::people::principal::Principal;

use super::loaded::{Loaded, load_beside};
use super::log::append;
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Applies a command of the server's own. `now` is the time at which the caller found the command due. The clock is not read
/// again, because the command would not be due any more if the clock had been set back meanwhile.
pub(super) fn act<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    command: &Command,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    if let Command::DeadlineReached { .. } = command {
        // The end of the question may also end the intent, and with it the requests beside the intent.
        load_beside(rows, loaded)?;
    }
    let server = Principal::server();
    // Commands of the server's own are never refused; if one were, nothing would happen.
    if let Ok(events) = decide(&loaded.intent, command, &server, now) {
        append(rows, env, loaded, &events, &server.name, now)?;
    }
    Ok(())
}
