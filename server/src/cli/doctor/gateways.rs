//! The keys of gateways, and the questions that each of them could answer.

use domain::base::text::visible_line;
use store::{Gateway, Inspection};

use super::finding::Finding;

const CHECK: &str = "keys";

/// Examines the gateways of the database, for a server with these channels.
pub(super) fn check(channels: &[String], seen: &Inspection) -> Vec<Finding> {
    seen.gateways.iter().filter_map(|gateway| look(channels, gateway)).collect()
}

fn look(channels: &[String], Gateway { id, name, tied_to }: &Gateway) -> Option<Finding> {
    let name = visible_line(name);
    let Some(tied_to) = tied_to else {
        return Some(Finding::warn(
            CHECK,
            format!(
                "The gateway key {name} ({id}) is unbound: it answers every question whose id it knows, in any person's name."
            ),
            format!(
                "Make one for its webhook (placet keys create --role channel --name NAME --for WEBHOOK), give it to the gateway, then: placet keys revoke {id}"
            ),
        ));
    };
    let unknown: Vec<&str> =
        tied_to.iter().map(String::as_str).filter(|name| !channels.iter().any(|channel| channel == name)).collect();
    (!unknown.is_empty()).then(|| {
        Finding::warn(
            CHECK,
            format!("The gateway key {name} ({id}) is for channels that this server does not have: {}.", unknown.join(", ")),
            format!(
                "This server has: {}. Add the webhook to the file, or make a key for another one and revoke this one.",
                channels.join(", ")
            ),
        )
    })
}
