//! The columns of a question in a list, once for both databases.

use chrono::{DateTime, Utc};
use diesel::Queryable;
use diesel::dsl::IsNotNull;
use domain::suspension::Asker;
use domain::suspension::hands::Hands;

use crate::columns::unsigned;
use crate::rows::{Code, ListedRow, MessageRow, RowsResult};
use crate::schema::suspensions;
use crate::sql::{At, Json, Owned};

/// The time of a question without a deadline in the order of the deadlines: the last second of the year 9999.
pub(crate) const NO_DEADLINE: DateTime<Utc> = match DateTime::from_timestamp(253_402_300_799, 0) {
    Some(time) => time,
    None => DateTime::UNIX_EPOCH,
};

/// The columns of a question in a list.
pub(crate) type ListedSelection = (
    suspensions::rid,
    suspensions::event,
    suspensions::intent,
    suspensions::kind,
    suspensions::asker,
    suspensions::asker_owner,
    suspensions::expires_at,
    IsNotNull<suspensions::quorum>,
    suspensions::hands,
    IsNotNull<suspensions::resolution>,
);

/// See [`ListedSelection`].
pub(crate) fn listed() -> ListedSelection {
    use diesel::ExpressionMethods;
    (
        suspensions::rid,
        suspensions::event,
        suspensions::intent,
        suspensions::kind,
        suspensions::asker,
        suspensions::asker_owner,
        suspensions::expires_at,
        suspensions::quorum.is_not_null(),
        suspensions::hands,
        suspensions::resolution.is_not_null(),
    )
}

#[derive(Queryable)]
pub(crate) struct ListedColumns {
    rid: i64,
    event: i64,
    intent: i64,
    kind: i32,
    asker: String,
    asker_owner: Owned,
    expires_at: Option<At>,
    has_quorum: bool,
    hands: Option<Json<Hands>>,
    has_ended: bool,
}

impl ListedColumns {
    pub(crate) fn into_row(self) -> RowsResult<ListedRow> {
        Ok(ListedRow {
            rid: self.rid,
            event: self.event,
            intent: self.intent,
            kind: Code::from_code(self.kind)?,
            asked_by: Asker { name: self.asker, owner: self.asker_owner.0 },
            expires_at: self.expires_at.map(|at| at.0),
            has_quorum: self.has_quorum,
            hands: self.hands.map(|hands| hands.0).unwrap_or_default(),
            has_ended: self.has_ended,
        })
    }
}

/// The columns of a message that is counted.
pub(crate) type MessageColumns = (i64, i32, String, i32);

pub(crate) fn message_row((suspension, attempt, recipient, state): MessageColumns) -> RowsResult<MessageRow> {
    Ok(MessageRow { suspension, attempt: unsigned(attempt)?, recipient, state: Code::from_code(state)? })
}

/// The reads of an inbox that both databases answer with the same statements, by the expression that leads to the connection. Their types
/// differ with the database, so they cannot be functions.
macro_rules! reads_of_inbox {
    ($rows:ident, $connection:expr) => {
        fn at_place(
            &mut $rows,
            place: &Place,
            after: Option<(DateTime<Utc>, i64)>,
            limit: u32,
        ) -> RowsResult<Vec<PlacedRow>> {
            let mut found = inbox::table.filter(inbox::place.eq(place.to_string())).into_boxed();
            if let Some((due_at, rid)) = after {
                // The first condition bounds the range of the index; the second one leaves out its beginning.
                found = found.filter(inbox::due_at.ge(At(due_at)));
                found = found.filter(inbox::due_at.gt(At(due_at)).or(inbox::suspension.gt(rid)));
            }
            let columns = (inbox::due_at, inbox::suspension, inbox::keeps_owner, inbox::is_plain);
            let found = found.order((inbox::due_at, inbox::suspension)).limit(i64::from(limit)).select(columns);
            let found = found.load::<(At, i64, bool, bool)>($connection)?;
            let row = |(due_at, rid, keeps_owner, is_plain): (At, i64, bool, bool)| {
                PlacedRow { due_at: due_at.0, rid, marks: PlaceMarks { keeps_owner, is_plain } }
            };
            Ok(found.into_iter().map(row).collect())
        }

        fn open_questions(&mut $rows, before: Option<i64>, limit: u32) -> RowsResult<Vec<i64>> {
            let mut open = suspensions::table.filter(is_open()).into_boxed();
            // Stops are no questions.
            open = open.filter(diesel::dsl::sql::<diesel::sql_types::Bool>("suspensions.kind NOT IN (1, 2, 6)"));
            if let Some(before) = before {
                open = open.filter(suspensions::rid.lt(before));
            }
            Ok(open.order(suspensions::rid.desc()).limit(i64::from(limit)).select(suspensions::rid).load($connection)?)
        }

        fn answered_by(&mut $rows, person: &str, before: Option<i64>, limit: u32) -> RowsResult<Vec<i64>> {
            let mut found = answered::table.filter(answered::person.eq(person)).into_boxed();
            if let Some(before) = before {
                found = found.filter(answered::suspension.lt(before));
            }
            let found = found.order(answered::suspension.desc()).limit(i64::from(limit)).select(answered::suspension);
            Ok(found.load($connection)?)
        }

        fn listed(&mut $rows, rids: &[i64]) -> RowsResult<Vec<ListedRow>> {
            let found = suspensions::table.filter(suspensions::rid.eq_any(rids)).select(listed());
            found.load::<ListedColumns>($connection)?.into_iter().map(ListedColumns::into_row).collect()
        }

        fn counted_among(&mut $rows, person: &str, rids: &[i64]) -> RowsResult<Vec<i64>> {
            let among = counted_answers::suspension.eq_any(rids).and(counted_answers::person.eq(person));
            Ok(counted_answers::table.filter(among).select(counted_answers::suspension).load($connection)?)
        }

        fn owners_in(&mut $rows, rids: &[i64]) -> RowsResult<Vec<(i64, Owner)>> {
            let found = intents::table.filter(intents::rid.eq_any(rids)).select((intents::rid, intents::creator_owner));
            let found = found.load::<(i64, Owned)>($connection)?;
            Ok(found.into_iter().map(|(rid, owner)| (rid, owner.0)).collect())
        }
    };
}
pub(crate) use reads_of_inbox;
