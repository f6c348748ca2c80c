//! The description of a kernel, the facts that others need, and its functions.

use super::facts::{Bounded, Computations, Division, Pattern, Traffic, Windows};
use super::{Outcome, Output, Parameter, Ranks, Refusal, Work};
use crate::comm::{Rings, World};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::source::Source;
use apexmap_base::units::WORD_BYTES;
use std::collections::BTreeMap;

/// A kernel: it runs and times the work at a point. A static names what differs from [`Kernel::defaults`] or from its family.
///
/// All functions panic if the point is not [complete](super::complete).
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    /// `family.variant`, unique.
    pub id: &'static str,
    /// The measured quantity, in one line.
    pub summary: &'static str,
    /// The paper or definition that the kernel follows.
    pub source: &'static Source,
    /// Table, figure or section of the source.
    pub place: &'static str,
    /// The parameters that a point may set.
    pub parameters: &'static [Parameter],
    /// Whether the user names further parameters, and the values of a run.
    pub has_own_parameters: bool,
    pub outputs: &'static [Output],
    pub ranks: Ranks,
    /// The column that figures and summaries show by default.
    pub headline: &'static str,
    /// The definition of a sample, of its timed region and of the verification: a paragraph for the report.
    pub method: &'static str,

    /// How its ranks reach memory: `by messages`. Empty if nothing has to be said, `None` if the id says it.
    pub plain_way: Option<&'static str>,
    /// Whether each rank uses several cores, with threads of its own.
    pub is_threaded: bool,
    /// Whether its operations access memory sequentially, so that their bytes alone give a very rough estimate of the time.
    pub accesses_in_order: bool,
    pub division: Division,
    pub windows: Windows,
    /// The ranks that a rank sends to at the same time.
    pub traffic: Traffic,
    pub pattern: Option<Pattern>,
    /// Its operations, if a machine's numbers give bounds of their rate.
    pub bounded: Option<Bounded>,
    /// Its computations on simulated ranks, if its time there has a meaning: its ranks exchange messages, and it charges its
    /// computations.
    pub simulation: Option<Computations>,
    /// Whether no rank sends or takes a message while another one is on its way to it or from it.
    pub waits_for_each_message: fn(&Point) -> bool,
    /// The messages on their way to a rank for which its mailbox needs room, because their senders do not wait.
    pub places: fn(&Point) -> u64,
    /// The minimum number of stages of a round; `None` without rounds. Each stage waits for the messages of the stage before.
    pub stages: fn(&Point) -> Option<u64>,

    /// Refuses points that no kernel of the family can run.
    pub family_check: fn(&Kernel, &Point) -> Result<(), Refusal>,
    /// Refuses points that this kernel cannot run, in addition to those of the family.
    pub refuse: fn(&Point) -> Result<(), Refusal>,
    /// Operations and bytes of one complete run, over all ranks.
    pub work: fn(&Point) -> Work,
    /// The work of a run with these outputs, for kernels that may do less than the point asks.
    pub work_done: fn(&Kernel, &Point, &BTreeMap<String, Value>) -> Work,
    /// The column of the output whose interval repetitions narrow; `None` for the time of a run.
    pub repeated_output: fn(&Point) -> Option<String>,
    /// The words per rank that come from the arena, which is allocated and filled once per launch, for the largest point.
    pub arena_words: fn(&Point) -> u64,
    /// The further memory per rank.
    pub buffer_bytes: fn(&Point) -> u64,
    pub verification_bytes: fn(&Kernel, &Point) -> u64,
    /// The memory of all ranks together, for kernels whose ranks need different amounts.
    pub total_memory: fn(&Kernel, &Point) -> u64,
    /// The memory of a simulated rank: without prepared receives and without places for its verification.
    pub simulated_memory: fn(&Kernel, &Point) -> u64,
    /// The rings that carry its messages if ranks are threads. Plans add their memory to [`Kernel::memory`].
    pub rings: fn(&Point) -> Vec<Rings>,
    /// Runs the point with the steps of the family before and after.
    pub family_run: fn(&Kernel, &Point, u64, &mut World) -> Result<Outcome>,
    /// Runs the point once. The second argument is the number of the run. Collective.
    pub run: fn(&Point, u64, &mut World) -> Result<Outcome>,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Kernel {
    /// A kernel of any number of ranks, without memory, messages, windows or simulation. Its description, work and run are missing.
    pub const fn defaults() -> Kernel {
        Self::DEFAULT
    }

    pub(crate) const DEFAULT: Kernel = Kernel {
        id: "",
        summary: "",
        source: &Source { authors: "", title: "", short: "" },
        place: "",
        parameters: &[],
        has_own_parameters: false,
        outputs: &[],
        ranks: Ranks::Any,
        headline: "operations_per_second",
        method: "",
        plain_way: None,
        is_threaded: false,
        accesses_in_order: false,
        division: Division::OverRanks,
        windows: Windows::Never,
        traffic: Traffic::Partners,
        pattern: None,
        bounded: None,
        simulation: None,
        waits_for_each_message: |_| false,
        places: |_| 1,
        stages: |_| None,
        family_check: |_, _| Ok(()),
        refuse: |_| Ok(()),
        work: |point| panic!("{} has no work", point.kernel),
        work_done: |kernel, point, _| kernel.work(point),
        repeated_output: |_| None,
        arena_words: |_| 0,
        buffer_bytes: |_| 0,
        verification_bytes: |_, _| 0,
        total_memory: |kernel, point| kernel.memory(point).saturating_mul(point.ranks as u64),
        simulated_memory: Kernel::memory,
        rings: |_| Vec::new(),
        family_run: |kernel, point, stream, world| (kernel.run)(point, stream, world),
        run: |point, _, _| Err(Error::internal(format!("{} has no run", point.kernel))),
    };

    /// Whether its time on simulated ranks has a meaning.
    pub fn is_simulatable(&self) -> bool {
        self.simulation.is_some()
    }

    /// Checks a combination of parameters. Each is already within its domain.
    pub fn check(&self, point: &Point) -> Result<(), Refusal> {
        (self.family_check)(self, point)?;
        (self.refuse)(point)
    }

    /// Operations and bytes of one complete run, over all ranks.
    pub fn work(&self, point: &Point) -> Work {
        (self.work)(point)
    }

    /// The work of a run with these outputs.
    pub fn work_done(&self, point: &Point, outputs: &BTreeMap<String, Value>) -> Work {
        (self.work_done)(self, point, outputs)
    }

    /// The words per rank that come from the arena.
    pub fn arena_words(&self, point: &Point) -> u64 {
        (self.arena_words)(point)
    }

    /// The memory per rank, in bytes.
    pub fn memory(&self, point: &Point) -> u64 {
        let arena = self.arena_words(point).saturating_mul(WORD_BYTES);
        arena.saturating_add((self.buffer_bytes)(point)).saturating_add((self.verification_bytes)(self, point))
    }

    /// The memory of all ranks together, in bytes.
    pub fn total_memory(&self, point: &Point) -> u64 {
        (self.total_memory)(self, point)
    }

    /// The memory of a simulated rank, in bytes.
    pub fn simulated_memory(&self, point: &Point) -> u64 {
        (self.simulated_memory)(self, point)
    }

    pub fn rings(&self, point: &Point) -> Vec<Rings> {
        (self.rings)(point)
    }

    /// Runs the point once. Collective over the world's ranks. `stream` is the number of the run, so that each run draws other
    /// values. A wrong result is not an error but a [verdict](Outcome::verdict). [`run_embedded`](super::run_embedded) creates a
    /// world of threads.
    pub fn run(&self, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
        (self.family_run)(self, point, stream, world)
    }
}
