//! `placet ask --preview`: who would be told when, one line for each message. No person is asked.

use domain::base::clock::Clock;
use domain::base::text;
use domain::base::words::Language;
use domain::suspension::plan::Step;
use placet::{ScheduledAttempt, SuspensionPreview};
use store::host::clock::SystemClock;

use crate::cli::remote::{self, tell};

/// Prints the server's preview.
pub(super) fn print(preview: &SuspensionPreview, as_json: bool) -> anyhow::Result<()> {
    for warning in &preview.warnings {
        tell(format!("the server warns: {warning}"));
    }
    if as_json {
        return remote::print_json(&serde_json::to_value(preview)?);
    }
    let lines: Vec<String> = lines(preview).iter().map(|line| remote::line_of_result("", line, "    ")).collect();
    remote::print_laid_out(&lines.join("\n"))
}

fn lines(preview: &SuspensionPreview) -> Vec<String> {
    let now = SystemClock.now();
    let mut lines: Vec<String> = preview
        .schedule
        .iter()
        .map(|attempt| format!("{}  {}", text::deadline(attempt.at, now, Language::English), told(attempt)))
        .collect();
    let end = text::visible_line(&preview.at_the_end.text);
    lines.push(
        preview.expires_at.map_or_else(|| end.clone(), |at| format!("{}  {end}", text::deadline(at, now, Language::English))),
    );
    lines
}

/// One planned message, in the words of the question's page, for a reader who is not one of the recipients.
fn told(attempt: &ScheduledAttempt) -> String {
    let step = Step {
        attempt: attempt.attempt,
        at: attempt.at,
        ways: vec![(&attempt.channel, &attempt.recipients)],
        escalation: attempt.escalation,
    };
    // Addresses are shown unchanged, so that a person can compare them.
    text::visible_line(&format!("{} ({})", step.sentence("", Language::English), attempt.channel))
}
