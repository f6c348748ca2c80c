//! Environment variables that are recorded with launches.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What begins like this changes how messages are sent.
const MESSAGING: [&str; 10] =
    ["FI_", "GASNET_", "HYDRA_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "OMPI_", "PSM", "UCX_"];

/// Of the environment, what changes how messages are sent.
pub fn messaging() -> BTreeMap<String, String> {
    let changes = |name: &str| MESSAGING.iter().any(|prefix| name.starts_with(prefix));
    let text = |(name, value): (OsString, OsString)| (name.to_string_lossy().into(), value.to_string_lossy().into());
    std::env::vars_os().map(text).filter(|(name, _): &(String, String)| changes(name)).collect()
}
