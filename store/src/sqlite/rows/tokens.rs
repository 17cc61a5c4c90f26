//! Answer links.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::columns::TokenColumns;
use crate::rows::{ReadTokens, RowsResult, TokenRow, WriteTokens};
use crate::schema::tokens;
use crate::sql::{At, Key};
use crate::sqlite::statements as hot;

impl WriteTokens for Writing<'_> {
    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()> {
        hot::InsertToken {
            rid: &token.rid,
            hash: &token.hash,
            suspension: &token.suspension,
            recipient: &token.recipient,
            created_at: &At(token.created_at),
            delivery: &token.delivery.map(|id| Key(id.0)),
        }
        .execute(self.conn)?;
        Ok(())
    }
}

impl ReadTokens for SqliteConnection {
    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>> {
        let found = tokens::table.find(rid).select(TokenColumns::selection()).get_result::<TokenColumns>(self);
        Ok(found.optional()?.map(TokenColumns::into_row))
    }

    fn newest_token(&mut self) -> RowsResult<i64> {
        Ok(tokens::table.select(diesel::dsl::max(tokens::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }
}
