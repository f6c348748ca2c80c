//! Scales, tick values and tick labels: the position of a value on an axis, and its text.

use apexmap_base::error::{Error, Result};
use apexmap_base::units::{NumberStyle, Unit, number};

/// Larger magnitudes, and their inverses, are no measurements and would overflow in later calculations.
const EXTREME: f64 = 1e100;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
}

impl Scale {
    /// Widens equal values. Fails without values, and for values that are not finite, too extreme, or <= 0 on a log axis.
    pub fn from_values(values: impl IntoIterator<Item = f64>, log: bool, name: &str) -> Result<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            if !value.is_finite() || value.abs() > EXTREME || (value != 0.0 && value.abs() < 1.0 / EXTREME) {
                return Err(Error::input(
                    format!("\"{name}\" has the value {value:e}, which no axis can show"),
                    "leave that value out of the figure",
                ));
            }
            if log && value <= 0.0 {
                return Err(Error::input(
                    format!("\"{name}\" has the value {value}, which a log axis cannot show"),
                    "give this axis a linear scale or leave that value out",
                ));
            }
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            return Err(Error::input(
                format!("\"{name}\" has no value to draw"),
                "check that the selection contains measured points",
            ));
        }
        // Values that differ only by rounding count as equal.
        if high - low <= 1e-9 * low.abs().max(high.abs()) {
            let margin = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
            (low, high) = if log { (low / 2.0, low * 2.0) } else { (low - margin, low + margin) };
        }
        Ok(Self { low, high, log })
    }

    /// Widens to a factor of two, so that small differences have similar colours.
    pub fn span_double(self) -> Self {
        if self.low <= 0.0 || self.high >= 2.0 * self.low {
            return self;
        }
        let middle = (self.low * self.high).sqrt();
        Self { low: middle / std::f64::consts::SQRT_2, high: middle * std::f64::consts::SQRT_2, ..self }
    }

    /// Symmetric about 1, to 1.1, 1.25, 1.5 or a power of two whose exponent is a multiple of `step`. NaN is ignored.
    pub fn for_ratios(ratios: impl Iterator<Item = f64>, step: f64, name: &str) -> Result<Self> {
        let span = Self::from_values(ratios.filter(|ratio| !ratio.is_nan()).chain([1.0]), true, name)?;
        let farthest = span.high.max(1.0 / span.low);
        let near = [1.1, 1.25, 1.5].into_iter().find(|end| farthest <= *end);
        let high = near.unwrap_or_else(|| (((farthest.log2() - 1e-9) / step).ceil() * step).exp2());
        Ok(Self { low: 1.0 / high, high, log: true })
    }

    fn inner(&self, value: f64) -> f64 {
        if self.log { value.ln() } else { value }
    }

    /// 0 at `low`, 1 at `high`.
    pub fn place(&self, value: f64) -> f64 {
        (self.inner(value) - self.inner(self.low)) / (self.inner(self.high) - self.inner(self.low))
    }

    pub fn value(&self, place: f64) -> f64 {
        let inner = self.inner(self.low) + place * (self.inner(self.high) - self.inner(self.low));
        if self.log { inner.exp() } else { inner }
    }

    pub fn pad(&self, share: f64) -> Self {
        Self { low: self.value(-share), high: self.value(1.0 + share), log: self.log }
    }

    pub fn round_outwards(&self) -> Self {
        let steps = levels(self);
        Self { low: steps[0], high: steps[steps.len() - 1], log: self.log }
    }

    /// Within rounding.
    pub fn holds(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.place(value))
    }
}

/// Multiples of 1, 2 or 5 times a power of ten, in at most `most` steps.
fn linear_steps(scale: &Scale, most: usize) -> Vec<f64> {
    let raw = (scale.high - scale.low) / most as f64;
    let power = 10f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
    let ends = |step: f64| ((scale.low / step + 1e-9).floor(), (scale.high / step - 1e-9).ceil());
    let fits = |times: &&f64| ends(power * **times).1 - ends(power * **times).0 <= most as f64 + 1e-9;
    let step = power * times.iter().find(fits).copied().unwrap_or(100.0);
    let (first, last) = ends(step);
    // Far from zero, neighbouring steps can be the same floating-point number.
    let mut steps: Vec<f64> = (0..=(last - first).max(1.0) as usize).map(|k| (first + k as f64) * step).collect();
    steps.dedup();
    steps
}

/// `multiples` of every `stride`-th power of `base`, from the low end or just below to the high end or just above.
fn log_steps(scale: &Scale, base: f64, multiples: &[f64], stride: usize) -> Vec<f64> {
    let first = scale.low.log(base).floor() as i32 - 1;
    let last = scale.high.log(base).ceil() as i32 + stride as i32;
    let first = first.div_euclid(stride as i32) * stride as i32;
    let steps: Vec<f64> = (first..=last)
        .step_by(stride)
        .flat_map(|power| multiples.iter().map(move |m| m * base.powi(power)))
        .filter(|v| v.is_finite() && *v > 0.0)
        .collect();
    let begin = steps.iter().rposition(|v| *v <= scale.low * (1.0 + 1e-9)).unwrap_or(0);
    let end = steps.iter().position(|v| *v >= scale.high * (1.0 - 1e-9)).unwrap_or(steps.len() - 1);
    steps[begin..=end].to_vec()
}

const EIGHT: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
const ONE_TWO_FIVE: [f64; 3] = [1.0, 2.0, 5.0];

/// Limits of about 6 to 14 contour bands: round values from the low end or below to the high end or above.
pub fn levels(scale: &Scale) -> Vec<f64> {
    if !scale.log {
        return linear_steps(scale, 10);
    }
    let decades = (scale.high / scale.low).log10();
    if decades < 0.7 {
        return linear_steps(scale, 10);
    }
    if decades < 1.6 {
        return log_steps(scale, 10.0, &EIGHT, 1);
    }
    if decades < 4.0 {
        return log_steps(scale, 10.0, &ONE_TWO_FIVE, 1);
    }
    if decades < 6.0 {
        return log_steps(scale, 10.0, &[1.0, 3.0], 1);
    }
    log_steps(scale, 10.0, &[1.0], (decades / 14.0).ceil() as usize)
}

/// The densest first: an axis takes the first whose labels fit. Measured `values` lead if their labels are exact.
pub fn tick_sets(scale: &Scale, values: &[f64], unit: Unit, binary: bool) -> Vec<Vec<f64>> {
    let mut sets = Vec::new();
    if values.len() <= 40 && values.iter().all(|v| is_exact(*v, unit, binary)) {
        sets.extend(every_nth(values));
    }
    if scale.log && binary {
        sets.extend((1..=20).map(|stride| log_steps(scale, 2.0, &[1.0], stride)));
    } else if scale.log && scale.high / scale.low >= 5.0 {
        sets.push(log_steps(scale, 10.0, &ONE_TWO_FIVE, 1));
        sets.extend((1..=20).map(|stride| log_steps(scale, 10.0, &[1.0], stride)));
    } else {
        sets.extend([10, 8, 6, 5, 4, 3, 2].map(|most| linear_steps(scale, most)));
    }
    for set in &mut sets {
        set.retain(|v| scale.holds(*v));
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// All values, every second, every third and so on.
pub fn every_nth(values: &[f64]) -> Vec<Vec<f64>> {
    (1..=values.len().div_ceil(2)).map(|n| values.iter().copied().step_by(n).collect()).collect()
}

/// Powers of two are labelled 1024 or 1 KiB rather than 1 k.
pub fn is_binary(values: &[f64]) -> bool {
    let power = |v: &f64| *v >= 1.0 && v.log2().fract() == 0.0;
    values.len() > 1 && values.iter().all(power) && values.iter().any(|v| *v >= 16.0)
}

fn prefix(value: f64, unit: Unit, binary: bool) -> (f64, &'static str) {
    const DECIMAL: [(f64, &str); 6] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    const BINARY: [(f64, &str); 5] = [
        ((1u64 << 40) as f64, "Ti"),
        ((1u64 << 30) as f64, "Gi"),
        ((1u64 << 20) as f64, "Mi"),
        (1024.0, "Ki"),
        (1.0, ""),
    ];
    const TIMES: [(f64, &str); 4] = [(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let table: &[(f64, &str)] = match unit {
        Unit::UpdatesPerSecond => &[(1e9, "")],
        Unit::Seconds => &TIMES,
        // Counts such as L = 16384 are written in full, as in conditions and tables.
        _ if binary && !labels_carry(unit) => &[(1.0, "")],
        _ if binary => &BINARY,
        _ => &DECIMAL,
    };
    // A value just below a prefix takes that prefix, because rounding would print 1000.
    table.iter().copied().find(|(factor, _)| value.abs() * (1.0 + 1e-9) >= *factor).unwrap_or(table[table.len() - 1])
}

/// Whether three digits and a prefix, or a binary count, represent the value.
fn is_exact(value: f64, unit: Unit, binary: bool) -> bool {
    let (factor, _) = prefix(value, unit, binary);
    if binary && !labels_carry(unit) {
        return true;
    }
    let scaled = value / factor;
    let shown: f64 = format!("{scaled:.2e}").parse().unwrap_or(f64::NAN);
    (shown - scaled).abs() <= 1e-9 * scaled.abs()
}

/// Whether tick labels include the unit (`10 MB/s`); otherwise the axis title does (`L (words)`).
pub fn labels_carry(unit: Unit) -> bool {
    !matches!(unit, Unit::None | Unit::Words | Unit::Cycles)
}

fn label(value: f64, unit: Unit, binary: bool, digits: usize, with_unit: bool) -> String {
    let (factor, name) = prefix(value, unit, binary);
    let style = if binary && !labels_carry(unit) { NumberStyle::Exact } else { NumberStyle::Rounded(digits) };
    let number = number(value / factor, style);
    let tail = match unit {
        _ if !with_unit || !labels_carry(unit) => name.to_owned(),
        Unit::PerSecond => format!("{name}/s"),
        _ => format!("{name}{}", unit.symbol()),
    };
    if tail.is_empty() { number } else { format!("{number} {tail}") }
}

pub fn labels(values: &[f64], unit: Unit, binary: bool) -> Vec<String> {
    let with_digits = |digits| values.iter().map(|v| label(*v, unit, binary, digits, true)).collect::<Vec<_>>();
    let distinct = |labels: &Vec<String>| labels.windows(2).all(|pair| pair[0] != pair[1]);
    (3..12).map(with_digits).find(distinct).unwrap_or_else(|| with_digits(12))
}

/// Three digits and the prefix, for cells; the unit is shown elsewhere.
pub fn short(value: f64, unit: Unit) -> String {
    label(value, unit, false, 3, false)
}

pub fn with_unit(value: f64, unit: Unit) -> String {
    label(value, unit, false, 3, true)
}
