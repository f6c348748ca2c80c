//! The nodes of the batch job that this process runs in, as far as the batch system reports them.

use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

/// The number of nodes of this job, from `SLURM_JOB_NUM_NODES`; `PBS_NODEFILE`, a file of PBS and Torque with one line per slot; or
/// `LSB_MCPU_HOSTS` of LSF, with hosts and their slots in turn. `None` outside a job, and under others, such as Flux.
pub fn count_nodes(read_variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let slurm = || read_variable("SLURM_JOB_NUM_NODES")?.parse().ok();
    let listed = || Some(read_pbs_nodes(&read_variable("PBS_NODEFILE")?).ok()?.len());
    let lsf = || Some(parse_lsf_hosts(&read_variable("LSB_MCPU_HOSTS")?)?.len());
    slurm().or_else(listed).or_else(lsf).filter(|nodes| *nodes > 0)
}

/// The nodes of this job in the order of the batch system; `None` outside a job. Slurm's own program expands its list.
pub fn list_nodes(read_variable: impl Fn(&str) -> Option<String>) -> Result<Option<Vec<String>>> {
    if let Some(list) = read_variable("SLURM_JOB_NODELIST") {
        let output = Command::new("scontrol").args(["show", "hostnames", &list]).output();
        let names = output.map(|output| distinct_lines(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default();
        if names.is_empty() {
            let message = format!("`scontrol show hostnames {list}` does not list the nodes of this job");
            return Err(Error::environment(message, "list them with --hosts n01,n02"));
        }
        return Ok(Some(names));
    }
    if let Some(file) = read_variable("PBS_NODEFILE") {
        return read_pbs_nodes(&file).map(Some);
    }
    Ok(read_variable("LSB_MCPU_HOSTS").and_then(|text| parse_lsf_hosts(&text)))
}

/// The file names a node once per slot.
fn read_pbs_nodes(file: &str) -> Result<Vec<String>> {
    let path = Path::new(file);
    regular_file::read_text(path).map(|text| distinct_lines(&text)).map_err(|e| Error::file("read", path, e))
}

fn distinct_lines(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && seen.insert(*line));
    lines.map(str::to_owned).collect()
}

/// Some clusters start jobs on a separate node, which is then the first host, with one slot. No rank runs there.
fn parse_lsf_hosts(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let slots = words.chunks(2).map(|host| host.get(1)?.parse().ok()).collect::<Option<Vec<usize>>>()?;
    let has_launch_node = slots.len() > 1 && slots[0] == 1 && slots[1..].iter().all(|&slots| slots > 1);
    Some(words.chunks(2).skip(usize::from(has_launch_node)).map(|host| host[0].to_owned()).collect())
}
