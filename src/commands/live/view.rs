//! The frame of a run on a terminal: the map of the group that is being measured, a bar, and lines about the run.

use super::colours::{Colours, Style};
use super::frame::{self, Frame, Viewport};
use super::picture::Picture;
use apexmap_base::sample::{Launch, Sample};
use apexmap_base::terminal::{to_printable, wrap_lines};
use apexmap_results::disk::Folder;
use apexmap_results::maps::{Map, Maps};
use apexmap_run::drive::plan::Plan;
use std::io::IsTerminal;
use std::path::Path;

/// In characters.
const BAR: usize = 16;
/// Maps that stay on the terminal after a run.
const MAX_LEFT: usize = 4;

pub struct LiveView {
    viewport: Viewport,
    colours: Colours,
    maps: Maps,
    current: Option<usize>,
    launch: String,
    hertz: Option<f64>,
    further_lines: usize,
}

impl LiveView {
    /// The maps have the samples of the folder's journals.
    pub fn new(plan: &Plan, folder: Option<&Path>) -> Option<Self> {
        let mut view = Self::without_maps()?;
        let points = plan.entries.iter().map(|entry| (entry.key.as_str(), &entry.point));
        // A view without a map is better than no run.
        view.maps = Maps::from_points(points).unwrap_or_default();
        if let Some(folder) = folder {
            let _ = view.maps.add_journals(&Folder { path: folder.to_owned() });
        }
        Some(view)
    }

    /// If standard error is a terminal that can move its cursor.
    pub fn without_maps() -> Option<Self> {
        let name = std::env::var("TERM").unwrap_or_default();
        if !std::io::stderr().is_terminal() || ["", "dumb"].contains(&name.as_str()) {
            return None;
        }
        Some(Self {
            viewport: Viewport::default(),
            colours: Colours::detect(&std::io::stderr()),
            maps: Maps::default(),
            current: None,
            launch: String::new(),
            hertz: None,
            further_lines: 0,
        })
    }

    pub fn start_launch(&mut self, launch: &str) {
        launch.clone_into(&mut self.launch);
    }

    /// Shows the samples on the launch's type of nodes.
    pub fn set_hardware(&mut self, launch: &Launch) {
        self.hertz = launch.host.cycle_hertz;
        self.maps.set_node(&launch.plain_node());
        self.maps.show_node_type(&launch.node_type());
    }

    /// Shows the map of the sample. Returns whether it is another one than before.
    pub fn add_sample(&mut self, sample: &Sample) -> bool {
        let Some(number) = self.maps.add_sample(sample, &self.launch, self.hertz) else { return false };
        let next = &self.maps.maps[number];
        let changes = match self.current {
            Some(current) => current != number && next.replaces(&self.maps.maps[current]),
            None => next.has_several_cells(),
        };
        if changes {
            self.current = Some(number);
        }
        changes
    }

    pub fn forget_launch(&mut self) {
        self.maps.forget_launch(&self.launch);
    }

    /// The bar is filled to `share`, with the first text next to it. Long texts are wrapped.
    pub fn draw(&mut self, share: f64, texts: &[&str]) {
        let (width, height) = frame::space();
        let filled = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
        let bar = "█".repeat(filled) + &"░".repeat(BAR - filled);
        let text = to_printable(&format!("{bar} {}", texts.join("\n"))).into_owned();
        let wrapped = wrap_lines(&text, Some(width));
        let further: Vec<&str> = wrapped.lines().collect();
        // The height changes as rarely as possible.
        self.further_lines = self.further_lines.max(further.len()).min(height);
        let size = (width, frame::map_lines(height, self.further_lines));
        let map = self.current.map(|number| &self.maps.maps[number]);
        let picture = map.map(|map| Picture::new(map, self.colours, size));
        let picture = picture.filter(|picture| picture.height() + self.further_lines <= height);
        let lines = picture.as_ref().map_or(0, Picture::height);
        let mut frame = Frame::new(width, lines + self.further_lines);
        if let Some(picture) = &picture {
            picture.draw(&mut frame, "");
        }
        for (line, text) in (lines..).zip(further) {
            frame.write((0, line), text, Style::default());
        }
        self.viewport.draw(frame);
    }

    /// Above the frame. The text must be printable.
    pub fn say(&mut self, text: &str) {
        self.viewport.print_above(text);
    }

    /// Leaves the maps with values on the terminal, if they are few; else the last one. Strips stay only without surfaces.
    pub fn finish(&mut self) {
        let (width, height) = frame::space();
        let size = (width, frame::map_lines(height, 0));
        let has_surface = self.maps.maps.iter().any(|map| map.has_values() && map.is_surface());
        let is_left = |map: &Map| map.has_values() && map.has_several_cells() && (map.is_surface() || !has_surface);
        let filled = self.maps.in_order(is_left);
        let last = self.current.map(|number| &self.maps.maps[number]);
        let maps: Vec<&Map> = if filled.len() <= MAX_LEFT { filled } else { last.into_iter().collect() };
        let frames = maps.into_iter().map(|map| Picture::new(map, self.colours, size).frame(width, "").text());
        let text = frames.collect::<Vec<_>>().join("\n");
        self.viewport.clear();
        if !text.is_empty() {
            self.viewport.print_above(text.trim_end_matches('\n'));
        }
    }
}
