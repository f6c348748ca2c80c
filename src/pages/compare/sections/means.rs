//! Geometric means of ratios over points: of each machine to the base, of each pair, and a ranking of three or more.

use super::prelude::*;
use crate::compare::geometric_mean::{geometric_mean, mean_over_points};
use apexmap_results::samples::estimate::Mean;
use apexmap_theory::statistics::rank_tests::MannWhitney;
use rand::SeedableRng;
use rand_distr::{Distribution, StudentT};
use rand_pcg::Pcg64Mcg;

/// Fixed, so that equal results give equal ranks.
const SEED: u64 = 1;

pub struct Means {
    pub section: Option<Value>,
    pub fastest: Option<String>,
}

impl Means {
    pub fn new(comparison: &Comparison) -> Self {
        let by_process = comparison.by_scope[0].iter().filter(|_| !comparison.points.devices.is_empty());
        let mut chosen: Vec<_> = by_process.map(|over| (Some(over.scope.label()), over.points.as_slice())).collect();
        if chosen.is_empty() {
            chosen.push((None, comparison.matched.as_slice()));
        }
        let several = chosen.into_iter().filter(|_| comparison.machines.len() > 2);
        let (scopes, mut fastest): (Vec<Value>, Vec<Option<String>>) =
            several.filter_map(|(label, points)| scope(comparison, label, points)).unzip();
        let (lines, exact) = (lines(comparison), comparison.is_exact());
        let section = (!lines.is_empty() || !scopes.is_empty())
            .then(|| json!({ "exact": exact, "lines": lines, "scopes": scopes }));
        // Several numbers of processes have several fastest machines.
        Self { section, fastest: fastest.pop().filter(|_| fastest.is_empty()).flatten() }
    }
}

fn scope(comparison: &Comparison, label: Option<String>, members: &[usize]) -> Option<(Value, Option<String>)> {
    let is_finished = |&&index: &&usize| {
        let mut data = comparison.point(index).by_machine.iter();
        data.all(|data| data.as_ref().is_some_and(|data| data.samples() > 0))
    };
    let finished: Vec<usize> = members.iter().filter(is_finished).copied().collect();
    // If no point was finished by all machines, each pair uses its own common points.
    let chosen = if finished.is_empty() { members } else { &finished };
    let pairs = Pairs::new(comparison, chosen);
    let points: Vec<&Point> = finished.iter().map(|&index| comparison.point(index)).collect();
    let mut ranks = ranking(comparison, &points);
    // Draws over launches do not include what else keeps a pair undecided.
    for rank in ranks.iter_mut().filter(|rank| pairs.are_limited(rank.index)) {
        (rank.range, rank.first) = (None, None);
    }
    let fastest = ranks.iter().find(|rank| rank.rank == 1).map(|rank| pairs.name_fastest(comparison, rank));
    let (rows, matrix) = (ranks.iter().map(MachineRank::row).collect::<Vec<_>>(), pairs.matrix());
    (!rows.is_empty() || !matrix.is_empty())
        .then(|| (json!({ "label": label, "ranks": rows, "matrix": matrix, "matrix_cells": finished.len() }), fastest))
}

fn lines(comparison: &Comparison) -> Vec<Value> {
    let mut tests = MannWhitney::default();
    let mut lines = Vec::new();
    for machine in 1..comparison.machines.len() {
        let name = comparison.name(machine);
        for group in comparison.groups().filter(|_| comparison.groups().count() > 1) {
            let points: Vec<&Point> = group.points.iter().map(|&index| comparison.point(index)).collect();
            lines.extend(geometric_mean(&points, machine, 0, &mut tests).map(|mean| line(name, &group.label, mean)));
        }
        let scopes = comparison.scopes(machine).iter();
        lines.extend(scopes.filter_map(|over| Some(line(name, &over.scope.label(), over.mean?))));
    }
    lines
}

fn line(machine: &str, group: &str, mean: GeometricMean) -> Value {
    json!({
        "machine": machine,
        "group": group,
        "cells": mean.cells,
        "mean": format_ratio(mean.value),
        "interval": format_interval(mean.interval).unwrap_or_else(|| "none".into()),
        "least": format_ratio(mean.least),
        "most": format_ratio(mean.most),
        "basis": BasisWords::new(mean.basis).short,
    })
}

type PairMean = Option<(GeometricMean, Vec<Reservation>)>;

/// Each machine relative to each other one, over the same points.
struct Pairs(Vec<Vec<PairMean>>);

impl Pairs {
    fn new(comparison: &Comparison, chosen: &[usize]) -> Self {
        let points: Vec<&Point> = chosen.iter().map(|&index| comparison.point(index)).collect();
        let mut tests = MannWhitney::default();
        let mut pair = |machine: usize, base: usize| {
            let mean = geometric_mean(&points, machine, base, &mut tests).filter(|_| machine != base)?;
            Some((mean, verdict::reservations(comparison, [machine, base], &mean, chosen)))
        };
        let machines = 0..comparison.machines.len();
        Self(machines.clone().map(|machine| machines.clone().map(|base| pair(machine, base)).collect()).collect())
    }

    fn matrix(&self) -> Vec<Vec<String>> {
        if self.0.iter().flatten().all(Option::is_none) {
            return Vec::new();
        }
        let cell = |pair: &PairMean| {
            let Some((mean, reservations)) = pair else { return "\u{2013}".to_owned() };
            let ratio = match reservations.first() {
                Some(Reservation::SingleLaunch { .. }) => format!("{} (single launch)", format_ratio(mean.value)),
                Some(_) => format!("{} (disturbed)", format_with_interval(mean.value, mean.interval)),
                None => format_with_interval(mean.value, mean.interval),
            };
            format!("{ratio}, n = {}", mean.cells)
        };
        self.0.iter().map(|row| row.iter().map(cell).collect()).collect()
    }

    /// Something besides noise keeps a mean of the machine undecided.
    fn are_limited(&self, machine: usize) -> bool {
        self.0[machine].iter().flatten().any(|(_, reservations)| !reservations.is_empty())
    }

    fn name_fastest(&self, comparison: &Comparison, rank: &MachineRank) -> String {
        let pairs: Vec<_> = self.0[rank.index].iter().flatten().collect();
        let is = |direction: Direction| pairs.iter().any(|(mean, _)| mean.direction() == direction);
        let mut reasons: Vec<String> =
            pairs.iter().flat_map(|(_, reservations)| reservations).map(Reservation::to_string).collect();
        reasons.sort();
        reasons.dedup();
        let name = comparison.name(rank.index);
        let first = rank.first.filter(|_| !comparison.is_exact());
        let share = first.map(|share| format!("first in {:.1} % of draws", 100.0 * share));
        let and = |words: Option<String>| words.map_or_else(String::new, |words| format!(", {words}"));
        match reasons.is_empty() {
            false => format!("Fastest overall: not decided, because {}.", reasons.join(" and ")),
            true if is(Direction::Undecided) => {
                format!("Fastest overall: not decided{}.", and(share.map(|share| format!("{name} is {share}"))))
            }
            true if is(Direction::Unknown) => format!("Fastest overall: {name}; no interval is known."),
            true => format!("Fastest overall: {name}{}.", and(share)),
        }
    }
}

struct MachineRank {
    index: usize,
    machine: String,
    /// Starts at 1, in the order of the mean logarithm of the speed.
    rank: usize,
    /// In 95 % of the draws; `None` if the variation between launches is unknown, or a disturbance may explain a difference.
    range: Option<(usize, usize)>,
    first: Option<f64>,
    /// Geometric mean, relative to that of all machines.
    speed: f64,
}

impl MachineRank {
    fn row(&self) -> [String; 5] {
        let unknown = || "unknown".to_owned();
        let range = self.range.map_or_else(unknown, |(low, high)| match low == high {
            true => low.to_string(),
            false => format!("{low} to {high}"),
        });
        let first = self.first.map_or_else(unknown, |share| format!("{:.1} %", 100.0 * share));
        [self.rank.to_string(), self.machine.clone(), format_ratio(self.speed), range, first]
    }
}

const DRAWS: usize = 10_000;

/// Over the points that all finished. The means over launches are drawn from their t distributions.
fn ranking(comparison: &Comparison, points: &[&Point]) -> Vec<MachineRank> {
    if points.is_empty() {
        return Vec::new();
    }
    let data_of = |machine: usize| -> Vec<(f64, PointData)> {
        points.iter().filter_map(|point| Some((1.0, point.by_machine[machine].clone()?))).collect()
    };
    let means: Vec<Option<Mean>> =
        (0..comparison.machines.len()).map(|machine| mean_over_points(&data_of(machine))).collect();
    let values: Vec<f64> = (0..comparison.machines.len())
        .map(|machine| {
            let logs = data_of(machine).into_iter().filter_map(|(_, data)| Some(data.speed()?.ln()));
            means[machine].map_or_else(|| logs.sum::<f64>() / points.len() as f64, |mean| mean.value)
        })
        .collect();
    let average = values.iter().sum::<f64>() / values.len() as f64;
    let place = |values: &[f64], machine: usize| 1 + values.iter().filter(|other| **other > values[machine]).count();
    let all_means: Option<Vec<Mean>> = means.into_iter().collect();
    let draws = all_means.map(|all_means| draw_means(&all_means));
    let mut ranks: Vec<MachineRank> = comparison
        .machines
        .iter()
        .enumerate()
        .map(|(index, machine)| {
            let mut places: Option<Vec<usize>> =
                draws.as_ref().map(|draws| draws.iter().map(|values| place(values, index)).collect());
            places.iter_mut().for_each(|places| places.sort_unstable());
            let quantile =
                |places: &Vec<usize>, share: f64| places[((places.len() - 1) as f64 * share).round() as usize];
            MachineRank {
                index,
                machine: machine.name.clone(),
                rank: place(&values, index),
                range: places.as_ref().map(|places| (quantile(places, 0.025), quantile(places, 0.975))),
                first: places.as_ref().map(|p| p.iter().filter(|place| **place == 1).count() as f64 / p.len() as f64),
                speed: (values[index] - average).exp(),
            }
        })
        .collect();
    ranks.sort_by_key(|rank| rank.rank);
    ranks
}

fn draw_means(means: &[Mean]) -> Vec<Vec<f64>> {
    let mut random = Pcg64Mcg::seed_from_u64(SEED);
    let mut draw = |mean: &Mean| match StudentT::new(mean.freedom.min(1e6)) {
        Ok(t) if mean.variance > 0.0 => mean.value + mean.variance.sqrt() * t.sample(&mut random),
        _ => mean.value,
    };
    (0..DRAWS).map(|_| means.iter().map(&mut draw).collect()).collect()
}
