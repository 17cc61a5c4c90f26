//! The keys of gateways: what each of them could answer.

use domain::text::visible_line;

use super::finding::Finding;
use crate::config::Config;
use crate::store::{Gateway, Inspection};

const CHECK: &str = "keys";

pub(super) fn check(config: &Config, seen: &Inspection) -> Vec<Finding> {
    seen.gateways.iter().filter_map(|gateway| look(config, gateway)).collect()
}

fn look(config: &Config, Gateway { id, name, tied_to }: &Gateway) -> Option<Finding> {
    let name = visible_line(name);
    let Some(tied_to) = tied_to else {
        return Some(Finding::warn(
            CHECK,
            format!("The gateway key {name} ({id}) is unbound: it answers every question it knows the id of, in anybody's name."),
            format!(
                "Make one for its webhook (placet keys create --role channel --name NAME --for WEBHOOK), give it to the gateway, then: placet keys revoke {id}"
            ),
        ));
    };
    let unknown: Vec<&str> = tied_to.iter().map(String::as_str).filter(|name| !config.asking.channels.contains(name)).collect();
    (!unknown.is_empty()).then(|| {
        Finding::warn(
            CHECK,
            format!("The gateway key {name} ({id}) is for {}, which is no channel of this server.", unknown.join(", ")),
            format!(
                "This server has: {}. Add the webhook to the file, or make a key for another one and revoke this one.",
                config.asking.channels.names().join(", ")
            ),
        )
    })
}
