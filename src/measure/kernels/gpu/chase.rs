//! The cycle through the lines has the order of a linear congruential generator of full period.

use super::*;
use crate::numerics::gf2::lcg;

pub static KERNEL: Kernel = Kernel {
    id: "gpu.chase",
    summary: "Latency of a GPU's memory: dependent accesses, in one or several concurrent chases",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "lat_mem_rd of lmbench",
    parameters: parameters![BYTES, LINE_BYTES, CHASES, WRITERS, STEPS, DEVICE],
    outputs: &OUTPUTS,
    headline: "operation_seconds",
    method: "Work items follow a cycle through the lines of a region of the device's memory; each line holds the place of the next one. \
        The region was read once before, and the chases continue in launches of the same length; the third one counts, by the device's \
        clock. The end of each chase was compared with the generator of the cycle.",
    refuse,
    work: |point| Work::new(STEPS.of(point) as f64, "step", (CHASES.of(point) * WORD_BYTES) as f64, "8 per access"),
    ranks: Ranks::One,
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const BYTES: Key<u64> = region_bytes("size of the region on the device, a power of two", 1 << 10, 256 << 20);
const LINE_BYTES: Key<u64> =
    key("line_bytes", "distance of the places of a chase, a power of two", integers(8..=1 << 20, 128))
        .in_column("line_bytes", Unit::Bytes);
const CHASES: Key<u64> =
    key("chases", "concurrent pointer chases, one per work item, a power of two", integers(1..=1 << 24, 1));
const WRITERS: Key<u64> =
    key("writers", "of four chases, those that write back each word that they read", integers(0..=4, 0))
        .in_column("writing_chases_of_four", Unit::None);
const STEPS: Key<u64> = key("steps", "accesses per chase in each launch", integers(1..=1 << 32, 1 << 15));
const OUTPUTS: [Output; 7] =
    join(&super::OUTPUTS, &[output("operation_seconds", Unit::Seconds, "time per operation, on the slowest rank")]);
const SOURCE: &str = concat!(include_str!("common.cl"), include_str!("chase.cl"));
/// The last launch of a run counts.
const LAUNCHES: u64 = 3;

fn refuse(point: &Point) -> Result<(), Refusal> {
    [BYTES, LINE_BYTES, CHASES].into_iter().try_for_each(|key| require_power_of_two(point, key))?;
    // With fewer than 4 lines, the generator's increment has no meaning.
    if places(point) < CHASES.of(point).max(4) {
        return Err(refusal!(
            ["bytes", "line_bytes", "chases"],
            "a region of {} lines is too small for {} chases; each needs a line, and the region at least 4",
            places(point),
            CHASES.of(point)
        ));
    }
    Ok(())
}

fn places(point: &Point) -> u64 {
    BYTES.of(point) / LINE_BYTES.of(point)
}

fn run(point: &Point, world: &World) -> Result<Outcome> {
    let device = open(point, world)?;
    let program = device.program(SOURCE, &[])?;
    let (places, stride, chases) = (places(point), LINE_BYTES.of(point) / WORD_BYTES, CHASES.of(point));
    let memory = device.allocate::<u64>(BYTES.of(point) / WORD_BYTES)?;
    let items = device.work_items(0);
    device.run(&program, "link", &[memory.argument()], &[places, stride, lcg::MULTIPLIER, lcg::INCREMENT], items)?;
    let sums = device.allocate::<u64>(items)?;
    device.run(&program, "touch", &[memory.argument(), sums.argument()], &[memory.count], items)?;
    // Equally spaced on the cycle, not in memory.
    let starts: Vec<u64> = (0..chases).map(|chase| places / chases * chase).collect();
    let place = |start: u64, steps: u64| jump(start + steps, places) * stride;
    let mut ends = device.allocate::<u64>(chases)?;
    device.write(&mut ends, &starts.iter().map(|&start| place(start, 0)).collect::<Vec<u64>>())?;
    let steps = STEPS.of(point);
    let launch =
        || device.run(&program, "chase", &[memory.argument(), ends.argument()], &[steps, WRITERS.of(point), 0], chases);
    let mut timed = Timed { passes: 1, times: launch()?, warm_up: 0.0 };
    for _ in 1..LAUNCHES {
        timed.warm_up += timed.times.device;
        timed.times = launch()?;
    }
    let ends = device.read(&ends)?;
    let wrong = ends.iter().zip(&starts).filter(|&(&end, &start)| end != place(start, LAUNCHES * steps)).count();
    let mut outcome = timed.outcome((wrong > 0).then(|| format!("{wrong} chases did not end where they should")));
    outcome.outputs.insert("operation_seconds", Value::Real(timed.times.device / steps as f64));
    Ok(outcome)
}

/// Returns the place that is `steps` steps after place 0 on a cycle of 2^n places.
fn jump(steps: u64, places: u64) -> u64 {
    let (_, summand) = lcg::leap(steps);
    summand & (places - 1)
}
