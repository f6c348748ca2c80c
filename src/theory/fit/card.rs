//! Conversion of a fit to a machine card.

use super::optimum::Optimum;
use super::task::Task;
use super::{Fit, RateWords, interval};
use crate::machine::{Card, Domain, JointFit, Number, SIMULATED};
use crate::models::formula::{FormulaModel, OwnNumber, Saved, unit_name};
use crate::models::{Model, Parameter};
use crate::statistics::distributions::t_quantile;
use apexmap_base::error::Result;
use apexmap_base::units::plural;
use nalgebra::DMatrix;

impl Fit {
    /// Returns the parameters as a machine card. `domain` is that of the observations. It names simulated or imported rates.
    pub fn card(&self, name: &str, source: &str, domain: &Domain) -> Result<Card> {
        let words = RateWords::new(self.simulated.as_deref());
        let mut card = Card::new(name, &format!("parameters of {} fitted to a {}", self.model, words.source), source);
        if let Some(simulated) = &self.simulated {
            card.name += &format!(" ({})", words.rates);
            card.provenance.insert(SIMULATED.into(), simulated.as_str().into());
        }
        for (number, value) in &self.held {
            let how = match self.assumed.contains(number) {
                true => "typical: neither the points nor the machine give it",
                false => "given to the fit",
            };
            card.set_base(number, *value, how)?;
        }
        for estimate in &self.estimates {
            let how = format!(
                "fit of {} to {}; 95 % profile-likelihood interval",
                self.model,
                plural(self.quality.fitted_points, &format!("{} point", words.rates))
            );
            let name = card.set_base(estimate.number, estimate.value, &how)?;
            let (low, high) = if name == estimate.number {
                (estimate.low, estimate.high)
            } else {
                // The card holds the reciprocal, whose ends change places.
                (1.0 / estimate.high, 1.0 / estimate.low)
            };
            let number = card.numbers()[&name].clone();
            if low.is_finite() && high.is_finite() {
                card.set(
                    &name,
                    Number { low: Some(low.min(number.value)), high: Some(high.max(number.value)), ..number },
                )?;
            }
        }
        for hidden in &self.at_most {
            let how = format!("fit of {}: at most {}, which hides it", self.model, hidden.of);
            let name = card.set_base(hidden.number, hidden.value, &how)?;
            let number = card.numbers()[&name].clone();
            card.set(&name, Number { low: Some(0.0), high: Some(hidden.most.max(hidden.value)), ..number })?;
        }
        card.joint = self.joint.clone();
        card.domain = Some(domain.clone());
        Ok(card)
    }

    /// Returns the file of a fitted formula, with the arguments of [`Fit::card`]. Numbers of machine cards are not part of it.
    pub fn to_saved(&self, model: &FormulaModel, machine: &str, source: &str, domain: &Domain) -> Saved {
        let about = model.about();
        let own = |parameter: &&Parameter| parameter.own_unit.is_some();
        let number = |parameter: &Parameter| {
            let name = parameter.number;
            let unit = model.unit_text(name);
            let estimate = self.estimates.iter().find(|estimate| estimate.number == name);
            let held = self.held.iter().find(|(held, _)| *held == name);
            let number = match (estimate, held) {
                (Some(estimate), _) => {
                    let ends = [estimate.low.min(estimate.value), estimate.high.max(estimate.value)];
                    // The points may not bound a parameter.
                    let is_bounded = ends.iter().all(|end| end.is_finite());
                    let [low, high] = ends.map(|end| is_bounded.then_some(end));
                    let how = if is_bounded {
                        "fitted; 95 % profile-likelihood interval"
                    } else {
                        "fitted; no 95 % interval"
                    };
                    OwnNumber { value: estimate.value, low, high, unit, how: how.to_owned() }
                }
                (None, held) => {
                    OwnNumber { value: held?.1, low: None, high: None, unit, how: "given to the fit".to_owned() }
                }
            };
            Some((name.to_owned(), number))
        };
        Saved {
            formula: model.text().to_owned(),
            column_unit: unit_name(model.column_unit()),
            apexmap: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine.to_owned(),
            source: source.to_owned(),
            kernels: about.explains.iter().map(|kernel| (*kernel).to_owned()).collect(),
            variables: model.variable_units(),
            parameters: about.parameters.iter().filter(own).filter_map(number).collect(),
            domain: domain.clone(),
            fit: self.joint.clone(),
        }
    }
}

pub fn joint_fit(task: &Task, optimum: &Optimum, covariance: &DMatrix<f64>) -> JointFit {
    let about = task.model.about();
    let numbers = task.free.iter().map(|&index| about.parameters[index].number.to_owned()).collect();
    let (t, noise) = (t_quantile(task.freedom()), interval::variance(task, optimum));
    let mut joint = JointFit::new(about.id, numbers, task.freedom(), t, noise);
    for (i, row) in joint.covariance.iter_mut().enumerate() {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = covariance[(i, j)]);
    }
    joint
}
