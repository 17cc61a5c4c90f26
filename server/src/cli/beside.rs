//! A server that runs beside a command: whether it keeps its data where the command looks.

use std::time::Duration;

use super::remote::tell;
use crate::clock::SystemEntropy;
use crate::config::DatabaseArgs;
use crate::instance::{INSTANCE_SECRET, Instance};
use crate::reach::{Reached, ask};
use crate::store::{Database, Store};

/// How long a server may take to say who it is; a command is not held up by one that is slow.
const LOOK_FOR: Duration = Duration::from_secs(2);

/// Says so if the server that would be found from here has another database: a key made in this one does not count there.
pub(super) async fn tell_of_another_server(store: &dyn Store, settings: &DatabaseArgs, database: &Database) {
    let Ok(secret) = store.secret(INSTANCE_SECRET).await else { return };
    let instance = Instance::new(secret);
    for address in settings.servers() {
        let asked = tokio::time::timeout(LOOK_FOR, ask(&address, &instance, &SystemEntropy)).await;
        match asked {
            Ok(Ok(Reached::This)) => return,
            Ok(Ok(Reached::OtherPlacet)) => {
                return tell(format!(
                    "the Placet server at {address} has another database than {}: what is done here does not count there. \
                     Run this in that server's folder, or set PLACET_DATABASE_URL (or --config) as it has it",
                    database.place()
                ));
            }
            Ok(Ok(Reached::Other(_) | Reached::Redirected(..) | Reached::Gateway(_) | Reached::Nothing(_)) | Err(_)) | Err(_) => {
            }
        }
    }
}
