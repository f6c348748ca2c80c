//! Environment variables that are recorded with each launch.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// Prefixes of variables that change how messages are sent.
const MESSAGING: [&str; 11] =
    ["FI_", "GASNET_", "HYDRA_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "OMPI_", "PSM", "SLURM_MPI_TYPE", "UCX_"];

/// Returns true if a variable of this name changes how messages are sent.
pub fn is_messaging(name: &str) -> bool {
    MESSAGING.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the pattern of `grep -E` for these variables in the output of `env`.
pub fn pattern() -> String {
    format!("^({})", MESSAGING.join("|"))
}

/// Returns the variables that change how messages are sent, from this process's environment and from the launch's own variables.
pub fn messaging_variables(launch_variables: &[(String, String)]) -> BTreeMap<String, String> {
    let to_text = |(name, value): (OsString, OsString)| (name.to_string_lossy().into(), value.to_string_lossy().into());
    let variables = std::env::vars_os().map(to_text).chain(launch_variables.iter().cloned());
    variables.filter(|(name, _)| is_messaging(name)).collect()
}
