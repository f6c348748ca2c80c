//! Patterns of messages as schedules of GOAL, and the options of LogGOPSim that have the costs of a machine.
//!
//! SOURCE: Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009; Hoefler, Schneider, Lumsdaine: LogGOPSim -
//! Simulating Large-Scale Applications in the LogGOPS Model, HPDC 2010.

use apexmap_measure::comm::simulated::Machine;
use std::fmt::Write;

/// A pattern of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Rank 0 and rank 1 send a message to and fro.
    PingPong,
    /// In stage s, each rank exchanges a message with the rank whose number differs in bit s. The number of ranks is rounded down to
    /// a power of two.
    Hypercube,
    /// In step s, rank r sends to rank r + s and receives from rank r - s.
    AllToAll,
}

impl Pattern {
    /// All patterns, with their names in files.
    pub const ALL: [(Self, &str); 3] =
        [(Self::PingPong, "ping-pong"), (Self::Hypercube, "hypercube"), (Self::AllToAll, "all-to-all")];
}

/// Returns LogGOPSim's options for a machine, in picoseconds: its parameters are whole numbers, and nanoseconds are too coarse
/// for bytes. LogGOPSim has one overhead for sending and receiving: here the mean of both.
pub fn options(machine: &Machine, ranks: usize) -> String {
    let path = if ranks > machine.ranks_per_node { &machine.network } else { &machine.node };
    let costs = &path.message;
    format!(
        "-L {} -o {} -g {} -G {} -O {} -S {}",
        costs.latency,
        (costs.send + costs.receive) / 2,
        machine.interface.gap.max(costs.gap),
        costs.per_byte.max(machine.interface.per_byte).round(),
        costs.copy_per_byte.round(),
        costs.eager_bytes.min(i32::MAX as usize),
    )
}

/// Returns the schedule of a pattern for LogGOPSim's `txt2bin`, with one message of `bytes` bytes per step.
pub fn schedule(machine: &Machine, pattern: Pattern, ranks: usize, bytes: usize) -> String {
    let ranks = match pattern {
        Pattern::PingPong => 2,
        Pattern::Hypercube => 1 << ranks.max(1).ilog2(),
        Pattern::AllToAll => ranks.max(1),
    };
    // A line break would end the comment.
    let name: String = machine.name.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let mut text = format!(
        "// Written by apexmap for the card {name}. Times are in picoseconds:\n\
         //   txt2bin -i THIS_FILE -o schedule.bin\n//   LogGOPSim -f schedule.bin {}\nnum_ranks {ranks}\n",
        options(machine, ranks)
    );
    for rank in 0..ranks {
        let _ = writeln!(text, "\nrank {rank} {{");
        if pattern == Pattern::PingPong {
            text.push_str(if rank == 0 { PING } else { PONG }.replace("BYTES", &bytes.to_string()).as_str());
        } else {
            exchanges(&mut text, &steps(pattern, rank, ranks), bytes);
        }
        text.push_str("}\n");
    }
    text
}

const PING: &str = "s: send BYTESb to 1 tag 0\nr: recv BYTESb from 1 tag 0\nr requires s\n";
const PONG: &str = "r: recv BYTESb from 0 tag 0\ns: send BYTESb to 0 tag 0\ns requires r\n";

/// The rank that each step of this rank sends to, and the one that it receives from.
fn steps(pattern: Pattern, rank: usize, ranks: usize) -> Vec<(usize, usize)> {
    match pattern {
        Pattern::AllToAll => (1..ranks).map(|step| ((rank + step) % ranks, (rank + ranks - step) % ranks)).collect(),
        _ => (0..ranks.ilog2()).map(|stage| (rank ^ (1 << stage), rank ^ (1 << stage))).collect(),
    }
}

/// Writes steps. Each begins when both messages of the step before it are complete.
fn exchanges(text: &mut String, steps: &[(usize, usize)], bytes: usize) {
    for (step, (to, from)) in steps.iter().enumerate() {
        let _ =
            writeln!(text, "s{step}: send {bytes}b to {to} tag {step}\nr{step}: recv {bytes}b from {from} tag {step}");
        if let Some(before) = step.checked_sub(1) {
            for name in ["s", "r"] {
                let _ = writeln!(text, "{name}{step} requires s{before}\n{name}{step} requires r{before}");
            }
        }
    }
}
