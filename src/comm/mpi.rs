//! The MPI transport: rsmpi where it suffices, the C interface for persistent receives, pools of sends and windows.
//!
//! All `unsafe` MPI code is here and in [`window`]. MPI's own error handler stays in place: a call that fails ends the
//! world with MPI's message, so return codes carry nothing. A rank that unwinds leaks what MPI may still touch and,
//! when its [`MpiComm`] is dropped, ends the world: waiting for anything could wait for ever.

mod collective;
mod opened;
mod window;

pub use opened::MpiOpened;
pub use window::MpiWindow;

use super::{Comm, Inbox, Outbox, Posted, Tag};
use crate::error::{Error, Result};
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{AsRaw, Communicator, CommunicatorCollectives, Root};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::ptr::NonNull;
use std::rc::Rc;
use std::thread::panicking;

/// `MPI_COMM_WORLD`.
pub struct MpiComm {
    world: SimpleCommunicator,
    rank: usize,
    size: usize,
    oversubscribed: bool,
    /// In the order of their creation, which is the same on all ranks.
    channels: RefCell<Vec<(Tag, Rc<Channel>)>>,
    /// Ends MPI when the last of this and what came of it is dropped.
    universe: Rc<Universe>,
}

/// A communicator for one tag: MPI libraries look for the receive of a message among all of its communicator, one by one.
struct Channel {
    comm: SimpleCommunicator,
    _universe: Rc<Universe>,
}

/// What starts programs of this library; the launchers of others start worlds of one rank instead, without an error.
fn starters(library: &str) -> &'static str {
    if library.contains("Open MPI") {
        "mpirun of Open MPI, or srun with SLURM_MPI_TYPE=pmix"
    } else if library.contains("MPICH") {
        "mpiexec of MPICH, or srun with SLURM_MPI_TYPE=pmi2"
    } else {
        "the mpirun or mpiexec that came with it"
    }
}

impl MpiComm {
    /// The MPI library this program runs with, on one line, as `MPI_Get_library_version` tells it.
    pub fn library() -> String {
        let text = mpi::environment::library_version().unwrap_or_default();
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("an MPI library without a name");
        line.trim_end_matches('\0').split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Starts MPI in a single-threaded process. Fails unless the world has `expected` ranks: the launcher of another MPI
    /// library starts `expected` separate worlds of one rank each.
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
                    starters(&library)
                ),
            ));
        }
        let oversubscribed = oversubscribed(&world);
        Ok(Self { world, rank, size, oversubscribed, channels: RefCell::default(), universe: Rc::new(universe) })
    }

    /// Whether the ranks of this rank's node outnumber the processors they may use.
    pub fn oversubscribed(&self) -> bool {
        self.oversubscribed
    }

    /// Ends all ranks at once; what a rank that cannot go on must do, since the others would wait for it.
    pub fn abort(&self, code: i32) -> ! {
        self.world.abort(code)
    }

    /// Collective.
    fn channel(&self, tag: Tag) -> Rc<Channel> {
        let mut channels = self.channels.borrow_mut();
        if let Some((_, channel)) = channels.iter().find(|(known, _)| *known == tag) {
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

fn oversubscribed(world: &SimpleCommunicator) -> bool {
    use nix::sched::{CpuSet, sched_getaffinity};
    let node = world.split_shared(world.rank());
    let (mut mine, mut all) = ([0u64; 16], [0u64; 16]);
    match sched_getaffinity(nix::unistd::Pid::from_raw(0)) {
        Ok(set) => (0..CpuSet::count().min(1024))
            .filter(|&cpu| set.is_set(cpu).unwrap_or(false))
            .for_each(|cpu| mine[cpu / 64] |= 1 << (cpu % 64)),
        // More processors than the set holds: there is room.
        Err(_) => mine.fill(u64::MAX),
    }
    node.all_reduce_into(&mine[..], &mut all[..], SystemOperation::bitwise_or());
    node.size() as u32 > all.iter().map(|word| word.count_ones()).sum()
}

impl Comm for MpiComm {
    type Arrival = MpiArrival;
    type Inbox = MpiInbox;
    type Outbox = MpiOutbox;
    type Window<'m> = MpiWindow<'m>;
    type Opened<'m> = MpiOpened<'m>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn now(&self) -> f64 {
        mpi::time()
    }

    /// MPI makes progress when it is polled; ranks that share a processor must leave it to each other.
    fn idle(&self) {
        if self.oversubscribed {
            std::thread::yield_now();
        }
    }

    fn barrier(&self) {
        if !self.oversubscribed {
            return self.world.barrier();
        }
        // MPI libraries spin in their barriers, for a time slice of the operating system at worst.
        let mut arrival = self.arrive();
        while !self.all_arrived(&mut arrival) {
            self.idle();
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
        let mut all = vec![0; words.len() * self.size];
        root.gather_into_root(words, &mut all[..]);
        Some(all)
    }

    fn sum(&self, value: u64) -> u64 {
        let mut sum = 0;
        self.world.all_reduce_into(&value, &mut sum, SystemOperation::sum());
        sum
    }

    fn all_to_all(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        collective::all_to_all(self, send, counts, receive);
    }

    fn arrive(&self) -> MpiArrival {
        let mut request = MaybeUninit::uninit();
        // SAFETY: MPI writes the request.
        unsafe {
            ffi::MPI_Ibarrier(self.world.as_raw(), request.as_mut_ptr());
            MpiArrival { request: request.assume_init(), _universe: self.universe.clone() }
        }
    }

    fn all_arrived(&self, arrival: &mut MpiArrival) -> bool {
        let mut done = 0;
        // SAFETY: the request is live, or the null request after completion, which tests as done.
        unsafe { ffi::MPI_Test(&mut arrival.request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
        done != 0
    }

    /// At most one mailbox of a tag may exist at a time. Ends with a barrier: nobody sends before all receives are posted,
    /// and none of its messages finds the receives of an earlier mailbox.
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (MpiInbox, MpiOutbox) {
        let channel = self.channel(tag);
        // SAFETY: a constant of the library.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        let inbox = MpiInbox::post(channel.clone(), any, Posted::Ahead, receives, words);
        let outbox = MpiOutbox { pool: Pool::new(sends, words), free: (0..sends).collect(), channel };
        self.barrier();
        (inbox, outbox)
    }

    /// As `mailbox`. The posted receives of a communicator are as many as there are peers.
    fn lines(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: Posted,
        sends: usize,
        words: usize,
    ) -> (Vec<MpiInbox>, MpiOutbox) {
        let channel = self.channel(tag);
        let inbox = |&peer: &usize| MpiInbox::post(channel.clone(), peer as c_int, posted, 1, words);
        let inboxes = peers.iter().map(inbox).collect();
        let outbox = MpiOutbox { pool: Pool::new(sends, words), free: (0..sends).collect(), channel };
        self.barrier();
        (inboxes, outbox)
    }

    /// Every rank opens equally many words, or the shortest memory bounds all gets.
    fn window<'m>(&'m self, memory: &'m [u64], slots: usize, words: usize) -> MpiWindow<'m> {
        MpiWindow::open(self, memory, slots, words)
    }

    fn open<'m>(&'m self, memory: &'m mut [u64]) -> MpiOpened<'m> {
        MpiOpened::open(self, memory)
    }
}

/// A barrier under way.
pub struct MpiArrival {
    request: ffi::MPI_Request,
    _universe: Rc<Universe>,
}

impl Drop for MpiArrival {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: as in `all_arrived`.
            unsafe { ffi::MPI_Wait(&mut self.request, ffi::RSMPI_STATUS_IGNORE) };
        }
    }
}

/// Memory that MPI reads and writes while a request is active, which the compiler must not assume to be its own.
struct Buffers {
    base: NonNull<[u64]>,
    words: usize,
}

impl Buffers {
    fn new(count: usize, words: usize) -> Self {
        assert!(words <= c_int::MAX as usize, "MPI cannot send {words} words in one message");
        Self { base: NonNull::from(Box::leak(vec![0; count * words].into_boxed_slice())), words }
    }

    fn at(&self, slot: usize) -> *mut u64 {
        let start = slot * self.words;
        assert!(start + self.words <= self.base.len());
        // SAFETY: within the allocation.
        unsafe { self.base.cast::<u64>().as_ptr().add(start) }
    }

    /// # Safety
    /// No request on this slot may be active.
    unsafe fn read(&self, slot: usize, words: usize) -> &[u64] {
        assert!(words <= self.words);
        // SAFETY: `at` is within the allocation; the caller vouches for MPI.
        unsafe { std::slice::from_raw_parts(self.at(slot), words) }
    }

    /// # Safety
    /// No request on this slot may be active.
    unsafe fn write(&mut self, slot: usize, words: &[u64]) {
        assert!(words.len() <= self.words, "a message of {} words in a pool of {}", words.len(), self.words);
        // SAFETY: as in `read`.
        unsafe { self.at(slot).copy_from_nonoverlapping(words.as_ptr(), words.len()) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if !panicking() {
            // SAFETY: allocated by `new`; the owners wait for or cancel their requests before.
            drop(unsafe { Box::from_raw(self.base.as_ptr()) });
        }
    }
}

/// Buffers with a request each, of which any number may be active.
struct Pool {
    buffers: Buffers,
    /// The null request where none is active.
    requests: Vec<ffi::MPI_Request>,
    done: Vec<c_int>,
}

impl Pool {
    fn new(slots: usize, words: usize) -> Self {
        // SAFETY: a constant of the library.
        let none = unsafe { ffi::RSMPI_REQUEST_NULL };
        Self { buffers: Buffers::new(slots, words), requests: vec![none; slots], done: vec![0; slots] }
    }

    /// The slots whose requests completed since the last call. Makes progress on all of MPI if there are none.
    fn completed(&mut self) -> impl Iterator<Item = usize> {
        let mut count = 0;
        // SAFETY: all requests are live or null, and `done` has room for all.
        unsafe {
            ffi::MPI_Testsome(
                self.requests.len() as c_int,
                self.requests.as_mut_ptr(),
                &mut count,
                self.done.as_mut_ptr(),
                ffi::RSMPI_STATUSES_IGNORE,
            )
        };
        // The count is MPI_UNDEFINED, a negative number, if no request is active.
        self.done[..count.max(0) as usize].iter().map(|&slot| slot as usize)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !panicking() {
            let count = self.requests.len() as c_int;
            // SAFETY: as in `completed`.
            unsafe { ffi::MPI_Waitall(count, self.requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
        }
    }
}

/// The tag of all messages: each kind has a communicator of its own.
const MESSAGE: c_int = 0;

/// A ring of persistent receives.
///
/// MPI matches the receives of one source in the order in which they were posted (MPI 4.0, section 3.5), so the oldest
/// posted one holds the oldest message, and one test of it polls them all.
pub struct MpiInbox {
    buffers: Buffers,
    requests: Vec<ffi::MPI_Request>,
    oldest: usize,
    posted: Posted,
    /// Whether the oldest receive is posted; all are if they are posted ahead.
    started: bool,
    _channel: Rc<Channel>,
}

impl MpiInbox {
    /// `source` may be any; one receive on demand, or several ahead.
    fn post(channel: Rc<Channel>, source: c_int, posted: Posted, receives: usize, words: usize) -> Self {
        let buffers = Buffers::new(receives, words);
        let started = posted == Posted::Ahead;
        let post = |slot| {
            let mut request = MaybeUninit::uninit();
            // SAFETY: the buffer outlives the request, which `drop` cancels and frees.
            unsafe {
                let (at, count, word) = (buffers.at(slot).cast(), words as c_int, ffi::RSMPI_UINT64_T);
                let (world, request_at) = (channel.comm.as_raw(), request.as_mut_ptr());
                ffi::MPI_Recv_init(at, count, word, source, MESSAGE, world, request_at);
                if started {
                    ffi::MPI_Start(request_at);
                }
                request.assume_init()
            }
        };
        let requests = (0..receives).map(post).collect();
        Self { buffers, requests, oldest: 0, posted, started, _channel: channel }
    }
}

impl Inbox for MpiInbox {
    fn take<R>(&mut self, read: impl FnOnce(usize, &[u64]) -> R) -> Option<R> {
        let request = self.requests.get_mut(self.oldest)?;
        if !self.started {
            // SAFETY: an inactive persistent request may be started.
            unsafe { ffi::MPI_Start(request) };
            self.started = true;
        }
        let (mut arrived, mut status, mut words) = (0, MaybeUninit::<ffi::MPI_Status>::uninit(), 0);
        // SAFETY: the request is active, so MPI fills the status if it sets `arrived`.
        let status = unsafe {
            ffi::MPI_Test(request, &mut arrived, status.as_mut_ptr());
            if arrived == 0 {
                return None;
            }
            status.assume_init()
        };
        // SAFETY: the receive is complete: its buffer is ours until MPI_Start gives it back.
        let result = unsafe {
            ffi::MPI_Get_count(&status, ffi::RSMPI_UINT64_T, &mut words);
            read(status.MPI_SOURCE as usize, self.buffers.read(self.oldest, words as usize))
        };
        self.started = self.posted == Posted::Ahead;
        if self.started {
            // SAFETY: a complete persistent request may be started again.
            unsafe { ffi::MPI_Start(request) };
        }
        self.oldest = if self.oldest + 1 == self.requests.len() { 0 } else { self.oldest + 1 };
        Some(result)
    }
}

impl Drop for MpiInbox {
    fn drop(&mut self) {
        if panicking() {
            return;
        }
        for request in &mut self.requests {
            // SAFETY: only an active receive is cancelled; all are if one is, unless a reader panicked.
            unsafe {
                if self.started {
                    ffi::MPI_Cancel(request);
                    ffi::MPI_Wait(request, ffi::RSMPI_STATUS_IGNORE);
                }
                ffi::MPI_Request_free(request);
            }
        }
    }
}

/// A pool of sends.
pub struct MpiOutbox {
    pool: Pool,
    free: Vec<usize>,
    channel: Rc<Channel>,
}

impl Outbox for MpiOutbox {
    fn ready(&mut self) -> bool {
        if self.free.is_empty() {
            self.free.extend(self.pool.completed());
        }
        !self.free.is_empty()
    }

    fn send(&mut self, to: usize, words: &[u64]) -> bool {
        if !self.ready() {
            return false;
        }
        let Some(slot) = self.free.pop() else { return false };
        // SAFETY: a free slot has no active request; its buffer is left alone until the send completes.
        unsafe {
            self.pool.buffers.write(slot, words);
            let (at, word) = (self.pool.buffers.at(slot).cast(), ffi::RSMPI_UINT64_T);
            let (request, world) = (&mut self.pool.requests[slot], self.channel.comm.as_raw());
            ffi::MPI_Isend(at, words.len() as c_int, word, to as c_int, MESSAGE, world, request);
        }
        true
    }
}
