//! API keys, and the secrets the server makes for itself.

use domain::base::ids::KeyId;
use domain::problem::Rejection;
use domain::wire::KeyView;

use super::{Decided, Env};
use crate::NewKey;
use crate::rows::{ReadRows, Rows, RowsError, RowsResult};

pub(crate) fn create_key<R: Rows>(rows: &mut R, env: &Env<'_>, key: &NewKey) -> RowsResult<KeyView> {
    rows.insert_key(key, env.clock.now())?;
    rows.reads().key(key.id)?.ok_or(RowsError::Inconsistent("a key vanished while it was made"))
}

/// The names of the channels a key is tied to, from the row that holds them: none of them has a space.
pub(crate) fn names(kept: &str) -> Vec<String> {
    kept.split(' ').map(str::to_owned).collect()
}

pub(crate) fn revoke_key<R: Rows>(rows: &mut R, env: &Env<'_>, id: KeyId) -> Decided<KeyView> {
    if !rows.revoke_key(id, env.clock.now())? {
        return Ok(Err(Rejection::NotFound));
    }
    Ok(rows.reads().key(id)?.ok_or(Rejection::NotFound))
}

pub(crate) fn secret<R: Rows>(rows: &mut R, env: &Env<'_>, name: &str) -> RowsResult<[u8; 32]> {
    if let Some(value) = rows.reads().secret(name)? {
        return value.try_into().map_err(|_| RowsError::Inconsistent("a secret of the wrong length"));
    }
    let value = env.entropy.bytes32();
    rows.insert_secret(name, &value)?;
    Ok(value)
}
