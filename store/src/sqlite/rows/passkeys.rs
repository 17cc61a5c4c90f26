//! Passkeys of people.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::PersonId;
use domain::base::passkey::Octets;
use domain::people::passkey::Passkey;

use super::Writing;
use crate::person_columns::{PASSKEY, PasskeyColumns};
use crate::rows::{ReadPasskeys, RowsError, RowsResult, WritePasskeys};
use crate::schema::passkeys;
use crate::sql::{At, Key};

impl WritePasskeys for Writing<'_> {
    fn insert_passkey(&mut self, passkey: &Passkey) -> RowsResult<()> {
        let algorithm = i32::try_from(passkey.algorithm).map_err(|_| RowsError::Inconsistent("an algorithm without a number"))?;
        let row = (
            passkeys::credential_id.eq(&passkey.credential_id.0),
            passkeys::person.eq(Key(passkey.person.0)),
            passkeys::public_key.eq(&passkey.public_key.0),
            passkeys::algorithm.eq(algorithm),
            passkeys::rp_id.eq(&passkey.rp_id),
            passkeys::counter.eq(i64::from(passkey.counter)),
            passkeys::added_at.eq(At(passkey.added_at)),
        );
        diesel::insert_into(passkeys::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn use_passkey(&mut self, read: &Passkey, counter: u32, at: DateTime<Utc>) -> RowsResult<bool> {
        let passkey = passkeys::table.filter(passkeys::credential_id.eq(&read.credential_id.0));
        let as_read = passkey.filter(passkeys::counter.eq(i64::from(read.counter)));
        let changes = (passkeys::counter.eq(i64::from(counter)), passkeys::used_at.eq(At(at)));
        Ok(diesel::update(as_read).set(changes).execute(self.conn)? == 1)
    }

    fn delete_passkey(&mut self, credential_id: &Octets) -> RowsResult<()> {
        diesel::delete(passkeys::table.filter(passkeys::credential_id.eq(&credential_id.0))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadPasskeys for SqliteConnection {
    fn passkeys_of(&mut self, person: PersonId) -> RowsResult<Vec<Passkey>> {
        let of_person = passkeys::table.filter(passkeys::person.eq(Key(person.0))).order(passkeys::rid).select(PASSKEY);
        of_person.load::<PasskeyColumns>(self)?.into_iter().map(PasskeyColumns::into_passkey).collect()
    }

    fn passkey(&mut self, credential_id: &Octets) -> RowsResult<Option<Passkey>> {
        let passkey = passkeys::table.filter(passkeys::credential_id.eq(&credential_id.0)).select(PASSKEY);
        passkey.first::<PasskeyColumns>(self).optional()?.map(PasskeyColumns::into_passkey).transpose()
    }
}
