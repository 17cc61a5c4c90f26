//! People, their login links and their sessions.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::ids::{PersonId, SessionId};
use domain::people::person::Person;
use uuid::Uuid;

use super::Writing;
use crate::columns::signed;
use crate::person_columns::{LOGIN, LoginColumns, PERSON, PersonColumns, SESSION, SessionColumns, kept};
use crate::rows::{Code, LoginRow, LoginsSent, ReadPeople, RowsError, RowsResult, SessionRow, WritePeople};
use crate::schema::{identities, logins, people, sessions, unsent_answers};
use crate::sql::{At, Key, written};

impl WritePeople for Writing<'_> {
    fn insert_person(&mut self, person: &Person) -> RowsResult<()> {
        let row = (
            people::id.eq(Key(person.id.0)),
            people::address.eq(&person.address),
            people::role.eq(person.role.code()),
            people::added_at.eq(At(person.added_at)),
            people::added_by.eq(&person.added_by),
            people::managed.eq(person.managed),
            people::preferences.eq(kept(&person.preferences)?),
        );
        diesel::insert_into(people::table).values(row).execute(self.conn)?;
        Ok(())
    }

    /// Takes no lock: there is only one writer, so no other transaction can change the person.
    fn hold_person(&mut self, _: &str) -> RowsResult<()> {
        Ok(())
    }

    fn confirm_person(&mut self, id: PersonId, at: DateTime<Utc>) -> RowsResult<()> {
        let person = people::table.filter(people::id.eq(Key(id.0)));
        diesel::update(person).set(people::confirmed_at.eq(At(at))).execute(self.conn)?;
        Ok(())
    }

    fn update_person(&mut self, person: &Person) -> RowsResult<()> {
        let absence = written(person.absence.as_ref())?;
        let preferences = kept(&person.preferences)?;
        let changes = (
            people::role.eq(person.role.code()),
            people::managed.eq(person.managed),
            people::absence.eq(absence),
            people::preferences.eq(preferences),
        );
        diesel::update(people::table.filter(people::id.eq(Key(person.id.0)))).set(changes).execute(self.conn)?;
        Ok(())
    }

    fn remove_person(&mut self, id: PersonId, at: DateTime<Utc>) -> RowsResult<()> {
        let person = people::table.filter(people::id.eq(Key(id.0)));
        diesel::update(person).set(people::removed_at.eq(At(at))).execute(self.conn)?;
        diesel::delete(logins::table.filter(logins::person.eq(Key(id.0)))).execute(self.conn)?;
        diesel::delete(identities::table.filter(identities::person.eq(Key(id.0)))).execute(self.conn)?;
        diesel::delete(unsent_answers::table.filter(unsent_answers::person.eq(Key(id.0)))).execute(self.conn)?;
        self.delete_sessions_of(id)
    }

    fn insert_login(&mut self, login: &LoginRow) -> RowsResult<()> {
        let row = (
            logins::id.eq(Key(login.id)),
            logins::person.eq(login.person.map(|id| Key(id.0))),
            logins::asked_at.eq(At(login.asked_at)),
            logins::expires_at.eq(At(login.expires_at)),
            logins::due_at.eq(login.due_at.map(At)),
            logins::question.eq(login.question.map(|id| Key(id.0))),
        );
        diesel::insert_into(logins::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn update_login(&mut self, login: &LoginRow) -> RowsResult<()> {
        let changes = (
            logins::used_at.eq(login.used_at.map(At)),
            logins::hash.eq(login.hash.as_deref()),
            logins::due_at.eq(login.due_at.map(At)),
            logins::tries.eq(signed(login.tries)),
            logins::lease.eq(login.lease.as_deref()),
        );
        diesel::update(logins::table.filter(logins::id.eq(Key(login.id)))).set(changes).execute(self.conn)?;
        Ok(())
    }

    fn delete_login(&mut self, id: Uuid) -> RowsResult<()> {
        diesel::delete(logins::table.filter(logins::id.eq(Key(id)))).execute(self.conn)?;
        Ok(())
    }

    fn delete_logins_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let old = logins::table.filter(logins::asked_at.lt(At(time))).select(logins::rid).order(logins::asked_at);
        let old = old.limit(i64::from(limit)).load::<i64>(self.conn)?;
        if old.is_empty() {
            return Ok(0);
        }
        Ok(diesel::delete(logins::table.filter(logins::rid.eq_any(old))).execute(self.conn)? as u64)
    }

    fn insert_session(&mut self, session: &SessionRow) -> RowsResult<()> {
        let row = (
            sessions::id.eq(Key(session.id.0)),
            sessions::person.eq(Key(session.person.0)),
            sessions::hash.eq(&session.hash),
            sessions::began_at.eq(At(session.began_at)),
            sessions::used_at.eq(At(session.used_at)),
            sessions::ends_at.eq(At(session.ends_at)),
            sessions::method.eq(session.beginning.method.code()),
            sessions::auth_time.eq(session.beginning.auth_time.map(At)),
            sessions::recent_until.eq(session.beginning.recent_until.map(At)),
        );
        diesel::insert_into(sessions::table).values(row).execute(self.conn)?;
        Ok(())
    }

    fn touch_session(&mut self, id: SessionId, at: DateTime<Utc>) -> RowsResult<()> {
        let session = sessions::table.filter(sessions::id.eq(Key(id.0)));
        diesel::update(session).set(sessions::used_at.eq(At(at))).execute(self.conn)?;
        Ok(())
    }

    fn set_challenge(&mut self, id: SessionId, challenge: Option<(&[u8], DateTime<Utc>)>) -> RowsResult<()> {
        let session = sessions::table.filter(sessions::id.eq(Key(id.0)));
        let (challenge, until) = challenge.unzip();
        let changes = (sessions::challenge.eq(challenge), sessions::challenge_until.eq(until.map(At)));
        diesel::update(session).set(changes).execute(self.conn)?;
        Ok(())
    }

    fn delete_session(&mut self, id: SessionId) -> RowsResult<()> {
        diesel::delete(sessions::table.filter(sessions::id.eq(Key(id.0)))).execute(self.conn)?;
        Ok(())
    }

    fn delete_sessions_of(&mut self, person: PersonId) -> RowsResult<()> {
        diesel::delete(sessions::table.filter(sessions::person.eq(Key(person.0)))).execute(self.conn)?;
        Ok(())
    }

    fn delete_ended_sessions(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<u64> {
        let ended = sessions::table.filter(sessions::ends_at.le(At(now))).select(sessions::rid).order(sessions::ends_at);
        let ended = ended.limit(i64::from(limit)).load::<i64>(self.conn)?;
        if ended.is_empty() {
            return Ok(0);
        }
        Ok(diesel::delete(sessions::table.filter(sessions::rid.eq_any(ended))).execute(self.conn)? as u64)
    }
}

impl ReadPeople for SqliteConnection {
    fn people(&mut self) -> RowsResult<Vec<Person>> {
        let all = people::table.filter(people::removed_at.is_null()).order(people::rid).select(PERSON);
        all.load::<PersonColumns>(self)?.into_iter().map(PersonColumns::into_person).collect()
    }

    fn people_away(&mut self) -> RowsResult<Vec<Person>> {
        let away = people::table.filter(people::removed_at.is_null()).filter(people::absence.is_not_null());
        let away = away.order(people::rid).select(PERSON);
        away.load::<PersonColumns>(self)?.into_iter().map(PersonColumns::into_person).collect()
    }

    fn people_count(&mut self) -> RowsResult<u32> {
        let listed = people::table.filter(people::removed_at.is_null()).count().first::<i64>(self)?;
        u32::try_from(listed).map_err(|_| RowsError::Inconsistent("a count beyond all numbers"))
    }

    fn person(&mut self, id: PersonId) -> RowsResult<Option<Person>> {
        let person = people::table.filter(people::id.eq(Key(id.0))).filter(people::removed_at.is_null()).select(PERSON);
        person.first::<PersonColumns>(self).optional()?.map(PersonColumns::into_person).transpose()
    }

    fn person_called(&mut self, address: &str) -> RowsResult<Option<Person>> {
        let person = people::table.filter(people::address.eq(address)).filter(people::removed_at.is_null()).select(PERSON);
        person.first::<PersonColumns>(self).optional()?.map(PersonColumns::into_person).transpose()
    }

    fn logins_since(&mut self, person: PersonId, time: DateTime<Utc>, now: DateTime<Utc>) -> RowsResult<LoginsSent> {
        let asked = logins::table.filter(logins::person.eq(Key(person.0))).filter(logins::asked_at.gt(At(time)));
        let asked: Vec<(Option<At>, At)> = asked.select((logins::used_at, logins::expires_at)).load(self)?;
        let usable = asked.iter().filter(|(used_at, expires_at)| used_at.is_none() && expires_at.0 > now).count();
        let number = |count| u32::try_from(count).map_err(|_| RowsError::Inconsistent("a count beyond all numbers"));
        Ok(LoginsSent { all: number(asked.len())?, usable: number(usable)? })
    }

    fn login(&mut self, id: Uuid) -> RowsResult<Option<LoginRow>> {
        let login = logins::table.filter(logins::id.eq(Key(id))).select(LOGIN);
        login.first::<LoginColumns>(self).optional()?.map(LoginColumns::into_row).transpose()
    }

    fn login_by_hash(&mut self, hash: &[u8; 32]) -> RowsResult<Option<LoginRow>> {
        let login = logins::table.filter(logins::hash.eq(hash.as_slice())).select(LOGIN);
        login.first::<LoginColumns>(self).optional()?.map(LoginColumns::into_row).transpose()
    }

    fn queued_logins(&mut self, limit: u32) -> RowsResult<Vec<LoginRow>> {
        let queued = logins::table.filter(logins::due_at.is_not_null()).order(logins::due_at).limit(i64::from(limit));
        queued.select(LOGIN).load::<LoginColumns>(self)?.into_iter().map(LoginColumns::into_row).collect()
    }

    fn session(&mut self, hash: &[u8; 32]) -> RowsResult<Option<(SessionRow, Person)>> {
        let joined = sessions::table.inner_join(people::table.on(people::id.eq(sessions::person)));
        let found = joined.filter(sessions::hash.eq(hash.as_slice())).filter(people::removed_at.is_null());
        let found = found.select((SESSION, PERSON)).first::<(SessionColumns, PersonColumns)>(self).optional()?;
        found.map(|(session, person)| Ok((session.into_row()?, person.into_person()?))).transpose()
    }

    fn session_called(&mut self, id: SessionId) -> RowsResult<Option<SessionRow>> {
        let session = sessions::table.filter(sessions::id.eq(Key(id.0))).select(SESSION);
        session.first::<SessionColumns>(self).optional()?.map(SessionColumns::into_row).transpose()
    }
}
