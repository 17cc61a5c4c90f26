//! The tree over all events.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::log::Sealed;

use super::Writing;
use crate::columns::{SealedColumns, sealed_of};
use crate::postgres::connection::Connection;
use crate::postgres::session::Session;
use crate::rows::{CheckpointRow, Code, LogKeyRow, Place, ReadTree, RowsError, RowsResult, Run, Source, TreeRow, WriteTree};
use crate::schema::{
    checkpoints, events, log_keys, portfolio_events, server_events, tree, tree_runs, tree_tiles, unplaced, witnesses,
};
use crate::sql::At;
use crate::tree_columns::{
    CheckpointColumns, LogKeyColumns, MAILED, RunColumns, checkpoint_of, log_key_of, run_of, signed, unsigned,
};

impl WriteTree for Writing<'_> {
    fn lock_tree(&mut self) -> RowsResult<TreeRow> {
        let first = (tree::rid.eq(1), tree::size.eq(0), tree::events.eq(0), tree::signed_size.eq(0));
        diesel::insert_into(tree::table).values(first).on_conflict_do_nothing().execute(self.session.conn()?)?;
        let row = tree::table.find(1).select((tree::size, tree::events, tree::signed_size, tree::latest_at)).for_update();
        let (size, events, signed_size, latest_at) = row.first::<(i64, i64, i64, Option<At>)>(self.session.conn()?)?;
        Ok(TreeRow { size: unsigned(size)?, events, signed_size: unsigned(signed_size)?, latest_at: latest_at.map(|at| at.0) })
    }

    fn update_tree(&mut self, row: &TreeRow) -> RowsResult<()> {
        let end = (
            tree::size.eq(signed(row.size)?),
            tree::events.eq(row.events),
            tree::signed_size.eq(signed(row.signed_size)?),
            tree::latest_at.eq(row.latest_at.map(At)),
        );
        diesel::update(tree::table.find(1)).set(end).execute(self.session.conn()?)?;
        Ok(())
    }

    fn save_tile(&mut self, level: u8, number: u64, hashes: &[u8]) -> RowsResult<()> {
        let row = (tree_tiles::level.eq(i32::from(level)), tree_tiles::number.eq(signed(number)?), tree_tiles::hashes.eq(hashes));
        let insert = diesel::insert_into(tree_tiles::table).values(row);
        let conflict = insert.on_conflict((tree_tiles::level, tree_tiles::number));
        conflict.do_update().set(tree_tiles::hashes.eq(hashes)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_run(&mut self, run: &Run) -> RowsResult<()> {
        let row = (
            tree_runs::first_leaf.eq(signed(run.first_leaf)?),
            tree_runs::source.eq(run.place.source.code()),
            tree_runs::subject.eq(run.place.subject),
            tree_runs::number.eq(run.place.number),
            tree_runs::length.eq(signed(run.length)?),
        );
        diesel::insert_into(tree_runs::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn placed(&mut self, places: &[Place]) -> RowsResult<()> {
        let events = places.iter().filter(|place| place.source == Source::Intents).map(|place| place.number).collect::<Vec<_>>();
        let of_intents = unplaced::table.filter(unplaced::source.eq(Source::Intents.code())).filter(unplaced::subject.eq(0));
        diesel::delete(of_intents.filter(unplaced::number.eq_any(events))).execute(self.session.conn()?)?;
        for place in places.iter().filter(|place| place.source != Source::Intents) {
            diesel::delete(unplaced::table.find((place.source.code(), place.subject, place.number)))
                .execute(self.session.conn()?)?;
        }
        Ok(())
    }

    fn insert_checkpoint(&mut self, checkpoint: &CheckpointRow) -> RowsResult<()> {
        let row = (
            checkpoints::size.eq(signed(checkpoint.size)?),
            checkpoints::root.eq(checkpoint.root.to_vec()),
            checkpoints::note.eq(&checkpoint.note),
            checkpoints::created_at.eq(At(checkpoint.created_at)),
        );
        diesel::insert_into(checkpoints::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_note(&mut self, size: u64, note: &str) -> RowsResult<()> {
        diesel::update(checkpoints::table.find(signed(size)?)).set(checkpoints::note.eq(note)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn save_witness(&mut self, key: &str, size: u64) -> RowsResult<()> {
        let size = witnesses::size.eq(signed(size)?);
        let row = diesel::insert_into(witnesses::table).values((witnesses::key.eq(key), size));
        row.on_conflict(witnesses::key).do_update().set(size).execute(self.session.conn()?)?;
        Ok(())
    }

    fn note_mailed(&mut self, size: u64, now: DateTime<Utc>) -> RowsResult<()> {
        self.save_witness(MAILED, size)?;
        let mailed_at = witnesses::mailed_at.eq(At(now));
        diesel::update(witnesses::table.find(MAILED)).set(mailed_at).execute(self.session.conn()?)?;
        Ok(())
    }

    fn insert_log_key(&mut self, key: &LogKeyRow, now: DateTime<Utc>) -> RowsResult<()> {
        let last = log_keys::table.select(diesel::dsl::max(log_keys::rid)).first::<Option<i64>>(self.session.conn()?)?;
        let row = (
            log_keys::rid.eq(last.unwrap_or(0) + 1),
            log_keys::name.eq(&key.name),
            log_keys::public.eq(key.public.to_vec()),
            log_keys::sealed.eq(&key.sealed),
            log_keys::created_at.eq(At(now)),
            log_keys::signature.eq(&key.signature),
        );
        diesel::update(log_keys::table).set(log_keys::sealed.eq(None::<Vec<u8>>)).execute(self.session.conn()?)?;
        diesel::insert_into(log_keys::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }
}

/// The keys of the log, oldest first.
pub(crate) fn log_keys(conn: &mut Connection) -> RowsResult<Vec<LogKeyRow>> {
    let columns = (log_keys::name, log_keys::public, log_keys::sealed, log_keys::signature);
    let all = log_keys::table.filter(log_keys::rid.gt(0)).order(log_keys::rid).select(columns);
    all.load::<LogKeyColumns>(conn)?.into_iter().map(log_key_of).collect()
}

impl ReadTree for Session {
    fn tree(&mut self) -> RowsResult<TreeRow> {
        let row = tree::table.find(1).select((tree::size, tree::events, tree::signed_size, tree::latest_at));
        let Some((size, events, signed_size, latest_at)) = row.first::<(i64, i64, i64, Option<At>)>(self.conn()?).optional()?
        else {
            return Ok(TreeRow::default());
        };
        Ok(TreeRow { size: unsigned(size)?, events, signed_size: unsigned(signed_size)?, latest_at: latest_at.map(|at| at.0) })
    }

    /// Row ids do not tell the order of the events of an intent. So events that come before a found one are found as well, and all are
    /// sorted by time and, within one microsecond, by their numbers in their logs.
    fn unplaced(&mut self, _: &TreeRow, limit: u32) -> RowsResult<Vec<(Place, Sealed)>> {
        let mut found = Vec::new();
        let others = unplaced::table.filter(unplaced::source.ne(Source::Intents.code()));
        let others = others.order((unplaced::source, unplaced::subject, unplaced::number)).limit(i64::from(limit));
        for (source, subject, number) in others.load::<(i32, i64, i64)>(self.conn()?)? {
            let place = Place { source: Source::from_code(source)?, subject, number };
            let sealed = self.events_from(place, 1)?.pop();
            found.push((place, sealed.ok_or(RowsError::Inconsistent("an event without a leaf is missing"))?));
        }
        let waiting = unplaced::table.filter(unplaced::source.eq(Source::Intents.code())).filter(unplaced::subject.eq(0));
        let first = waiting.order(unplaced::number).limit(i64::from(limit)).select(unplaced::number);
        let mut missing: Vec<i64> = first.load(self.conn()?)?;
        let (mut events, mut known) = (Vec::new(), BTreeSet::<i64>::new());
        while !missing.is_empty() {
            known.extend(&missing);
            let chosen = events::table.filter(events::rid.eq_any(missing));
            let columns = (events::rid, events::previous, events::created_at, events::bytes, events::hash);
            let chosen = chosen.select(columns).load::<(i64, Option<i64>, At, Vec<u8>, Vec<u8>)>(self.conn()?)?;
            let before =
                chosen.iter().filter_map(|(_, previous, ..)| *previous).filter(|rid| !known.contains(rid)).collect::<Vec<_>>();
            events.extend(chosen);
            missing = waiting.filter(unplaced::number.eq_any(before)).select(unplaced::number).load(self.conn()?)?;
        }
        let mut events = events
            .into_iter()
            .map(|(rid, _, At(at), bytes, hash)| {
                let sealed = sealed_of((bytes, hash))?;
                let sequence = sealed.sequence().ok_or(RowsError::Inconsistent("an event without a number"))?;
                Ok((at, sequence, Place { source: Source::Intents, subject: 0, number: rid }, sealed))
            })
            .collect::<RowsResult<Vec<_>>>()?;
        events.sort_unstable_by_key(|(at, sequence, place, _)| (*at, *sequence, *place));
        found.extend(events.into_iter().map(|(_, _, place, sealed)| (place, sealed)));
        Ok(found)
    }

    fn tile(&mut self, level: u8, number: u64) -> RowsResult<Vec<u8>> {
        let tile = tree_tiles::table.find((i32::from(level), signed(number)?)).select(tree_tiles::hashes);
        Ok(tile.first(self.conn()?).optional()?.unwrap_or_default())
    }

    fn leaf_of(&mut self, place: Place) -> RowsResult<Option<u64>> {
        let runs = tree_runs::table.filter(tree_runs::source.eq(place.source.code()));
        let run = runs.filter(tree_runs::subject.eq(place.subject)).filter(tree_runs::number.le(place.number));
        let run = run.order(tree_runs::number.desc()).first::<RunColumns>(self.conn()?).optional()?.map(run_of).transpose()?;
        Ok(run.and_then(|run| run.leaf_of(place)))
    }

    fn runs(&mut self, first: u64, limit: u32) -> RowsResult<Vec<Run>> {
        let begin = tree_runs::table.filter(tree_runs::first_leaf.le(signed(first)?)).order(tree_runs::first_leaf.desc());
        let begin = begin.select(tree_runs::first_leaf).first::<i64>(self.conn()?).optional()?.unwrap_or(0);
        let runs = tree_runs::table.filter(tree_runs::first_leaf.ge(begin)).order(tree_runs::first_leaf).limit(i64::from(limit));
        runs.load::<RunColumns>(self.conn()?)?.into_iter().map(run_of).collect()
    }

    fn events_from(&mut self, place: Place, length: u64) -> RowsResult<Vec<Sealed>> {
        let (from, to) = (place.number, place.number.saturating_add(signed(length)?));
        let found: Vec<SealedColumns> = match place.source {
            Source::Intents => {
                let of = events::table.filter(events::rid.ge(from)).filter(events::rid.lt(to)).order(events::rid);
                of.select((events::bytes, events::hash)).load(self.conn()?)?
            }
            Source::Portfolios => {
                let of = portfolio_events::table.filter(portfolio_events::portfolio.eq(place.subject));
                let of = of.filter(portfolio_events::sequence.ge(from)).filter(portfolio_events::sequence.lt(to));
                of.order(portfolio_events::sequence)
                    .select((portfolio_events::bytes, portfolio_events::hash))
                    .load(self.conn()?)?
            }
            Source::Server => {
                let of = server_events::table.filter(server_events::sequence.ge(from)).filter(server_events::sequence.lt(to));
                of.order(server_events::sequence).select((server_events::bytes, server_events::hash)).load(self.conn()?)?
            }
        };
        found.into_iter().map(sealed_of).collect()
    }

    fn checkpoint(&mut self, size: u64) -> RowsResult<Option<CheckpointRow>> {
        checkpoints::table.find(signed(size)?).first::<CheckpointColumns>(self.conn()?).optional()?.map(checkpoint_of).transpose()
    }

    fn checkpoints(&mut self, before: u64, limit: u32) -> RowsResult<Vec<CheckpointRow>> {
        let before = i64::try_from(before).unwrap_or(i64::MAX);
        let found = checkpoints::table.filter(checkpoints::size.lt(before)).order(checkpoints::size.desc());
        found.limit(i64::from(limit)).load::<CheckpointColumns>(self.conn()?)?.into_iter().map(checkpoint_of).collect()
    }

    fn checkpoints_after(&mut self, after: u64, limit: u32) -> RowsResult<Vec<CheckpointRow>> {
        let found = checkpoints::table.filter(checkpoints::size.gt(signed(after)?)).order(checkpoints::size);
        found.limit(i64::from(limit)).load::<CheckpointColumns>(self.conn()?)?.into_iter().map(checkpoint_of).collect()
    }

    fn witness_size(&mut self, key: &str) -> RowsResult<Option<u64>> {
        let size = witnesses::table.find(key).select(witnesses::size).first::<i64>(self.conn()?).optional()?;
        size.map(unsigned).transpose()
    }

    fn mailed(&mut self) -> RowsResult<Option<(u64, Option<DateTime<Utc>>)>> {
        let row = witnesses::table.find(MAILED).select((witnesses::size, witnesses::mailed_at));
        let row = row.first::<(i64, Option<At>)>(self.conn()?).optional()?;
        row.map(|(size, at)| Ok((unsigned(size)?, at.map(|at| at.0)))).transpose()
    }

    fn log_keys(&mut self) -> RowsResult<Vec<LogKeyRow>> {
        log_keys(self.conn()?)
    }
}
