//! `apexmap plot`: draws a figure of any result.

use super::selection::{Selection, column, names};
use super::{opened::Opened, parser};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{note, print};
use apexmap_draw::figure::{self, Style};
use apexmap_draw::plot::{self, FigureKind, Request};
use apexmap_draw::selection;
use apexmap_measure::kernels;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_results::table::{columns, derived_columns::SHARE};
use apexmap_theory::codes::{self, Code};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap plot results/quickstart surface --where 'P == 1'
  apexmap plot results/quickstart contour --where 'kernel == \"apex_map.two_sided\"' --out contour.svg
  apexmap plot results/quickstart curves --x L --y alpha --z cycles_per_operation --where 'P == 1'
  apexmap plot h100 surface --out h100.svg
  apexmap plot results/quickstart bottleneck --where 'P == 1'     needs a card
  apexmap plot results/quickstart elasticity --x alpha --y L --where 'P == 1'
  apexmap plot results/quickstart contour --where 'P == 1' --style paper --out contour.pdf
  apexmap plot results/quickstart contour --where 'P == 1' --codes        mark STREAM, GUPS and other codes
  apexmap plot results/protocol curves --x B --y SMSG --where 'NSER == 16 && L == 64 && alpha == 1'")]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples; or a published machine with printed rates, such as h100
    result: PathBuf,
    /// surface, contour, heat, curves; bottleneck: the limit that is the bottleneck at each point, and the fraction of it that
    /// was reached; elasticity: the power of --x with which --z grows, 1 if doubling --x doubles it
    #[arg(
        value_parser = clap::builder::PossibleValuesParser::new(FigureKind::ALL.map(|(name, _)| name)),
        default_value = "surface"
    )]
    kind: String,
    /// First axis: a parameter by the paper's name, or a column [default: L, or the sweep's own axis]
    #[arg(long)]
    x: Option<String>,
    /// Second axis of a grid; for curves, the parameters that distinguish them, comma-separated, or '' [default: alpha, or the
    /// sweep's own axis]
    #[arg(long)]
    y: Option<String>,
    /// Column to show, such as bytes_per_second, cycles_per_operation or seconds [default: the kernel's headline rate]
    #[arg(long)]
    z: Option<String>,
    #[command(flatten)]
    selection: Selection,
    /// Mark known codes on contour or heat over alpha and L, and those of a TOML file [default file: codes.toml in the result]
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    codes: Option<Option<PathBuf>>,
    /// Title of the figure [default: the column's name]
    #[arg(long)]
    title: Option<String>,
    /// File to write, .svg, .png or .pdf [default: KIND.svg and KIND.png in the result's figures/]
    #[arg(long)]
    out: Option<PathBuf>,
    /// screen; paper: one column of a paper, 3.3 inches wide, 8 points, distinguishable in grey, PNG with 600 dots per inch; slide or
    /// slide-dark: 1920 by 1080 pixels, 24 points
    #[arg(long, default_value = "screen", value_parser = parser(Style::ALL))]
    style: Style,
}

/// The known codes with those of a file, or else of a result folder.
pub fn codes(file: Option<&Path>, result: &Opened) -> Result<Vec<Code>> {
    match (file, result.known_folder()) {
        (Some(file), _) => codes::read_with_known(file),
        (None, Some(folder)) => folder.codes(),
        (None, None) => Ok(codes::list_known()),
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    draw(arguments).map_err(|error| arguments.selection.complete(error, &arguments.result))
}

fn draw(arguments: &Arguments) -> Result<()> {
    arguments.out.as_deref().map_or(Ok(()), figure::check_output)?;
    let opened = Opened::open(&arguments.result)?;
    let samples = arguments.selection.choose(&opened.samples()?)?;
    let (_, kind) =
        FigureKind::ALL.into_iter().find(|(name, _)| *name == arguments.kind).expect("clap checks the kind");
    let headline = || kernels::find(samples.first_word("kernel")).ok().map(|kernel| samples.headline(kernel));
    let share = (kind == FigureKind::Bottleneck).then_some(SHARE);
    let z = match &arguments.z {
        Some(given) => column("--z", given, &samples)?,
        None => share.or_else(headline).or_else(|| samples.first_imported_value()).unwrap_or("seconds"),
    };
    let (x, by) = axes(arguments, kind, &samples)?;
    let title = arguments.title.clone().unwrap_or_else(|| {
        let title = plot::title(&samples, kind, &x, z);
        match &opened.published {
            Some(machine) => format!("{}: {title}", machine.name),
            None => title,
        }
    });
    let request = Request { kind, title, x, by, z: z.into() }.orient();
    let selected = selection::select(&samples, &request)?;
    let samples = selected.samples;
    let drawn = plot::figure(&samples, &request)?;
    let drawn = plot::add_bounds(&samples, &request, drawn)?;
    let drawn = match &arguments.codes {
        Some(file) => plot::add_codes(&samples, &request, drawn, &codes(file.as_deref(), &opened)?)?,
        None => drawn,
    };
    selected.notes.iter().for_each(|line| note(&format!("note: {line}")));
    let files = match &arguments.out {
        Some(out) => vec![out.clone()],
        None if arguments.result.is_file() || opened.published.is_some() => {
            vec![PathBuf::from(&arguments.kind).with_extension("svg")]
        }
        None => {
            let figures = Folder::open(&arguments.result)?.figures();
            std::fs::create_dir_all(&figures).map_err(|error| Error::file("create", &figures, error))?;
            ["svg", "png"].map(|end| figures.join(&arguments.kind).with_extension(end)).to_vec()
        }
    };
    for file in &files {
        figure::save_in_style(&drawn, arguments.style, file)?;
        print(&format!("{}\n", file.display()))?;
    }
    Ok(())
}

/// Those of --x and --y, or the defaults. A note names axes that the sweep chose.
fn axes(arguments: &Arguments, kind: FigureKind, samples: &Samples) -> Result<(String, Vec<String>)> {
    let x = arguments.x.as_deref().map(|given| column("--x", given, samples)).transpose()?;
    let to_owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let by = arguments.y.as_deref().map(|list| names("--y", list, samples)).transpose()?.map(to_owned);
    if let (Some(x), Some(by)) = (x, &by) {
        return Ok((x.to_owned(), by.clone()));
    }
    let axes = selection::default_axes(samples, kind, x)?;
    let by = by.unwrap_or(axes.by);
    if axes.is_own {
        let y = by.iter().map(|name| columns::short(name)).collect::<Vec<_>>().join(",");
        note(&format!("note: the axes are those of the sweep: --x {} --y '{y}'", columns::short(&axes.x)));
    }
    Ok((axes.x, by))
}
