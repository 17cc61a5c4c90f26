//! Secrets that the server makes for itself.

use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};
use crate::surroundings::Env;

/// Reads a secret, and makes it if it does not exist yet.
pub(crate) fn secret<R: Rows>(rows: &mut R, env: &Env<'_>, name: &str) -> RowsResult<[u8; 32]> {
    if let Some(value) = rows.reads().secret(name)? {
        return value.try_into().map_err(|_| RowsError::Inconsistent("a secret of the wrong length"));
    }
    let value = env.entropy.bytes32();
    rows.insert_secret(name, &value)?;
    Ok(value)
}
