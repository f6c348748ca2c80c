//! The definition of RandomAccess, and the same in the papers.

use super::Section;
use crate::validate::{Check, Kind};
use apexmap_measure::numerics::gf2;

/// Steps after which x modulo a polynomial over GF(2) of degree up to 64 is back at 1, without the factor x^k, in which it never is.
/// `terms` are the exponents; only polynomials whose order is small enough to count.
fn order(terms: &[u32]) -> u64 {
    let least = terms.iter().min().copied().unwrap_or(0);
    let terms: Vec<u32> = terms.iter().map(|term| term - least).collect();
    let degree = terms.iter().max().copied().unwrap_or(0);
    let tail = terms.iter().filter(|&&term| term != degree).fold(0u128, |bits, term| bits | 1 << term);
    let step = |value: u128| {
        let moved = value << 1;
        if moved >> degree & 1 == 1 { (moved ^ 1 << degree) ^ tail } else { moved }
    };
    let mut value = step(1);
    let mut steps = 1;
    while value != 1 && steps < 1 << 20 {
        value = step(value);
        steps += 1;
    }
    steps
}

pub fn all(checks: &mut Vec<Check>) {
    let source = "HPCC RandomAccess definition and hypercube paper, Section 2: period of the stream";
    let mut section = Section::new(checks, Kind::Model, source, "");
    let whole = 2f64.powi(64) - 1.0;
    section.near(
        "\"the primitive polynomial\" X64 + X63 + X62",
        (whole, order(&[64, 63, 62]) as f64),
        0.0,
        "as printed it is X62 (X2 + X + 1), whose period is 3: not primitive, a constant term is missing",
    );
    let remark = "the loop multiplies by x modulo x64 + x2 + x + 1, which has an even number of terms and so the factor x + 1: \
                  not primitive; its period is that of the reference implementation";
    section.near("\"a primitive polynomial\" of the loop", (whole, gf2::PERIOD as f64), 0.0, remark);
}
