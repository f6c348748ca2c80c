//! The card of a device: STREAM, updates, latency and size of each level, the size of a sector, launches and transfers.

use super::{
    Probe, classic::TABLES, derived_numbers, node::gups, previous_power_of_two, set_numbers, staircase::places,
};
use apexmap_base::error::Result;
use apexmap_base::provenance::Host;
use apexmap_base::units::{self, WORD_BYTES};
use apexmap_measure::kernels::gpu::{apex_map, chase, launch, random_access, stream, transfer};
use apexmap_measure::kernels::{Kernel, gpu::platforms::Description};
use apexmap_results::samples::{Samples, health::Health};
use apexmap_theory::bounds::DEVICE_NAME;
use apexmap_theory::machine::catalogue::{self, CACHES};
use apexmap_theory::machine::{Card, DISTURBED, Entry, Number, NumberName, Word};

/// Words of the blocks that show the size of a sector.
const BLOCKS: [u64; 6] = [1, 2, 4, 8, 16, 32];
/// Words of the blocks that show the bandwidth of a cache.
const LONG_BLOCK: u64 = 64;
/// Words of blocks whose indices take no time.
const LONGEST_BLOCK: u64 = 1024;
/// Regions within the first and within the second level of most GPUs.
const REGIONS: [u64; 2] = [16 << 10, 4 << 20];
/// A block within a sector costs at most this multiple of a word.
const WITHIN_SECTOR: f64 = 1.4;

fn largest(device: &Description) -> u64 {
    let wanted = if device.kind == "CPU" { 32 << 20 } else { 1 << 30 };
    previous_power_of_two(device.allocation_bytes.min(wanted))
}

/// Regions from `least` on, each `factor` times the one before.
fn regions(device: &Description, least: u64, factor: u64) -> impl Iterator<Item = u64> {
    let most = largest(device);
    std::iter::successors(Some(least), move |bytes| Some(factor * bytes)).take_while(move |bytes| *bytes <= most)
}

pub fn probes(device: &Description) -> Vec<Probe> {
    let most = largest(device);
    let stream = |entry, access: &str| {
        let probe = device_probe(device, NumberName::new(entry), &stream::KERNEL).set("access", access);
        probe.set("bytes", most).read_column("bytes_per_second")
    };
    let transfer = |entry, direction: &str| {
        let probe = device_probe(device, NumberName::new(entry), &transfer::KERNEL).set("direction", direction);
        probe.set("bytes", most / 4).read_column("bytes_per_second")
    };
    let mut probes = vec![
        stream(catalogue::STREAM_COPY_BYTES_PER_SECOND, "copy"),
        stream(catalogue::STREAM_SCALE_BYTES_PER_SECOND, "scale"),
        stream(catalogue::STREAM_ADD_BYTES_PER_SECOND, "add"),
        stream(catalogue::STREAM_TRIAD_BYTES_PER_SECOND, "triad"),
        stream(catalogue::NODE_BANDWIDTH_BYTES_PER_SECOND, "read"),
        gups(Word::Shared, &random_access::KERNEL, 1).set("device", device.number).set("N_words", most / WORD_BYTES),
        Probe { number: NumberName::new(catalogue::MEMORY_ACCESS_SECONDS), ..block(device, 1) },
        Probe { number: NumberName::new(catalogue::SHORT_BLOCK_SECONDS), ..block(device, 32 / WORD_BYTES) },
        near_blocks(device, LONGEST_BLOCK),
        device_probe(device, NumberName::new(catalogue::LAUNCH_SECONDS), &launch::KERNEL)
            .read_column("round_trip_seconds"),
        transfer(catalogue::TO_DEVICE_BYTES_PER_SECOND, "to_device"),
        transfer(catalogue::TO_HOST_BYTES_PER_SECOND, "to_host"),
    ];
    for bytes in regions(device, 16 << 10, 2) {
        let number = NumberName::new(catalogue::READ_SECONDS).with_qualifier([Word::Bytes(bytes), Word::Dependent]);
        probes.push(device_probe(device, number, &chase::KERNEL).set("bytes", bytes));
    }
    for bytes in regions(device, 256 << 10, 4) {
        let number = NumberName::new(catalogue::READ_BANDWIDTH_BYTES_PER_SECOND).with_qualifier([Word::Bytes(bytes)]);
        let probe = device_probe(device, number, &stream::KERNEL).set("bytes", bytes);
        probes.push(probe.read_column("bytes_per_second"));
    }
    probes
}

fn device_probe(device: &Description, number: NumberName, kernel: &'static Kernel) -> Probe {
    Probe::from_number(number, kernel, 1).set("device", device.number)
}

/// Random blocks of several lengths, which show the size of a sector, and of a region that may lie in the second-level cache.
pub fn blocks(device: &Description) -> Vec<Probe> {
    let further = [l2_bandwidth(device), near_blocks(device, LONG_BLOCK)];
    BLOCKS[1..].iter().map(|&words| block(device, words)).chain(further).collect()
}

fn block(device: &Description, words: u64) -> Probe {
    let probe = random_blocks(device, catalogue::SECTOR_BYTES, largest(device), words);
    probe.read_inverse("operations_per_second")
}

fn l2_bandwidth(device: &Description) -> Probe {
    let probe = random_blocks(device, catalogue::L2_BANDWIDTH_BYTES_PER_SECOND, REGIONS[1], LONG_BLOCK);
    probe.read_column("bytes_per_second")
}

fn near_blocks(device: &Description, words: u64) -> Probe {
    random_blocks(device, catalogue::ISSUE_SECONDS_PER_BYTE, REGIONS[0], words).read_inverse("bytes_per_second")
}

fn random_blocks(device: &Description, entry: &'static Entry, region: u64, words: u64) -> Probe {
    // A pass reads as much as the largest region, in sectors of 32 bytes.
    let accesses = largest(device) / WORD_BYTES / words.max(4);
    let probe = device_probe(device, NumberName::new(entry), &apex_map::KERNEL);
    probe.set("M", region / WORD_BYTES).set("I", accesses).set("alpha", 1.0).set("L", words)
}

pub fn card(device: &Description, probes: &[Probe], samples: &Samples, host: &Host) -> Result<Card> {
    let summary =
        format!("{} of {} compute units, {} {}", device.kind, device.compute_units, device.platform, device.driver);
    let mut card = Card::new(&device.name, &summary, "measured by apexmap calibrate");
    card.provenance.insert(TABLES[1].0.into(), (largest(device) as i64).into());
    for (name, text) in [("host", &host.name), ("cpu_model", &host.cpu_model), (DEVICE_NAME, &device.name)] {
        card.provenance.insert(name.into(), text.as_str().into());
    }
    if let Some(banner) = Health::from_samples(samples).banner() {
        card.provenance.insert(DISTURBED.into(), banner.to_string().into());
    }
    let reported = "as reported by the driver";
    card.set(catalogue::MEMORY_BYTES.name, Number::new(device.memory_bytes as f64, "B", reported))?;
    if let Some(hertz) = device.clock_hertz {
        card.set(catalogue::CLOCK_HZ.name, Number::new(hertz, "Hz", reported))?;
    }
    set_numbers(&mut card, probes, samples)?;
    set_levels(&mut card)?;
    let [l1, l2] = [catalogue::L1_BYTES, catalogue::L2_BYTES].map(|entry| card.get(entry.name));
    if l1.zip(l2).is_some_and(|(l1, l2)| (4.0 * l1..=l2).contains(&(REGIONS[1] as f64))) {
        set_numbers(&mut card, [&l2_bandwidth(device)], samples)?;
    }
    set_sector(&mut card, device, samples)?;
    set_index(&mut card, device, samples)?;
    Ok(card)
}

/// Blocks of the first level whose words take the same time each differ by the time of their indices.
fn set_index(card: &mut Card, device: &Description, samples: &Samples) -> Result<()> {
    let per_byte = |words: u64| Some(near_blocks(device, words).estimate(samples)?.value);
    let (Some(long), Some(longest)) = (per_byte(LONG_BLOCK), per_byte(LONGEST_BLOCK)) else { return Ok(()) };
    let seconds = (long - longest) * (LONG_BLOCK * WORD_BYTES) as f64 / apex_map::default_lanes(LONG_BLOCK) as f64;
    let how = format!("blocks of {LONG_BLOCK} minus those of {LONGEST_BLOCK} words in the first level");
    card.set(catalogue::INDEX_SECONDS.name, Number::new(seconds.max(0.0), "s", how))
}

fn set_levels(card: &mut Card) -> Result<()> {
    let rungs = derived_numbers::lines(card);
    let (Some(first), Some(last)) = (rungs.first().copied(), rungs.last().copied()) else { return Ok(()) };
    let latencies = [catalogue::L1_LATENCY_SECONDS, catalogue::L2_LATENCY_SECONDS, catalogue::L3_LATENCY_SECONDS];
    let mut nearer = first.size;
    for (size, (cache, entry)) in places(&rungs).into_iter().zip(CACHES.into_iter().zip(latencies)) {
        let middle = (nearer * size).sqrt();
        let distance = |size: f64| (size / middle).ln().abs();
        let inside = rungs.iter().min_by(|a, b| distance(a.size).total_cmp(&distance(b.size))).unwrap_or(&first);
        copy(card, entry, inside.size)?;
        let how = "where the latency of a chain of dependent accesses rises; regions are powers of two";
        for entry in [cache.size, cache.measured] {
            card.set(entry.name, Number { reported: Some(0.0), ..Number::new(size, "B", how) })?;
        }
        nearer = size;
    }
    copy(card, catalogue::MEMORY_LATENCY_SECONDS, last.size)
}

fn copy(card: &mut Card, entry: &Entry, bytes: f64) -> Result<()> {
    let region = [Word::Bytes(bytes as u64), Word::Dependent];
    let name = NumberName::new(catalogue::READ_SECONDS).with_qualifier(region).to_string();
    match card.numbers().get(&name).cloned() {
        Some(number) => card.set(entry.name, number),
        None => Ok(()),
    }
}

/// The size of a sector is that of the longest random block that costs about as much as a word.
fn set_sector(card: &mut Card, device: &Description, samples: &Samples) -> Result<()> {
    let seconds = |words: u64| Some(block(device, words).estimate(samples)?.value);
    let Some(word) = seconds(1) else { return Ok(()) };
    let cheap = |words: &&u64| seconds(**words).is_some_and(|block| block <= WITHIN_SECTOR * word);
    let sector = BLOCKS.iter().take_while(cheap).last().map_or(WORD_BYTES, |words| words * WORD_BYTES);
    let how = format!(
        "random blocks of up to {} cost at most {WITHIN_SECTOR} times as much as a word",
        units::bytes(sector as f64)
    );
    card.set(catalogue::SECTOR_BYTES.name, Number::new(sector as f64, "B", how))
}
