//! Asks a person whether to refund an order (the example of RFC-0025 §9.1).
//!
//! ```text
//! PLACET_URL=http://127.0.0.1:7420 PLACET_API_KEY=… cargo run -p placet --example refund
//! ```
//!
//! Stop it while it waits and start it again with `PLACET_INTENT` set to the id that it printed: it finds its question.
#![expect(clippy::print_stdout, reason = "an example talks to the person who runs it")]

use std::time::Duration;

use anyhow::Context;
use placet::{Choice, Choices, Client, Question, RequestInputError, Source, Status, Style};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RefundDecision {
    Approve,
    Deny,
    Escalate,
}

impl Choices for RefundDecision {
    fn choices() -> Vec<(Self, Choice)> {
        vec![
            (
                Self::Approve,
                Choice::new("approve", "Approve refund")
                    .description("Issue full refund to original payment method")
                    .style(Style::Primary),
            ),
            (Self::Deny, Choice::new("deny", "Deny refund").description("Reject and close the case").style(Style::Danger)),
            (Self::Escalate, Choice::new("escalate", "Escalate").description("Route to a senior operator")),
        ]
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let intent = setting("PLACET_INTENT").ok();
    run(setting("PLACET_URL")?, setting("PLACET_API_KEY")?, intent.as_deref()).await?;
    Ok(())
}

/// Asks, and returns the decision if there is one. The tests call this function, too.
pub(crate) async fn run(url: String, api_key: String, intent: Option<&str>) -> anyhow::Result<Option<RefundDecision>> {
    let client = Client::new(url, api_key)?;
    let mut intent = match intent {
        Some(id) => client.intent(id.parse().context("PLACET_INTENT is no intent id")?).await?,
        None => client.create_intent("Refund order #12345").state("order_id", "12345").active().send().await?,
    };
    println!("Asking for intent {}. Open the link in the mail to answer.", intent.id());

    let question = Question::choice::<RefundDecision>("Should we refund order #12345?")
        .context("order_id", "12345")
        .context("amount", 499.99)
        .channel_hint("email")
        .timeout(Duration::from_hours(1))
        .fallback(RefundDecision::Deny)
        .confidence(0.55);
    let answer = match intent.request_input(question).await {
        Ok(answer) => answer,
        Err(error @ (RequestInputError::InputTimeout { .. } | RequestInputError::InputCancelled { .. })) => {
            println!("No refund: {error}.");
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };

    match &answer.source {
        Source::Human { by, at } => println!("{by} answered at {at}."),
        Source::Fallback { at } => println!("No person answered by {at}; the fallback is used."),
    }
    match answer.value {
        RefundDecision::Approve => println!("Issue the refund."),
        RefundDecision::Deny => println!("Close the case without a refund."),
        RefundDecision::Escalate => println!("Hand the case to a senior operator."),
    }
    intent.set_status(Status::Completed, Some("the refund is decided")).await?;
    Ok(Some(answer.value))
}

#[expect(clippy::disallowed_methods, reason = "an example has no configuration file")]
fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("set {name}"))
}
