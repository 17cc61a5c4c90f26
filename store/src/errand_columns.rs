//! The columns of an errand, once for both databases.

use crate::rows::{Code, ErrandRow, RowsResult};
use crate::schema::errands;
use crate::sql::At;

/// The columns of an errand.
pub(crate) type ErrandSelection = (errands::intent, errands::asker, errands::context_id, errands::fate, errands::changed_at);
pub(crate) const ERRAND: ErrandSelection =
    (errands::intent, errands::asker, errands::context_id, errands::fate, errands::changed_at);

pub(crate) type ErrandColumns = (i64, String, String, i32, At);

pub(crate) fn errand_row((intent, asker, context_id, fate, changed_at): ErrandColumns) -> RowsResult<ErrandRow> {
    Ok(ErrandRow { intent, asker, context_id, fate: Code::from_code(fate)?, changed_at: changed_at.0 })
}

/// The statements on errands, which are the same on both databases, by the expression that leads to the connection. Their types differ with
/// the database, so they cannot be functions.
macro_rules! writes_of_errands {
    ($rows:ident, $connection:expr) => {
        fn insert_errand(&mut $rows, row: &ErrandRow) -> RowsResult<()> {
            let values = (
                errands::intent.eq(row.intent),
                errands::asker.eq(&row.asker),
                errands::context_id.eq(&row.context_id),
                errands::fate.eq(row.fate.code()),
                errands::changed_at.eq(At(row.changed_at)),
            );
            diesel::update(intents::table.find(row.intent)).set(intents::is_errand.eq(true)).execute($connection)?;
            // A question that supersedes the one with which the errand began belongs to the same errand.
            diesel::insert_into(errands::table).values(values).on_conflict_do_nothing().execute($connection)?;
            Ok(())
        }

        fn move_errand(&mut $rows, intent: i64, fate: Fate, at: DateTime<Utc>) -> RowsResult<()> {
            let changes = (errands::fate.eq(fate.code()), errands::changed_at.eq(At(at)));
            diesel::update(errands::table.find(intent)).set(changes).execute($connection)?;
            Ok(())
        }

        fn delete_errand(&mut $rows, intent: i64) -> RowsResult<()> {
            diesel::delete(errands::table.find(intent)).execute($connection)?;
            Ok(())
        }
    };
}
pub(crate) use writes_of_errands;

/// The errands of a list, wherever it begins.
macro_rules! listed_errands {
    ($listed:expr) => {{
        // The bound, even if it bounds nothing, lets an index find the place.
        let since = $listed.since.unwrap_or(DateTime::UNIX_EPOCH);
        let mut found = errands::table.filter(errands::changed_at.ge(At(since))).into_boxed();
        if let Some(asker) = $listed.asker {
            found = found.filter(errands::asker.eq(asker));
        }
        if let Some(context_id) = $listed.context_id {
            found = found.filter(errands::context_id.eq(context_id));
        }
        if let Some(fate) = $listed.fate {
            found = found.filter(errands::fate.eq(fate.code()));
        }
        found
    }};
}
pub(crate) use listed_errands;

macro_rules! reads_of_errands {
    ($rows:ident, $connection:expr) => {
        fn errand(&mut $rows, intent: i64) -> RowsResult<Option<ErrandRow>> {
            let found = errands::table.find(intent).select(ERRAND).first::<ErrandColumns>($connection).optional()?;
            found.map(errand_row).transpose()
        }

        fn errands(&mut $rows, listed: ListedErrands<'_>) -> RowsResult<Vec<ErrandRow>> {
            let mut found = listed_errands!(listed);
            if let Some((at, intent)) = listed.before {
                let earlier = errands::changed_at.lt(At(at));
                let beside = errands::changed_at.eq(At(at)).and(errands::intent.lt(intent));
                // The first condition alone lets an index find the place.
                found = found.filter(errands::changed_at.le(At(at))).filter(earlier.or(beside));
            }
            let found = found.order((errands::changed_at.desc(), errands::intent.desc())).limit(i64::from(listed.limit));
            found.select(ERRAND).load::<ErrandColumns>($connection)?.into_iter().map(errand_row).collect()
        }

        fn count_errands(&mut $rows, listed: ListedErrands<'_>) -> RowsResult<u32> {
            // In the order of an index, so that no more rows are read than are counted.
            let found = listed_errands!(listed).order((errands::changed_at.desc(), errands::intent.desc()));
            let found = found.limit(i64::from(listed.limit)).select(errands::intent);
            let counted = found.load::<i64>($connection)?.len();
            Ok(u32::try_from(counted).unwrap_or(u32::MAX))
        }
    };
}
pub(crate) use reads_of_errands;
