//! Figures that a sweep requests for its report.

use super::conditions::{KnownNames, condition};
use super::expand;
use super::spec::{FigureSpec, File};
use apexmap_base::error::Result;
use apexmap_base::name_lookup::nearest_name;
use apexmap_base::toml_file::TomlSource;
use apexmap_draw::plot::FigureKind;
use apexmap_results::table::columns::{self, Role};
use serde::Deserialize;
use std::ops::Range;
use toml::Spanned;

#[derive(Clone, Debug, PartialEq)]
pub struct SweepFigure {
    pub kind: FigureKind,
    /// The heading; the name of the column shown if `None`.
    pub title: Option<String>,
    /// Columns of the axes. A grid has two. In curves, the second and further columns distinguish the curves.
    pub axes: Vec<String>,
    /// Column shown; the kernel's headline if `None`.
    pub z: Option<String>,
    pub condition: Option<String>,
    pub ideal: bool,
}

/// The kinds that a sweep can request. A bottleneck needs a machine card.
fn kinds() -> impl Iterator<Item = (&'static str, FigureKind)> + Clone {
    FigureKind::ALL.into_iter().filter(|(_, kind)| *kind != FigureKind::Bottleneck)
}

fn axis_names(figure: &FigureSpec) -> impl Iterator<Item = (&str, &Spanned<String>)> {
    let more_axes = figure.y.iter().flat_map(|list| list.get_ref().split(',').map(move |name| (name.trim(), list)));
    std::iter::once((figure.x.get_ref().trim(), &figure.x)).chain(more_axes)
}

/// Parses a sweep's text, which was checked when it ran. Figures that this version does not understand are left out.
pub fn parse_figures(sweep: &str) -> Vec<SweepFigure> {
    #[derive(Deserialize)]
    struct Figures {
        #[serde(default)]
        figure: Vec<FigureSpec>,
    }
    let figures = toml::from_str::<Figures>(sweep).map(|file| file.figure).unwrap_or_default();
    let to_figure = |figure: FigureSpec| {
        let (_, kind) = kinds().find(|(name, _)| name == figure.kind.get_ref())?;
        let axes = axis_names(&figure).map(|(name, _)| columns::resolve(name).to_owned()).collect();
        let z = figure.z.map(|z| columns::resolve(z.get_ref().trim()).to_owned());
        let condition = figure.condition.map(Spanned::into_inner);
        let ideal = figure.ideal.is_some_and(Spanned::into_inner);
        Some(SweepFigure { kind, title: figure.title, axes, z, condition, ideal })
    };
    figures.into_iter().filter_map(to_figure).collect()
}

/// An unknown name is an error, with its place and the nearest column.
pub(super) fn check_column(name: &str, place: Range<usize>, known_names: &KnownNames, page: &TomlSource) -> Result<()> {
    let is_own = known_names.own.iter().map(|(own, _)| own).chain(&known_names.values).any(|own| own == name);
    if is_own || columns::describe(columns::resolve(name)).role != Role::Unknown {
        return Ok(());
    }
    let other = nearest_name(name, columns::symbols().iter().copied());
    let advice = other.map_or_else(
        || "`apexmap kernels KERNEL` lists parameters and outputs".to_owned(),
        |other| format!("did you mean \"{other}\"?"),
    );
    Err(page.error_at(place, format!("no result has a column \"{name}\""), advice))
}

pub(super) fn check(file: &File, page: &TomlSource) -> Result<()> {
    let kernels = expand::select_kernels(file, page)?;
    let known_names = KnownNames::new(file, &kernels, page)?;
    for figure in &file.figure {
        let kind = figure.kind.get_ref();
        if !kinds().any(|(name, _)| name == kind) {
            let kind_names: Vec<&str> = kinds().map(|(name, _)| name).collect();
            let advice = format!("write one of {}", kind_names.join(", "));
            return Err(page.error_at(figure.kind.span(), format!("unknown kind of figure \"{kind}\""), advice));
        }
        let z = figure.z.iter().map(|z| (z.get_ref().trim(), z));
        for (name, place) in axis_names(figure).chain(z) {
            check_column(name, place.span(), &known_names, page)?;
        }
        if kind != "curves" && axis_names(figure).count() != 2 {
            let place = figure.y.as_ref().map_or(figure.kind.span(), Spanned::span);
            return Err(page.error_at(place, format!("a {kind} has two axes"), "set one in x and one in y"));
        }
        if let Some(ideal) = figure.ideal.as_ref().filter(|ideal| *ideal.get_ref()) {
            let over_ranks = columns::resolve(figure.x.get_ref().trim()) == "ranks";
            if kind != "curves" || !over_ranks {
                return Err(page.error_at(
                    ideal.span(),
                    "ideal scaling is a line in curves over ranks",
                    "remove ideal",
                ));
            }
        }
        if let Some(text) = &figure.condition {
            condition(text, &known_names, page)?;
        }
    }
    Ok(())
}
