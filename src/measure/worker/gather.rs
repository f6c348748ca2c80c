//! The exchange of data between rank 0 and all ranks.

use super::Job;
use crate::comm::Collectives;
use crate::comm::arena::Arena;
use crate::provenance;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::{MemoryPlacement, Placement};

/// Distributes rank 0's job to all ranks.
pub fn broadcast_job<C: Collectives>(comm: &C, job: Option<Job>) -> Result<Job> {
    let text = match job {
        Some(job) => serde_json::to_vec(&job).map_err(|e| Error::internal(e.to_string()))?,
        None => Vec::new(),
    };
    let mut length = [text.len() as u64];
    comm.broadcast(&mut length);
    let mut words = pack(&text, (length[0] as usize).div_ceil(8));
    comm.broadcast(&mut words);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(length[0] as usize).collect();
    serde_json::from_slice(&bytes).map_err(|e| Error::internal(format!("the job was corrupted in transit: {e}")))
}

/// Packs bytes into words, padded with zeros or cut to `words` words.
fn pack(bytes: &[u8], words: usize) -> Vec<u64> {
    let mut packed: Vec<u64> = bytes
        .chunks(8)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        })
        .collect();
    packed.resize(words, 0);
    packed
}

/// Combines the facts of all ranks on rank 0; other ranks get only their own.
pub fn gather_facts<C: Collectives>(comm: &C, own: &Facts) -> Facts {
    comm.gather(&own.words()).map_or(*own, |words| Facts::over_ranks(&words))
}

/// Gathers the placement of all ranks on rank 0. With srun, each rank takes Slurm's name of its node, because several nodes of
/// Slurm may be one host.
///
/// # Errors
/// Fails if the placement of a rank cannot be serialised or read.
pub fn gather_placement<C: Collectives>(comm: &C, launcher: &str) -> Result<Option<Vec<Placement>>> {
    let mut own = provenance::placement(comm.rank());
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|_| launcher == "srun");
    own.node = node.unwrap_or(own.node);
    let text = serde_json::to_vec(&own).map_err(|e| Error::internal(e.to_string()))?;
    // Space for the longest text; at least one zero byte ends each text.
    let lengths = comm.gather(&[text.len() as u64 / 8 + 1]);
    let mut room = [lengths.and_then(|lengths| lengths.into_iter().max()).unwrap_or(0)];
    comm.broadcast(&mut room);
    let room = room[0] as usize;
    let Some(all) = comm.gather(&pack(&text, room)) else { return Ok(None) };
    let read = |(rank, words): (usize, &[u64])| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
        let garbled = |e| Error::internal(format!("the placement of rank {rank} was corrupted in transit: {e}"));
        serde_json::from_slice(&bytes).map_err(garbled)
    };
    all.chunks_exact(room).enumerate().map(read).collect::<Result<_>>().map(Some)
}

/// Gathers the placement of each rank's memory on rank 0.
pub fn gather_memory<C: Collectives>(comm: &C, arena: &Arena) -> Option<Vec<Option<MemoryPlacement>>> {
    let own = provenance::memory_placement(&arena.memory_nodes());
    let words = own.map_or([0; 4], |own| [1, own.numa_node.into(), own.memory_node.into(), own.elsewhere.to_bits()]);
    let all = comm.gather(&words)?;
    let read = |words: &[u64]| match *words {
        [1, numa_node, memory_node, elsewhere] => Some(MemoryPlacement {
            numa_node: numa_node as u32,
            memory_node: memory_node as u32,
            elsewhere: f64::from_bits(elsewhere),
        }),
        _ => None,
    };
    Some(all.chunks_exact(words.len()).map(read).collect())
}
