//! The Blue Gene/P paper, Section 3.3: errors and locks of a shared table.

use super::Section;
use crate::error::Result;
use crate::explore::machine::Card;
use crate::explore::published::{self, Table, quoted};
use crate::explore::validate::{Check, Kind, Verdict, predict};

/// Words of the table of Section 3.3: 128 MB.
const WORDS: f64 = 16777216.0;

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-2a")?;
    wrong_words(checks, &table)?;
    deviations(checks, &table)?;
    locks(checks)
}

/// Number of a row.
fn of(table: &Table, row: usize, column: &str) -> f64 {
    table.number(row, column).unwrap_or(f64::NAN)
}

fn wrong_words(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let source = "Blue Gene/P paper, Table 2 (a), mean error rate: e0 + u (k - 1) w/(t N) wrong words per word, e0 and w fitted; \
                  within one printed standard deviation";
    let mut section = Section::new(checks, Kind::Measurement, source, "1e-6");
    for row in 0..table.rows.len() {
        let (updates, mean) = (of(table, row, "updates_mi"), of(table, row, "error_rate_mean"));
        let deviation = of(table, row, "error_rate_deviation");
        let given = [("cores", 4.0), ("N_words", WORDS), ("updates", updates * 1048576.0 / WORDS)];
        let rate = 1e6 * predict("random_access.lost_updates", "bluegene-p", &given)?.value;
        let remark = format!("residual {:+.1} standard deviations", (mean - rate) / deviation);
        section.noted(format!("{updates}M updates"), (mean, rate), deviation, &remark);
    }
    Ok(())
}

fn deviations(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let source = "Blue Gene/P paper, Table 2 (a), standard deviation by mean, if words went wrong independently";
    let mut section = Section::new(checks, Kind::Measurement, source, "");
    for row in 0..table.rows.len() {
        let words = of(table, row, "error_rate_mean") * 1e-6 * WORDS;
        let (printed, poisson) = (of(table, row, "ratio"), 1.0 / words.sqrt());
        let remark = format!("{:.1} times as much: losses come in bursts, which the model lacks", printed / poisson);
        let what = format!("{}M updates", of(table, row, "updates_mi"));
        section.judged(what, (printed, poisson), Verdict::NotExplained, &remark);
    }
    let source = "Blue Gene/P paper, Table 2 (a), Std./mean from its columns";
    let mut section = Section::new(checks, Kind::Identity, source, "");
    for row in 0..table.rows.len() {
        let ratio = of(table, row, "error_rate_deviation") / of(table, row, "error_rate_mean");
        section.near(format!("{}M updates", of(table, row, "updates_mi")), (of(table, row, "ratio"), ratio), 0.006, "");
    }
    Ok(())
}

fn locks(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-2b")?;
    let serial = Card::find("bluegene-p")?.require("local_seconds")?;
    let source = "Blue Gene/P paper, Table 2 (b), four cores queueing for locks, hold and free time fitted, within 2 %";
    let mut section = Section::new(checks, Kind::Measurement, source, "relative to one core");
    for row in 0..table.rows.len() {
        let (Some(locks), Some(value)) = (table.number(row, "locks"), table.number(row, "relative")) else { continue };
        let rate = predict("random_access.locks", "bluegene-p", &[("cores", 4.0), ("locks", locks)])?.value;
        section.near(format!("{locks} locks"), (value, rate * serial), 0.02 * value, "");
    }
    let source = "Blue Gene/P paper, Section 3.3, from Table 2 (b)";
    let mut section = Section::new(checks, Kind::Identity, source, "");
    section.near(
        "degradation by a single lock",
        (quoted("single_lock_factor")?, 1.0 / of(&table, 2, "relative")),
        0.05,
        "",
    );
    Ok(())
}
