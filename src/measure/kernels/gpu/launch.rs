use super::device::{Device, Memory, Times};
use super::*;
use opencl3::event::Event;
use opencl3::program::Program;
use std::time::Instant;

pub static KERNEL: Kernel = Kernel {
    id: "gpu.launch",
    summary: "Cost of a launch on a GPU: queued, and awaited by the host",
    source: &source::LOG_GP,
    place: "Section 2, overhead and gap, of launches instead of messages",
    parameters: parameters![LAUNCHES, DEVICE],
    outputs: &OUTPUTS,
    headline: "operation_seconds",
    method: "Launches of a kernel with one work item, which adds 1 to a word, are queued at once and timed by the device's clock from the \
        start of the first to the end of the last. As many are then each awaited by the host, which times them by its clock. The word had \
        to hold the number of launches.",
    work: |point| Work::new(LAUNCHES.of(point) as f64, "launch", 8.0, "8 per launch"),
    ranks: Ranks::One,
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const LAUNCHES: Key<u64> = key("launches", "launches of a run", integers(1..=1 << 20, 1000));
const OUTPUTS: [Output; 8] = join(
    &super::OUTPUTS,
    &[
        output("operation_seconds", Unit::Seconds, "time per operation, on the slowest rank"),
        output("round_trip_seconds", Unit::Seconds, "mean time of a launch that the host waits for, by its clock"),
    ],
);

fn run(point: &Point, world: &World) -> Result<Outcome> {
    let (device, launches) = (open(point, world)?, LAUNCHES.of(point));
    let program = device.program(include_str!("launch.cl"), &[])?;
    let mut word = device.allocate::<u64>(1)?;
    device.write(&mut word, &[0])?;
    let warm_up = queue_all(&device, &program, &word, launches)?.device;
    let times = queue_all(&device, &program, &word, launches)?;
    let start = Instant::now();
    for _ in 0..launches {
        device.run(&program, "count", &[word.argument()], &[], 1)?;
    }
    let round_trip = start.elapsed().as_secs_f64() / launches as f64;
    let counted = device.read(&word)?[0];
    let fault = (counted != 3 * launches).then(|| format!("{counted} launches were made, not {}", 3 * launches));
    let mut outcome = Timed { passes: 1, times, warm_up }.outcome(fault);
    outcome.outputs.insert("operation_seconds", Value::Real(times.device / launches as f64));
    outcome.outputs.insert("round_trip_seconds", Value::Real(round_trip));
    Ok(outcome)
}

/// Returns the time from the start of the first to the end of the last.
fn queue_all(device: &Device, program: &Program, word: &Memory<u64>, launches: u64) -> Result<Times> {
    let start = Instant::now();
    let events = (0..launches).map(|_| device.start(program, "count", &[word.argument()], &[], 1));
    let events: Vec<Event> = events.collect::<Result<_>>()?;
    device.finish(&events, start)
}
