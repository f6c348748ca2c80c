//! Models of the user: formulas in files.

use apexmap_base::error::{Error, Result};
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use apexmap_theory::models::formula::{FormulaModel, Saved};
use std::path::Path;

/// The flag of commands that fit all models.
#[derive(clap::Args)]
pub struct OwnModels {
    /// Also fit your own model: a file of `apexmap fit --formula ... --save FILE.toml`; may be given several times
    #[arg(long = "model", value_name = "FILE.toml")]
    models: Vec<String>,
}

impl OwnModels {
    /// The models stay in memory until the end of the program, as built-in ones do.
    pub fn read(&self) -> Result<Vec<&'static FormulaModel>> {
        let mut models: Vec<&'static FormulaModel> = Vec::new();
        for name in &self.models {
            let Some(model) = read(name)? else {
                let next = "name a file that `apexmap fit RESULT --formula '...' --save FILE.toml` wrote";
                return Err(Error::input(format!("--model {name}: the built-in models take part anyway"), next));
            };
            if models.iter().any(|other| other.about().id == model.about().id) {
                let message = format!("two models are called {}", model.about().id);
                return Err(Error::input(message, "rename a file; figures and tables have the names of the files"));
            }
            models.push(Box::leak(Box::new(model)));
        }
        Ok(models)
    }
}

pub fn read(model: &str) -> Result<Option<FormulaModel>> {
    if model.ends_with(".toml") { FormulaModel::read(Path::new(model)).map(Some) } else { Ok(None) }
}

/// The card of a formula that needs no numbers names the machine of the fit.
pub fn card_of(model: &dyn Model) -> Option<Card> {
    model.formula()?.file().map(Saved::card)
}
