//! The section on points: which points match, which do not, and a table of each.

use super::prelude::*;
use apexmap_results::export::csv;

pub struct MatchedPoints<'a> {
    comparison: &'a Comparison<'a>,
    pub unfinished: Vec<String>,
}

impl<'a> MatchedPoints<'a> {
    pub fn new(comparison: &'a Comparison) -> Self {
        Self { comparison, unfinished: describe_unfinished(comparison) }
    }

    pub fn section(&self) -> Value {
        json!({
            "matched": self.comparison.matched.len(),
            "unmatched": count_missing(self.comparison),
            "unmatched_all": self.comparison.unmatched_points().count(),
            "unreported": describe_unreported(self.comparison),
        })
    }

    pub fn lines(&self, has_tables: bool) -> Vec<String> {
        let matched = plural(self.comparison.matched.len(), "point");
        let missing = self.comparison.unmatched_points().count();
        let [cells, unmatched] = if has_tables { [" (cells.csv)", " (unmatched.csv)"] } else { [""; 2] };
        let counts = format!("{matched} matched{cells}, {missing} without a counterpart{unmatched}");
        self.unfinished.iter().cloned().chain([counts]).collect()
    }

    pub fn tables(&self) -> [(&'static str, String); 2] {
        [("cells.csv", matched_table(self.comparison)), ("unmatched.csv", unmatched_table(self.comparison))]
    }
}

fn count_missing(comparison: &Comparison) -> Vec<Value> {
    let mut missing: Vec<(String, usize, &String)> = Vec::new();
    for (point, name) in comparison.points.points.iter().zip(&comparison.names).filter(|(point, _)| !point.is_in_all())
    {
        let machines = comparison.machines.iter().zip(&point.by_machine).filter(|(_, data)| data.is_some());
        let who = machines.map(|(machine, _)| machine.name.as_str()).collect::<Vec<_>>().join(" and ");
        match missing.iter_mut().find(|(machines, ..)| *machines == who) {
            Some((_, points, _)) => *points += 1,
            None => missing.push((who, 1, name)),
        }
    }
    let entry = |(who, points, example)| json!({ "who": who, "points": points, "example": example });
    missing.into_iter().map(entry).collect()
}

fn describe_unreported(comparison: &Comparison) -> Vec<String> {
    let sentence = |(machine, class, names): &(String, String, Vec<String>)| {
        format!("{machine} does not report {} of {class}: points are matched without it.", names.join(", "))
    };
    comparison.points.unreported.iter().map(sentence).collect()
}

fn describe_unfinished(comparison: &Comparison) -> Vec<String> {
    let mut sentences = Vec::new();
    for (k, machine) in comparison.machines.iter().enumerate() {
        let data = comparison.points.points.iter().map(|point| point.by_machine[k].as_ref()).zip(&comparison.names);
        let failed = data.filter_map(|(data, name)| Some((data?, name))).filter(|(data, _)| data.samples() == 0);
        let failed: Vec<(&PointData, &String)> = failed.collect();
        let Some((data, example)) = failed.first() else { continue };
        let status = data.failures.first().map_or("no value", |status| status.name());
        let points = plural(failed.len(), "point");
        sentences.push(format!("{} did not finish {points}, such as {example} ({status}).", machine.name));
    }
    sentences
}

fn matched_table(comparison: &Comparison) -> String {
    let columns = comparison.points.columns();
    let mut head = comparison.points.head();
    for machine in comparison.machines {
        head.extend(["speed", "launches", "samples"].map(|quantity| format!("{quantity} of {}", machine.name)));
    }
    for machine_index in 1..comparison.machines.len() {
        let ratio = comparison.title(machine_index);
        head.extend(["", ": low", ": high", ": basis", ": p", ": adjusted p"].map(|column| format!("{ratio}{column}")));
    }
    let mut rows = vec![head];
    for &index in &comparison.matched {
        let point = comparison.point(index);
        let mut row = point.row(&columns);
        row.extend(point.by_machine.iter().flat_map(|data| speed_cells(data.as_ref())));
        for machine_index in 1..comparison.machines.len() {
            row.extend(ratio_cells(comparison.ratio(machine_index, index), point.has_both(machine_index, 0)));
        }
        rows.push(row);
    }
    csv::text(rows)
}

fn speed_cells(data: Option<&PointData>) -> [String; 3] {
    let Some(data) = data else { return Default::default() };
    let speed = data.speed().map_or(String::new(), |speed| speed.to_string());
    [speed, data.launches.len().to_string(), data.samples().to_string()]
}

fn ratio_cells(tested: Option<&TestedRatio>, both: bool) -> [String; 6] {
    let Some(TestedRatio { ratio, q }) = tested else {
        return ["", "", "", if both { "did not finish" } else { "" }, "", ""].map(str::to_owned);
    };
    let (low, high) = ratio.interval.map(|(low, high)| (low.to_string(), high.to_string())).unwrap_or_default();
    let number = |p: Option<f64>| p.map(|p| p.to_string()).unwrap_or_default();
    [ratio.value.to_string(), low, high, ratio.basis.name().to_owned(), number(ratio.p), number(*q)]
}

fn unmatched_table(comparison: &Comparison) -> String {
    let columns = comparison.points.columns();
    let mut head = comparison.points.head();
    head.extend(comparison.machines.iter().map(|machine| machine.name.clone()));
    let mut rows = vec![head];
    for point in comparison.unmatched_points() {
        let mut row = point.row(&columns);
        row.extend(point.by_machine.iter().map(|data| if data.is_some() { "yes" } else { "no" }.to_owned()));
        rows.push(row);
    }
    csv::text(rows)
}
