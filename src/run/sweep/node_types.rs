//! Types of nodes of a result. Samples of unlike nodes do not count together.

/// The types of nodes that a run has met.
#[derive(Debug, Default)]
pub struct NodeTypes {
    known: Vec<String>,
    announced: Vec<String>,
}

impl NodeTypes {
    /// Starts with the types of a result's samples.
    pub fn new(known: &[String]) -> Self {
        Self { known: known.to_vec(), announced: Vec::new() }
    }

    /// Adds the type of a launch that begins. Returns a line for the user if the result has samples of another type, once per type.
    pub fn add(&mut self, launch: &str, node_type: &str) -> Option<String> {
        if !self.known.iter().any(|known| known == node_type) {
            self.known.push(node_type.to_owned());
        }
        if self.announced.iter().any(|announced| announced == node_type) {
            return None;
        }
        self.announced.push(node_type.to_owned());
        let others: Vec<&str> = self.known.iter().map(String::as_str).filter(|known| *known != node_type).collect();
        (!others.is_empty()).then(|| {
            format!(
                "launch {launch} runs on other nodes ({node_type}) than earlier samples ({}): samples of unlike nodes are kept apart",
                others.join("; ")
            )
        })
    }
}
