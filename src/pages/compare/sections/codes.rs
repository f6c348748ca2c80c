//! The ratios at the places of known codes.

use super::prelude::*;
use crate::compare::mix::{self, Mix, MixRatio, read};
use apexmap_theory::codes::Code;
use apexmap_theory::places::NoRate;
use std::result::Result;

type RatioWithInterval = (f64, Option<(f64, f64)>);

pub struct Codes {
    maps: Vec<Value>,
    pub sentences: Vec<String>,
}

impl Codes {
    pub fn new(comparison: &Comparison) -> Self {
        let (mut maps, mut sentences) = (Vec::new(), Vec::new());
        for group in comparison.groups().filter(|group| group.is_surface()) {
            let rows: Vec<Value> = comparison.codes.iter().map(|code| row(group, code)).collect();
            let mixes: Vec<String> = (1..comparison.machines.len())
                .filter_map(|machine| Some(sentence(comparison, &mix::mix(group, machine)?)))
                .collect();
            maps.push(json!({ "label": group.label, "rows": rows, "mixes": mixes }));
            sentences.extend(mixes);
        }
        Self { maps, sentences }
    }

    pub fn section(&self) -> Option<Value> {
        (!self.maps.is_empty()).then(|| json!({ "maps": self.maps }))
    }
}

fn row(group: Group, code: &Code) -> Value {
    let cell = |machine: usize| match ratio(group, machine, code) {
        Ok((ratio, interval)) => format_with_interval(ratio, interval),
        Err(reason) => reason.to_string(),
    };
    let cells: Vec<String> = (1..group.comparison.machines.len()).map(cell).collect();
    let (alpha, block) = (short_number(code.alpha), short_number(code.block_words));
    json!({ "code": code.name, "alpha": alpha, "block": block, "cells": cells })
}

fn ratio(group: Group, machine: usize, code: &Code) -> Result<RatioWithInterval, NoRate> {
    let part = |select: fn(f64, Option<(f64, f64)>) -> f64| {
        let value = |point: usize| {
            let tested = group.comparison.ratio(machine, point);
            tested.map_or(f64::NAN, |tested| select(tested.ratio.value, tested.ratio.interval))
        };
        read(group, machine, code, value)
    };
    let low = part(|_, interval| interval.map_or(f64::NAN, |(low, _)| low));
    let high = part(|_, interval| interval.map_or(f64::NAN, |(_, high)| high));
    Ok((part(|value, _| value)?, low.ok().zip(high.ok())))
}

fn sentence(comparison: &Comparison, mix: &Mix) -> String {
    let title = format!("Weighted mix of codes, {}: {}", mix.label, comparison.title(mix.machine));
    match &mix.ratio {
        Ok(MixRatio { mean, reservations }) => {
            let basis = match mean.basis {
                Basis::Nothing => "no interval is known, because points around a code have none",
                basis => BasisWords::new(basis).mean,
            };
            let undecided: Vec<String> = reservations.iter().map(|reservation| format!("; {reservation}")).collect();
            format!("{title} = {} ({basis}{}).", format_with_interval(mean.value, mean.interval), undecided.concat())
        }
        Err(left_out) => format!("{title} is not known: no ratio at {}.", left_out.join(", ")),
    }
}
