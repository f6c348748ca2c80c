//! What a journal says, as a whole.

use apexmap_base::disturbance::Facts;
use apexmap_base::error::Error;
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_base::units::plural;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a journal says.
#[derive(Debug, PartialEq)]
pub struct Record<S = Sample> {
    /// Name of its file: `0001.jsonl`.
    pub journal: String,
    pub launch: Option<Launch>,
    /// What each canary told before the first sample.
    pub preflight: Vec<Facts>,
    pub samples: Vec<S>,
    /// The launch ran out of its time budget before all its points were as precise as asked.
    pub budget_spent: bool,
    pub ended: Option<(Status, String)>,
    /// Lines that are not events, or whose sample cannot be: the torn last line of a killed driver, or damage.
    pub unreadable: usize,
    /// Samples that came before, in this journal or an earlier one: lines or journals that were copied. They count once.
    pub repeated: usize,
    /// Samples of a launch whose lines did not fit together. They do not count.
    pub doubtful: usize,
}

impl<S> Default for Record<S> {
    fn default() -> Self {
        Self {
            journal: String::new(),
            launch: None,
            preflight: Vec::new(),
            samples: Vec::new(),
            budget_spent: false,
            ended: None,
            unreadable: 0,
            repeated: 0,
            doubtful: 0,
        }
    }
}

/// What of a journal does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// Its name: `0001.jsonl`.
    pub journal: String,
    /// Lines that cannot be read. Their samples are missing until the sweep is run again.
    pub unreadable: usize,
    /// Samples that came before.
    pub repeated: usize,
    /// Samples of a launch whose lines did not fit together.
    #[serde(default)]
    pub doubtful: usize,
}

impl Damage {
    /// `journal 0001.jsonl: 1 line cannot be read; what it held is missing until the sweep is run again`
    pub fn sentence(&self) -> String {
        let unread = format!(
            "{} cannot be read; what {} held is missing until the sweep is run again",
            plural(self.unreadable, "line"),
            if self.unreadable == 1 { "it" } else { "they" }
        );
        let again = match self.repeated {
            1 => "1 sample came before, and counts once".to_owned(),
            more => format!("{} came before, and count once", plural(more, "sample")),
        };
        let count = plural(self.doubtful, "sample");
        let verb = if self.doubtful == 1 { "does" } else { "do" };
        let doubted = format!("{count} of a launch whose lines do not fit together {verb} not count");
        let parts = [(self.unreadable, unread), (self.repeated, again), (self.doubtful, doubted)];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        format!("journal {}: {}", self.journal, parts.map(|(_, part)| part).collect::<Vec<_>>().join("; "))
    }
}

impl<S> Record<S> {
    /// Of a journal that nothing was read of.
    pub(super) fn of(journal: &Path) -> Self {
        let journal = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { journal, ..Self::default() }
    }

    /// What of it does not count; `None` if all does.
    pub fn damage(&self) -> Option<Damage> {
        let &Self { unreadable, repeated, doubtful, .. } = self;
        let damage = Damage { journal: self.journal.clone(), unreadable, repeated, doubtful };
        (unreadable + repeated + doubtful > 0).then_some(damage)
    }
}

/// What plans ask of a sample.
pub trait Run {
    fn key(&self) -> &str;
    fn block(&self) -> u32;
    fn repetition(&self) -> u32;
    fn status(&self) -> Status;
    fn seconds(&self) -> Option<f64>;
}

/// The part of a sample that plans ask of.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleOutcome {
    pub key: String,
    pub block: u32,
    pub repetition: u32,
    pub status: Status,
    pub seconds: Option<f64>,
    /// Seconds since 1970 when the run ended.
    pub unix_seconds: f64,
    /// The whole sample, if it is not good.
    pub failure: Option<Box<Sample>>,
}

macro_rules! run {
    ($($record:ty),*) => { $(impl Run for $record {
        fn key(&self) -> &str {
            &self.key
        }
        fn block(&self) -> u32 {
            self.block
        }
        fn repetition(&self) -> u32 {
            self.repetition
        }
        fn status(&self) -> Status {
            self.status
        }
        fn seconds(&self) -> Option<f64> {
            self.seconds
        }
    })* };
}
run!(Sample, SampleOutcome);

impl From<Sample> for SampleOutcome {
    fn from(sample: Sample) -> Self {
        Self {
            key: sample.key.clone(),
            block: sample.block,
            repetition: sample.repetition,
            status: sample.status,
            seconds: sample.seconds,
            unix_seconds: sample.unix_seconds,
            failure: (sample.status != Status::Ok).then(|| Box::new(sample)),
        }
    }
}

/// For a file of a schema that this apexmap does not know.
pub(super) fn newer(path: &Path) -> Error {
    Error::environment(
        format!("{} was written by a newer apexmap", path.display()),
        "read this result with that apexmap, or a newer one",
    )
}
