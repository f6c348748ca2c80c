//! The Blue Gene/P paper: where the network becomes the bottleneck, and numbers of nodes that are no powers of two.

use super::blue_gene::{cycles, gups};
use super::{Section, without};
use crate::validate::{Check, Fault, Kind, Verdict, predict};
use apexmap_base::error::Result;
use apexmap_measure::kernels::shared::updates::layout::Layout;
use apexmap_theory::published::{self, quoted};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    crossovers(checks)?;
    aggregated(checks)?;
    division(checks)?;
    theorem(checks)
}

/// Theorem 4.1 for every word of every table of 2^4 to 2^13 words over every number of nodes that it is about.
fn theorem(checks: &mut Vec<Check>) -> Result<()> {
    let (mut words, mut hold) = (0u64, 0u64);
    for bits in 4..=13u32 {
        let about = |nodes: &usize| (*nodes as u64) < (1 << bits) / *nodes as u64;
        for layout in (1..1 << bits).take_while(about).map(|nodes| Layout::new(bits, nodes)) {
            words += layout.words();
            let holds = |word: &u64| {
                let (owner, predicted) = (layout.by_division(*word), layout.prediction(*word));
                owner <= predicted && predicted <= owner + 1
            };
            hold += (0..layout.words()).filter(holds).count() as u64;
        }
    }
    let source = "Blue Gene/P paper, Theorem 4.1: floor(g n / ts) is the owner or the next one, if n < mlts";
    let mut section = Section::new(checks, Kind::Model, source, "words");
    let why = "the theorem does not hold";
    section.near("every word of tables of 2^4 to 2^13 words, every n", (words as f64, hold as f64), 0.0, why);
    let source = "Blue Gene/P paper, Theorem 4.1, how far it reaches: n < mlts";
    let mut section = Section::new(checks, Kind::Identity, source, "Mi");
    let reach = quoted("prediction_local_table_mib")? / 8.0;
    let remark = "\"256M per processing element\" are bytes, in words of 8";
    section.noted("processing elements", (quoted("prediction_elements_mi")?, reach), 0.0, remark);
    Ok(())
}

/// The first power of two of nodes at which a model's bottleneck is the bisection.
fn crossover(model: &str, per_node: f64) -> Result<f64> {
    let mut nodes = 2.0;
    loop {
        let given = [("P", nodes * per_node), ("ranks_per_node", per_node)];
        let given = if per_node > 1.0 || model == "random_access.bottleneck" { &given[..] } else { &given[..1] };
        if predict(model, "bluegene-p", given)?.bottleneck == "bisection" || nodes > 1e9 {
            return Ok(nodes);
        }
        nodes *= 2.0;
    }
}

/// Whether it lies beyond a number of nodes, as the paper says.
fn beyond(section: &mut Section, what: &str, published: f64, nodes: f64) {
    let verdict = if nodes > published { Verdict::Agrees } else { Verdict::Differs };
    section.judged(what, (published, nodes), verdict, "the paper: beyond");
}

fn crossovers(checks: &mut Vec<Check>) -> Result<()> {
    let source = "Blue Gene/P paper, Section 4, Equation (1): first power of two where the network is the bottleneck";
    let mut section = Section::new(checks, Kind::Model, source, "nodes");
    let values = (quoted("virtual_node_crossover_nodes")?, crossover("random_access.bottleneck", 4.0)?);
    section.near("virtual-node mode, four ranks per node", values, 0.0, "");
    let single = crossover("random_access.bottleneck", 1.0)?;
    beyond(&mut section, "co-processor mode, one rank per node", quoted("coprocessor_crossover_nodes")?, single);
    Ok(())
}

/// Buckets make packets of many updates, which cross the middle of the torus.
fn aggregated(checks: &mut Vec<Check>) -> Result<()> {
    let source =
        "Blue Gene/P paper, Section 5.2, updates in buckets: first power of two where the network is the bottleneck";
    let mut section = Section::new(checks, Kind::Model, source, "nodes");
    let (published, nodes) = (quoted("multi_core_crossover_nodes")?, crossover("random_access.roles", 1.0)?);
    section.near("multi-core algorithm", (published, nodes), 0.0, "");
    beyond(&mut section, "single-core algorithm", published, crossover("random_access.routed", 1.0)?);
    let sizes = published::table("bluegene-table-4")?.pairs("nodes", "bgp_multi_gups");
    let mut bound = 0.0;
    for (nodes, _) in &sizes {
        bound += f64::from(predict("random_access.roles", "bluegene-p", &[("P", *nodes)])?.bottleneck != "bisection");
    }
    let mut section = Section::new(checks, Kind::Model, source, "rows");
    section.near("rows of Table 4 in which the CPU is the bottleneck", (sizes.len() as f64, bound), 0.0, "");
    Ok(())
}

fn division(checks: &mut Vec<Check>) -> Result<()> {
    let table = published::table("bluegene-table-3")?;
    let (fast, slow) = (table.pairs("nodes", "gups_prediction"), table.pairs("nodes", "gups_division"));
    let by = |word: f64| [("owner_by", word)];
    let source = "Blue Gene/P paper, Table 3, owner by prediction: T_3 as on powers of two, within 5 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "GUPS");
    for &(nodes, value) in &fast {
        let why = "the model is a bottleneck, of which larger systems reach less (Section 5.3)";
        let modelled = gups("random_access.roles", nodes, &by(3.0))?;
        section.near(format!("N = {nodes}"), (value, modelled), 0.05 * value, why);
    }
    let source = "Blue Gene/P paper, Table 3, owner by division: the measured time by prediction and t_div = 97 cycles, the mean of these rows, within 5 %";
    let mut section = Section::new(checks, Kind::Fitted, source, "GUPS");
    let cost = |nodes| {
        let (with, without) =
            (gups("random_access.roles", nodes, &by(2.0))?, gups("random_access.roles", nodes, &by(3.0))?);
        Ok::<_, apexmap_base::error::Error>(cycles(nodes, with) - cycles(nodes, without))
    };
    for (&(nodes, value), (_, fast)) in slow.iter().zip(&fast) {
        let took = cycles(nodes, value) - cycles(nodes, *fast);
        let modelled = nodes * 0.85 / (cycles(nodes, *fast) + cost(nodes)?);
        let remark = format!("division takes {took:.0} cycles in this row");
        section.noted(format!("N = {nodes}"), (value, modelled), 0.05 * value, &remark);
    }
    others_division(checks, &slow, &fast);
    prediction_gain(checks)?;
    neighbours(checks, fast)
}

/// What the other rows say of the division.
fn others_division(checks: &mut Vec<Check>, slow: &[(f64, f64)], fast: &[(f64, f64)]) {
    let source = "Blue Gene/P paper, Table 3, owner by division: the measured time by prediction and t_div, the mean of the other rows, within 5 %";
    let mut section = Section::new(checks, Kind::Predicted, source, "GUPS");
    let took: Vec<f64> =
        slow.iter().zip(fast).map(|(slow, fast)| cycles(slow.0, slow.1) - cycles(fast.0, fast.1)).collect();
    for (left_out, (&(nodes, value), &(_, fast))) in slow.iter().zip(fast).enumerate() {
        let others = without(&took, left_out);
        let mean = others.iter().sum::<f64>() / others.len() as f64;
        let predicted = nodes * 0.85 / (cycles(nodes, fast) + mean);
        section.noted(format!("N = {nodes}"), (value, predicted), 0.05 * value, &format!("t_div = {mean:.0} cycles"));
    }
}

/// What the text says of the rates of Table 3, by a division whose time is fitted to them.
fn prediction_gain(checks: &mut Vec<Check>) -> Result<()> {
    let by = |word: f64| [("owner_by", word)];
    let source = "Blue Gene/P paper, Section 5.3, numbers of nodes that are no powers of two";
    let mut section = Section::new(checks, Kind::Fitted, source, "%").at_fault(Fault::Paper);
    let gain =
        100.0 * (gups("random_access.roles", 96.0, &by(3.0))? / gups("random_access.roles", 96.0, &by(2.0))? - 1.0);
    let why = "the printed rates themselves give 68, 68, 55 and 66 %";
    section.near("gain by prediction", (quoted("prediction_gain")?, gain), 5.0, why);
    let mut section = Section::new(checks, Kind::Fitted, source, "GUPS");
    let (more, fewer) = (gups("random_access.roles", 768.0, &by(2.0))?, gups("random_access.roles", 512.0, &[])?);
    let verdict = if more < fewer { Verdict::Agrees } else { Verdict::Differs };
    section.judged("768 nodes by division, against 512 by shift", (fewer, more), verdict, "the paper: less");
    Ok(())
}

fn neighbours(checks: &mut Vec<Check>, fast: Vec<(f64, f64)>) -> Result<()> {
    let source = "Blue Gene/P paper, Section 5.3, Table 3 as the mean of the neighbours in Table 4, within 3 %";
    let mut section = Section::new(checks, Kind::Identity, source, "GUPS");
    let whole = published::table("bluegene-table-4")?.pairs("nodes", "bgp_multi_gups");
    for (nodes, value) in fast {
        let at = |wanted: f64| whole.iter().find(|pair| pair.0 == wanted).map_or(f64::NAN, |pair| pair.1);
        let mean = (at(nodes * 2.0 / 3.0) + at(nodes * 4.0 / 3.0)) / 2.0;
        section.near(format!("N = {nodes}"), (value, mean), 0.03 * value, "the mean is higher");
    }
    Ok(())
}
