//! Asks about several orders at a time, and goes on when all questions have ended.
//!
//! ```text
//! PLACET_URL=http://127.0.0.1:7420 PLACET_API_KEY=… cargo run -p placet --example many
//! ```
//!
//! Stop it while it waits and start it again: it finds its intents and its questions, and no person is asked twice.
#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::time::Duration;

use anyhow::Context;
use placet::{Client, Question, Source};

/// The orders, each with its amount.
const ORDERS: [(&str, f64); 3] = [("12345", 499.99), ("12346", 20.0), ("12347", 1250.0)];

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    run(setting("PLACET_URL")?, setting("PLACET_API_KEY")?).await?;
    Ok(())
}

/// Asks about each order, and returns which ones people let it refund. The tests call this function, too.
pub(crate) async fn run(url: String, api_key: String) -> anyhow::Result<Vec<&'static str>> {
    let client = Client::new(url, api_key)?;
    let mut questions = Vec::new();
    for (order, amount) in ORDERS {
        let intent = client.create_intent(format!("Refund order #{order}")).active();
        let intent = intent.idempotency_key(format!("refund-{order}")).send().await?;
        let question = Question::confirm(format!("Refund order #{order}?")).context("amount", amount);
        questions.push((intent.id(), question.timeout(Duration::from_hours(1)).fallback(false)));
    }
    println!("Asking about {} orders. Open the links in the mails to answer.", questions.len());

    let mut refunds = Vec::new();
    for ((order, _), answer) in ORDERS.into_iter().zip(client.request_many(questions).await) {
        match answer.map(|answer| (answer.value, answer.source)) {
            Ok((true, Source::Human { by, .. })) => {
                println!("Order #{order}: {by} approved the refund.");
                refunds.push(order);
            }
            Ok((false, Source::Human { by, .. })) => println!("Order #{order}: {by} keeps the money."),
            Ok((_, Source::Fallback { .. })) => println!("Order #{order}: no person answered, so nothing is refunded."),
            // One question that failed changes nothing about the others.
            Err(error) => println!("Order #{order}: {error}."),
        }
    }
    Ok(refunds)
}

#[expect(clippy::disallowed_methods, reason = "an example has no configuration file")]
fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("set {name}"))
}
