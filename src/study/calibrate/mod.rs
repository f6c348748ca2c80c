//! Calibration: a sweep of the kernels that measure the inputs of models, and the machine card from its result.

mod card_text;
pub mod classic;
pub mod counts;
pub mod derived_numbers;
pub mod device;
pub mod eager;
mod fitted;
pub mod ladders;
pub(crate) mod levels;
mod node;
mod probe;
pub mod residence;
mod shapes;
pub mod staircase;

use apexmap_base::disturbance::Fact;
use apexmap_base::error::{Error, Result};
use apexmap_base::point::Value;
use apexmap_base::provenance::{Granularity, Host};
use apexmap_base::units;
use apexmap_measure::kernels::calibrate::memory::update_parts::{DIVIDE, GENERATE, LOOP, OWNER, UPDATE};
use apexmap_measure::kernels::calibrate::memory::{blocks, draw, stream};
use apexmap_measure::kernels::calibrate::network::pair::{RECEIVE, SEND};
use apexmap_measure::kernels::calibrate::network::{barrier, bisection, copy, poll};
use apexmap_measure::kernels::message_rate::{patterns::STREAMING, ping_pong};
use apexmap_measure::kernels::random_access::{sequential, shared};
use apexmap_results::samples::{Samples, health::Health};
use apexmap_results::table::columns::{self, NODE_TYPE};
use apexmap_results::table::quietness::Quietness;
use apexmap_theory::machine::catalogue::{self, CACHES, CacheLevel};
use apexmap_theory::machine::{Card, DISTURBED, Domain, Number, NumberName, UNKNOWN, Word};
use apexmap_theory::statistics::Summary;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

pub use card_text::{card_csv, card_numbers, card_text};
pub use derived_numbers::contradictions;
pub use node::{node_probes, quick_probes};
pub use probe::Probe;
pub use shapes::shapes;

/// Concurrent chases: enough to use all of a core's parallel misses.
const CHASES: u64 = 32;

/// Larger regions take long to read. They are read only if, by the system's sizes, a cache holds half of them.
const MAX_REGION: u64 = 512 << 20;

fn previous_power_of_two(bytes: u64) -> u64 {
    if bytes.is_power_of_two() { bytes } else { bytes.next_power_of_two() / 2 }
}

/// Each level of a machine with these caches well within its size, and memory beyond all of them.
pub fn probes(host: &Host, cores: usize) -> Vec<Probe> {
    let (reported, memory) = (levels::reported_sizes(host), levels::beyond_caches(host));
    let mut probes = levels::probes(host, reported);
    let node = Probe::new(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND, &stream::KERNEL, cores).set("access", "read");
    probes.push(node.set("bytes", memory).set("passes", 1u64).read_column("bytes_per_second"));
    probes.extend(updates(memory));
    // A step at the size of a cache shows in regions of two and four times that size.
    let beyond = (4 * levels::largest_cache(host))
        .next_power_of_two()
        .min(MAX_REGION)
        .min(previous_power_of_two(levels::memory_bytes(host) / 8));
    let least = reported[0].map_or(16 << 10, |bytes| previous_power_of_two(bytes as u64 / 2));
    probes.extend(ladders::memory(least, memory.max(beyond)));
    probes.extend(ladders::pages(
        &host.granularity,
        memory,
        MAX_REGION.min(previous_power_of_two(levels::memory_bytes(host) / 8)),
    ));
    if cores > 1 {
        probes.extend(ladders::loaded_latency(memory, cores));
        probes.extend(network());
        probes.extend(ladders::messages());
    }
    probes
}

fn set_numbers<'a>(card: &mut Card, probes: impl IntoIterator<Item = &'a Probe>, samples: &Samples) -> Result<()> {
    for probe in probes {
        if let Some(number) = probe.estimate(samples) {
            card.set(&probe.number.to_string(), number)?;
        }
    }
    Ok(())
}

/// Bounds use the best rate of reading a region. Some machines read it faster in blocks than from end to end.
fn set_best_reads(card: &mut Card, samples: &Samples) -> Result<()> {
    let blocks = samples.with_word("kernel", &[blocks::KERNEL.id]).good();
    for name in card.variants(catalogue::READ_BANDWIDTH_BYTES_PER_SECOND.name) {
        let (Some(number), [Word::Bytes(bytes)]) = (card.numbers().get(&name.to_string()), &name.qualifier[..]) else {
            continue;
        };
        let region = |row: usize| blocks.table().number("region_bytes", row) == *bytes as f64;
        let rates = blocks.filter_rows(region).numbers("bytes_per_second");
        let Some(best) = rates.iter().copied().chain(number.best).reduce(f64::max) else { continue };
        let runs = rates.len() + number.runs.unwrap_or(0);
        let how = format!("{}; best of {runs} runs, with those of calibrate.blocks", number.how);
        let number = Number { how, ..number.clone() }.with_best(best);
        card.set(&name.to_string(), number)?;
    }
    Ok(())
}

fn updates(memory: u64) -> Vec<Probe> {
    let words = memory / units::WORD_BYTES;
    let share = (1u64 << 23) as f64 / words as f64;
    let shared = |number, by: &str| {
        Probe::new(number, &shared::KERNEL, 1)
            .set("N_words", words)
            .set("updates", share)
            .set("cores", 1u64)
            .set("updates_by", by)
            .read_inverse("operations_per_second")
    };
    let owner = |number, by: &str| Probe::new(number, &OWNER, 1).set("owner_by", by);
    let update = |qualifier: Option<Word>, pages: &str| {
        Probe::from_number(NumberName::new(catalogue::UPDATE_SECONDS).with_qualifier(qualifier), &UPDATE, 1)
            .set("bytes", memory)
            .set("pages", pages)
            .set("values", 1u64 << 22)
    };
    vec![
        Probe::new(catalogue::GENERATE_SECONDS, &GENERATE, 1),
        Probe::new(catalogue::DRAW_SECONDS, &draw::KERNEL, 1).set("M", 1u64 << 20).set("alpha", 0.1),
        Probe::new(catalogue::LOOP_SECONDS, &LOOP, 1),
        update(None, "huge"),
        update(Some(Word::BasePages), "base"),
        Probe::new(catalogue::LOCAL_SECONDS, &sequential::KERNEL, 1)
            .set("N_words", words)
            .set("updates", share)
            .read_inverse("operations_per_second"),
        shared(catalogue::ATOMIC_SECONDS, "atomic"),
        shared(catalogue::LOCKED_UPDATE_SECONDS, "locks"),
        owner(catalogue::DIVISION_SECONDS, "division"),
        owner(catalogue::PREDICTION_SECONDS, "prediction"),
        Probe::new(catalogue::DIVIDE_SECONDS, &DIVIDE, 1).set("divided_for", "partners"),
        Probe::from_number(NumberName::new(catalogue::DIVIDE_SECONDS).with_qualifier([Word::Many]), &DIVIDE, 1)
            .set("divided_for", "owners"),
        Probe::new(catalogue::COPY_SECONDS_PER_BYTE, &copy::KERNEL, 1).read_inverse("bytes_per_second"),
    ]
}

fn network() -> Vec<Probe> {
    let two = |number, kernel| Probe::new(number, kernel, 2);
    let rate = |number, kernel, bytes: u64, column| two(number, kernel).set("message_bytes", bytes).read_column(column);
    vec![
        two(catalogue::SEND_SECONDS, &SEND).set("message_bytes", 8u64),
        two(catalogue::RECEIVE_SECONDS, &RECEIVE).set("message_bytes", 8u64),
        two(catalogue::OPERATION_SECONDS, &poll::KERNEL),
        two(catalogue::BARRIER_SECONDS, &barrier::KERNEL),
        Probe {
            inverse: true,
            ..rate(catalogue::NETWORK_LATENCY_SECONDS, &ping_pong::KERNEL, 8, "operations_per_second")
        },
        rate(catalogue::MESSAGE_RATE_PER_SECOND, &STREAMING, 8, "operations_per_second"),
        rate(catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND, &STREAMING, 1 << 20, "bytes_per_second"),
        two(catalogue::BISECTION_BYTES_PER_SECOND, &bisection::KERNEL).read_column("bytes_per_second"),
    ]
}

/// `launch` is the sweep's `launch` table without the number of launches. Each launch takes at most two minutes.
pub fn sweep(probes: &[Probe], launch: &str, launches: u32) -> String {
    let mut text = format!(
        "# Made by `apexmap calibrate` for this machine's caches and cores: the numbers of a machine card.\n\n\
         title = \"Calibration\"\nname = \"calibrate\"\nseed = 1\n\n[launch]\n{launch}launches = {launches}\n\n\
         [repeat]\nmin = 6\nmax = 20\nwidth = 0.05\nbudget = \"{} min\"\n",
        2 * launches
    );
    for (index, probe) in probes.iter().enumerate() {
        // Several numbers can come from one point.
        if probes[..index].iter().any(|earlier| earlier.point() == probe.point()) {
            continue;
        }
        let _ = write!(
            text,
            "\n[[include]]  # {}\nkernel = \"{}\"\nranks = {}\n",
            probe.number, probe.kernel.id, probe.ranks
        );
        for (name, value) in &probe.settings {
            let _ = match value {
                Value::Text(word) => writeln!(text, "{name} = \"{word}\""),
                value => writeln!(text, "{name} = {value}"),
            };
        }
    }
    text
}

/// A card's numbers must not include other work.
pub fn require_quiet(samples: &Samples) -> Result<()> {
    let health = Health::from_samples(samples);
    if health.verdict() != Quietness::Disturbed {
        return Ok(());
    }
    Err(Error::measurement(
        format!("no card was written: the machine was {}", health.sentence()),
        "free the machine and measure again with --out ANOTHER_FOLDER; or add --allow-disturbed, which writes a card from these \
         samples without measuring again",
    ))
}

/// A card's numbers belong to one type of nodes.
pub fn require_one_node_type(samples: &Samples) -> Result<()> {
    match samples.describe_node_types() {
        None => Ok(()),
        Some(text) => Err(Error::measurement(
            format!("no card was written: {text}"),
            "calibrate each type of nodes with its own --out ANOTHER_FOLDER, and choose its nodes in the allocation, such as by --constraint",
        )),
    }
}

fn domain(samples: &Samples) -> Option<Domain> {
    let mut domain = Domain::default();
    for variable in ["P", "L", "message_bytes", "region_bytes"] {
        samples.numbers(columns::resolve(variable)).into_iter().for_each(|value| domain.include(variable, value));
    }
    (!domain.is_empty()).then_some(domain)
}

/// Sets the clock of a core, of all runs and of those on all cores.
fn set_clocks(card: &mut Card, samples: &Samples, cores: Option<u32>) -> Result<()> {
    let (ranks, cores) = (samples.column("ranks"), cores.map(f64::from));
    let all_cores = samples.filter_rows(|row| ranks.is_some_and(|ranks| Some(ranks.number(row)) == cores));
    let of_all = NumberName::new(catalogue::CORE_CLOCK_HZ).with_qualifier([Word::Many]).to_string();
    for (name, samples) in [(catalogue::CORE_CLOCK_HZ.name, samples), (of_all.as_str(), &all_cores)] {
        let clocks = samples.numbers(Fact::HertzBefore.info().column);
        if let (Some(clock), Some(most)) = (Summary::from_samples(&clocks), clocks.iter().copied().reduce(f64::max)) {
            let how = format!("chains of additions before {} runs", clocks.len());
            card.set(name, Number::new(clock.median, "Hz", how).with_best(most))?;
        }
    }
    Ok(())
}

/// Numbers that were not measured are absent.
pub fn card(probes: &[Probe], samples: &Samples, machine: &str, host: &Host) -> Result<Card> {
    let carriers: Vec<String> = ["transport", "library", "launcher"]
        .into_iter()
        .filter_map(|name| Some(samples.first_value(name)?.to_string()))
        .filter(|word| !word.is_empty())
        .collect();
    let summary = format!("{}, {}, messages by {}", host.cpu_model, host.processors, carriers.join(", "));
    let mut card = Card::new(machine, &summary, "measured by apexmap calibrate");
    let origin = "as reported by the operating system";
    for name in ["host", "cpu_model", NODE_TYPE, "transport", "library", "launcher"] {
        if !samples.is_empty() {
            card.provenance.insert(name.into(), samples.first_word(name).into());
        }
    }
    if let Some(probe) =
        probes.iter().find(|probe| probe.number.entry.name == catalogue::BISECTION_BYTES_PER_SECOND.name)
    {
        card.provenance.insert("bisection_ranks".into(), (probe.ranks as i64).into());
    }
    card.domain = domain(samples);
    if let Some(banner) = Health::from_samples(samples).banner() {
        card.provenance.insert(DISTURBED.into(), banner.to_string().into());
    }
    if let Some(hertz) = host.cycle_hertz {
        card.set(catalogue::CLOCK_HZ.name, Number::new(hertz, "Hz", host.cycle_source.clone()))?;
    }
    let whole = |value: f64, unit: &str| Number::new(value, unit, origin);
    set_clocks(&mut card, samples, host.processors.cores)?;
    if let Some(cores) = host.processors.cores {
        card.set(catalogue::CORES.name, whole(f64::from(cores), ""))?;
    }
    if host.memory_bytes > 0 {
        card.set(catalogue::MEMORY_BYTES.name, whole(host.memory_bytes as f64, "B"))?;
    }
    let Granularity { line_bytes, base_page_bytes, huge_page_bytes } = host.granularity;
    for (name, bytes) in [
        (catalogue::LINE_BYTES.name, line_bytes),
        (catalogue::BASE_PAGE_BYTES.name, base_page_bytes),
        (catalogue::HUGE_PAGE_BYTES.name, huge_page_bytes),
    ] {
        card.set(name, whole(bytes as f64, "B"))?;
    }
    for CacheLevel { level, size, .. } in CACHES {
        if let Some(cache) = host.caches.iter().find(|cache| cache.level == level) {
            card.set(size.name, whole(cache.bytes as f64, "B"))?;
        }
    }
    set_numbers(&mut card, probes, samples)?;
    set_best_reads(&mut card, samples)?;
    classic::describe(&mut card, probes, host);
    if let (Some(latency), Some(access)) =
        (card.get(catalogue::MEMORY_LATENCY_SECONDS.name), card.get(catalogue::MEMORY_ACCESS_SECONDS.name))
    {
        let how = format!("memory_latency_seconds over memory_access_seconds, of {CHASES} concurrent chases");
        card.set(catalogue::LINES_IN_FLIGHT.name, Number::new(latency / access, "", how))?;
    }
    let mut unknown = derived_numbers::add(&mut card, host)?;
    unknown.extend(levels::unknown_memory(host));
    unknown.extend(residence::add(&mut card, samples)?);
    unknown.extend(fitted::add(&mut card, samples, host)?);
    unknown.extend(eager::add(&mut card, samples)?.into_iter().chain(left_out(probes, &card)));
    if !unknown.is_empty() {
        card.provenance.insert(UNKNOWN.into(), unknown.join("; ").into());
    }
    Ok(card)
}

/// The numbers without a sample, such as those that a budget left out, each with its count.
fn left_out(probes: &[Probe], card: &Card) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for probe in probes.iter().filter(|probe| card.get(&probe.number.to_string()).is_none()) {
        *counts.entry(probe.number.entry.name).or_default() += 1;
    }
    let names: Vec<String> = counts.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    let advice = "the same command continues, with --budget for a time";
    (!names.is_empty()).then(|| format!("not measured: {}; {advice}", names.join(", ")))
}

/// Points around the steps that the first stage shows, and the levels that these move. Equal samples give an equal second stage.
pub fn second_stage(probes: &[Probe], samples: &Samples, host: &Host) -> Result<Vec<Probe>> {
    let mut card = Card::default();
    let of_staircase = |probe: &&Probe| {
        [catalogue::READ_SECONDS.name, catalogue::PAGE_READ_SECONDS.name].contains(&probe.number.entry.name)
    };
    set_numbers(&mut card, probes.iter().filter(of_staircase), samples)?;
    let mut further = ladders::refine(&card, previous_power_of_two(levels::memory_bytes(host) / 8));
    let levels = levels::probes(host, derived_numbers::sizes(&card, levels::reported_sizes(host)));
    further.extend(levels.into_iter().filter(|probe| !probes.contains(probe)));
    Ok(further)
}

/// A number that the second stage measures again replaces that of the first.
pub fn merge_stages(first: Vec<Probe>, second: Vec<Probe>) -> Vec<Probe> {
    let is_remeasured = |probe: &Probe| second.iter().any(|other| other.number == probe.number);
    let mut probes: Vec<Probe> = first.into_iter().filter(|probe| !is_remeasured(probe)).collect();
    probes.extend(second);
    probes
}

/// The samples of the first stage that were measured before the second one began, which may add samples to points of the first. A
/// resumed run must choose the same second stage. Expects all samples of the result while its plan is that of the first stage.
pub fn first_stage_samples(samples: &Samples) -> Samples {
    let (table, current) = (samples.table(), samples.current());
    let (is_current, build): (HashSet<usize>, &str) =
        (current.rows().iter().copied().collect(), current.first_word("build"));
    let is_later_stage = |row: &&usize| !is_current.contains(*row) && table.word("build", **row) == build;
    let ends = samples.rows().iter().filter(is_later_stage).map(|&row| table.number("unix_seconds", row));
    let begun = ends.fold(f64::INFINITY, f64::min);
    let before = current.filter_rows(|row| table.number("unix_seconds", row) < begun);
    // An earlier calibration with other points of the first stage may be in the same result.
    let points = |samples: &Samples| samples.words("key").len();
    if points(&before) == points(&current) { before } else { current }
}
