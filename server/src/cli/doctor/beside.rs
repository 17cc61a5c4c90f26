//! The server that runs beside the doctor: whether it is this database's, and what it runs with.

use domain::clock::Clock as _;
use url::Url;

use super::finding::Finding;
use crate::clock::{SystemClock, SystemEntropy};
use crate::config::{DatabaseArgs, ServeArgs};
use crate::instance::Instance;
use crate::reach::{Reached, ask, settings};
use crate::settings::Settings;
use crate::store::Inspection;

/// The server on this database, and what it runs with, if one is found where this terminal looks.
pub(super) async fn running(args: &DatabaseArgs, secret: [u8; 32]) -> Option<(Url, Settings)> {
    let instance = Instance::new(secret);
    for address in args.servers() {
        if let Some(settings) = settings(&address, &instance, &SystemEntropy, SystemClock.now()).await {
            return Some((address, settings));
        }
    }
    None
}

/// A server with another database: then the examination is about something else than what runs.
pub(super) async fn other(args: &ServeArgs, inspection: Option<&Inspection>) -> Option<Finding> {
    let database = args.database().ok()?.place();
    // Where nothing has run yet, every server that answers is another.
    let instance = Instance::new(inspection.and_then(|seen| seen.secret).unwrap_or_default());
    for address in args.database.servers() {
        if ask(&address, &instance, &SystemEntropy).await.ok()? == Reached::OtherPlacet {
            return Some(Finding::warn(
                "server",
                format!("The Placet server at {address} has another database than {database}, so this is not about it."),
                "Run the doctor in that server's folder, or set PLACET_DATABASE_URL (or --config) as it has it.",
            ));
        }
    }
    None
}
