//! The terms of Apex-Map's model at the matched points of two machines, and what each has to do with their ratio.
//!
//! Both machines' cards give the times of all terms. What the cards do not predict of the measured ratio is a part of its own, so that
//! the parts of a point add up to the logarithm of the measured ratio of times.
//!
//! SOURCE: B. W. Ang, The LMDI approach to decomposition analysis: a practical guide, Energy Policy 33 (2005), pages 867 to 871:
//!   the logarithmic mean Divisia index (LMDI-I), of sums.
//! DEFINITION: Of ln(B / A), where A and B are sums of terms, the term i makes (b_i - a_i) / L(A, B), with the logarithmic mean
//!   L(A, B) = (B - A) / ln(B / A).
//!
//! The parts add up whatever the terms and however far apart the sums. They only change their signs where the sides are
//! exchanged, and depend on no order in which terms are replaced. A term may be zero on one side or both.

use super::Comparison;
use super::machine::Machine;
use apexmap_study::model_fit::values_at;
use apexmap_theory::models::Model;
use apexmap_theory::models::apex_map::Surface;
use std::collections::BTreeMap;

/// Times that are less than this factor apart are called alike: to ask which term separates them is to ask about noise.
pub const ALIKE: f64 = 1.1;

/// What the model leaves, beside its terms.
pub const UNEXPLAINED: &str = "not explained";

/// A machine against the base, term by term.
#[derive(Clone, Debug)]
pub struct TermPair {
    /// Index of the machine.
    pub of: usize,
    /// Names of the terms.
    pub terms: Vec<&'static str>,
    pub cells: Vec<TermCell>,
    /// Why points have no terms, and how many.
    pub left_out: BTreeMap<String, usize>,
}

/// A matched point.
#[derive(Clone, Debug)]
pub struct TermCell {
    /// Index of the point.
    pub at: usize,
    /// ln(time of the machine / time of the base), measured.
    pub measured: f64,
    /// Seconds of each term in an access, of the base and of the machine.
    pub seconds: [Vec<f64>; 2],
    /// What each term makes of the logarithm of the ratio; their sum is what the cards predict of it.
    pub parts: Vec<f64>,
}

/// What makes most of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leading {
    /// Index of the term; as many as there are terms stands for what the model does not explain.
    pub term: usize,
    /// As a fraction of the logarithm of the measured ratio: more than 1 where others act against it.
    pub share: f64,
}

impl TermPair {
    /// The terms and what is left, by the place of [`Leading::term`].
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.terms.iter().copied().chain([UNEXPLAINED])
    }
}

impl TermCell {
    /// ln(time of the machine / time of the base), as the cards predict it.
    pub fn predicted(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// What the terms do not make of the measured ratio, in logarithms.
    pub fn unexplained(&self) -> f64 {
        self.measured - self.predicted()
    }

    /// Each term's part, then what is not explained, as fractions of the logarithm of the measured ratio.
    pub fn shares(&self) -> Vec<f64> {
        self.parts.iter().chain([&self.unexplained()]).map(|part| part / self.measured).collect()
    }

    /// `None` where the machines are alike.
    pub fn leading(&self) -> Option<Leading> {
        if self.measured.abs() < ALIKE.ln() {
            return None;
        }
        let of = self.shares().into_iter().enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        of.map(|(term, share)| Leading { term, share })
    }
}

/// A machine against the base; `None` where they share no point that the model is about.
///
/// # Errors
/// Says, in a sentence, which card lacks what.
pub fn of_pair(comparison: &Comparison, of: usize) -> Option<Result<TermPair, String>> {
    let sides = [0, of];
    let rows = |at: usize| {
        let of_side = |k: usize| {
            let row = comparison.points.points[at].by_machine[k].as_ref()?.row?;
            let kernel = comparison.machines[k].samples.table().word("kernel", row);
            Surface.about().explains.contains(&kernel).then_some(row)
        };
        Some((at, [of_side(0)?, of_side(of)?]))
    };
    let points: Vec<(usize, [usize; 2])> = comparison.matched.iter().filter_map(|&at| rows(at)).collect();
    if points.is_empty() {
        return None;
    }
    let machines = sides.map(|k| &comparison.machines[k]);
    if machines.iter().any(|machine| !machine.has_card()) {
        return Some(Err(without_card(comparison)));
    }
    let numbers = match machines.map(numbers) {
        [Ok(base), Ok(machine)] => [base, machine],
        found => {
            let lacking: Vec<String> = found.into_iter().filter_map(Result::err).collect();
            return Some(Err(silence(comparison, of, &lacking)));
        }
    };
    let mut pair = TermPair { of, terms: Vec::new(), cells: Vec::new(), left_out: BTreeMap::new() };
    for (at, rows) in points {
        let Some(tested) = comparison.ratio(of, at) else { continue };
        let side = |k: usize| terms(machines[k], rows[k], &numbers[k]);
        match (side(0), side(1)) {
            (Ok(base), Ok(machine)) => {
                pair.terms = base.iter().map(|term| term.0).collect();
                let seconds = [base, machine].map(|terms| terms.into_iter().map(|term| term.1).collect::<Vec<f64>>());
                let parts = parts(&seconds[0], &seconds[1]);
                pair.cells.push(TermCell { at, measured: -tested.ratio.value.ln(), seconds, parts });
            }
            (Err(why), _) | (_, Err(why)) => *pair.left_out.entry(why).or_default() += 1,
        }
    }
    Some(Ok(pair))
}

/// The model's numbers from the card of a machine.
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
        return Err(format!("the card of {} does not know {names} (95 % intervals over decades)", machine.name));
    }
    Surface.parameters(card).map_err(|refusal| refusal.what)
}

/// The same sentence for every pair of a comparison.
fn without_card(comparison: &Comparison) -> String {
    let all = comparison.machines;
    let bare: Vec<&str> =
        all.iter().filter(|machine| !machine.has_card()).map(|machine| machine.name.as_str()).collect();
    let who = match (bare.len() == all.len(), bare.as_slice()) {
        (true, [_, _]) => "Neither result has a machine card".to_owned(),
        (true, _) => "No result has a machine card".to_owned(),
        (false, [one]) => format!("{one} has no machine card"),
        (false, several) => format!("{} have no machine card", several.join(" and ")),
    };
    format!(
        "{who}: apexmap calibrate, then apexmap report RESULT --card results/calibrate/card.toml, explains the ratio."
    )
}

fn silence(comparison: &Comparison, of: usize, lacking: &[String]) -> String {
    let [base, other] = [0, of].map(|k| comparison.machines[k].name.as_str());
    format!(
        "Which terms separate {other} from {base} is not known: {}. Cards of apexmap calibrate tell it: name them with --cards.",
        lacking.join("; ")
    )
}

/// The terms at the point of a row, if they add up to a time.
fn terms(machine: &Machine, row: usize, numbers: &[f64]) -> Result<Vec<(&'static str, f64)>, String> {
    let x = values_at(&machine.samples.at(vec![row]), &Surface, &[]).map_err(|refusal| refusal.what)?;
    let terms = Surface.budget(&x, numbers);
    let seconds: f64 = terms.iter().map(|term| term.1).sum();
    if seconds.is_finite() && seconds > 0.0 {
        return Ok(terms);
    }
    let lacks = if machine.samples.table().number("ranks", row) > 1.0 {
        "of messages or gets, or of main memory"
    } else {
        "of main memory"
    };
    Err(format!("the card of {} lacks the numbers {lacks}", machine.name))
}

/// The part of each term in ln(sum of `b` / sum of `a`); both sums are positive.
pub fn parts(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mean = logarithmic_mean(a.iter().sum(), b.iter().sum());
    a.iter().zip(b).map(|(a, b)| (b - a) / mean).collect()
}

/// (b - a) / ln(b / a), which is a where both are equal.
fn logarithmic_mean(a: f64, b: f64) -> f64 {
    let apart = (b - a) / a;
    // Not of b / a, which rounding would make 1 too soon.
    if apart == 0.0 { a } else { (b - a) / apart.ln_1p() }
}
