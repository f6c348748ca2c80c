//! Distance between ranks: compares two sets of measurements by the barriers before each run.
//!
//! Even on one machine the distance can change: a hypervisor moves the processors of a virtual machine.

use crate::samples::Samples;
use apexmap_base::disturbance::Fact;
use apexmap_base::units::{self, Unit, plural};
use apexmap_theory::machine::{Card, catalogue};
use apexmap_theory::statistics::median;
use std::collections::BTreeMap;

/// Largest ratio between barrier times of ranks at the same distance.
const MAX_BARRIER_RATIO: f64 = 2.0;

/// Transport of the messages, and number of ranks.
type Ranks = (String, usize);

fn barrier_times(samples: &Samples) -> BTreeMap<Ranks, f64> {
    let samples = samples.good();
    let (table, column) = (samples.table(), Fact::BarrierCanary.info().column);
    let mut times: BTreeMap<Ranks, Vec<f64>> = BTreeMap::new();
    if table.column(column).is_some() {
        for &row in samples.rows() {
            let ranks = (table.word("transport", row).to_owned(), table.number("ranks", row) as usize);
            times
                .entry(ranks)
                .or_default()
                .extend(Some(table.number(column, row)).filter(|seconds| seconds.is_finite()));
        }
    }
    times.into_iter().filter_map(|(ranks, seconds)| Some((ranks, median(&seconds)?))).collect()
}

fn differ(a: f64, b: f64) -> bool {
    a.max(b) > MAX_BARRIER_RATIO * a.min(b)
}

/// Returns a warning for predictions if the ranks had another distance when the card was measured.
pub fn card_warning(samples: &Samples, card: &Card) -> Option<String> {
    let transport = card.provenance.get("transport")?.as_str()?.to_owned();
    let (measured, on_card) =
        (*barrier_times(samples).get(&(transport, 2))?, card.get(catalogue::BARRIER_SECONDS.name)?);
    differ(measured, on_card).then(|| {
        format!(
            "A barrier of two ranks took {} when the card was measured, and {} in this result: the ranks were at another distance, \
             as on a virtual machine whose hypervisor moves its processors. Bounds and predictions of messages do not hold \
             here; calibrate and measure again, one soon after the other.",
            units::amount(on_card, Unit::Seconds),
            units::amount(measured, Unit::Seconds)
        )
    })
}

/// Returns a warning for comparisons if ranks of one host had different distances in two results.
pub fn comparison_warning(first: (&str, &Samples), second: (&str, &Samples)) -> Option<String> {
    if first.1.first_word("host") != second.1.first_word("host") {
        return None;
    }
    let (a, b) = (barrier_times(first.1), barrier_times(second.1));
    let both = a.iter().filter_map(|(ranks, &a)| Some((ranks, a, *b.get(ranks)?)));
    let ((_, ranks), a, b) = both.into_iter().find(|&(_, a, b)| differ(a, b))?;
    Some(format!(
        "a barrier of {} took {} on {}, {} on {}, though both were measured on one host",
        plural(*ranks, "rank"),
        units::amount(a, Unit::Seconds),
        first.0,
        units::amount(b, Unit::Seconds),
        second.0
    ))
}
