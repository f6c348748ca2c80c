//! The cited papers, one constant each. Kernels, models and reports refer to them.

/// A citation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The authors as in the paper, without affiliations.
    pub authors: &'static str,
    /// The title; for some papers with place and year of publication.
    pub title: &'static str,
    /// Short name for tables and captions.
    pub short: &'static str,
}

pub const APEX_MAP: Source = Source {
    authors: "E. Strohmaier and H. Shan",
    title: "Apex-Map: A Synthetic Scalable Benchmark Probe to Explore Data Access Performance on Highly Parallel Systems",
    short: "Apex-Map paper",
};

pub const PERFORMANCE_COMPLEXITY: Source = Source {
    authors: "E. Strohmaier",
    title: "Performance Complexity: An Execution Time Metric to Characterize the Transparency and Complexity of Performance, CTWatch \
            Quarterly, 2006",
    short: "after Strohmaier, CTWatch Quarterly 2006",
};

pub const HPCC_RANDOM_ACCESS: Source = Source {
    authors: "D. Koester and B. Lucas",
    title: "GUPS (Giga Updates Per Second): definition of the HPC Challenge RandomAccess benchmark",
    short: "HPCC RandomAccess definition",
};

pub const HYPERCUBE_RANDOM_ACCESS: Source = Source {
    authors: "S. J. Plimpton, R. Brightwell, C. Vaughan, K. Underwood and M. Davis",
    title: "A Simple Synchronous Distributed-Memory Algorithm for the HPCC RandomAccess Benchmark",
    short: "hypercube paper",
};

pub const BLUE_GENE_P_RANDOM_ACCESS: Source = Source {
    authors: "V. Aggarwal, Y. Sabharwal, R. Garg and P. Heidelberger",
    title: "HPCC RandomAccess Benchmark for Next Generation Supercomputers",
    short: "Blue Gene/P paper",
};

pub const NIC_MESSAGE_RATE: Source = Source {
    authors: "K. D. Underwood, M. J. Levenhagen and R. Brightwell",
    title: "Evaluating NIC Hardware Requirements to Achieve High Message Rate PGAS Support on Multi-Core Processors",
    short: "NIC message-rate paper",
};

pub const STREAM: Source = Source {
    authors: "J. D. McCalpin",
    title: "Memory Bandwidth and Machine Balance in Current High Performance Computers",
    short: "STREAM",
};

pub const MEMORY_MOUNTAIN: Source = Source {
    authors: "R. E. Bryant and D. R. O'Hallaron",
    title: "Computer Systems: A Programmer's Perspective",
    short: "memory mountain",
};

pub const CORE_TO_CORE: Source = Source {
    authors: "N. Viennot",
    title: "core-to-core-latency: measures the latency between CPU cores (program)",
    short: "core-to-core-latency",
};

pub const LOG_GP: Source = Source {
    authors: "A. Alexandrov, M. F. Ionescu, K. E. Schauser and C. Scheiman",
    title: "LogGP: Incorporating Long Messages into the LogP Model",
    short: "LogGP paper",
};
