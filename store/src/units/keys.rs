//! API keys.

use domain::base::ids::KeyId;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::KeyView;

use crate::error::Wanted;
use crate::request::NewKey;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError};
use crate::surroundings::Env;

pub(crate) fn create_key<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, key: &Wanted<NewKey>) -> Decided<KeyView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let key = match key {
        Ok(key) => key,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    rows.insert_key(key, env.clock.now())?;
    Ok(Ok(rows.reads().key(key.id)?.ok_or(RowsError::Inconsistent("a key vanished while it was made"))?))
}

pub(crate) fn revoke_key<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, id: &Wanted<KeyId>) -> Decided<KeyView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let id = match id {
        Ok(id) => *id,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    if !rows.revoke_key(id, env.clock.now())? {
        return Ok(Err(Rejection::NotFound));
    }
    Ok(rows.reads().key(id)?.ok_or(Rejection::NotFound))
}
