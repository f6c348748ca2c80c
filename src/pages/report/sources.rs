//! The section on methods and sources.

use super::input::Input;
use apexmap_measure::kernels::{self, Kernel};
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_results::table::derived_columns::SHARE;
use serde::Serialize;

/// Methods and sources.
#[derive(Serialize)]
pub struct Sources {
    methods: Vec<&'static str>,
    sources: Vec<String>,
    rates: Vec<String>,
    /// Whether some kernels could have bounds, which hold only for real ranks, and no card gave them.
    unbounded: bool,
    /// Whether all kernels run on devices, which have cards of their own.
    on_device: bool,
}

impl Sources {
    pub fn new(Input { kernels, samples, .. }: &Input) -> Self {
        let rate = |(kernel, samples): &(&Kernel, Samples)| {
            let headline = columns::describe_of(samples.headline(kernel), [kernel.id]);
            format!("{}: {}", kernels::family(kernel.id), headline.label)
        };
        Self {
            methods: distinct(kernels.iter().map(|(kernel, _)| kernel.method)),
            sources: kernels.iter().map(|(kernel, _)| cite(kernel)).collect(),
            rates: distinct(kernels.iter().map(rate)),
            unbounded: samples.describe_origin().is_none()
                && samples.column(SHARE).is_none()
                && kernels.iter().any(|(kernel, _)| kernel.bounded.is_some()),
            on_device: samples.is_on_device(),
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

fn cite(kernel: &Kernel) -> String {
    format!(
        "{}: {}. {}, \u{201c}{},\u{201d} {}.",
        kernel.id, kernel.summary, kernel.source.authors, kernel.source.title, kernel.place
    )
}
