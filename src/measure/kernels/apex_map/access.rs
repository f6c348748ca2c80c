//! The kinds of access to a block, and the bytes that they request and transfer.

use super::*;
use crate::kernels::shared::parameters::TRAFFIC;

pub(super) const ACCESS: Key<Access> = choice_key(
    "access",
    "access: read (sum of the words), write, update (add to each word), copy (accesses form pairs: the first block, from the first \
     half of M, is copied to the second block, in the second half) or non_temporal \
     (write past the caches, on x86_64)",
);
pub(super) const WRITE_SHARE: Key<u64> = key(
    "write_share",
    "percentage of the accesses that are writes, updates or non-temporal writes; the others are reads",
    integers(0..=100, 100),
)
.in_column("write_per_cent", Unit::None);

choice! {
    /// The kind of access to a block of words. Points of earlier versions do not have the parameter; their accesses are reads.
    pub enum Access {
        /// The words are summed.
        Read = "read",
        /// Each word is set to the number of the access.
        Write = "write",
        /// The number of the access is added to each word.
        Update = "update",
        /// Accesses form pairs. The first block, from the first half of the memory, is copied to the second block, in the second half.
        Copy = "copy",
        /// The same as [`Access::Write`], with stores that bypass the caches.
        NonTemporal = "non_temporal",
    }
}

impl Access {
    pub fn of(point: &Point) -> Self {
        ACCESS.get(point).unwrap_or(Access::Read)
    }
}

/// The order of reads and writes in a pass: in every `group` consecutive accesses the last `writes` are writes.
///
/// The pattern is fixed, so that at most one branch per group is mispredicted. The written blocks are random, like all blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePattern {
    pub group: usize,
    pub writes: usize,
}

impl WritePattern {
    pub fn from_per_cent(writes: u64) -> Self {
        let writes = writes as usize;
        let divisor = (1..=100).rev().find(|&d| writes.is_multiple_of(d) && 100_usize.is_multiple_of(d)).unwrap_or(1);
        match writes {
            // A single loop, because all accesses are of the same kind.
            0 => Self { group: usize::MAX, writes: 0 },
            100.. => Self { group: usize::MAX, writes: usize::MAX },
            _ => Self { group: 100 / divisor, writes: writes / divisor },
        }
    }

    /// Returns the number of reads among the first `accesses` accesses of a group. Only the last group of a pass may be incomplete.
    #[inline(always)]
    pub fn reads(self, accesses: usize) -> usize {
        match accesses {
            whole if whole == self.group => self.group - self.writes,
            _ if self.writes == self.group => 0,
            some => some - (some * self.writes + self.group / 2) / self.group,
        }
    }
}

fn write_share(point: &Point) -> f64 {
    match Access::of(point) {
        Access::Read => 0.0,
        Access::Copy => 0.5,
        Access::Write | Access::Update | Access::NonTemporal => WRITE_SHARE.get(point).unwrap_or(100) as f64 / 100.0,
    }
}

pub(super) fn pattern(point: &Point) -> WritePattern {
    WritePattern::from_per_cent(if Access::of(point) == Access::Read { 0 } else { WRITE_SHARE.of(point) })
}

pub(super) fn words_per_access(point: &Point) -> (f64, &'static str) {
    let block = L.of(point) as f64;
    match Access::of(point) {
        Access::Read => (block, "words read and summed, 8 L bytes per access"),
        Access::Update => {
            (block * (1.0 + write_share(point)), "words read and words written, 16 L bytes per update, 8 L per read")
        }
        Access::Write | Access::Copy | Access::NonTemporal => (block, "words read or written, 8 L bytes per access"),
    }
}

pub(super) fn traffic(point: &Point, accesses: f64, seconds: f64) -> [(&'static str, Value); 2] {
    let (block, line) = (L.of(point), 64 / WORD_BYTES);
    // A block begins at a multiple of L words. Its offset in its first cache line is therefore a multiple of `step` words, and all
    // multiples occur equally often.
    let step = if block.is_multiple_of(line) { line } else { 1 << block.trailing_zeros() };
    let lines = (block + line - step) as f64 / line as f64;
    let stored_twice = if Access::of(point) == Access::NonTemporal { 0.0 } else { write_share(point) };
    let bytes = accesses * lines * 64.0 * (1.0 + stored_twice);
    [(TRAFFIC[0].column, Value::Real(bytes)), (TRAFFIC[1].column, Value::Real(bytes / seconds))]
}

/// Refuses combinations of parameters that cannot be run.
pub(super) fn check(point: &Point) -> Result<(), Refusal> {
    let (Some(access), Some(share)) = (ACCESS.get(point), WRITE_SHARE.get(point)) else { return Ok(()) };
    let name = if access == Access::Copy { "copy" } else { "read" };
    match (access, share) {
        (Access::Read | Access::Copy, share) if share != 100 => Err(refusal!(
            ["access", "write_share"],
            "write_share = {share} has no effect with access = \"{name}\"; leave it out, or use write, update or non_temporal"
        )),
        (Access::Copy, _) if !I.of(point).is_multiple_of(8) => Err(refusal!(
            ["access", "I"],
            "a copy is two accesses, and I = {} is not a multiple of 8; use a multiple of 8",
            I.of(point)
        )),
        (Access::Copy, _) if M.of(point) < 2 * L.of(point) => {
            Err(refusal!(["access", "M", "L"], "a copy needs two blocks; use a larger M, or a smaller L"))
        }
        (Access::NonTemporal, _) if !cfg!(target_arch = "x86_64") => {
            Err(refusal!(["access"], "non-temporal stores are available only on x86_64; use access = \"write\""))
        }
        _ => Ok(()),
    }
}
