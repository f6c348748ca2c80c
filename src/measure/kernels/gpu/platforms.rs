//! The OpenCL devices of this machine, and the reason if there is none.

use apexmap_base::error::{Error, Result};
use opencl3::device::{CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, Device, cl_device_id};
use opencl3::error_codes::ClError;
use opencl3::platform::get_platforms;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The extension of 64-bit atomic XOR.
const ATOMICS: &str = "cl_khr_int64_extended_atomics";
/// The extension of floating-point numbers of 64 bits.
const DOUBLES: &str = "cl_khr_fp64";
/// The codes of cl3 for a loader that is missing, and of OpenCL's loader for no platform.
const NO_LOADER: i32 = -2000;
const NO_PLATFORM: i32 = -1001;
/// The folder of the files that name the libraries of platforms.
const ICD_FOLDER: &str = "/etc/OpenCL/vendors";

/// What a device reports about itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    /// Its number, GPUs first.
    pub number: u64,
    /// `GPU`, `accelerator` or `CPU`.
    pub kind: &'static str,
    pub name: String,
    pub platform: String,
    pub driver: String,
    pub memory_bytes: u64,
    /// The largest allocation.
    pub allocation_bytes: u64,
    pub compute_units: u64,
    /// The highest clock, if the driver tells it.
    pub clock_hertz: Option<f64>,
    /// Whether it has 64-bit atomic XOR.
    pub has_atomics: bool,
    /// Whether it has floating-point numbers of 64 bits.
    pub has_doubles: bool,
}

/// Returns the devices of this machine: GPUs, then accelerators, then processors, in the order of their platforms.
///
/// # Errors
/// Fails if there is no device, with the reason and the package to install.
pub fn devices() -> Result<Vec<(Description, cl_device_id)>> {
    // pocl finds no device or a part of them while another thread makes its first call.
    static LISTS: Mutex<()> = Mutex::new(());
    let _lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
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

fn describe(id: cl_device_id, platform: &str, rank: usize) -> std::result::Result<Description, ClError> {
    let device = Device::new(id);
    let extensions = device.extensions()?;
    let has = |name| extensions.split(' ').any(|extension| extension == name);
    let clock = device.max_clock_frequency().ok().filter(|&megahertz| megahertz > 0);
    Ok(Description {
        number: 0,
        kind: ["GPU", "accelerator", "CPU"][rank],
        name: device.name()?.trim().to_owned(),
        platform: platform.trim().to_owned(),
        driver: device.driver_version()?.trim().to_owned(),
        memory_bytes: device.global_mem_size()?,
        allocation_bytes: device.max_mem_alloc_size()?,
        compute_units: u64::from(device.max_compute_units()?),
        clock_hertz: clock.map(|megahertz| f64::from(megahertz) * 1e6),
        has_atomics: has(ATOMICS),
        has_doubles: has(DOUBLES),
    })
}

const INSTALL: &str = "install the OpenCL driver of the device's vendor; `apt-get install pocl-opencl-icd` gives one for \
    processors";

/// Returns why the loader finds no platform.
fn no_platform(code: &ClError) -> Error {
    match code.0 {
        NO_LOADER => Error::environment(
            "OpenCL's loader, libOpenCL.so.1, is not installed",
            "`apt-get install ocl-icd-libopencl1`, and the OpenCL driver of the device's vendor",
        ),
        NO_PLATFORM => {
            let folder = std::env::var_os("OCL_ICD_VENDORS").map_or_else(|| ICD_FOLDER.into(), PathBuf::from);
            Error::environment(describe_vendors(&folder), INSTALL)
        }
        _ => Error::environment(format!("OpenCL cannot list its platforms: {code}"), INSTALL),
    }
}

/// Describes the files that should name the libraries of platforms.
fn describe_vendors(folder: &Path) -> String {
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
    if named.is_empty() {
        return format!("OpenCL finds no platform: {} has no .icd file", folder.display());
    }
    format!("OpenCL finds no platform: {}, which cannot be loaded", named.join("; "))
}
