//! Published values that follow from the papers' equations and numbers.

use super::{Check, SINGLE, Verdict, predict};
use crate::error::Result;
use crate::explore::machine::Card;
use crate::explore::models::{self, apex_map, hypercube, nic, roles};
use crate::explore::published::{self, Table, quoted};

pub fn all() -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    hypercube_table_2(&mut checks)?;
    hypercube_efficiencies(&mut checks)?;
    hypercube_text(&mut checks)?;
    buckets(&mut checks)?;
    multi_core(&mut checks)?;
    single_core(&mut checks)?;
    crossovers(&mut checks)?;
    lost_updates(&mut checks)?;
    remote_shares(&mut checks)?;
    network_interface(&mut checks)?;
    Ok(checks)
}

/// Agreement to half a unit of the last printed digit, or to a share of the value.
fn judge(published: f64, recomputed: f64, tolerance: f64) -> Verdict {
    if (recomputed - published).abs() <= tolerance { Verdict::Agrees } else { Verdict::Differs }
}

/// Half a unit of the last digit of a printed number.
fn half_digit(printed: &str) -> f64 {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    0.500001 * 10f64.powi(-(decimals as i32))
}

fn push(
    checks: &mut Vec<Check>,
    source: &str,
    what: String,
    values: (f64, f64),
    unit: &'static str,
    verdict: (Verdict, &str),
) {
    let (published, recomputed) = values;
    let (verdict, remark) = verdict;
    let (source, remark) = (source.to_owned(), remark.to_owned());
    checks.push(Check { source, what, published, recomputed, unit, verdict, remark });
}

/// Rows of a table that have both columns: x, the field as printed, its value.
fn printed<'a>(table: &'a Table, x: &str, y: &str) -> Vec<(f64, &'a str, f64)> {
    let row = |row: usize| Some((table.number(row, x)?, table.word(row, y), table.number(row, y)?));
    (0..table.rows.len()).filter_map(row).collect()
}

fn hypercube_table_2(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("hypercube-table-2")?;
    for (ranks, text, value) in printed(&table, "processors", "gups_model") {
        let gups = predict("random_access.hypercube", "red-storm", &[("P", ranks)])?.value / 1e9;
        let verdict = judge(value, gups, half_digit(text));
        push(
            checks,
            "hypercube paper, Table 2, model row",
            format!("P = {ranks}"),
            (value, gups),
            "GUPS",
            (verdict, ""),
        );
    }
    Ok(())
}

fn hypercube_efficiencies(checks: &mut Vec<Check>) -> Result<()> {
    for (name, x, source) in [
        ("hypercube-table-2", "processors", "hypercube paper, Table 2, efficiency from the rates"),
        ("hypercube-table-4", "look_ahead", "hypercube paper, Table 4, efficiency from the rates"),
    ] {
        let table = published::table(name)?;
        for ((at, text, value), (_, _, gups)) in
            printed(&table, x, "efficiency_percent").into_iter().zip(printed(&table, x, "gups"))
        {
            let ranks = if x == "processors" { at } else { 32.0 };
            let efficiency = 100.0 * gups / (ranks * SINGLE);
            // The rates are rounded too, to three digits.
            let verdict = judge(value, efficiency, half_digit(text).max(0.003 * value));
            push(checks, source, format!("{x} {at}"), (value, efficiency), "%", (verdict, ""));
        }
    }
    Ok(())
}

fn hypercube_text(checks: &mut Vec<Check>) -> Result<()> {
    let source = "hypercube paper, Sections 2 and 3";
    let gups = predict("random_access.hypercube", "bluegene-l", &[("P", 131_072.0)])?.value / 1e9;
    let published = quoted("bgl_hypercube_model_gups")?;
    let verdict = judge(published, gups, 0.5);
    push(checks, source, "Blue Gene/L, 128K processors".into(), (published, gups), "GUPS", (verdict, ""));
    for (dimensions, published, remark) in
        [(1.0, 10000.0, "the text rounds P - 1 to P"), (2.0, 200.0, "the text counts 100 per row and column, not 99")]
    {
        let messages = hypercube::messages(10000.0, dimensions);
        let what = format!("messages of a processor, P = 10000, {dimensions} dimensions");
        push(checks, source, what, (published, messages), "", (judge(published, messages, 0.011 * published), remark));
    }
    Ok(())
}

fn buckets(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-4")?;
    for (nodes, _, value) in printed(&table, "nodes", "bucket_updates") {
        let bucket = roles::bucket(nodes, 1024.0);
        let verdict = judge(value, bucket, 0.0);
        let remark = if verdict == Verdict::Agrees {
            ""
        } else {
            "round(1024/(X+Y+Z+21)) gives every row from 256 nodes on, not this"
        };
        push(
            checks,
            "Blue Gene/P paper, Table 4, BktSize",
            format!("N = {nodes}"),
            (value, bucket),
            "updates",
            (verdict, remark),
        );
    }
    for ((nodes, _, value), (_, _, bucket)) in
        printed(&table, "nodes", "receive_cycles").into_iter().zip(printed(&table, "nodes", "bucket_updates"))
    {
        let cycles = 330.0 / bucket;
        let source = "Blue Gene/P paper, Table 4, t_r = 330/BktSize with the printed BktSize";
        // Some rows are rounded, some cut.
        push(checks, source, format!("N = {nodes}"), (value, cycles), "cycles", (judge(value, cycles, 0.1), ""));
    }
    Ok(())
}

fn multi_core(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-4")?;
    for (nodes, _, value) in printed(&table, "nodes", "bgp_multi_bottleneck") {
        let gups = predict("random_access.roles", "bluegene-p", &[("P", nodes)])?.value / 1e9;
        let verdict = judge(value, gups, 0.02 * value);
        let remark =
            if verdict == Verdict::Agrees { "" } else { "the paper's row is below its own Equations (6) and (7)" };
        let source = "Blue Gene/P paper, Table 4, multi-core bottleneck, Equation (7) times N";
        push(checks, source, format!("N = {nodes}"), (value, gups), "GUPS", (verdict, remark));
    }
    let source = "Blue Gene/P paper, Section 5.2";
    let overhead = quoted("role_3_cycles")? - quoted("pipelined_update_cycles")? - 11.3;
    let published = quoted("role_3_overhead_cycles")?;
    let verdict = (judge(published, overhead, 0.05), "143 - 90 - 11.3 is 41.7");
    push(checks, source, "t_op3".into(), (published, overhead), "cycles", verdict);
    let cycles = 64.0 * 850e6 / 0.38e9;
    let published = quoted("role_3_cycles")?;
    let verdict = (judge(published, cycles, 0.5), "64 nodes of 850 MHz at 0.38 GUPS");
    push(checks, source, "an update on core 3".into(), (published, cycles), "cycles", verdict);
    Ok(())
}

fn single_core(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-4")?;
    for (nodes, text, value) in printed(&table, "nodes", "bgp_single_bottleneck") {
        let gups = predict("random_access.routed", "bluegene-p", &[("P", nodes)])?.value / 1e9;
        let source = "Blue Gene/P paper, Table 4, single-core bottleneck from 92 + hops x 162 cycles";
        // The paper's send and receive times change with the packets; the hop here is that of 64 nodes.
        let verdict = judge(value, gups, half_digit(text).max(0.02 * value));
        let remark = if verdict == Verdict::Agrees {
            ""
        } else {
            "the paper varies send and receive with the packet, by numbers it does not print"
        };
        push(checks, source, format!("N = {nodes}"), (value, gups), "GUPS", (verdict, remark));
    }
    let source = "Blue Gene/P paper, Section 5.2";
    let cycles = 64.0 * 850e6 / predict("random_access.routed", "bluegene-p", &[("P", 64.0)])?.value;
    let published = quoted("single_core_cycles")?;
    push(
        checks,
        source,
        "an update on one core, 64 nodes".into(),
        (published, cycles),
        "cycles",
        (judge(published, cycles, 0.51), ""),
    );
    let cycles = 64.0 * 850e6 / 0.11e9;
    let remark = "the measured 0.11 GUPS of Table 4 are 495 cycles; 457 belong to the bottleneck's 0.12";
    push(
        checks,
        source,
        "the same from the measured rate".into(),
        (published, cycles),
        "cycles",
        (judge(published, cycles, 5.0), remark),
    );
    Ok(())
}

/// The first power of two of nodes at which the network is the bottleneck.
fn crossover(per_node: f64) -> Result<f64> {
    let mut nodes = 2.0;
    loop {
        let given = [("P", nodes * per_node), ("ranks_per_node", per_node)];
        let bottleneck = predict("random_access.bottleneck", "bluegene-p", &given)?.bottleneck;
        if bottleneck == "bisection" || nodes > 1e9 {
            return Ok(nodes);
        }
        nodes *= 2.0;
    }
}

fn crossovers(checks: &mut Vec<Check>) -> Result<()> {
    let source = "Blue Gene/P paper, Section 4, Equation (1): first power of two where the network is the bottleneck";
    let (published, nodes) = (quoted("virtual_node_crossover_nodes")?, crossover(4.0)?);
    push(
        checks,
        source,
        "virtual-node mode, four ranks per node".into(),
        (published, nodes),
        "nodes",
        (judge(published, nodes, 0.0), ""),
    );
    let (published, nodes) = (quoted("coprocessor_crossover_nodes")?, crossover(1.0)?);
    let verdict = if nodes > published { Verdict::Agrees } else { Verdict::Differs };
    push(
        checks,
        source,
        "co-processor mode, one rank per node".into(),
        (published, nodes),
        "nodes",
        (verdict, "the paper: beyond"),
    );
    Ok(())
}

fn lost_updates(checks: &mut Vec<Check>) -> Result<()> {
    let rows = published::table("bluegene-table-2a")?.pairs("updates_mi", "error_rate_mean");
    let (first, last) = (rows[0], rows[rows.len() - 1]);
    let source = "Blue Gene/P paper, Table 2 (a)";
    let remark = "a race loses a constant fraction of updates, whatever their number";
    let what = format!("growth of the error rate over {} times the updates", last.0 / first.0);
    push(checks, source, what, (last.1 / first.1, 1.0), "", (Verdict::NotExplained, remark));
    Ok(())
}

fn remote_shares(checks: &mut Vec<Check>) -> Result<()> {
    for (alpha, name, tolerance) in [(1.0, "remote_share_alpha_1", 0.05), (0.001, "remote_share_alpha_0.001", 0.005)] {
        let share = 100.0 * apex_map::shares(&[alpha, 1.0, 2f64.powi(34), 256.0], &[1.0, 1.0, 1.0])[4];
        let published = quoted(name)?;
        let source = "Apex-Map paper, Section 2, share of remote accesses, 256 processes";
        push(
            checks,
            source,
            format!("alpha = {alpha}"),
            (published, share),
            "%",
            (judge(published, share, tolerance), ""),
        );
    }
    Ok(())
}

fn network_interface(checks: &mut Vec<Check>) -> Result<()> {
    let source = "NIC message-rate paper, Section 6, Equations (4) to (6) against the text";
    let model = models::find("message_rate.nic")?;
    let p = model.parameters(&Card::find("simulated-nic")?)?;
    let mut compare = |bytes: f64, cores: f64, name: &str, what: &str, remark: &str| -> Result<()> {
        let limit = quoted(name)?;
        // The overhead at which the cores are as fast as the slower of bus and link.
        let [_, io, link] = nic::bounds(&[bytes, cores], &p);
        let allowed = (cores / io.value.min(link.value) - bytes * p[1]) * 2e9;
        // The text speaks of the curves it drew, 20 and 100 cycles among them: allowed is at least the limit.
        let verdict = if allowed >= limit { Verdict::Agrees } else { Verdict::Differs };
        push(checks, source, what.to_owned(), (limit, allowed), "cycles", (verdict, remark));
        Ok(())
    };
    let drawn = "at least the drawn curve's";
    compare(8.0, 1.0, "single_core_overhead_limit_cycles", "overhead allowed, one core, 8 bytes", drawn)?;
    compare(128.0, 1.0, "single_core_128_byte_limit_cycles", "overhead allowed, one core, 128 bytes", drawn)?;
    let short = "at 100 cycles four cores give 78.4 M/s, 8 % short of the bus, where the text says it saturates first";
    compare(8.0, 4.0, "quad_core_overhead_limit_cycles", "overhead allowed, four cores, 8 bytes", short)?;
    Ok(())
}
