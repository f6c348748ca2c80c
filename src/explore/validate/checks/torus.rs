//! The Blue Gene/P paper: where the network becomes the bottleneck, and numbers of nodes that are no powers of two.

use super::Section;
use super::blue_gene::{cycles, gups};
use crate::error::Result;
use crate::explore::published::{self, quoted};
use crate::explore::validate::{Check, Kind, Verdict, predict};

pub fn all(checks: &mut Vec<Check>) -> Result<()> {
    crossovers(checks)?;
    aggregated(checks)?;
    division(checks)
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
    let mut section = Section::new(checks, Kind::Measurement, source, "GUPS");
    for &(nodes, value) in &fast {
        let why = "the model is a bottleneck, of which larger systems reach less (Section 5.3)";
        let modelled = gups("random_access.roles", nodes, &by(3.0))?;
        section.near(format!("N = {nodes}"), (value, modelled), 0.05 * value, why);
    }
    let source = "Blue Gene/P paper, Table 3, owner by division: the measured time by prediction and t_div = 97 cycles, within 5 %";
    let mut section = Section::new(checks, Kind::Measurement, source, "GUPS");
    let cost = |nodes| {
        let (with, without) =
            (gups("random_access.roles", nodes, &by(2.0))?, gups("random_access.roles", nodes, &by(3.0))?);
        Ok::<_, crate::error::Error>(cycles(nodes, with) - cycles(nodes, without))
    };
    for (&(nodes, value), (_, fast)) in slow.iter().zip(&fast) {
        let took = cycles(nodes, value) - cycles(nodes, *fast);
        let modelled = nodes * 0.85 / (cycles(nodes, *fast) + cost(nodes)?);
        let remark = format!("division takes {took:.0} cycles in this row");
        section.noted(format!("N = {nodes}"), (value, modelled), 0.05 * value, &remark);
    }
    let source = "Blue Gene/P paper, Section 5.3, numbers of nodes that are no powers of two";
    let mut section = Section::new(checks, Kind::Model, source, "%");
    let gain =
        100.0 * (gups("random_access.roles", 96.0, &by(3.0))? / gups("random_access.roles", 96.0, &by(2.0))? - 1.0);
    let why = "the printed rates themselves give 68, 68, 55 and 66 %";
    section.near("gain by prediction", (quoted("prediction_gain")?, gain), 5.0, why);
    let mut section = Section::new(checks, Kind::Model, source, "GUPS");
    let (more, fewer) = (gups("random_access.roles", 768.0, &by(2.0))?, gups("random_access.roles", 512.0, &[])?);
    let verdict = if more < fewer { Verdict::Agrees } else { Verdict::Differs };
    section.judged("768 nodes by division, against 512 by shift", (fewer, more), verdict, "the paper: less");
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
