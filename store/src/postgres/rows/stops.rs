//! Stops: suspensions that wait for no answer.

use diesel::prelude::*;
use diesel::sql_types::Bool;

use domain::base::name::Owner;
use domain::suspension::Asker;
use domain::suspension::stop::{Provider, Stage};

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::stops::{ANY, OPEN, OPEN_STOPS};
use crate::rows::{Code, ReadStops, RowsResult, WriteStops};
use crate::schema::{stops, suspensions, wakes};
use crate::sql::{Json, Written};

impl WriteStops for Writing<'_> {
    fn insert_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()> {
        let row = (stops::suspension.eq(suspension), stops::stage.eq(stage.code()));
        diesel::insert_into(stops::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()> {
        diesel::update(stops::table.find(suspension)).set(stops::stage.eq(stage.code())).execute(self.session.conn()?)?;
        Ok(())
    }

    fn pass_stop(&mut self, suspension: i64, to: &Asker) -> RowsResult<()> {
        let holder = (stops::holder.eq(&to.name), stops::holder_owner.eq(&to.owner.0));
        diesel::update(stops::table.find(suspension)).set(holder).execute(self.session.conn()?)?;
        Ok(())
    }

    fn note_departed(&mut self, suspension: i64, keys: &[Asker]) -> RowsResult<()> {
        let departed = stops::departed.eq(Written::of(keys)?);
        diesel::update(stops::table.find(suspension)).set(departed).execute(self.session.conn()?)?;
        Ok(())
    }

    fn note_woken(&mut self, suspension: i64, by: &[u8; 32]) -> RowsResult<()> {
        diesel::update(stops::table.find(suspension)).set(stops::woken_by.eq(by.as_slice())).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_wake(&mut self, suspension: i64, name: &str, provider: Option<Provider>) -> RowsResult<()> {
        let provider = wakes::provider.eq(provider.map_or(ANY, Code::code));
        let row = (wakes::name.eq(name), wakes::suspension.eq(suspension), provider);
        diesel::insert_into(wakes::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_wake(&mut self, suspension: i64, name: &str) -> RowsResult<()> {
        let waited = wakes::table.filter(wakes::name.eq(name)).filter(wakes::suspension.eq(suspension));
        diesel::delete(waited).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadStops for Session {
    fn open_stop(&mut self, intent: i64) -> RowsResult<Option<i64>> {
        // The condition is a literal, so that the index of the one open suspension of an intent serves the query.
        let open = diesel::dsl::sql::<Bool>(OPEN);
        let found = suspensions::table.filter(open).filter(suspensions::intent.eq(intent)).select(suspensions::rid);
        Ok(found.get_result(self.conn()?).optional()?)
    }

    fn standing_of(&mut self, suspension: i64) -> RowsResult<(Stage, Option<Asker>)> {
        let columns = (stops::stage, stops::holder, stops::holder_owner);
        let found = stops::table.find(suspension).select(columns);
        let (stage, name, owner) = found.get_result::<(i32, Option<String>, Option<String>)>(self.conn()?)?;
        let holder = name.zip(owner).map(|(name, owner)| Asker { name, owner: Owner(owner) });
        Ok((Stage::from_code(stage)?, holder))
    }

    fn departed(&mut self, suspension: i64) -> RowsResult<Vec<Asker>> {
        let departed = stops::table.find(suspension).select(stops::departed);
        Ok(departed.get_result::<Option<Json<Vec<Asker>>>>(self.conn()?)?.map(|Json(keys)| keys).unwrap_or_default())
    }

    fn parked_for(&mut self, name: &str, provider: Provider, before: i64, limit: u32) -> RowsResult<Vec<i64>> {
        let counts = wakes::provider.eq_any([ANY, provider.code()]);
        let waiting = wakes::table.filter(wakes::name.eq(name)).filter(wakes::suspension.lt(before)).filter(counts);
        let waiting = waiting.order(wakes::suspension.desc()).limit(i64::from(limit)).select(wakes::suspension);
        Ok(waiting.load(self.conn()?)?)
    }

    fn woken_by(&mut self, message: &[u8; 32]) -> RowsResult<u64> {
        let woken: i64 = stops::table.filter(stops::woken_by.eq(message.as_slice())).count().get_result(self.conn()?)?;
        Ok(woken.unsigned_abs())
    }

    fn newest_ending(&mut self, intent: i64) -> RowsResult<Option<i64>> {
        // A literal, so that the partial index of suspensions beside their intents serves the query.
        let of_kind = diesel::dsl::sql::<Bool>("suspensions.kind > 2 AND suspensions.kind = 6");
        let found = suspensions::table.filter(of_kind).filter(suspensions::intent.eq(intent));
        let newest = found.order(suspensions::rid.desc()).limit(1).select(suspensions::rid);
        Ok(newest.get_result(self.conn()?).optional()?)
    }

    fn newest_stops(&mut self, before: i64, limit: u32) -> RowsResult<Vec<i64>> {
        // A literal, so that the partial index of open stops serves the query.
        let open = suspensions::table.filter(diesel::dsl::sql::<Bool>(OPEN_STOPS));
        let newest = open.filter(suspensions::rid.lt(before)).order(suspensions::rid.desc()).limit(i64::from(limit));
        Ok(newest.select(suspensions::rid).load(self.conn()?)?)
    }

    fn open_stops(&mut self) -> RowsResult<i64> {
        // A literal, so that the partial index of open stops serves the count.
        let open = diesel::dsl::sql::<Bool>(OPEN_STOPS);
        Ok(suspensions::table.filter(open).count().get_result(self.conn()?)?)
    }
}
