//! The rules that the parameters of all calls share.

use domain::base::ids::IntentId;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::Error;
use crate::edge::body::Json;

/// Parameters, or the members of them that break rules.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    Json(params).into().map_err(Error::invalid)
}

pub(super) fn no_tenant(tenant: &str) -> Result<(), Error> {
    if tenant.is_empty() { Ok(()) } else { Err(Error::wrong("tenant", "must be left out: this server has no tenants")) }
}

/// The task that an id names. An id in another form names none.
pub(super) fn task_id(text: &str) -> Result<IntentId, Error> {
    text.parse().map_err(|_| Error::task_not_found())
}
