//! Answer links.

use diesel::prelude::*;

use super::Writing;
use crate::columns::TokenColumns;
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{ReadTokens, RowsResult, TokenRow, WriteTokens};
use crate::schema::tokens;
use crate::sql::{At, Key};

impl WriteTokens for Writing<'_> {
    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()> {
        let write = hot::InsertToken {
            rid: token.rid,
            hash: token.hash.clone(),
            suspension: token.suspension,
            recipient: token.recipient.clone(),
            created_at: At(token.created_at),
            delivery: token.delivery.map(|id| Key(id.0)),
        };
        self.session.later(write, None)
    }
}

impl ReadTokens for Session {
    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>> {
        Ok(tokens::table
            .find(rid)
            .select(TokenColumns::selection())
            .first::<TokenColumns>(self.conn()?)
            .optional()?
            .map(TokenColumns::into_row))
    }

    fn newest_token(&mut self) -> RowsResult<i64> {
        Ok(tokens::table.select(diesel::dsl::max(tokens::rid)).first::<Option<i64>>(self.conn()?)?.unwrap_or(0))
    }
}
