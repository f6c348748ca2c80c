//! The stacks of coroutines, in one area of memory. The system provides only the pages that a stack uses.

use apexmap_base::error::{Error, Result};
use corosensei::stack::{Stack, StackPointer};
use memmap2::{MmapMut, MmapOptions};
use std::num::NonZeroUsize;
use std::rc::Rc;

const STACK_BYTES: usize = if cfg!(debug_assertions) { 512 << 10 } else { 64 << 10 };
/// The ends of stacks are in different lines of a page, so that all parts of a cache hold some of them.
const DISTANCE: usize = STACK_BYTES + 5 * 64;
/// A rank that has less space than this when it waits is ended. Its next calls could overflow, and unwinding needs space.
const RESERVE_BYTES: usize = 16 << 10;
/// The lowest word of each stack. A stack that overflows changes it.
const CANARY: u64 = 0x5eed_cafe_f00d_beef;

pub struct Stacks {
    area: MmapMut,
}

pub struct RankStack {
    stacks: Rc<Stacks>,
    rank: usize,
}

impl Stacks {
    pub fn new(ranks: usize) -> Result<Rc<Self>> {
        let bytes = ranks * DISTANCE;
        let refused = |cause: std::io::Error| {
            Error::environment(
                format!(
                    "cannot reserve {} for the stacks of {ranks} ranks: {cause}",
                    apexmap_base::units::bytes(bytes as f64)
                ),
                "simulate fewer ranks",
            )
        };
        // Stacks use few of their pages, so the system need not set memory aside for all.
        let mut area = MmapOptions::new().len(bytes).no_reserve_swap().map_anon().map_err(refused)?;
        // Huge pages would give every stack more memory than it uses.
        let _ = area.advise(memmap2::Advice::NoHugePage);
        for rank in 0..ranks {
            area[rank * DISTANCE..][..8].copy_from_slice(&CANARY.to_ne_bytes());
        }
        Ok(Rc::new(Self { area }))
    }

    pub fn stack(self: &Rc<Self>, rank: usize) -> RankStack {
        RankStack { stacks: Rc::clone(self), rank }
    }

    /// The memory below a stack that has overflown has wrong contents.
    pub fn has_overflown(&self, rank: usize) -> bool {
        // SAFETY: the word lies within the area, and is aligned; only a stack that overflows writes to it, and none runs now.
        unsafe { self.area.as_ptr().add(rank * DISTANCE).cast::<u64>().read_volatile() != CANARY }
    }

    pub fn is_nearly_full(&self, rank: usize) -> bool {
        let local = std::hint::black_box(0u8);
        (&raw const local).addr() < self.area.as_ptr().addr() + rank * DISTANCE + RESERVE_BYTES
    }
}

// SAFETY: the area is mapped while the stack exists, because the stack owns a part of it. Stacks of different ranks do not
// overlap, and both ends are multiples of the size, which is a multiple of the alignment that corosensei requires.
unsafe impl Stack for RankStack {
    fn base(&self) -> StackPointer {
        pointer(self.stacks.area.as_ptr().addr() + self.rank * DISTANCE + STACK_BYTES)
    }

    fn limit(&self) -> StackPointer {
        pointer(self.stacks.area.as_ptr().addr() + self.rank * DISTANCE)
    }
}

fn pointer(address: usize) -> StackPointer {
    NonZeroUsize::new(address).expect("memory has an address")
}
