//! The Blue Gene/P paper, Section 3.3: errors and locks of a shared table.

use super::{Section, line, without};
use crate::validate::{Check, Kind, predict};
use apexmap_base::error::Result;
use apexmap_theory::machine::Card;
use apexmap_theory::models::{self, lost_updates};
use apexmap_theory::published::{self, Table, quoted};

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
    let residual = |mean: f64, rate: f64, sd: f64| format!("residual {:+.1} standard deviations", (mean - rate) / sd);
    let mut rows = Vec::new();
    let mut section = Section::new(checks, Kind::Fitted, source, "1e-6");
    for row in 0..table.rows.len() {
        let (updates, mean) = (of(table, row, "updates_mi"), of(table, row, "error_rate_mean"));
        let deviation = of(table, row, "error_rate_deviation");
        let per_word = updates * 1048576.0 / WORDS;
        let given = [("cores", 4.0), ("N_words", WORDS), ("updates", per_word)];
        let rate = 1e6 * predict("random_access.lost_updates", "bluegene-p", &given)?.value;
        section.noted(format!("{updates}M updates"), (mean, rate), deviation, &residual(mean, rate, deviation));
        rows.push((per_word, mean, deviation));
    }
    let source = "Blue Gene/P paper, Table 2 (a), mean error rate: the same line, fitted to the other rows; within one printed standard deviation";
    let mut section = Section::new(checks, Kind::Predicted, source, "1e-6");
    for (left_out, &(per_word, mean, deviation)) in rows.iter().enumerate() {
        let (none, slope) = line(&without(&rows, left_out));
        let rate = none + slope * per_word;
        let what = format!("{}M updates", of(table, left_out, "updates_mi"));
        section.noted(what, (mean, rate), deviation, &residual(mean, rate, deviation));
    }
    Ok(())
}

/// Variance by mean of the number of wrong words, of all these rows: their geometric mean.
fn burst(rows: &[(f64, f64)]) -> f64 {
    let logarithms = rows.iter().map(|(words, ratio)| (ratio * ratio * words).ln());
    (logarithms.sum::<f64>() / rows.len() as f64).exp()
}

fn deviations(checks: &mut Vec<Check>, table: &Table) -> Result<()> {
    let row = |row| (of(table, row, "error_rate_mean") * 1e-6 * WORDS, of(table, row, "ratio"));
    let rows: Vec<(f64, f64)> = (0..table.rows.len()).map(row).collect();
    for (kind, source) in [
        (
            Kind::Fitted,
            "Blue Gene/P paper, Table 2 (a), standard deviation by mean, if words go wrong in bursts of one size, fitted; within 30 %",
        ),
        (
            Kind::Predicted,
            "Blue Gene/P paper, Table 2 (a), standard deviation by mean, by the size of bursts fitted to the other rows; within 30 %",
        ),
    ] {
        let mut section = Section::new(checks, kind, source, "");
        for (at, &(words, printed)) in rows.iter().enumerate() {
            let size = if kind == Kind::Predicted { burst(&without(&rows, at)) } else { burst(&rows) };
            let alone = lost_updates::relative_deviation(words, 1.0);
            let remark = format!("bursts of {size:.1} words; independent losses would give {alone:.3}");
            let value = lost_updates::relative_deviation(words, size);
            let what = format!("{}M updates", of(table, at, "updates_mi"));
            section.noted(what, (printed, value), 0.3 * printed, &remark);
        }
    }
    let source = "Blue Gene/P paper, Table 2 (a), Std./mean from its columns";
    let mut section = Section::new(checks, Kind::Identity, source, "");
    for row in 0..table.rows.len() {
        let ratio = of(table, row, "error_rate_deviation") / of(table, row, "error_rate_mean");
        section.near(format!("{}M updates", of(table, row, "updates_mi")), (of(table, row, "ratio"), ratio), 0.006, "");
    }
    Ok(())
}

/// Hold and free time, in units of the serial update, by which the queue gives two numbers of locks their rates. All rates are
/// inverse to the times, and the fewer locks lose less the longer cores are free: their ratio gives free by hold.
fn hold_and_free(rows: [(f64, f64); 2], rate: &dyn Fn(f64, f64, f64) -> f64) -> (f64, f64) {
    let [(fewer, slow), (more, fast)] = rows;
    let (mut low, mut high): (f64, f64) = (1e-6, 1e6);
    for _ in 0..200 {
        let middle = (low * high).sqrt();
        let lower = rate(fewer, 1.0, middle) / rate(more, 1.0, middle) < slow / fast;
        if lower { low = middle } else { high = middle }
    }
    let hold = rate(fewer, 1.0, low) / slow;
    (hold, hold * low)
}

fn locks(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-2b")?;
    let serial = Card::find("bluegene-p")?.require("local_seconds")?;
    let source = "Blue Gene/P paper, Table 2 (b), four cores queueing for locks, hold and free time fitted, within 2 %";
    let mut section = Section::new(checks, Kind::Fitted, source, "relative to one core");
    let rows = table.pairs("locks", "relative");
    for &(locks, value) in &rows {
        let rate = predict("random_access.locks", "bluegene-p", &[("cores", 4.0), ("locks", locks)])?.value;
        section.near(format!("{locks} locks"), (value, rate * serial), 0.02 * value, "");
    }
    let source = "Blue Gene/P paper, Table 2 (b), four cores queueing for locks, hold and free time of the other two rows, within 2 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "relative to one core");
    let model = models::find("random_access.locks")?;
    let rate = |locks: f64, hold: f64, free: f64| model.predict(&[4.0, locks, 2.0], &[hold, free]).value;
    let why = "two rates of many locks, 2 % apart, do not tell how long one lock is held";
    for (left_out, &(locks, value)) in rows.iter().enumerate() {
        let [first, second] = without(&rows, left_out)[..] else { continue };
        let (hold, free) = hold_and_free([first, second], &rate);
        section.near(format!("{locks} locks"), (value, rate(locks, hold, free)), 0.02 * value, why);
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
