//! API keys.

use domain::base::ids::KeyId;
use domain::problem::Rejection;
use domain::wire::KeyView;

use crate::request::NewKey;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError, RowsResult};
use crate::surroundings::Env;

pub(crate) fn create_key<R: Rows>(rows: &mut R, env: &Env<'_>, key: &NewKey) -> RowsResult<KeyView> {
    rows.insert_key(key, env.clock.now())?;
    rows.reads().key(key.id)?.ok_or(RowsError::Inconsistent("a key vanished while it was made"))
}

pub(crate) fn revoke_key<R: Rows>(rows: &mut R, env: &Env<'_>, id: KeyId) -> Decided<KeyView> {
    if !rows.revoke_key(id, env.clock.now())? {
        return Ok(Err(Rejection::NotFound));
    }
    Ok(rows.reads().key(id)?.ok_or(Rejection::NotFound))
}
