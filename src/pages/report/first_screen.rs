//! The first screen of a report: the answer to the question of its sweep, as a picture or a table.

use super::paper_figures;
use super::prelude::*;
use super::summary::SummaryRow;
use super::{Parameters, Section, Surfaces};
use crate::html::{CornerCell, Corners};
use apexmap_base::provenance::PlainNode;
use apexmap_draw::plot::FigureKind;
use apexmap_run::sweep::figures::parse_figures;
use apexmap_study::answers::declared::Declared;
use apexmap_study::answers::memory_sizes::MemorySizes;
use apexmap_study::answers::stream::Stream;

#[derive(Default, Serialize)]
pub struct FirstScreen {
    picture: Option<Picture>,
    /// The interactive surface replaces the picture where scripts run.
    live: bool,
    stream: Option<Stream>,
    /// Values of the answer, or the best and the worst point of each group.
    rows: Vec<ValueRow>,
    rows_caption: &'static str,
    levels: Vec<String>,
}

#[derive(Serialize)]
struct ValueRow {
    name: String,
    value: String,
    interval: String,
}

const MAX_ROWS: usize = 8;

impl FirstScreen {
    /// Takes its picture out of its section. A calibration begins with its table. `live_label`: the first interactive surface.
    pub fn take(
        input: &Input,
        is_calibration: bool,
        live_label: Option<&str>,
        parameters: &mut Parameters,
        surfaces: &mut Surfaces,
    ) -> Result<Self> {
        if is_calibration {
            return Ok(Self::default());
        }
        if let Some(picture) = paper_figures::draw_pairs(input)? {
            return Ok(Self { picture: Some(picture), ..Self::default() });
        }
        let stream = input.answers.stream.clone();
        let text = input.answers.sizes.as_ref().map(MemorySizes::text).unwrap_or_default();
        let requested = parse_figures(&input.manifest.sweep).into_iter().next().filter(|_| parameters.own);
        let is_surface = requested.as_ref().is_some_and(|figure| figure.kind == FigureKind::Surface);
        let live = live_label.filter(|_| requested.is_none() || is_surface);
        let picture = match requested {
            Some(_) => Some(parameters.effects.remove(0)),
            None => match live {
                Some(label) => surfaces.take_static(label),
                None => most_points(parameters, surfaces),
            },
        };
        Ok(Self {
            picture,
            live: live.is_some(),
            stream,
            levels: text.lines().map(|line| line.trim().to_owned()).collect(),
            ..Self::default()
        })
    }

    pub fn tabulate(&mut self, declared: Option<&Declared>, summary: &[SummaryRow]) {
        let mut intervals = declared.iter().flat_map(|declared| &declared.intervals);
        let stated = declared.iter().flat_map(|declared| &declared.values);
        let stated = stated.filter(|value| !value.is_place).map(|value| ValueRow {
            interval: value
                .interval
                .and_then(|_| intervals.next())
                .map_or(String::new(), |text| text.strip_prefix(&value.words).unwrap_or(text).trim().to_owned()),
            name: value.words.clone(),
            value: value.text.clone(),
        });
        self.rows = stated.take(MAX_ROWS).collect();
        self.rows_caption = "The answer: medians with their 95 % intervals.";
        if self.rows.is_empty() {
            let of_point = |row: &SummaryRow| ValueRow {
                name: [row.plain_name.clone(), row.place()]
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .collect::<Vec<_>>()
                    .join(", "),
                value: row.median(),
                interval: row.interval(),
            };
            self.rows = summary.iter().take(MAX_ROWS).map(of_point).collect();
            self.rows_caption = "The slowest and the fastest points: medians with their 95 % intervals.";
        }
    }
}

impl Surfaces {
    fn take_static(&mut self, label: &str) -> Option<Picture> {
        let with_views = |section: &&mut Section| !section.views.is_empty();
        let mut sections: Vec<&mut Section> = self.sections.iter_mut().filter(with_views).collect();
        let position = sections.iter().position(|section| section.label == label).unwrap_or(0);
        Some(sections.get_mut(position)?.views.remove(0))
    }
}

fn most_points(parameters: &mut Parameters, surfaces: &mut Surfaces) -> Option<Picture> {
    let lists = std::iter::once(&mut parameters.effects).chain(surfaces.sections.iter_mut().map(|s| &mut s.slices));
    let list = lists.into_iter().find(|list| !list.is_empty())?;
    let most = list.iter().map(|picture| picture.rows.len()).max();
    let position = list.iter().position(|picture| Some(picture.rows.len()) == most)?;
    Some(list.remove(position))
}

/// Side by side; the table of all points contains the others.
const MAX_CORNERS: usize = 2;

/// The first surface, and the next one with the same axes. `rows` are those of all groups.
pub fn corners(groups: &[SampleGroup], rows: &[SummaryRow], node: &PlainNode) -> Option<Corners> {
    let surfaces: Vec<&SampleGroup> = groups.iter().filter(|group| group.is_surface()).collect();
    let first = surfaces.first()?;
    let same = |group: &&&SampleGroup| group.alphas == first.alphas && group.blocks == first.blocks;
    let shown: Vec<&SampleGroup> = surfaces.iter().filter(same).take(MAX_CORNERS).copied().collect();
    let names: Vec<String> = shown.iter().map(|group| group.label()).collect();
    let cell = |group: usize, alpha: f64, block: f64| {
        let row = rows.iter().find(|row| row.group == names[group] && row.is_at(alpha, block));
        row.map_or_else(CornerCell::default, |row| CornerCell {
            value: row.median(),
            interval: row.interval(),
            limit: row.limit_lines().into_iter().filter(|line| !line.is_empty()).collect(),
        })
    };
    let labels = shown.iter().map(|group| group.plain_label(node)).collect();
    Corners::new(labels, &first.alphas, &first.blocks, cell)
}
