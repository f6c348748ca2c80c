//! Types of nodes of a result. Samples of unlike nodes do not count together.

use std::collections::BTreeSet;

/// The types of nodes that a result has samples on, and those that the user has read about.
#[derive(Debug, Default)]
pub struct NodeTypes {
    sampled: BTreeSet<String>,
    announced: BTreeSet<String>,
}

impl NodeTypes {
    /// Starts with the types of a result's samples.
    pub fn new(sampled: &[String]) -> Self {
        Self { sampled: sampled.iter().cloned().collect(), announced: BTreeSet::new() }
    }

    /// Adds the type of a launch that begins. Returns a line for the user if the result has samples on another type, once per type.
    pub fn add(&mut self, launch: &str, node_type: &str) -> Option<String> {
        self.sampled.insert(node_type.to_owned());
        if !self.announced.insert(node_type.to_owned()) {
            return None;
        }
        let others: Vec<&str> = self.sampled.iter().map(String::as_str).filter(|name| *name != node_type).collect();
        (!others.is_empty()).then(|| {
            format!(
                "launch {launch} runs on other nodes ({node_type}) than earlier samples ({}): samples of unlike nodes are kept apart",
                others.join("; ")
            )
        })
    }
}
