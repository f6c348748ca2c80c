//! Bounds: what a machine allows at most, at a point of a kernel, by the numbers that `apexmap calibrate` measured on it.
//!
//! A bound is the least of several limits, each a rate that no program with this work can exceed on this machine: the time
//! of an operation is at least what each resource needs for it by itself, however well all of them overlap. They are made of
//! the best that a calibration measured ([`Card::best`](crate::explore::machine::Card::best)), never of medians. A limit whose inputs
//! the card lacks is left out and named; where none can be had there is no bound.
//!
//! A family of kernels is one file and one line in [`FAMILIES`].

mod apex_map;
mod ladder;
mod limits;
mod message_rate;
mod random_access;

pub use ladder::Ladder;
pub use limits::{Limits, Messages};

use crate::measure::kernels;
use crate::point::{Point, Value};
use crate::source::Source;
use std::collections::BTreeMap;

/// The families that have bounds.
pub const FAMILIES: &[&Family] = &[&apex_map::FAMILY, &random_access::FAMILY, &message_rate::FAMILY];

pub const ISSUE: &str = "processor issue";
pub const IN_FLIGHT: &str = "lines in flight";
pub const WALKS: &str = "page walks";
pub const L2: &str = "L2 bandwidth";
pub const L3: &str = "L3 bandwidth";
pub const MEMORY: &str = "memory bandwidth";
pub const MESSAGES: &str = "message rate";
pub const INJECTION: &str = "injection rate";
pub const LATENCY: &str = "network latency";
pub const LINK: &str = "link bandwidth";
pub const BISECTION: &str = "bisection";

/// Everything that may bind, in the order of legends.
pub const NAMES: [&str; 11] = [ISSUE, IN_FLIGHT, WALKS, L2, L3, MEMORY, MESSAGES, INJECTION, LATENCY, LINK, BISECTION];

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
    /// The least seconds of an operation, or the most operations a second.
    pub formula: &'static str,
    pub source: &'static Source,
    pub place: &'static str,
}

/// A point as it was run, on a machine.
pub struct Case<'a> {
    pub limits: &'a Limits,
    pub point: &'a Point,
    /// What the run told besides its time.
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
    /// Operations of all ranks a second, at most.
    pub rate: f64,
}

/// The limits that could be had, at a point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    pub found: Vec<Term>,
    /// Limits that would apply, but whose inputs the card lacks.
    pub missing: Vec<&'static str>,
}

impl Terms {
    /// A limit by which each of `at_once` ranks needs at least so many seconds an operation; `None` if the card does not tell.
    /// 0 is no limit.
    fn add(&mut self, name: &'static str, at_once: f64, seconds: Option<f64>) {
        match seconds {
            None if !self.missing.contains(&name) => self.missing.push(name),
            Some(seconds) if seconds > 0.0 && at_once > 0.0 => self.found.push(Term { name, rate: at_once / seconds }),
            _ => {}
        }
    }

    /// The bound: the limit that binds.
    pub fn binding(&self) -> Option<Term> {
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

/// The family of a kernel.
pub fn family(kernel: &str) -> Option<&'static Family> {
    let name = kernels::family(kernel);
    FAMILIES.iter().copied().find(|family| family.name == name)
}
