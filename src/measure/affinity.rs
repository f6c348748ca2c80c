use nix::libc::{c_ulong, sched_getaffinity, sched_setaffinity};

const WORD_BITS: usize = c_ulong::BITS as usize;

/// Largest number of hardware threads of a Linux system (`NR_CPUS`). The set of the C library has only 1,024.
pub const MAX_HARDWARE_THREADS: usize = 8192;

type Mask = [c_ulong; MAX_HARDWARE_THREADS / WORD_BITS];

/// Ascending. `None` if the system does not report them.
pub fn allowed_hardware_threads() -> Option<Vec<usize>> {
    let mut mask: Mask = [0; _];
    // SAFETY: the call writes at most the size of the mask. Zero is the calling thread.
    let result = unsafe { sched_getaffinity(0, size_of::<Mask>(), mask.as_mut_ptr().cast()) };
    let is_allowed = |number: &usize| mask[number / WORD_BITS] >> (number % WORD_BITS) & 1 == 1;
    (result == 0).then(|| (0..MAX_HARDWARE_THREADS).filter(is_allowed).collect())
}

/// Binds the calling thread. If the system refuses, the thread stays where it is, and its recorded placement shows this.
pub fn bind(processors: &[usize]) {
    let mut mask: Mask = [0; _];
    for processor in processors.iter().filter(|&&processor| processor < MAX_HARDWARE_THREADS) {
        mask[processor / WORD_BITS] |= 1 << (processor % WORD_BITS);
    }
    // SAFETY: the call reads the mask. Zero is the calling thread.
    unsafe { sched_setaffinity(0, size_of::<Mask>(), mask.as_ptr().cast()) };
}
