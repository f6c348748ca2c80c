//! The NIC message-rate paper.

use super::Section;
use crate::validate::{Check, Kind, Verdict};
use apexmap_base::error::Result;
use apexmap_theory::machine::Card;
use apexmap_theory::models::{self, nic};
use apexmap_theory::published::quoted;

/// Cycles a second of the simulated processor.
const CLOCK: f64 = 2e9;

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    let card = Card::find("simulated-nic")?;
    let p = models::find("message_rate.nic")?.parameters(&card)?;
    latency(checks, &card)?;
    two_cores(checks, &p)?;
    figure_11(checks, &p)?;
    overheads(checks, &p)?;
    random_access(checks, &p)?;
    trade_offs(checks, &card, &p)
}

/// Messages per second of some cores that may lose some cycles per message besides what their bytes take.
fn cores_alone(p: &[f64], bytes: f64, cores: f64, cycles: f64) -> f64 {
    cores / (cycles / CLOCK + bytes * p[1])
}

/// What the I/O bus and the link let through.
fn node(p: &[f64], bytes: f64) -> f64 {
    let [_, io, link] = nic::bounds(&[bytes, 1.0, 0.0], p);
    io.value.min(link.value)
}

fn latency(checks: &mut Vec<Check>, card: &Card) -> Result<()> {
    let p = models::find("message_rate.nic_latency")?.parameters(card)?;
    let [bus, routers, rest] = nic::parts(&[2.0], &p);
    let source = "NIC message-rate paper, Section 5.2 and Figure 5 (b), latency of a short message, of which HyperTransport is 70 %";
    let mut section = Section::new(checks, Kind::Model, source, "%");
    section.near(
        "share of two routers",
        (quoted("router_latency_share")?, 100.0 * routers / (bus + routers + rest)),
        0.5,
        "",
    );
    let mut section = Section::new(checks, Kind::Model, source, "ns");
    let mut fast = p.clone();
    fast[0] = 1e-9 * quoted("coherent_io_latency_ns")?;
    let fast: f64 = 1e9 * nic::parts(&[2.0], &fast).iter().sum::<f64>();
    let why = "300 ns leave 150 ns besides bus and routers, of which HyperTransport's 500 ns are 67 %";
    section.near("latency with HyperTransport at 25 ns", (quoted("reduced_latency_ns")?, fast), 5.0, why);
    Ok(())
}

/// How far two cores saturate what four can use: the printed shares, and the cycles per message that they imply.
fn two_cores(checks: &mut Vec<Check>, p: &[f64]) -> Result<()> {
    let source = "NIC message-rate paper, Sections 5.2 and 7, two cores relative to four, Equations (4) to (6) at 50 cycles, 8 bytes";
    let mut section = Section::new(checks, Kind::Model, source, "%");
    let four = node(p, 8.0).min(cores_alone(p, 8.0, 4.0, 50.0));
    let share = 100.0 * cores_alone(p, 8.0, 2.0, 50.0).min(four) / four;
    let implied = |printed: f64| 2.0 * CLOCK / (printed / 100.0 * four) - 8.0 * p[1] * CLOCK;
    let takes = |printed: f64| {
        format!(
            "the printed share takes {:.1} cycles of a core per message, besides moving its bytes",
            implied(printed)
        )
    };
    for (what, name) in
        [("streaming, Figure 7", "two_cores_streaming"), ("RandomAccess, Section 1", "two_cores_random_access")]
    {
        let printed = quoted(name)?;
        section.noted(what, (printed, share), 0.5, &takes(printed));
    }
    // One number for each pattern, fitted to the one row of that pattern: none can be left out.
    let mut section = Section::new(checks, Kind::Fitted, source, "%");
    for (what, name, pattern) in [
        ("cyclic, Figure 8", "two_cores_cyclic", 1.0),
        ("block-cyclic, Figure 9", "two_cores_block_cyclic", 2.0),
        ("indirect, Figure 10", "two_cores_indirect", 3.0),
        ("RandomAccess, Section 7", "two_cores_random_access_section_7", 4.0),
    ] {
        let printed = quoted(name)?;
        let [cores, _, _] = nic::bounds(&[8.0, 2.0, pattern], p);
        let remark = format!("fitted to this row, not predicted: {}", takes(printed));
        section.noted(what, (printed, 100.0 * cores.value.min(four) / four), 0.5, &remark);
    }
    let mut section = Section::new(checks, Kind::Model, source, "B");
    section.near("N 1/2, Figure 7", (quoted("half_bandwidth_bytes")?, nic::half_bandwidth_bytes(4.0, p)), 0.01, "");
    Ok(())
}

fn figure_11(checks: &mut Vec<Check>, p: &[f64]) -> Result<()> {
    let source = "NIC message-rate paper, Section 6, Equations (1) to (3), Figure 11";
    let bandwidth = |at: usize, bytes: f64| bytes * nic::bounds(&[bytes, 4.0, 0.0], p)[at].value;
    let mut section = Section::new(checks, Kind::Model, source, "GB/s");
    let whole = 1e-9 * bandwidth(1, 2f64.powi(40));
    section.noted("HyperTransport with its headers", (quoted("io_payload_gbps")?, whole), 0.05, "the text: just over");
    let mut section = Section::new(checks, Kind::Model, source, "");
    for bytes in [4.0, 8.0] {
        // Equation (1) itself knows no alignment.
        let bus = bytes / (bytes + p[4]) * p[3] * p[2];
        let remark = "the text: virtually identical";
        section.noted(format!("link relative to bus, {bytes} bytes"), (1.0, bandwidth(2, bytes) / bus), 0.07, remark);
    }
    let mut section = Section::new(checks, Kind::Model, source, "%");
    let best = nic::potential_io_bandwidth(16.0, p).min(bandwidth(2, 16.0));
    let gain = 100.0 * (best / bandwidth(1, 16.0) - 1.0);
    let why = "the equations give 16 %";
    section.near("gain by a command of 8 bytes, 16-byte messages", (quoted("command_gain")?, gain), 3.0, why);
    Ok(())
}

fn overheads(checks: &mut Vec<Check>, p: &[f64]) -> Result<()> {
    let source = "NIC message-rate paper, Section 6, Equations (4) to (6) against the text";
    let mut section = Section::new(checks, Kind::Model, source, "cycles");
    let mut compare = |bytes: f64, cores: f64, name: &str, what: &str, remark: &str| -> Result<()> {
        let limit = quoted(name)?;
        // The overhead at which the cores are as fast as the slower of bus and link.
        let allowed = (cores / node(p, bytes) - bytes * p[1]) * CLOCK;
        // The text speaks of the curves it drew, 20 and 100 cycles among them: allowed is at least the limit.
        let verdict = if allowed >= limit { Verdict::Agrees } else { Verdict::Differs };
        section.judged(what, (limit, allowed), verdict, remark);
        Ok(())
    };
    let drawn = "at least the drawn curve's";
    compare(8.0, 1.0, "single_core_overhead_limit_cycles", "overhead allowed, one core, 8 bytes", drawn)?;
    compare(128.0, 1.0, "single_core_128_byte_limit_cycles", "overhead allowed, one core, 128 bytes", drawn)?;
    let short = "at 100 cycles four cores give 78.4 M/s, 8 % short of the bus, where the text says it saturates first";
    compare(8.0, 4.0, "quad_core_overhead_limit_cycles", "overhead allowed, four cores, 8 bytes", short)?;
    let mut section = Section::new(checks, Kind::Model, source, "");
    let ratio = nic::bounds(&[4.0, 4.0, 0.0], p)[1].value / nic::bounds(&[8.0, 4.0, 0.0], p)[1].value;
    section.noted(
        "I/O bound of 4-byte messages relative to 8-byte",
        (1.0, ratio),
        0.0,
        "the text: just as much bandwidth",
    );
    let four = cores_alone(p, 8.0, 4.0, 50.0) / nic::bounds(&[8.0, 4.0, 0.0], p)[1].value;
    let verdict = if four >= 1.0 { Verdict::Agrees } else { Verdict::Differs };
    section.judged("four cores at 50 cycles relative to the bus, 8 bytes", (1.0, four), verdict, "the text: saturates");
    Ok(())
}

fn random_access(checks: &mut Vec<Check>, p: &[f64]) -> Result<()> {
    let source = "NIC message-rate paper, Section 7, Figure 15, cores per socket, at the 58.7 cycles per update of two cores at 80 %";
    let share = quoted("two_cores_random_access_section_7")? / 100.0;
    let limit = node(p, 8.0);
    let cycles = 2.0 * CLOCK / (share * limit) - 8.0 * p[1] * CLOCK;
    let rate = |cores: f64| cores_alone(p, 8.0, cores, cycles).min(limit);
    let mut section = Section::new(checks, Kind::Model, source, "");
    let values = (quoted("two_over_one_core")?, rate(2.0) / rate(1.0));
    section.near("two cores relative to one", values, 0.01, "");
    // One over the 80 %.
    let mut section = Section::new(checks, Kind::Identity, source, "");
    let values = (1.0 + quoted("four_over_two_cores_gain")? / 100.0, rate(4.0) / rate(2.0));
    section.near("four cores relative to two", values, 0.005, "");
    Ok(())
}

fn trade_offs(checks: &mut Vec<Check>, card: &Card, p: &[f64]) -> Result<()> {
    let source = "NIC message-rate paper, Section 3.5, E-registers against commands";
    let (word, header, packet) = (8.0, card.require("io_efficiency")?, 64.0);
    // Of 72 bytes on the bus 64 are data.
    let overhead = packet / header - packet;
    let ours = (p[4] + word) / header;
    let registers = 2.0 * word + overhead;
    let mut section = Section::new(checks, Kind::Model, source, "B");
    section.near("a command and 8 bytes on the bus", (quoted("command_bus_bytes")?, ours), 0.01, "");
    section.near(
        "an access of 16 bytes in a packet of its own",
        (quoted("e_register_bus_bytes")?, registers),
        0.01,
        "",
    );
    let mut section = Section::new(checks, Kind::Model, source, "%");
    let saving = 100.0 * (1.0 - registers / ours);
    let why = "27 is 12.5 % more than 24, which is 11.1 % less than 27";
    section.near("saving by E-registers", (quoted("e_register_saving")?, saving), 0.05, why);
    let mut section = Section::new(checks, Kind::Model, source, "E-registers");
    let outstanding = 1e-6 * quoted("round_trip_us")? * p[5] * p[6] / word;
    let printed = quoted("e_registers")?;
    let remark = "Little's law: 5 us of the link's payload in words of 8 bytes; the text: more than 5 us, over 2048";
    section.noted("to keep the network full", (printed, outstanding), 0.01 * printed, remark);
    Ok(())
}
