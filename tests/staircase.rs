//! Tests of the latency staircase of a calibration: sizes and their ranges from simulated latencies, and the table of
//! classic numbers. The large machine is simulated, too: two sockets of 64 cores.

use crate::common::{self, Scratch};
use apexmap_base::provenance::{Cache, Host, Processors};
use apexmap_draw::figure::{Figure, LandmarkStyle, svg};
use apexmap_measure::provenance::host;
use apexmap_pages::report::classic::figures;
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_study::calibrate::ladders::refine;
use apexmap_study::calibrate::staircase::{Step, places, rungs, step};
use apexmap_study::calibrate::{card_numbers, card_text, classic, contradictions, derived_numbers, node_probes};
use apexmap_theory::machine::{Card, Entry, Number, NumberName, Word, catalogue};
use rand::SeedableRng;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64Mcg;

const KIB: f64 = 1024.0;
const MIB: f64 = 1048576.0;

/// Returns the mean seconds of uniform reads in a region. Each level (bytes, seconds) serves its share of the region,
/// and memory the rest.
fn mean_read_seconds(levels: &[(f64, f64)], memory: f64, region: f64) -> f64 {
    let (mut held, mut total) = (0.0, 0.0);
    for &(bytes, seconds) in levels {
        let level_bytes = (bytes.min(region) - held).max(0.0);
        (held, total) = (held + level_bytes, total + level_bytes * seconds);
    }
    (total + (region - held) * memory) / region
}

/// A simulated machine with three caches and TLBs of two levels. `noise` is the standard deviation of the logarithms of
/// its latencies.
struct Machine {
    caches: [(f64, f64); 3],
    memory: f64,
    tlbs: [(f64, f64); 2],
    walk: f64,
    noise: f64,
    random: Pcg64Mcg,
}

impl Machine {
    fn new(sizes: [f64; 3], noise: f64, seed: u64) -> Self {
        let [l1, l2, l3] = sizes;
        let caches = [(l1, 1.9e-9), (l2, 4.3e-9), (l3, 18e-9)];
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { caches, memory: 100e-9, tlbs: [(64.0, 0.0), (2048.0, 2.2e-9)], walk: 20e-9, noise, random }
    }

    /// Adds the median of a number to a card.
    fn measure(&mut self, card: &mut Card, name: &NumberName) {
        let bytes = match name.qualifier[0] {
            Word::Bytes(bytes) => bytes as f64,
            ref other => panic!("{other}"),
        };
        let seconds = match name.entry.name {
            "read_seconds" => mean_read_seconds(&self.caches, self.memory, bytes),
            _ => {
                let pages = bytes / if name.qualifier[1] == Word::Base { 4.0 * KIB } else { 2.0 * MIB };
                mean_read_seconds(&self.caches, self.memory, 64.0 * pages)
                    + mean_read_seconds(&self.tlbs, self.walk, pages)
            }
        };
        let off = Normal::new(0.0, self.noise).expect("a deviation").sample(&mut self.random);
        let seconds = seconds * f64::exp(off);
        let number = Number::new(seconds, "s", "made up").with_interval(seconds * 0.99, seconds * 1.01);
        card.set(&name.to_string(), number).expect("a number");
    }

    /// Returns a card with both stages of the calibration.
    fn card(&mut self) -> Card {
        let mut card = Card::new("mine", "made up", "made up");
        let sized = |number: &'static Entry, bits: u32, further: &[Word]| {
            NumberName::new(number).with_qualifier([Word::Bytes(1 << bits)].into_iter().chain(further.iter().cloned()))
        };
        for bits in 14..30 {
            for pages in [Word::Huge, Word::Base] {
                self.measure(&mut card, &sized(catalogue::READ_SECONDS, bits, &[pages, Word::Dependent]));
            }
        }
        (14..27).for_each(|bits| self.measure(&mut card, &sized(catalogue::PAGE_READ_SECONDS, bits, &[Word::Base])));
        (23..30).for_each(|bits| self.measure(&mut card, &sized(catalogue::PAGE_READ_SECONDS, bits, &[Word::Huge])));
        let further = refine(&card, 1 << 30);
        further.iter().for_each(|probe| self.measure(&mut card, &probe.number));
        card
    }

    fn step(&mut self, near: f64) -> Option<Step> {
        let ladder = rungs(&self.card(), "read_seconds", &[Word::Huge, Word::Dependent]);
        let steps = places(&ladder);
        let position = steps.iter().copied().min_by(|a, b| (a / near).ln().abs().total_cmp(&(b / near).ln().abs()))?;
        step(&ladder, position, &steps)
    }
}

fn reported_by_system(caches: [f64; 3]) -> (Card, Host) {
    let mut card = Card::default();
    let mut host = Host { caches: Vec::new(), tlb_entries_4k: Some(2048), tlb_entries_2m: Some(2048), ..host() };
    for (level, bytes) in (1..).zip(caches) {
        card.set(&format!("l{level}_bytes"), Number::new(bytes, "B", "told")).expect("a number");
        host.caches.push(Cache { level, bytes: bytes as u64, shared_by: 1 });
    }
    (card, host)
}

/// Returns the card of both stages with the derived numbers, and the sizes that cannot be derived.
fn derive(mut machine: Machine, reported: [f64; 3]) -> (Card, Vec<String>, Host) {
    let (reported_card, host) = reported_by_system(reported);
    let mut card = machine.card();
    reported_card.numbers().iter().for_each(|(name, number)| card.set(name, number.clone()).expect("a number"));
    let unseen = derived_numbers::add(&mut card, &host).expect("a card");
    (card, unseen, host)
}

#[test]
fn cache_size_ranges_contain_the_true_size_in_90_of_100_cases() {
    for noise in [0.01, 0.03] {
        let (mut inside, mut seen) = (0, 0);
        for case in 0..100u32 {
            // L2 has 200 KiB to 2 MiB, L3 14 to 56 MiB.
            let (l2, l3) = (
                200.0 * KIB * 10f64.powf(f64::from(case) / 99.0),
                14.0 * MIB * 4f64.powf(f64::from(case * 37 % 100) / 99.0),
            );
            let truth = [32.0 * KIB, l2, l3][case as usize % 3];
            let mut machine = Machine::new([32.0 * KIB, l2, l3], noise, u64::from(case));
            let Some(step) = machine.step(truth) else { continue };
            seen += 1;
            assert!((step.size / truth).ln().abs() < 0.3, "{case}: {step:?}, not {truth}");
            inside += u32::from(step.low <= truth && truth <= step.high);
        }
        // With little noise, nearly all steps are detected.
        assert!(seen >= if noise < 0.02 { 97 } else { 85 }, "{noise}: {seen} steps");
        assert!(100 * inside >= 90 * seen, "{noise}: {inside} of {seen}");
    }
}

#[test]
fn a_two_level_tlb_is_visible_with_both_page_sizes() {
    let (mut inside, mut total) = (0, 0);
    for seed in 0..20 {
        let (card, ..) = derive(Machine::new([32.0 * KIB, MIB, 32.0 * MIB], 0.01, seed), [32.0 * KIB, MIB, 32.0 * MIB]);
        for (name, truth) in [
            ("l1_tlb_reach_bytes--base", 64.0 * 4.0 * KIB),
            ("tlb_reach_bytes--base", 2048.0 * 4.0 * KIB),
            ("l1_tlb_reach_bytes--huge", 128.0 * MIB),
        ] {
            let reach = card.get(name).unwrap_or_else(|| panic!("no {name}: {}", card_text(&card, None)));
            let (low, high) = card.interval(name).expect("a range");
            assert!((reach / truth).ln().abs() < 0.25, "{name}: {reach} is not {truth}");
            (inside, total) = (inside + u32::from(low <= truth && truth <= high), total + 1);
        }
        assert_eq!(card.get("tlb_reach_bytes--huge"), None, "4 GiB is larger than every region that was read");
    }
    assert!(total == 60 && inside >= 50, "{inside} of {total}");
}

#[test]
fn a_cache_smaller_than_the_system_reports_gets_its_measured_size() {
    for (l3, noise) in [(16.0, 0.0), (24.0, 0.01), (40.0, 0.01), (64.0, 0.01)] {
        let machine = Machine::new([32.0 * KIB, MIB, l3 * MIB], noise, 1);
        let (mut card, unseen, host) = derive(machine, [32.0 * KIB, MIB, 480.0 * MIB]);
        let measured = card.get("l3_bytes").expect("a size") / MIB;
        assert!((measured / l3 - 1.0).abs() < 0.03 + 5.0 * noise, "{l3} MiB: {measured} MiB");
        assert_eq!(card.get("l3_measured_bytes"), card.get("l3_bytes"));
        assert!(card.numbers()["l3_bytes"].how.contains("the system reports 480 MiB"));
        let found_contradictions = contradictions(&card, &host);
        assert!(
            found_contradictions.len() == 1
                && found_contradictions[0].starts_with("L3: the system reports 480 MiB, but random reads see "),
            "{found_contradictions:?}"
        );
        assert_eq!(unseen, Vec::<String>::new());
        assert!(classic::text(&card, None).contains("the system reports 480 MiB"));
        // Version 0.2.0 wrote the reported size only into the text of the origin.
        let old = Number { reported: None, ..card.numbers()["l3_bytes"].clone() };
        card.set("l3_bytes", old).expect("a number");
        let old_text = classic::text(&card, None);
        assert_eq!(old_text.matches("the system reports").count(), 2, "L1 and L2 only: {old_text}");
    }
    // The measured size is equal or close to the reported one.
    for (l3, reported) in [(32.0, 32.0), (28.0, 32.0), (36.0, 32.0)] {
        let machine = Machine::new([32.0 * KIB, MIB, l3 * MIB], 0.01, 2);
        let (card, _, host) = derive(machine, [32.0 * KIB, MIB, reported * MIB]);
        assert_eq!((card.get("l3_bytes"), contradictions(&card, &host)), (Some(reported * MIB), Vec::new()), "{l3}");
        let measured = card.get("l3_measured_bytes").expect("measured") / MIB;
        assert!((measured / l3 - 1.0).abs() < 0.1, "{l3} MiB: {measured} MiB");
    }
}

#[test]
fn no_size_is_reported_where_no_step_is_visible() {
    let mut machine = Machine::new([32.0 * KIB, MIB, MIB], 0.01, 3);
    machine.caches[2].1 = machine.caches[1].1;
    let (card, unseen, _) = derive(machine, [32.0 * KIB, MIB, 480.0 * MIB]);
    assert_eq!(card.get("l3_measured_bytes"), None);
    assert!(unseen.len() == 1 && unseen[0].starts_with("L3: the system reports 480 MiB, but"), "{unseen:?}");
    let text = classic::text(&card, None);
    let line = text.lines().find(|line| line.contains("L3")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("no visible step") && line.contains("the system reports 480 MiB"), "{line}");
    // Other users take a varying part of the cache, so latencies have a deviation of 0.6 in logarithms.
    let (card, ..) = derive(Machine::new([32.0 * KIB, MIB, 32.0 * MIB], 0.6, 4), [32.0 * KIB, MIB, 32.0 * MIB]);
    for level in ["l1", "l2", "l3"] {
        let range = card.interval(&format!("{level}_measured_bytes"));
        assert!(range.is_none_or(|(low, high)| high < 2.0 * low), "{level}: {range:?}");
    }
}

#[test]
fn caches_that_the_system_does_not_report_are_numbered_in_order() {
    let mut card = Machine::new([48.0 * KIB, MIB, 24.0 * MIB], 0.0, 5).card();
    let host = Host { caches: Vec::new(), tlb_entries_4k: None, tlb_entries_2m: None, ..host() };
    derived_numbers::add(&mut card, &host).expect("a card");
    for (name, size) in [("l1_bytes", 48.0 * KIB), ("l2_bytes", MIB), ("l3_bytes", 24.0 * MIB)] {
        let bytes = card.get(name).expect("a size");
        assert!((bytes / size - 1.0).abs() < 0.03, "{name}: {bytes}");
    }
    let reach = card.get("tlb_reach_bytes--base").expect("a reach");
    assert!((reach / (8.0 * MIB) - 1.0).abs() < 0.05, "{reach}");
}

/// Returns a host with two sockets of 64 cores, each with 8 last-level caches of 32 MiB.
fn large_host() -> Host {
    let cache = |level, bytes, shared_by| Cache { level, bytes, shared_by };
    Host {
        caches: vec![cache(1, 32 << 10, 2), cache(2, 512 << 10, 2), cache(3, 32 << 20, 16)],
        memory_bytes: 512 << 30,
        processors: Processors { machine_hardware_threads: Some(256), ..Processors::default() },
        ..host()
    }
}

/// Returns a card of the large machine. Transfers between sockets take longer.
fn large_card() -> Card {
    let (mut card, ..) =
        derive(Machine::new([32.0 * KIB, 512.0 * KIB, 32.0 * MIB], 0.01, 6), [32.0 * KIB, 512.0 * KIB, 32.0 * MIB]);
    card.name = "large".into();
    let mut set = |name: &str, value: f64, unit: &str| {
        card.set(name, Number::new(value, unit, "made up").with_interval(0.9 * value, 1.1 * value)).expect(name);
    };
    set("cores", 128.0, "");
    set("memory_bytes", 512.0 * 1024.0 * MIB, "B");
    for (name, value) in [("copy", 300.0), ("scale", 290.0), ("add", 310.0), ("triad", 312.0)] {
        set(&format!("stream_{name}_bytes_per_second"), value, "GB/s");
    }
    set("node_updates_per_second--star", 4.5, "GUPS");
    set("node_updates_per_second--shared", 0.7, "GUPS");
    for share in [0.0, 25.0, 50.0, 75.0, 100.0] {
        set(&format!("loaded_latency_seconds--{share}_per_cent"), 110.0 + share, "ns");
        if share > 0.0 {
            set(&format!("loaded_bandwidth_bytes_per_second--{share}_per_cent"), 3.0 * share, "GB/s");
        }
    }
    for (number, value) in [("l1", 1.5), ("l2", 4.0), ("l3", 15.0), ("memory", 105.0)] {
        set(&format!("{number}_latency_seconds"), value, "ns");
    }
    let probes = node_probes(&large_host(), 128);
    for probe in probes.iter().filter(|probe| probe.kernel.id == "calibrate.core_to_core") {
        let Word::Pair(first, second) = probe.number.qualifier[0] else { panic!("{}", probe.number) };
        set(&probe.number.to_string(), if first / 64 == second / 64 { 60.0 } else { 190.0 }, "ns");
    }
    classic::describe(&mut card, &probes, &large_host());
    card
}

#[test]
fn a_large_node_gets_probes_of_bounded_number_and_size() {
    let probes = node_probes(&large_host(), 128);
    let pairs = probes.iter().filter(|probe| probe.kernel.id == "calibrate.core_to_core");
    assert_eq!(pairs.clone().count(), 16 * 15 / 2, "16 cores");
    // The caches that cores share are in these pairs: neighbours are ranks of one cache.
    for pair in ["0_to_1", "0_to_16", "112_to_113"] {
        assert!(
            pairs.clone().any(|probe| probe.number.to_string() == format!("core_to_core_seconds--{pair}")),
            "{pair}"
        );
    }
    assert!(pairs.clone().all(|probe| probe.ranks == 128));
    for cores in [1, 2, 3, 16, 17, 128] {
        let node_probes = node_probes(&large_host(), cores);
        let bytes = |probe: &apexmap_study::calibrate::Probe| {
            let size = probe.settings.iter().find(|(name, _)| *name == "bytes")?.1.as_f64()?;
            Some(size * probe.ranks as f64)
        };
        assert!(node_probes.iter().filter_map(bytes).all(|total| total <= 1024.0 * cores as f64 * MIB), "{cores}");
        let looked_at = cores.min(16);
        assert_eq!(node_probes.len(), 6 + looked_at * (looked_at - 1) / 2, "{cores}");
    }
}

#[test]
fn the_table_gives_the_classic_numbers_with_their_usual_names() {
    let card = large_card();
    let text = classic::text(&card, Some(200));
    let lines: Vec<String> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let assert_line = |part: &str| assert!(lines.iter().any(|line| line.contains(part)), "no \"{part}\" in\n{text}");
    // 16 caches of 32 MiB: arrays of 64 MiB on each core.
    assert_line("STREAM copy 300 GB/s 270 to 330 GB/s all 128 cores, arrays of 2.67 GiB, 5.33 x the last-level caches");
    assert_line("triad 312 GB/s 281 to 343 GB/s");
    // 128 tables of 32 MiB and one of 4 GiB, in 512 GiB. single_table_bytes comes from another probe.
    assert_line(
        "Updates GUPS, own tables 4.5 GUPS 4.05 to 4.95 GUPS all 128 cores together, tables of 4 GiB, 0.781 % of memory; HPCC's rules ask for half",
    );
    assert_line(
        "GUPS, one table 0.7 GUPS 0.63 to 0.77 GUPS all 128 cores, updates unprotected, table of 4 GiB, 0.781 % of memory",
    );
    assert!(!text.contains("(HPCC)"), "no number of small tables has the name");
    assert_line("Latency L1 1.5 ns");
    assert_line("the system reports 32 KiB");
    assert_line("L1 TLB, 4 KiB pages");
    assert_line("Loaded latency 0 % 110 ns 99 ns to 121 ns the other cores wait");
    assert_line("100 % 210 ns 189 ns to 231 ns the other cores read 300 GB/s");
    assert_line("smallest 60 ns");
    assert_line("largest 190 ns");
    assert_line("120 pairs of 16 cores, in pairs evenly spread over 128");
    // The matrix has a row for each core. It is printed only where it fits.
    assert!(lines.iter().any(|line| line.starts_with("113 ") && line.ends_with(" 60")), "{text}");
    assert!(!classic::text(&card, Some(60)).contains("Core to core, by rank"), "too wide");
    assert_eq!(contradictions(&card, &large_host()), Vec::<String>::new());
    let list = card_text(&card, None);
    let pairs = list.lines().filter(|line| line.contains("core_to_core_seconds")).collect::<Vec<_>>();
    assert!(pairs.len() == 1 && pairs[0].contains("120 steps"), "{pairs:?}");
}

#[test]
fn a_card_fits_a_narrow_terminal_without_losing_a_number() {
    let mut card = large_card();
    card.provenance.insert("transport".into(), "mpi".into());
    card.set("network_latency_seconds", Number::new(1.5, "us", "made up").with_range(1.4, 1.6)).expect("a number");
    card.provenance.insert("disturbed".into(), "DISTURBED: other programs.".into());
    for width in [80, 109] {
        let (classic, numbers) = (classic::text(&card, Some(width)), card_numbers(&card, Some(width)));
        // The terminal wraps the warning and the summary.
        for line in classic.lines().skip(2).chain(numbers.lines()).filter(|line| !line.starts_with('*')) {
            assert!(line.chars().count() <= width, "{line:?} at {width} in\n{classic}{numbers}");
        }
        let lines: Vec<String> =
            classic.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let find =
            |start: &str| lines.iter().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{classic}"));
        assert!(find("triad").starts_with("triad 312 GB/s 281 to 343 GB/s"), "{classic}");
        assert!(find("latency 1.5 us").contains("range 1.4 to 1.6 us 8 bytes"), "{classic}");
        assert!(lines.iter().any(|line| line == "STREAM") && lines.iter().any(|line| line == "Network"), "{classic}");
        assert_eq!(classic.matches("DISTURBED").count() + numbers.matches("DISTURBED").count(), 1);
        for name in ["cores", "stream_triad_bytes_per_second", "core_to_core_seconds--*"] {
            assert!(numbers.lines().any(|line| line.trim() == name), "{name}: {numbers}");
        }
    }
}

#[test]
fn the_table_contains_only_the_classic_numbers_of_the_card() {
    let published = Card::find("red-storm").expect("a published card");
    assert_eq!(classic::table(&published), Vec::new());
    let mut old = Card::new("old", "made up", "measured by apexmap calibrate");
    for (name, value, unit) in [
        ("read_seconds--64KiB-huge-dependent", 3.0, "ns"),
        ("l1_latency_seconds", 1.5, "ns"),
        ("local_seconds", 5.0, "ns"),
        ("node_bandwidth_bytes_per_second", 40.0, "GB/s"),
    ] {
        old.set(name, Number::new(value, unit, "measured")).expect("a number");
    }
    let rows: Vec<(String, String)> = classic::table(&old).into_iter().map(|row| (row.name, row.value)).collect();
    assert_eq!(rows, [("read only".into(), "40 GB/s".into()), ("L1".into(), "1.5 ns".to_owned())]);
}

#[test]
fn calibration_figures_show_the_staircase_first_and_a_core_matrix() {
    let card = large_card();
    let figures = figures(&card, Some(&large_host()));
    let files: Vec<&str> = figures.iter().map(|(file, ..)| *file).collect();
    assert_eq!(files, ["latency-staircase", "address-translation", "loaded-latency", "core-to-core"]);
    for (file, figure, _) in &figures {
        assert!(svg(figure).expect("a figure").contains("</svg>"), "{file}");
    }
    let Figure::Curves(staircase) = &figures[0].1 else { panic!("curves") };
    assert_eq!(staircase.series.len(), 2);
    let ranges = staircase.marks.iter().filter(|mark| matches!(mark.style, LandmarkStyle::Range(..))).count();
    let ticks = staircase.marks.iter().filter(|mark| mark.style == LandmarkStyle::Tick).count();
    assert_eq!((ranges, ticks), (3, 3), "measured, and as the system reports");
    let Figure::Heat(matrix) = &figures[3].1 else { panic!("a heat map") };
    assert_eq!(matrix.values.dim(), (16, 16));
    assert_eq!((matrix.values[[0, 15]], matrix.values[[15, 0]]), (190.0 / 1e9, 190.0 / 1e9));
    assert!(matrix.values[[3, 3]].is_nan());
}

#[test]
fn a_calibration_report_begins_with_the_table_and_the_staircase() {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    let table = common::table(common::samples());
    common::write(&folder, &table);
    common::manifest().write(&folder).expect("a manifest");
    let samples = Samples::from(table);
    apexmap_pages::report::make(&folder, &samples, Default::default()).expect("a report");
    let page = || std::fs::read_to_string(folder.report()).expect("a page");
    assert!(!page().contains("The classic numbers"), "no calibration");
    let mut card = large_card();
    card.name = "<b>large</b>".into();
    card.write(&folder.own_card()).expect("a card");
    apexmap_pages::report::make(&folder, &samples, Default::default()).expect("a report");
    let page = page();
    let position_of = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(position_of("<table class=\"classic\">") < position_of("<figure"), "the table first");
    assert!(page[position_of("<figure")..].starts_with("<figure class=\"picture\" aria-label=\"Latency staircase\""));
    assert!(page.contains("<td>triad</td>") && page.contains("data-file=\"core-to-core\""));
    assert!(!page.contains("<b>large"), "names are escaped");
    for file in ["latency-staircase.svg", "latency-staircase.png", "core-to-core.png"] {
        assert!(folder.figures().join(file).is_file(), "{file}");
    }
    std::fs::write(folder.own_card(), "name = 3").expect("a file");
    let error = apexmap_pages::report::make(&folder, &samples, Default::default()).expect_err("no card");
    assert!(format!("{error:?}").contains("card.toml"), "{error:?}");
}

#[test]
fn numbers_in_an_impossible_order_are_reported() {
    let mut card = large_card();
    let set = |card: &mut Card, name: &str, value: f64| {
        card.set(name, Number::new(value, "ns", "made up").with_interval(0.9 * value, 1.1 * value)).expect(name);
    };
    set(&mut card, "l2_latency_seconds", 20.0);
    set(&mut card, "loaded_latency_seconds--100_per_cent", 70.0);
    set(&mut card, "core_to_core_seconds--0_to_8", 1.0);
    let found_contradictions = contradictions(&card, &large_host());
    assert_eq!(found_contradictions.len(), 3, "{found_contradictions:?}");
    assert_eq!(
        found_contradictions[0],
        "l2_latency_seconds = 20 ns is above l3_latency_seconds = 15 ns: one of them was disturbed"
    );
    // Within their intervals, the latencies may be in the other order.
    set(&mut card, "l2_latency_seconds", 15.5);
    assert_eq!(contradictions(&card, &large_host()).len(), 2);
}
