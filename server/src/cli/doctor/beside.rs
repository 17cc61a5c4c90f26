//! The server that runs beside the doctor: whether it uses this database, and with which settings.

use domain::base::clock::Clock as _;
use store::Inspection;
use store::host::clock::{SystemClock, SystemEntropy};
use url::Url;

use super::finding::Finding;
use crate::cli::reach::{Reached, ask, keeps_secrets, settings};
use crate::config::{DatabaseArgs, ServeArgs};
use crate::edge::instance::Instance;
use crate::edge::settings::Settings;

/// The server on this database and its settings, if there is one at the addresses that this terminal knows.
pub(super) async fn running(args: &DatabaseArgs, secret: [u8; 32]) -> Option<(Url, Settings)> {
    let instance = Instance::new(secret);
    for address in args.servers() {
        if let Some(settings) = settings(&address, &instance, &SystemEntropy, SystemClock.now()).await {
            return Some((address, settings));
        }
    }
    None
}

/// The address of a server on this database that was not asked for its settings. The request would hold a proof that this machine
/// reads the database, and others could read it on its way to this address, which is not encrypted.
pub(super) async fn unasked(args: &DatabaseArgs, secret: [u8; 32]) -> Option<Url> {
    let instance = Instance::new(secret);
    for address in args.servers().into_iter().filter(|address| !keeps_secrets(address)) {
        if ask(&address, &instance, &SystemEntropy).await.ok()? == Reached::This {
            return Some(address);
        }
    }
    None
}

/// Tells that the settings of the server on this database are not examined.
pub(super) fn is_unexamined(address: &Url) -> Finding {
    Finding::warn(
        "configuration",
        format!(
            "A server runs on this database and answers at {address}. Its settings were not asked for, because that address is not encrypted."
        ),
        "Set PLACET_URL=https://… to an address of that server that is encrypted, and run the doctor again.",
    )
}

/// Warns if the server that runs has another database: the examination does not apply to it.
pub(super) async fn other(args: &ServeArgs, inspection: Option<&Inspection>) -> Option<Finding> {
    let database = args.database().ok()?.place();
    // If no server has run on this database yet, every server that answers has another database.
    let instance = Instance::new(inspection.and_then(|seen| seen.secret).unwrap_or_default());
    for address in args.database.servers() {
        if ask(&address, &instance, &SystemEntropy).await.ok()? == Reached::OtherPlacet {
            return Some(Finding::warn(
                "server",
                format!(
                    "The Placet server at {address} has another database than {database}, so these findings do not describe that \
                     server."
                ),
                "Run the doctor in that server's folder, or set PLACET_DATABASE_URL (or --config) as for that server.",
            ));
        }
    }
    None
}
