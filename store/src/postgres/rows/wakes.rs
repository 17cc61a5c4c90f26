//! The outbox of messages that a suspension is over.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{ReadWakePosts, RowsResult, WakePostRow, WriteWakePosts};
use crate::schema::wake_posts;
use crate::sql::At;
use crate::wake_columns::{WAKE_POST, WakePostColumns, reads_of_wake_posts, stored, wake_post_row, writes_of_wake_posts};

impl WriteWakePosts for Writing<'_> {
    writes_of_wake_posts!(self, self.session.conn()?);
}

impl ReadWakePosts for Session {
    reads_of_wake_posts!(self, self.conn()?);
}
