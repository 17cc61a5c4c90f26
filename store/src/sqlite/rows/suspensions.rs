//! Suspensions, with the trace span and the idempotency key under which each was asked.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Integer, Nullable};
use diesel::sqlite::SqliteConnection;
use domain::base::ids::{IntentId, SuspensionId};
use domain::suspension::Suspension;
use domain::suspension::grounds::EarlierDecision;
use domain::suspension::hands::Hands;

use super::Writing;
use crate::columns::{SuspensionColumns, signed};
use crate::earlier_columns::{DECIDED, DecidedColumns};
use crate::request::Idempotency;
use crate::rows::{Code, FixedQuestion, Listed, ReadSuspensions, RowsError, RowsResult, SuspensionRow, WriteSuspensions};
use crate::schema::{intents, suspension_keys, suspension_traces, suspensions};
use crate::span::KeptTrace;
use crate::sql::{At, Key, Owned, Written, written};
use crate::sqlite::statements as hot;

impl WriteSuspensions for Writing<'_> {
    fn insert_suspension(&mut self, row: &SuspensionRow) -> RowsResult<()> {
        let suspension = &row.suspension;
        hot::InsertSuspension {
            rid: &row.rid,
            id: &Key(suspension.id.0),
            intent: &row.intent,
            event: &row.event,
            kind: &suspension.kind.code(),
            version: &signed(suspension.version),
            attempt: &signed(suspension.attempt),
            response_type: &suspension.response_type.code(),
            choices: &Written::of(&suspension.choices)?,
            suspended_at: &At(suspension.suspended_at),
            expires_at: &suspension.expires_at.map(At),
            fallback_policy: &suspension.fallback_policy.code(),
            fallback_value: &written(suspension.fallback_value.as_ref())?,
            reached: &suspension.reached,
            requires_delivery: &suspension.requires_delivery,
            fixed_deadline: &suspension.fixed_deadline,
            asker: &suspension.asked_by.name,
            asker_owner: &Owned(suspension.asked_by.owner.clone()),
            quorum: &written(suspension.quorum.as_ref())?,
            form: &written(suspension.schema.as_deref())?,
            places: &written(Some(&row.places).filter(|places| !places.is_empty()))?,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn end_suspension(&mut self, rid: i64, ended: &Suspension, event: i64) -> RowsResult<bool> {
        let ending = ended.ending.as_ref().ok_or(RowsError::Inconsistent("an ending without its words"))?;
        let changed = hot::EndSuspension {
            resolution: &ending.resolution.code(),
            resolution_reason: &ending.reason.map(Code::code),
            resolved_at: &At(ending.at),
            response: &written(ending.response.as_ref())?,
            resolved_by: &ending.by,
            metadata: &written(ending.metadata.as_ref())?,
            ending_event: &event,
            version: &signed(ended.version),
            rid: &rid,
        }
        .execute(self.conn)?;
        Ok(changed == 1)
    }

    fn touch_suspension(&mut self, rid: i64, suspension: &Suspension) -> RowsResult<()> {
        hot::TouchSuspension {
            version: &signed(suspension.version),
            attempt: &signed(suspension.attempt),
            reached: &suspension.reached,
            refusals: &signed(suspension.refusals),
            rid: &rid,
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn mark_reminded(&mut self, suspension: i64, at: DateTime<Utc>) -> RowsResult<()> {
        let reminded = suspensions::reminded_at.eq(At(at));
        diesel::update(suspensions::table.find(suspension)).set(reminded).execute(self.conn)?;
        Ok(())
    }

    fn move_deadline(&mut self, suspension: i64, expires_at: DateTime<Utc>) -> RowsResult<()> {
        let moved = suspensions::expires_at.eq(At(expires_at));
        diesel::update(suspensions::table.find(suspension)).set(moved).execute(self.conn)?;
        Ok(())
    }

    fn save_hands(&mut self, suspension: i64, hands: &Hands) -> RowsResult<()> {
        let hands = written((*hands != Hands::default()).then_some(hands))?;
        diesel::update(suspensions::table.find(suspension)).set(suspensions::hands.eq(hands)).execute(self.conn)?;
        Ok(())
    }

    fn save_places(&mut self, suspension: i64, places: &[String]) -> RowsResult<()> {
        let places = written(Some(places).filter(|places| !places.is_empty()))?;
        diesel::update(suspensions::table.find(suspension)).set(suspensions::places.eq(places)).execute(self.conn)?;
        Ok(())
    }

    fn save_question_key(&mut self, suspension: i64, key: &str) -> RowsResult<()> {
        let named = suspensions::question_key.eq(key);
        diesel::update(suspensions::table.find(suspension)).set(named).execute(self.conn)?;
        Ok(())
    }

    fn insert_trace(&mut self, suspension: i64, context: KeptTrace) -> RowsResult<()> {
        let row = (suspension_traces::suspension.eq(suspension), suspension_traces::context.eq(context.to_string()));
        diesel::insert_into(suspension_traces::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn take_trace(&mut self, suspension: i64) -> RowsResult<Option<KeptTrace>> {
        let kept = suspension_traces::table.find(suspension);
        let context = kept.select(suspension_traces::context).get_result::<String>(self.conn).optional()?;
        diesel::delete(kept).execute(self.conn)?;
        Ok(context.and_then(|context| context.parse().ok()))
    }

    fn insert_suspension_key(&mut self, key: Idempotency, suspension: i64) -> RowsResult<()> {
        hot::InsertSuspensionKey { key_hash: &key.key_hash, body_hash: &key.body_hash, suspension: &suspension }
            .execute(self.conn)?;
        Ok(())
    }
}

impl ReadSuspensions for SqliteConnection {
    fn any_suspension(&mut self, id: SuspensionId) -> RowsResult<Option<SuspensionRow>> {
        let found = hot::SelectSuspension { id: &Key(id.0) }.get_result::<SuspensionColumns>(self).optional()?;
        found.map(|columns| with_intent_id(self, columns)).transpose()
    }

    fn suspension_at(&mut self, rid: i64) -> RowsResult<SuspensionRow> {
        let found = hot::SelectSuspensionAt { rid: &rid }.get_result::<SuspensionColumns>(self)?;
        with_intent_id(self, found)
    }

    fn suspensions(&mut self, listed: Listed<'_>) -> RowsResult<Vec<SuspensionRow>> {
        let Listed { asker, requests, beside, open, before, limit } = listed;
        let mut query = suspensions::table.into_boxed();
        if let Some(asker) = asker {
            query = query.filter(suspensions::asker.eq(asker));
        }
        if requests.is_some() || beside.is_some() {
            // The condition is a literal, so that the partial indexes of requests serve the query.
            query = query.filter(diesel::dsl::sql::<Bool>("suspensions.kind > 2 AND suspensions.kind < 6"));
        } else {
            // Stops are no questions.
            query = query.filter(diesel::dsl::sql::<Bool>("suspensions.kind NOT IN (1, 2, 6)"));
        }
        if let Some(kind) = requests {
            query = query.filter(suspensions::kind.eq(kind.code()));
        }
        if let Some(intent) = beside {
            query = query.filter(suspensions::intent.eq(intent));
        }
        if open {
            query = query.filter(is_open());
        }
        if let Some(before) = before {
            query = query.filter(suspensions::rid.lt(before));
        }
        let page = query
            .order(suspensions::rid.desc())
            .limit(i64::from(limit))
            .select(SuspensionColumns::selection())
            .load::<SuspensionColumns>(self)?;
        page.into_iter().map(|columns| with_intent_id(self, columns)).collect()
    }

    fn unanswered(&mut self, intent: i64, since: DateTime<Utc>, limit: u32) -> RowsResult<Vec<DateTime<Utc>>> {
        // The resolution is a literal, so that the partial index of suspensions that ended without an answer serves the query.
        let unanswered = suspensions::resolution.ne(diesel::dsl::sql::<Nullable<Integer>>("0"));
        let since = suspensions::resolved_at.gt(At(since));
        let found = suspensions::table.filter(unanswered).filter(suspensions::intent.eq(intent)).filter(since);
        let newest = found.order(suspensions::resolved_at.desc()).limit(i64::from(limit));
        let times = newest.select(suspensions::resolved_at.assume_not_null()).load::<At>(self)?;
        Ok(times.into_iter().map(|at| at.0).collect())
    }

    fn decided(&mut self, asker: &str, question_key: &str, limit: u32) -> RowsResult<Vec<(EarlierDecision, i64)>> {
        let of_kind = suspensions::asker.eq(asker).and(suspensions::question_key.eq(question_key));
        // The condition is a literal, so that the partial index of decided questions serves the query.
        let decided = diesel::dsl::sql::<Bool>(DECIDED);
        let newest = suspensions::table
            .inner_join(intents::table.on(intents::rid.eq(suspensions::intent)))
            .filter(of_kind.and(decided).and(suspensions::ending_event.is_not_null()))
            .order((suspensions::resolved_at.desc(), suspensions::rid.desc()))
            .limit(i64::from(limit))
            .select(DecidedColumns::selection());
        newest.load::<DecidedColumns>(self)?.into_iter().map(DecidedColumns::into_decision).collect()
    }

    fn open_suspensions(&mut self) -> RowsResult<i64> {
        Ok(suspensions::table.filter(is_open()).count().get_result(self)?)
    }

    fn suspension_key(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<(Vec<u8>, i64)>> {
        let kept = suspension_keys::table.find(key_hash.as_slice());
        let columns = (suspension_keys::body_hash, suspension_keys::suspension);
        Ok(kept.select(columns).get_result(self).optional()?)
    }

    fn open_in(&mut self, after: i64, up_to: i64, with_fallback: bool, limit: u32) -> RowsResult<Vec<i64>> {
        let left = suspensions::rid.gt(after).and(suspensions::rid.le(up_to));
        let mut open = suspensions::table.filter(is_open()).filter(left).into_boxed();
        if with_fallback {
            open = open.filter(suspensions::fallback_policy.ne(0));
        }
        Ok(open.order(suspensions::rid).limit(i64::from(limit)).select(suspensions::rid).load(self)?)
    }

    fn open_fixed(&mut self, after: i64, limit: u32) -> RowsResult<Vec<FixedQuestion>> {
        let fixed = suspensions::table.filter(is_open()).filter(suspensions::fixed_deadline).filter(suspensions::rid.gt(after));
        let fixed = fixed.filter(suspensions::fallback_policy.ne(0)).order(suspensions::rid).limit(i64::from(limit));
        let fixed = fixed.select((suspensions::rid, suspensions::suspended_at, suspensions::expires_at));
        let read = |(rid, suspended_at, expires_at): (i64, At, Option<At>)| FixedQuestion {
            rid,
            suspended_at: suspended_at.0,
            expires_at: expires_at.map(|at| at.0),
        };
        Ok(fixed.load::<(i64, At, Option<At>)>(self)?.into_iter().map(read).collect())
    }

    fn newest_suspension(&mut self) -> RowsResult<i64> {
        Ok(suspensions::table.select(diesel::dsl::max(suspensions::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }
}

/// Defines "open" for both the list and the count, because two definitions would differ one day.
pub(super) fn is_open() -> diesel::dsl::IsNull<suspensions::resolution> {
    suspensions::resolution.is_null()
}

/// Completes a suspension with the public id of its intent, because the row of the suspension refers to the intent only by a
/// row id.
pub(super) fn with_intent_id(conn: &mut SqliteConnection, columns: SuspensionColumns) -> RowsResult<SuspensionRow> {
    let id = hot::SelectIntentId { rid: &columns.intent() }.get_result::<Key>(conn)?;
    columns.into_row(IntentId(id.0))
}
