//! The MPI plugins of Slurm's srun.
//!
//! Which one is used is the cluster's default or `SLURM_MPI_TYPE`, which srun itself reads: `pmix` for Open MPI, `pmi2` for MPICH. Where
//! neither names one, that of the worker's MPI is chosen. Under the wrong one the worker refuses to work, and says so.

use std::env;
use std::process::{Command, Stdio};

/// The variable that names the plugin for workers of this MPI library, where the environment and the cluster name none.
pub fn chosen(library: &str) -> Option<(String, String)> {
    let settings = || said("scontrol", &["show", "config"]);
    if env::var_os(TYPE).is_some() || default_type(&settings()?)? != "none" {
        return None;
    }
    let chosen = fitting(library, &types(&said("srun", &["--mpi=list"])?))?;
    Some((TYPE.to_owned(), chosen))
}

/// The plugins that there are, and the one for workers of this MPI library.
pub fn offers(library: &str) -> Option<String> {
    let types = types(&said("srun", &["--mpi=list"])?);
    let list = types.join(", ");
    let used = match env::var(TYPE) {
        Ok(used) => format!("{TYPE} is {used}"),
        Err(_) => format!("{TYPE} is not set"),
    };
    Some(match fitting(library, &types) {
        Some(fit) => format!("set {TYPE}={fit} for {library}: {used}, and srun offers {list}"),
        None => format!("{used}, and srun offers {list}, none of which is known to go with {library}"),
    })
}

/// By which srun is told of the plugin.
const TYPE: &str = "SLURM_MPI_TYPE";

/// What a program of Slurm prints; srun of some versions lists its plugins on standard error.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    output.status.success().then_some(text)
}

/// The plugins that `srun --mpi=list` names.
pub fn types(list: &str) -> Vec<String> {
    // "MPI plugin types are...", then one on each line; older ones begin lines with "srun: ".
    let words = list.lines().map(|line| line.trim().trim_start_matches("srun:").trim());
    words.filter(|word| !word.is_empty() && !word.contains(char::is_whitespace)).map(str::to_owned).collect()
}

/// The cluster's default, of what `scontrol show config` prints.
pub fn default_type(settings: &str) -> Option<&str> {
    let value = settings.lines().find_map(|line| line.trim().strip_prefix("MpiDefault"))?;
    Some(value.trim_start_matches([' ', '=']).trim())
}

/// The plugin for an MPI library, of those that there are.
pub fn fitting(library: &str, types: &[String]) -> Option<String> {
    let wanted: &[&str] = match library {
        _ if library.contains("Open MPI") => &["pmix"],
        _ if library.contains("CRAY MPICH") => &["cray_shasta", "pmi2"],
        _ if library.contains("MPICH") || library.contains("MVAPICH") => &["pmi2"],
        _ => &[],
    };
    wanted.iter().find(|name| types.iter().any(|offered| offered == *name)).map(|name| (*name).to_owned())
}
