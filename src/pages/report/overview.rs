//! The overview of a report: a few plain sentences and key numbers, computed from the samples.

use super::prelude::*;
use crate::html::capitalize;
use apexmap_base::distinct::distinct;
use apexmap_base::point::Value;
use apexmap_base::text_table::list_words;
use apexmap_base::units::{NumberStyle, number, quantity};
use apexmap_results::samples::plain_names::plain_name;
use apexmap_results::table::columns::{ColumnDescription, NODE_TYPE};
use apexmap_study::answers::declared;
use apexmap_study::answers::stream::Stream;
use apexmap_theory::statistics::{Summary, quantile};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    pub measured: String,
    pub sentences: Vec<String>,
}

const MAX_EXTREMES: usize = 4;

pub fn overview(input: &Input) -> Result<Overview> {
    let mut sentences = Vec::new();
    let stream = &input.answers.stream;
    let mut extremes = if stream.is_none() { extremes(input)? } else { Vec::new() };
    if let [only] = extremes.as_mut_slice() {
        only.group.clear();
    }
    sentences.extend(stream.iter().flat_map(Stream::sentences));
    sentences.extend(describe_pages(input)?);
    sentences.extend(extremes.iter().take(MAX_EXTREMES).map(Extremes::sentence));
    // Equal runs of a simulation give equal times.
    if input.samples.describe_simulation().is_none() {
        sentences.extend(precision(&input.groups)?);
    }
    Ok(Overview { measured: describe_measurement(input), sentences })
}

fn describe_measurement(Input { manifest, samples, .. }: &Input) -> String {
    let kernels: Vec<String> = samples.values("kernel").iter().map(Value::to_string).collect();
    let ranks = samples.distinct_numbers("ranks");
    let is_single = ranks == [1.0];
    let ranks: Vec<String> = ranks.iter().map(f64::to_string).collect();
    let types = samples.words(NODE_TYPE).len();
    let is_simulated = samples.describe_simulation().is_some();
    let origin = match &manifest.imported {
        Some(import) => format!("{} for", capitalize(&import.label())),
        None if is_simulated => "Simulated with the card of".into(),
        None => "Measured on".into(),
    };
    let host = manifest.launches.last().filter(|_| !is_simulated).map_or(String::new(), |launch| {
        if types > 1 {
            return format!(" ({types} types of nodes, kept apart)");
        }
        let host = &launch.launch.host;
        format!(" ({}, {}, memory {})", host.cpu_model, host.processors, host.memory())
    });
    let points =
        declared::partial(manifest, samples).map_or_else(|| plural(manifest.points, "point"), |part| part.to_string());
    let good = samples.good().len();
    let failed = samples.len() - good;
    let failures = if failed == 0 { "none failed".into() } else { format!("{failed} failed") };
    format!(
        "{} {}{host}: {} on {} rank{}; {}, {}, {failures}.",
        origin,
        manifest.machine,
        list_words(&kernels),
        list_words(&ranks),
        if is_single { "" } else { "s" },
        points,
        plural(good, "valid sample"),
    )
}

/// Groups are not mixed: the best value of one core and the worst of all cores are not comparable.
struct Extremes {
    group: String,
    described: ColumnDescription,
    lowest: (f64, String),
    highest: (f64, String),
}

type Places = Vec<(f64, String)>;

/// Differs from the group only in its pages.
fn surface_on_huge_pages<'a>(input: &'a Input, group: &SampleGroup) -> Option<&'a SampleGroup> {
    let other = |(column, value): &(String, Value)| match column.as_str() {
        "pages" => (column.clone(), Value::from("huge")),
        _ => (column.clone(), value.clone()),
    };
    let key: Vec<_> = group.key.iter().map(other).collect();
    input.groups.iter().find(|surface| surface.is_surface() && key != group.key && surface.key == key)
}

pub fn without_comparisons(input: &Input) -> Vec<SampleGroup> {
    let is_own = |group: &&SampleGroup| group.is_surface() || surface_on_huge_pages(input, group).is_none();
    input.groups.iter().filter(is_own).cloned().collect()
}

fn describe_pages(input: &Input) -> Result<Option<String>> {
    let mut parts = Vec::new();
    let is_rate = |group: &&SampleGroup| group.samples.describe(group.headline).unit != Unit::Seconds;
    for group in input.groups.iter().filter(|group| !group.is_surface()).filter(is_rate) {
        let Some(surface) = surface_on_huge_pages(input, group) else { continue };
        let on_huge = surface.measured_cells(surface.headline)?;
        let ratio = |(cell, summary): &(Cell, Summary)| {
            let (_, huge) = on_huge.iter().find(|(other, _)| surface.axes == group.axes && other.by == cell.by)?;
            Some(huge.median / summary.median)
        };
        let mut ratios: Vec<f64> = group.measured_cells(group.headline)?.iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let [Some(least), Some(most)] = [ratios.first(), ratios.last()] else { continue };
        let place = match group.blocks.as_slice() {
            [only] => format!(" at L = {}", short_number(*only)),
            _ => String::new(),
        };
        let key: Vec<_> = group.key.iter().filter(|(column, _)| column != "pages").cloned().collect();
        let name = plain_name(&key, &input.node);
        parts.push(format!("{} to {} on {name}{place}", short_number(*least), short_number(*most)));
    }
    let [base, huge] = ["base", "huge"].map(|word| plain_name(&[("pages".to_owned(), Value::from(word))], &input.node));
    Ok((!parts.is_empty()).then(|| format!("Rate on {huge} / rate on {base}: {}.", parts.join("; "))))
}

/// Takes groups without corners or a surface to compare with. Groups of one cell each, such as those over ranks, are merged.
fn extremes(input: &Input) -> Result<Vec<Extremes>> {
    let own = without_comparisons(input);
    let groups: Vec<&SampleGroup> = own.iter().filter(|group| !group.is_surface()).collect();
    let mut all_extremes = Vec::new();
    let headline_of = |group: &SampleGroup| (group.headline, group.samples.describe(group.headline));
    for (headline, described) in distinct(groups.iter().copied().map(headline_of)) {
        let mut each: Vec<(String, Places)> = Vec::new();
        for group in groups.iter().filter(|group| headline_of(group) == (headline, described.clone())) {
            let cells = group.measured_cells(headline)?;
            let places = cells.iter().map(|(cell, summary)| (summary.median, group.place(cell)));
            each.push((group.plain_label(&input.node), places.collect()));
        }
        if each.iter().all(|(_, places)| places.len() < 2) {
            let together =
                each.into_iter().flat_map(|(label, places)| places.into_iter().map(move |(y, _)| (y, label.clone())));
            each = vec![(String::new(), together.collect())];
        }
        all_extremes.extend(each.into_iter().filter_map(|(group, places)| find_extremes(group, &described, &places)));
    }
    Ok(all_extremes)
}

fn find_extremes(group: String, described: &ColumnDescription, places: &[(f64, String)]) -> Option<Extremes> {
    let by_size = |a: &&(f64, String), b: &&(f64, String)| a.0.total_cmp(&b.0);
    let (lowest, highest) = places.iter().min_by(by_size).zip(places.iter().max_by(by_size))?;
    Some(Extremes { group, described: described.clone(), lowest: lowest.clone(), highest: highest.clone() })
}

impl Extremes {
    fn factor(&self) -> Option<String> {
        let factor = self.highest.0 / self.lowest.0;
        (self.lowest.0 > 0.0).then(|| number(factor, NumberStyle::Factor))
    }

    fn sentence(&self) -> String {
        let (name, unit) = (&self.described.label, self.described.unit);
        let place_text = |place: &str| if place.is_empty() { String::new() } else { format!(" at {place}") };
        let (highest, lowest) = (quantity(self.highest.0, unit), quantity(self.lowest.0, unit));
        let group = if self.group.is_empty() { String::new() } else { format!("{}: ", self.group) };
        if self.highest == self.lowest {
            return format!("{group}{name} {highest}{}.", place_text(&self.highest.1));
        }
        let ratio = self.factor().map_or(String::new(), |factor| format!(", a factor of {factor} apart"));
        format!(
            "{group}{} {name} {highest}{}; lowest {lowest}{}{ratio}.",
            if group.is_empty() { "Highest" } else { "highest" },
            place_text(&self.highest.1),
            place_text(&self.lowest.1)
        )
    }
}

fn precision(groups: &[SampleGroup]) -> Result<Option<String>> {
    let (mut widths, mut without, mut single) = (Vec::new(), 0, 0);
    for group in groups {
        for (_, summary) in group.measured_cells(group.headline)? {
            match summary.relative_width() {
                Some(width) if width.is_finite() => {
                    widths.push(width / 2.0);
                    single += usize::from(!summary.basis.includes_launches());
                }
                _ => without += 1,
            }
        }
    }
    widths.sort_by(f64::total_cmp);
    // Two launches that differ give an interval too wide to be of use.
    let percent = |share: f64| match share {
        0.0..10.0 => format!("± {} %", short_number(share * 100.0)),
        _ => "more than ± 1000 %".to_owned(),
    };
    let (Some(half), Some(most)) = (quantile(&widths, 0.5), quantile(&widths, 0.9)) else {
        let warning = "No point has the two launches, or six samples in one launch, that a 95 % interval requires; \
                       differences between these numbers may be noise.";
        return Ok((without > 0).then(|| warning.into()));
    };
    let rest = match without {
        0 => String::new(),
        without => format!("; {} with too few samples for an interval", plural(without, "point")),
    };
    let basis = match single {
        0 => "over launches",
        _ if single == widths.len() => "within one launch",
        _ => "over launches, or within a single launch",
    };
    Ok(Some(format!(
        "95 % interval half-width, {basis}: median {}, 90th percentile {}{rest}.",
        percent(half),
        percent(most)
    )))
}
