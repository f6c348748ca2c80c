//! The request of a sweep to a batch system: `[launch] submit`, and the flags of the same names. The crate `cluster` uses it.

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
    /// Longest time of one job, such as "2 h"; the estimated time of the plan if that is shorter.
    #[arg(long, value_name = "TIME", help = "Longest time of a job, such as 2h")]
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

impl Submit {
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
        }
    }
}
