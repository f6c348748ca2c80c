//! The options of jobs: the user's requests to the batch system, checked.

use apexmap_run::sweep::parse_time;
use apexmap_run::sweep::submit_table::{Jobs, SubmitTable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The options of every job, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobOptions {
    /// The system's name, or the path of its template.
    pub system: String,
    pub account: Option<String>,
    pub partition: Option<String>,
    pub qos: Option<String>,
    pub constraint: Option<String>,
    pub reservation: Option<String>,
    /// Longest time of one job, in seconds.
    pub time_limit_seconds: Option<f64>,
    pub jobs: Jobs,
    pub exclusive: bool,
    pub modules: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub directives: Vec<String>,
    pub tries: u32,
}

/// Default of the largest number of jobs without a new sample, for one number of nodes.
pub const DEFAULT_TRIES: u32 = 10;

impl JobOptions {
    /// Checks a table and returns the options for this system.
    ///
    /// # Errors
    /// The error holds what is wrong, and the next step.
    pub fn new(table: SubmitTable, system: &str) -> Result<Self, (String, String)> {
        if table.tries == Some(0) {
            return Err(("tries is 0, which allows no job".into(), "set tries to 1 or more".into()));
        }
        let time_limit_seconds = match table.time_limit.as_deref().map(parse_time) {
            None => None,
            // Scripts have whole minutes.
            Some(Ok(seconds)) if seconds >= 60.0 => Some(seconds),
            Some(Ok(_)) => {
                return Err((
                    "time_limit is shorter than a minute".into(),
                    "write time_limit = \"5 min\" or more".into(),
                ));
            }
            Some(Err(message)) => return Err((format!("time_limit: {message}"), "write time_limit = \"2 h\"".into())),
        };
        let options = Self {
            system: system.to_owned(),
            account: table.account,
            partition: table.partition,
            qos: table.qos,
            constraint: table.constraint,
            reservation: table.reservation,
            time_limit_seconds,
            jobs: table.jobs.unwrap_or_default(),
            exclusive: table.exclusive.unwrap_or(true),
            modules: table.modules,
            environment: table.environment,
            directives: table.directives,
            tries: table.tries.unwrap_or(DEFAULT_TRIES),
        };
        options.check().map(|()| options)
    }

    /// Checks that each text can be written into a script without a special meaning.
    ///
    /// # Errors
    /// The error holds what is wrong, and the next step.
    pub fn check(&self) -> Result<(), (String, String)> {
        let settings = [
            ("account", &self.account),
            ("partition", &self.partition),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
            ("reservation", &self.reservation),
        ];
        for (name, value) in settings.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
            let is_special = |c: char| c.is_whitespace() || c.is_control() || "'\"\\`$".contains(c);
            if value.is_empty() || value.contains(is_special) {
                let help = "write one word without blanks, quotes, backticks, $ and backslashes";
                return Err((format!("{name} = {value:?} is not allowed in a job script"), help.into()));
            }
        }
        let lines = self.modules.iter().map(|text| ("modules", text));
        for (name, text) in lines.chain(self.directives.iter().map(|line| ("directives", line))) {
            if text.trim().is_empty() || text.contains(char::is_control) {
                return Err((
                    format!("{name}: {text:?} is not one line of text"),
                    "write each entry as one line".into(),
                ));
            }
        }
        for (name, value) in &self.environment {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) || name.starts_with(|c: char| c.is_ascii_digit()) {
                let help = "use letters, digits and _, as in UCX_TLS";
                return Err((format!("environment: {name:?} is not a valid name of a variable"), help.into()));
            }
            if value.contains(char::is_control) {
                return Err((
                    format!("environment: {name} = {value:?} is not one line"),
                    "write the value as one line".into(),
                ));
            }
        }
        Ok(())
    }
}
