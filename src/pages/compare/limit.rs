//! Conditions that end a comparison with an error (`--fail-if`).

use apexmap_base::error::{Error, Result};

/// Of `--fail-if`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// A point is slower than this.
    pub limit: Option<SlowdownLimit>,
    /// A machine was disturbed.
    pub noisy: bool,
}

impl Conditions {
    /// Reads `slower=5%` and `noisy`.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let mut conditions = Self::default();
        for text in texts {
            if text == "noisy" {
                conditions.noisy = true;
            } else if conditions.limit.replace(SlowdownLimit::parse(text)?).is_some() {
                return Err(Error::input("--fail-if gives two limits", "give one: --fail-if slower=5%"));
            }
        }
        Ok(conditions)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowdownLimit {
    /// Ratio of times: 1.05.
    pub slowdown: f64,
}

impl SlowdownLimit {
    /// Reads `slower=5%`.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |reason: &str| Error::input(format!("--fail-if {text}: {reason}"), "write --fail-if slower=5%");
        let share = text.strip_prefix("slower=").ok_or_else(|| wrong("the conditions are slower=PERCENT and noisy"))?;
        let percent = share.strip_suffix('%').ok_or_else(|| wrong("the limit must be in per cent"))?;
        let percent: f64 = percent.trim().parse().map_err(|_| wrong("this is not a number"))?;
        if !(0.0..=1000.0).contains(&percent) {
            return Err(wrong("the limit must lie between 0 and 1000 %"));
        }
        Ok(Self { slowdown: 1.0 + percent / 100.0 })
    }
}
