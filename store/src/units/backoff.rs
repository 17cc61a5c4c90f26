//! How long a message waits for its next try, by the kind of its channel.

use chrono::TimeDelta;
use domain::base::ids::Entropy;
use domain::suspension::channel::EMAIL;

/// A mail counts as failed after this many tries.
const MAIL_TRIES_MAX: u32 = 100;
/// The longest pause between two tries of a mail, in seconds.
const MAIL_SECONDS_MAX: i64 = 1_800;
/// The pauses between the tries of a webhook, in seconds (Standard Webhooks): 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h,
/// 24 h.
const WEBHOOK_SECONDS: [i64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// By how many percent each of these pauses varies in either direction, so that messages that failed together
/// are not retried together.
const WEBHOOK_VARIES_BY_PERCENT: i64 = 20;

/// The pause after so many tries; `None` if there is no next try.
pub(super) fn pause(channel: &str, tries: u32, entropy: &dyn Entropy) -> Option<TimeDelta> {
    if channel == EMAIL {
        // 5 s, 10 s, 20 s …
        let seconds = (5_i64 << tries.saturating_sub(1).min(10)).min(MAIL_SECONDS_MAX);
        return (tries < MAIL_TRIES_MAX).then(|| TimeDelta::seconds(seconds));
    }
    let seconds = WEBHOOK_SECONDS.get(usize::try_from(tries).ok()?.checked_sub(1)?)?;
    let mut random = [0; 2];
    entropy.fill(&mut random);
    let spread = seconds * 1_000 * WEBHOOK_VARIES_BY_PERCENT / 100;
    let offset = i64::from(u16::from_le_bytes(random)) * 2 * spread / i64::from(u16::MAX) - spread;
    Some(TimeDelta::milliseconds(seconds * 1_000 + offset))
}
