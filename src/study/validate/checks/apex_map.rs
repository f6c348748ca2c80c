//! The Apex-Map paper.

use super::Section;
use crate::validate::{Check, Kind, Verdict};
use apexmap_base::error::Result;
use apexmap_measure::numerics::power_law::remote_share;
use apexmap_theory::published::{self, quoted};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    remote_shares(checks)?;
    platforms(checks)
}

/// Per cent of the accesses that leave a process.
fn remote(alpha: f64, ranks: usize) -> f64 {
    100.0 * remote_share(ranks, alpha)
}

fn remote_shares(checks: &mut Vec<Check>) -> Result<()> {
    let source = "Apex-Map paper, Section 2, share of remote accesses, 256 processes";
    let mut section = Section::new(checks, Kind::Model, source, "%");
    for (alpha, name, tolerance) in [(1.0, "remote_share_alpha_1", 0.05), (0.001, "remote_share_alpha_0.001", 0.005)] {
        section.near(format!("alpha = {alpha}"), (quoted(name)?, remote(alpha, 256)), tolerance, "");
    }
    let source = "Apex-Map paper, Section 3.2, two processes, alpha = 1";
    let mut section = Section::new(checks, Kind::Model, source, "%");
    section.near("share of remote accesses", (quoted("remote_share_two_processes")?, remote(1.0, 2)), 0.5, "");
    let gain = 100.0 * (100.0 / remote(1.0, 2) - 1.0);
    let remark = "accesses per remote access are twice, which is 100 % better; the text calls it 200 %";
    section.near("gain over ping-pong, by accesses", (quoted("gain_two_processes")?, gain), 0.5, remark);
    Ok(())
}

fn platforms(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("apex-map-table-2")?;
    let ratio = |column: &str| table.number(1, column).zip(table.number(0, column)).map_or(f64::NAN, |(a, b)| a / b);
    let source = "Apex-Map paper, Section 3.3, Cheetah relative to Seaborg, from Table 2";
    let mut section = Section::new(checks, Kind::Identity, source, "");
    for (what, name, column, tolerance) in [
        ("processor clock", "cheetah_clock_ratio", "clock_mhz", 0.005),
        ("memory bandwidth of a processor", "cheetah_memory_ratio", "memory_processor_gbps", 0.0005),
        ("network bandwidth of a node", "cheetah_network_ratio", "network_node_gbps", 0.5),
    ] {
        section.near(what, (quoted(name)?, ratio(column)), tolerance, "");
    }
    let words = quoted("eager_words")?;
    section.near("bytes of the 32 words above which the Cray X1 changes protocol", (256.0, 8.0 * words), 0.0, "");
    // "6-8 and thus higher than any ratio of simple architectural parameters"
    let most = ["clock_mhz", "memory_processor_gbps", "network_node_gbps"].map(ratio).into_iter().fold(0.0, f64::max);
    let least = quoted("cheetah_over_seaborg_far_least")?;
    let verdict = if most < least { Verdict::Agrees } else { Verdict::Differs };
    section.judged("highest of the three, below the ratio at low locality", (least, most), verdict, "the paper: lower");
    Ok(())
}
