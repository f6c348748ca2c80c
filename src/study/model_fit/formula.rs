//! Formulas of users over the columns of a result.

use apexmap_base::error::Result;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::{self, Role, USED_NODES};
use apexmap_theory::fit::{Role as FitRole, first_guess};
use apexmap_theory::models::formula::{FormulaModel, Names, Saved};
use apexmap_theory::models::{Model, scan};

use super::Data;

/// The names that a formula may have for these samples, with these parameters.
pub fn names(samples: &Samples, parameters: Vec<String>) -> Names {
    let samples = samples.good();
    let is_number = |name: &&str| samples.has(name) && samples.column(name).is_some_and(|column| !column.is_words());
    let kernels: Vec<String> = samples.words("kernel").into_iter().map(str::to_owned).collect();
    let of_points = columns::point_columns(samples.table());
    let mut names = Names { parameters, kernels, ..Names::default() };
    for name in samples.table().names().iter().map(String::as_str).filter(is_number) {
        let described = columns::describe_of(name, names.kernels.iter().map(String::as_str));
        let unit = (described.role != Role::Unknown).then_some(described.unit);
        if of_points.contains(&name) || name == USED_NODES {
            if described.symbol != name {
                names.variables.push((described.symbol, unit));
            }
            names.variables.push((name.to_owned(), unit));
        } else if matches!(described.role, Role::Output | Role::Rate | Role::Unknown) {
            names.columns.push((name.to_owned(), unit));
        }
    }
    if is_number(&USED_NODES) {
        names.variables.push(("ranks_per_node".to_owned(), Some(apexmap_base::units::Unit::None)));
    }
    names
}

/// The parameters of a model that the file of its formula holds at a value.
pub fn held(model: &dyn Model) -> Vec<(&'static str, f64)> {
    let held = model.formula().and_then(FormulaModel::file).map(Saved::held).unwrap_or_default();
    let own_name = |(name, value): (&str, f64)| Some((scan::parameter(model, name)?.number, value));
    held.into_iter().filter_map(own_name).collect()
}

/// The first guesses of a formula follow from its data.
pub fn start(model: FormulaModel, data: &Data, roles: &[FitRole]) -> Result<FormulaModel> {
    let guess = first_guess::search(&model, &data.observations, roles)?;
    Ok(model.start_from(&guess.values, guess.linear, guess.is_linear_itself))
}
