//! The predictions of the models at a cell, with their terms.

use apexmap_base::error::Result;
use apexmap_results::samples::Samples;
use apexmap_study::model_fit;
use apexmap_theory::models::Model;
use serde::Serialize;
use std::collections::HashSet;

/// With its parameters, and the samples that it was fitted to or predicted for.
pub struct AppliedModel {
    model: &'static dyn Model,
    /// `fitted`, or `predicted from the card of NAME`.
    origin: String,
    /// In the model's order.
    parameters: Vec<f64>,
    pub smape: f64,
    rows: HashSet<usize>,
}

impl AppliedModel {
    pub fn new(
        model: &'static dyn Model,
        origin: String,
        (parameters, smape): (Vec<f64>, f64),
        samples: &Samples,
    ) -> Self {
        Self { model, origin, parameters, smape, rows: samples.rows().iter().copied().collect() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellTerms {
    /// `apex_map.surface, fitted`
    pub model: String,
    /// That it predicts.
    pub column: &'static str,
    pub predicted: f64,
    /// `memory 61 %, TLB 30 %`; the bottleneck if terms do not add up; empty for formulas
    pub terms: String,
}

/// Finite ones at the point of these samples, in the order of the models.
pub fn terms_at(samples: &Samples, models: &[AppliedModel]) -> Result<Vec<CellTerms>> {
    let Some(row) = samples.rows().first() else { return Ok(Vec::new()) };
    let relevant = models.iter().filter(|applied| applied.rows.contains(row));
    let terms: Vec<CellTerms> = relevant.map(|applied| terms(samples, applied)).collect::<Result<_>>()?;
    Ok(terms.into_iter().filter(|terms| terms.predicted.is_finite()).collect())
}

fn terms(samples: &Samples, applied: &AppliedModel) -> Result<CellTerms> {
    let about = applied.model.about();
    let x = model_fit::values_at(samples, applied.model, &[])?;
    let prediction = applied.model.predict(&x, &applied.parameters);
    let budget = model_fit::budget(&applied.model.budget(&x, &applied.parameters));
    Ok(CellTerms {
        model: format!("{}, {}", about.id, applied.origin),
        column: about.column,
        predicted: prediction.value,
        terms: match applied.model.formula() {
            Some(_) => String::new(),
            None if budget.is_empty() => prediction.bottleneck.to_owned(),
            None => budget,
        },
    })
}
