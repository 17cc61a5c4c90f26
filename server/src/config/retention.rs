//! How long the content of intents is kept.

use anyhow::bail;
use chrono::TimeDelta;
use serde::Deserialize;

/// The fewest days: six months, which the EU AI Act demands of logs (Art. 19 and 26).
const RETENTION_DAYS_MIN: u32 = 183;
/// The days that are recommended: a year, and time to find out.
pub const RETENTION_DAYS_RECOMMENDED: u32 = 400;
/// The most days: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// `[retention]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RetentionSection {
    days: Option<u32>,
}

impl RetentionSection {
    /// How long content is kept; `None` if nothing is erased for its age.
    pub(super) fn resolve(self) -> anyhow::Result<Option<TimeDelta>> {
        let Some(days) = self.days else { return Ok(None) };
        if !(RETENTION_DAYS_MIN..=DAYS_MAX).contains(&days) {
            bail!(
                "retention.days: must be {RETENTION_DAYS_MIN} to {DAYS_MAX}; laws demand logs of six months, and {RETENTION_DAYS_RECOMMENDED} \
                 days are recommended. Leave it out to keep everything"
            );
        }
        Ok(Some(TimeDelta::days(days.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_kept_unless_the_operator_says_for_how_long() {
        let resolved = |text: &str| toml::from_str::<RetentionSection>(text).map_err(anyhow::Error::from)?.resolve();
        assert_eq!(resolved("").unwrap(), None);
        for days in [RETENTION_DAYS_MIN, RETENTION_DAYS_RECOMMENDED, DAYS_MAX] {
            assert_eq!(resolved(&format!("days = {days}")).unwrap(), Some(TimeDelta::days(days.into())));
        }
        for days in [0, RETENTION_DAYS_MIN - 1, DAYS_MAX + 1] {
            let refused = resolved(&format!("days = {days}")).unwrap_err().to_string();
            assert!(refused.starts_with("retention.days"), "{refused}");
        }
    }
}
