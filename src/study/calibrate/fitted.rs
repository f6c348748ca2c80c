//! Fits the numbers of Apex-Map's model to measurements that are independent of the power law.

use crate::model_fit;
use apexmap_base::error::Result;
use apexmap_base::provenance::Host;
use apexmap_results::samples::Samples;
use apexmap_theory::fit::{self, Options, Role};
use apexmap_theory::machine::{Card, Number, NumberName, Word, catalogue};
use apexmap_theory::models::apex_map::{Reads, Requests};
use apexmap_theory::models::{Model, Parameter, card_number, scan};

/// Regions between these multiples of the last cache depend on its size more than on its costs.
const PARTLY_CACHED: std::ops::Range<f64> = 0.3..6.0;

/// Adds the numbers that the measurements identify to a card that has the cache sizes, and returns why others are absent.
pub fn add(card: &mut Card, samples: &Samples, host: &Host) -> Result<Vec<String>> {
    let reach = card_number(card, catalogue::TLB_ENTRIES.name).zip(Some("tlb_reach_bytes--base in base pages"));
    let entries = host.tlb_entries_4k.map(f64::from).zip(Some("as the processor reports"));
    set_size(card, catalogue::TLB_ENTRIES.name, reach.or(entries))?;
    let last_cache = host.caches.iter().find(|cache| cache.level == 3);
    let cores = last_cache.map(|cache| (f64::from(cache.shared_by), "as reported by the operating system"));
    if cores.is_some() || card.get(catalogue::L3_BYTES.name).is_some() {
        set_size(card, catalogue::L3_CORES.name, cores)?;
    }
    let Some(last) = card.get(catalogue::L3_BYTES.name).or_else(|| card.get(catalogue::L2_BYTES.name)) else {
        let subject = "size of the last cache: neither the system reports it, nor do random reads show it";
        return Ok(vec![format!("{subject}, so the card has no numbers of {}", Reads.about().id)]);
    };
    let table = samples.table();
    let is_usable = |row: usize| {
        let region = table.number("region_bytes", row) / last;
        let (order, spread) = (table.word("order", row), table.word("spread", row));
        table.number("ranks", row) == 1.0
            && !PARTLY_CACHED.contains(&region)
            && (order.is_empty() || order == "independent")
            && (spread.is_empty() || spread == "words")
    };
    let mut unknown = Vec::new();
    unknown.extend(fit_model(card, &samples.filter_rows(is_usable), &Reads)?);
    for way in ["messages", "gets"] {
        let samples = samples.with_word("remote_by", &[way]);
        if !samples.is_empty() {
            unknown.extend(fit_model(card, &samples, &Requests)?);
        }
    }
    Ok(unknown)
}

/// The typical size, if the machine does not show it.
fn set_size(card: &mut Card, number: &str, measured: Option<(f64, &str)>) -> Result<()> {
    let typical = || scan::parameter(&Reads, number).map_or(f64::NAN, |parameter| parameter.first_guess);
    let (size, how) = measured.unwrap_or_else(|| (typical(), "typical: not reported by this machine"));
    card.set(number, Number::new(size, "", how))
}

/// Fits the numbers that the card does not have.
fn fit_model(card: &mut Card, samples: &Samples, model: &dyn Model) -> Result<Option<String>> {
    let about = model.about();
    let unknown = |refusal: apexmap_base::error::Error| {
        Ok(Some(format!("the card has no numbers of {}: {}", about.id, refusal.message)))
    };
    let data = match model_fit::observations(samples, model, &[]) {
        Ok(data) => data,
        Err(refusal) => return unknown(refusal),
    };
    let role = |parameter: &Parameter| match substitute(card, parameter.number) {
        _ if parameter.is_given => Role::Hold(card_number(card, parameter.number).unwrap_or(f64::NAN)),
        Some((value, _)) => Role::OrHold(value),
        None => Role::Fit,
    };
    let roles: Vec<Role> = about.parameters.iter().map(role).collect();
    let options = Options { resamples: 0, leave_out: false, most_points: usize::MAX, ..Options::default() };
    let fit = match fit::fit(model, &data.observations, &roles, options) {
        Ok(fit) => fit,
        Err(refusal) => return unknown(refusal),
    };
    let smape = 100.0 * fit.quality.smape;
    let unit = |number: &str| apexmap_theory::machine::unit_of(number).map_or("", |unit| unit.symbol());
    for parameter in fit.not_identified.iter().copied() {
        if let Some((value, from)) = substitute(card, parameter) {
            let how = format!("{from}; {} does not identify it from {} points", about.id, fit.points.len());
            card.set(parameter, Number::new(value, unit(parameter), how))?;
        }
    }
    for estimate in &fit.estimates {
        let how = format!("{} fitted to {} points, within {smape:.1} % (SMAPE)", about.id, fit.points.len());
        card.set(
            estimate.number,
            Number::new(estimate.value, unit(estimate.number), how).with_interval(estimate.low, estimate.high),
        )?;
    }
    Ok(None)
}

/// The value and origin of a number that the fit does not identify, as few points show a level that others fill.
fn substitute(card: &Card, number: &str) -> Option<(f64, String)> {
    let lines = [
        (catalogue::L2_LINE_SECONDS, catalogue::L2_BANDWIDTH_BYTES_PER_SECOND),
        (catalogue::L3_LINE_SECONDS, catalogue::L3_BANDWIDTH_BYTES_PER_SECOND),
        (catalogue::MEMORY_LINE_SECONDS, catalogue::MEMORY_BANDWIDTH_BYTES_PER_SECOND),
    ];
    if let Some((_, bandwidth)) = lines.iter().find(|(line, _)| line.name == number) {
        let (name, first) = (bandwidth.name, catalogue::L1_BANDWIDTH_BYTES_PER_SECOND.name);
        let seconds = card.granularity().line_bytes as f64 * (1.0 / card.get(name)? - 1.0 / card.get(first)?);
        return (seconds > 0.0).then(|| (seconds, format!("time of a line from {name}, minus that from {first}")));
    }
    let latencies = [
        (catalogue::L3_ALONE_SECONDS, NumberName::new(catalogue::L3_LATENCY_SECONDS)),
        (catalogue::MEMORY_ALONE_SECONDS, NumberName::new(catalogue::MEMORY_LATENCY_SECONDS)),
        (catalogue::WALK_SECONDS, NumberName::new(catalogue::TRANSLATION_SECONDS).with_qualifier([Word::Base])),
    ];
    let (_, name) = latencies.into_iter().find(|(parameter, _)| parameter.name == number)?;
    Some((card.get(&name.to_string())?, format!("{name} of this card")))
}
