//! Models of the user: formulas in files.

use apexmap_base::error::Result;
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::formula::FormulaModel;
use std::path::Path;

/// Reads the formula of a model that is named by a file.
pub fn read(model: &str) -> Result<Option<FormulaModel>> {
    if model.ends_with(".toml") { FormulaModel::read(Path::new(model)).map(Some) } else { Ok(None) }
}

/// Returns a card without numbers, for a formula that needs none: it names the machine of the fit.
pub fn card_of(model: &dyn Model) -> Option<Card> {
    model.saved_formula().map(|saved| Card::new(&saved.machine, &saved.formula, &saved.source))
}
