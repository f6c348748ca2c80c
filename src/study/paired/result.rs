//! The result of a comparison: its samples, which are kept run by run.

use super::sides::{Measured, SideRun, Sides};
use super::{Pairs, SIDE, Turn, log_speed, pairs_of_sides, side_name};
use apexmap_base::error::{Error, Result};
use apexmap_base::other_output::OtherOutput;
use apexmap_base::point::{Point, Value as PointValue};
use apexmap_base::sample::{Event, Launch, Sample, Status};
use apexmap_base::shell::command_line;
use apexmap_base::{new_file, regular_file};
use apexmap_results::disk::{Folder, journal::Journal, lock::Lock, manifest::Manifest};
use apexmap_results::samples::Samples;
use apexmap_run::drive::plan::Entry;
use std::path::Path;

/// A result folder, locked while it is measured.
pub struct PairedResult {
    pub folder: Folder,
    _lock: Lock,
    names: Vec<String>,
    points: usize,
    journal: Option<Journal>,
}

impl PairedResult {
    /// Makes a result of these sides, or continues the one in the folder.
    pub fn open(path: &Path, names: &[String], sides: &dyn Sides) -> Result<Self> {
        let folder = Folder { path: path.to_owned() };
        let (mut points, mut text) = (0, String::new());
        for (side, entries) in sides.points().into_iter().enumerate() {
            points += entries.len();
            for entry in entries {
                let (key, point) = (key_of(side, &entry.key), point_of(side, &entry.point));
                text += &Entry { key, point, ..entry }.line()?;
            }
        }
        let is_same = regular_file::read_text(&folder.points()).is_ok_and(|planned| planned == text);
        // A folder without a manifest is no result of others.
        if path.is_file() || !is_same && folder.manifest().exists() {
            let message = format!("{} holds something other than this comparison", path.display());
            return Err(Error::input(message, "name a new folder with --out; the same command continues a comparison"));
        }
        let folder = Folder::create(path)?;
        let lock = folder.lock()?;
        folder.remove_abandoned();
        folder.replace_text(&folder.points(), &text)?;
        let result = Self { folder, _lock: lock, names: names.to_vec(), points, journal: None };
        // Before the first sample, so that every command takes the result, however this one ends.
        result.describe(0)?;
        Ok(result)
    }

    /// The runs that the folder has. They are compared by `column`, or by the mean of their points.
    pub fn read_pairs(&self, column: Option<&str>) -> Result<Measured> {
        let samples = Samples::from(self.folder.table()?);
        let values = (0..self.names.len()).map(|side| {
            let runs = samples.with_word(SIDE, &[&side_name(side)]).good();
            match column {
                Some(column) => runs.numbers(column),
                None => {
                    let runs = runs.group_by(&["block", "repetition"]);
                    runs.iter().filter_map(log_speed).map(f64::exp).collect()
                }
            }
        });
        let pairs = pairs_of_sides(&samples, self.names.len()).unwrap_or_else(|| Pairs::new(self.names.len()));
        Ok(Measured::new(pairs, values.collect()))
    }

    /// All runs of commands are a launch, and each run of a sweep is another.
    pub fn keep(&mut self, turn: Turn, run: &SideRun) -> Result<()> {
        let mut journal = match self.journal.take() {
            Some(journal) => journal,
            None => {
                let (name, mut journal) = self.folder.begin_launch()?;
                let launch = Launch { launch: name, block: turn.pair, ..run.launch.clone() };
                journal.append(&Event::Hello(Box::new(launch)))?;
                journal
            }
        };
        for sample in &run.samples {
            journal.append(&Event::Sample(Box::new(of_pair(sample, turn))))?;
        }
        self.journal = Some(journal);
        if run.is_whole_launch { self.end_launch() } else { Ok(()) }
    }

    fn end_launch(&mut self) -> Result<()> {
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        journal.append(&Event::Done { budget_spent: false })?;
        let (message, output) = (String::new(), OtherOutput::default());
        journal.append(&Event::Ended { status: Status::Ok, message, doubtful: false, output })?;
        journal.finish()
    }

    pub fn write(&mut self, pairs: usize) -> Result<Samples> {
        self.end_launch()?;
        self.describe(pairs)?;
        Ok(Samples::from(self.folder.compact()?))
    }

    fn describe(&self, pairs: usize) -> Result<()> {
        let (folder, names) = (&self.folder, &self.names);
        let title = format!("{} against {}", names[1..].join(", "), names[0]);
        let sides = (0..).zip(names).map(|(side, name)| format!(" {}: {name}.", side_name(side))).collect::<String>();
        let question = format!("{} faster than A?{sides}", if names.len() == 2 { "Is B" } else { "Which is" });
        let [quoted_title, quoted_question] = [&title, &question].map(|text| toml::Value::from(text.as_str()));
        let sweep = format!(
            "# Written by: {}\n\ntitle = {quoted_title}\nquestion = {quoted_question}\n\n[launch]\nlaunches = {pairs}\n\n\
             [repeat]\nmin = 1\n",
            command_line().replace('\n', " ")
        );
        new_file::replace_contents(&folder.sweep(), &sweep)?;
        let name = folder.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let manifest = Manifest { sweep, points: self.points, blocks: pairs as u32, ..Manifest::new(name, title) };
        manifest.with_records(&folder.outcomes()?).write(folder)
    }
}

/// With the side as a parameter, and the number of the pair as block.
fn of_pair(sample: &Sample, Turn { side, pair, repetition }: Turn) -> Sample {
    let point = point_of(side, &sample.point);
    Sample { key: key_of(side, &sample.key), point, block: pair, repetition, ..sample.clone() }
}

fn point_of(side: usize, point: &Point) -> Point {
    let mut point = point.clone();
    point.params.insert(SIDE.into(), PointValue::from(side_name(side).as_str()));
    point
}

fn key_of(side: usize, key: &str) -> String {
    format!("{}-{key}", side_name(side))
}
