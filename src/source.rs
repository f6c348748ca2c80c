//! The cited papers, one constant each; kernels, models and reports name them from here.

/// A citation.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    pub authors: &'static str,
    pub title: &'static str,
    /// Short name used in tables and captions.
    pub short: &'static str,
}

pub const APEX_MAP: Source = Source {
    authors: "E. Strohmaier and H. Shan",
    title: "Apex-Map: A Synthetic Scalable Benchmark Probe to Explore Data Access Performance on Highly Parallel Systems",
    short: "Apex-Map paper",
};
