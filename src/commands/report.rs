//! `apexmap report`: redraws a result's figures and rewrites its report.

use super::{card::CardArguments, opened::Opened, own_model::OwnModels, parser};
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::{error_width, note, note_raw, print, print_in_red, terminal_width, to_printable};
use apexmap_base::{new_file, regular_file};
use apexmap_draw::figure::Style;
use apexmap_pages::html::make_style_folder;
use apexmap_pages::report::{self, Additions, summary};
use apexmap_results::disk::{Folder, manifest::Manifest};
use apexmap_results::samples::{Samples, health::Health};
use apexmap_study::answers::declared::Declared;
use apexmap_study::nodes;
use apexmap_theory::models::{Model, formula::FormulaModel};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap report results/quickstart
  apexmap report results/quickstart --card results/calibrate/card.toml
  apexmap report results/quickstart --models               fit the models to the samples
  apexmap report results/quickstart --model mine.toml      ... and your own
  apexmap report results/quickstart --style paper
  apexmap report report.html                 draw the page of an older version again")]
pub struct Arguments {
    /// A result: folder, archive, or a report that holds its result
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    /// Write only the page, to this file; the result stays as it is [default: report.html in the result folder, NAME.redrawn.html or
    /// NAME.html next to a page or an archive]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    card: CardArguments,
    /// Fit the models to the samples, which may take a minute, and add them to the page
    #[arg(long = "models")]
    fits: bool,
    #[command(flatten)]
    models: OwnModels,
    /// paper, slide, slide-dark: also write each figure in this style, into figures/STYLE; later reports update them
    #[arg(long, default_value = "screen", value_parser = parser(Style::ALL))]
    style: Style,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    if let Some(out) = &arguments.out {
        if out.extension().is_some_and(|end| end != "html" && end != "htm") {
            let help = format!("--out {}", out.with_extension("html").display());
            return Err(Error::input(format!("the page is HTML, not {}", out.display()), help));
        }
        new_file::check_user_file(out)?;
    }
    let models = arguments.models.read()?;
    let opened = Opened::open(&arguments.result)?;
    let opened = if arguments.out.is_some() { opened.into_copy()? } else { opened };
    if opened.is_unpacked() {
        return redraw(arguments, &opened, &models);
    }
    let folder = opened.folder()?;
    folder.remove_abandoned_if_unused();
    if arguments.card.card.is_some() {
        // A card changes `samples.parquet`, so no other program may write it meanwhile.
        let _lock = folder.lock()?;
        if folder.journal_files()?.is_empty() {
            return Err(Error::input(
                format!("{} has no journals, which bounds are computed from", arguments.result.display()),
                "omit --card, or use the complete result folder",
            ));
        }
        let manifest = Manifest::read(folder)?;
        let hosts: Vec<_> = manifest.launches.iter().map(|end| &end.launch.host).collect();
        if let Some(card) = arguments.card.find(&manifest.machine, &hosts)? {
            folder.replace_card(&card)?;
        }
        folder.compact()?;
    }
    make_style_folder(&folder.figures(), arguments.style)?;
    make(folder, &opened.samples()?, arguments.fits, &models)
}

/// Draws the page of a report or an archive, from the result that it holds.
fn redraw(arguments: &Arguments, opened: &Opened, models: &[&'static FormulaModel]) -> Result<()> {
    if arguments.card.card.is_some() || arguments.style != Style::Screen {
        return Err(Error::input(
            "--card and --style change the files of a result folder, not those of an archive or a report, and not with --out",
            "omit them, or name the result folder without --out",
        ));
    }
    let out = arguments.out.clone().unwrap_or_else(|| redrawn_name(&arguments.result));
    let folder = opened.folder()?;
    let additions = Additions { redrawn: opened.page_version.as_deref(), models, fits: None };
    let made = write(folder, &opened.samples()?, arguments.fits, additions);
    let warnings = made.map_err(|error| opened.name_error(error))?;
    copy_page(folder, &out)?;
    print_page(&warnings, &out)
}

/// `NAME.redrawn.html` for a report, and `NAME.html` for an archive.
fn redrawn_name(named: &Path) -> PathBuf {
    let name = named.to_string_lossy();
    match name.strip_suffix(".tar.gz").or_else(|| name.strip_suffix(".tgz")) {
        Some(stem) => PathBuf::from(format!("{stem}.html")),
        None => named.with_extension("redrawn.html"),
    }
}

fn copy_page(folder: &Folder, out: &Path) -> Result<()> {
    let text = regular_file::read_text(&folder.report()).map_err(|e| Error::file("read", &folder.report(), e))?;
    new_file::write_user_file_contents(out, text)
}

/// Prints the numbers, then makes the report. Models are fitted if that is wanted, or if the user names own ones.
pub fn make(folder: &Folder, samples: &Samples, fits: bool, models: &[&'static FormulaModel]) -> Result<()> {
    let warnings = write(folder, samples, fits, Additions { models, ..Additions::default() })?;
    print_page(&warnings, &folder.report())
}

/// As [`make`]. Returns the warnings of the page.
fn write(folder: &Folder, samples: &Samples, fits: bool, additions: Additions) -> Result<Vec<String>> {
    let is_of_nodes = nodes::is_of_each_node(&samples.current());
    if is_of_nodes {
        refuse_models(additions.models)?;
    }
    print_numbers(folder, samples)?;
    if is_of_nodes {
        return report::nodes::make(folder, samples, additions.redrawn);
    }
    // Clears its line before others are printed.
    let progress = FitProgress::new();
    let show = |text: &str| progress.show(text);
    let is_wanted = fits || !additions.models.is_empty();
    report::make(folder, samples, Additions { fits: is_wanted.then_some(&show), ..additions })
}

/// The page of a sweep that each node ran alone compares nodes, and fits no model.
fn refuse_models(models: &[&'static FormulaModel]) -> Result<()> {
    let Some(model) = models.first() else { return Ok(()) };
    let message = "a report that compares nodes fits no models";
    Err(Error::input(message, format!("omit --model, or use apexmap fit RESULT --model {}", model.about().id)))
}

/// The medians, how quiet the machine was, and the answer. Nodes that each ran the sweep alone are compared.
pub fn print_numbers(folder: &Folder, samples: &Samples) -> Result<()> {
    let current = samples.current();
    if nodes::is_of_each_node(&current) {
        print(&nodes::text(&nodes::compare(&current)?, terminal_width()))?;
        return print_quietness(&Health::from_samples(&current));
    }
    let numbers = report::numbers(folder, samples)?;
    print(&summary::text(&numbers.rows, numbers.more_groups, terminal_width()))?;
    print(&numbers.answers)?;
    print_quietness(&numbers.health)?;
    print(&numbers.declared.as_ref().map_or(String::new(), Declared::lines))
}

fn print_quietness(health: &Health) -> Result<()> {
    match health.banner() {
        Some(banner) => print_in_red(&banner.short()),
        None => print(&format!("{}\n", health.sentence())),
    }
}

fn print_page(warnings: &[String], page: &Path) -> Result<()> {
    let warnings: String = warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
    print(&format!("{warnings}report: {}\n", page.display()))
}

/// Between two plain lines. Short fits print nothing.
const QUIET: Duration = Duration::from_secs(2);

/// Moves the cursor to the start of the line and clears it.
const CLEAR_LINE: &str = "\r\x1b[K";

struct FitProgress {
    latest: Cell<Instant>,
}

impl FitProgress {
    fn new() -> Self {
        Self { latest: Cell::new(Instant::now()) }
    }

    fn show(&self, text: &str) {
        match error_width() {
            // A full line would move the cursor to the next one.
            Some(width) => {
                let text: String = to_printable(text).chars().take(width - 1).collect();
                note_raw(&format!("{CLEAR_LINE}{text}"));
            }
            None if self.latest.get().elapsed() >= QUIET => {
                note(text);
                self.latest.set(Instant::now());
            }
            None => {}
        }
    }
}

impl Drop for FitProgress {
    fn drop(&mut self) {
        if error_width().is_some() {
            note_raw(CLEAR_LINE);
        }
    }
}
