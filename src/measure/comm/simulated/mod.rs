//! The ranks are coroutines of one thread, and time is virtual. The kernels run unchanged and verify their work. Computing costs
//! what the driver says for each point ([`Comm::charge`]); messages cost what the machine says ([`Machine`]).

mod collectives;
mod engine;
mod machine;
mod mailbox;
mod mapping;
mod messages;
mod network;
mod room;
mod stacks;
mod timetable;
mod topology;
mod window;

pub use engine::ComputationCosts;
pub use machine::{
    Frame, InterfaceCosts, LinkCosts, MAX_STEPS, Machine, MessageCosts, PathCosts, SlowLink, Step, Time, picoseconds,
};
pub use mapping::Mapping;
pub use messages::SimulatedMessages;
pub use network::{Network, Passage, Sending, link_bytes};
pub use timetable::Timetable;
pub use topology::{Link, MAX_PLACES, MAX_SIZE, Topology};

use super::arena::Arena;
use super::{Comm, Computation};
use crate::hardware::PlacementOrder;
use apexmap_base::error::{Error, Result};
use engine::{Member, World};
use stacks::Stacks;

/// Updates and blocks after which a rank lets others of its node use the memory.
const TURN: usize = 64;

pub struct SimulatedComm {
    member: Member,
}

/// The size of a simulation that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Account {
    pub messages: u64,
    /// The last rank's clock.
    pub seconds: f64,
    /// The share of the ranks' time in which they waited for room at a receiver.
    pub blocked_share: f64,
}

/// Returns each rank's result, or the message of its panic.
pub fn run<R: 'static>(
    machine: &Machine,
    costs: ComputationCosts,
    ranks: usize,
    body: impl Fn(&SimulatedComm, &mut Arena) -> R,
) -> Result<(Vec<Result<R, String>>, Account)> {
    machine.check(ranks).map_err(|reason| {
        Error::input(format!("{} cannot be simulated: {reason}", machine.name), "use fewer ranks, or a larger topology")
    })?;
    let world = World::new(machine.clone(), costs, ranks, Stacks::new(ranks)?);
    let results = engine::run(&world, |member| body(&SimulatedComm { member }, &mut Arena::for_simulated_rank()));
    let last = (0..ranks).map(|rank| world.clock(rank)).max().unwrap_or(0);
    let blocked_share = world.waiting_time() as f64 / (last as f64 * ranks as f64).max(1.0);
    Ok((results, Account { messages: world.events(), seconds: last as f64 * 1e-12, blocked_share }))
}

pub fn library() -> String {
    "simulated ranks".into()
}

pub fn abort() -> ! {
    std::process::exit(1)
}

/// Refuses to start ranks without a machine.
pub fn start(
    _ranks: usize,
    _place: PlacementOrder,
    _program: impl Fn(&SimulatedComm, &mut Arena) -> Result<()> + Sync,
    _failed: impl Fn(&str),
) -> Result<()> {
    Err(Error::input("simulated ranks need a machine", "start them with `apexmap run SWEEP --simulate CARD`"))
}

impl Comm for SimulatedComm {
    fn rank(&self) -> usize {
        self.member.rank
    }

    fn size(&self) -> usize {
        self.member.world.size
    }

    fn ranks_on_node(&self) -> usize {
        self.member.world.machine.ranks_per_node.min(self.size())
    }

    fn first_on_node(&self) -> bool {
        self.member.rank.is_multiple_of(self.member.world.machine.ranks_per_node)
    }

    fn is_oversubscribed(&self) -> bool {
        false
    }

    fn wall_time(&self) -> f64 {
        self.member.clock() as f64 * 1e-12
    }

    fn clock_resolution(&self) -> f64 {
        1e-12
    }

    fn relax(&self) {
        self.member.relax();
    }

    fn delay(&self, seconds: f64, _: impl Fn()) {
        self.member.compute(picoseconds(seconds));
    }

    fn free(&self, list: &mut Vec<u64>) {
        *list = Vec::new();
    }

    fn reserve(&self, list: &mut Vec<u64>, words: usize) {
        list.reserve_exact(words);
    }

    fn simulated_rank(&self) -> Option<&SimulatedComm> {
        Some(self)
    }

    fn charge(&self, computation: Computation, amount: usize) {
        let costs = &self.member.world.costs;
        let [own, shared] = [computation, Computation::Memory].map(|kind| costs[kind as usize]);
        let is_memory = matches!(computation, Computation::Update | Computation::Read);
        if shared == 0.0 || !is_memory {
            return self.member.compute(machine::scale(own, amount));
        }
        for first in (0..amount).step_by(TURN) {
            let turn = TURN.min(amount - first);
            self.member.use_memory(machine::scale(own, turn), machine::scale(shared, turn));
        }
    }
}
