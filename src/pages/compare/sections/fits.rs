//! Parameters of models fitted to each machine, side by side.

use super::prelude::*;
use apexmap_base::units::amount;
use apexmap_study::model_fit::{self, formula};
use apexmap_theory::fit::{Estimate, Fit, Options};
use apexmap_theory::models::{self, Model};
use std::result::Result;

/// `apexmap fit` uses more.
const MAX_POINTS: usize = 150;

pub fn section(comparison: &Comparison) -> Option<Value> {
    let mut model_fits = Vec::new();
    let own = comparison.models.iter().map(|own| *own as &'static dyn Model);
    for model in models::ALL.iter().copied().chain(own) {
        for kernel in model.about().explains {
            let has = |machine: &&Machine| {
                machine.origin == Origin::Measured && machine.words("kernel").iter().any(|word| word == kernel)
            };
            if comparison.machines.iter().filter(has).count() > 1 {
                model_fits.extend(side_by_side(comparison, model, kernel));
            }
        }
    }
    (!model_fits.is_empty()).then(|| json!({ "fits": model_fits }))
}

fn side_by_side(comparison: &Comparison, model: &dyn Model, kernel: &str) -> Option<Value> {
    let mut fits: Vec<Option<Fit>> = Vec::new();
    let mut refused = Vec::new();
    for machine in comparison.machines {
        match fit_machine(machine, model, kernel) {
            Some(Ok(fit)) => fits.push(Some(fit)),
            Some(Err(why)) => {
                fits.push(None);
                refused.push(format!("{}: {why}", machine.name));
            }
            None => fits.push(None),
        }
    }
    if fits.iter().all(Option::is_none) && refused.is_empty() {
        return None;
    }
    let mut rows: Vec<Value> = Vec::new();
    for parameter in model.about().parameters {
        let estimate_of = |fit: &Option<Fit>| -> Option<Estimate> {
            fit.as_ref()?.estimates.iter().find(|estimate| estimate.number == parameter.number).cloned()
        };
        let estimates: Vec<Option<Estimate>> = fits.iter().map(estimate_of).collect();
        if estimates.iter().all(Option::is_none) {
            continue;
        }
        let unit = parameter.unit();
        let text =
            |e: &Estimate| format!("{} [{}, {}]", amount(e.value, unit), amount(e.low, unit), amount(e.high, unit));
        let ratio = |estimate: &Option<Estimate>| {
            let (Some(estimate), Some(base)) = (estimate, &estimates[0]) else { return String::new() };
            if base.value <= 0.0 || estimate.value <= 0.0 {
                return "-".into();
            }
            let apart = estimate.low > base.high || estimate.high < base.low;
            format!("{}{}", short_number(estimate.value / base.value), if apart { " (intervals disjoint)" } else { "" })
        };
        let ratios: Vec<String> = estimates[1..].iter().map(ratio).collect();
        let values: Vec<String> = estimates.iter().map(|e| e.as_ref().map(text).unwrap_or_default()).collect();
        rows.push(json!({ "name": parameter.label(), "values": values, "ratios": ratios }));
    }
    let errors = fits.iter().map(|fit| fit.as_ref().map(|fit| format!("{:.1} %", 100.0 * fit.quality.smape)));
    let errors: Vec<String> = errors.map(Option::unwrap_or_default).collect();
    let about = model.about();
    Some(json!({
        "model": about.id,
        "kernel": kernel,
        "summary": about.summary,
        "rows": rows,
        "errors": errors,
        "refused": refused,
    }))
}

fn fit_machine(machine: &Machine, model: &dyn Model, kernel: &str) -> Option<Result<Fit, String>> {
    let samples = machine.samples.with_kernel(kernel);
    if samples.is_empty() || machine.origin == Origin::Published || machine.transfer.is_some() {
        return None;
    }
    let roles = model_fit::roles(model, (&samples, machine.host()), machine.card.as_ref(), &formula::held(model), &[]);
    let options = Options { resamples: 0, leave_out: false, most_points: MAX_POINTS, ..Options::default() };
    let fit = model_fit::observations(&samples, model, &[]).and_then(|data| {
        let started = model.formula().map(|own| formula::start(own.clone(), &data, &roles)).transpose()?;
        data.fit(started.as_ref().map_or(model, |own| own), &roles, options)
    });
    Some(fit.map_err(|error| error.message))
}
