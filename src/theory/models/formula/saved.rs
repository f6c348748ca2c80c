//! The file of a fitted formula, which `fit --save` writes and `predict` reads.
//!
//! ```toml
//! formula = "seconds = a + b * L"
//! column_unit = "s"
//! apexmap = "0.1.0"
//! machine = "node17"
//! source = "apexmap fit results/r --formula 'seconds = a + b * L' --fit a,b, of measured rates"
//! kernels = ["apex_map.sequential"]
//!
//! [variables]
//! L = "words"
//!
//! [parameters.a]
//! value = 1.2e-6
//! low = 1.1e-6
//! high = 1.3e-6
//! unit = "s"
//! how = "fitted; 95 % profile-likelihood interval"
//!
//! [domain]
//! L = [1.0, 4096.0]
//! kernel = "apex_map.sequential"
//! ```
//!
//! `[fit]` is the covariance of the fitted parameters, as on machine cards.

use super::{FormulaModel, ID, Names};
use crate::machine::{Card, Domain, JointFit};
use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::{self, TomlSource};
use apexmap_base::units::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Saved {
    pub formula: String,
    pub column_unit: String,
    /// Version of the program that fitted it.
    pub apexmap: String,
    pub machine: String,
    pub source: String,
    pub kernels: Vec<String>,
    /// The columns on the right side, with their units.
    pub variables: BTreeMap<String, String>,
    pub parameters: BTreeMap<String, OwnNumber>,
    /// Where the parameters hold.
    pub domain: Domain,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<JointFit>,
}

/// A parameter of a formula, in the base unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnNumber {
    pub value: f64,
    /// Lower end of the 95 % interval; both ends or neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Unit for people, if it follows from the formula.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    pub how: String,
}

/// Name of the unit of a column of another program.
pub const UNKNOWN_UNIT: &str = "unknown";

pub fn unit_name(unit: Option<Unit>) -> String {
    unit.map_or(UNKNOWN_UNIT, Unit::symbol).to_owned()
}

impl FormulaModel {
    /// Reads a file that `fit --save` wrote. Its numbers predict.
    pub fn read(path: &Path) -> Result<Self> {
        let help = "write it with `apexmap fit RESULT --formula '...' --fit a,b --save FILE.toml`";
        Self::parse(&toml_file::read_text(path, "fitted formula", help)?, path)
    }

    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let page = TomlSource { path, text, examples: "docs/models.md" };
        let saved: Saved = toml::from_str(text).map_err(|e| page.parse_error(&e))?;
        saved.check(path)?;
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self::from_saved(saved, &name.to_string_lossy())
    }
}

impl Saved {
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|e| Error::internal(format!("cannot write TOML: {e}")))
    }

    pub(super) fn names(&self) -> Names {
        let column = self.formula.split('=').next().unwrap_or_default().trim().to_owned();
        let variable = |(name, unit): (&String, &String)| (name.clone(), Unit::from_name(unit));
        Names {
            variables: self.variables.iter().map(variable).collect(),
            columns: vec![(column, Unit::from_name(&self.column_unit))],
            parameters: self.parameters.keys().cloned().collect(),
            kernels: self.kernels.clone(),
        }
    }

    pub fn card(&self) -> Card {
        Card::new(&self.machine, &self.formula, &self.source)
    }

    pub fn held(&self) -> Vec<(&str, f64)> {
        let is_fitted = |name: &String| self.fit.as_ref().is_some_and(|fit| fit.numbers.contains(name));
        let held = self.parameters.iter().filter(|(name, number)| number.low.is_none() && !is_fitted(name));
        held.map(|(name, number)| (name.as_str(), number.value)).collect()
    }

    fn check(&self, path: &Path) -> Result<()> {
        let wrong = |message: String| {
            let help = "correct the file, or write it again with `apexmap fit RESULT --formula '...' --save FILE.toml`";
            Err(Error::input(format!("{}: {message}", path.display()), help))
        };
        for (name, OwnNumber { value, low, high, .. }) in &self.parameters {
            let (least, most) = (low.unwrap_or(*value), high.unwrap_or(*value));
            let is_ordered = 0.0 <= least && least <= *value && *value <= most && most.is_finite();
            if !is_ordered || low.is_some() != high.is_some() {
                return wrong(format!("parameter {name} needs 0 <= low <= value <= high"));
            }
        }
        let Some(JointFit { model, numbers, t, noise, covariance, .. }) = &self.fit else { return Ok(()) };
        let is_square = covariance.len() == numbers.len() && covariance.iter().all(|row| row.len() == numbers.len());
        let is_valid = is_square
            && numbers.iter().all(|number| self.parameters.contains_key(number))
            && covariance.iter().flatten().chain([t, noise]).all(|value| value.is_finite())
            && (0..numbers.len()).all(|index| covariance[index][index] >= 0.0)
            && *noise >= 0.0;
        if !is_valid || model != ID {
            return wrong("the covariance in [fit] is not that of the parameters".to_owned());
        }
        Ok(())
    }
}
