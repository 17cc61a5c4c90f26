//! The columns and statements of the messages that a suspension is over, once for both databases.

use chrono::DateTime;
use chrono::Utc;

use crate::rows::{RowsError, RowsResult, WakePostRow};
use crate::schema::wake_posts;
use crate::sql::At;

/// The columns of a message.
pub(crate) type WakePostSelection =
    (wake_posts::endpoint, wake_posts::suspension, wake_posts::tries, wake_posts::due_at, wake_posts::lease);
pub(crate) const WAKE_POST: WakePostSelection =
    (wake_posts::endpoint, wake_posts::suspension, wake_posts::tries, wake_posts::due_at, wake_posts::lease);

pub(crate) type WakePostColumns = (String, i64, i32, At, Option<Vec<u8>>);

pub(crate) fn wake_post_row((endpoint, suspension, tries, due_at, lease): WakePostColumns) -> RowsResult<WakePostRow> {
    let tries = u32::try_from(tries).map_err(|_| RowsError::Inconsistent("a negative number of tries"))?;
    let lease = lease.map(|lease| lease.try_into().map_err(|_| RowsError::Inconsistent("a lease of another length")));
    Ok(WakePostRow { endpoint, suspension, tries, due_at: due_at.0, lease: lease.transpose()? })
}

pub(crate) fn stored(row: &WakePostRow) -> (i32, DateTime<Utc>, Option<Vec<u8>>) {
    (i32::try_from(row.tries).unwrap_or(i32::MAX), row.due_at, row.lease.map(|lease| lease.to_vec()))
}

/// The statements that write, which are the same on both databases, by the expression that leads to the connection. Their types differ with
/// the database, so they cannot be functions.
macro_rules! writes_of_wake_posts {
    ($rows:ident, $connection:expr) => {
        fn insert_wake_posts(&mut $rows, suspension: i64, endpoints: &[&str], due_at: DateTime<Utc>) -> RowsResult<()> {
            for endpoint in endpoints {
                let row = (
                    wake_posts::endpoint.eq(*endpoint),
                    wake_posts::suspension.eq(suspension),
                    wake_posts::tries.eq(0),
                    wake_posts::due_at.eq(At(due_at)),
                );
                diesel::insert_into(wake_posts::table).values(row).execute($connection)?;
            }
            Ok(())
        }

        fn move_wake_post(&mut $rows, before: &WakePostRow, after: &WakePostRow) -> RowsResult<bool> {
            // A lease moves the time, so the time alone says whether another server was faster.
            let row = wake_posts::table.find((&before.endpoint, before.suspension)).filter(wake_posts::due_at.eq(At(before.due_at)));
            let (tries, due_at, lease) = stored(after);
            let changes = (wake_posts::tries.eq(tries), wake_posts::due_at.eq(At(due_at)), wake_posts::lease.eq(lease));
            Ok(diesel::update(row).set(changes).execute($connection)? == 1)
        }

        fn delete_wake_post(&mut $rows, endpoint: &str, suspension: i64) -> RowsResult<()> {
            diesel::delete(wake_posts::table.find((endpoint, suspension))).execute($connection)?;
            Ok(())
        }

        fn delete_wake_posts_before(&mut $rows, time: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
            let old = wake_posts::table.filter(wake_posts::due_at.lt(At(time))).order(wake_posts::due_at);
            let old = old.limit(i64::from(limit)).select((wake_posts::endpoint, wake_posts::suspension));
            let old = old.load::<(String, i64)>($connection)?;
            for (endpoint, suspension) in &old {
                diesel::delete(wake_posts::table.find((endpoint, *suspension))).execute($connection)?;
            }
            Ok(old.len() as u64)
        }
    };
}
pub(crate) use writes_of_wake_posts;

macro_rules! reads_of_wake_posts {
    ($rows:ident, $connection:expr) => {
        fn wake_post(&mut $rows, endpoint: &str, suspension: i64) -> RowsResult<Option<WakePostRow>> {
            let found = wake_posts::table.find((endpoint, suspension)).select(WAKE_POST);
            found.first::<WakePostColumns>($connection).optional()?.map(wake_post_row).transpose()
        }

        fn due_wake_posts(&mut $rows, endpoint: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<WakePostRow>> {
            let due = wake_posts::table.filter(wake_posts::endpoint.eq(endpoint)).filter(wake_posts::due_at.le(At(now)));
            let due = due.order((wake_posts::due_at, wake_posts::suspension)).limit(i64::from(limit)).select(WAKE_POST);
            due.load::<WakePostColumns>($connection)?.into_iter().map(wake_post_row).collect()
        }
    };
}
pub(crate) use reads_of_wake_posts;
