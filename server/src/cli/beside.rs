//! A server that runs beside a command: whether it keeps its data where the command looks.

use std::time::Duration;

use store::host::clock::SystemEntropy;
use store::{Database, Store};
use url::Url;

use super::remote::tell;
use crate::cli::reach::{Reached, ask};
use crate::config::DatabaseArgs;
use crate::edge::instance::{INSTANCE_SECRET, Instance};

/// How long a server may take to say who it is; a command is not held up by one that is slow.
const LOOK_FOR: Duration = Duration::from_secs(2);

/// Says so if the server that would be found from here has another database: a key made in this one does not count there.
pub(super) async fn tell_of_another_server(store: &dyn Store, settings: &DatabaseArgs, database: &Database) {
    for address in settings.servers() {
        // By no secret at first: reading this database's would make one where no server has run yet.
        if !is_other(&address, [0; 32]).await {
            continue;
        }
        let Ok(secret) = store.secret(INSTANCE_SECRET).await else { return };
        if is_other(&address, secret).await {
            tell(format!(
                "the Placet server at {address} has another database than {}: what is done here does not count there. \
                 Run this in that server's folder, or set PLACET_DATABASE_URL (or --config) as it has it",
                database.place()
            ));
        }
        return;
    }
}

/// Whether a Placet answers that does not know this secret.
async fn is_other(address: &Url, secret: [u8; 32]) -> bool {
    let instance = Instance::new(secret);
    let asked = tokio::time::timeout(LOOK_FOR, ask(address, &instance, &SystemEntropy)).await;
    matches!(asked, Ok(Ok(Reached::OtherPlacet)))
}
