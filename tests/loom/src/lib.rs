//! Runs the threads transport's synchronisation (`src/measure/comm/sync.rs` and `ring.rs`) under loom. It tries all
//! interleavings of a few threads with up to three preemptions, and everything that the orderings of its atomics allow.

#[path = "../../../src/measure/comm/ring.rs"]
pub mod ring;
#[path = "../../../src/measure/comm/sync.rs"]
pub mod sync;

mod atomics {
    pub use loom::cell::UnsafeCell;
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

#[cfg(test)]
mod tests;
