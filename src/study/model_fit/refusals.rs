//! Refusals of fits: what disturbed the samples, and the next step.

use super::{Data, parts, select_kernels, values_at};
use apexmap_base::error::{Error, ErrorKind};
use apexmap_base::units::plural;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_theory::models::{Model, Variable};

/// Adds to a refusal of points that scatter how many samples are disturbed, and whether launches were oversubscribed.
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

/// Completes a refusal of some samples of a result. If the model covers no point of the whole result, no condition selects one.
pub fn complete_refusal(refusal: Error, model: &dyn Model, whole: &Samples) -> Error {
    let about = model.about();
    // The user can give a variable that the result does not have.
    let is_known = |variable: &Variable| variable.default.is_some() || whole.has(columns::resolve(variable.name));
    let parts = parts(&select_kernels(whole, about.explains), model);
    let covers_none = parts.iter().all(|part| values_at(part, model, &[]).is_err());
    let is_about_points = !parts.is_empty() && about.variables.iter().all(is_known);
    if is_about_points && covers_none { without_points(model, refusal) } else { refusal }
}

/// Replaces the help of a refusal of all points of a result.
pub(super) fn without_points(model: &dyn Model, refusal: Error) -> Error {
    Error { help: format!("this result has no such point: measure {}", model.about().design), ..refusal }
}

/// Creates the error about a result without a sample of a kernel of the model.
pub fn no_sample_error(model: &dyn Model) -> Error {
    let about = model.about();
    let next = match about.explains {
        [] => "choose another model: no kernel measures the rates of this one".to_owned(),
        kernels => format!("widen --where, or run a sweep of {}", kernels.join(" or ")),
    };
    Error::input(format!("the result has no successful sample of a kernel that {} models", about.id), next)
}
