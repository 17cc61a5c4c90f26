//! Asks a person from a program without an async runtime, and reports events meanwhile.
//!
//! ```text
//! PLACET_URL=http://127.0.0.1:7420 PLACET_API_KEY=… cargo run -p placet --features blocking --example blocking
//! ```
#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::time::Duration;

use anyhow::Context;
use placet::blocking::Client;
use placet::{Engagement, EngagementSignals, Hooks, Question, Source, SuspensionRecord, TransportError};

/// Reports to the person who runs the program.
struct Narrator;

impl Hooks for Narrator {
    fn on_input_requested(&self, record: &SuspensionRecord, reattached: bool) {
        let which = if reattached { "the question asked before" } else { "a new question" };
        println!("Waiting for {which}; asked: {}.", record.notify_to.join(", "));
    }

    fn on_connection_lost(&self, error: &TransportError) {
        println!("Still waiting, although {error}.");
    }

    fn on_connection_restored(&self, lost_for: Duration) {
        println!("The server is back after {} seconds.", lost_for.as_secs());
    }
}

fn main() -> anyhow::Result<()> {
    run(setting("PLACET_URL")?, setting("PLACET_API_KEY")?)?;
    Ok(())
}

/// Asks, and returns whether to deploy. The tests call this function, too.
pub(crate) fn run(url: String, api_key: String) -> anyhow::Result<bool> {
    let client = Client::builder(url, api_key).hooks(Narrator).build_blocking()?;
    let intent = client.create_intent("Deploy 4f2a91c").active().idempotency_key("deploy-4f2a91c").send()?;
    let signals = EngagementSignals { confidence: 0.55, risk: 0.60, reversibility: 0.80, context: serde_json::Map::new() };
    let why = match intent.should_request_input(signals)? {
        Engagement::Autonomous(_) => {
            println!("No need to ask: deploying.");
            return Ok(true);
        }
        Engagement::Defer(_) => {
            println!("Too risky to decide here, whatever a person answers.");
            return Ok(false);
        }
        Engagement::RequestInput(why) | Engagement::RequireInput(why) => why,
    };
    let question = Question::confirm("Deploy to production?").context("commit", "4f2a91c").timeout(Duration::from_mins(10));
    let answer = intent.request_input(question.fallback(false).decision(&why))?;
    match (answer.value, answer.source) {
        (true, Source::Human { by, .. }) => println!("{by} said yes: deploying."),
        (false, Source::Human { by, .. }) => println!("{by} said no."),
        (_, Source::Fallback { .. }) => println!("No person answered: not deploying."),
    }
    Ok(answer.value)
}

#[expect(clippy::disallowed_methods, reason = "an example has no configuration file")]
fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("set {name}"))
}
