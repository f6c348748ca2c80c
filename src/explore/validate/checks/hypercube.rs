//! The hypercube paper.

use super::{Section, half_digit, printed};
use crate::error::Result;
use crate::explore::models::hypercube;
use crate::explore::published::{self, Table, quoted};
use crate::explore::validate::{Check, Kind, SINGLE, Verdict, predict};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    table_1(checks)?;
    table_2(checks)?;
    efficiencies(checks)?;
    text(checks)?;
    exchanges(checks)?;
    optimisations(checks)
}

/// GUPS of Red Storm by the model.
fn red_storm(ranks: f64) -> Result<f64> {
    Ok(predict("random_access.hypercube", "red-storm", &[("P", ranks)])?.value / 1e9)
}

fn table_1(checks: &mut Vec<Check>) -> Result<()> {
    let pairs = published::table("hypercube-table-1")?.pairs("processors", "gups");
    let ((_, single), (ranks, gups)) = (pairs[0], pairs[pairs.len() - 1]);
    let efficiency = 100.0 * gups / (ranks * single);
    let mut section = Section::new(checks, Kind::Identity, "hypercube paper, Table 1, efficiency from the rates", "%");
    let limit = quoted("baseline_efficiency_limit")?;
    let verdict = if efficiency < limit { Verdict::Agrees } else { Verdict::Differs };
    section.judged(format!("processors {ranks}"), (limit, efficiency), verdict, "the paper: less than");
    Ok(())
}

fn table_2(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("hypercube-table-2")?;
    let mut section = Section::new(checks, Kind::Model, "hypercube paper, Table 2, model row", "GUPS");
    for (ranks, text, value) in printed(&table, "processors", "gups_model") {
        section.near(format!("P = {ranks}"), (value, red_storm(ranks)?), half_digit(text), "");
    }
    let source = "hypercube paper, Table 2, measured row by the model, 0.3 T_C more for each stage of an odd number of processors, within 10 %";
    let mut section = Section::new(checks, Kind::Measurement, source, "GUPS");
    for (ranks, _, value) in printed(&table, "processors", "gups") {
        let why = "T_C is that of many processors; a stage costs less on few";
        section.near(format!("P = {ranks}"), (value, red_storm(ranks)?), 0.1 * value, why);
    }
    let doubled = cell(&table, 8192.0, "gups") / cell(&table, 4096.0, "gups");
    let source = "hypercube paper, Section 3: the rate \"nearly doubles each time P is doubled\"";
    let mut section = Section::new(checks, Kind::Measurement, source, "");
    let growth = red_storm(8192.0)? / red_storm(4096.0)?;
    section.near("from 4096 to 8192 processors", (doubled, growth), 0.005, "");
    Ok(())
}

fn efficiencies(checks: &mut Vec<Check>) -> Result<()> {
    for (name, x, source) in [
        ("hypercube-table-2", "processors", "hypercube paper, Table 2, efficiency from the rates"),
        ("hypercube-table-4", "look_ahead", "hypercube paper, Table 4, efficiency from the rates"),
    ] {
        let table = published::table(name)?;
        let mut section = Section::new(checks, Kind::Identity, source, "%");
        for ((at, text, value), (_, _, gups)) in
            printed(&table, x, "efficiency_percent").into_iter().zip(printed(&table, x, "gups"))
        {
            let ranks = if x == "processors" { at } else { 32.0 };
            // The rates are rounded too, to three digits.
            let tolerance = half_digit(text).max(0.003 * value);
            section.near(format!("{x} {at}"), (value, 100.0 * gups / (ranks * SINGLE)), tolerance, "");
        }
    }
    Ok(())
}

fn text(checks: &mut Vec<Check>) -> Result<()> {
    let source = "hypercube paper, Section 3";
    let gups = predict("random_access.hypercube", "bluegene-l", &[("P", 131_072.0)])?.value / 1e9;
    let mut section = Section::new(checks, Kind::Model, source, "GUPS");
    section.near("Blue Gene/L, 128K processors", (quoted("bgl_hypercube_model_gups")?, gups), 0.5, "");
    let efficiency = 100.0 * red_storm(4.0)? / (4.0 * red_storm(1.0)?);
    let mut section = Section::new(checks, Kind::Model, source, "%");
    let remark = "the text takes 2 T_C, 66 us, as roughly T_1, 56.9 us";
    section.noted("efficiency of 4 processors", (quoted("efficiency_of_four")?, efficiency), 5.0, remark);
    Ok(())
}

/// Messages L and volume V of an exchange, by the model's formulas and by their limits in the text.
fn exchanges(checks: &mut Vec<Check>) -> Result<()> {
    let source = "hypercube paper, Section 2, messages L and volume V of a processor";
    let mut section = Section::new(checks, Kind::Model, source, "messages");
    for (dimensions, name, remark) in [
        (1.0, "messages_1d", "the text rounds P - 1 to P"),
        (2.0, "messages_2d", "the text counts 100 per row and column, not 99"),
    ] {
        let value = quoted(name)?;
        let messages = hypercube::messages(10000.0, dimensions);
        section.noted(format!("P = 10000, d = {dimensions}"), (value, messages), 0.011 * value, remark);
    }
    let mut section = Section::new(checks, Kind::Model, source, "B");
    let (stages, look_ahead) = (13.0, 1024.0);
    let bytes = 8.0 * hypercube::volume(8192.0, stages, look_ahead) / hypercube::messages(8192.0, stages);
    section.near("a message of the hypercube, Q = 1024", (quoted("hypercube_message_bytes")?, bytes), 0.5, "");
    let mut section = Section::new(checks, Kind::Model, source, "");
    let growth = hypercube::volume(8192.0, stages, look_ahead) / hypercube::volume(8192.0, 1.0, look_ahead);
    let remark = "log2(P)/2 of the text; 1d sends (P - 1)/P of Q, not all";
    section.noted("volume of the hypercube over that of 1d, P = 8192", (stages / 2.0, growth), 0.001, remark);
    Ok(())
}

/// Seconds of a stage: the median over the rows of what a run takes longer than on one processor.
fn stage(table: &Table, column: &str, single: f64) -> f64 {
    let mut stages: Vec<f64> = table
        .pairs("processors", column)
        .into_iter()
        .filter(|(ranks, _)| *ranks > 1.0)
        .map(|(ranks, seconds)| (seconds - single) / ranks.log2())
        .collect();
    stages.sort_by(f64::total_cmp);
    (stages[(stages.len() - 1) / 2] + stages[stages.len() / 2]) / 2.0
}

const COLUMNS: [&str; 7] = ["original", "mod1", "mod2", "mod3", "mod4", "mod5", "mod6"];

fn optimisations(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("hypercube-table-3")?;
    let source = "hypercube paper, Table 3, T1 + TC log2 P with the printed T1 and one TC for each column (the median), within 3 %";
    let mut section = Section::new(checks, Kind::Measurement, source, "s");
    for column in COLUMNS {
        let rows = table.pairs("processors", column);
        let single = rows[0].1;
        let stage = stage(&table, column, single);
        for (ranks, seconds) in rows.into_iter().filter(|(ranks, _)| *ranks > 1.0) {
            let why = match (column, ranks as u64) {
                ("mod2", 2) => "printed out of line: 10.113 before and 10.063 after it",
                ("mod6", 32) => "printed out of line: 21.628 with Mod5; on fewer processors Mod6 is like Mod5",
                _ => "a stage costs less on few processors than on many",
            };
            let value = single + stage * ranks.log2();
            section.near(format!("{column} (TC {stage:.3} s), P = {ranks}"), (seconds, value), 0.03 * seconds, why);
        }
    }
    gains(checks, &table)
}

/// A number of a table of processors.
fn cell(table: &Table, ranks: f64, column: &str) -> f64 {
    table.pairs("processors", column).into_iter().find(|pair| pair.0 == ranks).map_or(f64::NAN, |pair| pair.1)
}

/// What the last optimisation makes of the rate on 8192 processors, if it shortens each stage as on 32.
fn gains(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let at = |ranks: f64, column: &str| cell(table, ranks, column);
    let single = at(1.0, "original");
    let shorter = stage(table, "mod7", single) / stage(table, "original", single);
    let (round, exchange) = (quoted("t1_us")?, 13.0 * quoted("tc_us")?);
    let gain = 100.0 * ((round + exchange) / (round + exchange * shorter) - 1.0);
    let before = cell(&published::table("hypercube-table-2")?, 8192.0, "gups");
    let gups = 100.0 * (quoted("red_storm_optimised_gups")? / before - 1.0);
    let source = "hypercube paper, Section 4, gain of all optimisations, from Table 3";
    let mut section = Section::new(checks, Kind::Measurement, source, "%");
    let why = "on 8192 processors a stage gains less than on the 32 of Table 3";
    section.near("on 8192 processors", (gups, gain), 5.0, why);
    let mut section = Section::new(checks, Kind::Identity, source, "%");
    let decrease = |from: f64, to: f64| 100.0 * (1.0 - to / from);
    let overall = decrease(at(32.0, "original"), at(32.0, "mod7"));
    section.noted("all, 32 processors", (quoted("optimisations_gain")?, overall), 2.0, "the text: roughly");
    let first = decrease(at(8.0, "original"), at(8.0, "mod1"));
    let last = decrease(at(32.0, "mod5"), at(32.0, "mod7"));
    section.noted("Mod1, 8 processors", (quoted("mod1_gain")?, first), 2.0, "the text: nearly, for small counts");
    section.noted("Mod7, 32 processors", (quoted("mod7_gain")?, last), 1.0, "the text: a further 10 %");
    Ok(())
}
