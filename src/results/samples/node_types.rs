//! Types of nodes: samples of unlike nodes are kept apart.

use crate::samples::Samples;
use crate::table::columns::{NODE_TYPE, caption};
use apexmap_base::error::{Error, Result};
use apexmap_base::sample::MIXED_NODES;
use apexmap_base::units::plural;

/// Returns a short name of each type: its first parts that not all types have, as few as distinguish it.
pub fn short_names(types: &[&str]) -> Vec<String> {
    let is_common = |part: &&str| types.iter().all(|name| name.split(", ").any(|other| other == *part));
    let own: Vec<Vec<&str>> =
        types.iter().map(|name| name.split(", ").filter(|part| !is_common(part)).collect()).collect();
    let short = |parts: &Vec<&str>| {
        let is_unique = |count: &usize| own.iter().filter(|other| other.starts_with(&parts[..*count])).count() == 1;
        let count = (1..=parts.len()).find(is_unique).unwrap_or(parts.len());
        parts[..count].join(", ")
    };
    own.iter().map(short).collect()
}

impl Samples {
    /// Returns a sentence about the types of nodes if the samples were taken on several, or on a mixture; `None` otherwise.
    pub fn describe_node_types(&self) -> Option<String> {
        let types = self.group_by(&[NODE_TYPE]);
        if types.len() < 2 && !self.has_mixed_nodes() {
            return None;
        }
        let describe = |part: &Samples| {
            let name = Some(part.first_word(NODE_TYPE)).filter(|name| !name.is_empty()).unwrap_or("unknown");
            format!("{} ({}, launch {})", caption(name), plural(part.len(), "sample"), part.value_list("launch"))
        };
        let list = types.iter().map(describe).collect::<Vec<_>>().join("; ");
        Some(match types.len() {
            1 => format!("The ranks of a launch were on unlike nodes: {list}."),
            count => format!("The samples are from {count} types of nodes, which are kept apart: {list}."),
        })
    }

    /// Returns whether ranks of a launch were on unlike nodes.
    pub fn has_mixed_nodes(&self) -> bool {
        self.words(NODE_TYPE).iter().any(|name| name.starts_with(MIXED_NODES))
    }

    /// Requires good samples on one type of nodes, unless the columns `by` keep types apart.
    pub fn require_one_node_type(&self, by: &[&str]) -> Result<()> {
        let good = self.good();
        if by.contains(&NODE_TYPE) || good.is_constant(NODE_TYPE) {
            return Ok(());
        }
        let choice = good.mixture(NODE_TYPE).choice;
        Err(Error::input(
            format!("the samples are from unlike nodes: {}", good.value_list(NODE_TYPE)),
            format!("choose one type with --where '{choice}'"),
        ))
    }

    /// Returns the samples on the type of nodes of the newest sample.
    pub fn on_newest_node_type(&self) -> Self {
        let newest_time = |part: &Samples| part.numbers("unix_seconds").into_iter().fold(f64::NEG_INFINITY, f64::max);
        let types = self.group_by(&[NODE_TYPE]).into_iter();
        types.max_by(|a, b| newest_time(a).total_cmp(&newest_time(b))).unwrap_or_else(|| self.clone())
    }
}
