//! The ranks are threads of one process. Messages travel through one ring per pair of ranks (`rings`); the system provides memory
//! only for the rings in use. Waiting ranks spin if every rank has its own hardware thread, and yield otherwise.

mod collectives;
pub mod mailbox;
pub mod messages;
pub mod rings;
pub mod window;

use super::Comm;
use super::arena::Arena;
use super::sync::{Arrivals, Barrier, Exposure, Failure};
use crate::affinity;
use crate::hardware::{Hardware, PlacementOrder, place_ranks};
use apexmap_base::crash::describe_panic;
use apexmap_base::error::{Error, Result};
use apexmap_base::fatal_signal;
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

struct Shared {
    size: usize,
    start: Instant,
    barrier: Barrier,
    arrivals: Arrivals,
    failure: Failure,
    exposure: Exposure,
    finished: AtomicUsize,
    /// Each rank's words, for the others to read.
    words: Vec<RwLock<Vec<u64>>>,
    /// Values that ranks give to all others.
    shared_values: Vec<RwLock<Option<Box<dyn Any + Send + Sync>>>>,
}

pub struct ThreadComm {
    rank: usize,
    shared: Arc<Shared>,
    /// Every rank has its own hardware thread, so that waiting ranks may spin.
    may_spin: bool,
    placement_order: PlacementOrder,
    waiting_turns: Cell<u32>,
    arrived: Cell<u64>,
    /// Whether this rank's memory is lent to others.
    exposed: Cell<bool>,
    /// Kept between calls to save allocations.
    scratch: Cell<Vec<u64>>,
}

/// Like [`run_placed`], with one rank per core first.
pub fn run<R: Send>(ranks: usize, body: impl Fn(&ThreadComm, &mut Arena) -> R + Sync) -> Vec<Result<R, String>> {
    run_placed(ranks, PlacementOrder::default(), body)
}

/// Each thread is pinned to its own hardware thread if there are enough. Returns each rank's result, or the message of its panic. A
/// panic of one rank ends the others.
pub fn run_placed<R: Send>(
    ranks: usize,
    placement_order: PlacementOrder,
    body: impl Fn(&ThreadComm, &mut Arena) -> R + Sync,
) -> Vec<Result<R, String>> {
    let shared = Arc::new(Shared {
        size: ranks,
        start: Instant::now(),
        barrier: Barrier::new(ranks),
        arrivals: Arrivals::default(),
        failure: Failure::default(),
        exposure: Exposure::default(),
        finished: AtomicUsize::new(0),
        words: (0..ranks).map(|_| RwLock::default()).collect(),
        shared_values: (0..ranks).map(|_| RwLock::default()).collect(),
    });
    let hardware = Hardware::this_machine();
    let allowed = affinity::allowed_hardware_threads();
    let hardware_threads =
        place_ranks(&hardware.threads, allowed.as_ref().unwrap_or(&hardware.allowed), placement_order);
    // A control group may grant less processor time than there are hardware threads.
    let may_spin = ranks <= hardware.limit_by_quota(hardware_threads.len());
    if !may_spin {
        return_memory_at_once();
    }
    std::thread::scope(|scope| {
        let start = |rank: usize| {
            let (shared, turns, arrived, exposed) = (shared.clone(), Cell::new(0), Cell::new(0), Cell::new(false));
            let comm = ThreadComm {
                rank,
                shared,
                may_spin,
                placement_order,
                waiting_turns: turns,
                arrived,
                exposed,
                scratch: Cell::default(),
            };
            let (body, processor) = (&body, hardware_threads.get(rank).filter(|_| may_spin).copied());
            std::thread::Builder::new().spawn_scoped(scope, move || run_rank(&comm, processor, body))
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        let missing = threads.iter().filter(|thread| thread.is_err()).count();
        if missing > 0 {
            // The running ranks would wait for the missing ones for ever.
            shared.failure.declare();
            shared.finished.fetch_add(missing, Ordering::AcqRel);
        }
        let result = |thread: std::io::Result<ScopedJoinHandle<_>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("a rank could not be run".into())),
            Err(cause) => Err(format!("{NO_THREAD}: {cause}")),
        };
        threads.into_iter().map(result).collect()
    })
}

fn run_rank<R>(
    comm: &ThreadComm,
    processor: Option<usize>,
    body: impl Fn(&ThreadComm, &mut Arena) -> R,
) -> Result<R, String> {
    fatal_signal::prepare_thread();
    if let Some(processor) = processor {
        affinity::bind(&[processor]);
    }
    let mut arena = Arena::default();
    let result = catch_unwind(AssertUnwindSafe(|| body(comm, &mut arena)));
    if result.is_err() {
        comm.declare_failure();
    }
    // Other ranks may be sending to this one until they notice the failure. Keep its memory until all have ended.
    comm.shared.finished.fetch_add(1, Ordering::AcqRel);
    while comm.shared.finished.load(Ordering::Acquire) < comm.shared.size {
        std::thread::yield_now();
    }
    result.map_err(|panic| describe_panic(&*panic))
}

/// For a rank whose thread could not be started.
const NO_THREAD: &str = "the system refuses a thread for this rank";

/// For a rank that ends because another one failed first.
pub const OTHER_RANK_FAILED: &str = "another rank failed";

fn give_up() -> ! {
    // The fault is another rank's, so skip the panic hook.
    std::panic::resume_unwind(Box::new(OTHER_RANK_FAILED))
}

pub(super) fn start(
    ranks: usize,
    placement_order: PlacementOrder,
    program: impl Fn(&ThreadComm, &mut Arena) -> Result<()> + Sync,
    _report_failure: impl Fn(&str),
) -> Result<()> {
    let results =
        run_placed(ranks, placement_order, |comm, arena| program(comm, arena).inspect_err(|_| comm.declare_failure()));
    // Prefer the error of the rank that failed first to the errors that followed from it.
    let mut failures = results.into_iter().enumerate().filter_map(|(rank, result)| match result {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(message) if message.starts_with(NO_THREAD) => {
            Some(Error::measurement(format!("rank {rank} failed: {message}"), "use fewer ranks"))
        }
        Err(message) => Some(Error::internal(format!("rank {rank} failed: {message}"))),
    });
    let Some(first) = failures.next() else { return Ok(()) };
    let is_consequence = |error: &Error| error.message.ends_with(OTHER_RANK_FAILED);
    Err(if is_consequence(&first) { failures.find(|error| !is_consequence(error)).unwrap_or(first) } else { first })
}

/// Makes the allocator map larger buffers separately and return each to the system when it is freed. Otherwise each rank's part of
/// the heap would retain the memory that one point used, and later points could not use it. Pages are then new in each run, so this
/// is only for ranks that share cores.
fn return_memory_at_once() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a parameter of the allocator: buffers of this size in bytes or more are mapped. The value is the default;
    // setting it stops it from growing.
    unsafe {
        nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, 128 << 10);
    }
}

pub(super) fn abort() {
    // SAFETY: a system call that takes a number and does not return; nothing of this process runs afterwards.
    unsafe { nix::libc::_exit(3) }
}

pub(super) fn library() -> String {
    format!("threads of one process, apexmap {}", env!("CARGO_PKG_VERSION"))
}

impl ThreadComm {
    /// A rank that cannot continue calls this before it returns, and all ranks end.
    pub fn declare_failure(&self) {
        self.shared.failure.declare();
    }

    #[inline]
    fn wait(&self, barrier: &Barrier) {
        if !barrier.wait(&self.shared.failure, || self.relax()) {
            give_up();
        }
    }

    /// Gives `value` to every rank, including this one, and returns the values of all ranks in rank order. Collective.
    pub(crate) fn all_gather_value<T: Clone + Send + Sync + 'static>(&self, value: T) -> Vec<T> {
        let own_slot = || self.shared.shared_values[self.rank].write().unwrap_or_else(PoisonError::into_inner);
        *own_slot() = Some(Box::new(value));
        self.wait(&self.shared.barrier);
        let read_value = |slot: &RwLock<Option<Box<dyn Any + Send + Sync>>>| {
            let value = slot.read().unwrap_or_else(PoisonError::into_inner);
            value.as_ref().and_then(|gift| gift.downcast_ref().cloned()).expect("all ranks give the same")
        };
        let received = self.shared.shared_values.iter().map(read_value).collect();
        // All ranks have read before a slot is used again.
        self.wait(&self.shared.barrier);
        *own_slot() = None;
        received
    }
}

impl Comm for ThreadComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn ranks_on_node(&self) -> usize {
        self.size()
    }

    fn first_on_node(&self) -> bool {
        self.rank == 0
    }

    fn is_oversubscribed(&self) -> bool {
        !self.may_spin
    }

    fn placement_order(&self) -> PlacementOrder {
        self.placement_order
    }

    fn wall_time(&self) -> f64 {
        self.shared.start.elapsed().as_secs_f64()
    }

    #[inline]
    fn relax(&self) {
        let turns = self.waiting_turns.get().wrapping_add(1);
        self.waiting_turns.set(turns);
        // A look at the failure and a yield take longer than a spin, so most turns do neither.
        if self.may_spin && !turns.is_multiple_of(256) {
            std::hint::spin_loop();
            return;
        }
        if self.shared.failure.is_declared() {
            give_up();
        }
        std::thread::yield_now();
    }
}
