//! The definition's rules: 2^n words, half of the memory, 4 updates per word, at most 1 % of the words wrong. The look-ahead of
//! 1024 holds for each work item, which stores one value. Every work item computes its start in HPCC's stream by jumps, as
//! `HPCC_starts` does. The updates are undone with the index by division.

use super::device::{Device, Memory, Times};
use super::*;
use crate::numerics::gf2;
use opencl3::program::Program;

pub static KERNEL: Kernel = Kernel {
    id: "gpu.random_access",
    summary: "RandomAccess on a GPU: its work items update a table in its memory",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "Figure 5",
    parameters: parameters![N_WORDS, UPDATES, PROTECTION, WORK_ITEMS, DEVICE],
    outputs: &OUTPUTS,
    headline: "operations_per_second",
    method: "RandomAccess (HPC Challenge) updates the words of a table in the device's memory in random order: T[index(v)] = T[index(v)] \
        xor v, for 4 values v per word (`updates`). Every work item generates a part of the stream of values. A sample is one launch, timed \
        by the device's clock, after one that does not count. A hash of index and value over the table was compared with that of the \
        values. All updates were then undone by another number of work items, which had to restore T[i] = i. Without protection, \
        concurrent updates of a word may lose one; `errors` counts the words that differ.",
    refuse,
    work: |point| {
        let operations = updates(point) as f64 * point.ranks as f64;
        Work::new(operations, "update", WORD_BYTES as f64, "words updated, 8 bytes per update")
    },
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const N_WORDS: Key<u64> = key("N_words", "table size in words, a power of two", integers(2..=1 << 40, 128 << 20))
    .in_column("table_words", Unit::Words);
const UPDATES: Key<f64> = key(
    "updates",
    "updates per word of the table; the definition has 4",
    Domain::Real { exclusive_min: 0.0, max: 1e6, default: 4.0 },
)
.in_column("updates_per_word", Unit::None);
const PROTECTION: Key<Protection> = choice_key(
    "protection",
    "protection of updates: atomic (64-bit atomic xor), or unprotected, which may lose concurrent updates of a word",
);
choice! { enum Protection { Atomic = "atomic", Unprotected = "unprotected" } }
const OUTPUTS: [Output; 11] = join(
    &super::OUTPUTS,
    &[
        output("errors", Unit::None, "number of wrong words in the table"),
        output("error_fraction", Unit::None, "fraction of wrong words in the table"),
        output(
            "table_hash",
            Unit::None,
            "hash of the updated table; algorithms with the same streams give the same hash",
        ),
        output("updates_made", Unit::None, "number of updates by all ranks"),
        output("device_memory_share", Unit::None, "table size / memory of the device; the rules have 0.5"),
    ],
);
const SOURCE: &str = concat!(include_str!("common.cl"), include_str!("random_access.cl"));

fn refuse(point: &Point) -> Result<(), Refusal> {
    let words = N_WORDS.of(point);
    if !words.is_power_of_two() {
        return Err(refusal!(
            ["N_words"],
            "N_words = {words} is not a power of two, but the index consists of bits of the value; use {}",
            words.next_power_of_two()
        ));
    }
    if updates(point) == 0 {
        return Err(refusal!(
            ["updates", "N_words"],
            "updates = {} rounds to zero updates; increase it",
            UPDATES.of(point)
        ));
    }
    Ok(())
}

fn updates(point: &Point) -> u64 {
    (UPDATES.of(point) * N_WORDS.of(point) as f64) as u64
}

struct Table<'a> {
    device: &'a Device,
    program: &'a Program,
    table: Memory<u64>,
    updates: u64,
}

struct Parts {
    starts: Memory<u64>,
    items: u64,
}

fn run(point: &Point, world: &World) -> Result<Outcome> {
    let (device, is_atomic) = (open(point, world)?, PROTECTION.of(point) == Protection::Atomic);
    if !device.about.has_atomics {
        return Err(Error::input(
            format!(
                "{} has no 64-bit atomic xor (cl_khr_int64_extended_atomics), which the check needs",
                device.about.name
            ),
            "choose another device; `apexmap devices` shows which have it",
        ));
    }
    let definitions = if is_atomic { &[("ATOMIC", 1)][..] } else { &[] };
    let program = device.program(SOURCE, definitions)?;
    let table = device.allocate(N_WORDS.of(point))?;
    let table = Table { device: &device, program: &program, table, updates: updates(point) };
    let items = device.work_items(WORK_ITEMS.of(point)).min(table.updates);
    let parts = table.divide(items)?;
    table.number()?;
    let warm_up = table.apply("update", table.table.count - 1, &parts)?.device;
    table.number()?;
    wait_for_all(world);
    let times = table.apply("update", table.table.count - 1, &parts)?;
    // Another division, so that no fault of a start or of an index undoes itself.
    let checked = table.divide((items / 2).max(1))?;
    let (hash, expected) = (table.hash()?, table.hash_of_values(&checked)?);
    table.apply("undo", table.table.count, &checked)?;
    let errors = table.count_errors()?;
    let fault = match (is_atomic, errors) {
        (true, 1..) => Some(format!("{errors} words of the table are wrong")),
        (true, 0) if hash != expected => Some("the table's hash is not that of the values".to_owned()),
        (false, _) if errors as f64 > 0.95 * table.words_with_updates() => {
            Some("as many words are wrong as without updates".to_owned())
        }
        _ => None,
    };
    let mut outcome = Timed { passes: 1, times, warm_up }.outcome(fault);
    let words = table.table.count as f64;
    outcome.outputs.extend([
        ("errors", Value::Integer(errors)),
        ("error_fraction", Value::Real(errors as f64 / words)),
        ("table_hash", Value::Text(format!("{hash:016x}"))),
        ("updates_made", Value::Integer(table.updates)),
        ("device_memory_share", Value::Real(words * WORD_BYTES as f64 / device.about.memory_bytes as f64)),
    ]);
    Ok(outcome)
}

impl Table<'_> {
    /// Expected words with at least one update. Without atomics most of them may be wrong: two thirds were, on an H200 with a table
    /// of 1 MiB.
    fn words_with_updates(&self) -> f64 {
        let words = self.table.count as f64;
        words * -(-(self.updates as f64) / words).exp_m1()
    }

    /// Each work item has a start and the values after it. The first ones have one value more.
    fn divide(&self, items: u64) -> Result<Parts> {
        let (each, rest) = (self.updates / items, self.updates % items);
        let (leap, longer_leap) = (gf2::value_at(each), gf2::value_at(each + 1));
        // x^0 is the value before the first. Each start is the one before it times a power of x.
        let next =
            |(item, value): (u64, u64)| (item + 1, gf2::multiply(value, if item < rest { longer_leap } else { leap }));
        let starts = std::iter::successors(Some((0, 1)), |&start| Some(next(start))).map(|(_, value)| value);
        let mut memory = self.device.allocate(items)?;
        self.device.write(&mut memory, &starts.take(items as usize).collect::<Vec<u64>>())?;
        Ok(Parts { starts: memory, items })
    }

    fn number(&self) -> Result<()> {
        let (items, numbers) = (self.device.work_items(0), [self.table.count, 0]);
        self.device.run(self.program, "number", &[self.table.argument()], &numbers, items).map(drop)
    }

    /// `bound` is the kernel's mask or divisor of values.
    fn apply(&self, kernel: &str, bound: u64, parts: &Parts) -> Result<Times> {
        self.run_on_values(kernel, &self.table, bound, parts)
    }

    fn run_on_values(&self, kernel: &str, target: &Memory<u64>, bound: u64, parts: &Parts) -> Result<Times> {
        let numbers = [bound, self.updates / parts.items, self.updates % parts.items];
        self.device.run(self.program, kernel, &[target.argument(), parts.starts.argument()], &numbers, parts.items)
    }

    fn hash_of_values(&self, parts: &Parts) -> Result<u64> {
        let hashes = self.device.allocate(parts.items)?;
        self.run_on_values("hash_values", &hashes, self.table.count, parts)?;
        Ok(self.device.read(&hashes)?.into_iter().fold(0, |hash, part| hash ^ part))
    }

    fn hash(&self) -> Result<u64> {
        let parts = self.over_table("hash_table", &[self.table.count])?;
        Ok(parts.into_iter().fold(0, |hash, part| hash ^ part))
    }

    fn count_errors(&self) -> Result<u64> {
        Ok(self.over_table("count_unnumbered", &[self.table.count, 0])?.into_iter().sum())
    }

    /// Returns the number that each work item found.
    fn over_table(&self, kernel: &str, numbers: &[u64]) -> Result<Vec<u64>> {
        let items = self.device.work_items(0);
        let results = self.device.allocate(items)?;
        self.device.run(self.program, kernel, &[self.table.argument(), results.argument()], numbers, items)?;
        self.device.read(&results)
    }
}
