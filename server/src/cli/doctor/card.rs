//! The card of A2A: whether an agent that reads it through the public URL finds this server.

use serde_json::Value;
use url::Url;

use super::finding::Finding;
use crate::cli::reach::{Reached, document};
use crate::edge::settings::Settings;

const CHECK: &str = "A2A card";

pub(super) async fn check(settings: &Settings) -> anyhow::Result<Finding> {
    let public_url = Url::parse(&settings.public_url)?;
    let calls = format!("{}/a2a", settings.public_url.trim_end_matches('/'));
    Ok(match document(&public_url, &[".well-known", "agent-card.json"]).await {
        Ok((status, card)) => judge(&calls, status, card.as_ref()),
        Err(why) => Finding::fail(
            CHECK,
            format!("Agents cannot read the card under {public_url}: {}.", Reached::Nothing(why)),
            "Let the proxy pass the path /.well-known/agent-card.json.",
        ),
    })
}

/// `calls` is the address at which agents should call.
fn judge(calls: &str, status: u16, card: Option<&Value>) -> Finding {
    let lets_pass = "Let the proxy pass the paths /.well-known/agent-card.json and /a2a without a change.";
    let interfaces = card.and_then(|card| card["supportedInterfaces"].as_array()).filter(|_| status == 200);
    let Some(interfaces) = interfaces else {
        return Finding::fail(CHECK, format!("Agents get no card under the public URL: status {status}."), lets_pass);
    };
    match interfaces.iter().filter_map(|interface| interface["url"].as_str()).find(|url| *url != calls) {
        None if !interfaces.is_empty() => Finding::ok(CHECK, format!("Agents find this server at {calls}.")),
        None => Finding::fail(CHECK, "The card under the public URL names no address.", lets_pass),
        Some(other) => {
            Finding::fail(CHECK, format!("The card under the public URL sends agents to {other}, and not to {calls}."), lets_pass)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::finding::Level;
    use super::*;

    #[test]
    fn agents_must_find_this_server_by_the_card() {
        let card = |url: &str| json!({"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC"}]});
        let calls = "https://placet.example.com/a2a";
        for (status, card, level) in [
            (200, Some(card(calls)), Level::Ok),
            (200, Some(card("http://127.0.0.1:8080/a2a")), Level::Fail),
            (200, Some(json!({"supportedInterfaces": []})), Level::Fail),
            (200, Some(json!({"hello": "world"})), Level::Fail),
            (200, None, Level::Fail),
            (403, Some(card(calls)), Level::Fail),
        ] {
            let finding = judge(calls, status, card.as_ref());
            assert_eq!(finding.level, level, "{status} {card:?}: {}", finding.what);
            assert_eq!(finding.what_to_do.is_some(), level == Level::Fail);
        }
    }
}
