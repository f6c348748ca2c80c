//! The hypercube paper: the look-ahead Q, what it lets a processor store, and the parts of a stage.

use super::{Section, printed};
use crate::validate::{Check, Fault, Kind, PublishedFit, Verdict};
use apexmap_base::error::{Error, Result};
use apexmap_theory::fit::Point;
use apexmap_theory::machine::Card;
use apexmap_theory::published::{self, quoted};
use std::f64::consts::PI;

pub fn all(checks: &mut Vec<Check>, fits: &[PublishedFit]) -> Result<()> {
    rates(checks, fits)?;
    stage(checks)?;
    excess(checks)
}

/// Rates over Q by the round in parts, whose numbers are fitted to Tables 2 and 4 together.
fn rates(checks: &mut Vec<Check>, fits: &[PublishedFit]) -> Result<()> {
    let by_parts = fits.iter().find(|fitted| fitted.model == "random_access.all_to_all");
    let fit = by_parts.and_then(|fitted| fitted.fit.as_ref());
    let fit = fit.ok_or_else(|| Error::internal("there is no fit to Table 4 of the hypercube paper"))?;
    let table = published::table("hypercube-table-4")?;
    let all: Vec<(f64, f64, &Point)> = printed(&table, "look_ahead", "gups")
        .into_iter()
        .filter_map(|(q, _, gups)| Some((q, gups, fit.points.iter().find(|point| point.x[..2] == [32.0, q])?)))
        .collect();
    let why = |q: f64| match q {
        q if q > 8192.0 => "the measured rate falls again, as of a cache, which the model does not have",
        _ => "one latency, copying and bandwidth for all Q",
    };
    let source = "hypercube paper, Table 4, the round in parts, fitted to Tables 2 and 4, within 10 %";
    let mut section = Section::new(checks, Kind::Fitted, source, "GUPS");
    for (q, gups, point) in &all {
        section.near(format!("Q = {q}"), (*gups, 1e-9 * point.predicted), 0.1 * gups, why(*q));
    }
    let source =
        "hypercube paper, Table 4, the round in parts, fitted to Table 2 and the other rows of Table 4, within 10 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "GUPS");
    for (q, gups, point) in all {
        let Some(left_out) = point.left_out else { continue };
        section.near(format!("Q = {q}"), (gups, 1e-9 * left_out), 0.1 * gups, why(q));
    }
    Ok(())
}

/// T_C is "consistent with MPI latency/bandwidth costs for 4K-byte messages ... when data-copy costs are factored in".
fn stage(checks: &mut Vec<Check>) -> Result<()> {
    let card = Card::find("red-storm")?;
    let latency = 1e6 * card.require("network_latency_seconds")?;
    let bytes = quoted("hypercube_message_bytes")?;
    let sent = 1e6 * bytes / card.require("network_bandwidth_bytes_per_second")?;
    let whole = quoted("tc_us")?;
    let copying = whole - latency - sent;
    let source =
        "hypercube paper, Section 3, TC in parts: the latency and 4 KB by the bandwidth of Section 1, and copying";
    let mut section = Section::new(checks, Kind::Model, source, "us");
    let remark = format!(
        "copying is left with {copying:.1} us, {:.1} ns for each of 1024 datums: the paper does not print its cost",
        1e3 * copying / 1024.0
    );
    section.judged("TC, without copying", (whole, latency + sent), Verdict::NotExplained, &remark);
    Ok(())
}

/// Mean of what a processor receives beyond Q in a round, as a share of Q. It receives Q' of P Q updates, each with probability
/// 1/P: by the normal distribution the mean of what is above the mean is the standard deviation over sqrt(2 pi).
fn excess_share(ranks: f64, look_ahead: f64) -> f64 {
    ((1.0 - 1.0 / ranks) / (2.0 * PI * look_ahead)).sqrt()
}

/// "In our tests, this is less than 1% of the total".
fn excess(checks: &mut Vec<Check>) -> Result<()> {
    let source = "hypercube paper, Footnote 1: updates Q' - Q that a processor receives beyond Q = 1024";
    let limit = quoted("excess_limit")?;
    let mut section = Section::new(checks, Kind::Predicted, source, "%").at_fault(Fault::Paper);
    for ranks in [2.0, 4.0, 32.0, 8192.0] {
        let share = 100.0 * excess_share(ranks, 1024.0);
        let (verdict, remark) = if share < limit {
            (Verdict::Agrees, "the paper: less than; sqrt((1 - 1/P) / (2 pi Q))")
        } else {
            (
                Verdict::Differs,
                "the paper: less than. This does not hold from P = 4 on, nor would discarding keep the 1 % rule",
            )
        };
        section.judged(format!("P = {ranks}"), (limit, share), verdict, remark);
    }
    Ok(())
}
