//! Models that users write as formulas over columns: `seconds = a + b * L / memory_bandwidth_bytes_per_second`.
//!
//! Names are variables (columns that identify points), parameters, and numbers of machine cards. The few texts of a formula
//! are leaked, because descriptions of models are static.

mod saved;

pub use saved::{OwnNumber, Saved, UNKNOWN_UNIT, unit_name};

use super::{About, Model, Parameter, Prediction, ValidNumbers, Variable};
use crate::machine::{CATALOGUE, inverse, meaning_of, unit_of};
use apexmap_base::condition::{Dimension, Formula, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::{nearest_name, suggest};
use apexmap_base::source::Source;
use apexmap_base::units::{Unit, WORD_BYTES};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Id of formulas on the command line. That of a formula in a file is the name of the file.
pub const ID: &str = "formula";

const WORD: &str = "word_bytes";

/// Bounds of a parameter, in multiples of its first guess.
const BOUNDS: (f64, f64) = (1e-12, 1e12);

const OWN: Source = Source { authors: "the user", title: "own formula", short: "own formula" };

#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Columns that identify points, with their units. `None` if the unit is not known.
    pub variables: Vec<(String, Option<Unit>)>,
    /// Measured columns. The left side is one of them.
    pub columns: Vec<(String, Option<Unit>)>,
    /// Numbers to fit, or with given values.
    pub parameters: Vec<String>,
    /// Kernels that measured these columns.
    pub kernels: Vec<String>,
}

impl Names {
    fn unit_of_variable(&self, name: &str) -> Option<Option<Unit>> {
        self.variables.iter().find(|(variable, _)| variable == name).map(|(_, unit)| *unit)
    }
}

#[derive(Clone, Debug)]
pub struct FormulaModel {
    about: &'static About,
    formula: Formula,
    inputs: Vec<Input>,
    text: String,
    is_linear_itself: bool,
    saved: Option<Saved>,
    units: Units,
}

/// The units of the names of a formula. `None` if not known.
#[derive(Clone, Debug)]
struct Units {
    column: Option<Unit>,
    variables: Vec<(String, Option<Unit>)>,
    parameters: Vec<(String, Dimension)>,
}

/// The meaning of a name of a formula. Indices are those of [`About`].
#[derive(Clone, Copy, Debug)]
enum Input {
    Variable(usize),
    Parameter(usize),
    WordBytes,
}

impl FormulaModel {
    /// Reads a formula. Its first guesses are 1; [`FormulaModel::start_from`] sets others.
    pub fn new(text: &str, names: &Names) -> Result<Self> {
        let (column, unit, start) = left_side(text, &names.columns)?;
        let formula = parse_right_side(text, start, names)?;
        let mut units = Units { column: unit, variables: Vec::new(), parameters: Vec::new() };
        let (mut variables, mut parameters, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
        for (name, dimension) in formula.names().iter().zip(dimensions(text, &formula, unit, names)?) {
            if let Some(unit) = names.unit_of_variable(name) {
                inputs.push(Input::Variable(variables.len()));
                variables.push(variable(name, unit.unwrap_or(Unit::None)));
                units.variables.push((name.clone(), unit));
            } else if name == WORD {
                inputs.push(Input::WordBytes);
            } else {
                inputs.push(Input::Parameter(parameters.len()));
                let is_own = names.parameters.contains(name);
                units.parameters.extend(dimension.filter(|_| is_own).map(|dimension| (name.clone(), dimension)));
                parameters.push(parameter(name, dimension, is_own));
            }
        }
        let varied: Vec<&str> = variables.iter().map(|variable: &Variable| variable.name).collect();
        let about = About {
            id: ID,
            summary: leak(&summary(text, &units)),
            source: &OWN,
            place: "not of a paper",
            design: leak(&format!("points with more values of {}", varied.join(", "))),
            variables: Vec::leak(variables),
            parameters: Vec::leak(parameters),
            explains: Vec::leak(names.kernels.iter().map(|kernel| leak(kernel)).collect()),
            column: leak(column),
            unit: unit.unwrap_or(Unit::None),
            linear: false,
            assumes: "positive parameters, the same at all points",
        };
        let about: &About = Box::leak(Box::new(about));
        let text = text.trim().to_owned();
        Ok(Self { about, formula, inputs, text, is_linear_itself: false, saved: None, units })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the file of the formula, whose numbers predict; `None` for a formula that was not fitted before.
    pub fn file(&self) -> Option<&Saved> {
        self.saved.as_ref()
    }

    pub fn column_unit(&self) -> Option<Unit> {
        self.units.column
    }

    pub fn variable_units(&self) -> BTreeMap<String, String> {
        self.units.variables.iter().map(|(name, unit)| (name.clone(), unit_name(*unit))).collect()
    }

    pub fn unit_text(&self, parameter: &str) -> Option<String> {
        self.dimension(parameter).map(|unit| unit.to_string())
    }

    pub fn compound_unit(&self, parameter: &str) -> Option<String> {
        self.dimension(parameter).filter(|unit| unit.unit().is_none()).map(|unit| unit.to_string())
    }

    fn dimension(&self, parameter: &str) -> Option<Dimension> {
        self.units.parameters.iter().find(|(name, _)| name == parameter).map(|(_, unit)| *unit)
    }

    /// Sets the first guesses, and whether the prediction itself or its reciprocal is linear in the fitted parameters.
    #[must_use]
    pub fn start_from(self, guesses: &[f64], linear: bool, is_linear_itself: bool) -> Self {
        let start = |(parameter, &guess): (&Parameter, &f64)| Parameter {
            first_guess: guess,
            min: guess * BOUNDS.0,
            max: guess * BOUNDS.1,
            ..*parameter
        };
        let parameters: Vec<Parameter> = self.about.parameters.iter().zip(guesses).map(start).collect();
        let about = Box::leak(Box::new(About { parameters: Vec::leak(parameters), linear, ..*self.about }));
        Self { about, is_linear_itself, ..self }
    }

    /// Reads the formula of a file, whose numbers then predict. A variable with one value in the fit has this value by default.
    fn from_saved(saved: Saved, id: &str) -> Result<Self> {
        let mut model = Self::new(&saved.formula, &saved.names())?;
        let with_default = |variable: &Variable| Variable {
            default: saved.domain.extent(variable.name).and_then(crate::machine::Extent::single),
            ..*variable
        };
        let variables = Vec::leak(model.about.variables.iter().map(with_default).collect());
        model.about = Box::leak(Box::new(About { id: leak(id), variables, ..*model.about }));
        Ok(Self { saved: Some(saved), ..model })
    }
}

impl Model for FormulaModel {
    fn about(&self) -> &'static About {
        self.about
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        assert_eq!((x.len(), p.len()), (self.about.variables.len(), self.about.parameters.len()), "as in About");
        let value = self.formula.evaluate_with(|name| match self.inputs[name] {
            Input::Variable(index) => x[index],
            Input::Parameter(index) => p[index],
            Input::WordBytes => WORD_BYTES as f64,
        });
        Prediction { value, bottleneck: ID }
    }

    fn is_linear_itself(&self) -> bool {
        self.is_linear_itself
    }

    fn formula(&self) -> Option<&FormulaModel> {
        Some(self)
    }
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn variable(name: &str, unit: Unit) -> Variable {
    let name = leak(name);
    // A variable of other models has the same valid numbers here.
    let namesake = super::ALL.iter().flat_map(|model| model.about().variables).find(|other| other.name == name);
    let valid = namesake.map_or(ValidNumbers::Any, |other| other.valid);
    Variable { valid, ..super::variables::variable(name, unit, name, None) }
}

fn parameter(name: &str, dimension: Option<Dimension>, is_own: bool) -> Parameter {
    let name = leak(name);
    let create = if is_own { Parameter::new_fitted } else { Parameter::new_given };
    let own_unit = is_own.then(|| dimension.and_then(Dimension::unit).unwrap_or(Unit::None));
    Parameter { own_unit, ..create(name, name, BOUNDS.0, BOUNDS.1, 1.0) }
}

fn left_side<'a>(text: &'a str, columns: &[(String, Option<Unit>)]) -> Result<(&'a str, Option<Unit>, usize)> {
    const HELP: &str = "write COLUMN = EXPRESSION, such as 'seconds = a + b * L'";
    let error = |span: Range<usize>, message: &str, help: String| {
        Error::input(message, help).with_location(Path::new("formula"), text, span)
    };
    let Some((left, _)) = text.split_once('=') else {
        return Err(error(0..text.len(), "the formula has no \"=\"", HELP.to_owned()));
    };
    let name = left.trim();
    let start = left.len() - left.trim_start().len();
    match columns.iter().find(|(column, _)| column == name) {
        Some((_, unit)) => Ok((name, *unit, left.len() + 1)),
        None if name.is_empty() => {
            Err(error(0..left.len() + 1, "the left side of the formula is missing", HELP.to_owned()))
        }
        None => {
            let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
            let message = format!("the left side must be one measured column, found \"{name}\"");
            Err(error(start..start + name.len(), &message, suggest(name, &names)))
        }
    }
}

fn summary(text: &str, units: &Units) -> String {
    let units: Vec<String> = units.parameters.iter().map(|(name, unit)| format!("{name} in {unit}")).collect();
    if units.is_empty() { text.trim().to_owned() } else { format!("{} ({})", text.trim(), units.join(", ")) }
}

/// Checks the units, and returns that of each name of the formula.
fn dimensions(text: &str, formula: &Formula, left: Option<Unit>, names: &Names) -> Result<Vec<Option<Dimension>>> {
    let dimension_of = |name: &str| match names.unit_of_variable(name) {
        Some(unit) => unit.map(Dimension::from_unit),
        None if name == WORD => Some(Dimension::BYTES_PER_WORD),
        None if names.parameters.iter().any(|parameter| parameter == name) => None,
        None => unit_of(name).map(Dimension::from_unit),
    };
    match left {
        Some(unit) => formula.dimensions(text, Dimension::from_unit(unit), &dimension_of),
        None => Ok(vec![None; formula.names().len()]),
    }
}

/// Parses the right side. Each parameter must occur there, and no parameter may be a column.
fn parse_right_side(text: &str, start: usize, names: &Names) -> Result<Formula> {
    let is_taken = |name: &&String| names.unit_of_variable(name).is_some() || *name == WORD;
    if let Some(both) = names.parameters.iter().find(is_taken) {
        let message = format!("{both} is a name of the result, so it cannot be a parameter, too");
        return Err(Error::input(message, "give the parameter another name, in the formula and in --fit"));
    }
    let of_result = names.variables.iter().map(|(name, _)| name).chain(&names.parameters).map(String::as_str);
    let of_result: Vec<&str> = of_result.chain([WORD]).collect();
    let inverses: Vec<String> = CATALOGUE.iter().filter_map(|entry| inverse(entry.name)).collect();
    let of_cards: Vec<&str> =
        CATALOGUE.iter().map(|entry| entry.name).chain(inverses.iter().map(String::as_str)).collect();
    let advise = |name: &str| {
        if names.columns.iter().any(|(column, _)| column == name) {
            return format!("{name} is measured, so it is no variable; use {}", of_result.join(", "));
        }
        let on_card = nearest_name(name, of_cards.iter().copied())
            .and_then(|near| Some(format!("; the nearest number of a machine card is {near} ({})", meaning_of(near)?)));
        let next = "name a number to fit with --fit, or one to hold with --hold NAME=VALUE";
        format!("{}{}; {next}", suggest(name, &of_result), on_card.unwrap_or_default())
    };
    let known_names: Vec<(&str, NameType)> =
        of_result.iter().chain(&of_cards).map(|name| (*name, NameType::Number)).collect();
    let formula = Formula::parse_from(text, start, &known_names, &advise)?;
    match names.parameters.iter().find(|name| !formula.names().contains(name)) {
        Some(unused) => {
            let used: Vec<&str> = formula.names().iter().map(String::as_str).collect();
            Err(Error::input(format!("the formula has no parameter \"{unused}\""), suggest(unused, &used)))
        }
        None => Ok(formula),
    }
}
