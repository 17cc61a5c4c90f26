//! The limits on the contents of questions, and on how often an agent may ask.

use anyhow::bail;
use domain::asking::pressing::{ASKS_PER_HOUR_MAX, MIN_DISTANCE_SECONDS_MAX, Pressing};
use domain::suspension::retry::INTERVAL_SECONDS_MAX;
use domain::suspension::seeming::SeemingSecret;
use serde::Deserialize;

use super::defaults::MIN_INTERVAL_SECONDS;
use super::mode::Mode;

/// `[questions]` in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QuestionsSection {
    secrets: Option<Secrets>,
    min_distance_seconds: Option<u32>,
    asks_per_hour: Option<u32>,
    min_interval_seconds: Option<u32>,
}

impl QuestionsSection {
    /// The treatment of a question that seems to hold a secret.
    pub(super) fn seeming_secret(&self) -> SeemingSecret {
        match self.secrets {
            Some(Secrets::Refuse) => SeemingSecret::Refuse,
            Some(Secrets::Warn) | None => SeemingSecret::Warn,
        }
    }

    /// How often an agent may ask the same question, and write to the same person.
    pub(super) fn pressing(&self, mode: Mode) -> anyhow::Result<Pressing> {
        let default = if mode.is_development() { Pressing::OFF } else { Pressing::PRODUCTION };
        let min_distance_seconds = self.min_distance_seconds.unwrap_or(default.min_distance_seconds);
        let asks_per_hour = self.asks_per_hour.unwrap_or(default.asks_per_hour);
        if min_distance_seconds > MIN_DISTANCE_SECONDS_MAX {
            bail!("questions.min_distance_seconds must be at most {MIN_DISTANCE_SECONDS_MAX}");
        }
        if asks_per_hour > ASKS_PER_HOUR_MAX {
            bail!("questions.asks_per_hour must be at most {ASKS_PER_HOUR_MAX}; 0 lifts the limit");
        }
        Ok(Pressing { min_distance_seconds, asks_per_hour })
    }

    /// The least time between two attempts of one question, in seconds.
    pub(super) fn min_interval_seconds(&self, mode: Mode) -> anyhow::Result<u32> {
        let default = if mode.is_development() { 1 } else { MIN_INTERVAL_SECONDS };
        let seconds = self.min_interval_seconds.unwrap_or(default);
        if !(1..=INTERVAL_SECONDS_MAX).contains(&seconds) {
            bail!("questions.min_interval_seconds must be 1 to {INTERVAL_SECONDS_MAX}");
        }
        Ok(seconds)
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Secrets {
    Warn,
    Refuse,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A person who is asked again and again says yes in the end, so by default production limits how often an agent asks.
    /// Development does not: a person who tries Placet out asks often.
    #[test]
    fn a_server_in_production_keeps_agents_from_pressing_people() {
        let limits =
            |section: &QuestionsSection, mode| (section.pressing(mode).unwrap(), section.min_interval_seconds(mode).unwrap());
        let silent = QuestionsSection::default();
        assert_eq!(limits(&silent, Mode::Production), (Pressing { min_distance_seconds: 60, asks_per_hour: 10 }, 60));
        for mode in [Mode::Development, Mode::DevelopmentByDefault] {
            assert_eq!(limits(&silent, mode), (Pressing::OFF, 1));
        }
        let set = |text: &str| toml::from_str::<QuestionsSection>(text).unwrap();
        let most = set("min_distance_seconds = 3600\nasks_per_hour = 1000\nmin_interval_seconds = 2592000");
        assert_eq!(limits(&most, Mode::Production), (Pressing { min_distance_seconds: 3_600, asks_per_hour: 1_000 }, 2_592_000));
        for wrong in ["min_distance_seconds = 3601", "asks_per_hour = 1001"] {
            let refused = set(wrong).pressing(Mode::Production).unwrap_err().to_string();
            assert!(refused.contains(wrong.split(' ').next().unwrap()), "{refused}");
        }
        for wrong in ["min_interval_seconds = 0", "min_interval_seconds = 2592001"] {
            assert!(set(wrong).min_interval_seconds(Mode::Production).unwrap_err().to_string().contains("min_interval_seconds"));
        }
    }
}
