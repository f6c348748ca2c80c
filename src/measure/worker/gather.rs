use super::Job;
use crate::comm::Collectives;
use crate::comm::arena::Arena;
use crate::provenance;
use apexmap_base::disturbance::Facts;
use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::{MemoryPlacement, Placement};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub fn broadcast_job<C: Collectives>(comm: &C, job: Option<Job>) -> Result<Job> {
    let text = match job {
        Some(job) => serde_json::to_vec(&job).map_err(|e| Error::internal(e.to_string()))?,
        None => Vec::new(),
    };
    let mut length = [text.len() as u64];
    comm.broadcast(&mut length);
    let mut words = pack_words(&text, (length[0] as usize).div_ceil(8));
    comm.broadcast(&mut words);
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take(length[0] as usize).collect();
    serde_json::from_slice(&bytes).map_err(|e| Error::internal(format!("the job was corrupted in transit: {e}")))
}

/// Padded with zeros or cut to `words` words.
fn pack_words(bytes: &[u8], words: usize) -> Vec<u64> {
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

/// On rank 0; other ranks get only their own.
pub fn gather_facts<C: Collectives>(comm: &C, facts: &Facts) -> Facts {
    comm.gather(&facts.to_words()).map_or(*facts, |words| Facts::combine_ranks(&words))
}

#[derive(Serialize, Deserialize)]
struct PlacedRank<'a> {
    placement: Placement,
    node_type: Cow<'a, str>,
}

/// In rank order.
pub struct Places {
    pub placement: Vec<Placement>,
    /// Types of the nodes with ranks, each with the names of its nodes.
    pub node_types: BTreeMap<String, Vec<String>>,
}

impl FromIterator<PlacedRank<'static>> for Places {
    fn from_iter<I: IntoIterator<Item = PlacedRank<'static>>>(ranks: I) -> Self {
        let (mut placement, mut nodes) = (Vec::new(), BTreeMap::<String, BTreeSet<String>>::new());
        for rank in ranks {
            nodes.entry(rank.node_type.into_owned()).or_default().insert(rank.placement.node.clone());
            placement.push(rank.placement);
        }
        Self {
            placement,
            node_types: nodes.into_iter().map(|(name, nodes)| (name, nodes.into_iter().collect())).collect(),
        }
    }
}

/// On rank 0. With srun, each rank takes Slurm's name of its node, because several nodes of Slurm may be one host. Threads take the
/// name that their job has.
pub fn gather_places<C: Collectives>(comm: &C, launcher: &str) -> Result<Option<Places>> {
    let mut placement = provenance::placement(comm.rank());
    let node = std::env::var("SLURMD_NODENAME").ok().filter(|_| ["srun", "local"].contains(&launcher));
    placement.node = node.unwrap_or(placement.node);
    let placed = PlacedRank { placement, node_type: provenance::node_type().into() };
    let text = serde_json::to_vec(&placed).map_err(|e| Error::internal(e.to_string()))?;
    // Space for the longest text; at least one zero byte ends each text.
    let lengths = comm.gather(&[text.len() as u64 / 8 + 1]);
    let mut length = [lengths.and_then(|lengths| lengths.into_iter().max()).unwrap_or(0)];
    comm.broadcast(&mut length);
    let length = length[0] as usize;
    let Some(gathered) = comm.gather(&pack_words(&text, length)) else { return Ok(None) };
    let parse = |(rank, words): (usize, &[u64])| {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).take_while(|&byte| byte != 0).collect();
        let parse_error = |e| Error::internal(format!("the placement of rank {rank} was corrupted in transit: {e}"));
        serde_json::from_slice(&bytes).map_err(parse_error)
    };
    gathered.chunks_exact(length).enumerate().map(parse).collect::<Result<_>>().map(Some)
}

/// On rank 0.
pub fn gather_memory<C: Collectives>(comm: &C, arena: &Arena) -> Option<Vec<Option<MemoryPlacement>>> {
    let placement = provenance::memory_placement(&arena.memory_nodes());
    let words = placement.map_or([0; 4], |placement| {
        [1, placement.numa_node.into(), placement.memory_node.into(), placement.elsewhere.to_bits()]
    });
    let gathered = comm.gather(&words)?;
    let parse = |words: &[u64]| match *words {
        [1, numa_node, memory_node, elsewhere] => Some(MemoryPlacement {
            numa_node: numa_node as u32,
            memory_node: memory_node as u32,
            elsewhere: f64::from_bits(elsewhere),
        }),
        _ => None,
    };
    Some(gathered.chunks_exact(words.len()).map(parse).collect())
}
