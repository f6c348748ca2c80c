//! The figures that a sweep asks its report for.

use super::expand;
use super::spec::{FigureSpec, File};
use apexmap_base::error::Result;
use apexmap_base::nearest::nearest;
use apexmap_base::toml_file::Page;
use apexmap_draw::plot::FigureKind;
use apexmap_results::table::columns::{self, Role};
use serde::Deserialize;
use toml::Spanned;

/// What to draw, as the sweep says it.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepFigure {
    /// How it is drawn.
    pub kind: FigureKind,
    /// Heading of the figure; `None` for the name of what is shown.
    pub title: Option<String>,
    /// Columns of the axes: a grid has two; of curves the second and further ones tell the curves apart.
    pub axes: Vec<String>,
    /// Column shown; `None` for the kernel's headline.
    pub z: Option<String>,
    /// Which samples are drawn.
    pub condition: Option<String>,
}

/// The kinds that stand for themselves: a bottleneck needs a card.
fn kinds() -> impl Iterator<Item = (&'static str, FigureKind)> + Clone {
    FigureKind::ALL.into_iter().filter(|(_, kind)| *kind != FigureKind::Bottleneck)
}

/// The names of the axes, as given.
fn names(figure: &FigureSpec) -> impl Iterator<Item = (&str, &Spanned<String>)> {
    let further = figure.y.iter().flat_map(|list| list.get_ref().split(',').map(move |name| (name.trim(), list)));
    std::iter::once((figure.x.get_ref().trim(), &figure.x)).chain(further)
}

/// The figures of a sweep's text, which was checked when it ran; those that this version does not understand are left out.
pub fn of(sweep: &str) -> Vec<SweepFigure> {
    #[derive(Deserialize)]
    struct Figures {
        #[serde(default)]
        figure: Vec<FigureSpec>,
    }
    let figures = toml::from_str::<Figures>(sweep).map(|file| file.figure).unwrap_or_default();
    let of = |figure: FigureSpec| {
        let (_, kind) = kinds().find(|(name, _)| name == figure.kind.get_ref())?;
        let axes = names(&figure).map(|(name, _)| columns::resolve(name).to_owned()).collect();
        let z = figure.z.map(|z| columns::resolve(z.get_ref().trim()).to_owned());
        let condition = figure.condition.map(Spanned::into_inner);
        Some(SweepFigure { kind, title: figure.title, axes, z, condition })
    };
    figures.into_iter().filter_map(of).collect()
}

/// # Errors
/// If a figure has another kind, number of axes, column or condition than can be drawn.
pub(super) fn check(file: &File, page: &Page) -> Result<()> {
    let kernels = expand::selected(file, page)?;
    for figure in &file.figure {
        let kind = figure.kind.get_ref();
        if !kinds().any(|(name, _)| name == kind) {
            let all: Vec<&str> = kinds().map(|(name, _)| name).collect();
            let next = format!("write one of {}", all.join(", "));
            return Err(page.wrong(figure.kind.span(), format!("there is no kind of figure \"{kind}\""), next));
        }
        let z = figure.z.iter().map(|z| (z.get_ref().trim(), z));
        for (name, place) in names(figure).chain(z) {
            let known = columns::describe(columns::resolve(name)).role != Role::Unknown;
            if !known {
                let other = nearest(name, columns::symbols().iter().copied());
                let next = other.map_or_else(
                    || "`apexmap kernels KERNEL` lists parameters and outputs".to_owned(),
                    |other| format!("did you mean \"{other}\"?"),
                );
                return Err(page.wrong(place.span(), format!("no result has a column \"{name}\""), next));
            }
        }
        if kind != "curves" && names(figure).count() != 2 {
            let place = figure.y.as_ref().map_or(figure.kind.span(), Spanned::span);
            return Err(page.wrong(place, format!("a {kind} has two axes"), "name one in x and one in y"));
        }
        if let Some(text) = &figure.condition {
            expand::condition(text, &kernels, page)?;
        }
    }
    Ok(())
}
