//! Explains the ratio of two machines by the terms of Apex-Map's model, with the times of both cards, at the matched points.
//!
//! SOURCE: B. W. Ang, The LMDI approach to decomposition analysis: a practical guide, Energy Policy 33 (2005), pages 867 to 871:
//!   the logarithmic mean Divisia index (LMDI-I), of sums.
//! DEFINITION: let A and B be sums of terms. The term i contributes (b_i - a_i) / L(A, B) to ln(B / A), with the logarithmic mean
//!   L(A, B) = (B - A) / ln(B / A).
//!
//! The parts always add up, and exchanging the sides only changes their signs. A term may be zero on one side or both. A separate part
//! is not predicted by the cards.

use super::comparison::Comparison;
use super::machine::Machine;
use apexmap_study::model_fit::values_at;
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use std::collections::BTreeMap;

/// Times closer than this count as equal: to explain smaller differences would be to explain noise.
pub const SIMILAR_FACTOR: f64 = 1.1;

pub const UNEXPLAINED: &str = "not explained";

#[derive(Clone, Debug)]
pub struct TermPair {
    pub machine: usize,
    pub terms: Vec<&'static str>,
    pub cells: Vec<TermCell>,
    /// Why points have no terms, with their number.
    pub left_out: BTreeMap<String, usize>,
}

#[derive(Clone, Debug)]
pub struct TermCell {
    pub point: usize,
    /// ln(time of the machine / time of the base), measured.
    pub measured: f64,
    /// Seconds per access, of the base and of the machine.
    pub seconds: [Vec<f64>; 2],
    /// Parts of the logarithm of the ratio; the sum is the prediction of the cards.
    pub parts: Vec<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeadingTerm {
    /// Its index; the number of terms stands for the part that is not explained.
    pub term: usize,
    /// Fraction of the logarithm of the measured ratio; above 1 if other terms act against it.
    pub share: f64,
}

impl TermPair {
    /// The index is [`LeadingTerm::term`].
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.terms.iter().copied().chain([UNEXPLAINED])
    }
}

impl TermCell {
    pub fn predicted_log_ratio(&self) -> f64 {
        self.parts.iter().sum()
    }

    pub fn unexplained_log_ratio(&self) -> f64 {
        self.measured - self.predicted_log_ratio()
    }

    /// Fractions of the measured ratio's logarithm: each term, then the part that is not explained.
    pub fn shares(&self) -> Vec<f64> {
        self.parts.iter().chain([&self.unexplained_log_ratio()]).map(|part| part / self.measured).collect()
    }

    /// `None` if the times differ by less than [`SIMILAR_FACTOR`].
    pub fn leading(&self) -> Option<LeadingTerm> {
        if self.measured.abs() < SIMILAR_FACTOR.ln() {
            return None;
        }
        let leading = self.shares().into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        leading.map(|(term, share)| LeadingTerm { term, share })
    }
}

/// `None` if the model covers none of the common points.
pub fn explain_pair(comparison: &Comparison, index: usize) -> Option<Result<TermPair, String>> {
    let sides = [0, index];
    let rows = |point: usize| {
        let row_of = |k: usize| {
            let row = comparison.point(point).by_machine[k].as_ref()?.row?;
            let kernel = comparison.machines[k].samples.table().word("kernel", row);
            Surface.about().explains.contains(&kernel).then_some(row)
        };
        Some((point, [row_of(0)?, row_of(index)?]))
    };
    let points: Vec<(usize, [usize; 2])> = comparison.matched.iter().filter_map(|&point| rows(point)).collect();
    if points.is_empty() {
        return None;
    }
    let machines = sides.map(|k| &comparison.machines[k]);
    if machines.iter().any(|machine| !machine.has_card()) {
        return Some(Err(without_card(comparison)));
    }
    let numbers = match machines.map(numbers) {
        [Ok(base), Ok(machine)] => [base, machine],
        sides_numbers => {
            let missing: Vec<String> = sides_numbers.into_iter().filter_map(Result::err).collect();
            return Some(Err(explain_missing_terms(comparison, index, &missing)));
        }
    };
    let mut pair = TermPair { machine: index, terms: Vec::new(), cells: Vec::new(), left_out: BTreeMap::new() };
    for (point, rows) in points {
        let Some(tested) = comparison.ratio(index, point) else { continue };
        let side = |k: usize| terms(machines[k], rows[k], &numbers[k]);
        match (side(0), side(1)) {
            (Ok(base), Ok(machine)) => {
                pair.terms = base.iter().map(|term| term.0).collect();
                let seconds = [base, machine].map(|terms| terms.into_iter().map(|term| term.1).collect::<Vec<f64>>());
                let parts = parts(&seconds[0], &seconds[1]);
                pair.cells.push(TermCell { point, measured: -tested.ratio.value.ln(), seconds, parts });
            }
            (Err(why), _) | (_, Err(why)) => *pair.left_out.entry(why).or_default() += 1,
        }
    }
    Some(Ok(pair))
}

fn numbers(machine: &Machine) -> Result<Vec<f64>, String> {
    let card = machine.card.as_ref().ok_or_else(|| format!("{} has no machine card", machine.name))?;
    let uncertain: Vec<&str> = Surface
        .about()
        .parameters
        .iter()
        .map(|parameter| parameter.number)
        .filter(|name| !card.is_known(name))
        .collect();
    if !uncertain.is_empty() {
        let names = uncertain.join(", ");
        return Err(format!("the card of {} does not determine {names} (95 % intervals span decades)", machine.name));
    }
    Surface.parameters(card).map_err(|refusal| refusal.message)
}

fn without_card(comparison: &Comparison) -> String {
    let machines = comparison.machines;
    let bare: Vec<&str> =
        machines.iter().filter(|machine| !machine.has_card()).map(|machine| machine.name.as_str()).collect();
    let who = match (bare.len() == machines.len(), bare.as_slice()) {
        (true, [_, _]) => "Neither result has a machine card".to_owned(),
        (true, _) => "No result has a machine card".to_owned(),
        (false, [name]) => format!("{name} has no machine card"),
        (false, several) => format!("{} have no machine card", several.join(" and ")),
    };
    let given = machines.iter().find(|machine| !machine.has_card()).map_or("RESULT", |machine| machine.given.as_str());
    format!(
        "{who}. To explain the ratio, run apexmap calibrate there, then apexmap report {} --card results/calibrate/card.toml.",
        given.split('[').next().unwrap_or(given)
    )
}

fn explain_missing_terms(comparison: &Comparison, index: usize, missing: &[String]) -> String {
    let [base, other] = [0, index].map(|k| comparison.machines[k].name.as_str());
    format!(
        "The terms that separate {other} from {base} are unknown: {}. Pass cards of apexmap calibrate with --cards.",
        missing.join("; ")
    )
}

fn terms(machine: &Machine, row: usize, numbers: &[f64]) -> Result<Vec<(&'static str, f64)>, String> {
    let x = values_at(&machine.samples.with_rows(vec![row]), &Surface, &[]).map_err(|refusal| refusal.message)?;
    let terms = Surface.budget(&x, numbers);
    let seconds: f64 = terms.iter().map(|term| term.1).sum();
    if seconds.is_finite() && seconds > 0.0 {
        return Ok(terms);
    }
    let missing = if machine.samples.table().number("ranks", row) > 1.0 {
        "of messages or gets, or of main memory"
    } else {
        "of main memory"
    };
    Err(format!("the card of {} has no numbers {missing}", machine.name))
}

/// Parts of ln(sum of `b` / sum of `a`); both sums must be positive.
pub fn parts(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mean = logarithmic_mean(a.iter().sum(), b.iter().sum());
    a.iter().zip(b).map(|(a, b)| (b - a) / mean).collect()
}

/// (b - a) / ln(b / a), or a if both are equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let apart = (b - a) / a;
    // Do not use ln(b / a): the ratio of two close values rounds to 1.
    if apart == 0.0 { a } else { (b - a) / apart.ln_1p() }
}
