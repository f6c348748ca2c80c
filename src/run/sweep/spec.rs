//! The shape of a sweep file. Doc comments here become the JSON schema for editors and tables in docs/appendix/sweeps.md.

use super::{answer::AnswerSpec, submit_table::Submit};
use crate::launch::LauncherEntry;
use apexmap_measure::comm::{TransportKind, simulated::Mapping};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::kernels::command::KEYS;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// Parameters by name, each with its value or values.
pub type Entries<T> = BTreeMap<Spanned<String>, Spanned<T>>;

/// A sweep: the kernels to run, their points, the numbers of ranks and the repetitions.
///
/// The grid is every combination of `[axes]` and `[[together]]`. `[fixed]` applies to all points. Parameters in no table take the
/// kernel's default. `kernel` and `ranks` (also called `P`) are allowed in every table of parameters. So are `nodes` and
/// `ranks_per_node`, whose product is then the number of ranks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "apexmap sweep")]
pub struct File {
    /// Name of the result folder; the file's own name if absent.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// One line for reports; the name if absent.
    pub title: Option<String>,
    /// The question that the sweep answers; `apexmap sweeps` lists it.
    pub question: Option<String>,
    /// How the answer to the question follows from the samples.
    pub answer: Option<AnswerSpec>,
    /// Seed of the random order of points and repetitions.
    #[serde(default)]
    pub seed: u64,
    /// Conditions that every point must meet, such as "L * P <= M". A condition does not apply to points whose kernel does not
    /// have all its parameters. Must be above the first `[table]`.
    #[serde(default, rename = "where")]
    #[schemars(with = "Vec<String>")]
    pub conditions: Vec<Spanned<String>>,
    /// Conditions of points to leave out. Must be above the first `[table]`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub exclude: Vec<Spanned<String>>,
    /// Parameters that are the same at all points, such as kernel = "apex_map.two_sided" or M = "64 Mwords".
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Scalar>")]
    pub fixed: Fixed,
    /// Parameters to vary: every combination of their values is a point.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Axis>")]
    pub axes: Entries<Axis>,
    /// Parameters that advance together: their lists have the same length. Several such tables are combined like axes.
    #[serde(default)]
    #[schemars(with = "Vec<BTreeMap<String, Axis>>")]
    pub together: Vec<Spanned<Entries<Axis>>>,
    /// Further points outside the grid. Parameters not set here come from `[fixed]` or are the kernel's default.
    #[serde(default)]
    #[schemars(with = "Vec<BTreeMap<String, Axis>>")]
    pub include: Vec<Spanned<Entries<Axis>>>,
    /// How the ranks are started.
    #[serde(default)]
    pub launch: Launch,
    /// How often each point is measured.
    #[serde(default)]
    pub repeat: Repeat,
    /// Figures at the top of the report, before those of every result.
    #[serde(default)]
    pub figure: Vec<FigureSpec>,
    /// Ranks of all points, if not the file's.
    #[serde(skip)]
    pub ranks: Vec<Scalar>,
}

impl File {
    pub fn has_parameter(&self, parameter: &str) -> bool {
        let tables = self.together.iter().chain(&self.include).map(Spanned::get_ref).chain([&self.axes]);
        tables.flat_map(BTreeMap::keys).chain(self.fixed.entries.keys()).any(|name| name.get_ref() == parameter)
    }

    /// Fixes a parameter instead of varying it. Figures and the answer, which may name it as an axis, are left out.
    pub fn fix(&mut self, parameter: &str, value: &Scalar) {
        let is_other = |name: &Spanned<String>| name.get_ref() != parameter;
        self.axes.retain(|name, _| is_other(name));
        self.fixed.entries.retain(|name, _| is_other(name));
        for tables in [&mut self.together, &mut self.include] {
            tables.iter_mut().for_each(|table| table.get_mut().retain(|name, _| is_other(name)));
            tables.retain(|table| !table.get_ref().is_empty());
        }
        self.fixed.entries.insert(Spanned::new(0..0, parameter.to_owned()), Spanned::new(0..0, value.clone()));
        (self.figure, self.question, self.answer) = (Vec::new(), None, None);
    }
}

/// A figure of a sweep's report.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// The kind of figure: "surface", "contour", "heat", "curves", or "elasticity", the exponent of the local power law in x.
    #[schemars(with = "String")]
    pub kind: Spanned<String>,
    /// The heading; the name of the column shown if absent.
    pub title: Option<String>,
    /// Horizontal axis: a parameter by its name, or a column of results such as "traffic_bytes_per_second".
    #[schemars(with = "String")]
    pub x: Spanned<String>,
    /// The second axis of a surface, of contours or of a map. For curves, the columns that distinguish them, separated by commas.
    #[schemars(with = "Option<String>")]
    pub y: Option<Spanned<String>>,
    /// In curves over ranks, a line for ideal scaling: the highest rate of the fewest ranks, times the ranks. false if absent.
    #[schemars(with = "Option<bool>")]
    pub ideal: Option<Spanned<bool>>,
    /// Column shown; the kernel's headline rate if absent.
    #[schemars(with = "Option<String>")]
    pub z: Option<Spanned<String>>,
    /// Condition on the points to draw.
    #[serde(rename = "where")]
    #[schemars(with = "Option<String>")]
    pub condition: Option<Spanned<String>>,
}

/// A number, or a text: a quantity with its unit ("64 Mwords", "2 GiB", "60 s"), a quantity per rank ("64 Mwords per rank",
/// multiplied by the number of ranks), a size that depends on the machine ("1/4 of memory" for RandomAccess's table, "beyond
/// caches" for Apex-Map's M), or a word.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Scalar {
    Integer(i64),
    Real(f64),
    Text(String),
}

/// The values of a parameter: one, a list, or a range. `ranks` and `ranks_per_node` also take the words "cores", "hardware
/// threads", "node" and "devices".
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub enum Axis {
    One(Scalar),
    List(#[schemars(with = "Vec<Scalar>")] Vec<Spanned<Scalar>>),
    Range(Box<Steps>),
}

/// Values from `from` to `to`: by `factor`, by `step`, by the number of `points`, or by a logarithmic `scale`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
pub struct Steps {
    /// First value.
    #[schemars(with = "Scalar")]
    pub from: Spanned<Scalar>,
    /// Last value; `factor` and `step` end at or below it.
    #[schemars(with = "Scalar")]
    pub to: Spanned<Scalar>,
    /// Ratio of each value to the one before; greater than 1.
    #[schemars(with = "Option<f64>")]
    pub factor: Option<Spanned<f64>>,
    /// Difference between each value and the one before.
    #[schemars(with = "Option<Scalar>")]
    pub step: Option<Spanned<Scalar>>,
    /// Number of values, both ends included, evenly spaced on the `scale`.
    #[schemars(with = "Option<u32>")]
    pub points: Option<Spanned<u32>>,
    /// "linear" (the default with `points`), "log2" or "log10". Without `points`, log2 doubles from value to value and log10
    /// multiplies by ten.
    #[schemars(with = "Option<Scale>")]
    pub scale: Option<Spanned<Scale>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    Linear,
    Log2,
    Log10,
}

/// Default of [`Launch::resamples`].
pub const RESAMPLES: u32 = 20;

/// How to start the ranks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// "threads" (the default: ranks are threads of one process on this machine), "mpi" or "simulated".
    #[schemars(with = "Option<TransportKind>")]
    pub transport: Option<Spanned<TransportKind>>,
    /// The machine card for transport "simulated": a published machine such as "red-storm", or the path of a card file. The ranks
    /// then run in virtual time, each point once.
    #[schemars(with = "Option<String>")]
    pub simulate: Option<Spanned<String>>,
    /// How often each simulated point runs again, with numbers drawn from the intervals of the card, for an interval of its rate: 20
    /// times without this key. Cards without intervals need none.
    pub resamples: Option<u32>,
    /// The places of the nodes of a simulated machine on its network: "row-major" (the default), "sub-cube" (a
    /// box of powers of two), "gray-code" (the same with neighbours that differ in one bit) or "random".
    #[schemars(with = "Option<Mapping>")]
    pub mapping: Option<Spanned<Mapping>>,
    /// The launcher that starts the ranks; required for "mpi".
    #[schemars(with = "Option<LauncherEntry>")]
    pub launcher: Option<Spanned<String>>,
    /// The command of the custom launcher, one argument per item. It contains {ranks}, {worker} and, as a separate argument,
    /// {arguments}; also {nodes}, {ranks_per_node} and {hosts} if needed.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<Spanned<String>>>>,
    /// Ranks on each node of a cluster; the launcher's default if absent. It may instead be a parameter, with several values.
    #[schemars(with = "Option<u32>")]
    pub ranks_per_node: Option<Spanned<u32>>,
    /// Hosts to place the ranks on, in this order: ["node1", "node2"]. Each gets `ranks_per_node` ranks, or one if that is
    /// absent. For launchers that choose no hosts themselves, or to choose among those of an allocation.
    #[schemars(with = "Option<Vec<String>>")]
    pub hosts: Option<Spanned<Vec<String>>>,
    /// A file with these hosts, one per line, with their ranks if they differ: "node1", "node1:4" or "node1 slots=4". A host on several lines has the ranks of all of them.
    #[schemars(with = "Option<String>")]
    pub hostfile: Option<Spanned<String>>,
    /// Order of a machine's hardware threads for its ranks: "spread" (one on each core first, in turn over packages and NUMA
    /// nodes; the default of threads), "compact" (one on each core first, one package after the other) or "smt" (all hardware
    /// threads of a core first). Over MPI, the launcher's own order by default.
    #[schemars(with = "Option<PlacementOrder>")]
    pub place: Option<Spanned<PlacementOrder>>,
    /// Launches for each rank count, 1 by default. Launches differ more than samples within one: use 5 for fitting.
    #[schemars(with = "Option<u32>")]
    pub launches: Option<Spanned<u32>>,
    /// The worker program to start on the ranks, such as `apexmap-worker` for the cluster's MPI; this program by default.
    pub worker: Option<String>,
    /// Longest time without a sign of life in one sample, and from there to the next, such as "300 s". A point that takes longer
    /// is recorded as timed out. Filling and verifying large memory gives signs of life, a run on the clock gives none. The
    /// default is 60 s, and more for points with much memory or work.
    #[schemars(with = "Option<Scalar>")]
    pub timeout: Option<Spanned<Scalar>>,
    /// Longest time from the start of a launch to its first sample, such as "300 s" (the default); longer if the launcher waits
    /// for an allocation.
    #[schemars(with = "Option<Scalar>")]
    pub start_timeout: Option<Spanned<Scalar>>,
    /// Time that the ranks watch the machine for other programs before the first sample of a run, "1 s" by default. "0 s" skips
    /// it.
    #[schemars(with = "Option<Scalar>")]
    pub preflight: Option<Spanned<Scalar>>,
    /// Whether Open MPI 1 to 4 fall back to OMPI_MCA_osc=pt2pt, which makes gets and puts of messages, if their default one-sided
    /// component cannot use the network; true by default. The fallback is reported and recorded. If false, such a launch is an
    /// error.
    pub fallback: Option<bool>,
    /// Largest number of node hours that the jobs of one submission may take. A sweep whose jobs may take more is not submitted.
    #[schemars(with = "Option<f64>")]
    pub max_node_hours: Option<Spanned<f64>>,
    /// The batch system to which `apexmap run` submits the sweep as jobs.
    #[schemars(with = "Option<Submit>")]
    pub submit: Option<Spanned<Submit>>,
}

/// How often each point is measured.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Samples of every point, in each launch; 6 by default.
    #[schemars(with = "Option<u32>")]
    pub min: Option<Spanned<u32>>,
    /// Largest number of samples of a point if `width` needs more than `min`; 30 by default, or `min` if that is more.
    #[schemars(with = "Option<u32>")]
    pub max: Option<Spanned<u32>>,
    /// Measure until the 95 % interval of the median is this narrow, relative to the median: 0.05 is 5 %. Needs at least 6
    /// samples. Without it, every point is measured `min` times.
    #[schemars(with = "Option<f64>")]
    pub width: Option<Spanned<f64>>,
    /// Measuring time of the whole sweep, such as "100 s"; unlimited if absent.
    #[schemars(with = "Option<Scalar>")]
    pub budget: Option<Spanned<Scalar>>,
}

const SCALAR: &str = "a number or a text such as \"64 Mwords\"";
const AXIS: &str = "a number, a text, a list of them, or a range such as { from = 1, to = 64, factor = 2 }";

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Scalar;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(SCALAR)
            }
            fn visit_i64<E>(self, v: i64) -> Result<Scalar, E> {
                Ok(Scalar::Integer(v))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Scalar, E> {
                Ok(Scalar::Real(v))
            }
            fn visit_str<E>(self, v: &str) -> Result<Scalar, E> {
                Ok(Scalar::Text(v.to_owned()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Axis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Axis;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(AXIS)
            }
            fn visit_i64<E>(self, v: i64) -> Result<Axis, E> {
                Ok(Axis::One(Scalar::Integer(v)))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Axis, E> {
                Ok(Axis::One(Scalar::Real(v)))
            }
            fn visit_str<E>(self, v: &str) -> Result<Axis, E> {
                Ok(Axis::One(Scalar::Text(v.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Axis, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Axis::List(values))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Axis, A::Error> {
                Steps::deserialize(MapAccessDeserializer::new(map)).map(|steps| Axis::Range(Box::new(steps)))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// `[fixed]`: parameters with one value, and the keys of a command, whose values are lists and tables.
#[derive(Debug, Default)]
pub struct Fixed {
    pub entries: Entries<Scalar>,
    pub command: Vec<(Spanned<String>, serde_json::Value)>,
}

impl<'de> Deserialize<'de> for Fixed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fixed;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table of parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fixed, A::Error> {
                let mut fixed = Fixed::default();
                while let Some(name) = map.next_key::<Spanned<String>>()? {
                    if KEYS.contains(&name.get_ref().as_str()) {
                        fixed.command.push((name, map.next_value()?));
                    } else {
                        fixed.entries.insert(name, map.next_value()?);
                    }
                }
                Ok(fixed)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
