//! Measures the cost of the kernel interface: instructions of the timed region of `random_access.sequential`, counted
//! by callgrind, compared with those of a plain loop with the same updates and method.
//!
//! This program runs itself under valgrind, once as the kernel and once as the loop. The counts are identical in every
//! run.

use apexmap_base::point::Point;
use apexmap_measure::comm::{Transport, World, threads};
use apexmap_measure::kernels;
use apexmap_measure::kernels::shared::updates::random_stream::{Generator, StreamKind};
use apexmap_measure::numerics::gf2;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// First argument of this program when it runs as one of the two.
pub const ARGUMENT: &str = "instructions-of";

const WORDS: u64 = 1 << 16;
const UPDATES: u64 = 4 * WORDS;

/// Returns the instructions of the kernel and of the plain loop, by method; `None` without valgrind.
pub fn compare(folder: &Path) -> Option<Vec<(&'static str, u64, u64)>> {
    Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().ok()?;
    let count = |subject, method| count(folder, subject, method);
    Some(["look_ahead", "immediate"].map(|method| (method, count("kernel", method), count("loop", method))).into())
}

/// Callgrind writes its counts at every reading of the clock. The second last part is between the last two readings.
fn count(folder: &Path, subject: &str, method: &str) -> u64 {
    let base = format!("{subject}-{method}");
    let program = std::env::current_exe().expect("this program");
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--dump-before=clock_gettime*"]);
    valgrind.arg(format!("--callgrind-out-file={}", folder.join(&base).display()));
    let run =
        valgrind.arg(program).args([ARGUMENT, subject, method]).stdin(Stdio::null()).output().expect("valgrind starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let parts = std::fs::read_dir(folder).expect("the folder").flatten();
    let parts = parts.filter(|entry| entry.file_name().to_string_lossy().starts_with(&base));
    let field = |text: &str, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse::<u64>().ok())
    };
    let mut counts: Vec<(u64, u64)> = parts
        .filter_map(|part| {
            let text = std::fs::read_to_string(part.path()).ok()?;
            Some((field(&text, "part:")?, field(&text, "summary:").or(field(&text, "totals:"))?))
        })
        .collect();
    counts.sort_unstable();
    assert!(counts.len() >= 3, "callgrind sees no readings of the clock");
    counts[counts.len() - 2].1
}

/// Runs the kernel or the loop under valgrind.
pub fn run(subject: &str, method: &str) {
    match (subject, method) {
        ("kernel", _) => kernel(method),
        (_, "immediate") => time(immediate),
        _ => time(look_ahead),
    }
}

fn kernel(method: &str) {
    let point =
        Point::new("random_access.sequential", 1).with_parameter("N_words", WORDS).with_parameter("method", method);
    let point = kernels::complete(point.with_parameter("starts", "reference").with_parameter("offset", "none"))
        .expect("a valid point");
    let kernel = kernels::find(&point.kernel).expect("the kernel");
    let outcomes = threads::run(1, |comm, arena| {
        kernel.run(&point, 0, &mut World { transport: Transport::Threads(comm), arena }).expect("it runs")
    });
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|outcome| outcome.verdict.is_ok())));
}

fn time(pass: impl FnOnce(&mut [u64])) {
    let mut words: Vec<u64> = (0..WORDS).collect();
    let start = Instant::now();
    pass(black_box(&mut words));
    black_box((start.elapsed(), words));
}

fn immediate(words: &mut [u64]) {
    let (mask, mut value) = (words.len() as u64 - 1, 1);
    for _ in 0..black_box(UPDATES) {
        value = gf2::step(value);
        words[(value & mask) as usize] ^= value;
    }
}

/// 1024 values are stored; words are prefetched 128 and 16 updates ahead.
fn look_ahead(words: &mut [u64]) {
    let mask = words.len() as u64 - 1;
    let mut generator = Generator::starting_after(StreamKind::Lfsr, 0);
    let (mut values, mut waiting, mut left) = ([0; 1024], 0, black_box(UPDATES) as usize);
    while left > 0 {
        let size = left.min(values.len() - 128);
        let filled = waiting + size;
        generator.fill(&mut values[waiting..filled]);
        for ((&value, &near), &far) in
            values[..filled].iter().zip(&values[16..filled]).zip(&values[128..filled.max(128)])
        {
            ask::<2>(&words[(far & mask) as usize]);
            ask::<3>(&words[(near & mask) as usize]);
            words[(value & mask) as usize] ^= value;
        }
        waiting = filled.min(128);
        values.copy_within(filled - waiting..filled, 0);
        left -= size;
    }
    for (i, &value) in values[..waiting].iter().enumerate() {
        if let Some(near) = values[..waiting].get(i + 16) {
            ask::<3>(&words[(near & mask) as usize]);
        }
        words[(value & mask) as usize] ^= value;
    }
}

#[inline(always)]
fn ask<const LEVEL: i32>(word: &u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of a word that exists.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<LEVEL>((word as *const u64).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
