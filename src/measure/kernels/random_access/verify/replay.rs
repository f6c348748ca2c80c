//! The check of operations that cannot be undone: all updates once more, on a second table.

use super::undo::Demand;
use super::{BEFORE_UNDOING, LOOK_AHEAD_LIMIT, Problem, Table, note, table_hash};
use crate::measure::comm::Collectives;
use crate::measure::crew::Crew;

/// Updates that are generated and handed over at once.
const CHUNK: usize = 1 << 14;

/// What the streams demand, and how many of the rank's words are wrong. Each update goes straight from the rank that generates it to its
/// owner, which is found by division. Collective.
pub fn replay<C: Collectives>(comm: &C, problem: &Problem, crew: &Crew, made: &Table, first: u64) -> (Demand, u64) {
    let ranks = problem.nodes.count * problem.nodes.cores;
    let mut words: Vec<u64> = (first..).take(made.words.len()).collect();
    let mut table = Table::new(&mut words, first, problem.index).with(problem.operation);
    let (mut values, mut sorted, mut received) = (vec![0; CHUNK], Vec::new(), Vec::new());
    let mut demand = Demand::default();
    let (streams, rounds) = (problem.streams_per_rank(), problem.rounds(CHUNK));
    for number in 0..streams {
        let stream = problem.mine.clone().nth(number);
        let mut generator = stream.map(|stream| problem.generator(stream));
        let mut left = stream.map_or(0, |stream| problem.share(stream));
        for round in 0..rounds {
            let values = &mut values[..left.min(CHUNK as u64) as usize];
            left -= values.len() as u64;
            if let Some(generator) = &mut generator {
                generator.fill(values);
            }
            let owner = |value: u64| problem.nodes.rank(problem.owners.by_division(problem.index.of(value)));
            if round == 0 {
                let mut counts = vec![0; ranks];
                values.iter().take(LOOK_AHEAD_LIMIT).for_each(|&value| counts[owner(value)] += 1);
                demand.fullest = counts.into_iter().fold(demand.fullest, u64::max);
            }
            let mut lists = vec![Vec::new(); ranks];
            values.iter().for_each(|&value| lists[owner(value)].push(value));
            let counts: Vec<usize> = lists.iter().map(Vec::len).collect();
            sorted.clear();
            lists.iter().for_each(|list| sorted.extend_from_slice(list));
            match ranks {
                1 => received.clone_from(&sorted),
                _ => comm.all_to_all_v(&sorted, &counts, &mut received),
            }
            received.iter().for_each(|&value| table.update(value));
            demand.updates += received.len() as u64;
            let share = (number as f64 + (round + 1) as f64 / rounds as f64) / streams as f64;
            note(BEFORE_UNDOING + (1.0 - BEFORE_UNDOING) * share);
        }
    }
    demand.hash = table_hash(crew, &table, first);
    let wrong = made.words.iter().zip(table.words.iter()).filter(|(made, right)| made != right).count();
    (demand, wrong as u64)
}
