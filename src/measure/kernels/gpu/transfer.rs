//! After SHOC's BusSpeedDownload and BusSpeedReadback, by the same commands of OpenCL.

use super::device::{Device, Memory, Times, failure};
use super::*;
use opencl3::command_queue::CommandQueue;
use opencl3::memory::{Buffer, CL_MAP_READ, CL_MAP_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_READ_WRITE, ClMem};
use opencl3::types::{CL_BLOCKING, CL_NON_BLOCKING};
use std::time::Instant;

pub static KERNEL: Kernel = Kernel {
    id: "gpu.transfer",
    summary: "Bandwidth between host and GPU, in one direction or both",
    source: &source::LOG_GP,
    place: "Section 2, the gap per byte, of transfers instead of messages",
    parameters: parameters![BYTES, DIRECTION, HOST_MEMORY, DEVICE],
    outputs: &OUTPUTS,
    method: "A command copies an array between the memories of host and device; in both directions, two commands run at the same time. \
        The time is that from the start of the first to the end of the last by the device's clock, after one copy that does not count. \
        Every word that arrived was compared.",
    work: |point| {
        let directions = if DIRECTION.of(point) == Direction::Both { 2 } else { 1 } * point.ranks as u64;
        Work::new(
            directions as f64,
            "transfer",
            (words(point) * WORD_BYTES) as f64,
            "bytes transferred, in both directions",
        )
    },
    buffer_bytes: |point| 2 * BYTES.of(point),
    run: |point, _, world| run(point, world),
    ..FAMILY
};

const BYTES: Key<u64> = region_bytes("size of a transfer", 8, 256 << 20);
const DIRECTION: Key<Direction> =
    choice_key("direction", "direction of transfers: to the device, to the host, or both at the same time");
choice! { enum Direction { ToDevice = "to_device", ToHost = "to_host", Both = "both" } }
const HOST_MEMORY: Key<HostMemory> = choice_key("host_memory", "memory of the host: pinned by the driver, or pageable");
choice! { enum HostMemory { Pinned = "pinned", Pageable = "pageable" } }

fn words(point: &Point) -> u64 {
    BYTES.of(point) / WORD_BYTES
}

/// First words to the device and to the host.
const FIRST: [u64; 2] = [1 << 40, 1 << 41];

fn run(point: &Point, world: &World) -> Result<Outcome> {
    let (device, words) = (open(point, world)?, words(point));
    let program = device.program(include_str!("common.cl"), &[])?;
    let (incoming, outgoing) = (device.allocate::<u64>(words)?, device.allocate::<u64>(words)?);
    let items = device.work_items(0).min(words);
    let number =
        |memory: &Memory<u64>, first: u64| device.run(&program, "number", &[memory.argument()], &[words, first], items);
    number(&incoming, 0)?;
    number(&outgoing, FIRST[1])?;
    let is_pinned = HOST_MEMORY.of(point) == HostMemory::Pinned;
    let (mut sent, mut received) = (Host::new(&device, words, is_pinned)?, Host::new(&device, words, is_pinned)?);
    sent.words().iter_mut().zip(FIRST[0]..).for_each(|(word, number)| *word = number);
    received.words().fill(0);
    let mut transfer = Transfer { device: &device, back: device.another_queue()?, incoming, outgoing };
    let direction = DIRECTION.of(point);
    let warm_up = transfer.run(direction, sent.words(), received.words())?.device;
    wait_for_all(world);
    let times = transfer.run(direction, sent.words(), received.words())?;
    let mut wrong = 0;
    if direction != Direction::ToHost {
        let counts = device.allocate::<u64>(items)?;
        let memories = [&transfer.incoming, &counts].map(Memory::argument);
        device.run(&program, "count_unnumbered", &memories, &[words, FIRST[0]], items)?;
        wrong += device.read(&counts)?.into_iter().sum::<u64>();
    }
    if direction != Direction::ToDevice {
        wrong += received.words().iter().zip(FIRST[1]..).filter(|&(&word, number)| word != number).count() as u64;
    }
    Ok(Timed { passes: 1, times, warm_up }.outcome((wrong > 0).then(|| format!("{wrong} words arrived wrong"))))
}

struct Transfer<'a> {
    device: &'a Device,
    /// Transfers to the host use it.
    back: CommandQueue,
    incoming: Memory<u64>,
    outgoing: Memory<u64>,
}

impl Transfer<'_> {
    fn run(&mut self, direction: Direction, sent: &[u64], received: &mut [u64]) -> Result<Times> {
        let failed = |code| failure("transfer", &code);
        let (mut events, start) = (Vec::new(), Instant::now());
        // SAFETY: the memory of the host lives until the end of both commands, which is awaited below.
        unsafe {
            if direction != Direction::ToHost {
                let queue = &self.device.queue;
                events.push(queue.enqueue_write_buffer(&mut self.incoming.buffer, CL_NON_BLOCKING, 0, sent, &[]));
            }
            if direction != Direction::ToDevice {
                events.push(self.back.enqueue_read_buffer(&self.outgoing.buffer, CL_NON_BLOCKING, 0, received, &[]));
            }
        }
        self.device.queue.flush().and_then(|()| self.back.flush()).map_err(failed)?;
        let events = events.into_iter().collect::<Result<Vec<_>, _>>().map_err(failed)?;
        self.device.finish(&events, start)
    }
}

enum Host<'a> {
    Pageable(Vec<u64>),
    /// A buffer of the driver, mapped at this address.
    Pinned {
        device: &'a Device,
        buffer: Buffer<u64>,
        address: *mut u64,
        words: usize,
    },
}

impl<'a> Host<'a> {
    fn new(device: &'a Device, words: u64, is_pinned: bool) -> Result<Self> {
        if !is_pinned {
            return Ok(Self::Pageable(vec![0; words as usize]));
        }
        let failed = |code| failure("allocate pinned memory", &code);
        let (flags, words) = (CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, words as usize);
        let mut address = std::ptr::null_mut();
        // SAFETY: the driver allocates the memory; the mapping has its size.
        let buffer = unsafe {
            let buffer = Buffer::create(&device.context, flags, words, std::ptr::null_mut()).map_err(failed)?;
            let (mapped, bytes) = (CL_MAP_READ | CL_MAP_WRITE, words * size_of::<u64>());
            device
                .queue
                .enqueue_map_buffer(&buffer, CL_BLOCKING, mapped, 0, bytes, &mut address, &[])
                .map_err(failed)?;
            buffer
        };
        Ok(Self::Pinned { device, buffer, address: address.cast(), words })
    }

    fn words(&mut self) -> &mut [u64] {
        match self {
            Self::Pageable(words) => words,
            // SAFETY: the mapping lives as long as this value, which is borrowed exclusively.
            Self::Pinned { address, words, .. } => unsafe { std::slice::from_raw_parts_mut(*address, *words) },
        }
    }
}

impl Drop for Host<'_> {
    fn drop(&mut self) {
        if let Self::Pinned { device, buffer, address, .. } = self {
            // SAFETY: the address is that of the mapping. A driver that cannot end it frees it with the queue.
            let ended = unsafe { device.queue.enqueue_unmap_mem_object(buffer.get(), address.cast(), &[]) };
            drop(ended.and_then(|_| device.queue.finish()));
        }
    }
}
