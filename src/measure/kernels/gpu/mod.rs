//! Kernels on GPUs and other devices of OpenCL. Each has its source for the device in the `.cl` file next to it. Times are those of
//! the device's clock, which the host's must not contradict: a launch must not take longer on the device than for the host that
//! waits for it. The first launches compile the kernel and raise the clocks. Every word of the result or an exact sum of all is
//! checked against a recomputation that shares no code with the timed kernel.

pub mod apex_map;
mod canary;
pub mod chase;
pub mod device;
pub mod launch;
pub mod platforms;
pub mod random_access;
pub mod stream;
pub mod transfer;

use crate::kernels::prelude::*;
use crate::observer;
use device::{Device, Times};
use std::rc::Rc;

const DEVICE: Key<u64> = key(
    "device",
    "number of the device, as `apexmap devices` lists them; that of the first of a node's \
     ranks, which have one device each",
    integers(0..=1023, 0),
)
.in_column("device_number", Unit::None);
const WORK_ITEMS: Key<u64> =
    key("work_items", "work items of a launch; 0 means 2048 per compute unit of the device", integers(0..=1 << 32, 0));

const fn region_bytes(meaning: &'static str, min: u64, default: u64) -> Key<u64> {
    let domain = integers(min..=1 << 40, default);
    key("bytes", meaning, domain).in_column("region_bytes", Unit::Bytes)
}

const OUTPUTS: [Output; 6] = [
    output("device_name", Unit::None, "the device"),
    output("device_driver", Unit::None, "platform and driver of the device"),
    output("device_hertz", Unit::Hertz, "highest clock of the device, as its driver tells"),
    output(
        "host_seconds",
        Unit::Seconds,
        "time of the timed launch by the host's clock, with its start and the wait for its end",
    ),
    output("warm_up_seconds", Unit::Seconds, "time of the first launches, which do not count"),
    output(
        "launch_passes",
        Unit::None,
        "passes over the work of the point in the timed launch, so that it takes milliseconds",
    ),
];

const FAMILY: Kernel = Kernel {
    outputs: &OUTPUTS,
    headline: "bytes_per_second",
    // A launch may do the point's work several times.
    work_done: |kernel, point, outputs| {
        let passes = outputs.get("launch_passes").and_then(Value::as_f64).unwrap_or(1.0);
        let work = kernel.work(point);
        super::Work { operations: work.operations * passes, bytes: work.bytes * passes, ..work }
    },
    family_run: run,
    ..Kernel::DEFAULT
};

/// Runs a kernel after the canary, and rejects times that the host's clock contradicts.
fn run(kernel: &Kernel, point: &Point, stream: u64, world: &mut World) -> Result<Outcome> {
    let device = open(point, world)?;
    observer::add_device_canary(canary::measure(&device)?);
    device.take_contradiction();
    let mut outcome = (kernel.run)(point, stream, world)?;
    let about = &device.about;
    outcome.outputs.insert("device_name", Value::from(about.name.as_str()));
    outcome.outputs.insert("device_driver", Value::from(format!("{}, {}", about.platform, about.driver).as_str()));
    outcome.outputs.extend(about.clock_hertz.map(|hertz| ("device_hertz", Value::Real(hertz))));
    if let Some(Times { device, host }) = device.take_contradiction() {
        let message =
            format!("the device's clock shows {device} s for a launch that took {host} s by the host's clock");
        outcome.verdict = outcome.verdict.and(Err(message));
    }
    Ok(on_transport!(world.transport, comm => combine(comm, outcome)))
}

/// The time of the slowest rank, and the fault of another rank if this one has none.
fn combine<C: Collectives>(comm: &C, mut outcome: Outcome) -> Outcome {
    let gathered = comm.gather(&[outcome.seconds.to_bits(), u64::from(outcome.verdict.is_err())]).unwrap_or_default();
    for (rank, words) in gathered.as_chunks::<2>().0.iter().enumerate() {
        outcome.seconds = outcome.seconds.max(f64::from_bits(words[0]));
        let fault = if words[1] == 0 { Ok(()) } else { Err(format!("the device of rank {rank} had wrong results")) };
        outcome.verdict = outcome.verdict.and(fault);
    }
    outcome
}

/// The ranks of a node have consecutive devices.
fn open(point: &Point, world: &World) -> Result<Rc<Device>> {
    let place = on_transport!(world.transport, comm => comm.rank() % comm.ranks_on_node());
    Device::open(DEVICE.of(point) + place as u64)
}

fn wait_for_all(world: &World) {
    on_transport!(world.transport, comm => comm.barrier());
}

/// `warm_up` is the time of the launches before.
struct Timed {
    passes: u64,
    times: Times,
    warm_up: f64,
}

const AIM: f64 = 4e-3;
const MAX_PASSES: f64 = 65536.0;

/// A launch takes milliseconds, and has equally many passes on all ranks. At least one launch comes before, for compilation and
/// clocks.
fn time_passes(world: &World, mut launch: impl FnMut(u64) -> Result<Times>) -> Result<Timed> {
    let (mut passes, mut latest) = (1, launch(1)?.device);
    let mut warm_up = latest;
    // The first estimate is that of cold clocks and of a launch whose start counts.
    for _ in 0..4 {
        if latest >= AIM / 2.0 {
            break;
        }
        passes = (passes as f64 * AIM / latest.max(1e-7)).min(MAX_PASSES) as u64;
        latest = launch(passes)?.device;
        warm_up += latest;
    }
    passes = on_transport!(world.transport, comm => comm.all_reduce_sum(passes) / comm.size() as u64);
    Ok(Timed { passes, times: launch(passes)?, warm_up })
}

impl Timed {
    fn outcome(&self, fault: Option<String>) -> Outcome {
        let outputs = BTreeMap::from([
            ("warm_up_seconds", Value::Real(self.warm_up)),
            ("launch_passes", Value::Integer(self.passes)),
            ("host_seconds", Value::Real(self.times.host)),
        ]);
        Outcome { seconds: self.times.device, outputs, verdict: fault.map_or(Ok(()), Err) }
    }
}
