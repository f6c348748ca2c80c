use crate::hardware::SystemFiles;
use std::hint::black_box;
use std::time::Instant;

/// The fastest chain counts, because interruptions only make a chain slower.
const CHAIN_ADDITIONS: u64 = 20_000;
const CHAINS: usize = 4;

/// In hertz, with its source. Virtual machines do not report the clock, so it is measured where a known instruction takes one
/// cycle.
pub fn core_clock(system: &dyn SystemFiles) -> (Option<f64>, &'static str) {
    let maximum = system.text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    match maximum.and_then(|kilohertz| kilohertz.parse::<f64>().ok()) {
        Some(kilohertz) => (Some(kilohertz * 1e3), "maximum frequency reported by the system"),
        None if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) => {
            // The clock of an idle core rises within milliseconds.
            let hertz = (0..256).map(|_| core_hertz()).fold(0.0, f64::max);
            (Some(hertz), "core clock measured with additions")
        }
        None => (None, "unknown"),
    }
}

pub fn core_hertz() -> f64 {
    let chain = |_| {
        let started = Instant::now();
        let sum = run_additions();
        let seconds = started.elapsed().as_secs_f64();
        black_box(sum);
        CHAIN_ADDITIONS as f64 / seconds
    };
    (0..CHAINS).map(chain).fold(0.0, f64::max)
}

/// The additions add a register, because recent processors execute several additions of a constant per cycle.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn run_additions() -> u64 {
    let (mut sum, increment) = (0u64, black_box(1u64));
    for _ in 0..CHAIN_ADDITIONS / 100 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: only the two registers and the flags are changed.
        unsafe {
            std::arch::asm!(".rept 100", "add {sum}, {one}", ".endr", sum = inout(reg) sum, one = in(reg) increment,
                options(nomem, nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: only the two registers and the flags are changed.
        unsafe {
            std::arch::asm!(".rept 100", "add {sum}, {sum}, {one}", ".endr", sum = inout(reg) sum, one = in(reg) increment,
                options(nomem, nostack));
        }
    }
    sum
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn run_additions() -> u64 {
    (0..CHAIN_ADDITIONS).fold(0, |sum: u64, _| black_box(sum).wrapping_add(1))
}
