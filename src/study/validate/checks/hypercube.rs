//! The hypercube paper.

use super::{Section, half_digit, line, printed, without};
use crate::validate::{Check, Kind, SINGLE, Verdict, predict};
use apexmap_base::error::Result;
use apexmap_theory::models::hypercube;
use apexmap_theory::published::{self, Table, quoted};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    table_1(checks)?;
    table_2(checks)?;
    efficiencies(checks)?;
    text(checks)?;
    exchanges(checks)
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
    measured(checks, &table)
}

/// T_1 and T_C that fit these processors and rates best: least squares of the relative errors of T_P, the time of a round.
fn round_and_stage(rows: &[(f64, f64)]) -> (f64, f64) {
    let points: Vec<_> = rows.iter().map(|(ranks, gups)| (ranks.log2(), ranks / gups, ranks / gups)).collect();
    line(&points)
}

/// The rate by these T_1 and T_C.
fn by(numbers: (f64, f64), ranks: f64) -> f64 {
    ranks / (numbers.0 + numbers.1 * ranks.log2())
}

/// The measured rates. The paper gives T_1 and T_C beside them, and does not say how it chose T_C.
fn measured(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let rows = table.pairs("processors", "gups");
    let (powers, odd): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(ranks, _)| (*ranks as u64).is_power_of_two());
    let source = "hypercube paper, Table 2, measured powers of two by the T_1 and T_C that the paper gives beside them, within 10 %";
    let mut section = Section::new(checks, Kind::Fitted, source, "GUPS");
    let why = "T_C is that of many processors; a stage costs less on few";
    for &(ranks, value) in &powers {
        section.near(format!("P = {ranks}"), (value, red_storm(ranks)?), 0.1 * value, why);
    }
    let source = "hypercube paper, Table 2, measured powers of two by T_1 and T_C fitted to the other powers of two, within 10 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "GUPS");
    let why = "stages cost less on few processors, which moves T_1 where one processor is left out";
    for (left_out, &(ranks, value)) in powers.iter().enumerate() {
        let predicted = by(round_and_stage(&without(&powers, left_out)), ranks);
        section.near(format!("P = {ranks}"), (value, predicted), 0.1 * value, why);
    }
    let source = "hypercube paper, Table 2, other numbers of processors by the paper's T_1 and T_C, and one more latency of 7 us for \
                  each stage of an odd number of processors, within 10 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "GUPS");
    for (ranks, value) in odd {
        section.near(
            format!("P = {ranks}"),
            (value, red_storm(ranks)?),
            0.1 * value,
            "an odd stage costs another time",
        );
    }
    let source = "hypercube paper, Section 3: the rate \"nearly doubles each time P is doubled\", by T_1 and T_C fitted up to 1024 processors";
    let mut section = Section::new(checks, Kind::Predicted, source, "");
    let doubled = cell(table, 8192.0, "gups") / cell(table, 4096.0, "gups");
    let small: Vec<_> = powers.into_iter().filter(|(ranks, _)| *ranks <= 1024.0).collect();
    let numbers = round_and_stage(&small);
    let growth = by(numbers, 8192.0) / by(numbers, 4096.0);
    section.near("from 4096 to 8192 processors", (doubled, growth), 0.005, "a stage costs more on many processors");
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

/// A number of a table of processors.
pub(super) fn cell(table: &Table, ranks: f64, column: &str) -> f64 {
    table.pairs("processors", column).into_iter().find(|pair| pair.0 == ranks).map_or(f64::NAN, |pair| pair.1)
}
