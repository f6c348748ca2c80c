use super::{Rules, Tally};
use crate::kernels::prelude::*;
use crate::kernels::random_access::problem::{LOOK_AHEAD_LIMIT, Problem};

/// The expected value of `fullest_destination` if all destinations are equally likely: each of `parts` ranks sends its first
/// `updates` updates to `parts` destinations. The result is the mean plus the tail of a Poisson distribution that one of parts^2
/// draws reaches (leading terms).
fn fair_fullest(updates: f64, parts: f64) -> f64 {
    if parts == 1.0 {
        return updates;
    }
    let (mean, tail) = (updates / parts, 2.0 * parts.ln());
    mean + (2.0 * mean * tail).sqrt() + tail / 3.0
}

#[derive(Clone, Copy)]
pub struct Report {
    /// The bits of the time as `f64`.
    pub seconds: u64,
    pub tally: Tally,
    /// Updates of this rank's words, from the streams.
    pub demanded: u64,
    pub generated: u64,
    /// Computed from the streams.
    pub demanded_hash: u64,
    pub errors: u64,
    pub words: u64,
    pub fullest: u64,
    pub hash: u64,
}

impl Report {
    pub fn gather<C: Collectives>(&self, comm: &C) -> Reports {
        let (tally, optional) = (&self.tally, |count: Option<u64>| count.map_or(0, |count| count + 1));
        // A number that may be absent is one more than itself, and zero for none.
        let row = [
            [self.seconds, tally.applied, tally.messages, optional(tally.in_memory), tally.hops, tally.stored],
            [
                optional(tally.excess),
                tally.buffer_bytes,
                tally.discarded,
                tally.discarded_hash,
                self.demanded,
                self.generated,
            ],
            [self.demanded_hash, self.errors, self.words, self.fullest, self.hash, 0],
        ];
        let rows = comm.gather(row.as_flattened()).unwrap_or_else(|| row.as_flattened().to_vec());
        let read = |&[first, second, third]: &[[u64; 6]; 3]| {
            let [seconds, applied, messages, in_memory, hops, stored] = first;
            let [excess, buffer_bytes, discarded, discarded_hash, demanded, generated] = second;
            let [demanded_hash, errors, words, fullest, hash, _] = third;
            let [in_memory, excess] = [in_memory, excess].map(|count| count.checked_sub(1));
            let tally =
                Tally { applied, messages, in_memory, hops, stored, excess, buffer_bytes, discarded, discarded_hash };
            Report { seconds, tally, demanded, generated, demanded_hash, errors, words, fullest, hash }
        };
        Reports(rows.as_chunks().0.as_chunks().0.iter().map(read).collect())
    }
}

pub struct Reports(Vec<Report>);

impl Reports {
    fn sum(&self, value: impl Fn(&Report) -> u64) -> u64 {
        self.0.iter().map(value).sum()
    }

    fn max(&self, value: impl Fn(&Report) -> u64) -> u64 {
        self.0.iter().map(value).max().unwrap_or(0)
    }

    /// `memory` is that of all nodes, in words.
    pub fn outcome(&self, problem: &Problem, rules: Rules, granted: GrantedPages, memory: u64) -> Outcome {
        let mut seconds: Vec<f64> = self.0.iter().map(|rank| f64::from_bits(rank.seconds)).collect();
        seconds.sort_by(f64::total_cmp);
        let slowest = seconds[seconds.len() - 1];
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let (errors, generated) = (self.sum(|rank| rank.errors), self.sum(|rank| rank.generated));
        let error_fraction = errors as f64 / self.sum(|rank| rank.words) as f64;
        let per_update = |count: u64| Value::Real(count as f64 / generated.max(1) as f64);
        let hops = self.sum(|rank| rank.tally.hops);
        let stored = self.max(|rank| rank.tally.stored);
        let flag = |set: bool| Value::Integer(u64::from(set));
        // Some machines hide their memory: JSON has no infinity, and nothing then shows that the rule is kept.
        let memory_share = (memory > 0).then(|| self.sum(|rank| rank.words) as f64 / memory as f64);
        let mut broken = problem.rules_broken();
        let further_rules = [
            (rules.conformant, "algorithm"),
            (error_fraction <= MAX_ERROR_FRACTION, "errors"),
            // The largest power of two that fits into half of the memory.
            (memory_share.is_some_and(|share| 0.25 < share && share <= 0.5), "table size"),
        ];
        broken.extend(further_rules.into_iter().filter(|(kept, _)| !kept).map(|(_, rule)| rule));
        let mut outputs = BTreeMap::from([
            ("rank_seconds_min", Value::Real(seconds[0])),
            ("rank_seconds_mean", Value::Real(mean)),
            ("imbalance", Value::Real(if mean > 0.0 { slowest / mean } else { 1.0 })),
            ("messages_per_update", per_update(self.sum(|rank| rank.tally.messages))),
            ("hops_per_update", per_update(hops)),
            ("bytes_sent_per_update", per_update(hops * apexmap_base::units::WORD_BYTES)),
            ("stored_max", Value::Integer(stored)),
            ("stored_over_limit", flag(stored > problem.look_ahead as u64)),
            ("buffer_bytes", Value::Integer(self.max(|rank| rank.tally.buffer_bytes))),
            ("errors", Value::Integer(errors)),
            ("error_fraction", Value::Real(error_fraction)),
            ("table_hash", Value::Text(format!("{:016x}", self.0.iter().fold(0, |hash, rank| hash ^ rank.hash)))),
            ("updates_made", Value::Integer(generated)),
            ("conformant", flag(broken.is_empty())),
            ("rules_broken", Value::Text(if broken.is_empty() { "none".into() } else { broken.join(", ") })),
        ]);
        outputs.extend(memory_share.map(|share| ("memory_share", Value::Real(share))));
        outputs.extend(self.skew(problem));
        let excess: Option<u64> = self.0.iter().map(|rank| rank.tally.excess).sum();
        outputs.extend(excess.map(|excess| ("excess_share", per_update(excess))));
        let in_memory: Option<u64> = self.0.iter().map(|rank| rank.tally.in_memory).sum();
        let messages = self.sum(|rank| rank.tally.messages);
        let share = in_memory.map(|count| count as f64 / messages.max(1) as f64);
        outputs.extend(share.map(|share| ("memory_share_of_messages", Value::Real(share))));
        let way = match share {
            _ if messages == 0 => Some("without messages"),
            Some(0.0) => Some("by messages"),
            Some(1.0) => Some("through memory"),
            share => share.map(|_| "through memory and by messages"),
        };
        outputs.extend(way.map(|way| ("message_way", Value::Text(way.into()))));
        outputs.extend(granted.outputs());
        Outcome { seconds: slowest, outputs, verdict: self.verdict(rules, error_fraction) }
    }

    fn skew(&self, problem: &Problem) -> Vec<(&'static str, Value)> {
        let parts = problem.owners.parts();
        if parts == 1 {
            return Vec::new();
        }
        let counted = problem.stream_updates(0).min(LOOK_AHEAD_LIMIT as u64) as f64;
        let (fullest, fair) = (self.max(|rank| rank.fullest), fair_fullest(counted, parts as f64));
        // Successive values are shifts of each other. Even good starts are therefore less uniform than independent draws.
        let weak = fullest as f64 > fair + 8.0 * fair.sqrt();
        vec![
            ("fullest_destination", Value::Integer(fullest)),
            ("fullest_fair", Value::Real(fair)),
            ("weak_starts", Value::Integer(u64::from(weak))),
        ]
    }

    /// Every update was either applied to its word or discarded, exactly once.
    fn verdict_of_discards(&self) -> Result<(), String> {
        let (applied, discarded) = (self.sum(|rank| rank.tally.applied), self.sum(|rank| rank.tally.discarded));
        let generated = self.sum(|rank| rank.generated);
        if applied + discarded != generated {
            return Err(format!(
                "{applied} updates were applied and {discarded} discarded, but {generated} were generated"
            ));
        }
        let applied_hash = self.0.iter().fold(0, |hash, rank| hash ^ rank.hash ^ rank.tally.discarded_hash);
        let demanded_hash = self.0.iter().fold(0, |hash, rank| hash ^ rank.demanded_hash);
        if applied_hash != demanded_hash {
            return Err("the hash of the updates that were applied or discarded is wrong".into());
        }
        Ok(())
    }

    fn verdict(&self, rules: Rules, error_fraction: f64) -> Result<(), String> {
        if rules.discards {
            return self.verdict_of_discards();
        }
        let ranks = self.0.len();
        let (applied, generated) = (self.sum(|rank| rank.tally.applied), self.sum(|rank| rank.generated));
        if applied != generated {
            return Err(format!("{applied} updates were applied, but {generated} were generated"));
        }
        if let Some(rank) = self.0.iter().position(|rank| rank.tally.applied != rank.demanded) {
            let Report { tally, demanded, .. } = self.0[rank];
            return Err(format!("rank {rank} applied {} updates, but {demanded} belong to it", tally.applied));
        }
        if rules.races {
            return match error_fraction {
                share if share <= MAX_ERROR_FRACTION => Ok(()),
                share => Err(format!("{:.3} % of the words are wrong; the maximum is 1 %", 100.0 * share)),
            };
        }
        match (self.sum(|rank| u64::from(rank.hash != rank.demanded_hash)), self.sum(|rank| rank.errors)) {
            (0, 0) => Ok(()),
            (0, errors) => Err(format!("{errors} words of the table are wrong")),
            (wrong_ranks, errors) => Err(format!(
                "the hash of the table is wrong on {wrong_ranks} of {ranks} ranks, and {errors} of its words are wrong"
            )),
        }
    }
}

/// The definition allows 1 %; the reference implementation counts words of the table.
const MAX_ERROR_FRACTION: f64 = 0.01;
