//! Bounds: the maximum rate of a kernel at a point, from the numbers that `apexmap calibrate` measured on the machine.
//!
//! A bound is the lowest of several limits: an operation takes at least the time that each resource alone needs for it, even
//! if all resources overlap perfectly. Limits use the best value that a calibration measured, never medians, so shares of a
//! bound are computed from the best runs. A limit without all of its inputs is left out and named.

mod apex_map;
mod law;
mod limits;
mod message_rate;
mod random_access;

pub use law::{Ladder, Law};
pub use limits::{Limits, Messages};

use apexmap_base::distinct::push_new;
use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_measure::kernels::{self, Bounded, Kernel};
use std::collections::BTreeMap;

macro_rules! names {
    ($($constant:ident = $name:literal;)*) => {
        $(pub const $constant: &str = $name;)*
        /// All limits that can be the bottleneck, in the order of legends.
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

/// Column of samples, and key in the provenance of a card: the device.
pub const DEVICE_NAME: &str = "device_name";

pub struct Family {
    pub limits: &'static [Limit],
    terms: fn(&Case, &Kernel, &mut Terms),
}

#[derive(Debug)]
pub struct Limit {
    /// One of [`NAMES`].
    pub name: &'static str,
    /// The minimum time per operation, or the maximum rate.
    pub formula: &'static str,
    pub source: &'static Source,
    /// Section, equation, table or figure of `source`.
    pub place: &'static str,
}

/// A point of a run on a machine.
pub struct Case<'a> {
    pub limits: &'a Limits,
    pub point: &'a Point,
    /// Outputs of the run besides its time.
    pub outputs: &'a BTreeMap<String, Value>,
    /// Transport and library of its messages.
    pub carrier: (&'a str, &'a str),
    pub nodes: usize,
}

impl Case<'_> {
    fn output(&self, name: &str) -> Option<f64> {
        self.outputs.get(name)?.as_f64()
    }

    /// Returns how many of `ranks` run at the same time: all of them, or one per core if cores are fewer.
    fn concurrent_ranks(&self, ranks: f64) -> f64 {
        self.limits.cores.map_or(ranks, |cores| ranks.min(cores * self.nodes as f64))
    }

    fn messages(&self) -> Option<&Messages> {
        self.limits.messages.as_ref().filter(|_| self.limits.has_carrier(self.carrier))
    }

    fn on_base_pages(&self) -> bool {
        // Systems for Arm can have base pages of 64 KiB.
        self.output("page_bytes").is_some_and(|bytes| bytes <= 65536.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    pub name: &'static str,
    /// Maximum operations per second, of all ranks.
    pub rate: f64,
}

/// Name of the rate of this program's own loop without any waiting. Another loop may be faster, so it is no limit.
pub const LOOP: &str = "this program's loop";

/// All known limits at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    pub limits: Vec<Term>,
    pub program: Option<f64>,
    /// Limits that apply, but whose inputs are not on the card.
    pub missing: Vec<&'static str>,
}

impl Terms {
    /// Adds a limit: each of `concurrency` ranks needs `seconds` per operation. `None` marks it as missing; 0 adds none.
    fn add(&mut self, name: &'static str, concurrency: f64, seconds: Option<f64>) {
        match seconds {
            None => push_new(&mut self.missing, name),
            Some(seconds) if seconds > 0.0 && concurrency > 0.0 => {
                self.limits.push(Term { name, rate: concurrency / seconds });
            }
            _ => {}
        }
    }

    fn set_loop(&mut self, concurrency: f64, seconds: Option<f64>) {
        self.program = seconds.filter(|seconds| *seconds > 0.0).map(|seconds| concurrency / seconds);
    }

    /// Returns the maximum rate of this program: the lowest limit or the rate of its loop.
    pub fn reachable(&self) -> Option<f64> {
        self.bottleneck().map(|limit| limit.rate).into_iter().chain(self.program).reduce(f64::min)
    }

    /// Returns the lowest limit: its rate is the bound, its name the bottleneck.
    pub fn bottleneck(&self) -> Option<Term> {
        self.limits.iter().copied().min_by(|a, b| a.rate.total_cmp(&b.rate))
    }
}

pub fn terms(case: &Case) -> Option<Terms> {
    let kernel = kernels::find(&case.point.kernel).ok()?;
    let (family, mut terms) = (family(kernel)?, Terms::default());
    // A card is that of a machine or of a device.
    if case.limits.device.is_some() == (kernel.bounded == Some(Bounded::DeviceAccesses)) {
        (family.terms)(case, kernel, &mut terms);
    }
    Some(terms)
}

pub fn family(kernel: &Kernel) -> Option<&'static Family> {
    Some(match kernel.bounded? {
        Bounded::Accesses => &apex_map::FAMILY,
        Bounded::Updates => &random_access::FAMILY,
        Bounded::DeviceAccesses => &apex_map::ON_DEVICE,
        Bounded::Messages => &message_rate::FAMILY,
    })
}
