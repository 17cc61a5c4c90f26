//! Commands that the server itself gives.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::decide::decide;
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::people::principal::Principal;

use super::loaded::{Loaded, load_beside};
use super::log::append;
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};
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
    let server = Principal::server();
    // Commands of the server's own are never refused; if one were, nothing would happen.
    let Ok(mut events) = decide(&loaded.intent, command, &server, now) else { return Ok(()) };
    // If the command ends the intent, the open requests beside it (for example for an approval) end as well. They are loaded only
    // in this case, because few commands end an intent. The second decision has the events of the first one and, in addition, the
    // ends of these requests.
    if events.iter().any(Event::ends_intent) {
        load_beside(rows, loaded)?;
        let again = decide(&loaded.intent, command, &server, now);
        events = again.map_err(|_| RowsError::Inconsistent("a command is refused once the requests of its intent are loaded"))?;
    }
    append(rows, env, loaded, &events, &server.name, now)?;
    // A fallback completes an errand, and other intents may wait for it: the deadline loop tells them.
    if loaded.intent.is_errand && loaded.intent.status == Status::Completed && events.iter().any(Event::ends_intent) {
        rows.insert_completion(loaded.row.rid)?;
        rows.notice(Notice::Timer);
    }
    Ok(())
}
