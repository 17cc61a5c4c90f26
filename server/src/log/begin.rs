//! The first events of a start: the server's own log begins, and people and groups become as the configuration file says.

use domain::people::roster::{Change, Roster};
use domain::problem::Rejection;
use store::{Store, StoreError};

use crate::config::wrong_fields;

/// Begins the log, and follows the file. Without a file, people and groups stay as they are.
///
/// # Errors
///
/// The fields of the file that do not fit to people and groups that were added otherwise. The store is then closed, and nothing has changed.
pub(crate) async fn begin(store: &dyn Store, roster: Option<Roster>) -> anyhow::Result<()> {
    store.begin_server_log().await?;
    let Some(roster) = roster else { return Ok(()) };
    let changes = match store.follow_roster(roster).await {
        Ok(changes) => changes,
        Err(StoreError::Rejected(Rejection::Invalid { errors })) => {
            store.close().await;
            anyhow::bail!("the people and groups of the file do not fit to those of the database: {}", wrong_fields(&errors));
        }
        Err(error) => return Err(error.into()),
    };
    let removed = changes.iter().filter(|change| matches!(change, Change::RemovePerson(_))).count();
    if removed > 0 {
        tracing::warn!(
            people = removed,
            "removed people whom the configuration file does not name any more; if they belong there, see whether all servers on this \
             database have the same file"
        );
    }
    if !changes.is_empty() {
        tracing::info!(changes = changes.len(), "people and groups are now as the configuration file says");
    }
    Ok(())
}
