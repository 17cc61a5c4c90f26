//! The columns of an alert, once for both databases.

use domain::base::ids::PersonId;

use crate::columns::unsigned;
use crate::rows::{AlertRow, RowsResult};
use crate::schema::alerts;
use crate::sql::{At, Key};

/// The columns of an alert.
pub(crate) type AlertSelection = (alerts::suspension, alerts::person, alerts::due_at, alerts::tries, alerts::lease);
pub(crate) const ALERT: AlertSelection = (alerts::suspension, alerts::person, alerts::due_at, alerts::tries, alerts::lease);

pub(crate) type AlertColumns = (i64, Key, Option<At>, i32, Option<Vec<u8>>);

pub(crate) fn alert_row((suspension, person, due_at, tries, lease): AlertColumns) -> RowsResult<AlertRow> {
    let (person, due_at) = (PersonId(person.0), due_at.map(|at| at.0));
    Ok(AlertRow { suspension, person, due_at, tries: unsigned(tries)?, lease })
}

/// The statements on alerts, which are the same on both databases, by the expression that leads to the connection. Their types differ with
/// the database, so they cannot be functions.
macro_rules! writes_of_alerts {
    ($rows:ident, $connection:expr) => {
        fn insert_alert(&mut $rows, alert: &AlertRow) -> RowsResult<()> {
            let row = (
                alerts::suspension.eq(alert.suspension),
                alerts::person.eq(Key(alert.person.0)),
                alerts::due_at.eq(alert.due_at.map(At)),
                alerts::tries.eq(signed(alert.tries)),
                alerts::lease.eq(alert.lease.as_deref()),
            );
            diesel::insert_into(alerts::table).values(row).on_conflict_do_nothing().execute($connection)?;
            Ok(())
        }

        fn update_alert(&mut $rows, alert: &AlertRow) -> RowsResult<()> {
            let changes = (
                alerts::due_at.eq(alert.due_at.map(At)),
                alerts::tries.eq(signed(alert.tries)),
                alerts::lease.eq(alert.lease.as_deref()),
            );
            let row = alerts::table.find((alert.suspension, Key(alert.person.0)));
            diesel::update(row).set(changes).execute($connection)?;
            Ok(())
        }

        fn delete_alert(&mut $rows, suspension: i64, person: PersonId) -> RowsResult<()> {
            diesel::delete(alerts::table.find((suspension, Key(person.0)))).execute($connection)?;
            Ok(())
        }

        fn delete_alerts(&mut $rows, suspension: i64) -> RowsResult<()> {
            diesel::delete(alerts::table.filter(alerts::suspension.eq(suspension))).execute($connection)?;
            Ok(())
        }
    };
}
pub(crate) use writes_of_alerts;

macro_rules! reads_of_alerts {
    ($rows:ident, $connection:expr) => {
        fn is_alerted(&mut $rows, suspension: i64) -> RowsResult<bool> {
            let found = alerts::table.filter(alerts::suspension.eq(suspension)).select(alerts::suspension);
            Ok(found.first::<i64>($connection).optional()?.is_some())
        }

        fn alert(&mut $rows, suspension: i64, person: PersonId) -> RowsResult<Option<AlertRow>> {
            let found = alerts::table.find((suspension, Key(person.0))).select(ALERT);
            found.first::<AlertColumns>($connection).optional()?.map(alert_row).transpose()
        }

        fn queued_alerts(&mut $rows, limit: u32) -> RowsResult<Vec<AlertRow>> {
            let queued = alerts::table.filter(alerts::due_at.is_not_null()).order(alerts::due_at).limit(i64::from(limit));
            queued.select(ALERT).load::<AlertColumns>($connection)?.into_iter().map(alert_row).collect()
        }
    };
}
pub(crate) use reads_of_alerts;
