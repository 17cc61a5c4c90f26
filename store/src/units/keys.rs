//! API keys. Each change of them is an event of the server's own log.

use domain::base::ids::KeyId;
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{KeyFacts, ServerEvent};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::KeyView;

use super::server_log;
use crate::error::Wanted;
use crate::request::{NewKey, SecretOrigin};
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
    let NewKey { id, name, role, subject, owner, tied_to, client, hash: _, origin } = key.clone();
    let (facts, credential) = (KeyFacts { id, name, subject, owner, role, tied_to, client }, principal.credential);
    let event = match origin {
        SecretOrigin::Drawn => ServerEvent::KeyCreated { key: facts, credential },
        SecretOrigin::Imported => ServerEvent::KeyImported { key: facts, credential },
    };
    server_log::append(rows, env, &principal.name, &event)?;
    rows.insert_key(key, env.clock.now())?;
    Ok(Ok(rows.reads().key(id)?.ok_or(RowsError::Inconsistent("a key vanished while it was made"))?))
}

/// Revokes a key. If the key is revoked already, it keeps the time of its first revocation, and no further event is written.
pub(crate) fn revoke_key<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, id: &Wanted<KeyId>) -> Decided<KeyView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let id = match id {
        Ok(id) => *id,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    // The log's row is locked before the key is looked at: a second revocation waits here, and then finds the first.
    server_log::begin(rows, env)?;
    let Some(key) = rows.reads().key(id)? else { return Ok(Err(Rejection::NotFound)) };
    if key.revoked_at.is_some() {
        return Ok(Ok(key));
    }
    let event = ServerEvent::KeyRevoked { key_id: id, name: key.name, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &event)?;
    rows.revoke_key(id, env.clock.now())?;
    Ok(Ok(rows.reads().key(id)?.ok_or(RowsError::Inconsistent("a key vanished while it was revoked"))?))
}
