//! Two kernels of fixed size before each run. If they take longer than usual, the device does other work.

use super::device::{Device, Memory};
use super::*;
use apexmap_base::disturbance::{Fact, Facts};
use opencl3::program::Program;
use std::cell::RefCell;
use std::rc::Rc;

/// 64 MiB, more than the second-level cache of current GPUs.
const WORDS: u64 = 8 << 20;
/// The shortest time counts, because interruptions only make a time longer.
const LAUNCHES: usize = 3;
const SOURCE: &str = concat!(include_str!("common.cl"), include_str!("canary.cl"));

thread_local! {
    /// Keys are the numbers of this thread's devices.
    static PREPARED: RefCell<BTreeMap<u64, Rc<Canary>>> = const { RefCell::new(BTreeMap::new()) };
}

struct Canary {
    memory: Memory<u64>,
    results: Memory<u64>,
}

pub fn measure(device: &Device) -> Result<Facts> {
    let (program, items) = (device.program(SOURCE, &[])?, device.work_items(0));
    let earlier = PREPARED.with_borrow(|prepared| prepared.get(&device.about.number).cloned());
    let canary = earlier.map_or_else(|| prepare(device, &program, items), Ok)?;
    let memories = [&canary.memory, &canary.results].map(Memory::argument);
    let (mut compute, mut memory) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..LAUNCHES {
        compute = compute.min(device.run(&program, "canary_compute", &memories[1..], &[], items)?.device);
        memory = memory.min(device.run(&program, "canary_memory", &memories, &[WORDS], items)?.device);
    }
    Ok(Facts::default().with_fact(Fact::DeviceCanary, compute).with_fact(Fact::DeviceMemoryCanary, memory))
}

/// The first launch raises the clocks, which is no part of later times.
fn prepare(device: &Device, program: &Program, items: u64) -> Result<Rc<Canary>> {
    let canary = Rc::new(Canary { memory: device.allocate(WORDS)?, results: device.allocate(items)? });
    device.run(program, "number", &[canary.memory.argument()], &[WORDS, 0], items)?;
    device.run(program, "canary_compute", &[canary.results.argument()], &[], items)?;
    PREPARED.with_borrow_mut(|prepared| prepared.insert(device.about.number, canary.clone()));
    Ok(canary)
}
