//! The OpenCL devices of this machine, and the reason if there is none. A driver runs in the process that asks it. The worker asks
//! for itself; the driver of measurements starts a process that lists the devices, which a faulty driver may crash or stop.

use crate::kernels::prelude::*;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, dup2_stderr, dup2_stdout, fork};
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device, cl_device_id};
use opencl3::error_codes::ClError;
use opencl3::platform::get_platforms;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// 64-bit atomic XOR.
const ATOMICS: &str = "cl_khr_int64_extended_atomics";
/// Floating-point numbers of 64 bits.
const DOUBLES: &str = "cl_khr_fp64";
/// The codes of cl3 for a loader that is missing, and of OpenCL's loader for no platform.
const NO_LOADER: i32 = -2000;
const NO_PLATFORM: i32 = -1001;
/// Its files name the libraries of platforms.
const ICD_FOLDER: &str = "/etc/OpenCL/vendors";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// GPUs first.
    pub number: u64,
    /// `GPU`, `accelerator` or `CPU`.
    pub kind: String,
    pub name: String,
    pub platform: String,
    pub driver: String,
    pub memory_bytes: u64,
    pub allocation_bytes: u64,
    pub compute_units: u64,
    /// The highest clock, if the driver reports it.
    pub clock_hertz: Option<f64>,
    /// 64-bit atomic XOR.
    pub has_atomics: bool,
    /// Floating-point numbers of 64 bits.
    pub has_doubles: bool,
}

/// GPUs, then accelerators, then processors, in the order of their platforms.
pub fn devices() -> Result<Vec<(Description, cl_device_id)>> {
    let _lists = lock_lists();
    list()
}

/// Returns the device with this number from a list.
pub fn choose<T>(devices: Vec<T>, number: u64) -> Result<T> {
    let count = devices.len();
    devices.into_iter().nth(number as usize).ok_or_else(|| {
        let message = format!("there is no device {number}: this machine has {count}, numbered from 0");
        Error::input(message, "`apexmap devices` lists them")
    })
}

/// Makes this thread the only one that lists devices.
fn lock_lists() -> MutexGuard<'static, ()> {
    // pocl finds no device or a part of them while another thread makes its first call.
    static LISTS: Mutex<()> = Mutex::new(());
    LISTS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn list() -> Result<Vec<(Description, cl_device_id)>> {
    let mut listed = Vec::new();
    for platform in get_platforms().map_err(|code| no_platform(&code))? {
        let name = platform.name().unwrap_or_default();
        for (rank, kind) in [CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU].into_iter().enumerate()
        {
            let ids = platform.get_devices(kind).unwrap_or_default();
            listed.extend(ids.into_iter().filter_map(|id| Some((rank, describe(id, &name, rank).ok()?, id))));
        }
    }
    if listed.is_empty() {
        return Err(Error::environment("no OpenCL platform has a device", INSTALL));
    }
    listed.sort_by_key(|(rank, ..)| *rank);
    let numbered = listed.into_iter().zip(0..);
    Ok(numbered.map(|((_, description, id), number)| (Description { number, ..description }, id)).collect())
}

fn describe(id: cl_device_id, platform: &str, rank: usize) -> Result<Description, ClError> {
    let device = Device::new(id);
    let extensions = device.extensions()?;
    let has = |name| extensions.split(' ').any(|extension| extension == name);
    let clock = device.max_clock_frequency().ok().filter(|&megahertz| megahertz > 0);
    Ok(Description {
        number: 0,
        kind: ["GPU", "accelerator", "CPU"][rank].to_owned(),
        name: shorten(&device.name()?),
        platform: shorten(platform),
        driver: shorten(&device.driver_version()?),
        memory_bytes: device.global_mem_size()?,
        allocation_bytes: device.max_mem_alloc_size()?,
        compute_units: u64::from(device.max_compute_units()?),
        clock_hertz: clock.map(|megahertz| f64::from(megahertz) * 1e6),
        has_atomics: has(ATOMICS),
        has_doubles: has(DOUBLES),
    })
}

fn shorten(text: &str) -> String {
    text.trim().chars().take(MAX_NAME).collect()
}

const MAX_NAME: usize = 200;
/// For a driver to list its devices.
const LIST_LIMIT: Duration = Duration::from_secs(30);
const MAX_LIST_BYTES: u64 = 1 << 20;

/// The devices, or the message and the help of an error.
type Answer = Result<Vec<Description>, (String, String)>;

/// As another process lists them, within a time limit.
pub fn list_apart() -> Result<Vec<Description>> {
    let failed = |operation: &str, error: io::Error| Error::environment(format!("cannot {operation}: {error}"), "");
    let (output, input) = io::pipe().map_err(|e| failed("make a pipe", e))?;
    let _lists = lock_lists();
    // SAFETY: the new process only asks the driver, and ends without running anything of this one.
    match unsafe { fork() }.map_err(|e| failed("start a process", e.into()))? {
        ForkResult::Child => answer_and_end(input),
        ForkResult::Parent { child } => {
            drop(input);
            let text = read_answer(output);
            let is_late = text.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
            if text.is_err() {
                let _ = kill(child, Signal::SIGKILL);
            }
            let ended = waitpid(child, None);
            let answer = text.ok().and_then(|text| serde_json::from_slice::<Answer>(&text).ok());
            answer
                .unwrap_or_else(|| Err(describe_fault(is_late, ended.ok())))
                .map_err(|(m, help)| Error::environment(m, help))
        }
    }
}

fn describe_fault(is_late: bool, ended: Option<WaitStatus>) -> (String, String) {
    let fault = match ended {
        _ if is_late => format!("does not list its devices within {} s", LIST_LIMIT.as_secs()),
        Some(WaitStatus::Signaled(_, signal, _)) if signal != Signal::SIGKILL => {
            format!("crashes when it lists its devices ({signal})")
        }
        Some(WaitStatus::Exited(_, code)) => format!("ends the process that lists its devices, with code {code}"),
        _ => "lists more devices than any machine has".to_owned(),
    };
    let named = describe_vendors(&vendors_folder()).map_or(String::new(), |named| format!(": {named}"));
    (format!("the OpenCL driver {fault}"), format!("update or remove the driver{named}"))
}

/// For at most [`LIST_LIMIT`].
fn read_answer(mut output: io::PipeReader) -> io::Result<Vec<u8>> {
    let (started, mut text, mut part) = (Instant::now(), Vec::new(), [0; 1 << 12]);
    loop {
        let left = LIST_LIMIT.saturating_sub(started.elapsed());
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        if left.is_zero() || poll(&mut [PollFd::new(output.as_fd(), PollFlags::POLLIN)], timeout) == Ok(0) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match output.read(&mut part) {
            Ok(0) => return Ok(text),
            Ok(count) => text.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if text.len() as u64 > MAX_LIST_BYTES {
            return Err(io::Error::other("too long"));
        }
    }
}

/// The messages of a driver or of a crash are discarded.
fn answer_and_end(input: io::PipeWriter) -> ! {
    let _ = set_pdeathsig(Signal::SIGKILL);
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    for signal in [Signal::SIGABRT, Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGILL, Signal::SIGFPE] {
        // SAFETY: no handler is installed.
        let _ = unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) };
    }
    if let Ok(nothing) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = (dup2_stdout(&nothing), dup2_stderr(&nothing));
    }
    let answered = catch_unwind(|| {
        let listed: Answer = match list() {
            Ok(list) => Ok(list.into_iter().map(|(description, _)| description).collect()),
            Err(error) => Err((error.message, error.help)),
        };
        serde_json::to_writer(input, &listed).is_ok()
    });
    // SAFETY: no destructor and no handler of the other process runs here.
    unsafe { nix::libc::_exit(i32::from(!answered.unwrap_or(false))) }
}

const INSTALL: &str = "install the OpenCL driver of the device's vendor; `apt-get install pocl-opencl-icd` gives one for \
    processors";

fn no_platform(code: &ClError) -> Error {
    match code.0 {
        NO_LOADER => Error::environment(
            "OpenCL's loader, libOpenCL.so.1, is not installed",
            "`apt-get install ocl-icd-libopencl1`, and the OpenCL driver of the device's vendor",
        ),
        NO_PLATFORM => {
            let folder = vendors_folder();
            let why = describe_vendors(&folder).map(|named| format!("{named}, which cannot be loaded"));
            let why = why.unwrap_or_else(|| format!("{} has no .icd file", folder.display()));
            Error::environment(format!("OpenCL finds no platform: {why}"), INSTALL)
        }
        _ => Error::environment(format!("OpenCL cannot list its platforms: {code}"), INSTALL),
    }
}

fn vendors_folder() -> PathBuf {
    std::env::var_os("OCL_ICD_VENDORS").map_or_else(|| ICD_FOLDER.into(), PathBuf::from)
}

/// The files that name the libraries of platforms; `None` if there is none.
fn describe_vendors(folder: &Path) -> Option<String> {
    let files: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) if folder.is_file() => vec![folder.to_owned()],
        Err(_) => Vec::new(),
    };
    let is_icd = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "icd");
    let named = files.iter().filter(is_icd).map(|file| {
        let library = std::fs::read_to_string(file).unwrap_or_default();
        format!("{} names {}", file.display(), library.trim())
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join("; "))
}
