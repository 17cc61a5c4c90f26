//! API keys, and the secrets the server makes for itself.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::KeyId;
use domain::intent::assignment::Alias;
use domain::people::client::Client;
use domain::people::principal::{Principal, Role};
use domain::wire::KeyView;

use super::Writing;
use crate::columns::KeyColumns;
use crate::request::NewKey;
use crate::rows::{Code, ReadKeys, RowsResult, WriteKeys};
use crate::schema::{api_keys, secrets};
use crate::sql::{At, Key, Owned};

impl WriteKeys for Writing<'_> {
    fn insert_key(&mut self, key: &NewKey, now: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            api_keys::id.eq(Key(key.id.0)),
            api_keys::name.eq(&key.name),
            api_keys::role.eq(key.role.code()),
            api_keys::subject.eq(&key.subject),
            api_keys::owner.eq(Owned(key.owner.clone())),
            api_keys::hash.eq(key.hash.to_vec()),
            api_keys::created_at.eq(At(now)),
            api_keys::tied_to.eq(key.tied_to.as_ref().map(|names| names.join(" "))),
            api_keys::client.eq(key.client.map(Client::as_str)),
        );
        diesel::insert_into(api_keys::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn revoke_key(&mut self, id: KeyId, now: DateTime<Utc>) -> RowsResult<()> {
        let key = api_keys::table.filter(api_keys::id.eq(Key(id.0)));
        diesel::update(key).set(api_keys::revoked_at.eq(At(now))).execute(self.conn)?;
        Ok(())
    }

    fn insert_secret(&mut self, name: &str, value: &[u8; 32]) -> RowsResult<()> {
        diesel::insert_into(secrets::table)
            .values((secrets::name.eq(name), secrets::value.eq(value.to_vec())))
            .execute(self.conn)?;
        Ok(())
    }
}

impl ReadKeys for SqliteConnection {
    fn principal(&mut self, key_hash: &[u8; 32]) -> RowsResult<Option<Principal>> {
        let counting = api_keys::table.filter(api_keys::hash.eq(key_hash.as_slice())).filter(api_keys::revoked_at.is_null());
        counting
            .select(KeyColumns::selection())
            .get_result::<KeyColumns>(self)
            .optional()?
            .map(KeyColumns::into_principal)
            .transpose()
    }

    fn principal_of(&mut self, id: KeyId) -> RowsResult<Option<Principal>> {
        let counting = api_keys::table.filter(api_keys::id.eq(Key(id.0))).filter(api_keys::revoked_at.is_null());
        let found = counting.select(KeyColumns::selection()).get_result::<KeyColumns>(self).optional()?;
        found.map(KeyColumns::into_principal).transpose()
    }

    fn key(&mut self, id: KeyId) -> RowsResult<Option<KeyView>> {
        let key = api_keys::table.filter(api_keys::id.eq(Key(id.0)));
        key.select(KeyColumns::selection()).get_result::<KeyColumns>(self).optional()?.map(KeyColumns::into_view).transpose()
    }

    fn keys(&mut self) -> RowsResult<Vec<KeyView>> {
        let all = api_keys::table.order(api_keys::rid).select(KeyColumns::selection()).load::<KeyColumns>(self)?;
        all.into_iter().map(KeyColumns::into_view).collect()
    }

    fn agents_called(&mut self, texts: &[&str]) -> RowsResult<Vec<Alias>> {
        let named = api_keys::name.eq_any(texts).or(api_keys::subject.eq_any(texts));
        let agents = api_keys::table.filter(named).filter(api_keys::role.eq(Role::Agent.code()));
        let found = agents.select((api_keys::name, api_keys::subject)).load::<(String, String)>(self)?;
        Ok(found.into_iter().map(|(name, subject)| Alias { name, subject }).collect())
    }

    fn secret(&mut self, name: &str) -> RowsResult<Option<Vec<u8>>> {
        Ok(secrets::table.find(name).select(secrets::value).get_result(self).optional()?)
    }
}
