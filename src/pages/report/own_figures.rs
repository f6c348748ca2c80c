//! The figures that the sweep requests.

use super::input::Input;
use super::pictures::size_marks;
use crate::html::{Picture, picture};
use apexmap_base::error::Result;
use apexmap_draw::figure::{Figure, Grid};
use apexmap_draw::plot::{FigureKind, Request, add_bounds, figure, title};
use apexmap_measure::kernels;
use apexmap_results::samples::Samples;
use apexmap_run::sweep::figures::{self, SweepFigure};

/// Column of the size of all ranks' memory.
const MEMORY: &str = "memory_words";

/// Draws the requested figures that these samples allow, in the sweep's order.
pub fn draw_requested(input: &Input) -> Result<Vec<Picture>> {
    let mut pictures = Vec::new();
    for (number, wanted) in (1..).zip(figures::parse_figures(&input.manifest.sweep)) {
        let title = wanted.title.clone().unwrap_or_else(|| format!("figure {number} of the sweep"));
        pictures.extend(input.if_drawable(&title, draw(input, &wanted, number))?);
    }
    Ok(pictures)
}

/// Marks sizes on curves over memory sizes, as in the figures of effects.
fn mark_sizes(input: &Input, samples: &Samples, request: &Request, mut drawn: Figure) -> Result<Figure> {
    if let (Figure::Curves(curves) | Figure::Model(curves) | Figure::Limited(curves), MEMORY) =
        (&mut drawn, request.x.as_str())
    {
        curves.marks.extend(size_marks(input, samples)?);
    }
    Ok(drawn)
}

/// Returns the titles and grids of the requested surfaces that can be drawn. `draw_requested` gives the reasons for others.
pub fn requested_surfaces(input: &Input) -> Vec<(String, Grid)> {
    let mut surfaces = Vec::new();
    for wanted in figures::parse_figures(&input.manifest.sweep) {
        if let (FigureKind::Surface, Ok((samples, request))) = (wanted.kind, request(input, &wanted))
            && let Ok(Figure::Surface(grid, _)) = figure(&samples, &request)
        {
            surfaces.push((request.title, grid));
        }
    }
    surfaces
}

fn request(input: &Input, wanted: &SweepFigure) -> Result<(Samples, Request)> {
    let samples = input.samples.choose(wanted.condition.as_deref())?;
    for name in wanted.axes.iter().chain(&wanted.z) {
        samples.require(name)?;
    }
    let headline = || kernels::find(samples.first_word("kernel")).map(|kernel| kernel.headline);
    let z = wanted.z.clone().or_else(|| headline().ok().map(str::to_owned)).unwrap_or_else(|| "seconds".into());
    let (x, by) = wanted.axes.split_first().expect("a figure has an axis");
    let title = wanted.title.clone().unwrap_or_else(|| title(&samples, wanted.kind, x, &z));
    let request = Request { kind: wanted.kind, title, x: x.clone(), by: by.to_vec(), z };
    Ok((samples, request.orient()))
}

fn draw(input: &Input, wanted: &SweepFigure, number: usize) -> Result<Picture> {
    let (samples, request) = request(input, wanted)?;
    let bounded = add_bounds(&samples, &request, figure(&samples, &request)?)?;
    let drawn = mark_sizes(input, &samples, &request, bounded)?;
    let caption = match &wanted.condition {
        Some(condition) => format!("Medians of the samples with {condition}."),
        None => "Medians of the samples.".to_owned(),
    };
    picture(&input.folder.figures(), &drawn, format!("figure-{number}"), request.title, caption)
}
