//! The types of values that the two databases store in different ways: each as a type of SQL and as a type of Rust.

use std::fmt;

use chrono::{DateTime, Utc};
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::Pg;
use diesel::query_builder::QueryId;
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::{self as native, SqlOrd, SqlType};
use diesel::sqlite::Sqlite;
use domain::base::name::Owner;
use domain::base::time::{from_micros, micros};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// An id: sixteen bytes in SQLite, `uuid` in PostgreSQL.
#[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
#[diesel(sqlite_type(name = "Binary"), postgres_type(oid = 2950, array_oid = 2951))]
pub struct Id;

/// A point in time: microseconds since 1970 in SQLite, `timestamptz` in PostgreSQL.
#[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
#[diesel(sqlite_type(name = "Long"), postgres_type(oid = 1184, array_oid = 1185))]
pub struct Moment;

impl SqlOrd for Moment {}

/// A JSON value: text in SQLite, `json` in PostgreSQL.
#[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
#[diesel(sqlite_type(name = "Text"), postgres_type(oid = 114, array_oid = 199))]
pub struct Document;

/// A text of any characters: plain in SQLite, a JSON string in PostgreSQL, whose own text type cannot hold `\u0000`.
#[derive(Clone, Copy, Debug, Default, QueryId, SqlType)]
#[diesel(sqlite_type(name = "Text"), postgres_type(oid = 114, array_oid = 199))]
pub struct Prose;

/// An [`Id`].
#[derive(AsExpression, Clone, Copy, Debug, FromSqlRow)]
#[diesel(sql_type = Id)]
pub(crate) struct Key(pub(crate) Uuid);

impl FromSql<Id, Sqlite> for Key {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let bytes = <Vec<u8> as FromSql<native::Binary, Sqlite>>::from_sql(value)?;
        Ok(Self(Uuid::from_slice(&bytes)?))
    }
}

impl FromSql<Id, Pg> for Key {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <Uuid as FromSql<native::Uuid, Pg>>::from_sql(value).map(Self)
    }
}

impl ToSql<Id, Sqlite> for Key {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_bytes().as_slice());
        Ok(IsNull::No)
    }
}

impl ToSql<Id, Pg> for Key {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <Uuid as ToSql<native::Uuid, Pg>>::to_sql(&self.0, out)
    }
}

/// A [`Moment`].
#[derive(AsExpression, Clone, Copy, Debug, FromSqlRow)]
#[diesel(sql_type = Moment)]
pub(crate) struct At(pub(crate) DateTime<Utc>);

impl FromSql<Moment, Sqlite> for At {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <i64 as FromSql<native::BigInt, Sqlite>>::from_sql(value).map(|time| Self(from_micros(time)))
    }
}

impl FromSql<Moment, Pg> for At {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <DateTime<Utc> as FromSql<native::Timestamptz, Pg>>::from_sql(value).map(Self)
    }
}

impl ToSql<Moment, Sqlite> for At {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(micros(self.0));
        Ok(IsNull::No)
    }
}

impl ToSql<Moment, Pg> for At {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <DateTime<Utc> as ToSql<native::Timestamptz, Pg>>::to_sql(&self.0, &mut out.reborrow())
    }
}

/// A [`Document`] that is read.
#[derive(Clone, Debug, FromSqlRow)]
pub(crate) struct Json<T: fmt::Debug + DeserializeOwned>(pub(crate) T);

impl<T: fmt::Debug + DeserializeOwned> FromSql<Document, Sqlite> for Json<T> {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        let text = <String as FromSql<native::Text, Sqlite>>::from_sql(value)?;
        Ok(Self(serde_json::from_str(&text)?))
    }
}

impl<T: fmt::Debug + DeserializeOwned> FromSql<Document, Pg> for Json<T> {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(serde_json::from_slice(value.as_bytes())?))
    }
}

/// A [`Document`] to be written.
#[derive(AsExpression, Clone, Debug)]
#[diesel(sql_type = Document)]
pub(crate) struct Written(String);

impl Written {
    /// Serializes a value.
    pub(crate) fn of(value: &(impl Serialize + ?Sized)) -> serde_json::Result<Self> {
        serde_json::to_string(value).map(Self)
    }
}

impl ToSql<Document, Sqlite> for Written {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}

impl ToSql<Document, Pg> for Written {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        std::io::Write::write_all(out, self.0.as_bytes())?;
        Ok(IsNull::No)
    }
}

/// A [`Prose`].
#[derive(AsExpression, Clone, Debug, FromSqlRow)]
#[diesel(sql_type = Prose)]
pub(crate) struct Said(pub(crate) String);

impl From<&str> for Said {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl FromSql<Prose, Sqlite> for Said {
    fn from_sql(value: <Sqlite as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        <String as FromSql<native::Text, Sqlite>>::from_sql(value).map(Self)
    }
}

impl FromSql<Prose, Pg> for Said {
    fn from_sql(value: <Pg as Backend>::RawValue<'_>) -> deserialize::Result<Self> {
        Ok(Self(serde_json::from_slice(value.as_bytes())?))
    }
}

impl ToSql<Prose, Sqlite> for Said {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.as_str());
        Ok(IsNull::No)
    }
}

impl ToSql<Prose, Pg> for Said {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        serde_json::to_writer(out, &self.0)?;
        Ok(IsNull::No)
    }
}

/// The owner of a credential, a plain text in both databases. An owner is not a name, so it has a type of its own.
#[derive(AsExpression, Clone, Debug, FromSqlRow)]
#[diesel(sql_type = native::Text)]
pub(crate) struct Owned(pub(crate) Owner);

impl<DB: Backend> FromSql<native::Text, DB> for Owned
where
    String: FromSql<native::Text, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        String::from_sql(value).map(|text| Self(Owner(text)))
    }
}

impl<DB: Backend> ToSql<native::Text, DB> for Owned
where
    str: ToSql<native::Text, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        self.0.as_str().to_sql(out)
    }
}

/// Serializes a value that may be absent.
pub(crate) fn written<T: Serialize + ?Sized>(value: Option<&T>) -> serde_json::Result<Option<Written>> {
    value.map(Written::of).transpose()
}
