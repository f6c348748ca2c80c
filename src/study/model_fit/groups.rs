//! Splits a result into groups that a model can be fitted to: one kernel each, with equal values of all columns that it ignores.

use super::{Data, by_point, parts, select_kernels, spans_kernels, values_at};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::point::Value;
use apexmap_base::units::plural;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns::{self, label};
use apexmap_theory::models::{Model, Variable};
use std::collections::HashSet;

#[derive(Clone, Debug)]
pub struct FitGroup {
    /// The kernel, then the values that distinguish this group: `apex_map.sequential, pages = huge`.
    pub label: String,
    pub samples: Samples,
    /// Number of different points of the model.
    pub points: usize,
}

/// The groups of the good samples within a model's domain, those with the most points first. [`left_out`] is about the others.
pub fn groups(samples: &Samples, model: &dyn Model) -> Result<Vec<FitGroup>> {
    let (mut groups, mut refusal) = (Vec::new(), None);
    let explains = model.about().explains;
    // Take one kernel at a time, or all at once.
    let kernel_sets: Vec<&[&str]> = if spans_kernels(model) { vec![explains] } else { explains.chunks(1).collect() };
    for kernels in kernel_sets {
        let (covered, others): (Vec<Samples>, Vec<Samples>) = parts(&select_kernels(samples, kernels), model)
            .into_iter()
            .partition(|part| values_at(part, model, &[]).is_ok());
        if let (true, Some(part)) = (covered.is_empty(), others.first()) {
            refusal = refusal.or(values_at(part, model, &[]).err().map(|refusal| without_points(model, refusal)));
        }
        let mut rows: Vec<usize> = covered.iter().flat_map(|part| part.rows()).copied().collect();
        rows.sort_unstable();
        let samples = samples.with_rows(rows);
        let points = by_point(&samples, model, &[])?;
        let splits = splits(&samples, model, &points);
        for (key, samples) in split(&samples, &splits) {
            let names = splits.iter().zip(&key).filter_map(|(name, value)| Some(label(name, value.as_ref()?)));
            let label = std::iter::once(super::kernels(&samples)).chain(names).collect::<Vec<_>>().join(", ");
            let group_rows: HashSet<usize> = samples.rows().iter().copied().collect();
            let is_here = |point: &Samples| point.rows().iter().any(|row| group_rows.contains(row));
            let points = points.iter().filter(|(_, samples)| is_here(samples)).count();
            groups.push(FitGroup { label, samples, points });
        }
    }
    if let (true, Some(refusal)) = (groups.is_empty(), refusal) {
        return Err(refusal);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.points));
    Ok(groups)
}

/// The number of points outside the model's domain although it explains their kernel, and the first reason.
pub fn left_out(samples: &Samples, model: &dyn Model) -> Option<(usize, Error)> {
    let refusal = |part: Samples| values_at(&part, model, &[]).err();
    let mut refusals = parts(&select_kernels(samples, model.about().explains), model).into_iter().filter_map(refusal);
    let first = refusals.next()?;
    Some((1 + refusals.count(), first))
}

type Part = (Vec<Option<Value>>, Samples);

/// Samples of a kernel without a column join every value of that column.
fn split(samples: &Samples, splits: &[&str]) -> Vec<Part> {
    let key = |part: &Samples| splits.iter().map(|name| part.first_value(name)).collect();
    let parts: Vec<Part> = samples.group_by(splits).into_iter().map(|part| (key(&part), part)).collect();
    let goes_with = |key: &[Option<Value>], other: &[Option<Value>]| {
        key != other && key.iter().zip(other).all(|(a, b)| a.is_none() || a == b)
    };
    let (lone, whole): (Vec<Part>, Vec<Part>) = {
        let candidates = parts.clone();
        parts.into_iter().partition(|(key, _)| candidates.iter().any(|(other, _)| goes_with(key, other)))
    };
    let join = |(other, part): Part| {
        let lone = lone.iter().filter(|(key, _)| goes_with(key, &other)).flat_map(|(_, part)| part.rows());
        let rows = part.rows().iter().chain(lone).copied().collect();
        (other, samples.with_rows(rows))
    };
    whole.into_iter().map(join).collect()
}

/// The columns that differ among the samples of a point of the model, or that identify a machine.
fn splits<'a>(samples: &'a Samples, model: &dyn Model, points: &[(Vec<f64>, Samples)]) -> Vec<&'a str> {
    let names = columns::point_columns(samples.table()).into_iter().filter(|name| !["seed", "kernel"].contains(name));
    let differs = |name: &&str| {
        let separates = super::OF_MACHINES.contains(name) || model.fixed_variables().contains(&columns::short(name));
        separates && !samples.is_constant(name) || points.iter().any(|(_, point)| !point.is_constant(name))
    };
    names.filter(differs).collect()
}

/// A refusal of points that scatter also says how many samples are disturbed, and whether launches were oversubscribed.
pub fn add_noise(refusal: Error, data: &Data) -> Error {
    if refusal.kind != ErrorKind::Measurement {
        return refusal;
    }
    let disturbed = format!("{} of {} are disturbed", data.disturbed, plural(data.samples, "sample"));
    let reasons = [
        (data.disturbed > 0).then_some(disturbed),
        data.oversubscribed.then(|| "some launches have more ranks than hardware threads".to_owned()),
    ];
    let reasons = reasons.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if reasons.is_empty() { refusal } else { Error { message: format!("{} ({reasons})", refusal.message), ..refusal } }
}

/// If the model covers no point of the whole result, no condition selects one.
pub fn complete_refusal(refusal: Error, model: &dyn Model, whole: &Samples) -> Error {
    let about = model.about();
    // The user can give a variable that the result does not have.
    let is_known = |variable: &Variable| variable.default.is_some() || whole.has(columns::resolve(variable.name));
    let parts = parts(&select_kernels(whole, about.explains), model);
    let covers_none = parts.iter().all(|part| values_at(part, model, &[]).is_err());
    let is_about_points = !parts.is_empty() && about.variables.iter().all(is_known);
    if is_about_points && covers_none { without_points(model, refusal) } else { refusal }
}

fn without_points(model: &dyn Model, refusal: Error) -> Error {
    Error { help: format!("this result has no such point: measure {}", model.about().design), ..refusal }
}

/// The error about a result without a sample of a kernel of the model.
pub fn no_sample_error(model: &dyn Model) -> Error {
    let about = model.about();
    let next = match about.explains {
        [] => "choose another model: no kernel measures the rates of this one".to_owned(),
        kernels => format!("widen --where, or run a sweep of {}", kernels.join(" or ")),
    };
    Error::input(format!("the result has no successful sample of a kernel that {} models", about.id), next)
}
