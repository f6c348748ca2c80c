//! The hypercube paper, Section 4: its optimisations.

use super::hypercube::cell;
use super::{Section, without};
use crate::validate::{Check, Fault, Kind};
use apexmap_base::error::Result;
use apexmap_theory::published::{self, Table, quoted};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("hypercube-table-3")?;
    columns(checks, &table);
    gains(checks, &table)
}

/// What each run on several processors takes longer than on one, for each stage.
fn stages(rows: &[(f64, f64)], single: f64) -> Vec<f64> {
    let several = rows.iter().filter(|(ranks, _)| *ranks > 1.0);
    several.map(|(ranks, seconds)| (seconds - single) / ranks.log2()).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

const COLUMNS: [&str; 7] = ["original", "mod1", "mod2", "mod3", "mod4", "mod5", "mod6"];

fn columns(checks: &mut Vec<Check>, table: &Table) {
    for (kind, source) in [
        (
            Kind::Fitted,
            "hypercube paper, Table 3, T1 + TC log2 P with the printed T1 and one TC for each column (the median), within 3 %",
        ),
        (
            Kind::Predicted,
            "hypercube paper, Table 3, T1 + TC log2 P with the printed T1 and one TC, the median of the other rows of the column, within 3 %",
        ),
    ] {
        let mut section = Section::new(checks, kind, source, "s");
        for column in COLUMNS {
            let rows = table.pairs("processors", column);
            let single = rows[0].1;
            let all = stages(&rows, single);
            for (at, (ranks, seconds)) in rows.into_iter().filter(|(ranks, _)| *ranks > 1.0).enumerate() {
                let (fault, why) = match (column, ranks as u64) {
                    ("mod2", 2) => (Fault::Paper, "printed out of line: 10.113 before and 10.063 after it"),
                    ("mod6", 32) => {
                        (Fault::Paper, "printed out of line: 21.628 with Mod5; on fewer processors Mod6 is like Mod5")
                    }
                    _ => (Fault::Model, "a stage costs less on few processors than on many"),
                };
                section.at_fault = fault;
                let stage = median(&if kind == Kind::Predicted { without(&all, at) } else { all.clone() });
                let value = single + stage * ranks.log2();
                section.near(format!("{column} (TC {stage:.3} s), P = {ranks}"), (seconds, value), 0.03 * seconds, why);
            }
        }
    }
}

/// What the last optimisation makes of the rate on 8192 processors, if it shortens each stage as on 32.
fn gains(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let at = |ranks: f64, column: &str| cell(table, ranks, column);
    let single = at(1.0, "original");
    let stage = |column: &str| median(&stages(&table.pairs("processors", column), single));
    let shorter = stage("mod7") / stage("original");
    let (round, exchange) = (quoted("t1_us")?, 13.0 * quoted("tc_us")?);
    let gain = 100.0 * ((round + exchange) / (round + exchange * shorter) - 1.0);
    let before = cell(&published::table("hypercube-table-2")?, 8192.0, "gups");
    let gups = 100.0 * (quoted("red_storm_optimised_gups")? / before - 1.0);
    let source = "hypercube paper, Section 4, gain of all optimisations, from Table 3";
    let mut section = Section::new(checks, Kind::Predicted, source, "%");
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
