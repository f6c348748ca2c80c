//! Calls of functions in `quantities`.

use super::names::Names;
use crate::validate::predict;
use apexmap_base::error::{Error, Result};

/// A function call: the names it may use, and its arguments.
pub struct Call<'a> {
    pub names: &'a Names<'a>,
    /// Pairs of name and formula.
    pub arguments: Vec<(&'a str, &'a str)>,
}

impl Call<'_> {
    /// Returns an argument without evaluating it.
    pub fn word(&self, key: &str) -> Result<&str> {
        let argument = self.arguments.iter().find(|(name, _)| *name == key);
        argument.map(|(_, word)| *word).ok_or_else(|| Error::internal(format!("{key} is not given")))
    }

    pub fn number(&self, key: &str) -> Result<f64> {
        self.names.number(self.word(key)?)
    }

    /// Returns the values of all arguments.
    pub fn numbers(&self) -> Result<Vec<f64>> {
        self.arguments.iter().map(|(_, formula)| self.names.number(formula)).collect()
    }

    pub fn predict(&self, model: &str) -> Result<f64> {
        let variables = self.arguments.iter().filter(|(key, _)| *key != "card");
        let given: Vec<_> =
            variables.map(|(key, formula)| Ok((*key, self.names.number(formula)?))).collect::<Result<_>>()?;
        Ok(predict(model, self.word("card")?, &given)?.value)
    }
}
