//! Deletes records that are kept for a limited time.

use crate::rows::prelude::*;
use crate::rows::{RowsResult, day};
use crate::surroundings::Env;

/// How many idempotency records one transaction deletes.
const FORGOTTEN_PER_UNIT: u32 = 500;

pub(crate) fn forget_expired<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    let yesterday = day(env.clock.now()) - 1;
    rows.forget_agent_bytes_before(yesterday)?;
    rows.forget_idempotent_before(yesterday, FORGOTTEN_PER_UNIT)
}
