//! `apexmap show`: draws the maps of a result in the terminal, also while another process measures it.

use super::live::colours::{Colours, Style};
use super::live::frame::{self, Frame, Viewport};
use super::{live::picture::Picture, opened::Opened, selection::Selection};
use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::terminal::{note, print_styled, terminal_width};
use apexmap_base::units::{self, plural};
use apexmap_results::disk::{Folder, manifest::Manifest};
use apexmap_results::maps::{Map, Maps};
use apexmap_results::samples::Samples;
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
/// Width of a map that is not for a terminal, and its largest height.
const PLAIN_WIDTH: usize = 80;
const MAX_LINES: usize = 60;

pub fn run(arguments: &Arguments) -> Result<()> {
    let opened = Opened::open(&arguments.result)?;
    let folder = opened.known_folder();
    let can_follow = !opened.is_unpacked() && std::io::stderr().is_terminal();
    if let Some(folder) = folder.filter(|folder| can_follow && folder.is_being_measured())
        && !follow(folder, &arguments.selection)?
    {
        return Ok(());
    }
    let samples = opened.samples()?.current();
    let result = arguments.result.display();
    if samples.good().is_empty() {
        return Err(Error::input(
            format!("{result} has no successful sample yet"),
            format!("`apexmap status {result}` shows its launches and failures"),
        ));
    }
    let view = View::new(folder, &samples, &arguments.selection)?;
    view.node_types.iter().for_each(|text| note(&format!("note: the maps show the newest type of nodes. {text}")));
    if view.maps.maps.is_empty() {
        return Err(Error::input(
            format!("{result} has no values on the axes of a map"),
            format!("`apexmap status {result} --columns` lists its columns"),
        ));
    }
    let maps = view.maps.in_order(Map::has_values).into_iter().map(|map| plain_text(map, &view.remark));
    print_styled(&maps.collect::<Vec<_>>().join("\n"))
}

/// A line of a pipe has room for the whole title.
fn plain_text(map: &Map, remark: &str) -> String {
    let width = terminal_width().map_or(PLAIN_WIDTH, |width| width.saturating_sub(1)).max(1);
    let lines = (map.y.labels.len() + 3).min(MAX_LINES);
    let picture = Picture::new(map, Colours::detect(&std::io::stdout()), (width, lines));
    let title_width = if terminal_width().is_none() { picture.title().chars().count() } else { 0 };
    picture.frame(width.max(title_width), remark).text()
}

struct View {
    maps: Maps,
    /// The number of the map with the newest sample.
    newest: Option<usize>,
    /// About the types of nodes if there are several. The maps show the newest.
    node_types: Option<String>,
    samples: usize,
    /// About disturbance.
    remark: String,
}

impl View {
    fn new(folder: Option<&Folder>, samples: &Samples, selection: &Selection) -> Result<Self> {
        let chosen = if samples.is_empty() { samples.clone() } else { selection.choose(samples)? };
        let node_types = chosen.describe_node_types();
        let chosen = chosen.on_newest_node_type();
        // Points without samples are known from the plan, to which a condition on measured columns does not apply.
        let planned = folder.filter(|_| selection.is_empty()).map(Maps::from_plan).transpose()?.flatten();
        let mut maps = planned.map_or_else(|| Maps::from_samples(&chosen), Ok)?;
        let node = folder.and_then(|folder| Some(Manifest::read(folder).ok()?.plain_node()));
        maps.set_node(&node.unwrap_or_default());
        let newest = maps.add_samples(&chosen);
        // The line of a map has little space.
        let remark = samples.stamp().map_or(String::new(), |stamp| format!(", {}", stamp.brief()));
        Ok(Self { maps, newest, node_types, samples: chosen.len(), remark })
    }
}

/// Draws the map until the result is no longer measured. False if the user ended it.
fn follow(folder: &Folder, selection: &Selection) -> Result<bool> {
    let interrupt = Interrupt::catch();
    let mut viewport = Viewport::default();
    while folder.is_being_measured() {
        let begun_at = Instant::now();
        let view = View::new(Some(folder), &Samples::from(folder.load()?.table).current(), selection)?;
        viewport.draw(watch_frame(&view, folder));
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

/// The map with the newest sample, and a line about the samples.
fn watch_frame(view: &View, folder: &Folder) -> Frame {
    let (width, height) = frame::space();
    let colours = Colours::detect(&std::io::stderr());
    let map = view.maps.maps.get(view.newest.unwrap_or(0));
    let picture = map.map(|map| Picture::new(map, colours, (width, frame::map_lines(height, 1))));
    let lines = picture.as_ref().map_or(0, Picture::height);
    let mut frame = Frame::new(width, lines + 1);
    if let Some(picture) = &picture {
        picture.draw(&mut frame, &view.remark);
    }
    let age = units::seconds(folder.age().unwrap_or_default().as_secs() as f64);
    let samples = plural(view.samples, "sample");
    let text = format!("{samples}, the newest {age} ago; Ctrl-C ends this view only");
    frame.write((0, lines), &text, Style::default());
    frame
}
