//! The plan: every point of a sweep with its key, and what an existing result already holds of it.

use crate::error::{Error, Result};
use crate::explore::store::journal::{Record, Run};
use crate::measure::kernels;
pub use crate::measure::worker::Info as WorkerInfo;
use crate::measure::worker::Repeat;
use crate::point::Point;
use crate::sample::Status;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What must be the same for two samples to be samples of one thing, besides the point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Context {
    pub transport: String,
    pub launcher: String,
    pub ranks_per_node: Option<usize>,
    pub machine: String,
    /// The worker's measuring code and its message library.
    pub build: String,
    pub library: String,
}

/// A point and its identity in stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub key: String,
    #[serde(flatten)]
    pub point: Point,
}

/// Everything that a sweep asks for.
#[derive(Clone, Debug)]
pub struct Plan {
    pub context: Context,
    pub entries: Vec<Entry>,
    /// Launches a rank count.
    pub blocks: u32,
    pub repeat: Repeat,
    pub seed: u64,
}

impl Plan {
    /// # Errors
    /// If two different points have one key, which SHA-256 makes a fault of this program.
    pub fn new(context: Context, points: Vec<Point>, blocks: u32, repeat: Repeat, seed: u64) -> Result<Self> {
        let prefix = serde_json::to_vec(&context).map_err(|e| Error::internal(e.to_string()))?;
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(points.len());
        for point in points {
            let mut hash = Sha256::new();
            hash.update(&prefix);
            hash.update(serde_json::to_vec(&point).map_err(|e| Error::internal(e.to_string()))?);
            let key: String = hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect();
            if !seen.insert(key.clone()) {
                return Err(Error::internal(format!("the point {} stands twice in the plan", point.label())));
            }
            entries.push(Entry { key, point });
        }
        Ok(Self { context, entries, blocks, repeat, seed })
    }

    /// Rank counts with the indices of their entries, in ascending order.
    pub fn by_ranks(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            groups.entry(entry.point.ranks).or_default().push(index);
        }
        groups
    }

    pub fn keys(&self) -> HashSet<&str> {
        self.entries.iter().map(|entry| entry.key.as_str()).collect()
    }
}

/// What a result holds of one point in one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    pub seconds: Vec<f64>,
    pub next_repetition: u32,
    /// How the last run ended, if not well.
    pub failure: Option<Status>,
    /// A launch that held it ran out of time: at least `min` samples suffice.
    pub budget_spent: bool,
}

/// State of a point in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    Done,
    /// Some samples, but fewer or less precise than asked.
    Partial,
    Missing,
    Failed,
}

/// What a result holds of a plan.
#[derive(Debug, Default)]
pub struct Progress {
    /// By key, each with its block.
    held: HashMap<String, Vec<(u32, Held)>>,
    /// Samples whose key the plan does not know: another build, machine or plan.
    pub stale: usize,
}

impl Progress {
    pub fn new<S: Run>(plan: &Plan, records: &[Record<S>]) -> Self {
        let mut progress = Self { held: HashMap::with_capacity(plan.entries.len()), stale: 0 };
        progress.held.extend(plan.entries.iter().map(|entry| (entry.key.clone(), Vec::new())));
        for record in records {
            for sample in &record.samples {
                let Some(blocks) = progress.held.get_mut(sample.key()) else {
                    progress.stale += 1;
                    continue;
                };
                let at = blocks.iter().position(|(block, _)| *block == sample.block()).unwrap_or_else(|| {
                    blocks.push((sample.block(), Held::default()));
                    blocks.len() - 1
                });
                let held = &mut blocks[at].1;
                held.next_repetition = held.next_repetition.max(sample.repetition() + 1);
                held.budget_spent |= record.budget_spent;
                match (sample.status(), sample.seconds()) {
                    (Status::Ok, Some(seconds)) => {
                        held.seconds.push(seconds);
                        held.failure = None;
                    }
                    (status, _) => held.failure = Some(status),
                }
            }
        }
        progress
    }

    /// What there is of a point in a block; `None` if there is no sample.
    pub fn held(&self, key: &str, block: u32) -> Option<&Held> {
        self.held.get(key)?.iter().find(|(other, _)| *other == block).map(|(_, held)| held)
    }

    pub fn state(&self, plan: &Plan, entry: usize, block: u32) -> State {
        let Some(held) = self.held(&plan.entries[entry].key, block) else { return State::Missing };
        let enough = plan.repeat.satisfied(&held.seconds)
            || (held.budget_spent && held.seconds.len() >= plan.repeat.min as usize);
        match held {
            Held { failure: Some(_), .. } => State::Failed,
            _ if enough => State::Done,
            _ => State::Partial,
        }
    }

    /// The worst state of a point over its blocks.
    pub fn point_state(&self, plan: &Plan, entry: usize) -> State {
        (0..plan.blocks).map(|block| self.state(plan, entry, block)).max().unwrap_or(State::Missing)
    }
}

/// The most memory that the ranks of one launch need on this machine together, in bytes, with the rank count.
pub fn largest_memory(plan: &Plan) -> (u64, usize) {
    let need = |entry: &Entry| {
        let bytes = kernels::find(&entry.point.kernel).map_or(0, |kernel| kernel.memory(&entry.point));
        (bytes.saturating_mul(entry.point.ranks as u64), entry.point.ranks)
    };
    plan.entries.iter().map(need).max().unwrap_or((0, 0))
}
