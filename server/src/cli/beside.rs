//! Looks for a server that runs beside a command, and finds out whether that server uses the database on which the command works.

use std::time::Duration;

use store::host::clock::SystemEntropy;
use store::{Database, Store};
use url::Url;

use super::remote::tell;
use crate::cli::reach::{Reached, ask};
use crate::config::DatabaseArgs;
use crate::edge::instance::{INSTANCE_SECRET, Instance};

/// How long a server may take to identify itself; a slow server does not hold up a command.
const LOOK_FOR: Duration = Duration::from_secs(2);

/// Tells the person if the server found from here has another database: a key made in this database is not valid there.
pub(super) async fn tell_of_another_server(store: &dyn Store, settings: &DatabaseArgs, database: &Database) {
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
