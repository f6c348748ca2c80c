//! Analytic models: equations of the papers that predict a rate at a point from a machine's numbers.
//!
//! A model is one file and one line in [`ALL`]; predictions, fits, validation and help find it there. Its parameters are
//! numbers of machine cards, so what a fit or a calibration finds predicts elsewhere.

pub mod apex_map;
pub mod bottleneck;
pub mod hypercube;
pub mod locks;
pub mod log_gp;
pub mod lost_updates;
pub mod nic;
pub mod point_to_point;
pub mod roles;
pub mod scan;
pub mod topology;

use crate::machine::{Card, PUBLISHED, entry_of, meaning_of, unit_of};
use apexmap_base::error::{Error, Result};
use apexmap_base::nearest::suggest;
use apexmap_base::source::Source;
use apexmap_base::units::Unit;

/// Every model of the program.
pub const ALL: &[&dyn Model] = &[
    &hypercube::Hypercube,
    &hypercube::AllToAll,
    &bottleneck::Bottleneck,
    &roles::Roles,
    &roles::Routed,
    &nic::Nic,
    &nic::Latency,
    &apex_map::Surface,
    &apex_map::Reads,
    &apex_map::Requests,
    &apex_map::TWO_LEVEL,
    &apex_map::LINEAR,
    &apex_map::TWO_LEVEL_LINEAR,
    &point_to_point::PointToPoint,
    &log_gp::LogGp,
    &lost_updates::LostUpdates,
    &locks::Locks,
];

/// The model with this id, such as `random_access.hypercube`.
///
/// # Errors
/// If there is none: the error names the nearest one.
pub fn find(id: &str) -> Result<&'static dyn Model> {
    ALL.iter().copied().find(|model| model.about().id == id).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|model| model.about().id).collect();
        Error::input(format!("there is no model \"{id}\""), suggest(id, &known))
    })
}

/// What a prediction is made at: a parameter of a kernel by the paper's name, or `P`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variable {
    /// Its name in the paper: `L`, `Q`, `P`, `message_bytes`.
    pub name: &'static str,
    /// The base unit that it is given in.
    pub unit: Unit,
    /// A few words for help: "ranks".
    pub meaning: &'static str,
    /// Its value where none is given; `None` if it must be.
    pub default: Option<f64>,
    /// The words it may be, if it is one: its value is their index.
    pub words: &'static [&'static str],
    /// Which values make sense.
    pub domain: Domain,
}

/// Which numbers a variable may be, none of them negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Any number from 0 on.
    Any,
    /// Whole, from 1 to 2^31: as many ranks as MPI can count.
    Ranks,
    /// Above 0, at most 1.
    Share,
}

impl Domain {
    /// Refuses a number outside, by what it must be and what to do.
    pub fn check(self, value: f64) -> std::result::Result<(), (&'static str, &'static str)> {
        match self {
            Domain::Ranks if value < 1.0 || value.fract() != 0.0 || value > 2147483648.0 => {
                Err(("a whole number of ranks", "write 1 or more, at most 2^31"))
            }
            Domain::Share if value <= 0.0 || value > 1.0 => Err(("above 0 and at most 1", "correct the value")),
            _ => Ok(()),
        }
    }
}

/// A number of the machine that a model needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name on machine cards, which gives unit and meaning.
    pub number: &'static str,
    /// Its name in the paper.
    pub symbol: &'static str,
    /// Lower bound of fits, in the base unit.
    pub least: f64,
    /// Upper bound of fits, in the base unit.
    pub most: f64,
    /// First guess of fits, in the base unit.
    pub first: f64,
    /// Taken from a card or the machine, never fitted unless asked: sizes, counts, or what the data cannot identify.
    pub given: bool,
    /// Whether it has to do with a place where the model jumps, such as a switch of protocols.
    pub breaks: Break,
    /// What it is where nobody gives it.
    pub otherwise: Option<f64>,
}

/// Whether a parameter has to do with a place where the model jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The model does not jump there.
    No,
    /// It is that place, a value of this variable.
    At(&'static str),
    /// It is 0 where there is no such place.
    Beside,
}

impl Parameter {
    /// Found from measurements, between these bounds.
    pub const fn fitted(number: &'static str, symbol: &'static str, least: f64, most: f64, first: f64) -> Self {
        Self { number, symbol, least, most, first, given: false, breaks: Break::No, otherwise: None }
    }

    /// Taken from a machine card, or from the machine.
    pub const fn given(number: &'static str, symbol: &'static str, least: f64, most: f64, first: f64) -> Self {
        Self { number, symbol, least, most, first, given: true, breaks: Break::No, otherwise: None }
    }

    /// What most machines do not have, or do not tell: 0 where nobody gives it.
    pub const fn rare(number: &'static str, symbol: &'static str, most: f64) -> Self {
        Self { otherwise: Some(0.0), ..Self::given(number, symbol, most * 1e-12, most, most * 1e-6) }
    }

    /// Base unit of the number.
    pub fn unit(&self) -> Unit {
        unit_of(self.number).unwrap_or(Unit::None)
    }

    /// What the number is; for the inverse of a bandwidth what the bandwidth is.
    pub fn meaning(&self) -> String {
        meaning_of(self.number).unwrap_or_default()
    }
}

/// A prediction and which of the model's terms sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// The rate, in [`About::unit`].
    pub value: f64,
    /// The term that sets it: "latency", "bandwidth".
    pub bottleneck: &'static str,
}

/// What a model is.
#[derive(Debug)]
pub struct About {
    /// `family.formula`, unique.
    pub id: &'static str,
    /// The formula, or what it is of, in one line.
    pub summary: &'static str,
    /// The paper that it is from.
    pub source: &'static Source,
    /// Equation, table or section of the paper.
    pub place: &'static str,
    /// What a prediction is made at, in the order of `x` in [`Model::predict`].
    pub variables: &'static [Variable],
    /// The numbers of the machine, in the order of `p` in [`Model::predict`].
    pub parameters: &'static [Parameter],
    /// Ids of the kernels whose measurements it explains; empty if there is none yet.
    pub explains: &'static [&'static str],
    /// Column of results that it predicts: `operations_per_second`.
    pub column: &'static str,
    /// The unit of that column.
    pub unit: Unit,
    /// Whether the reciprocal of the prediction is linear in the fitted parameters.
    pub linear: bool,
    /// The points that identify its parameters, after "measure".
    pub design: &'static str,
    /// What it leaves out.
    pub assumes: &'static str,
}

/// An equation.
pub trait Model: Sync {
    /// The description that help, fits and reports take: id, variables, parameters, source.
    fn about(&self) -> &'static About;

    /// Predicts at variables `x` with parameters `p`, both in the order of [`About`] and in base units.
    /// # Panics
    /// If there are not as many variables and parameters as [`About`] lists.
    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction;

    /// The variables, in the order of [`About`], from what a point or the user gives by name; the others get their defaults.
    ///
    /// # Errors
    /// If one that has no default is missing.
    fn variables(&self, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
        self.about().variables.iter().map(|variable| value_of(self.about(), variable, given)).collect()
    }

    /// What each term adds to the time of an operation at `x` with parameters `p`, in seconds: the error budget. Empty for models whose
    /// terms do not add up.
    fn budget(&self, _x: &[f64], _p: &[f64]) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The value that a kernel settles for a variable, such as the number of dimensions of its exchange.
    fn of_kernel(&self, _kernel: &str, _variable: &str) -> Option<f64> {
        None
    }

    /// Numbers that no real machine has in another order, each list from the least: a nearer cache is no slower than a farther one.
    fn ascending(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Pairs of numbers of which only the larger shows. Where the first is the smaller one, all that points can tell is that it is at
    /// most the second.
    fn hidden(&self) -> &'static [[&'static str; 2]] {
        &[]
    }

    /// Variables of which a fit may have one value only: the parameters are those of that value.
    fn apart(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether it has a handful of numbers that only fits give: reports show such models briefly, and beside each other.
    fn compact(&self) -> bool {
        false
    }

    /// The parameters, in the order of [`About`] and in base units, from a machine card.
    ///
    /// # Errors
    /// If the card lacks one.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        each_of(self.about().parameters, card, |parameter| on_card(card, parameter.number))
    }
}

/// A value for each parameter.
///
/// # Errors
/// If some have none: the error names all of them.
fn each_of(parameters: &[Parameter], card: &Card, value: impl Fn(&Parameter) -> Option<f64>) -> Result<Vec<f64>> {
    let values: Vec<Option<f64>> = parameters.iter().map(value).collect();
    let lacking = parameters.iter().zip(&values).filter(|(_, value)| value.is_none()).map(|(one, _)| one.number);
    let lacking: Vec<&str> = lacking.collect();
    if lacking.is_empty() { Ok(values.into_iter().flatten().collect()) } else { Err(card.lacking(&lacking)) }
}

/// The published machines whose cards have all numbers that a model needs, by the names that users write.
pub fn published_machines(model: &dyn Model) -> Vec<&'static str> {
    let has_all = |name: &&str| Card::find(name).is_ok_and(|card| model.parameters(&card).is_ok());
    PUBLISHED.iter().map(|(name, _)| *name).filter(has_all).collect()
}

/// A variable from what is given by name, or its default.
fn value_of(about: &About, variable: &Variable, given: &dyn Fn(&str) -> Option<f64>) -> Result<f64> {
    given(variable.name).or(variable.default).ok_or_else(|| {
        let (id, name) = (about.id, variable.name);
        Error::input(format!("{id} needs {name} ({})", variable.meaning), format!("give it: --set {name}=..."))
    })
}

const fn variable(name: &'static str, unit: Unit, meaning: &'static str, default: Option<f64>) -> Variable {
    Variable { name, unit, meaning, default, words: &[], domain: Domain::Any }
}

const RANKS: Variable = Variable { domain: Domain::Ranks, ..variable("P", Unit::None, "ranks", None) };
const LOOK_AHEAD: Variable =
    variable("Q", Unit::None, "look-ahead: updates that a rank generates per round", Some(1024.0));

/// A number of a card, or the sum of its parts on the card. The size of a cache is the measured one where that is smaller: others may use
/// it, too, and code, stack and indices lie there.
pub fn on_card(card: &Card, number: &str) -> Option<f64> {
    let level = number.strip_suffix("_bytes").filter(|level| ["l1", "l2", "l3"].contains(level));
    let measured = level.and_then(|level| card.get(&format!("{level}_measured_bytes")));
    let sum = || {
        let composite = entry_of(number)?.composite?;
        let parts = composite.parts.iter().map(|part| card.get(part)).sum::<Option<f64>>()?;
        Some(parts + composite.overhead.and_then(|overhead| card.get(overhead)).unwrap_or(0.0))
    };
    let given = card.get(number).or_else(sum)?;
    Some(measured.map_or(given, |measured| measured.min(given)))
}

/// The variables of a model that is about one word of a variable only, which is its default.
fn of_one_word(about: &About, variable: &Variable, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
    let name = variable.name;
    if let Some(wanted) = variable.default.filter(|wanted| given(name).is_some_and(|word| word != *wanted)) {
        let word = variable.words[wanted as usize];
        return Err(Error::input(
            format!("{} is about {name} = \"{word}\"", about.id),
            format!("choose such points with --where '{name} == \"{word}\"'"),
        ));
    }
    about.variables.iter().map(|variable| value_of(about, variable, given)).collect()
}

/// The variables of a model of tables that cores share, updated in one way only. A point may ask for all cores, without saying how
/// many they are; its result does.
fn of_shared_table(about: &About, updates_by: &Variable, given: &dyn Fn(&str) -> Option<f64>) -> Result<Vec<f64>> {
    let known = |name: &str| if name == "cores" { given("cores_used").or_else(|| given(name)) } else { given(name) };
    of_one_word(about, updates_by, &known)
}

/// Variables or parameters, as many as the model declares.
fn array<const N: usize>(values: &[f64]) -> [f64; N] {
    values.try_into().unwrap_or_else(|_| panic!("{} values instead of the model's {N}", values.len()))
}

/// The smallest prediction of several: the bottleneck.
fn least(bounds: &[Prediction]) -> Prediction {
    *bounds.iter().min_by(|a, b| a.value.total_cmp(&b.value)).expect("a model has a bound")
}

fn bound(value: f64, bottleneck: &'static str) -> Prediction {
    Prediction { value, bottleneck }
}
