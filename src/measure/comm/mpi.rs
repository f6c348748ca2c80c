//! The MPI transport. It uses rsmpi where possible, and the C interface for persistent receives, pools of sends and windows. All
//! `unsafe` MPI code is in this file and the modules below. MPI's own error handler stays active: a failing call ends all ranks
//! with MPI's message, so return codes are ignored. A rank that unwinds leaks everything that MPI may still access. When its
//! [`MpiComm`] is dropped, it aborts all ranks, because waiting for any of them could last for ever.

mod collective;
mod mailbox;
mod messages;
mod node;
mod pool;
mod receives;
mod window;

use super::arena::Arena;
use super::{Collectives, Comm, Path, Tag};
use crate::affinity;
use crate::hardware::PlacementOrder;
use apexmap_base::crash::describe_panic;
use apexmap_base::error::{Error, Result};
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, CommunicatorCollectives, Root};
use nix::libc;
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread::panicking;
use std::time::Duration;

/// Each kind of message has a separate communicator.
const MESSAGE_TAG: c_int = 0;
/// Between the ranks of a node: `btl_vader_eager_limit` and `btl_sm_eager_limit` are 4 KiB, with a header of less than 128 bytes.
const OPEN_MPI_EAGER_BYTES: usize = (4 << 10) - 128;

pub struct MpiComm {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    node: node::Node,
    oversubscribed: bool,
    /// Of the machine's card.
    eager_bytes: Cell<Option<usize>>,
    lists: RefCell<collective::ExchangeLists>,
    /// In the order of their creation, which is equal on all ranks.
    channels: RefCell<Vec<(Tag, Rc<Channel>)>>,
    /// MPI is finalised when the last clone is dropped: this one, or one in an object made from it.
    universe: Rc<Universe>,
}

/// Separate communicators for tags keep the search for a matching receive short: MPI libraries search all receives of a
/// communicator in turn.
struct Channel {
    comm: SimpleCommunicator,
    _universe: Rc<Universe>,
}

/// The launcher of another library starts separate worlds of one rank each, without an error.
fn matching_launchers(library: &str) -> &'static str {
    if library.contains("Open MPI") {
        "mpirun of Open MPI, or srun with SLURM_MPI_TYPE=pmix"
    } else if library.contains("MPICH") {
        "mpiexec of MPICH, or srun with SLURM_MPI_TYPE=pmi2"
    } else {
        "the mpirun or mpiexec that came with it"
    }
}

impl MpiComm {
    pub fn library() -> String {
        let text = mpi::environment::library_version().unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("an MPI library without a name");
        line.trim_end_matches('\0').split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Single-threaded. Fails unless the world has `expected` ranks: the launcher of another MPI library starts `expected` separate
    /// worlds of one rank each.
    pub fn initialize(expected: usize) -> Result<Self> {
        let universe = mpi::initialize().ok_or_else(|| Error::internal("MPI was started twice in one process"))?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        if size != expected {
            let library = Self::library();
            return Err(Error::environment(
                format!(
                    "MPI started a world of {size} instead of {expected} ranks; this worker was built for {library}"
                ),
                format!(
                    "start it with {}; or name a worker built for the MPI of the launcher you use",
                    matching_launchers(&library)
                ),
            ));
        }
        let node = node::Node::new(&world);
        let oversubscribed = is_oversubscribed(&node.comm);
        Ok(Self {
            world,
            rank,
            size,
            node,
            oversubscribed,
            eager_bytes: Cell::default(),
            lists: RefCell::default(),
            channels: RefCell::default(),
            universe: Rc::new(universe),
        })
    }

    /// A rank that cannot continue must call this, because the others would wait for it.
    pub fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }

    fn channel(&self, tag: Tag) -> Rc<Channel> {
        let mut channels = self.channels.borrow_mut();
        if let Some((_, channel)) = channels.iter().find(|(channel_tag, _)| *channel_tag == tag) {
            return channel.clone();
        }
        let channel = Rc::new(Channel { comm: self.world.duplicate(), _universe: self.universe.clone() });
        channels.push((tag, channel.clone()));
        channel
    }
}

impl Drop for MpiComm {
    fn drop(&mut self) {
        if panicking() {
            self.abort(70);
        }
    }
}

fn is_oversubscribed(node: &SimpleCommunicator) -> bool {
    const WORDS: usize = affinity::MAX_HARDWARE_THREADS / 64;
    let (mut own_processors, mut node_processors) = ([0u64; WORDS], [0u64; WORDS]);
    match affinity::allowed_hardware_threads() {
        Some(processors) => {
            processors.into_iter().for_each(|processor| own_processors[processor / 64] |= 1 << (processor % 64));
        }
        // Without a known affinity, no rank counts as oversubscribed.
        None => own_processors.fill(u64::MAX),
    }
    node.all_reduce_into(&own_processors[..], &mut node_processors[..], SystemOperation::bitwise_or());
    let processors: u32 = node_processors.iter().map(|word| word.count_ones()).sum();
    node.size() as u32 > processors
}

/// Like [`super::start`]; this process is one rank.
pub(super) fn start(
    ranks: usize,
    _place: PlacementOrder,
    program: impl Fn(&MpiComm, &mut Arena) -> Result<()>,
    report_failure: impl Fn(&str),
) -> Result<()> {
    let comm = MpiComm::initialize(ranks)?;
    let mut arena = Arena::default();
    let error = match catch_unwind(AssertUnwindSafe(|| program(&comm, &mut arena))) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error,
        Err(panic) => Error::internal(describe_panic(&*panic)),
    };
    // The other ranks would wait for this one for ever.
    report_failure(&format!("rank {} failed: {}", comm.rank(), error.message));
    // A launcher drops output that it has not forwarded when its ranks abort.
    std::thread::sleep(Duration::from_millis(200));
    comm.abort(error.exit_code().into())
}

/// MPI was started without thread support, and its calls must not run concurrently. `MPI_Abort` does not return; if it waits for a
/// call of the main thread, the alarm ends this process, which the launcher notices.
pub(super) fn abort() {
    // SAFETY: the first two calls take only numbers and the default handler; MPI is initialised while an `MpiComm` exists.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(2);
        ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 3);
    }
}

pub(super) fn library() -> String {
    MpiComm::library()
}

impl Comm for MpiComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn ranks_on_node(&self) -> usize {
        self.node.comm.size() as usize
    }

    fn first_on_node(&self) -> bool {
        self.node.comm.rank() == 0
    }

    fn is_oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    fn eager_bytes(&self, path: Path) -> Option<usize> {
        let on_one_node = self.ranks_on_node() == self.size;
        let library = || (on_one_node && Self::library().starts_with("Open MPI")).then_some(OPEN_MPI_EAGER_BYTES);
        self.eager_bytes.get().or_else(library).filter(|_| !on_one_node || path == Path::Messages)
    }

    fn set_eager_bytes(&self, bytes: Option<usize>) {
        self.eager_bytes.set(bytes);
    }

    fn wall_time(&self) -> f64 {
        mpi::time()
    }

    /// MPI makes progress when it is polled. Ranks that share a hardware thread must yield it to each other.
    fn relax(&self) {
        if self.oversubscribed {
            std::thread::yield_now();
        }
    }
}

impl Collectives for MpiComm {
    type BarrierRequest = MpiBarrierRequest;

    fn barrier(&self) {
        if !self.oversubscribed {
            return self.world.barrier();
        }
        // MPI libraries spin in their barriers: an oversubscribed rank could spin for a whole time slice of the operating system.
        let mut request = self.ibarrier();
        while !self.test(&mut request) {
            self.relax();
        }
    }

    fn broadcast(&self, words: &mut [u64]) {
        self.world.process_at_rank(0).broadcast_into(words);
    }

    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        let root = self.world.process_at_rank(0);
        if self.rank != 0 {
            root.gather_into(words);
            return None;
        }
        let mut gathered = vec![0; words.len() * self.size];
        root.gather_into_root(words, &mut gathered[..]);
        Some(gathered)
    }

    fn all_reduce_sum(&self, value: u64) -> u64 {
        let mut sum = 0;
        self.world.all_reduce_into(&value, &mut sum, SystemOperation::sum());
        sum
    }

    fn all_to_all_v(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        collective::all_to_all_v(self, send, counts, receive);
    }

    fn ibarrier(&self) -> MpiBarrierRequest {
        let mut request = MaybeUninit::uninit();
        // SAFETY: MPI_Ibarrier writes the request, and the communicator lives as long as `self`.
        unsafe {
            ffi::MPI_Ibarrier(self.world.as_raw(), request.as_mut_ptr());
            MpiBarrierRequest { request: request.assume_init(), _universe: self.universe.clone() }
        }
    }

    fn test(&self, barrier: &mut MpiBarrierRequest) -> bool {
        let mut done = 0;
        // SAFETY: the request is live, or the null request after completion, which tests as done.
        unsafe { ffi::MPI_Test(&mut barrier.request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
        done != 0
    }
}

pub struct MpiBarrierRequest {
    request: ffi::MPI_Request,
    _universe: Rc<Universe>,
}

impl Drop for MpiBarrierRequest {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: the request is live, or the null request after completion, for which MPI_Wait returns at once.
            unsafe { ffi::MPI_Wait(&mut self.request, ffi::RSMPI_STATUS_IGNORE) };
        }
    }
}
