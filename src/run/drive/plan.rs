//! The plan: all points of a sweep with their keys, and the samples that a result already has.

use super::simulation::Simulation;
use crate::{launch::LauncherEntry, sweep::memory};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{LaunchSize, Point};
use apexmap_base::sample::{Launch, Status};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::comm::simulated::{ComputationCosts, link_bytes};
use apexmap_measure::hardware::PlacementOrder;
use apexmap_measure::kernels::{self, Windows};
pub use apexmap_measure::worker::Info as WorkerInfo;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::journal::{Record, Run};
use apexmap_results::samples::Samples;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The conditions besides the point that must be equal for samples to belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Context {
    pub transport: TransportKind,
    pub launcher: &'static LauncherEntry,
    pub ranks_per_node: Option<usize>,
    /// The order of cores for the ranks of a node, if it is not the launcher's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlacementOrder>,
    pub machine: String,
    pub library: String,
    /// Fingerprints of the worker's measuring code: of all, and by family of kernels. A point depends only on its family's.
    #[serde(skip)]
    pub build: String,
    #[serde(skip)]
    pub builds: BTreeMap<String, String>,
    /// The machine of simulated ranks. Its costs are part of each point's key.
    #[serde(skip)]
    pub simulation: Option<Simulation>,
}

impl Context {
    pub fn ranks_on_node(&self, size: LaunchSize) -> Option<usize> {
        if size.node.is_some() {
            return Some(size.ranks);
        }
        match self.transport {
            TransportKind::Threads | TransportKind::Simulated => Some(size.ranks),
            TransportKind::Mpi => size.ranks_per_node.or(self.ranks_per_node).map(|limit| limit.min(size.ranks)),
        }
    }

    pub fn node_count(&self, size: LaunchSize) -> Option<usize> {
        let by_ranks = || self.ranks_on_node(size).map(|ranks_on_node| size.ranks.div_ceil(ranks_on_node.max(1)));
        size.nodes.or_else(by_ranks).or((size.ranks == 1).then_some(1))
    }
}

/// A point and its key in stores.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub key: String,
    /// Costs of the computations of simulated ranks, in picoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<ComputationCosts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resampled_costs: Vec<ComputationCosts>,
    #[serde(flatten)]
    pub point: Point,
}

impl Entry {
    pub fn line(&self) -> Result<String> {
        Ok(to_json(self)? + "\n")
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::internal(error.to_string()))
}

/// All points of a sweep, and the number of times that each is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    pub context: Context,
    pub entries: Vec<Entry>,
    /// Launches per rank count.
    pub blocks: u32,
    pub repeat: Repeat,
    pub seed: u64,
    /// Whether points are open that have the smallest number of samples because the budget of an earlier run was spent.
    pub continues_imprecise: bool,
}

impl Plan {
    /// Computes the keys of the points. A machine of simulated ranks must have all numbers that they need.
    pub fn new(context: Context, points: Vec<Point>, blocks: u32, repeat: Repeat, seed: u64) -> Result<Self> {
        let prefix = to_json(&context)?;
        if let Some(simulation) = &context.simulation {
            simulation.check(&points)?;
        }
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(points.len());
        for point in points {
            let mut hash = Sha256::new();
            hash.update(&prefix);
            hash.update(context.builds.get(kernels::family(&point.kernel)).unwrap_or(&context.build));
            hash.update(to_json(&point)?);
            let (mut costs, mut resampled_costs) = (None, Vec::new());
            if let Some(simulation) = &context.simulation {
                costs = Some(simulation.costs(&point)?);
                resampled_costs = simulation.resampled_costs(&point)?;
                let machine = simulation.machine(point.launch_size())?;
                let resampled = (simulation.resampled_machines(point.launch_size()), &resampled_costs);
                let simulated = (machine, &costs, context.builds.get("simulated"));
                hash.update(to_json(&simulated)?);
                if !resampled_costs.is_empty() {
                    hash.update(to_json(&resampled)?);
                }
            }
            // 80 bits: two of a million points have the same key with a probability of 4e-13.
            let key: String = hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect();
            if !seen.insert(key.clone()) {
                return Err(Error::internal(format!("the point {} is in the plan twice", point.label())));
            }
            entries.push(Entry { key, costs, resampled_costs, point });
        }
        Ok(Self { context, entries, blocks, repeat, seed, continues_imprecise: false })
    }

    /// The sizes of launches with the indices of their entries, in ascending order.
    pub fn by_size(&self) -> BTreeMap<LaunchSize, Vec<usize>> {
        let mut groups: BTreeMap<LaunchSize, Vec<usize>> = BTreeMap::new();
        for (index, entry) in self.entries.iter().enumerate() {
            groups.entry(entry.point.launch_size()).or_default().push(index);
        }
        groups
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointSamples {
    /// Times of the samples, or values that a command printed, by type of nodes: indices into [`Progress::node_types`].
    pub values: BTreeMap<usize, Vec<f64>>,
    pub next_repetition: u32,
    pub failure: Option<Status>,
    /// Whether a launch with this point ran out of time. `min` samples suffice then.
    pub budget_spent: bool,
}

impl PointSamples {
    pub fn count(&self) -> usize {
        self.values.values().map(Vec::len).sum()
    }
}

apexmap_base::words! {
    /// State of a point, in one block or in all blocks.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum State {
        Done = "done",
        /// Has some samples, but fewer or less precise ones than required.
        Partial = "partial",
        Missing = "missing",
        Failed = "failed",
    }
}

/// The samples of a plan's points in a result.
#[derive(Debug)]
pub struct Progress {
    blocks: u32,
    repeat: Repeat,
    /// Samples by key, each with its block.
    points: HashMap<String, Vec<(u32, PointSamples)>>,
    /// Types of the nodes of all samples, in order of first appearance.
    pub node_types: Vec<String>,
    /// Number of samples whose key is not in the plan. They come from another build, machine or plan.
    pub stale: usize,
}

impl Progress {
    pub fn new<S: Run>(plan: &Plan, records: &[Record<S>]) -> Self {
        let keys = plan.entries.iter().map(|entry| entry.key.clone());
        let mut progress = Self::from_keys(keys, plan.blocks, plan.repeat, records);
        if plan.continues_imprecise {
            let samples = progress.points.values_mut().flatten().map(|(_, samples)| samples);
            samples.for_each(|samples| samples.budget_spent = false);
        }
        progress
    }

    /// Collects the samples of the points with these keys, each to be measured in this number of blocks.
    pub fn from_keys<S: Run>(
        keys: impl IntoIterator<Item = String>,
        blocks: u32,
        repeat: Repeat,
        records: &[Record<S>],
    ) -> Self {
        let points = keys.into_iter().map(|key| (key, Vec::new())).collect();
        let mut progress = Self { blocks, repeat, points, node_types: Vec::new(), stale: 0 };
        for record in records.iter().filter(|record| !record.samples.is_empty()) {
            let node_type = record.launch.as_ref().map(Launch::node_type).unwrap_or_default();
            let index = progress.node_types.iter().position(|name| *name == *node_type).unwrap_or_else(|| {
                progress.node_types.push(node_type.into_owned());
                progress.node_types.len() - 1
            });
            for sample in &record.samples {
                progress.add(sample, index, record.budget_spent);
            }
        }
        progress
    }

    fn add(&mut self, sample: &impl Run, node_type: usize, budget_spent: bool) {
        let Some(blocks) = self.points.get_mut(sample.key()) else {
            self.stale += 1;
            return;
        };
        let index = blocks.iter().position(|(block, _)| *block == sample.block()).unwrap_or_else(|| {
            blocks.push((sample.block(), PointSamples::default()));
            blocks.len() - 1
        });
        let samples = &mut blocks[index].1;
        samples.next_repetition = samples.next_repetition.max(sample.repetition() + 1);
        samples.budget_spent |= budget_spent;
        match (sample.status(), sample.repeated_value()) {
            (Status::Ok, Some(value)) => {
                samples.values.entry(node_type).or_default().push(value);
                // A point that was measured well after its failure counts.
                samples.failure = None;
            }
            (status, _) => samples.failure = Some(status),
        }
    }

    pub fn samples_of(&self, key: &str, block: u32) -> Option<&PointSamples> {
        self.points.get(key)?.iter().find(|(other, _)| *other == block).map(|(_, samples)| samples)
    }

    /// The number of successful samples of a point in all blocks.
    pub fn count(&self, key: &str) -> usize {
        self.points.get(key).into_iter().flatten().map(|(_, samples)| samples.count()).sum()
    }

    /// A point is done in a block if the samples of one type of nodes are enough.
    pub fn state(&self, key: &str, block: u32) -> State {
        let Some(samples) = self.samples_of(key, block) else { return State::Missing };
        let is_enough = samples.values.values().any(|values| {
            self.repeat.is_satisfied(values) || (samples.budget_spent && values.len() >= self.repeat.min as usize)
        });
        match samples {
            PointSamples { failure: Some(_), .. } => State::Failed,
            _ if is_enough => State::Done,
            _ => State::Partial,
        }
    }

    /// The worst state of a point over its blocks. A point is missing only if it is missing in all.
    pub fn point_state(&self, key: &str) -> State {
        let states = || (0..self.blocks).map(|block| self.state(key, block));
        match states().max() {
            Some(State::Missing) if states().any(|state| state != State::Missing) => State::Partial,
            worst => worst.unwrap_or(State::Missing),
        }
    }

    /// The number of points in each state, in the order of [`State::ALL`].
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        self.points.keys().for_each(|key| counts[self.point_state(key) as usize] += 1);
        counts
    }

    pub fn samples(&self) -> usize {
        self.points.keys().map(|key| self.count(key)).sum()
    }
}

/// The bytes that the ranks of a launch take on one node, and their number. Without nodes, all ranks are on one node.
pub fn launch_memory(plan: &Plan, size: LaunchSize, entries: &[usize]) -> (u64, usize) {
    // One process has all simulated ranks.
    let ranks = size.ranks_per_node.filter(|_| plan.context.simulation.is_none()).unwrap_or(size.ranks);
    let points = entries.iter().map(|&entry| &plan.entries[entry].point);
    let bytes = memory::launch_bytes(points, plan.context.transport, ranks);
    let machine = plan.context.simulation.as_ref().and_then(|simulation| simulation.machine(size).ok());
    let of_links = machine.map_or(0, |machine| link_bytes(&machine, ranks));
    (bytes.saturating_add(of_links), ranks)
}

pub fn largest_memory(plan: &Plan) -> (u64, usize) {
    plan.by_size().iter().map(|(&size, entries)| launch_memory(plan, size, entries)).max().unwrap_or((0, 0))
}

/// In a window, which not every network and MPI library supports. Memory shared by the ranks of one node is none.
pub fn uses_remote_memory(point: &Point) -> bool {
    kernels::find(&point.kernel).is_ok_and(|kernel| kernel.windows.are_opened(point))
}

/// Whether one of these samples belongs to such a point.
pub fn use_remote_memory(samples: &Samples) -> bool {
    samples.kernels().iter().any(|(kernel, samples)| match kernel.windows {
        Windows::Never => false,
        Windows::InCheck | Windows::Always => true,
        Windows::If(name, word) => {
            let parameter = kernel.parameters.iter().find(|parameter| parameter.name == name);
            parameter.is_some_and(|parameter| samples.words(parameter.column).contains(&word))
        }
    })
}
