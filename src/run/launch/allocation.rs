//! Counts the nodes of the batch job that this process runs in, as far as the batch system reports them.

use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::Command;

/// Returns the number of nodes of this job, from the variables that batch systems set: `SLURM_JOB_NUM_NODES`; `PBS_NODEFILE`, a
/// file of PBS and Torque with one line per slot; `LSB_MCPU_HOSTS` of LSF, with hosts and their slots in turn. Returns `None`
/// outside a job, and under systems that report nothing, such as Flux.
pub fn count_nodes(read_variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let slurm = || read_variable("SLURM_JOB_NUM_NODES")?.parse().ok();
    let pbs = || Some(count_distinct_lines(&regular_file::read_text(Path::new(&read_variable("PBS_NODEFILE")?)).ok()?));
    let lsf = || count_lsf_hosts(&read_variable("LSB_MCPU_HOSTS")?);
    slurm().or_else(pbs).or_else(lsf).filter(|nodes| *nodes > 0)
}

/// Returns the nodes of this job in the order of the batch system, or `None` outside a job. Slurm's own program expands its list.
///
/// # Errors
/// If `scontrol` cannot be started, or does not print names.
pub fn list_nodes() -> Result<Option<Vec<String>>> {
    let distinct = |words: &mut dyn Iterator<Item = &str>| {
        let mut names: Vec<String> = Vec::new();
        words.filter(|word| !word.is_empty()).for_each(|word| {
            if names.iter().all(|name| name != word) {
                names.push(word.to_owned());
            }
        });
        names
    };
    if let Ok(list) = env::var("SLURM_JOB_NODELIST") {
        let output = Command::new("scontrol").args(["show", "hostnames", &list]).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let names = distinct(&mut text.lines().map(str::trim));
        if names.is_empty() {
            let message = format!("`scontrol show hostnames {list}` does not list the nodes of this job");
            return Err(Error::environment(message, "list them with --hosts n01,n02"));
        }
        return Ok(Some(names));
    }
    if let Ok(file) = env::var("PBS_NODEFILE") {
        let text = regular_file::read_text(Path::new(&file)).map_err(|e| Error::file("read", Path::new(&file), e))?;
        return Ok(Some(distinct(&mut text.lines().map(str::trim))));
    }
    let hosts = env::var("LSB_MCPU_HOSTS").ok();
    Ok(hosts.map(|text| distinct(&mut text.split_whitespace().step_by(2))))
}

/// Counts the distinct lines of a file of nodes.
fn count_distinct_lines(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<BTreeSet<_>>().len()
}

/// Counts the hosts in LSF's variable. Some clusters start jobs on a separate node, which is then the first host, with one slot.
/// No rank runs there, so it does not count.
fn count_lsf_hosts(text: &str) -> Option<usize> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let slots = words.chunks(2).map(|host| host.get(1)?.parse().ok()).collect::<Option<Vec<usize>>>()?;
    let has_launch_node = slots.len() > 1 && slots[0] == 1 && slots[1..].iter().all(|&slots| slots > 1);
    Some(slots.len() - usize::from(has_launch_node))
}
