//! Accounts of people at an issuer, and the logins there that browsers have begun.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::{PersonId, SuspensionId};
use domain::people::identity::Identity;

use super::Writing;
use crate::identity::TakenLogin;
use crate::rows::{OpenIdLoginRow, ReadIdentities, RowsResult, WriteIdentities};
use crate::schema::{identities, openid_logins};
use crate::sql::{At, Key};

impl WriteIdentities for Writing<'_> {
    fn insert_identity(&mut self, identity: &Identity, person: PersonId, at: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            identities::issuer.eq(&identity.issuer),
            identities::subject.eq(&identity.subject),
            identities::person.eq(Key(person.0)),
            identities::bound_at.eq(At(at)),
        );
        diesel::insert_into(identities::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn insert_openid_login(&mut self, login: &OpenIdLoginRow) -> RowsResult<()> {
        let row = (
            openid_logins::hash.eq(login.hash.as_slice()),
            openid_logins::browser.eq(login.browser.as_slice()),
            openid_logins::expires_at.eq(At(login.expires_at)),
            openid_logins::question.eq(login.question.map(|id| Key(id.0))),
        );
        diesel::insert_into(openid_logins::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn take_openid_login(&mut self, hash: &[u8; 32], browser: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<TakenLogin>> {
        let of_browser = openid_logins::table.filter(openid_logins::hash.eq(hash.as_slice()));
        let of_browser = of_browser.filter(openid_logins::browser.eq(browser.as_slice()));
        let of_browser = of_browser.filter(openid_logins::expires_at.gt(At(now)));
        // There is one writer, so the row that is read is the one that is deleted.
        let taken = of_browser.select(openid_logins::question).first::<Option<Key>>(self.conn).optional()?;
        diesel::delete(of_browser).execute(self.conn)?;
        Ok(taken.map(|question| TakenLogin { question: question.map(|id| SuspensionId(id.0)) }))
    }

    fn delete_ended_openid_logins(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let ended = openid_logins::table.filter(openid_logins::expires_at.le(At(now))).select(openid_logins::rid);
        let ended = ended.order(openid_logins::expires_at).limit(i64::from(limit)).load::<i64>(self.conn)?;
        if ended.is_empty() {
            return Ok(0);
        }
        Ok(diesel::delete(openid_logins::table.filter(openid_logins::rid.eq_any(ended))).execute(self.conn)? as u64)
    }
}

impl ReadIdentities for SqliteConnection {
    fn person_identified(&mut self, identity: &Identity) -> RowsResult<Option<PersonId>> {
        let account = identities::table.filter(identities::issuer.eq(&identity.issuer));
        let account = account.filter(identities::subject.eq(&identity.subject)).select(identities::person);
        Ok(account.first::<Key>(self).optional()?.map(|person| PersonId(person.0)))
    }

    fn has_identity(&mut self, person: PersonId) -> RowsResult<bool> {
        let of_person = identities::table.filter(identities::person.eq(Key(person.0))).select(identities::rid);
        Ok(of_person.first::<i64>(self).optional()?.is_some())
    }
}
