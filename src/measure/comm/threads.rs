//! The embedded transport: the ranks are threads of one process.
//!
//! Messages go through a ring for each pair of ranks (`mailbox`), which grow as P^2: fine for the cores of a node. Waiting
//! ranks spin while every rank has a core, and yield otherwise.

mod mailbox;
mod messages;
mod opened;
mod puts;
mod window;

pub use mailbox::{ThreadInbox, ThreadOutbox};
pub use messages::ThreadMessages;
pub use opened::ThreadOpened;
pub use puts::ThreadPuts;
pub use window::ThreadWindow;

use super::arena::Arena;
use super::{Comm, Posted, Tag};
use crate::error::Result as Checked;
use mailbox::Parcel;
use rtrb::{Consumer, RingBuffer};
use std::any::Any;
use std::cell::Cell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

/// Memory that a rank opened to the others.
#[derive(Clone, Copy)]
struct Memory {
    start: *mut u64,
    words: usize,
}

// SAFETY: through windows it is only read, while its owner cannot write; through `ThreadOpened` only changed atomically,
// while its owner cannot touch it. The creation and the end of both are collective.
unsafe impl Send for Memory {}

type Address = (Tag, usize, usize);

struct Shared {
    size: usize,
    start: Instant,
    waiting: AtomicUsize,
    epoch: AtomicUsize,
    arrivals: AtomicU64,
    /// A rank has failed: whoever waits gives up.
    poisoned: AtomicBool,
    finished: AtomicUsize,
    /// What each rank has put down for the others to read.
    words: Vec<RwLock<Vec<u64>>>,
    rings: Mutex<HashMap<Address, Consumer<Parcel>>>,
    opened: Mutex<Vec<Option<Memory>>>,
    /// On their way from a rank to a rank.
    gifts: Mutex<HashMap<(usize, usize), Box<dyn Any + Send>>>,
}

/// One rank's end of the world of threads.
pub struct ThreadComm {
    rank: usize,
    shared: Arc<Shared>,
    /// Every rank has a core of its own, so waiting ranks may spin.
    spin: bool,
    idles: Cell<u32>,
    arrived: Cell<u64>,
    /// Kept for its allocation.
    scratch: Cell<Vec<u64>>,
}

/// Runs `body` on `ranks` threads, each pinned to its own core if there are enough, and returns what each gave or the
/// message of its panic. One rank's panic ends the others.
pub fn run<R: Send>(ranks: usize, body: impl Fn(&ThreadComm, &mut Arena) -> R + Sync) -> Vec<Result<R, String>> {
    let shared = Arc::new(Shared {
        size: ranks,
        start: Instant::now(),
        waiting: AtomicUsize::new(0),
        epoch: AtomicUsize::new(0),
        arrivals: AtomicU64::new(0),
        poisoned: AtomicBool::new(false),
        finished: AtomicUsize::new(0),
        words: (0..ranks).map(|_| RwLock::default()).collect(),
        rings: Mutex::default(),
        opened: Mutex::new(vec![None; ranks]),
        gifts: Mutex::default(),
    });
    let cores = allowed_cores();
    let spin = ranks <= cores.len();
    std::thread::scope(|scope| {
        let start = |rank: usize| {
            let (shared, idles, arrived) = (shared.clone(), Cell::new(0), Cell::new(0));
            let comm = ThreadComm { rank, shared, spin, idles, arrived, scratch: Cell::default() };
            let (body, core) = (&body, cores.get(rank).filter(|_| spin).copied());
            std::thread::Builder::new().spawn_scoped(scope, move || run_rank(&comm, core, body))
        };
        let threads: Vec<_> = (0..ranks).map(start).collect();
        let missing = threads.iter().filter(|thread| thread.is_err()).count();
        if missing > 0 {
            // Those that run would wait for them for ever.
            shared.poisoned.store(true, Ordering::Release);
            shared.finished.fetch_add(missing, Ordering::AcqRel);
        }
        let result = |thread: std::io::Result<ScopedJoinHandle<_>>| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("a rank could not be run".into())),
            Err(cause) => Err(format!("the system gives no thread for this rank: {cause}")),
        };
        threads.into_iter().map(result).collect()
    })
}

fn run_rank<R>(
    comm: &ThreadComm,
    core: Option<usize>,
    body: impl Fn(&ThreadComm, &mut Arena) -> R,
) -> Result<R, String> {
    if let Some(core) = core {
        pin(core);
    }
    let mut arena = Arena::default();
    let result = catch_unwind(AssertUnwindSafe(|| body(comm, &mut arena)));
    if result.is_err() {
        comm.shared.poisoned.store(true, Ordering::Release);
    }
    // Others may be reading this rank's memory until they have noticed: keep it until all have ended.
    comm.shared.finished.fetch_add(1, Ordering::AcqRel);
    while comm.shared.finished.load(Ordering::Acquire) < comm.shared.size {
        std::thread::yield_now();
    }
    result.map_err(|panic| panic_text(&*panic))
}

/// What a caught panic says.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_else(|| "panicked".into())
}

fn allowed_cores() -> Vec<usize> {
    use nix::sched::{CpuSet, sched_getaffinity};
    let Ok(set) = sched_getaffinity(nix::unistd::Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).take(crate::provenance::cores()).collect()
}

/// Best effort: what came of it is recorded with the placement.
fn pin(core: usize) {
    use nix::sched::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    if set.set(core).is_ok() {
        let _ = sched_setaffinity(nix::unistd::Pid::from_raw(0), &set);
    }
}

/// What a rank panics with when another one failed first.
pub const OTHER_RANK_FAILED: &str = "another rank failed";

impl ThreadComm {
    /// Ends the world: for a rank that cannot go on and is about to return.
    pub fn fail(&self) {
        self.shared.poisoned.store(true, Ordering::Release);
    }

    /// Puts this rank's words down, lets `read` look at everybody's, and keeps them until all have looked.
    fn share<R>(&self, words: &[u64], read: impl FnOnce(&Board) -> R) -> R {
        {
            let mut own = self.shared.words[self.rank].write().unwrap_or_else(|poisoned| poisoned.into_inner());
            own.clear();
            own.extend_from_slice(words);
        }
        self.barrier();
        let result = read(&Board(&self.shared.words));
        self.barrier();
        result
    }

    /// Collective: tells all ranks where this rank's memory is, and learns where theirs are.
    fn publish(&self, start: *mut u64, words: usize) -> Vec<Memory> {
        lock(&self.shared.opened)[self.rank] = Some(Memory { start, words });
        self.barrier();
        let opened = lock(&self.shared.opened).iter().flatten().copied().collect();
        self.barrier();
        opened
    }

    /// Collective: gives every rank, this one included, its gift, and returns what each rank gave to this one.
    fn swap<T: Send + 'static>(&self, gifts: Vec<T>) -> Vec<T> {
        for (to, gift) in gifts.into_iter().enumerate() {
            lock(&self.shared.gifts).insert((self.rank, to), Box::new(gift));
        }
        self.barrier();
        let from = |from| lock(&self.shared.gifts).remove(&(from, self.rank)).and_then(|gift| gift.downcast().ok());
        let received = (0..self.size()).map(|rank| *from(rank).expect("all ranks give the same")).collect();
        self.barrier();
        received
    }
}

/// Everybody's words.
struct Board<'a>(&'a [RwLock<Vec<u64>>]);

impl Board<'_> {
    fn of(&self, rank: usize) -> std::sync::RwLockReadGuard<'_, Vec<u64>> {
        self.0[rank].read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn all(&self) -> impl Iterator<Item = std::sync::RwLockReadGuard<'_, Vec<u64>>> {
        (0..self.0.len()).map(|rank| self.of(rank))
    }
}

/// A lock that a panicking rank may have poisoned; the poison flag of the world deals with that.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Comm for ThreadComm {
    type Arrival = u64;
    type Inbox = ThreadInbox;
    type Outbox = ThreadOutbox;
    type Window<'m> = ThreadWindow<'m>;
    type Opened<'m> = ThreadOpened<'m>;
    type Messages<'m> = ThreadMessages<'m>;
    type Puts<'m> = ThreadPuts<'m>;

    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.size
    }

    fn neighbours(&self) -> usize {
        self.size()
    }

    fn oversubscribed(&self) -> bool {
        !self.spin
    }

    fn now(&self) -> f64 {
        self.shared.start.elapsed().as_secs_f64()
    }

    #[inline]
    fn idle(&self) {
        let idles = self.idles.get().wrapping_add(1);
        self.idles.set(idles);
        if self.spin && !idles.is_multiple_of(256) {
            std::hint::spin_loop();
            return;
        }
        if self.shared.poisoned.load(Ordering::Acquire) {
            std::panic::panic_any(OTHER_RANK_FAILED);
        }
        std::thread::yield_now();
    }

    fn barrier(&self) {
        let shared = &self.shared;
        let epoch = shared.epoch.load(Ordering::Acquire);
        if shared.waiting.fetch_add(1, Ordering::AcqRel) + 1 == shared.size {
            shared.waiting.store(0, Ordering::Release);
            shared.epoch.store(epoch + 1, Ordering::Release);
            return;
        }
        while shared.epoch.load(Ordering::Acquire) == epoch {
            self.idle();
        }
    }

    fn broadcast(&self, words: &mut [u64]) {
        let root = if self.rank == 0 { words.to_vec() } else { Vec::new() };
        self.share(&root, |board| words.copy_from_slice(&board.of(0)));
    }

    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        let everything = |board: &Board| board.all().flat_map(|part| part.clone()).collect();
        self.share(words, |board| (self.rank == 0).then(|| everything(board)))
    }

    fn sum(&self, value: u64) -> u64 {
        self.share(&[value], |board| board.all().fold(0, |sum: u64, part| sum.wrapping_add(part[0])))
    }

    fn all_to_all(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        assert_eq!(counts.len(), self.size(), "a count for every rank");
        let mut message = self.scratch.take();
        message.clear();
        message.extend(counts.iter().map(|&count| count as u64));
        message.extend_from_slice(&send[..counts.iter().sum()]);
        receive.clear();
        self.share(&message, |board| {
            for part in board.all() {
                let (counts, words) = part.split_at(self.size());
                let start: u64 = counts[..self.rank].iter().sum();
                receive.extend_from_slice(&words[start as usize..][..counts[self.rank] as usize]);
            }
        });
        self.scratch.replace(message);
    }

    fn arrive(&self) -> u64 {
        // A rank arrives again only after all have arrived before, so counting is enough.
        let target = self.arrived.get() + self.shared.size as u64;
        self.arrived.set(target);
        self.shared.arrivals.fetch_add(1, Ordering::AcqRel);
        target
    }

    fn all_arrived(&self, target: &mut u64) -> bool {
        self.shared.arrivals.load(Ordering::Acquire) >= *target
    }

    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, ThreadOutbox) {
        let mut to = Vec::new();
        for other in 0..self.size() {
            let (producer, consumer) = RingBuffer::new(sends.max(receives));
            to.push(producer);
            lock(&self.shared.rings).insert((tag, self.rank, other), consumer);
        }
        self.barrier();
        let mut rings = lock(&self.shared.rings);
        let others = (0..self.size()).filter(|&other| other != self.rank);
        let from = others.filter_map(|other| Some((other, rings.remove(&(tag, other, self.rank))?))).collect();
        rings.remove(&(tag, self.rank, self.rank));
        drop(rings);
        self.barrier();
        (ThreadInbox::new(from), ThreadOutbox::new(to, sends, words, self.shared.clone()))
    }

    /// There is nothing to post: a message waits in its sender's slot.
    fn lines(
        &self,
        tag: Tag,
        peers: &[usize],
        _posted: Posted,
        sends: usize,
        words: usize,
    ) -> (Vec<ThreadInbox>, ThreadOutbox) {
        let (mut inbox, outbox) = self.mailbox(tag, 1, sends, words);
        let mut line = |peer: &usize| {
            let at = inbox.from.iter().position(|(rank, _)| rank == peer).expect("a peer is another rank, named once");
            ThreadInbox::new(vec![inbox.from.swap_remove(at)])
        };
        (peers.iter().map(&mut line).collect(), outbox)
    }

    fn window<'m>(&'m self, memory: &'m [u64], slots: usize, words: usize) -> ThreadWindow<'m> {
        let opened = self.publish(memory.as_ptr().cast_mut(), memory.len());
        ThreadWindow { comm: self, opened, free: vec![vec![0; words]; slots], fetched: Default::default() }
    }

    fn open<'m>(&'m self, memory: &'m mut [u64]) -> ThreadOpened<'m> {
        ThreadOpened { comm: self, opened: self.publish(memory.as_mut_ptr(), memory.len()), memory: PhantomData }
    }

    fn messages(&self, _tag: Tag, outgoing: usize, incoming: usize) -> Checked<ThreadMessages<'_>> {
        ThreadMessages::new(self, outgoing, incoming)
    }

    fn puts(&self, outgoing: usize, incoming: usize) -> Checked<ThreadPuts<'_>> {
        ThreadPuts::new(self, outgoing, incoming)
    }
}
