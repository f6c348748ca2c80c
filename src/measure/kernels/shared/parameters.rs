//! Parameters and outputs of kernels of several families.

use crate::comm::arena::Pages;
use crate::kernels::{Domain, Key, Output, choice_key, key, output};
use apexmap_base::units::Unit;

pub const PAGES: Key<Pages> = choice_key(
    "pages",
    "pages",
    "page size requested: huge (2 MiB on x86_64) or base (4 KiB); page_bytes has the size granted",
);

/// The outputs of kernels that traverse memory: the pages that the system provided.
pub(in crate::kernels) const PAGE_BYTES: Output =
    output("page_bytes", Unit::Bytes, "page size granted to rank 0; absent if mixed or unknown");
pub(in crate::kernels) const HUGE_SHARE: Output =
    output("huge_share", Unit::None, "fraction of rank 0's memory on huge pages");

/// A seed. Its meaning says what is random.
pub(in crate::kernels) const fn seed(meaning: &'static str) -> Key<u64> {
    key("seed", "seed", meaning, Domain::Integer { min: 0, max: u64::MAX, default: 1 })
}

/// A number of receive buffers. Its meaning says what a buffer receives.
pub(in crate::kernels) const fn receive_buffers(meaning: &'static str) -> Key<u64> {
    key("B", "receive_buffers", meaning, HANDLES)
}

/// A number of send handles.
pub(in crate::kernels) const fn send_handles(meaning: &'static str) -> Key<u64> {
    key("SMSG", "send_handles", meaning, HANDLES)
}

const HANDLES: Domain = Domain::Integer { min: 1, max: 1 << 16, default: 16 };
