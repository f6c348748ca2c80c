//! The OpenCL devices of this machine, and the reason if there is none. A driver runs in the process that asks it. The worker asks
//! for itself; the driver of measurements starts a process that lists the devices, which a faulty driver may crash or stop.

use crate::kernels::prelude::*;
use apexmap_base::terminal::to_printable;
use nix::errno::Errno;
use nix::libc::{RTLD_LAZY, RTLD_LOCAL, dlerror, dlopen};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{AccessFlags, ForkResult, Group, access, dup2_stderr, dup2_stdout, fork};
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device, cl_device_id};
use opencl3::error_codes::{CL_DEVICE_NOT_FOUND, ClError};
use opencl3::platform::get_platforms;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
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
    let (listed, faults) = list_with_faults()?;
    match listed.is_empty() {
        true => Err(no_device(&faults.join("; "))),
        false => Ok(listed),
    }
}

type Listed = (Vec<(Description, cl_device_id)>, Vec<String>);

/// The devices, and the platforms and devices that answer with an error or have none, in one clause each.
fn list_with_faults() -> Result<Listed> {
    let (mut listed, mut faults) = (Vec::new(), Vec::new());
    for (number, platform) in get_platforms().map_err(|code| no_platform(&code))?.into_iter().enumerate() {
        let name = platform.name().map(|name| shorten(&name)).unwrap_or_default();
        let name = if name.is_empty() { format!("platform {number}") } else { name };
        let (count_before, faults_before) = (listed.len(), faults.len());
        for (rank, kind) in [CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU].into_iter().enumerate()
        {
            let ids = platform.get_devices(kind).unwrap_or_else(|code| {
                if code.0 != CL_DEVICE_NOT_FOUND {
                    faults.push(format!("{name} cannot list its devices: {code} ({})", code.0));
                }
                Vec::new()
            });
            for id in ids {
                match describe(id, &name, rank) {
                    Ok(description) => listed.push((rank, description, id)),
                    Err(code) => {
                        faults.push(format!("a device of {name} does not describe itself: {code} ({})", code.0));
                    }
                }
            }
        }
        faults.dedup();
        if (listed.len(), faults.len()) == (count_before, faults_before) {
            faults.push(format!("{name} has no device"));
        }
    }
    listed.sort_by_key(|(rank, ..)| *rank);
    let numbered = listed.into_iter().zip(0..);
    Ok((numbered.map(|((_, description, id), number)| (Description { number, ..description }, id)).collect(), faults))
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

/// On one line, without control characters.
fn shorten(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    to_printable(&words).chars().take(MAX_NAME).collect()
}

const MAX_NAME: usize = 200;
/// For a driver to list its devices.
const LIST_LIMIT: Duration = Duration::from_secs(30);
const MAX_LIST_BYTES: u64 = 1 << 20;

/// The devices, and what the others answer; or the message and the help of an error.
type Answer = Result<(Vec<Description>, Vec<String>), (String, String)>;

/// As another process lists them, within a time limit.
pub fn list_apart() -> Result<Vec<Description>> {
    list_with_faults_apart().map(|(list, _)| list)
}

/// In addition, the platforms without a device and those that fail, in one clause each.
pub fn list_with_faults_apart() -> Result<(Vec<Description>, Vec<String>)> {
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
    let named = describe_vendors(&vendors_folder(), false).map_or(String::new(), |named| format!(": {named}"));
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
        let listed: Answer = match list_with_faults() {
            Ok((list, faults)) if list.is_empty() => Err(no_device(&faults.join("; "))),
            Ok((list, faults)) => Ok((list.into_iter().map(|(description, _)| description).collect(), faults)),
            Err(error) => Err(error),
        }
        .map_err(|error| (error.message, error.help));
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
            let why =
                describe_vendors(&folder, true).unwrap_or_else(|| format!("{} has no .icd file", folder.display()));
            missing(format!("OpenCL finds no platform: {why}"))
        }
        _ => missing(format!("OpenCL cannot list its platforms: {code} ({})", code.0)),
    }
}

fn no_device(faults: &str) -> Error {
    missing(format!("no OpenCL platform has a device that answers: {faults}"))
}

/// A driver without the permission to open its device finds none.
fn missing(message: String) -> Error {
    let denied: Vec<String> = DEVICE_FILES.iter().flat_map(|(folder, start)| denied_files(folder, start)).collect();
    match denied.as_slice() {
        [] => Error::environment(message, INSTALL),
        [first, ..] => {
            let group = first.rsplit(' ').next().unwrap_or_default();
            let message = format!("{message}; this user may not open {}", denied.join(", "));
            Error::environment(message, format!("join the group, then log in again: sudo usermod -aG {group} $USER"))
        }
    }
}

/// Folders and starts of names of the files by which drivers reach GPUs.
const DEVICE_FILES: [(&str, &str); 3] = [("/dev/dri", "renderD"), ("/dev", "kfd"), ("/dev", "nvidia")];

/// The device files that this process may not read and write, each with its group.
fn denied_files(folder: &str, start: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let denied = files.filter_map(|file| {
        let is_device = file.file_name()?.to_string_lossy().starts_with(start) && !file.is_dir();
        let may_open = access(&file, AccessFlags::R_OK | AccessFlags::W_OK) != Err(Errno::EACCES);
        let group = std::fs::metadata(&file).ok().filter(|_| is_device && !may_open)?.gid();
        let name = Group::from_gid(group.into()).ok().flatten().map_or(group.to_string(), |group| group.name);
        Some(format!("{} of the group {name}", file.display()))
    });
    denied.collect()
}

fn vendors_folder() -> PathBuf {
    std::env::var_os("OCL_ICD_VENDORS").map_or_else(|| ICD_FOLDER.into(), PathBuf::from)
}

/// The files that name the libraries of platforms, and whether these can be loaded; `None` if there is none.
fn describe_vendors(folder: &Path, loads: bool) -> Option<String> {
    let files: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) if folder.is_file() => vec![folder.to_owned()],
        Err(_) => Vec::new(),
    };
    let is_icd = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "icd");
    let named = files.iter().filter(is_icd).map(|file| {
        let text = match std::fs::read_to_string(file) {
            Err(error) => return format!("{} cannot be read ({error})", file.display()),
            Ok(text) => text,
        };
        let library = text.split('\n').next().unwrap_or_default();
        if library.trim().is_empty() {
            return format!("{} names no library", file.display());
        }
        let state = if loads { describe_library(library) } else { String::new() };
        format!("{} names {}{state}", file.display(), library.escape_debug())
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| named.join("; "))
}

/// Loads a library as OpenCL's loader does.
fn describe_library(name: &str) -> String {
    let path = CString::new(name).unwrap_or_default();
    // SAFETY: the loader of OpenCL has run the same initialisers.
    let (library, reason) = unsafe {
        let library = dlopen(path.as_ptr(), RTLD_LAZY | RTLD_LOCAL);
        (library, if library.is_null() { dlerror() } else { std::ptr::null_mut() })
    };
    if !library.is_null() {
        return ", which can be loaded but has no platform: it finds no device, or may not use it".to_owned();
    }
    // SAFETY: the text lives until the next call.
    let reason = if reason.is_null() { Cow::default() } else { unsafe { CStr::from_ptr(reason) }.to_string_lossy() };
    format!(", which cannot be loaded ({})", reason.escape_debug())
}
