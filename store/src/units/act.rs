//! Commands of the server's own.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::people::principal::Principal;

use super::loaded::Loaded;
use super::log::append;
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Applies a command of the server's own. `now` is what the caller found it due by: a clock that is set back between two looks must not
/// undo what the first one decided.
pub(super) fn act<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    command: &Command,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let server = Principal::server();
    // The server's own commands are never refused; if one were, nothing would happen.
    if let Ok(events) = decide(&loaded.intent, command, &server, now) {
        append(rows, env, loaded, &events, &server.name, now)?;
    }
    Ok(())
}
