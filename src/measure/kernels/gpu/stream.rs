//! Unlike STREAM's, words are integers. Operations other than `read` have three arrays of a third each.

use super::device::{Device, Memory};
use super::*;
use opencl3::program::Program;

pub static KERNEL: Kernel = Kernel {
    id: "gpu.stream",
    summary: "Bandwidth of a GPU's memory: consecutive words read, or STREAM's copy, scale, add and triad",
    source: &source::STREAM,
    place: "Table 2 (Copy, Scale, Add, Triad)",
    parameters: parameters![ACCESS, BYTES, WORK_ITEMS, DEVICE],
    outputs: &OUTPUTS,
    method: "Work items traverse arrays in the device's memory from end to end, 16 bytes per access. A sample is one launch, timed by the \
        device's clock; it passes over the arrays as often as takes milliseconds. The sum was compared with that of the contents, \
        every word of a result with the number that follows from its index. Bytes are counted as in STREAM: those of the arrays \
        read and written.",
    accesses_in_order: true,
    work: |point| {
        let operations = (words(point) * point.ranks as u64) as f64;
        Work::new(
            operations,
            "word",
            (arrays(point) * WORD_BYTES) as f64,
            "8 per word read; 16 per word of copy and scale, 24 of add and triad",
        )
    },
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const ACCESS: Key<Access> = choice_key(
    "access",
    "access: sum of the words read, triad a = b + 3 c, copy a = b, scale a = 3 b, or add a = b + c",
);
choice! { enum Access { Read = "read", Triad = "triad", Copy = "copy", Scale = "scale", Add = "add" } }
const BYTES: Key<u64> = region_bytes("size of the region on the device", 1 << 10, 1 << 30);
const SOURCE: &str = concat!(include_str!("common.cl"), include_str!("stream.cl"));

fn arrays(point: &Point) -> u64 {
    match ACCESS.of(point) {
        Access::Read => 1,
        Access::Copy | Access::Scale => 2,
        Access::Add | Access::Triad => 3,
    }
}

/// Pairs of words, as work items access them.
fn words(point: &Point) -> u64 {
    let arrays = if ACCESS.of(point) == Access::Read { 1 } else { 3 };
    BYTES.of(point) / WORD_BYTES / arrays / 2 * 2
}

fn run(point: &Point, world: &World) -> Result<Outcome> {
    let (device, words) = (open(point, world)?, words(point));
    let access = [Access::Read, Access::Copy, Access::Scale, Access::Add, Access::Triad];
    let number = access.iter().position(|&access| access == ACCESS.of(point)).unwrap_or(0) as u64;
    let program = device.program(SOURCE, &[("ACCESS", number)])?;
    // A work item that has nothing to do would only start.
    let items = device.work_items(WORK_ITEMS.of(point)).min(words / 2);
    let run = Arrays { world, device: &device, program: &program, words, items, counts: device.allocate(items)? };
    if ACCESS.of(point) == Access::Read { run.read() } else { run.write(ACCESS.of(point)) }
}

struct Arrays<'a> {
    world: &'a World<'a>,
    device: &'a Device,
    program: &'a Program,
    words: u64,
    items: u64,
    /// One number of each work item: its part of a sum, or of a count.
    counts: Memory<u64>,
}

impl Arrays<'_> {
    /// Words are their index plus `first`.
    fn number_words(&self, first: u64) -> Result<Memory<u64>> {
        let array = self.device.allocate(self.words)?;
        self.device.run(self.program, "number", &[array.argument()], &[self.words, first], self.items)?;
        Ok(array)
    }

    fn total_count(&self) -> Result<u64> {
        Ok(self.device.read(&self.counts)?.into_iter().fold(0, u64::wrapping_add))
    }

    fn read(&self) -> Result<Outcome> {
        let array = self.number_words(0)?;
        let pairs = self.words / 2;
        let memories = [&self.counts, &array].map(Memory::argument);
        let timed = time_passes(self.world, |passes| {
            self.device.run(self.program, "sum", &memories, &[pairs, pairs * passes], self.items)
        })?;
        // n (n - 1) / 2 for an even n.
        let expected = pairs.wrapping_mul(self.words - 1).wrapping_mul(timed.passes);
        let sum = self.total_count()?;
        Ok(timed.outcome((sum != expected).then(|| format!("the device read the sum {sum}, not {expected}"))))
    }

    fn write(&self, access: Access) -> Result<Outcome> {
        // No result has this content, so a loop that writes nothing is wrong.
        let (a, b, c) = (self.number_words(u64::MAX / 2)?, self.number_words(1)?, self.number_words(2)?);
        let pairs = self.words / 2;
        let memories = [&a, &b, &c].map(Memory::argument);
        let timed = time_passes(self.world, |passes| {
            self.device.run(self.program, "pass", &memories, &[pairs, pairs * passes], self.items)
        })?;
        // b[i] = i + 1 and c[i] = i + 2.
        let (first, slope) = match access {
            Access::Read | Access::Copy => (1, 1),
            Access::Scale => (3, 3),
            Access::Add => (3, 2),
            Access::Triad => (7, 4),
        };
        let memories = [&a, &self.counts].map(Memory::argument);
        self.device.run(self.program, "count_wrong", &memories, &[self.words, first, slope], self.items)?;
        let wrong = self.total_count()?;
        Ok(timed.outcome((wrong > 0).then(|| format!("{wrong} words of the result are wrong"))))
    }
}
