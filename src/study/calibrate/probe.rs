//! A number that a calibration measures, and its value from the samples.

use apexmap_base::point::Value;
use apexmap_base::units;
use apexmap_measure::kernels::{Kernel, Parameter};
use apexmap_results::samples::{Samples, estimate};
use apexmap_theory::machine::{Entry, Number, NumberName};
use apexmap_theory::statistics::Summary;

/// A number of a card, and the point whose samples give it.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub number: NumberName,
    pub kernel: &'static Kernel,
    pub ranks: usize,
    pub settings: Vec<(&'static str, Value)>,
    /// Column whose median gives the number.
    pub column: &'static str,
    /// Factor of the median, or of its inverse if `inverse` is set.
    pub factor: f64,
    pub inverse: bool,
}

impl Probe {
    /// For a number without a qualifier.
    pub(super) fn new(number: &'static Entry, kernel: &'static Kernel, ranks: usize) -> Self {
        Self::from_number(NumberName::new(number), kernel, ranks)
    }

    pub(super) fn from_number(number: NumberName, kernel: &'static Kernel, ranks: usize) -> Self {
        let (column, settings) = ("operation_seconds", Vec::new());
        Self { number, kernel, ranks, settings, column, factor: 1.0, inverse: false }
    }

    pub(super) fn set(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// The inverse of the median of a rate.
    pub(super) fn read_inverse(self, column: &'static str) -> Self {
        Self { inverse: true, column, ..self }
    }

    pub(super) fn read_column(self, column: &'static str) -> Self {
        Self { column, ..self }
    }

    pub(super) fn point(&self) -> (&str, usize, &[(&'static str, Value)]) {
        (self.kernel.id, self.ranks, &self.settings)
    }

    pub(super) fn select(&self, samples: &Samples) -> Samples {
        let table = samples.table();
        let column =
            |name: &str| self.kernel.parameters.iter().find(|parameter| parameter.name == name).map(|p| p.column);
        let matches = |row: usize, (name, value): &(&str, Value)| {
            let measured = column(name).and_then(|column| table.value(column, row));
            match (&measured, value) {
                (Some(Value::Text(measured)), Value::Text(value)) => measured == value,
                (Some(measured), value) => measured.as_f64() == value.as_f64(),
                (None, _) => false,
            }
        };
        let unset = |p: &&Parameter| self.settings.iter().all(|(name, _)| *name != p.name);
        samples.filter_rows(|row| {
            table.word("kernel", row) == self.kernel.id
                && table.number("ranks", row) == self.ranks as f64
                && self.settings.iter().all(|setting| matches(row, setting))
                && self
                    .kernel
                    .parameters
                    .iter()
                    .filter(unset)
                    .all(|p| p.default_value().is_none_or(|value| matches(row, &(p.name, value))))
        })
    }

    pub(super) fn estimate(&self, samples: &Samples) -> Option<Number> {
        let chosen = self.select(samples).good();
        let summary = chosen.summary(self.column)?;
        let Summary { min, median, max, interval, .. } = summary;
        let value = |value: f64| if self.inverse { self.factor / value } else { self.factor * value };
        let best = if self.column.ends_with("per_second") { max } else { min };
        let unsteady_runs = chosen.numbers("parts_alike").iter().filter(|&&pairs| pairs == 0.0).count();
        let number = Number {
            launches: Some(summary.launches),
            runs: Some(summary.n),
            unsteady_runs: Some(unsteady_runs).filter(|runs| *runs > 0),
            best: Some(value(best)),
            ..Number::new(value(median), self.number.entry.unit.symbol(), self.how(&summary, unsteady_runs))
        };
        let number = match range_of_few(&chosen, self.column, &summary).map(|(low, high)| (value(low), value(high))) {
            // An inverse exchanges the ends.
            Some((a, b)) => number.with_range(a.min(b), a.max(b)),
            None => number,
        };
        Some(match interval.map(|(low, high)| (value(low), value(high))) {
            Some((a, b)) => number.with_interval(a.min(b), a.max(b)),
            None => number,
        })
    }

    fn how(&self, summary: &Summary, unsteady_runs: usize) -> String {
        let settings = self.settings.iter().map(|(name, value)| format!(", {name} = {value}"));
        let settings: String = settings.collect();
        let quantity = match (self.inverse, self.factor) {
            (false, 1.0) => self.column.to_owned(),
            (false, times) => format!("{} x {}", units::short_number(times), self.column),
            (true, times) => format!("{} over {}", units::short_number(times), self.column),
        };
        let source = match summary.launches {
            1 => format!("median of {} runs within one launch", summary.n),
            launches => format!("geometric mean of the medians of {launches} launches, {} runs", summary.n),
        };
        let remark = match unsteady_runs {
            0 => String::new(),
            runs => format!("; no two parts in a row took the same time in {runs} of {}", summary.n),
        };
        format!("{quantity} of {} on {} ranks{settings}; {source}{remark}", self.kernel.id, self.ranks)
    }
}

/// Fewer launches, or fewer samples of a single launch, are shown with their range.
const FEW_LAUNCHES: usize = 6;

/// The least and the greatest of few launches' medians, or of few samples of a single launch.
fn range_of_few(samples: &Samples, column: &str, summary: &Summary) -> Option<(f64, f64)> {
    let medians = estimate::medians(&samples.launch_values(column));
    match medians.len() {
        0 => None,
        1 => (2..FEW_LAUNCHES).contains(&summary.n).then_some((summary.min, summary.max)),
        launches => (launches < FEW_LAUNCHES)
            .then(|| medians.iter().fold((f64::INFINITY, 0.0), |(a, b), &m| (m.min(a), m.max(b)))),
    }
}
