//! A device: its memory, its programs, and launches that are timed by the device's clock. All numbers that kernels take are 64-bit
//! words, so that no size overflows.

use super::platforms::{Description, choose, devices};
use super::*;
use apexmap_base::units::exact_bytes;
use opencl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::context::Context;
use opencl3::error_codes::ClError;
use opencl3::event::Event;
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem, cl_mem};
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

/// A multiprocessor of current GPUs holds this number.
const ITEMS_PER_UNIT: u64 = 2048;
const GROUP: u64 = 256;
/// Largest share by which the device's time of a launch may exceed the host's, and seconds in addition, for the steps of both
/// clocks.
const CLOCK_TOLERANCE: (f64, f64) = (0.02, 20e-6);

thread_local! {
    /// Keys are their numbers.
    static OPENED: RefCell<BTreeMap<u64, Rc<Device>>> = const { RefCell::new(BTreeMap::new()) };
}

pub struct Device {
    pub about: Description,
    pub context: Context,
    pub queue: CommandQueue,
    id: cl_device_id,
    programs: RefCell<BTreeMap<String, Rc<Program>>>,
    contradiction: Cell<Option<Times>>,
}

#[derive(Clone, Copy)]
pub struct Times {
    pub device: f64,
    /// It runs until the end of the launch is known.
    pub host: f64,
}

pub struct Memory<T> {
    pub buffer: Buffer<T>,
    pub count: u64,
}

impl<T> Memory<T> {
    pub fn argument(&self) -> cl_mem {
        self.buffer.get()
    }
}

impl Device {
    pub fn open(number: u64) -> Result<Rc<Self>> {
        if let Some(device) = OPENED.with_borrow(|opened| opened.get(&number).cloned()) {
            return Ok(device);
        }
        let (about, id) = choose(devices()?, number)?;
        let failed = |code| failure(&format!("open {}", about.name), &code);
        let context = Context::from_device(&opencl3::device::Device::new(id)).map_err(failed)?;
        let queue = open_queue(&context, id).map_err(failed)?;
        let (programs, contradiction) = Default::default();
        let device = Rc::new(Self { about, context, queue, id, programs, contradiction });
        OPENED.with_borrow_mut(|opened| opened.insert(number, device.clone()));
        Ok(device)
    }

    /// For commands that run at the same time as others.
    pub fn another_queue(&self) -> Result<CommandQueue> {
        open_queue(&self.context, self.id).map_err(|code| failure("open a queue", &code))
    }

    /// `wanted`, or the number that the device holds if that is 0.
    pub fn work_items(&self, wanted: u64) -> u64 {
        if wanted == 0 { self.about.compute_units * ITEMS_PER_UNIT } else { wanted }
    }

    /// The contents are undefined.
    pub fn allocate<T>(&self, count: u64) -> Result<Memory<T>> {
        let (name, bytes) = (&self.about.name, count.saturating_mul(size_of::<T>() as u64));
        let most = self.about.allocation_bytes;
        if bytes > most {
            return Err(Error::environment(
                format!("{} are more than {name} allocates at once, {}", exact_bytes(bytes), exact_bytes(most)),
                "use a smaller size; `apexmap devices` shows the largest allocation",
            ));
        }
        // SAFETY: no memory of the host is given.
        let buffer =
            unsafe { Buffer::create(&self.context, CL_MEM_READ_WRITE, count.max(1) as usize, std::ptr::null_mut()) };
        let operation = format!("allocate {} on {name}", exact_bytes(bytes));
        Ok(Memory { buffer: buffer.map_err(|code| failure(&operation, &code))?, count })
    }

    pub fn write<T>(&self, memory: &mut Memory<T>, items: &[T]) -> Result<()> {
        assert!(items.len() as u64 <= memory.count);
        // SAFETY: the call returns when the items are copied, and they fit.
        let done = unsafe { self.queue.enqueue_write_buffer(&mut memory.buffer, CL_BLOCKING, 0, items, &[]) };
        done.map(drop).map_err(|code| failure("write to the device", &code))
    }

    pub fn read<T: Copy + Default>(&self, memory: &Memory<T>) -> Result<Vec<T>> {
        let mut items = vec![T::default(); memory.count as usize];
        // SAFETY: the call returns when the items are copied, and they fit.
        let done = unsafe { self.queue.enqueue_read_buffer(&memory.buffer, CL_BLOCKING, 0, &mut items, &[]) };
        done.map(|_| items).map_err(|code| failure("read from the device", &code))
    }

    /// `definitions` are names and values for its preprocessor. Each program is compiled once.
    pub fn program(&self, source: &str, definitions: &[(&str, u64)]) -> Result<Rc<Program>> {
        let options: String = definitions.iter().map(|(name, value)| format!("-D {name}={value} ")).collect();
        let key = options.clone() + source;
        if let Some(program) = self.programs.borrow().get(&key) {
            return Ok(program.clone());
        }
        let program = Program::create_and_build_from_source(&self.context, source, &options).map_err(|log| {
            Error::environment(
                format!("the compiler of {} refuses a kernel: {}", self.about.driver_name(), log.trim()),
                "update the driver; if the kernel is at fault, report this as a bug",
            )
        })?;
        let program = Rc::new(program);
        self.programs.borrow_mut().insert(key, program.clone());
        Ok(program)
    }

    /// Runs a kernel and waits for it. Kernels take memories, then numbers.
    pub fn run(
        &self,
        program: &Program,
        name: &str,
        memories: &[cl_mem],
        numbers: &[u64],
        items: u64,
    ) -> Result<Times> {
        let start = Instant::now();
        let event = self.start(program, name, memories, numbers, items)?;
        self.finish(&[event], start)
    }

    pub fn start(
        &self,
        program: &Program,
        name: &str,
        memories: &[cl_mem],
        numbers: &[u64],
        items: u64,
    ) -> Result<Event> {
        let failed = |code| failure(&format!("start the kernel {name}"), &code);
        let kernel = Kernel::create(program, name).map_err(failed)?;
        // SAFETY: the kernels of this family take buffers and 64-bit numbers in this order; the driver checks the sizes.
        unsafe {
            for (place, memory) in (0..).zip(memories) {
                kernel.set_arg(place, memory).map_err(failed)?;
            }
            for (place, number) in (memories.len() as u32..).zip(numbers) {
                kernel.set_arg(place, number).map_err(failed)?;
            }
        }
        let sizes = [items as usize, GROUP as usize];
        let group = if items.is_multiple_of(GROUP) { &raw const sizes[1] } else { std::ptr::null() };
        // SAFETY: the sizes live until the call returns, and the kernel's memory until its end is awaited.
        let event = unsafe {
            self.queue.enqueue_nd_range_kernel(kernel.get(), 1, std::ptr::null(), &raw const sizes[0], group, &[])
        };
        event.map_err(failed)
    }

    /// Waits for commands that began at `start` or later. Returns the time from the begin of the first to the end of the last, and
    /// compares both clocks.
    pub fn finish(&self, events: &[Event], start: Instant) -> Result<Times> {
        let failed = |code| failure("end a command of the device", &code);
        let (mut first, mut last) = (u64::MAX, 0);
        for event in events {
            event.wait().map_err(failed)?;
        }
        let host = start.elapsed().as_secs_f64();
        for event in events {
            first = first.min(event.profiling_command_start().map_err(failed)?);
            last = last.max(event.profiling_command_end().map_err(failed)?);
        }
        let times = Times { device: last.saturating_sub(first) as f64 * 1e-9, host };
        let (share, more) = CLOCK_TOLERANCE;
        if times.device > host * (1.0 + share) + more {
            self.contradiction.set(Some(times));
        }
        Ok(times)
    }

    pub fn take_contradiction(&self) -> Option<Times> {
        self.contradiction.take()
    }
}

impl Description {
    fn driver_name(&self) -> String {
        format!("{} {}", self.platform, self.driver)
    }
}

fn open_queue(context: &Context, id: cl_device_id) -> Result<CommandQueue, ClError> {
    // SAFETY: the context was made for this device.
    unsafe { CommandQueue::create(context, id, CL_QUEUE_PROFILING_ENABLE) }
}

pub fn failure(operation: &str, code: &ClError) -> Error {
    Error::environment(
        format!("cannot {operation}: {code}"),
        "free memory of the device or use a smaller size; if the device was lost, look at the system's log",
    )
}
