//! Results of one kind of machine that were measured one after the other, such as night after night: their speeds over time.

use super::prelude::*;
use crate::html::utc;

const DAY: f64 = 86_400.0;

/// `None` for fewer than three results, for different processors, and for results that were measured at the same time.
pub fn section(comparison: &Comparison, folder: &Path) -> Result<Option<Value>> {
    let machines = comparison.machines;
    let is_measured = |machine: &&Machine| {
        machine.origin == Origin::Measured
            && machine.samples.describe_simulation().is_none()
            && machine.transfer.is_none()
    };
    let times: Vec<(f64, f64, f64)> = machines.iter().filter(is_measured).filter_map(Machine::time_range).collect();
    if times.len() < machines.len().max(3) {
        return Ok(None);
    }
    let mut order: Vec<usize> = (0..machines.len()).collect();
    order.sort_by(|a, b| times[*a].0.total_cmp(&times[*b].0));
    let follows = |pair: &[usize]| times[pair[0]].1 < times[pair[1]].0;
    let is_one_kind = machines.windows(2).all(|pair| pair[0].words("cpu_model") == pair[1].words("cpu_model"));
    if !is_one_kind || !order.windows(2).all(follows) {
        return Ok(None);
    }
    let (mut rows, mut points) = (Vec::new(), Vec::new());
    for &machine in &order {
        let (ratio, interval) = match comparison.ratios[machine].mean {
            _ if machine == 0 => (1.0, None),
            Some(mean) => (mean.value, mean.interval),
            None => continue,
        };
        points.push(CurvePoint::new((times[machine].0 - times[order[0]].0) / DAY, ratio, interval));
        let interval = format_interval(interval).unwrap_or_default();
        rows.push([comparison.name(machine).to_owned(), utc(times[machine].0), format_ratio(ratio), interval]);
    }
    let title = format!("Speed over time, relative to {}", comparison.name(0));
    let [x, y] = ["days since the first result", "ratio of speeds"].map(|label| Quantity::linear(label, Unit::None));
    let subtitle = comparison.subtitle("geometric mean over the common points".into(), &comparison.matched);
    let series = vec![Series { label: String::new(), points }];
    let curves = Figure::Curves(Curves::new(title.clone(), subtitle, x, y, series));
    let caption = "Geometric mean of the ratios at the points that both have; the band is its 95 % interval.";
    let mut undrawn = Vec::new();
    let figure = Drawing::new(curves, "over-time", title, caption).draw(folder, &mut undrawn)?;
    Ok(Some(json!({ "rows": rows, "figures": Vec::from_iter(figure), "undrawn": undrawn })))
}
