//! Opens a database for a command that works beside a server, and finds out whether the server that runs uses this database.

use std::sync::Arc;
use std::time::Duration;

use store::host::clock::{SystemClock, SystemEntropy};
use store::sqlite::Exclusive;
use store::{Database, Store, Surroundings};
use url::Url;

use super::remote::tell;
use crate::cli::reach::{Reached, ask};
use crate::config::DatabaseArgs;
use crate::edge::instance::{INSTANCE_SECRET, Instance};

/// How long a server may take to identify itself; a slow server does not hold up a command.
const LOOK_FOR: Duration = Duration::from_secs(2);

/// Like [`open`], but makes no database. A new database would show an empty list, or lack the named key, and hide that it is not
/// the server's database.
pub(super) async fn open_existing(database: &DatabaseArgs) -> anyhow::Result<Arc<dyn Store>> {
    database.database()?.must_exist().await?;
    open(database).await
}

pub(super) async fn open(settings: &DatabaseArgs) -> anyhow::Result<Arc<dyn Store>> {
    let database = settings.database()?;
    // A database that cannot be reached is reported when it is opened.
    let is_new = database.is_new().await.unwrap_or(false);
    let surroundings = Surroundings::alone(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let store = store::open(&database, Exclusive::Beside, surroundings).await?;
    if is_new {
        tell(format!("made a new database: {}", database.place()));
    }
    tell_of_another_server(&*store, settings, &database).await;
    Ok(store)
}

/// Tells the person if the server found from here has another database: a key made in this database is not valid there.
async fn tell_of_another_server(store: &dyn Store, settings: &DatabaseArgs, database: &Database) {
    for address in settings.servers() {
        // The first try only finds out whether a Placet server answers, and uses a made-up secret for that. The real secret would
        // be created by reading it, if no server has used the database yet.
        if !is_other(&address, [0; 32]).await {
            continue;
        }
        let Ok(secret) = store.secret(INSTANCE_SECRET).await else { return };
        if is_other(&address, secret).await {
            tell(format!(
                "the Placet server at {address} has another database than {}: what you do here has no effect there. \
                 Run this in that server's folder, or set PLACET_DATABASE_URL (or --config) as for that server",
                database.place()
            ));
        }
        return;
    }
}

/// Whether the server at `address` is a Placet server that does not know this secret.
async fn is_other(address: &Url, secret: [u8; 32]) -> bool {
    let instance = Instance::new(secret);
    let asked = tokio::time::timeout(LOOK_FOR, ask(address, &instance, &SystemEntropy)).await;
    matches!(asked, Ok(Ok(Reached::OtherPlacet)))
}
