//! The MPI plugins of Slurm's srun.
//!
//! srun reads the plugin from `SLURM_MPI_TYPE`, else takes the cluster's default: `pmix` for Open MPI, `pmi2` for MPICH. If
//! neither is set, this module chooses the plugin of the worker's MPI. Under the wrong plugin, the worker refuses to run.

use super::mpi::short_name;
use std::env;
use std::process::{Command, Stdio};

/// The variable that names the plugin for workers of this MPI library; `None` if the environment or the cluster names one.
pub fn choose_plugin_variable(library: &str) -> Option<(String, String)> {
    let read_settings = || command_output("scontrol", &["show", "config"]);
    if env::var_os(TYPE).is_some() || parse_default_type(&read_settings()?)? != "none" {
        return None;
    }
    let plugin = plugin_for(library, &parse_types(&command_output("srun", &["--mpi=list"])?))?;
    Some((TYPE.to_owned(), plugin))
}

pub fn describe_plugins(library: &str) -> Option<String> {
    let types = parse_types(&command_output("srun", &["--mpi=list"])?);
    let list = types.join(", ");
    let setting = match env::var(TYPE) {
        Ok(used) => format!("{TYPE} is {used}"),
        Err(_) => format!("{TYPE} is not set"),
    };
    Some(match plugin_for(library, &types) {
        Some(fit) => format!("set {TYPE}={fit} for {library}: {setting}, and srun offers {list}"),
        None => format!("{setting}; srun offers {list}, and apexmap knows none of them to work with {library}"),
    })
}

pub const TYPE: &str = "SLURM_MPI_TYPE";

/// Some versions of srun list the plugins on standard error.
fn command_output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    output.status.success().then_some(text)
}

/// The plugins that `srun --mpi=list` prints.
pub fn parse_types(list: &str) -> Vec<String> {
    // "MPI plugin types are...", then one per line. Older versions begin each line with "srun: ".
    let words = list.lines().map(|line| line.trim().trim_start_matches("srun:").trim());
    words.filter(|word| !word.is_empty() && !word.contains(char::is_whitespace)).map(str::to_owned).collect()
}

/// The cluster's default plugin in the output of `scontrol show config`.
pub fn parse_default_type(settings: &str) -> Option<&str> {
    let value = settings.lines().find_map(|line| line.trim().strip_prefix("MpiDefault"))?;
    Some(value.trim_start_matches([' ', '=']).trim())
}

fn usual_plugins(library: &str) -> &'static [&'static str] {
    match library {
        _ if library.contains("Open MPI") => &["pmix"],
        _ if library.contains("CRAY MPICH") => &["cray_shasta", "pmi2"],
        _ if library.contains("MPICH") || library.contains("MVAPICH") => &["pmi2"],
        _ => &[],
    }
}

pub fn plugin_for(library: &str, types: &[String]) -> Option<String> {
    let mut usual = usual_plugins(library).iter();
    usual.find(|name| types.iter().any(|offered| offered == *name)).map(|name| (*name).to_owned())
}

/// Describes a plugin that workers of this MPI library do not usually need, which is no proof. `chosen` is that of jobs.
pub fn describe_misfit(library: &str, chosen: Option<&str>) -> Option<String> {
    let by_default = || parse_default_type(&command_output("scontrol", &["show", "config"])?).map(str::to_owned);
    let used = chosen.map(str::to_owned).or_else(|| env::var(TYPE).ok()).or_else(by_default)?;
    let usual = usual_plugins(library);
    // Without a plugin, apexmap sets one.
    let fits = used == "none" || usual.is_empty() || usual.iter().any(|plugin| used.starts_with(plugin));
    let name = short_name(library);
    (!fits).then(|| {
        format!(
            "srun takes the plugin {used}, and {name} usually needs {}: set {TYPE}={}",
            usual.join(" or "),
            usual[0]
        )
    })
}
