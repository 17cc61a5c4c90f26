//! The columns of a question in a list, once for both databases.

use chrono::{DateTime, Utc};
use diesel::Queryable;
use diesel::dsl::{IsNotNull, Nullable};
use domain::suspension::Asker;
use domain::suspension::hands::Hands;

use crate::rows::{Code, ListedRow, RowsResult};
use crate::schema::{counted_answers, suspensions};
use crate::sql::{At, Json, Owned};

/// The time of a question without a deadline in the order of the deadlines: the last second of the year 9999.
pub(crate) const NO_DEADLINE: DateTime<Utc> = match DateTime::from_timestamp(253_402_300_799, 0) {
    Some(time) => time,
    None => DateTime::UNIX_EPOCH,
};

/// The columns of a question in a list, beside the answers of a person that count.
pub(crate) type ListedSelection = (
    suspensions::rid,
    suspensions::event,
    suspensions::intent,
    suspensions::kind,
    suspensions::asker,
    suspensions::asker_owner,
    suspensions::expires_at,
    IsNotNull<suspensions::quorum>,
    Nullable<counted_answers::event>,
    suspensions::hands,
);

/// See [`ListedSelection`].
pub(crate) fn listed() -> ListedSelection {
    use diesel::{ExpressionMethods, NullableExpressionMethods};
    (
        suspensions::rid,
        suspensions::event,
        suspensions::intent,
        suspensions::kind,
        suspensions::asker,
        suspensions::asker_owner,
        suspensions::expires_at,
        suspensions::quorum.is_not_null(),
        counted_answers::event.nullable(),
        suspensions::hands,
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
    counted: Option<i64>,
    hands: Option<Json<Hands>>,
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
            is_counted: self.counted.is_some(),
            hands: self.hands.map(|hands| hands.0).unwrap_or_default(),
        })
    }
}
