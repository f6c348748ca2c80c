use apexmap_base::disturbance::Facts;
use apexmap_base::error::Error;
use apexmap_base::other_output::OtherOutput;
use apexmap_base::sample::{Launch, Sample, Status};
use apexmap_base::units::plural;
use apexmap_measure::kernels;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Debug, PartialEq)]
pub struct Record<S = Sample> {
    /// Name of its file: `0001.jsonl`.
    pub journal: String,
    pub launch: Option<Launch>,
    /// Facts of each canary before the first sample.
    pub preflight: Vec<Facts>,
    pub samples: Vec<S>,
    /// Whether the launch used up its time budget before all its points were as precise as requested.
    pub budget_spent: bool,
    pub ended: Option<(Status, String)>,
    /// Lines besides the events, if the launch succeeded.
    pub output: OtherOutput,
    /// Number of lines that are not events or hold an invalid sample: the incomplete last line of a killed driver, or damage.
    pub unreadable: usize,
    /// Number of samples that occurred before, in this or an earlier journal, as in copies. They count once.
    pub repeated: usize,
    /// Number of samples of a launch with inconsistent lines. They do not count.
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
            output: OtherOutput::default(),
            unreadable: 0,
            repeated: 0,
            doubtful: 0,
        }
    }
}

/// Lines and samples of a journal that do not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    pub journal: String,
    /// Number of unreadable lines. Their samples are missing until the sweep runs again.
    pub unreadable: usize,
    pub repeated: usize,
    #[serde(default)]
    pub doubtful: usize,
}

impl Damage {
    pub fn sentence(&self) -> String {
        let unread = format!(
            "{} cannot be read; {} missing until the sweep runs again",
            plural(self.unreadable, "line"),
            if self.unreadable == 1 { "its sample is" } else { "their samples are" }
        );
        let again = match self.repeated {
            1 => "1 sample occurred before and counts once".to_owned(),
            more => format!("{} occurred before and count once", plural(more, "sample")),
        };
        let count = plural(self.doubtful, "sample");
        let verb = if self.doubtful == 1 { "does" } else { "do" };
        let doubted = format!("{count} of a launch with inconsistent lines {verb} not count");
        let parts = [(self.unreadable, unread), (self.repeated, again), (self.doubtful, doubted)];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        format!("journal {}: {}", self.journal, parts.map(|(_, part)| part).collect::<Vec<_>>().join("; "))
    }
}

impl<S> Record<S> {
    pub(super) fn from_path(journal: &Path) -> Self {
        let journal = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { journal, ..Self::default() }
    }

    pub fn ended_within_sample(&self) -> bool {
        self.budget_spent && matches!(self.ended, Some((Status::TimedOut, _)))
    }

    pub fn damage(&self) -> Option<Damage> {
        let &Self { unreadable, repeated, doubtful, .. } = self;
        let damage = Damage { journal: self.journal.clone(), unreadable, repeated, doubtful };
        (unreadable + repeated + doubtful > 0).then_some(damage)
    }
}

/// The data of a sample that plans need.
pub trait Run {
    fn key(&self) -> &str;
    fn block(&self) -> u32;
    fn repetition(&self) -> u32;
    fn status(&self) -> Status;
    fn repeated_value(&self) -> Option<f64>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct SampleOutcome {
    pub key: String,
    pub block: u32,
    pub repetition: u32,
    pub status: Status,
    /// The number that repetitions narrow.
    pub repeated_value: Option<f64>,
    /// Seconds since 1970 when the run ended.
    pub unix_seconds: f64,
    /// The whole sample, if it is not good.
    pub failure: Option<Box<Sample>>,
}

macro_rules! run {
    ($($record:ty: $value:expr),*) => { $(impl Run for $record {
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
        fn repeated_value(&self) -> Option<f64> {
            $value(self)
        }
    })* };
}
run!(Sample: kernels::repeated_value, SampleOutcome: |outcome: &Self| outcome.repeated_value);

impl From<Sample> for SampleOutcome {
    fn from(sample: Sample) -> Self {
        Self {
            key: sample.key.clone(),
            block: sample.block,
            repetition: sample.repetition,
            status: sample.status,
            repeated_value: kernels::repeated_value(&sample),
            unix_seconds: sample.unix_seconds,
            failure: (sample.status != Status::Ok).then(|| Box::new(sample)),
        }
    }
}

pub(super) fn newer_schema_error(path: &Path) -> Error {
    Error::environment(
        format!("{} was written by a newer apexmap", path.display()),
        "read this result with that apexmap, or a newer one",
    )
}
