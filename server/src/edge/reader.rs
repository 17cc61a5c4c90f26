//! The reader of a long transfer, by a key or a session. The transfer may outlive the right to read, so the reader is looked up again
//! at each part of it.

use domain::people::principal::Principal;
use domain::problem::edge;
use store::{OpenSession, SessionToken, StoreError};

use super::auth::Caller;
use super::problem::Failure;
use super::shared::Shared;

/// The reader of a transfer, and the means to look the reader up again.
pub(crate) enum Reader {
    /// A caller with a key.
    Key(Caller),
    /// A person who logged in.
    Session(Principal, SessionToken),
}

impl Reader {
    /// The reader as it was found last.
    pub(crate) fn principal(&self) -> &Principal {
        match self {
            Self::Key(caller) => &caller.principal,
            Self::Session(principal, _) => principal,
        }
    }

    /// Looks the reader up again; an error if the key is no longer valid or the session has ended.
    pub(crate) async fn again(&self, shared: &Shared) -> Result<Self, Failure> {
        match self {
            Self::Key(caller) => Ok(Self::Key(caller.again(shared).await?)),
            Self::Session(_, token) => {
                let open = person(shared, token).await?;
                let open = open.ok_or_else(|| Failure::edge(edge::UNAUTHORIZED, "the session has ended"))?;
                Ok(Self::Session(open.principal, token.clone()))
            }
        }
    }
}

/// The person of an open session. The use of the session is noted.
pub(crate) async fn person(shared: &Shared, token: &SessionToken) -> Result<Option<OpenSession>, StoreError> {
    let Some(open) = shared.store.session(token.clone()).await? else { return Ok(None) };
    // The session goes on for this use in any case; if the use cannot be noted, it ends earlier.
    if open.is_stale
        && let Err(error) = shared.store.touch_session(open.id).await
    {
        tracing::debug!(error = %error, "failed to note the use of a session");
    }
    Ok(Some(open))
}
