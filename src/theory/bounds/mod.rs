//! Bounds: the maximum rate of a kernel at a point, from the numbers that `apexmap calibrate` measured on the machine.
//!
//! A bound is the lowest of several limits, each a rate that no program with this work can exceed on this machine: the time
//! of an operation is at least what each resource needs for it by itself, however well all of them overlap. They are made of
//! the best that a calibration measured ([`Card::best`](crate::machine::Card::best)), never of medians, and shares of them
//! of the best runs. How fast this program's own loops are where they wait for nothing stands beside them ([`LOOP`]). A limit whose inputs
//! the card lacks is left out and named; where none can be had there is no bound.
//!
//! The bounds of a family of kernels are one file and one line in [`FAMILIES`]; a limit of a new sort is one line in [`NAMES`].

mod apex_map;
mod ladder;
mod law;
mod limits;
mod message_rate;
mod random_access;

pub use ladder::Ladder;
pub use law::Law;
pub use limits::{LINE_BYTES, Limits, Messages};

use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_measure::kernels;
use std::collections::BTreeMap;

/// The families that have bounds.
pub const FAMILIES: &[&Family] = &[&apex_map::FAMILY, &random_access::FAMILY, &message_rate::FAMILY];

macro_rules! names {
    ($($constant:ident = $name:literal;)*) => {
        $(pub const $constant: &str = $name;)*
        /// Every limit that may be the bottleneck, in the order of legends.
        pub const NAMES: [&str; [$($name),*].len()] = [$($constant),*];
    };
}

names! {
    ISSUE = "processor issue";
    OUTSTANDING = "outstanding misses";
    WALKS = "page walks";
    L2 = "L2 bandwidth";
    L3 = "L3 bandwidth";
    MEMORY = "memory bandwidth";
    MESSAGES = "message rate";
    INJECTION = "injection rate";
    LATENCY = "network latency";
    LINK = "link bandwidth";
    BISECTION = "bisection";
    POLLS = "polls";
}

/// Kernels that are bound by the same limits.
pub struct Family {
    /// What the ids of its kernels begin with, before the dot.
    pub name: &'static str,
    pub limits: &'static [Limit],
    terms: fn(&Case, &mut Terms),
}

/// How a limit is found.
#[derive(Debug)]
pub struct Limit {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The minimum time per operation, or the maximum rate.
    pub formula: &'static str,
    pub source: &'static Source,
    pub place: &'static str,
}

/// A point as it was run, on a machine.
pub struct Case<'a> {
    pub limits: &'a Limits,
    pub point: &'a Point,
    /// What the run reported besides its time.
    pub outputs: &'a BTreeMap<String, Value>,
    /// What carried its messages: transport and library.
    pub carrier: (&'a str, &'a str),
    /// Nodes that its ranks were on.
    pub nodes: usize,
}

impl Case<'_> {
    fn output(&self, name: &str) -> Option<f64> {
        self.outputs.get(name)?.as_f64()
    }

    /// So many ranks, or the processors that they have to share.
    fn at_once(&self, ranks: f64) -> f64 {
        self.limits.cores.map_or(ranks, |cores| ranks.min(cores * self.nodes as f64))
    }

    fn messages(&self) -> Option<&Messages> {
        self.limits.messages.as_ref().filter(|_| self.limits.carrier_is(self.carrier))
    }

    /// The run got the system's small pages, throughout.
    fn on_base_pages(&self) -> bool {
        self.output("page_bytes").is_some_and(|bytes| bytes <= 65536.0)
    }
}

/// A limit at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// Maximum operations per second, of all ranks.
    pub rate: f64,
}

/// What stands beside the limits: the rate of the loop that this program runs, where nothing has to be waited for. Another loop
/// may be faster.
pub const LOOP: &str = "this program's loop";

/// The limits that could be had, at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    pub found: Vec<Term>,
    /// The rate of [`LOOP`], which is no limit of the machine.
    pub program: Option<f64>,
    /// Limits that would apply, but whose inputs the card lacks.
    pub missing: Vec<&'static str>,
}

impl Terms {
    /// A limit by which each of `at_once` ranks needs at least `seconds` per operation; `None` if the card does not know.
    /// 0 is no limit.
    fn add(&mut self, name: &'static str, at_once: f64, seconds: Option<f64>) {
        match seconds {
            None if !self.missing.contains(&name) => self.missing.push(name),
            Some(seconds) if seconds > 0.0 && at_once > 0.0 => self.found.push(Term { name, rate: at_once / seconds }),
            _ => {}
        }
    }

    /// The rate of [`LOOP`] on each of `at_once` ranks.
    fn set_loop(&mut self, at_once: f64, seconds: Option<f64>) {
        self.program = seconds.filter(|seconds| *seconds > 0.0).map(|seconds| at_once / seconds);
    }

    /// The most that this program can reach: the lowest limit, or its own loop.
    pub fn reachable(&self) -> Option<f64> {
        self.bottleneck().map(|limit| limit.rate).into_iter().chain(self.program).reduce(f64::min)
    }

    /// The bound: the lowest limit, the bottleneck.
    pub fn bottleneck(&self) -> Option<Term> {
        self.found.iter().copied().min_by(|a, b| a.rate.total_cmp(&b.rate))
    }
}

/// All limits at a point; `None` for kernels of no family.
pub fn terms(case: &Case) -> Option<Terms> {
    let family = family(&case.point.kernel)?;
    let mut terms = Terms::default();
    (family.terms)(case, &mut terms);
    Some(terms)
}

/// The present name of a limit that a result may hold under an earlier one.
pub fn present_name(name: &str) -> &str {
    if name == "lines in flight" { OUTSTANDING } else { name }
}

/// The family of a kernel.
pub fn family(kernel: &str) -> Option<&'static Family> {
    let name = kernels::family(kernel);
    FAMILIES.iter().copied().find(|family| family.name == name)
}
