//! `apexmap show`: draws the maps of a result in the terminal, also while another process measures it.

use super::live::colours::Colours;
use super::live::map::{Map, Maps};
use super::live::picture::{Drawing, frame};
use super::live::text::write;
use super::live::view::first_figure;
use super::live::viewport::{self, Viewport};
use super::opened::Opened;
use super::selection::Selection;
use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::{note, print_styled, terminal_width};
use apexmap_base::units::{self, plural};
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_run::sweep::plan::Entry;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
#[command(
    after_help = "While another process measures the result, the map is drawn again as samples come, until the sweep ends or \
    Ctrl-C.

Examples:
  apexmap show results/quickstart
  apexmap show results/quickstart --where 'P == 1'"
)]
pub struct Arguments {
    /// A result: folder, archive, report.html or Parquet file of samples
    #[arg(default_value = "results/quickstart")]
    result: PathBuf,
    #[command(flatten)]
    selection: Selection,
}

/// Shortest time between two reads of a result that is being measured.
const READ_EVERY: Duration = Duration::from_secs(1);
/// Reads take at most 1 / `REST` of the time, because the ranks may need the processors.
const REST: u32 = 10;
/// A result without a new sample for this time is not being measured.
const PATIENCE: Duration = Duration::from_secs(600);
/// Width of a map that is not for a terminal, and its largest height.
const PLAIN_WIDTH: usize = 80;
const MAX_LINES: usize = 60;
/// Height of curves.
const CHART_LINES: usize = 16;

pub fn run(arguments: &Arguments) -> Result<()> {
    let opened = Opened::open(&arguments.result)?;
    let folder = opened.known_folder();
    let is_followed =
        |folder: &&Folder| !opened.is_unpacked() && std::io::stderr().is_terminal() && is_being_measured(folder);
    if let Some(folder) = folder.filter(is_followed)
        && !follow(folder, &arguments.selection)?
    {
        return Ok(());
    }
    let samples = opened.samples()?.current();
    if samples.good().is_empty() {
        return Err(Error::input(
            format!("{} has no successful sample yet", arguments.result.display()),
            format!("`apexmap status {}` shows its launches and failures", arguments.result.display()),
        ));
    }
    let view = View::new(folder, &samples, &arguments.selection)?;
    view.node_types.iter().for_each(|text| note(&format!("note: the maps show the newest type of nodes. {text}")));
    let colours = Colours::detect(&std::io::stdout());
    let width = terminal_width().map_or(PLAIN_WIDTH, |width| width.saturating_sub(1)).max(1) as u16;
    if view.maps.maps.is_empty() {
        return Err(Error::input(
            format!("{} has no values on the axes of a map", arguments.result.display()),
            format!("`apexmap status {} --columns` lists its columns", arguments.result.display()),
        ));
    }
    let keeps_title = terminal_width().is_none();
    let pictures = view.maps.in_order(Map::has_values).into_iter().map(|map| {
        let lines = if map.is_chart { CHART_LINES } else { (map.y.labels.len() + 3).min(MAX_LINES) };
        viewport::lines(&frame(map, colours, (width, lines as u16), &view.remark, keeps_title))
    });
    print_styled(&pictures.collect::<Vec<_>>().join("\n"))
}

/// The maps of a result at one moment.
struct View {
    maps: Maps,
    /// The number of the map with the newest sample.
    newest: Option<usize>,
    /// Sentence about the types of nodes if there are several. The maps show the newest.
    node_types: Option<String>,
    samples: usize,
    /// Warning about disturbance.
    remark: String,
}

impl View {
    fn new(folder: Option<&Folder>, samples: &Samples, selection: &Selection) -> Result<Self> {
        let chosen = if samples.is_empty() { samples.clone() } else { selection.choose(samples)? };
        let node_types = chosen.describe_node_types();
        let chosen = chosen.on_newest_node_type();
        // Points without samples are known from the plan, to which a condition on measured columns does not apply.
        let planned = match (folder, selection.is_empty()) {
            (Some(folder), true) => folder.plan_lines::<Entry>()?,
            _ => None,
        };
        let figure = folder.and_then(first_figure);
        let mut maps = match planned {
            Some(entries) => {
                Maps::from_points(entries.iter().map(|entry| (entry.key.as_str(), &entry.point)), figure.as_ref())?
            }
            None => Maps::from_samples(&chosen, figure.as_ref())?,
        };
        let node = folder.and_then(|folder| Some(Manifest::read(folder).ok()?.plain_node()));
        maps.set_node(&node.unwrap_or_default());
        let newest = maps.add_samples(&chosen);
        // The line of a map has little space.
        let remark = samples.stamp().map_or(String::new(), |stamp| format!(", {}", stamp.brief()));
        Ok(Self { maps, newest, node_types, samples: chosen.len(), remark })
    }

    /// Returns the map to show while the result is measured: the first figure of the sweep, or the map with the newest sample.
    fn map(&self) -> Option<&Map> {
        self.maps
            .measured_figure()
            .or(self.newest)
            .and_then(|number| self.maps.maps.get(number))
            .or(self.maps.maps.first())
    }
}

/// Returns whether a driver or a job seems to measure the result: the journals have samples that `samples.parquet` does not
/// have, and the newest change is recent. A lock would not show jobs on other machines.
fn is_being_measured(folder: &Folder) -> bool {
    let compaction = Manifest::read(folder).ok().and_then(|manifest| manifest.compaction);
    let is_complete = compaction.is_some_and(|compaction| compaction.is_current(folder).unwrap_or(true));
    !is_complete && age(folder).is_some_and(|age| age < PATIENCE)
}

/// Returns the time since the newest change of the journals.
fn age(folder: &Folder) -> Option<Duration> {
    let files = folder.journal_files().ok()?.into_iter().chain([folder.manifest()]);
    let times = files.filter_map(|path| path.metadata().ok()?.modified().ok());
    times.max().map(|time| time.elapsed().unwrap_or_default())
}

/// Draws the map until the result is no longer measured. Returns false if the user ended it.
fn follow(folder: &Folder, selection: &Selection) -> Result<bool> {
    let interrupt = Interrupt::catch();
    let colours = Colours::detect(&std::io::stderr());
    let mut viewport = Viewport::default();
    while is_being_measured(folder) {
        let begun_at = Instant::now();
        let view = View::new(Some(folder), &Samples::from(folder.load()?.table).current(), selection)?;
        viewport.draw(watch_frame(&view, colours, folder));
        let pause = READ_EVERY.max(begun_at.elapsed() * REST);
        while begun_at.elapsed() < pause {
            if interrupt.check().is_err() {
                viewport.leave();
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    viewport.clear();
    Ok(true)
}

/// Returns the frame of a result that is being measured.
fn watch_frame(view: &View, colours: Colours, folder: &Folder) -> Buffer {
    let (width, height) = viewport::space();
    let picture = view.map().map(|map| Drawing::new(map, colours, (width, viewport::map_lines(height, 1))));
    let lines = picture.as_ref().map_or(0, Drawing::height);
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, lines + 1));
    if let Some(picture) = &picture {
        picture.draw(&mut buffer, 0, &view.remark);
    }
    let age = units::seconds(age(folder).unwrap_or_default().as_secs() as f64);
    let samples = plural(view.samples, "sample");
    write(
        &mut buffer,
        (0, lines),
        &format!("{samples}, the newest {age} ago; Ctrl-C ends this view only"),
        Style::new(),
    );
    buffer
}
