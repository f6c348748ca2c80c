//! Tested errors: how far predictions from a card were from measurements to which none of the card's numbers was fitted.
//!
//! A test prints its SMAPE s, the mean of 2 |m - p| / (m + p), which is 2 tanh(|r| / 2) for the residual r = ln(m / p). If residuals are
//! normal about 0 with the standard deviation d, then s = E 2 tanh(d |z| / 2), which [`deviation`] solves for d; for small errors d is
//! sqrt(pi / 2) s. A bias of the whole test is a part of s, and so of d. The band of a prediction is exp(+-t d), where t is the quantile
//! of Student's t for 95 % and the points of the test less one.
//!
//! Errors of one model differ between machines and between runs. So the band uses the largest d of all tests of its kind:
//! with k tests, d of a further one is larger with probability 1 / (k + 1) at most, if tests are exchangeable.

use super::{About, RANKS};
use crate::paper_tables::table;
use crate::statistics::distributions::t_quantile;
use apexmap_base::reservation::Reservation;
use apexmap_base::units::exact_number;
use std::sync::LazyLock;

/// What was tested: one core, the ranks of one node, several nodes, or a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Core,
    Node,
    Nodes,
    Device,
}

impl Kind {
    const WORDS: [(&'static str, Kind); 4] =
        [("core", Kind::Core), ("node", Kind::Node), ("nodes", Kind::Nodes), ("device", Kind::Device)];
}

/// One test of a model, or of the simulation of a family of kernels. Errors are SMAPE as fractions.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// Id of the model, or `simulation FAMILY`.
    pub model: String,
    pub machine: String,
    pub kind: Kind,
    /// Smallest and largest number of ranks.
    pub ranks: (f64, f64),
    pub points: usize,
    /// Smallest and largest error of several runs.
    pub smape: (f64, f64),
    /// Share of the points within a factor of 1.25, likewise; `None` if it is not known.
    pub near: Option<(f64, f64)>,
    /// Smallest and largest ratio of predicted and measured rates; `None` if they are not known.
    pub ratios: Option<(f64, f64)>,
    pub is_banded: bool,
    /// Half the width of its band, in logarithms.
    pub width: f64,
    pub what: String,
}

pub static TESTS: LazyLock<Vec<Test>> = LazyLock::new(|| {
    let rows = table("tested-errors").expect("the table is a part of the program");
    let test = |row: usize| {
        let number = |column: &str| rows.number(row, column);
        let required = |column: &str| number(column).unwrap_or_else(|| panic!("row {row} has no {column}"));
        let (points, largest) = (required("points") as usize, required("smape_most") / 100.0);
        let kind = Kind::WORDS.into_iter().find(|(word, _)| *word == rows.word(row, "kind"));
        Test {
            model: rows.word(row, "model").to_owned(),
            machine: rows.word(row, "machine").to_owned(),
            kind: kind.unwrap_or_else(|| panic!("row {row} has no kind")).1,
            ranks: (required("ranks_least"), required("ranks_most")),
            points,
            smape: (required("smape_least") / 100.0, largest),
            near: number("near_least").zip(number("near_most")).map(|(least, most)| (least / 100.0, most / 100.0)),
            ratios: number("slowest").zip(number("fastest")),
            is_banded: rows.word(row, "banded") == "yes",
            width: t_quantile(points - 1) * deviation(largest),
            what: rows.word(row, "what").to_owned(),
        }
    };
    (0..rows.rows.len()).map(test).collect()
});

pub fn of_model(id: &str) -> Vec<&'static Test> {
    TESTS.iter().filter(|test| test.model == id && test.is_banded).collect()
}

/// Returns how much too fast simulations of several ranks on a node are, for kernels of this family; `None` if this was not tested.
pub fn of_simulation(family: &str) -> Option<Reservation> {
    let test = TESTS.iter().find(|test| test.model.strip_prefix("simulation ") == Some(family))?;
    let (least, most) = test.ratios?;
    Some(Reservation::TestedRatio {
        without: "a part of what ranks of a node share, such as the latency of loaded memory".into(),
        least,
        most,
        machine: test.machine.clone(),
        points: test.points,
    })
}

/// Returns the standard deviation of normal residuals ln(measured / predicted) with this SMAPE, a fraction below 2.
#[must_use]
pub fn deviation(smape: f64) -> f64 {
    // Simpson's rule on the positive half; beyond 9 standard deviations nothing is left.
    const STEPS: usize = 200;
    const END: f64 = 9.0;
    let mean = |deviation: f64| {
        let step = END / STEPS as f64;
        let term = |index: usize| {
            let z = index as f64 * step;
            let weight = if index == 0 || index == STEPS { 1.0 } else { 2.0 + 2.0 * (index % 2) as f64 };
            weight * 2.0 * (deviation * z / 2.0).tanh() * (-z * z / 2.0).exp()
        };
        (0..=STEPS).map(term).sum::<f64>() * step / 3.0 * std::f64::consts::FRAC_2_PI.sqrt()
    };
    let (mut low, mut high) = (0.0, 100.0);
    // Each step halves the interval. A double has fewer than 60 digits.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mean(middle) < smape { low = middle } else { high = middle }
    }
    high
}

/// What tests say about a prediction at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Tested {
    /// Half the width of the band of the model's error, in logarithms; `None` if the model was never tested.
    pub width: Option<f64>,
    pub reservations: Vec<Reservation>,
}

impl Tested {
    /// Chooses the tests of the point's kind among those of the model. Without any, the band uses all tests, and the point is untested.
    #[must_use]
    pub fn choose(about: &About, tests: &[&Test], x: &[f64]) -> Self {
        let kind = kind_of(about, x);
        let of_kind: Vec<&Test> =
            tests.iter().copied().filter(|test| kind.is_none_or(|kind| test.kind == kind)).collect();
        let mut reservations = Vec::new();
        let chosen = if of_kind.is_empty() { tests } else { &of_kind };
        let width = chosen.iter().map(|test| test.width).max_by(f64::total_cmp);
        if of_kind.is_empty() {
            reservations.push(Reservation::Untested);
        } else {
            reservations.push(total(&of_kind));
            reservations.extend(beyond_ranks(about, &of_kind, x));
        }
        Self { width, reservations }
    }
}

fn total(tests: &[&Test]) -> Reservation {
    let mut machines: Vec<&str> = tests.iter().map(|test| test.machine.as_str()).collect();
    machines.dedup();
    let fastest = tests.iter().filter_map(|test| test.ratios).map(|ends| ends.1).fold(0.0, f64::max);
    Reservation::TestedError {
        fastest: (fastest > 1.5).then_some(fastest),
        error: tests.iter().map(|test| test.smape.1).fold(0.0, f64::max),
        machine: machines.join(" and "),
        points: tests.iter().map(|test| test.points).sum(),
    }
}

fn beyond_ranks(about: &About, tests: &[&Test], x: &[f64]) -> Option<Reservation> {
    let ranks = x[about.variable_index(RANKS.name)?];
    let least = tests.iter().map(|test| test.ranks.0).fold(f64::INFINITY, f64::min);
    let most = tests.iter().map(|test| test.ranks.1).fold(0.0, f64::max);
    let [from, to] = [least, most].map(exact_number);
    let range = if from == to { from } else { format!("{from} to {to}") };
    (!(least..=most).contains(&ranks)).then(|| Reservation::Extrapolated { from: format!("tests with P = {range}") })
}

/// Returns the kind of a point; `None` if the model does not distinguish ranks of one node from several nodes.
fn kind_of(about: &About, x: &[f64]) -> Option<Kind> {
    let [ranks, on_node] = [RANKS.name, "ranks_per_node"].map(|name| about.variable_index(name).map(|index| x[index]));
    let (ranks, on_node) = (ranks?, on_node?);
    Some(match ranks {
        1.0 => Kind::Core,
        // 0 means all.
        ranks if on_node == 0.0 || on_node >= ranks => Kind::Node,
        _ => Kind::Nodes,
    })
}
