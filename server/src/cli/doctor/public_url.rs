//! The public URL: whether the links in mails lead back to this server.

use std::net::SocketAddr;

use chrono::TimeDelta;
use domain::base::clock::Clock as _;
use store::Inspection;
use store::host::clock::{SystemClock, SystemEntropy};
use url::Url;

use super::finding::Finding;
use crate::cli::reach::{Reached, Unreached, ask};
use crate::config::dialled;
use crate::edge::instance::Instance;
use crate::edge::settings::Settings;

const CHECK: &str = "public URL";
const START: &str = "Start the server and run the doctor again.";
/// A server that gave a sign of life within this time was at work: it gives one every ten seconds.
const AT_WORK: TimeDelta = TimeDelta::seconds(30);

pub(super) async fn check(settings: &Settings, inspection: Option<&Inspection>) -> anyhow::Result<Finding> {
    // Without a port there is no address that could be tried, and no advice to start the server helps.
    if settings.listen.port() == 0 {
        return Ok(Finding::warn(
            CHECK,
            "The setting listen has port 0, which takes another free port at each start, so links in mails soon lead nowhere.",
            "Name a port: listen = \"127.0.0.1:8080\" in the file, PLACET_LISTEN, or --listen.",
        ));
    }
    let local = Url::parse(&format!("http://{}/", dialled(settings.listen)))?;
    let public_url = &Url::parse(&settings.public_url)?;
    let Some(inspection) = inspection else {
        let what_to_do = "Repair the database first, or start the server to make one.";
        return Ok(Finding::warn(
            CHECK,
            "Not checked: a server proves with a secret in the database that it is the right one, and the database cannot be read.",
            what_to_do,
        ));
    };
    let Some(secret) = inspection.secret else {
        return Ok(Finding::warn(CHECK, "No server has run on this database yet, so nothing can lead to it.", START));
    };
    let instance = Instance::new(secret);
    let reached = ask(public_url, &instance, &SystemEntropy).await?;
    let runs = reached == Reached::This || ask(&local, &instance, &SystemEntropy).await? == Reached::This;
    let silent_for = inspection.beat_at.map(|beat| SystemClock.now() - beat).filter(|silent_for| *silent_for < AT_WORK);
    Ok(judge(public_url, settings.listen, &reached, if runs { Ok(()) } else { Err(silent_for) }))
}

/// `runs` is an error with the time since the last sign of life, if that is short, if the server does not answer.
fn judge(url: &Url, listen: SocketAddr, reached: &Reached, runs: Result<(), Option<TimeDelta>>) -> Finding {
    let behind = format!("The server runs on {listen}: check the proxy or network between it and that address.");
    match reached {
        Reached::This => Finding::ok(CHECK, format!("{url} leads to this server.")),
        Reached::OtherPlacet | Reached::Other(_) | Reached::Redirected(..) => Finding::fail(
            CHECK,
            format!("{url} leads elsewhere: {reached}."),
            format!("Let it pass every path to {listen}, or set PLACET_PUBLIC_URL to the address that does."),
        ),
        Reached::Gateway(_) | Reached::Nothing(_) if runs.is_err() => unanswered(url, listen, runs.err().flatten()),
        Reached::Gateway(_) => Finding::fail(CHECK, format!("{url} leads to no server: {reached}."), behind),
        Reached::Nothing(why) => {
            let what_to_do = match why {
                Unreached::Name(_) => "Make a DNS entry for it, or correct PLACET_PUBLIC_URL.",
                Unreached::Encryption(_) | Unreached::Plain => {
                    "Give the server or proxy at that address a certificate for this name that browsers trust."
                }
                Unreached::Refused | Unreached::Timeout | Unreached::Broken(_) => &behind,
            };
            Finding::fail(CHECK, format!("{url} leads nowhere: {reached}."), what_to_do)
        }
    }
}

/// The server answers at none of the addresses that this terminal knows. If a server was at work a moment ago, it may listen elsewhere.
fn unanswered(url: &Url, listen: SocketAddr, silent_for: Option<TimeDelta>) -> Finding {
    let nowhere = format!("it answers neither on {listen} nor under {url}");
    match silent_for {
        None => Finding::warn(CHECK, format!("The server does not run: {nowhere}"), START),
        Some(silent_for) => Finding::warn(
            CHECK,
            format!(
                "A server was at work on this database {} seconds ago, and {nowhere}. It has stopped since, or it listens on another address.",
                silent_for.num_seconds().max(0)
            ),
            "If it runs, set PLACET_URL to its address, for example PLACET_URL=http://127.0.0.1:9000, and run the doctor again.",
        ),
    }
}
