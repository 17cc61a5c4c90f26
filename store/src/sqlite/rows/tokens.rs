//! Answer links.

use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::base::time::micros;

use super::Writing;
use crate::rows::{ReadTokens, RowsResult, TokenRow, WriteTokens};
use crate::sqlite::columns::TokenColumns;
use crate::sqlite::schema::tokens;
use crate::sqlite::statements as hot;

impl WriteTokens for Writing<'_> {
    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()> {
        hot::InsertToken {
            rid: &token.rid,
            hash: &token.hash,
            suspension: &token.suspension,
            recipient: &token.recipient,
            created_at: &micros(token.created_at),
            delivery: &token.delivery.map(|id| id.0.as_bytes().to_vec()),
        }
        .execute(self.conn)?;
        Ok(())
    }
}

impl ReadTokens for SqliteConnection {
    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>> {
        tokens::table.find(rid).get_result::<TokenColumns>(self).optional()?.map(TokenColumns::into_row).transpose()
    }

    fn newest_token(&mut self) -> RowsResult<i64> {
        Ok(tokens::table.select(diesel::dsl::max(tokens::rid)).get_result::<Option<i64>>(self)?.unwrap_or(0))
    }
}
