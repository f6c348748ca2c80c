//! Analytic models: equations of the papers that predict a rate at a point from a machine's numbers.
//!
//! A model has one file and one line in [`ALL`], which predictions, fits, validation and help use. Its parameters are numbers
//! of machine cards, so the results of a fit or a calibration can be used for predictions elsewhere.

pub mod apex_map;
pub mod bottleneck;
mod combination;
pub mod domains;
pub mod formula;
pub mod hypercube;
pub mod log_gp;
pub mod nic;
pub mod point_to_point;
mod prelude;
pub mod published;
pub mod rivals;
pub mod roles;
pub mod scan;
pub mod shared_table;
pub mod tested;
pub mod topology;
mod variables;

pub use variables::{LOOK_AHEAD, RANKS, RANKS_PER_NODE, ValidNumbers, Variable};

use crate::machine::{Card, NumberName, Word, catalogue, entry_of, meaning_of, unit_of};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::source::Source;
use apexmap_base::units::Unit;
use variables::variable_value;

pub const ALL: &[&dyn Model] = &[
    &hypercube::Hypercube,
    &hypercube::AllToAll,
    &bottleneck::Bottleneck,
    &roles::Roles,
    &roles::Routed,
    &nic::Nic,
    &nic::Latency,
    &nic::Rounds,
    &apex_map::Surface,
    &apex_map::Reads,
    &apex_map::Requests,
    &apex_map::DeviceSurface,
    &apex_map::TWO_LEVEL,
    &apex_map::LINEAR,
    &apex_map::TWO_LEVEL_LINEAR,
    &point_to_point::PointToPoint,
    &log_gp::LogGp,
    &shared_table::LostUpdates,
    &shared_table::Locks,
];

/// Returns the model with this id, such as `random_access.hypercube`.
///
/// # Errors
/// If no model has this id. The error names the nearest one.
pub fn find(id: &str) -> Result<&'static dyn Model> {
    ALL.iter().copied().find(|model| model.about().id == id).ok_or_else(|| {
        let ids: Vec<_> = ALL.iter().map(|model| model.about().id).collect();
        Error::input(format!("there is no model \"{id}\""), suggest(id, &ids))
    })
}

/// A number of the machine that a model needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name on machine cards, which gives unit and meaning.
    pub number: &'static str,
    /// Symbol in the paper.
    pub symbol: &'static str,
    /// Lower bound of fits, in the base unit.
    pub min: f64,
    /// Upper bound of fits, in the base unit.
    pub max: f64,
    /// First guess of fits, in the base unit.
    pub first_guess: f64,
    /// Taken from a card or the machine, and fitted only on request: sizes, counts, and what data usually do not identify.
    pub is_given: bool,
    /// Relation to a place where the model jumps, such as a change of protocol.
    pub breaks: Break,
    /// Value if no source gives one.
    pub default: Option<f64>,
    /// Value for predictions from a card without the number. NaN makes the predictions that need it NaN.
    pub if_missing: Option<f64>,
    /// Whether fits may assume the first guess, with a label, if neither points, card nor machine give the parameter.
    pub is_first_guess_typical: bool,
    /// Base unit of a number that is not of machine cards, but of a formula.
    pub own_unit: Option<Unit>,
    /// Name with a qualifier, such as `barrier_seconds--many`, of the number that the model takes instead if a card has it.
    pub qualified: Option<&'static str>,
}

/// Relation of a parameter to a place where the model jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The parameter has no such relation.
    Unrelated,
    /// The parameter is that place: a value of this variable.
    Location(&'static str),
    /// The parameter is 0 if the model does not jump.
    ZeroWithoutBreak,
}

impl Parameter {
    /// Creates a parameter that fits estimate between these bounds.
    pub const fn new_fitted(number: &'static str, symbol: &'static str, min: f64, max: f64, first: f64) -> Self {
        Self {
            number,
            symbol,
            min,
            max,
            first_guess: first,
            is_given: false,
            breaks: Break::Unrelated,
            default: None,
            if_missing: None,
            is_first_guess_typical: false,
            own_unit: None,
            qualified: None,
        }
    }

    /// Allows fits to assume the first guess.
    pub const fn with_typical_guess(self) -> Self {
        Self { is_first_guess_typical: true, ..self }
    }

    /// Allows predictions from cards without the number.
    pub const fn with_value_if_missing(self, value: f64) -> Self {
        Self { if_missing: Some(value), ..self }
    }

    /// Takes the number with a qualifier from cards that have it.
    pub const fn preferring(self, qualified: &'static str) -> Self {
        Self { qualified: Some(qualified), ..self }
    }

    /// Returns the name of the number that the model takes from a card.
    pub fn name_on(&self, card: &Card) -> &'static str {
        self.qualified.filter(|name| card.get(name).is_some()).unwrap_or(self.number)
    }

    /// Creates a parameter that is taken from a machine card or the machine.
    pub const fn new_given(number: &'static str, symbol: &'static str, min: f64, max: f64, first: f64) -> Self {
        Self { is_given: true, ..Self::new_fitted(number, symbol, min, max, first) }
    }

    /// Creates a parameter that most machines do not have or do not report. It is 0 if no source gives it.
    pub const fn new_rare(number: &'static str, symbol: &'static str, most: f64) -> Self {
        Self { default: Some(0.0), ..Self::new_given(number, symbol, most * 1e-12, most, most * 1e-6) }
    }

    /// Returns the base unit of the number.
    pub fn unit(&self) -> Unit {
        self.own_unit.or_else(|| unit_of(self.number)).unwrap_or(Unit::None)
    }

    /// Returns the number with its symbol: `round_seconds (T_1)`.
    pub fn label(&self) -> String {
        label(self.number, self.symbol)
    }

    /// Returns the meaning of the number. For the inverse of a bandwidth, it explains the bandwidth.
    pub fn meaning(&self) -> String {
        meaning_of(self.number).unwrap_or_default()
    }
}

pub fn label(number: &str, symbol: &str) -> String {
    if number == symbol { number.to_owned() } else { format!("{number} ({symbol})") }
}

/// A prediction and the term of the model that sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Prediction {
    /// Rate in [`About::unit`].
    pub value: f64,
    /// Term that sets it: "latency", "bandwidth".
    pub bottleneck: &'static str,
}

/// Description of a model.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// `family.formula`, unique.
    pub id: &'static str,
    /// The formula or its subject, in one line.
    pub summary: &'static str,
    /// Paper of the model.
    pub source: &'static Source,
    /// Equation, table or section of the paper.
    pub place: &'static str,
    /// Inputs of a prediction, in the order of `x` in [`Model::predict`].
    pub variables: &'static [Variable],
    /// Numbers of the machine, in the order of `p` in [`Model::predict`].
    pub parameters: &'static [Parameter],
    /// Ids of the kernels whose measurements it explains; may be empty.
    pub explains: &'static [&'static str],
    /// Column of results that it predicts: `operations_per_second`.
    pub column: &'static str,
    /// Unit of that column.
    pub unit: Unit,
    /// Whether the reciprocal of the prediction is linear in the fitted parameters.
    pub linear: bool,
    /// Points that identify the parameters. The text follows the word "measure".
    pub design: &'static str,
    /// Effects that the model leaves out.
    pub assumes: &'static str,
}

/// What models of rates have in common.
const RATES: About = About {
    id: "",
    summary: "",
    source: &Source { authors: "", title: "", short: "" },
    place: "",
    variables: &[],
    parameters: &[],
    explains: &[],
    column: "operations_per_second",
    unit: Unit::PerSecond,
    linear: false,
    design: "",
    assumes: "",
};

impl About {
    /// Returns the index of a variable in `x` of [`Model::predict`]; `None` if the model has no variable of this name.
    #[must_use]
    pub fn variable_index(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable.name == name)
    }
}

/// An analytic model.
pub trait Model: Sync {
    /// Returns the description for help, fits and reports: id, variables, parameters, source.
    fn about(&self) -> &'static About;

    /// Predicts a rate at variables `x` with parameters `p`, both in the order of [`About`] and in base units.
    ///
    /// # Panics
    /// If the number of variables or parameters differs from that in [`About`].
    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction;

    /// Computes the rates at `x` with several lists of parameters, as [`Model::predict`] does with each: a fit needs all
    /// derivatives at a point. Models whose predictions have a common part compute it once.
    ///
    /// # Panics
    /// As [`Model::predict`], or if `rates` is not as long as `parameters`.
    fn predict_rates(&self, x: &[f64], parameters: &[Vec<f64>], rates: &mut [f64]) {
        assert_eq!(parameters.len(), rates.len(), "one rate per list");
        rates.iter_mut().zip(parameters).for_each(|(rate, p)| *rate = self.predict(x, p).value);
    }

    /// Returns the variables in the order of [`About`], from values by name, or else their defaults.
    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        self.about().variables.iter().map(|variable| variable_value(self.about(), variable, given)).collect()
    }

    /// Returns the seconds that each term adds to an operation at `x`; empty for models whose terms do not add up.
    fn budget(&self, _x: &[f64], _p: &[f64]) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Returns the value that a kernel fixes for a variable, such as the number of dimensions of its exchange.
    fn kernel_value(&self, _kernel: &str, _variable: &str) -> Option<f64> {
        None
    }

    /// Returns lists of numbers that ascend on every real machine: a nearer cache is not slower than a farther one.
    fn ascending_numbers(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Returns pairs of numbers where only the larger one shows: of a smaller first one, points show only that it is smaller.
    fn hidden_pairs(&self) -> &'static [[&'static str; 2]] {
        &[]
    }

    /// Returns the variables without a term: the parameters depend on them, so fit and predictions have one value.
    fn fixed_variables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns whether the model has few numbers, all from fits. Reports show such models briefly, next to each other.
    fn is_compact(&self) -> bool {
        false
    }

    /// Returns whether the prediction itself is linear in the fitted parameters, instead of its reciprocal, if [`About::linear`] is set.
    fn is_linear_itself(&self) -> bool {
        false
    }

    fn formula(&self) -> Option<&formula::FormulaModel> {
        None
    }

    /// Returns the parameters from a machine card, in the order of [`About`] and in base units.
    ///
    /// # Errors
    /// If the card does not have all of them.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        parameter_values(self.about().parameters, card, |parameter| card_number(card, parameter.name_on(card)))
    }
}

fn parameter_values(
    parameters: &[Parameter],
    card: &Card,
    value: impl Fn(&Parameter) -> Option<f64>,
) -> Result<Vec<f64>> {
    let values: Vec<Option<f64>> =
        parameters.iter().map(|parameter| value(parameter).or(parameter.if_missing)).collect();
    let missing = parameters.iter().zip(&values).filter(|(_, value)| value.is_none());
    let lacking: Vec<&str> = missing.map(|(parameter, _)| parameter.number).collect();
    if lacking.is_empty() { Ok(values.into_iter().flatten().collect()) } else { Err(card.missing_error(&lacking)) }
}

/// Converts variables or parameters to an array of the length that the model declares.
fn array<const N: usize>(values: &[f64]) -> [f64; N] {
    values.try_into().unwrap_or_else(|_| panic!("{} values instead of the model's {N}", values.len()))
}

fn tightest_bound(bounds: &[Prediction]) -> Prediction {
    *bounds.iter().min_by(|a, b| a.value.total_cmp(&b.value)).expect("a model has a bound")
}

/// Adds times. The largest is the bottleneck.
fn sum(parts: &[Prediction]) -> Prediction {
    let longest = parts.iter().max_by(|a, b| a.value.total_cmp(&b.value)).expect("a part");
    bound(parts.iter().map(|part| part.value).sum(), longest.bottleneck)
}

fn bound(value: f64, bottleneck: &'static str) -> Prediction {
    Prediction { value, bottleneck }
}

/// Returns a number of a card, or the sum of its parts. Of the sizes of a cache, the smaller of stated and measured counts:
/// other users, code, stack and indices occupy a part. Pages follow from the measured reach, and further senders from a poll
/// and from transfers between cores.
pub fn card_number(card: &Card, number: &str) -> Option<f64> {
    let cache = catalogue::CACHES.iter().find(|cache| cache.size.name == number);
    let measured = cache.and_then(|cache| card.get(cache.measured.name));
    let sum = || {
        if number == catalogue::TLB_ENTRIES.name {
            let reach = NumberName::new(catalogue::TLB_REACH_BYTES).with_qualifier([Word::Base]);
            return Some(card.get(&reach.to_string())? / card.granularity().base_page_bytes as f64);
        }
        if let Some(value) = sender_number(card, number) {
            return Some(value);
        }
        let composite = entry_of(number)?.composite?;
        let parts = composite.parts.iter().map(|part| card.get(part)).sum::<Option<f64>>()?;
        Some(parts + composite.overhead.and_then(|overhead| card.get(overhead)).unwrap_or(0.0))
    };
    let given = card.get(number).or_else(sum)?;
    Some(measured.map_or(given, |measured| measured.min(given)))
}

/// Returns a number of further senders of a process; `None` if messages do not travel over threads.
fn sender_number(card: &Card, number: &str) -> Option<f64> {
    if card.provenance.get("transport").and_then(|text| text.as_str()) != Some("threads") {
        return None;
    }
    if number == catalogue::SENDER_POLL_SECONDS.name {
        return card.get(catalogue::OPERATION_SECONDS.name);
    }
    let pairs = card.variants(catalogue::CORE_TO_CORE_SECONDS.name);
    let pairs = pairs.iter().filter_map(|pair| card.get(&pair.to_string()));
    let seconds: Vec<f64> = pairs.filter(|_| number == catalogue::SENDER_LINE_SECONDS.name).collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}
