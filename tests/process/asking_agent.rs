//! An agent as a process of its own: asks one question and waits for the answer.
//!
//! ```text
//! asking-agent QUESTION TIMEOUT_SECONDS POLICY
//! ```
#![expect(clippy::print_stdout, reason = "the test that started this process listens")]

use anyhow::Context;
use domain::suspension::retry::{OneOrMany, PartialRetryPolicy, Rung};
use placet::{Choice, Client, FallbackPolicy, Question};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [text, seconds, policy] = arguments.as_slice() else { anyhow::bail!("three arguments are needed") };
    let question = Question::choices(text, [Choice::new("approve", "Approve"), Choice::new("deny", "Deny")])
        .timeout_seconds(seconds.parse().context("TIMEOUT_SECONDS is no number")?);
    let question = match policy.as_str() {
        "fail" => question.fail(),
        "complete_with_fallback" => question.fallback("deny"),
        "use_default_and_continue" => question.fallback("deny").fallback_policy(FallbackPolicy::UseDefaultAndContinue),
        // Three attempts: the second and the third ask another person instead. If no answer comes, the fallback is a no.
        "ladder" => question.fallback("deny").retry_policy(PartialRetryPolicy {
            max_attempts: Some(3),
            interval_seconds: Some(seconds.parse()?),
            escalation_ladder: Some(vec![rung(2, "lead@example.com"), rung(3, "duty@example.com")]),
            ..PartialRetryPolicy::default()
        }),
        _ => anyhow::bail!("{policy} is no policy"),
    };
    let client = Client::new(setting("PLACET_URL")?, setting("PLACET_API_KEY")?)?;
    let intent = client.create_intent(text).active().send().await?;
    let mut asked = client.ask(intent.id(), question).await?;
    println!("asked {} {}", intent.id(), asked.suspension_id().expose());
    let answer = asked.answer().await?;
    println!("answer {} {:?}", answer.value, answer.source);
    Ok(())
}

fn rung(attempt: u32, person: &str) -> Rung {
    Rung { attempt, channel_hint: None, notify_to: Some(OneOrMany(vec![person.to_owned()])) }
}

#[expect(clippy::disallowed_methods, reason = "the test that started this process tells it where the server is")]
fn setting(name: &str) -> anyhow::Result<String> {
    std::env::var(name).with_context(|| format!("set {name}"))
}
