//! The mails to admins about questions on which too few people are left to agree.

use diesel::prelude::*;
use domain::base::ids::PersonId;

use super::Writing;
use crate::alert_columns::{ALERT, AlertColumns, alert_row, reads_of_alerts, writes_of_alerts};
use crate::columns::signed;
use crate::postgres::session::Session;
use crate::rows::{AlertRow, ReadAlerts, RowsResult, WriteAlerts};
use crate::schema::alerts;
use crate::sql::{At, Key};

impl WriteAlerts for Writing<'_> {
    writes_of_alerts!(self, self.session.conn()?);
}

impl ReadAlerts for Session {
    reads_of_alerts!(self, self.conn()?);
}
