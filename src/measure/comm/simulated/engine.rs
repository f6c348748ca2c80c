//! Coroutines in virtual time. The rank with the smallest clock always runs next, and of equal clocks the lowest rank. A rank
//! computes without interruption. Before it acts on others, it waits until no rank has a smaller clock ([`Member::synchronize`]).
//! All actions therefore happen in the order of time, and runs are identical.

mod member;

use super::machine::{Machine, MessageCosts, Time, check_time};
use super::network::{Network, Passage, Sending};
use super::stacks::{RankStack, Stacks};
use super::timetable::Timetable;
use crate::comm::Computation;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// After this number of failed polls in a row, a poll takes until something changes, for loops that do not call `relax`.
const SHORT_POLLS: u32 = 64;
/// After this number of failed polls in a row, this is a deadlock, if all ranks wait or poll.
const MAX_FAILED_POLLS: u32 = 1 << 14;

/// Between two looks at the wall clock.
const TURNS_PER_REPORT: u64 = 1 << 16;

/// Picoseconds per unit of work.
pub type ComputationCosts = [f64; Computation::COUNT];

pub struct World {
    pub machine: Machine,
    pub costs: ComputationCosts,
    pub size: usize,
    pub stacks: Rc<Stacks>,
    state: RefCell<State>,
    failed: Cell<bool>,
    full_stack: Cell<Option<usize>>,
    /// The parts that the other files keep for all ranks.
    pub shared: RefCell<Shared>,
}

struct State {
    /// The ranks that may run, with their clocks.
    ready: BinaryHeap<Reverse<(Time, usize)>>,
    /// These poll until something changes. They continue without a change if no rank is ready.
    polling: Vec<usize>,
    ranks: Vec<RankState>,
    network: Network,
    /// The memory of each node.
    memories: Vec<Timetable>,
    events: u64,
    /// The time that ranks waited for room, all together.
    waited: Time,
    /// The running rank's clock.
    now: Time,
    /// Clock of the first rank that has arrived at an exchange with all. Its messages are sent when all ranks have arrived.
    exchange_since: Option<Time>,
}

#[derive(Default)]
struct RankState {
    clock: Time,
    /// Clock of the valid entry in `ready`.
    scheduled: Option<Time>,
    /// When something changes for this rank.
    changes: BinaryHeap<Reverse<Time>>,
    /// Clock of the first failed poll since the rank has made progress or waited.
    failing_since: Option<Time>,
    failed_polls: u32,
    waits_for: Option<&'static str>,
    /// Since when, and the rank without room for its message.
    blocked: Option<(Time, usize)>,
    /// Whether the rank polls until something changes, and whether it is in the list of such ranks.
    polls: bool,
    is_listed: bool,
    is_done: bool,
}

/// A rank, as its coroutine sees it.
#[derive(Clone)]
pub struct Member {
    pub rank: usize,
    pub world: Rc<World>,
    yielder: *const Yielder<(), ()>,
}

impl World {
    pub fn new(machine: Machine, costs: ComputationCosts, size: usize, stacks: Rc<Stacks>) -> Rc<Self> {
        let network = Network::new(&machine, size);
        let ready = (0..size).map(|rank| Reverse((0, rank))).collect();
        let ranks = (0..size).map(|_| RankState { scheduled: Some(0), ..RankState::default() }).collect();
        let memories = vec![Timetable::default(); size.div_ceil(machine.ranks_per_node)];
        let (polling, events, waited, now, exchange_since) = Default::default();
        let state = State { ready, polling, ranks, network, memories, events, waited, now, exchange_since };
        Rc::new(Self {
            machine,
            costs,
            size,
            stacks,
            state: RefCell::new(state),
            failed: Cell::new(false),
            full_stack: Cell::new(None),
            shared: RefCell::default(),
        })
    }

    pub fn has_failed(&self) -> bool {
        self.failed.get()
    }

    pub fn declare_failure(&self) {
        self.failed.set(true);
    }

    /// Something changes for a rank at this time. A waiting rank then wakes.
    pub fn announce(&self, rank: usize, time: Time) {
        check_time(time);
        let State { ready, ranks, .. } = &mut *self.state.borrow_mut();
        let state = &mut ranks[rank];
        state.changes.push(Reverse(time));
        if state.waits_for.is_some() {
            let wakes_at = time.max(state.clock);
            if state.scheduled.is_none_or(|scheduled| wakes_at < scheduled) {
                state.scheduled = Some(wakes_at);
                ready.push(Reverse((wakes_at, rank)));
            }
        }
    }

    pub fn send(&self, costs: &MessageCosts, begins: Time, ends: (usize, usize), bytes: usize) -> Passage {
        let state = &mut *self.state.borrow_mut();
        state.events += 1;
        let now = state.exchange_since.unwrap_or(state.now).min(state.now);
        let passage = state.network.send(&self.machine, costs, Sending { now, begins, ends, bytes });
        check_time(passage.arrived.max(passage.left));
        passage
    }

    /// A rank sends messages of an exchange from this time on, later than those that others send until then.
    pub fn begin_exchange(&self, time: Time) {
        self.state.borrow_mut().exchange_since.get_or_insert(time);
    }

    pub fn end_exchange(&self) {
        self.state.borrow_mut().exchange_since = None;
    }

    pub fn events(&self) -> u64 {
        self.state.borrow().events
    }

    /// The receiver has no room for a message of this rank.
    pub fn block(&self, rank: usize, receiver: usize, now: Time) {
        self.state.borrow_mut().ranks[rank].blocked.get_or_insert((now, receiver));
    }

    pub fn unblock(&self, rank: usize, now: Time) {
        let state = &mut *self.state.borrow_mut();
        state.waited += state.ranks[rank].blocked.take().map_or(0, |(since, _)| now - since);
    }

    pub fn waiting_time(&self) -> Time {
        self.state.borrow().waited
    }

    pub fn clock(&self, rank: usize) -> Time {
        self.state.borrow().ranks[rank].clock
    }

    fn next_rank(&self) -> Option<usize> {
        let State { ready, polling, ranks, now, .. } = &mut *self.state.borrow_mut();
        loop {
            while let Some(Reverse((time, rank))) = ready.pop() {
                let state = &mut ranks[rank];
                // Other entries of a rank are stale. They stay in the heap, where they are hard to find.
                if state.scheduled == Some(time) {
                    state.scheduled = None;
                    state.clock = state.clock.max(time);
                    *now = state.clock;
                    return Some(rank);
                }
            }
            for rank in polling.drain(..) {
                ranks[rank].is_listed = false;
                if ranks[rank].polls {
                    ranks[rank].scheduled = Some(ranks[rank].clock);
                    ready.push(Reverse((ranks[rank].clock, rank)));
                }
            }
            if ready.is_empty() {
                return None;
            }
        }
    }

    fn describe_deadlock(&self) -> String {
        let state = self.state.borrow();
        let waiting: Vec<_> = state.ranks.iter().enumerate().filter(|(_, state)| !state.is_done).collect();
        let each = waiting.iter().take(4).map(|(rank, state)| {
            let room = state.blocked.map(|(_, receiver)| format!("room at rank {receiver}"));
            let reason = room.unwrap_or_else(|| state.waits_for.unwrap_or("nothing").to_owned());
            format!("rank {rank} waits for {reason} since {} ns", state.clock / 1000)
        });
        format!(
            "deadlock: {} of {} ranks wait, and nothing is on its way: {}",
            waiting.len(),
            self.size,
            each.collect::<Vec<_>>().join("; ")
        )
    }
}

/// Returns the result of each rank, or why it failed.
pub fn run<R: 'static>(world: &Rc<World>, body: impl Fn(Member) -> R) -> Vec<Result<R, String>> {
    let results: RefCell<Vec<Option<Result<R, String>>>> = RefCell::new((0..world.size).map(|_| None).collect());
    let body = &body;
    let outcomes = &results;
    {
        let start = |rank: usize| {
            let world = Rc::clone(world);
            let stack = world.stacks.stack(rank);
            let run_rank = move |yielder: &Yielder<(), ()>, ()| {
                let member = Member { rank, world: Rc::clone(&world), yielder };
                let outcome = catch_unwind(AssertUnwindSafe(|| body(member)));
                if outcome.is_err() {
                    // A rank that ends because another one failed does not fail itself.
                    if world.has_failed() {
                        return;
                    }
                    world.declare_failure();
                }
                outcomes.borrow_mut()[rank] =
                    Some(outcome.map_err(|panic| apexmap_base::crash::describe_panic(&*panic)));
            };
            // SAFETY: the coroutine borrows `body` and `results`, which live longer: the list of coroutines is dropped first.
            unsafe { Coroutine::<(), (), (), RankStack>::with_stack_unchecked(stack, run_rank) }
        };
        let mut coroutines: Vec<Option<_>> = (0..world.size).map(|rank| Some(start(rank))).collect();
        let mut turns = 0u64;
        while let Some(rank) = world.next_rank() {
            turns += 1;
            if turns.is_multiple_of(TURNS_PER_REPORT) {
                crate::progress::report_simulation(world.events(), world.clock(rank) as f64 * 1e-12);
            }
            let Some(coroutine) = &mut coroutines[rank] else { continue };
            if let CoroutineResult::Return(()) = coroutine.resume(()) {
                coroutines[rank] = None;
                world.state.borrow_mut().ranks[rank].is_done = true;
                if world.stacks.has_overflown(rank) {
                    panic!("the stack of simulated rank {rank} has overflown; memory is damaged");
                }
            }
            if let Some(full) = world.full_stack.get() {
                results.borrow_mut()[full] = Some(Err(format!("the stack of simulated rank {full} is nearly full")));
                world.declare_failure();
            }
            if world.has_failed() {
                break;
            }
        }
        if !world.has_failed()
            && let Some(first) = coroutines.iter().position(Option::is_some)
        {
            results.borrow_mut()[first] = Some(Err(world.describe_deadlock()));
            world.declare_failure();
        }
        // Dropping the coroutines of a failed simulation unwinds their stacks.
    }
    let other = || Err(crate::comm::threads::OTHER_RANK_FAILED.to_owned());
    results.into_inner().into_iter().map(|outcome| outcome.unwrap_or_else(other)).collect()
}

#[derive(Default)]
pub struct Shared {
    pub collectives: BTreeMap<u64, Collective>,
    pub begun: HashMap<usize, u64>,
}

#[derive(Default)]
pub struct Collective {
    pub arrived: usize,
    pub left: usize,
    pub last_arrival: Time,
    pub given: Vec<Option<Box<dyn Any>>>,
    /// For all ranks, once all have arrived.
    pub outcome: Option<Rc<dyn Any>>,
    /// When each rank may continue; one value for all ranks, or one for each.
    pub released: Vec<Time>,
}

impl Collective {
    /// `None` before all ranks have arrived.
    pub fn release(&self, rank: usize) -> Option<Time> {
        self.released.get(rank).or(self.released.first()).copied()
    }
}
