//! Circumstances of samples that a comparison looks at, and which of them may differ.

use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_results::samples::Samples;
use std::collections::BTreeSet;

/// Differences that are refused unless allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Pages granted, and the parameter that asks for them.
    pub page_size: bool,
    /// More ranks than hardware threads on one side only.
    pub oversubscription: bool,
    /// What carried the messages: threads or MPI. Libraries of MPI may always differ.
    pub transport: bool,
    /// Another build of the measuring code.
    pub version: bool,
    /// Another kernel of the same family; points are then matched by the parameters that they share.
    pub kernel: bool,
    /// A regression check of results with one launch, which cannot know how launches differ.
    pub one_launch: bool,
}

/// Names of [`Allowed`]'s fields on the command line.
pub const NAMES: [&str; 6] = ["page-size", "oversubscription", "transport", "version", "kernel", "one-launch"];

impl Allowed {
    /// Reads names of differences.
    ///
    /// # Errors
    /// If a name is not one of [`NAMES`].
    pub fn parse(names: &[String]) -> Result<Self> {
        let mut allowed = Self::default();
        for name in names {
            *allowed.flag(name).ok_or_else(|| {
                Error::input(format!("--allow {name}: there is no such difference"), suggest(name, &NAMES))
            })? = true;
        }
        Ok(allowed)
    }

    pub fn flag(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "page-size" => &mut self.page_size,
            "oversubscription" => &mut self.oversubscription,
            "transport" => &mut self.transport,
            "version" => &mut self.version,
            "kernel" => &mut self.kernel,
            "one-launch" => &mut self.one_launch,
            _ => return None,
        })
    }
}

/// The circumstances of a machine's samples of one point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Bytes of the pages granted; empty if unknown.
    pub pages: BTreeSet<u64>,
    /// What was asked for.
    pub pages_asked: BTreeSet<String>,
    pub oversubscribed: Option<bool>,
    pub transports: BTreeSet<String>,
    pub builds: BTreeSet<String>,
    pub kernels: BTreeSet<String>,
    /// Of published numbers: what measured or predicted them.
    pub origins: BTreeSet<String>,
}

impl Facts {
    pub fn of(samples: &Samples) -> Self {
        let words = |name: &str| samples.words(name).into_iter().map(str::to_owned).collect();
        let pages = samples.numbers("page_bytes").into_iter().filter(|bytes| *bytes > 0.0);
        Self {
            pages: pages.map(|bytes| bytes as u64).collect(),
            pages_asked: words("pages"),
            oversubscribed: samples.column("oversubscribed").map(|_| samples.oversubscribed()),
            transports: words("transport"),
            builds: words("build"),
            kernels: words("kernel"),
            origins: words("origin"),
        }
    }
}
