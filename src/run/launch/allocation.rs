//! How many nodes the batch job has in which this process runs, as far as the batch system tells.

use apexmap_base::regular_file;
use std::collections::BTreeSet;
use std::path::Path;

/// Nodes of this job, told by the variables that batch systems set: `SLURM_JOB_NUM_NODES`; `PBS_NODEFILE`, a file that PBS and
/// Torque write, with a line for each slot; `LSB_MCPU_HOSTS` of LSF, hosts and their slots in turn. `None` outside a job, and
/// where the system tells nothing, as Flux does.
pub fn nodes(variable: impl Fn(&str) -> Option<String>) -> Option<usize> {
    let slurm = || variable("SLURM_JOB_NUM_NODES")?.parse().ok();
    let pbs = || Some(lines(&regular_file::read_text(Path::new(&variable("PBS_NODEFILE")?)).ok()?));
    let lsf = || lsf(&variable("LSB_MCPU_HOSTS")?);
    slurm().or_else(pbs).or_else(lsf).filter(|nodes| *nodes > 0)
}

/// Different lines of a file of nodes.
fn lines(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<BTreeSet<_>>().len()
}

/// Hosts in LSF's words. Where jobs are started from a node of their own, that is the first host, with a single slot: no rank runs there.
fn lsf(text: &str) -> Option<usize> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let slots = words.chunks(2).map(|host| host.get(1)?.parse().ok()).collect::<Option<Vec<usize>>>()?;
    let starts_only = slots.len() > 1 && slots[0] == 1 && slots[1..].iter().all(|&slots| slots > 1);
    Some(slots.len() - usize::from(starts_only))
}
