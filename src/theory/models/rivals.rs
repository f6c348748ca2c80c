//! Other models of the same kernel: predictions from one card that contradict each other.

use super::scan::{Numbers, ScanPoint, scan_point};
use super::{ALL, Model};
use crate::machine::Card;
use apexmap_base::reservation::Reservation;

/// The factor by which a model without a band may be wrong, as in the verdict of a fit.
const WITHOUT_BAND: f64 = 1.25;

/// Adds a reservation to rows where another model of a kernel predicts a rate from the same card that differs by more than both
/// bands, in quadrature. Others that extrapolate, or lack a number, are left out.
pub fn add_disagreements(model: &dyn Model, card: &Card, replaced: &[(String, f64)], rows: &mut [ScanPoint]) {
    let about = model.about();
    let is_rival = |other: &&&dyn Model| other.about().id != about.id && other.about().column == about.column;
    for other in ALL.iter().filter(is_rival) {
        let has_number = |(name, _): &&(String, f64)| other.about().parameters.iter().any(|p| p.number == name);
        let replaced: Vec<(String, f64)> = replaced.iter().filter(has_number).cloned().collect();
        let Ok(numbers) = Numbers::new(*other, card, &replaced) else { continue };
        for row in rows.iter_mut() {
            let mut kernels = about.explains.iter().filter(|kernel| other.about().explains.contains(kernel));
            let same = kernels.find_map(|kernel| same_point(model, *other, &numbers, (kernel, &row.x)));
            let Some(rival) = same.and_then(|x| scan_point(*other, &numbers, x, &|_| Vec::new()).ok()) else {
                continue;
            };
            let ratio = rival.prediction.value / row.prediction.value;
            let allowed = half_width(row).hypot(half_width(&rival));
            if rival.extrapolations.is_empty() && ratio.is_finite() && ratio > 0.0 && ratio.ln().abs() > allowed {
                row.reservations.push(Reservation::Disagrees { model: other.about().id.to_owned(), ratio });
            }
        }
    }
}

fn half_width(row: &ScanPoint) -> f64 {
    let rate = row.prediction.value;
    row.band.map_or(WITHOUT_BAND.ln(), |(low, high)| (rate / low).ln().max((high / rate).ln()))
}

/// Returns the variables of `other` at the same runs of a kernel, where a variable of one alone has its default.
fn same_point(
    model: &dyn Model,
    other: &dyn Model,
    numbers: &Numbers,
    (kernel, x): (&str, &[f64]),
) -> Option<Vec<f64>> {
    let about = model.about();
    for (variable, value) in about.variables.iter().zip(x) {
        let fixed = model.kernel_value(kernel, variable.name);
        let is_shared = other.about().variable_index(variable.name).is_some();
        let expected = fixed.or_else(|| variable.default.filter(|_| !is_shared));
        if expected.map_or(!is_shared, |expected| expected != *value) {
            return None;
        }
    }
    let value = |name: &str| {
        let shared = about.variable_index(name).map(|index| x[index]);
        other.kernel_value(kernel, name).or(shared).or_else(|| numbers.default_of(name))
    };
    other.variables(&value).ok()
}
