//! Subscriptions, and the place of each in the log of its intent.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::base::ids::SubscriptionId;
use domain::subscription::Subscription;

use super::Writing;
use crate::columns::{IntentColumns, SubscriptionColumns, signed};
use crate::postgres::session::Session;
use crate::rows::{
    AT_ONCE, ListedSubscriptions, ReadSubscriptions, RowsError, RowsResult, SubscriptionPlace, SubscriptionRow,
    WriteSubscriptions,
};
use crate::schema::{intents, subscriptions};
use crate::sql::{At, Key, Owned, Said, Written};

type Found = (SubscriptionColumns, IntentColumns);

fn row((found, intent): Found) -> RowsResult<SubscriptionRow> {
    found.into_row(intent.into_row()?)
}

fn stored(sequence: u64) -> RowsResult<i64> {
    i64::try_from(sequence).map_err(|_| RowsError::Inconsistent("too many events"))
}

fn lease_of(place: &SubscriptionPlace) -> Option<Vec<u8>> {
    place.lease.map(|lease| lease.to_vec())
}

impl WriteSubscriptions for Writing<'_> {
    fn insert_subscription(&mut self, intent: i64, subscription: &Subscription, sequence: u64) -> RowsResult<()> {
        let body = &subscription.body;
        let row = (
            subscriptions::id.eq(Key(subscription.id.0)),
            subscriptions::intent.eq(intent),
            subscriptions::creator.eq(&subscription.created_by.name),
            subscriptions::creator_owner.eq(Owned(subscription.created_by.owner.clone())),
            subscriptions::key_id.eq(Key(subscription.key_id.0)),
            subscriptions::claimed_subscriber.eq(body.claimed_subscriber.as_deref().map(Said::from)),
            subscriptions::event_types.eq(Written::of(&body.event_types)?),
            subscriptions::webhook_url.eq(&body.webhook_url),
            subscriptions::created_at.eq(At(subscription.created_at)),
            subscriptions::expires_at.eq(At(body.expires_at)),
            subscriptions::sequence.eq(stored(sequence)?),
            subscriptions::missed.eq(0),
            subscriptions::tries.eq(0),
            subscriptions::due_at.eq(At(AT_ONCE)),
            subscriptions::lease.eq(None::<Vec<u8>>),
            subscriptions::push_id.eq(subscription.push.as_ref().map(|push| &push.id)),
            subscriptions::push.eq(subscription.push.as_ref().map(|push| &push.sealed)),
        );
        diesel::insert_into(subscriptions::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_subscription(&mut self, rid: i64) -> RowsResult<()> {
        diesel::delete(subscriptions::table.find(rid)).execute(self.session.conn()?)?;
        Ok(())
    }

    fn move_subscription(&mut self, rid: i64, before: &SubscriptionPlace, place: &SubscriptionPlace) -> RowsResult<bool> {
        let changes = (
            subscriptions::sequence.eq(stored(place.sequence)?),
            subscriptions::missed.eq(stored(place.missed)?),
            subscriptions::tries.eq(signed(place.tries)),
            subscriptions::due_at.eq(At(place.due_at)),
            subscriptions::lease.eq(lease_of(place)),
        );
        let as_read = subscriptions::table.find(rid).filter(subscriptions::lease.is_not_distinct_from(lease_of(before)));
        let as_read = as_read.filter(subscriptions::sequence.eq(stored(before.sequence)?));
        Ok(diesel::update(as_read).set(changes).execute(self.session.conn()?)? == 1)
    }

    fn put_off_subscription(&mut self, rid: i64, due_at: DateTime<Utc>) -> RowsResult<()> {
        diesel::update(subscriptions::table.find(rid)).set(subscriptions::due_at.eq(At(due_at))).execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_ended_subscriptions(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let ended = subscriptions::table.filter(subscriptions::expires_at.le(At(now))).select(subscriptions::rid);
        let ended = ended.order(subscriptions::expires_at).limit(i64::from(limit)).load::<i64>(self.session.conn()?)?;
        if ended.is_empty() {
            return Ok(0);
        }
        let deleted =
            diesel::delete(subscriptions::table.filter(subscriptions::rid.eq_any(ended))).execute(self.session.conn()?)?;
        Ok(deleted as u64)
    }
}

impl ReadSubscriptions for Session {
    fn subscription(&mut self, id: SubscriptionId) -> RowsResult<Option<SubscriptionRow>> {
        let joined = subscriptions::table.inner_join(intents::table.on(intents::rid.eq(subscriptions::intent)));
        let found = joined.filter(subscriptions::id.eq(Key(id.0)));
        let found = found.select((SubscriptionColumns::selection(), IntentColumns::selection()));
        found.first::<Found>(self.conn()?).optional()?.map(row).transpose()
    }

    fn subscription_at(&mut self, rid: i64) -> RowsResult<Option<SubscriptionRow>> {
        let joined = subscriptions::table.inner_join(intents::table.on(intents::rid.eq(subscriptions::intent)));
        let found = joined.filter(subscriptions::rid.eq(rid));
        let found = found.select((SubscriptionColumns::selection(), IntentColumns::selection()));
        found.first::<Found>(self.conn()?).optional()?.map(row).transpose()
    }

    fn subscriptions(&mut self, listed: ListedSubscriptions<'_>) -> RowsResult<Vec<SubscriptionRow>> {
        let joined = subscriptions::table.inner_join(intents::table.on(intents::rid.eq(subscriptions::intent)));
        let mut query = joined.select((SubscriptionColumns::selection(), IntentColumns::selection())).into_boxed();
        if let Some(creator) = listed.creator {
            query = query.filter(subscriptions::creator.eq(creator));
        }
        if let Some(intent) = listed.intent {
            query = query.filter(subscriptions::intent.eq(intent));
        }
        query = query.filter(subscriptions::expires_at.gt(At(listed.now)));
        query = if listed.pushes {
            query.filter(subscriptions::push_id.is_not_null())
        } else {
            query.filter(subscriptions::push_id.is_null())
        };
        let page = query.order(subscriptions::rid.desc()).limit(i64::from(listed.limit)).offset(i64::from(listed.offset));
        page.load::<Found>(self.conn()?)?.into_iter().map(row).collect()
    }

    fn count_subscriptions(&mut self, listed: ListedSubscriptions<'_>) -> RowsResult<usize> {
        let mut query = subscriptions::table.filter(subscriptions::expires_at.gt(At(listed.now))).into_boxed();
        if let Some(creator) = listed.creator {
            query = query.filter(subscriptions::creator.eq(creator));
        }
        if let Some(intent) = listed.intent {
            query = query.filter(subscriptions::intent.eq(intent));
        }
        query = if listed.pushes {
            query.filter(subscriptions::push_id.is_not_null())
        } else {
            query.filter(subscriptions::push_id.is_null())
        };
        let count = query.count().first::<i64>(self.conn()?)?;
        usize::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn due_subscriptions(&mut self, now: DateTime<Utc>, busy: &[String], limit: u32) -> RowsResult<Vec<i64>> {
        let newest = intents::table.filter(intents::rid.eq(subscriptions::intent)).select(intents::last_sequence).single_value();
        let due = subscriptions::table.filter(subscriptions::due_at.le(At(now))).filter(subscriptions::expires_at.gt(At(now)));
        let due = due.filter(subscriptions::creator.ne_all(busy)).filter(newest.gt(subscriptions::sequence.nullable()));
        let due = due.order(subscriptions::due_at).limit(i64::from(limit)).select(subscriptions::rid);
        Ok(due.load(self.conn()?)?)
    }
}
