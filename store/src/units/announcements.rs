//! Announced questions that did not come.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;

use super::act::act;
use super::loaded::load;
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Takes back the announcements of these intents whose questions did not come in time.
pub(super) fn take_back<R: Rows>(rows: &mut R, env: &Env<'_>, intents: &[i64], now: DateTime<Utc>) -> RowsResult<()> {
    for intent in intents {
        let loaded = rows.reads().intent_at(*intent).and_then(|row| load(rows, row, None));
        match loaded {
            Ok(mut loaded) => {
                act(rows, env, &mut loaded, &Command::AnnouncementDue, now)?;
                // If the agent has announced another question meanwhile, the row stays. If the intent has no announcement now,
                // the row is deleted, because otherwise it would stay due for ever.
                if loaded.intent.announcement.is_none() {
                    rows.delete_announcement(*intent)?;
                }
            }
            Err(error) if error.is_unreadable() => {
                tracing::error!(intent.rid = intent, error = %error, "an announced question cannot be read, so it is not taken back");
                rows.delete_announcement(*intent)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
