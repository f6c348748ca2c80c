//! Fits models to published measurements, and compares them with the papers.

use super::PublishedFit;
use apexmap_base::error::Result;
use apexmap_base::units::{Unit, amount};
use apexmap_theory::fit::{self, Observation, Options, Role};
use apexmap_theory::machine::{Card, catalogue};
use apexmap_theory::models::{self, Model};
use apexmap_theory::paper_tables;

pub fn fit_published() -> Result<Vec<PublishedFit>> {
    let (free, held) = single_core()?;
    Ok(vec![hypercube()?, hypercube_by_parts()?, multi_core()?, free, held])
}

/// Rates are in GUPS.
fn observations(model: &dyn Model, rows: &[(Vec<(&str, f64)>, f64)]) -> Result<Vec<Observation>> {
    let observation = |(given, gups): &(Vec<(&str, f64)>, f64)| {
        let value = |name: &str| given.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        Ok(Observation { x: model.variables(&value)?, y: gups * 1e9, launch: 0 })
    };
    rows.iter().map(observation).collect()
}

/// Given parameters and those in `held` come from the card; the others are fitted.
fn fit_table(
    id: &str,
    card: &str,
    source: &str,
    rows: &[(Vec<(&str, f64)>, f64)],
    remarks: &[&str],
    held: &[&str],
) -> Result<PublishedFit> {
    let (model, card) = (models::find(id)?, Card::find(card)?);
    let role = |parameter: &models::Parameter| match card
        .get(parameter.number)
        .filter(|_| parameter.is_given || held.contains(&parameter.number))
    {
        Some(value) => Role::Hold(value),
        None => Role::Fit,
    };
    let roles: Vec<Role> = model.about().parameters.iter().map(role).collect();
    let data = observations(model, rows)?;
    let mut lines = Vec::new();
    let fit = match fit::fit(model, &data, &roles, Options::default()) {
        Ok(fit) => {
            for estimate in &fit.estimates {
                let parameter = models::scan::parameter(model, estimate.number);
                let unit = parameter.map_or(Unit::None, |parameter| parameter.unit());
                let show = |value: f64| amount(value, unit);
                let paper =
                    card.get(estimate.number).map_or(String::new(), |value| format!("; the paper: {}", show(value)));
                let (value, low, high) = (show(estimate.value), show(estimate.low), show(estimate.high));
                lines.push(format!("{} ({}) = {value} [{low}, {high}]{paper}", estimate.number, estimate.symbol));
            }
            if let Some((largest, error)) = fit.quality.largest_left_out {
                lines.push(format!("P = {largest} predicted from smaller P to within {:.1} %", 100.0 * error));
            }
            Some(fit)
        }
        Err(refusal) => {
            lines.push(format!("refused: {}; {}", refusal.message, refusal.help));
            None
        }
    };
    lines.extend(remarks.iter().map(|remark| (*remark).to_owned()));
    let smape = fit.as_ref().map(|fit| fit.quality.smape);
    Ok(PublishedFit { source: source.to_owned(), model: model.about().id, lines, smape, fit })
}

fn hypercube() -> Result<PublishedFit> {
    let pairs = paper_tables::table("hypercube-table-2")?.pairs("processors", "gups");
    let powers = pairs.into_iter().filter(|(ranks, _)| (*ranks as u64).is_power_of_two());
    let rows: Vec<_> = powers.map(|(ranks, gups)| (vec![("P", ranks)], gups)).collect();
    let remarks = ["powers of two only: others need extra messages (Section 2)"];
    fit_table("random_access.hypercube", "red-storm", "hypercube paper, Table 2", &rows, &remarks, &[])
}

fn hypercube_by_parts() -> Result<PublishedFit> {
    let powers = paper_tables::table("hypercube-table-2")?.pairs("processors", "gups");
    let powers = powers.into_iter().filter(|(ranks, _)| (*ranks as u64).is_power_of_two());
    let mut rows: Vec<_> = powers.map(|(ranks, gups)| (vec![("P", ranks)], gups)).collect();
    let table = paper_tables::table("hypercube-table-4")?;
    rows.extend(table.pairs("look_ahead", "gups").into_iter().map(|(q, gups)| (vec![("P", 32.0), ("Q", q)], gups)));
    let remarks = [
        "bandwidth held at the paper's 1.1 GB/s: it scales with Q as copying does, and the data cannot separate them",
        "the fitted latency exceeds the printed 7 us: it includes all costs of a stage that do not depend on Q",
    ];
    let source = "hypercube paper, Tables 2 and 4 together";
    let mut published_fit = fit_table("random_access.all_to_all", "red-storm", source, &rows, &remarks, &[])?;
    if let Some(fit) = &published_fit.fit {
        published_fit.lines.push(best_dimension(models::find(published_fit.model)?, &fit.parameters));
    }
    Ok(published_fit)
}

/// In how many dimensions an exchange of 1024 processors is fastest with the fitted numbers; the hypercube has 10.
fn best_dimension(model: &dyn Model, parameters: &[f64]) -> String {
    let rate = |d: f64| model.predict(&[1024.0, 1024.0, d], parameters).value;
    let best = (1..=10).map(f64::from).max_by(|a, b| rate(*a).total_cmp(&rate(*b))).unwrap_or(10.0);
    format!(
        "with these numbers, 1024 processors with Q = 1024 are fastest in {best} dimensions: {:.2} times the hypercube's rate, {:.0} \
         times that of one dimension",
        rate(best) / rate(10.0),
        rate(best) / rate(1.0)
    )
}

fn multi_core() -> Result<PublishedFit> {
    let pairs = paper_tables::table("bluegene-table-4")?.pairs("nodes", "bgp_multi_gups");
    let rows: Vec<_> = pairs.into_iter().map(|(nodes, gups)| (vec![("P", nodes)], gups)).collect();
    let remarks = ["measured rates fall below the bottleneck from 4096 nodes on: \"within 70% percent\" (Section 5.3)"];
    fit_table("random_access.roles", "bluegene-p", "Blue Gene/P paper, Table 4, multi-core", &rows, &remarks, &[])
}

/// Fits both parameters, which large tori cannot separate, and then the hop alone.
fn single_core() -> Result<(PublishedFit, PublishedFit)> {
    let pairs = paper_tables::table("bluegene-table-4")?.pairs("nodes", "bgp_single_gups");
    let rows: Vec<_> = pairs.into_iter().map(|(nodes, gups)| (vec![("P", nodes)], gups)).collect();
    let (id, card, source) = ("random_access.routed", "bluegene-p", "Blue Gene/P paper, Table 4, single-core");
    let remarks = ["local_seconds held at the paper's 92 cycles"];
    Ok((
        fit_table(id, card, source, &rows, &[], &[])?,
        fit_table(id, card, source, &rows, &remarks, &[catalogue::LOCAL_SECONDS.name])?,
    ))
}
