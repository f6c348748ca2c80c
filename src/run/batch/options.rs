//! The user's requests to the batch system: `[launch] submit` of a sweep, and the flags of the same names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The value of `submit`: the name of a batch system, or a table with the resources of its jobs.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Submit {
    /// "slurm", "pbs", "torque", "lsf", "flux", or the path of a template.
    System(String),
    /// A table with further settings.
    Table(Box<SubmitTable>),
}

// The table `submit`, and the flags of `run` for the same options. clap would take a documentation of the struct as that of `run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
#[schemars(description = "The table `submit`.")]
pub struct SubmitTable {
    /// "slurm", "pbs", "torque", "lsf", "flux", or the path of a template; by default the system whose programs are installed.
    #[arg(skip)]
    pub system: Option<String>,
    /// Account or project to charge.
    #[arg(long, value_name = "NAME", help = "Account or project to charge for the jobs")]
    pub account: Option<String>,
    /// Partition or queue.
    #[arg(long, value_name = "NAME", visible_alias = "queue", help = "Partition or queue of the jobs")]
    pub partition: Option<String>,
    /// Quality of service.
    #[arg(long, value_name = "NAME")]
    pub qos: Option<String>,
    /// Features that the nodes must have.
    #[arg(long, value_name = "FEATURES", help = "Required features of the nodes")]
    pub constraint: Option<String>,
    /// Reservation to run in.
    #[arg(long, value_name = "NAME", help = "Reservation of the jobs")]
    pub reservation: Option<String>,
    /// Longest time of one job, such as "2 h". A longer sweep becomes a chain of jobs. The default is the estimated time of the
    /// plan.
    #[arg(long, value_name = "TIME", help = "Time limit of a job, such as 2h; longer sweeps become chains of jobs")]
    pub time_limit: Option<String>,
    /// "per node count" (the default): one job for each number of nodes; "one": one job with the largest number of nodes for all
    /// launches.
    #[arg(skip)]
    pub jobs: Option<Jobs>,
    /// Request nodes exclusively; true by default.
    #[arg(skip)]
    pub exclusive: Option<bool>,
    /// Environment modules to load.
    #[serde(default)]
    #[arg(
        long = "module",
        value_name = "NAME",
        display_order = 102,
        help = "Environment module to load; may be repeated"
    )]
    pub modules: Vec<String>,
    /// Environment variables to set.
    #[serde(default)]
    #[arg(skip)]
    pub environment: BTreeMap<String, String>,
    /// Further directives of the system, such as "--mail-type=END".
    #[serde(default)]
    #[arg(
        long = "directive",
        value_name = "TEXT",
        allow_hyphen_values = true,
        display_order = 104,
        help = "Further directive of the batch system, such as --mail-type=END; may be repeated"
    )]
    pub directives: Vec<String>,
    /// Largest number of jobs without a new sample, for one number of nodes; 10 by default.
    #[arg(skip)]
    pub tries: Option<u32>,
}

/// How a sweep is divided into jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Jobs {
    /// One job for each number of nodes.
    #[default]
    #[serde(rename = "per node count")]
    PerNodeCount,
    /// One job for all launches.
    #[serde(rename = "one")]
    One,
}

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

impl Submit {
    /// Converts the value into a table.
    pub fn to_table(&self) -> SubmitTable {
        match self {
            Submit::System(system) => SubmitTable { system: Some(system.clone()), ..SubmitTable::default() },
            Submit::Table(table) => (**table).clone(),
        }
    }
}

impl SubmitTable {
    /// Fills the fields that `self` leaves open from `other`. Lists are concatenated, those of `other` first.
    pub fn fill_from(self, other: SubmitTable) -> SubmitTable {
        let concatenate = |own: Vec<String>, other: Vec<String>| [other, own].concat();
        SubmitTable {
            system: self.system.or(other.system),
            account: self.account.or(other.account),
            partition: self.partition.or(other.partition),
            qos: self.qos.or(other.qos),
            constraint: self.constraint.or(other.constraint),
            reservation: self.reservation.or(other.reservation),
            time_limit: self.time_limit.or(other.time_limit),
            jobs: self.jobs.or(other.jobs),
            exclusive: self.exclusive.or(other.exclusive),
            modules: concatenate(self.modules, other.modules),
            environment: other.environment.into_iter().chain(self.environment).collect(),
            directives: concatenate(self.directives, other.directives),
            tries: self.tries.or(other.tries),
        }
    }

    /// Checks the table and returns the options for this system. `parse_seconds` parses a time.
    ///
    /// # Errors
    /// The error holds what is wrong, and the next step.
    pub fn into_options(
        self,
        system: &str,
        parse_seconds: impl Fn(&str) -> Result<f64, String>,
    ) -> Result<JobOptions, (String, String)> {
        if self.tries == Some(0) {
            return Err(("tries is 0, which allows no job".into(), "set tries to 1 or more".into()));
        }
        let time_limit_seconds = match self.time_limit.as_deref().map(parse_seconds) {
            None => None,
            Some(Ok(seconds)) if seconds >= 60.0 => Some(seconds),
            Some(Ok(_)) => {
                return Err((
                    "time_limit is shorter than a minute".into(),
                    "write time_limit = \"5 min\" or more".into(),
                ));
            }
            Some(Err(message)) => return Err((format!("time_limit: {message}"), "write time_limit = \"2 h\"".into())),
        };
        let options = JobOptions {
            system: system.to_owned(),
            account: self.account,
            partition: self.partition,
            qos: self.qos,
            constraint: self.constraint,
            reservation: self.reservation,
            time_limit_seconds,
            jobs: self.jobs.unwrap_or_default(),
            exclusive: self.exclusive.unwrap_or(true),
            modules: self.modules,
            environment: self.environment,
            directives: self.directives,
            tries: self.tries.unwrap_or(DEFAULT_TRIES),
        };
        options.check().map(|()| options)
    }
}

impl JobOptions {
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
