//! The key file of the log: whether a server signs checkpoints with it.

use std::path::Path;

use store::{Inspection, KeyOfLog, LogKeyRow};

use super::finding::Finding;
use crate::config::Config;
use crate::edge::settings::{Settings, Signing};
use crate::log::key::reopen;

const CHECK: &str = "log key";

/// Examines the key file of a log that has begun. The first start makes a missing one.
pub(super) fn check(config: &Config, seen: Option<&Inspection>) -> Option<Finding> {
    let KeyOfLog { name, public, sealed } = seen?.log_key.clone()?;
    let in_force = LogKeyRow { name, public, sealed, signature: None };
    let path = config.log.key_file.as_deref();
    Some(match reopen(path, &in_force) {
        Ok(_) => Finding::ok(CHECK, format!("{} opens the key of the log {}.", shown(path), in_force.name)),
        Err(error) => Finding::warn(
            CHECK,
            format!("A server started with these settings signs no checkpoints of the log: {error:#}."),
            "Put the key file back from its copy, and name it in PLACET_LOG_KEY_FILE. Events are written as always meanwhile.",
        ),
    })
}

/// Whether the server that runs signs. An older server does not tell.
pub(super) fn running(settings: &Settings) -> Option<Finding> {
    Some(match settings.signing.as_ref()? {
        Signing::Signs => Finding::ok(CHECK, "The server signs checkpoints of the log."),
        Signing::SignsNot(why) => Finding::warn(
            CHECK,
            format!("The server that runs signs no checkpoints of the log: {why}."),
            "Correct what the line above names; the server tries again every few seconds. Events are written as always meanwhile.",
        ),
    })
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| path.display().to_string())
}
