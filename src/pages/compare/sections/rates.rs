//! Rates of all machines over one parameter, such as GUPS over P or over the look-ahead Q, for matched and unmatched points.

use super::prelude::*;
use crate::compare::groups::quantity;
use crate::compare::machine::Source;
use apexmap_base::units::exact_number;
use apexmap_results::table::columns::ColumnDescription;
use std::collections::{BTreeSet, HashSet};

/// Parameters with curves: P, Q and message size.
const AXES: [&str; 3] = ["ranks", "look_ahead", "message_bytes"];

/// More cannot be distinguished.
const MAX_CURVES: usize = 12;

/// A machine, a kernel, and the values that the axis does not determine.
struct Curve {
    machine: usize,
    kernel: String,
    label: String,
    points: Vec<CurvePoint>,
    shared: usize,
}

#[derive(Default)]
pub struct Rates {
    rates: Vec<Picture>,
    /// Label, smallest P, and the rate per rank relative to that at each P.
    efficiencies: Vec<Value>,
    omitted: Vec<String>,
}

impl Rates {
    pub fn new(comparison: &Comparison, folder: &Path) -> Result<Self> {
        let mut section = Self::default();
        let headlines: BTreeSet<&str> =
            comparison.points.classes.keys().map(|class| comparison.points.headline(class)).collect();
        for headline in headlines {
            for axis in AXES {
                let mut curves = curves(comparison, headline, axis);
                let Some(first) = curves.first() else { continue };
                let kernels: BTreeSet<&str> = curves.iter().map(|curve| curve.kernel.as_str()).collect();
                let rate = Rate { axis, headline, kernels: kernels.into_iter().map(str::to_owned).collect() };
                let title = rate.title();
                if curves.iter().all(|curve| curve.machine == first.machine) {
                    let machine = &comparison.machines[first.machine].name;
                    section.omitted.push(format!("{title}: not drawn because only {machine} has it."));
                    continue;
                }
                let total = curves.len();
                curves.sort_by_key(|curve| std::cmp::Reverse((curve.shared, curve.points.len())));
                curves.truncate(MAX_CURVES);
                curves.sort_by(|a, b| (a.machine, &a.label).cmp(&(b.machine, &b.label)));
                if total > curves.len() {
                    section.omitted.push(format!(
                        "{title}: {} of {total} curves are drawn, those that most machines share.",
                        curves.len()
                    ));
                }
                let curves = series(comparison, curves);
                let drawn = figure(comparison, &rate, title.clone(), curves.clone());
                let caption = "Medians of each machine at all its points, matched or not; bands are 95 % intervals of the median. \
                               Simulated, predicted and published values have none.";
                let name = format!("{headline}-over-{}", columns::short(axis)).replace('_', "-");
                let drawn = Drawing { figure: drawn, file: name, title, caption: caption.into() };
                section.rates.extend(drawn.draw(folder, &mut section.omitted)?);
                if axis == "ranks" && !matches!(columns::describe(headline).unit, Unit::Seconds | Unit::Cycles) {
                    efficiency(comparison, &rate, curves, folder, &mut section)?;
                }
            }
        }
        Ok(section)
    }

    pub fn take_lead(&mut self) -> Option<Picture> {
        (!self.rates.is_empty()).then(|| self.rates.remove(0))
    }

    /// `has_lead`: the first screen has the first picture.
    pub fn section(&self, has_lead: bool) -> Option<Value> {
        let (rates, efficiencies, omitted) = (&self.rates, &self.efficiencies, &self.omitted);
        (has_lead || !rates.is_empty())
            .then(|| json!({ "rates": rates, "efficiencies": efficiencies, "omitted": omitted }))
    }
}

struct Rate<'a> {
    axis: &'a str,
    headline: &'a str,
    kernels: Vec<String>,
}

impl Rate<'_> {
    fn label(&self) -> String {
        self.description().label
    }

    fn description(&self) -> ColumnDescription {
        columns::describe_of(self.headline, self.kernels.iter().map(String::as_str))
    }

    fn title(&self) -> String {
        let label = self.label();
        let plain = label.split(" (").next().unwrap_or_default();
        format!("{} over {}", capitalize(plain), quantity(self.axis, &[]).label)
    }
}

/// Relative to the rate per rank at the smallest P.
fn efficiency(
    comparison: &Comparison,
    rate: &Rate,
    mut curves: Vec<Series>,
    folder: &Path,
    section: &mut Rates,
) -> Result<()> {
    for curve in &mut curves {
        let Some(first) = curve.points.first().copied() else { continue };
        let of_all = !rate.headline.ends_with("_per_rank");
        for point in &mut curve.points {
            *point = point.ratio_to(&first, if of_all { point.x / first.x } else { 1.0 });
        }
        let shares: Vec<(String, String)> =
            curve.points.iter().map(|p| (exact_number(p.x), format!("{:.1} %", 100.0 * p.y))).collect();
        section.efficiencies.push(json!({ "label": curve.label, "from": exact_number(first.x), "shares": shares }));
    }
    let title = "Scaling efficiency".to_owned();
    let mut drawn = figure(comparison, rate, title.clone(), curves);
    if let Figure::Curves(curves) = &mut drawn {
        curves.y = Quantity::log("rate per rank / rate per rank at the smallest P", Unit::None);
    }
    let caption = "Rate per rank relative to that at each machine's smallest number of ranks, from medians; bands are 95 % \
                   intervals with the uncertainty of both.";
    let name = format!("efficiency-{}", rate.headline.replace('_', "-"));
    let drawn = Drawing { figure: drawn, file: name, title, caption: caption.into() };
    section.rates.extend(drawn.draw(folder, &mut section.omitted)?);
    Ok(())
}

fn series(comparison: &Comparison, curves: Vec<Curve>) -> Vec<Series> {
    let with_name = |curve: Curve| {
        let machine = &comparison.machines[curve.machine].name;
        let label = if curve.label.is_empty() { machine.clone() } else { format!("{machine}, {}", curve.label) };
        Series { label, points: curve.points }
    };
    curves.into_iter().map(with_name).collect()
}

fn figure(comparison: &Comparison, rate: &Rate, title: String, series: Vec<Series>) -> Figure {
    let points = &comparison.points.points;
    let points: Vec<usize> = (0..points.len()).filter(|&index| rate.kernels.contains(&points[index].class)).collect();
    let xs: Vec<f64> = series.iter().flat_map(|series| &series.points).map(|point| point.x).collect();
    Figure::Curves(Curves::new(
        title,
        comparison.subtitle(rate.kernels.join(", "), &points),
        quantity(rate.axis, &xs),
        Quantity::log(rate.label(), rate.description().unit),
        series,
    ))
}

type Key = (String, Vec<(String, String)>);

fn curves(comparison: &Comparison, headline: &str, axis: &str) -> Vec<Curve> {
    let mut groups: BTreeMap<(usize, Option<Source>, Key), Vec<&Point>> = BTreeMap::new();
    for machine in 0..comparison.machines.len() {
        for class in comparison.points.classes.keys().filter(|class| comparison.points.headline(class) == headline) {
            let of_class = |point: &&Point| {
                point.class == *class
                    && point.number_on(machine, axis).is_some()
                    && point.by_machine[machine].as_ref().is_some_and(|s| s.samples() > 0)
            };
            let points: Vec<&Point> = comparison.points.points.iter().filter(of_class).collect();
            let keys = keys(&points, machine, axis);
            for point in points {
                let key_value = |name: &&str| {
                    let (_, value) = point.values.iter().find(|(column, _)| column == name)?;
                    Some((name.to_string(), label(name, value)))
                };
                let key = (class.clone(), keys.iter().filter_map(key_value).collect());
                // Printed, predicted and extrapolated values must not share a curve.
                let source = point.by_machine[machine].as_ref().and_then(|data| data.facts.sources.first().copied());
                groups.entry((machine, source, key)).or_default().push(point);
            }
        }
    }
    let mut counts: BTreeMap<&Key, usize> = BTreeMap::new();
    let machines: BTreeSet<(usize, &Key)> = groups.keys().map(|(machine, _, key)| (*machine, key)).collect();
    machines.into_iter().for_each(|(_, key)| *counts.entry(key).or_default() += 1);
    let classes: HashSet<&str> = groups.keys().map(|(_, _, (class, _))| class.as_str()).collect();
    let curve = |((machine, source, key), points): (&(usize, Option<Source>, Key), &Vec<&Point>)| {
        let words = key.1.iter().map(|(_, text)| text.clone());
        let class = (classes.len() > 1).then(|| key.0.clone());
        let source = source.map(|source| source.name().to_owned());
        let label = class.into_iter().chain(words).chain(source).collect::<Vec<_>>().join(", ");
        let mut points: Vec<CurvePoint> =
            points.iter().filter_map(|point| place(point, axis, *machine, headline)).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve { machine: *machine, kernel: key.0.clone(), label, points, shared: counts[key] }
    };
    groups.iter().map(curve).filter(|curve| curve.points.len() > 1).collect()
}

fn place(point: &Point, axis: &str, machine: usize, headline: &str) -> Option<CurvePoint> {
    // Convert speeds back to the unit of the headline.
    let inverse = matches!(columns::describe(headline).unit, Unit::Seconds | Unit::Cycles);
    let back = |speed: f64| if inverse { 1.0 / speed } else { speed };
    let summary = point.by_machine[machine].as_ref()?.summary()?;
    // The reciprocals of the ends are in reverse order.
    let ends = |(low, high): (f64, f64)| if inverse { (back(high), back(low)) } else { (low, high) };
    Some(CurvePoint::new(point.number_on(machine, axis)?, back(summary.median), summary.interval.map(ends)))
}

/// Columns that vary at one value of the axis. Those that follow it, as memory follows the ranks, do not count.
fn keys<'a>(points: &[&'a Point], machine: usize, axis: &str) -> Vec<&'a str> {
    let mut data = BTreeMap::new();
    let mut keys: Vec<&str> = Vec::new();
    for point in points {
        let Some(x) = point.number_on(machine, axis) else { continue };
        for (column, value) in point.values.iter().filter(|(column, _)| column != axis) {
            if *data.entry((column, x.to_bits())).or_insert(value) != value && !keys.contains(&column.as_str()) {
                keys.push(column);
            }
        }
    }
    keys
}
