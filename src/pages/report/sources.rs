//! The section on methods and sources.

use apexmap_measure::kernels::{self, About};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_theory::bounds;
use serde::Serialize;

/// Methods and sources.
#[derive(Serialize)]
pub struct Sources {
    methods: Vec<&'static str>,
    sources: Vec<String>,
    rates: Vec<String>,
    /// Whether some kernels could have bounds, which hold only for real ranks.
    unbounded: bool,
}

impl Sources {
    /// Returns those of the kernels of these samples.
    pub fn from_samples(samples: &Samples) -> Self {
        let abouts: Vec<&About> = samples.kernels().iter().map(|(kernel, _)| kernel.about()).collect();
        let rate = |about: &&About| {
            format!("{}: {}", kernels::family(about.id), columns::describe_of(about.headline, [about.id]).label)
        };
        Self {
            methods: distinct(abouts.iter().map(|about| about.method)),
            sources: abouts.iter().map(|about| cite(about)).collect(),
            rates: distinct(abouts.iter().map(rate)),
            unbounded: samples.describe_origin().is_none()
                && abouts.iter().any(|about| bounds::family(about.id).is_some()),
        }
    }
}

/// Returns the items in order, each once.
pub fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

fn cite(about: &'static About) -> String {
    format!(
        "{}: {}. {}, \u{201c}{},\u{201d} {}.",
        about.id, about.summary, about.source.authors, about.source.title, about.place
    )
}
