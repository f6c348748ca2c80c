//! Judges a fit in words: impossible numbers, whether the fit explains the measurement, and where it does not.

use super::farthest;
use apexmap_base::units::{Unit, amount};
use apexmap_theory::fit::{Estimate, Fit, Point, RateWords, baseline::Baseline};
use apexmap_theory::models::{Model, scan};
use apexmap_theory::statistics::median;

/// Minimum ratio of the ends of an interval that leaves a number unknown.
const WIDE_RATIO: f64 = 100.0;

/// Label of a number whose value is typical of machines, because neither the data nor the machine give it.
pub const ASSUMED: &str = "typical: neither the data nor this machine give it";

/// Factor by which noise may make a nearer level seem slower than a farther one.
const NOISE_FACTOR: f64 = 1.1;

fn amount_text(model: &dyn Model, name: &str, value: f64) -> String {
    amount(value, scan::parameter(model, name).map_or(Unit::None, |parameter| parameter.unit()))
}

/// Impossible or unknown numbers: "l2_access_seconds (52 ns) is above l3_access_seconds (0 s)".
pub fn doubts(model: &dyn Model, fit: &Fit) -> Vec<String> {
    let format_value = |name: &str, value: f64| amount_text(model, name, value);
    let estimate = |name: &&str| fit.estimates.iter().find(|estimate| estimate.number == *name);
    let mut doubts = Vec::new();
    for list in model.ascending_numbers() {
        let estimates: Vec<&Estimate> = list.iter().filter_map(estimate).collect();
        for pair in estimates.windows(2).filter(|pair| pair[0].value > NOISE_FACTOR * pair[1].value) {
            let [near, far] = [pair[0], pair[1]]
                .map(|estimate| format!("{} ({})", estimate.number, format_value(estimate.number, estimate.value)));
            doubts.push(format!("{near} is above {far}"));
        }
    }
    for estimate in &fit.estimates {
        let most = scan::parameter(model, estimate.number).map_or(f64::INFINITY, |parameter| parameter.max);
        let is_open = estimate.high >= 0.999 * most;
        let is_wide = match estimate {
            Estimate { low, high, .. } if *low > 0.0 => high / low >= WIDE_RATIO,
            // A number that the data do not need can have any value up to one that they would show.
            Estimate { value, high, .. } => *value > 0.0 && high / value >= WIDE_RATIO.sqrt(),
        };
        if is_open || is_wide {
            let [low, high] = [estimate.low, estimate.high].map(|value| format_value(estimate.number, value));
            let above = if is_open { " or more" } else { "" };
            doubts.push(format!("{} may be anything from {low} to {high}{above}", estimate.number));
        }
    }
    doubts
}

/// Errors with all points of a value of a variable left out.
struct LeftOutLine {
    variable: &'static str,
    /// `None` if the other values do not identify the model's numbers.
    model: Option<f64>,
    baseline: f64,
}

impl LeftOutLine {
    /// In the printed digits.
    fn is_no_worse(&self) -> bool {
        let shown = |error: f64| (1000.0 * error).round();
        self.model.is_some_and(|error| shown(error) <= shown(self.baseline))
    }
}

fn left_out_lines(model: &dyn Model, fit: &Fit, baseline: &Baseline) -> Vec<LeftOutLine> {
    let variables = model.about().variables;
    let model_line = |variable: usize| fit.quality.lines_left_out.iter().find(|line| line.variable == variable);
    // Words have no order from which a missing value could be predicted.
    let courses = baseline.lines_left_out.iter().filter(|line| variables[line.variable].words.is_empty());
    let to_line = |line: &apexmap_theory::fit::quality::LinesLeftOut| LeftOutLine {
        variable: variables[line.variable].name,
        model: model_line(line.variable).map(|line| line.smape),
        baseline: line.smape,
    };
    courses.map(to_line).collect()
}

/// The errors of a model and of the baseline with all points of a value of a variable left out: "alpha 24.8 %, 14.2 %".
pub fn lines(model: &dyn Model, fit: &Fit, baseline: &Baseline) -> Vec<String> {
    let shown = |line: LeftOutLine| {
        let ours = line.model.map_or("not identified".into(), |error| format!("{:.1} %", 100.0 * error));
        format!("{} {ours}, {:.1} %", line.variable, 100.0 * line.baseline)
    };
    left_out_lines(model, fit, baseline).into_iter().map(shown).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It describes the measurement, no number is in doubt, and it predicts the points of each value of a variable with at least three
    /// from all others no worse than the baseline does.
    Explains,
    /// It is accurate enough ([`failure`]).
    Describes,
    Fails,
}

impl Verdict {
    fn new(failure: Option<&String>, doubts: &[String], lines: &[LeftOutLine]) -> Self {
        match failure {
            Some(_) => Self::Fails,
            None if doubts.is_empty() && !lines.is_empty() && lines.iter().all(LeftOutLine::is_no_worse) => {
                Self::Explains
            }
            None => Self::Describes,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    /// SMAPE, as a fraction.
    pub error: f64,
    /// Number of fitted parameters that are impossible or unknown.
    pub doubts: usize,
}

pub fn judge(model: &dyn Model, fit: &Fit, baseline: Option<&Baseline>) -> Judgement {
    let lines = baseline.map(|baseline| left_out_lines(model, fit, baseline)).unwrap_or_default();
    let (error, doubts) = (fit.quality.smape, doubts(model, fit));
    let verdict = Verdict::new(failure(error, &fit.points).as_ref(), &doubts, &lines);
    Judgement { verdict, error, doubts: doubts.len() }
}

impl Judgement {
    /// `apex_map.surface describes it: 9 % error, but ...`. `subject` names the measurements if there are several groups.
    pub fn headline(&self, model: &str, subject: Option<&String>) -> String {
        let error = format!("{:.0} % error", 100.0 * self.error);
        let name = subject.map_or("it", String::as_str);
        let but = match self.doubts {
            0 => String::new(),
            1 => ", but one fitted number is impossible or unknown".into(),
            doubts => format!(", but {doubts} fitted numbers are impossible or unknown"),
        };
        match self.verdict {
            Verdict::Explains => format!("{model} explains {name}: {error}."),
            Verdict::Describes => format!("{model} describes {name}: {error}{but}."),
            Verdict::Fails => {
                format!("No model explains {} (best: {error}).", subject.map_or("this result", String::as_str))
            }
        }
    }
}

/// States how well the model explains the measurement, or the simulation, and where not ([`Verdict`]), after impossible numbers.
///
/// # Panics
/// If the fit is of another model with more variables.
pub fn sentence(model: &dyn Model, fit: &Fit, baseline: Option<&Baseline>) -> String {
    let (id, quality) = (model.about().id, &fit.quality);
    let source = RateWords::new(fit.simulated.as_deref()).source;
    let doubts = doubts(model, fit);
    let lines = baseline.map(|baseline| left_out_lines(model, fit, baseline)).unwrap_or_default();
    let failure = failure(quality.smape, &fit.points);
    let explains = Verdict::new(failure.as_ref(), &doubts, &lines) == Verdict::Explains;
    let mut text = String::new();
    if !doubts.is_empty() {
        text += &format!("The fitted numbers are impossible or unknown: {}. ", doubts.join("; "));
    }
    text += &match &failure {
        None if explains => format!("{id} explains the {source} to within {:.1} % (SMAPE)", 100.0 * quality.smape),
        None => format!("{id} describes the {source} to within {:.1} % (SMAPE)", 100.0 * quality.smape),
        Some(why) => format!("{id} does not describe the {source}: {why}"),
    };
    if let Some((largest, error)) = quality.largest_left_out {
        let join = if failure.is_none() { ", and predicts" } else { "; it predicts" };
        text += &format!("{join} P = {largest} from smaller P to within {:.1} %", 100.0 * error);
    }
    text += &farthest(model, &fit.points, source).map(|words| format!("; {words}")).unwrap_or_default();
    text += ".";
    for hidden in &fit.at_most {
        text += &format!(
            " {} is at most {}: only the larger of it and {} shows.",
            hidden.number,
            amount_text(model, hidden.number, hidden.most),
            hidden.of
        );
    }
    if !fit.not_identified.is_empty() {
        let names = fit.not_identified.join(", ");
        text += &format!(" These points do not identify {names}: held at the values of the machine card.");
    }
    let assumed = fit.held.iter().filter(|(name, _)| fit.assumed.contains(name));
    let assumed: Vec<String> =
        assumed.map(|(name, value)| format!("{name} {}", amount_text(model, name, *value))).collect();
    if !assumed.is_empty() {
        let names = assumed.join(", ");
        text += &format!(" Neither these points nor this machine give {names}: the fit assumes typical values.");
    }
    if baseline.is_some() && fit.quality.left_out.is_some() {
        let but = match (failure.is_some(), explains) {
            (true, _) => Some("with such an error"),
            (false, true) => None,
            (false, false) => Some("with such numbers"),
        };
        text += &comparison(&lines, but);
    }
    text
}

/// ` It does not explain it: ...`. `but` is the reason why it fails although it is no worse.
fn comparison(lines: &[LeftOutLine], but: Option<&str>) -> String {
    let per_cent = |error: f64| format!("{:.1} %", 100.0 * error);
    let against = |line: &LeftOutLine| {
        let theirs = per_cent(line.baseline);
        match line.model {
            Some(ours) => {
                format!("{} against {theirs} with all points of one {} left out", per_cent(ours), line.variable)
            }
            None => format!(
                "without the points of one {} its numbers are not identified, where the baseline is within {theirs}",
                line.variable
            ),
        }
    };
    let list = |lines: Vec<&LeftOutLine>| lines.into_iter().map(against).collect::<Vec<_>>().join(", ");
    let lost: Vec<&LeftOutLine> = lines.iter().filter(|line| !line.is_no_worse()).collect();
    if lines.is_empty() {
        return " No variable has three values, so the model cannot be distinguished from a curve.".into();
    }
    if lost.is_empty() {
        let subject = but.map_or(" It".into(), |why| format!(" It does not explain it {why}, though it"));
        return format!(
            "{subject} predicts what is left out no worse than the empirical baseline: {}.",
            list(lines.iter().collect())
        );
    }
    format!(
        " It does not explain it: the empirical baseline, interpolation between neighbours, predicts better: {}.",
        list(lost)
    )
}

/// Factor of a prediction that is accurate enough for a reader.
pub const NEAR: f64 = 1.25;

/// Maximum SMAPE of a model that describes a measurement, as a fraction. It equals a factor of 1.29 at every point.
pub const MAX_SMAPE: f64 = 0.25;

/// The median of measured over predicted rates; NaN without points.
pub fn bias(points: &[Point]) -> f64 {
    let ratios: Vec<f64> = points.iter().map(|point| point.measured / point.predicted).collect();
    median(&ratios).unwrap_or(f64::NAN)
}

/// Why a model with this SMAPE does not describe these points: "its error is 50.9 % (SMAPE), more than 25 %".
pub fn failure(smape: f64, points: &[Point]) -> Option<String> {
    let bias = bias(points);
    let (factor, direction) = (bias.max(1.0 / bias), if bias >= 1.0 { "faster" } else { "slower" });
    let error = (smape > MAX_SMAPE)
        .then(|| format!("its error is {:.1} % (SMAPE), more than {:.0} %", 100.0 * smape, 100.0 * MAX_SMAPE));
    let median = (factor > NEAR)
        .then(|| format!("its median point is {factor:.2} times {direction} than predicted, more than {NEAR}"));
    let reasons: Vec<String> = error.into_iter().chain(median).collect();
    (!reasons.is_empty()).then(|| reasons.join(", and "))
}
