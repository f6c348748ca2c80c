//! Tests of machine cards: written cards are read back, and errors show their place.

use super::architecture::sources;
use apexmap_base::units::{self, Unit};
use apexmap_theory::machine::{CATALOGUE, Card, Number, NumberName, PUBLISHED, Word, catalogue, inverse};
use proptest::prelude::*;
use std::path::Path;

fn card(numbers: &str) -> apexmap_base::error::Result<Card> {
    let text = format!("name = \"M\"\nsummary = \"made up\"\nsource = \"test\"\n{numbers}");
    Card::parse(&text, Path::new("m.toml"))
}

fn error_of(numbers: &str) -> (String, String, Option<String>) {
    let error = card(numbers).expect_err("a wrong card");
    let place = error.location.map(|place| place.text[place.span.clone()].to_owned());
    (error.message, error.help, place)
}

const CLOCK: &str = "[numbers.clock_hz]\nvalue = 850\nunit = \"MHz\"\nhow = \"paper\"\n";

#[test]
fn numbers_in_source_units_are_read_in_base_units() {
    let text = format!(
        "{CLOCK}[numbers.update_seconds]\nvalue = 90\nunit = \"cycles\"\nlow = 85\nhigh = 170\nhow = \"paper\"\n\
         [numbers.network_latency_seconds]\nvalue = 7\nunit = \"us\"\nhow = \"paper\"\n\
         [numbers.l1_bytes]\nvalue = 32\nunit = \"KiB\"\nhow = \"paper\"\n"
    );
    let card = card(&text).expect("a card");
    assert_eq!(card.get("clock_hz"), Some(850e6));
    assert_eq!(card.get("update_seconds"), Some(90.0 / 850e6));
    assert_eq!(card.interval("update_seconds"), Some((85.0 / 850e6, 170.0 / 850e6)));
    assert_eq!(card.get("network_latency_seconds"), Some(7e-6));
    assert_eq!(card.interval("network_latency_seconds"), None);
    assert_eq!(card.get("l1_bytes"), Some(32768.0));
    assert_eq!(card.get("cores"), None);
    let missing = card.require("cores").expect_err("it is not there");
    assert!(missing.help.contains("[numbers.cores]"), "{missing}");
}

#[test]
fn a_bandwidth_also_gives_seconds_per_byte_and_the_reverse() {
    let text = "[numbers.network_bandwidth_bytes_per_second]\nvalue = 2\nunit = \"GB/s\"\nlow = 1\nhigh = 4\nhow = \"x\"\n\
                [numbers.copy_seconds_per_byte--huge]\nvalue = 0.5\nunit = \"ns/B\"\nhow = \"x\"\n";
    let card = card(text).expect("a card");
    assert_eq!(card.get("network_seconds_per_byte"), Some(0.5e-9));
    assert_eq!(card.interval("network_seconds_per_byte"), Some((0.25e-9, 1e-9)));
    let copied = card.get("copy_bandwidth_bytes_per_second--huge").expect("the inverse");
    assert!((copied / 2e9 - 1.0).abs() < 1e-15, "{copied}");
    assert_eq!(card.get("copy_bandwidth_bytes_per_second"), None);
}

#[test]
fn a_card_accepts_every_unit_of_the_right_kind() {
    for (name, unit) in [
        ("update_seconds", Unit::Seconds),
        ("copy_seconds_per_byte", Unit::SecondsPerByte),
        ("l1_bytes", Unit::Bytes),
        ("memory_bandwidth_bytes_per_second", Unit::BytesPerSecond),
        ("message_rate_per_second", Unit::PerSecond),
        ("clock_hz", Unit::Hertz),
    ] {
        for suffix in units::suffix_names(unit) {
            let mut card = Card::new("M", "made up", "test");
            card.set(name, Number::new(7.0, suffix, "made up")).expect("a number");
            assert_eq!(card.get(name), units::parse(&format!("7 {suffix}"), unit).ok(), "{name} in {suffix}");
        }
    }
    let refused =
        Card::new("M", "made up", "test").set("cores", Number::new(7.0, "s", "made up")).expect_err("a count");
    assert!(refused.message.contains("cores cannot be in \"s\"") && refused.help == "write unit = \"\"", "{refused}");
    let refused = Card::new("M", "made up", "test").set("update_seconds", Number::new(7.0, "cycles/B", "made up"));
    assert!(refused.expect_err("a time").help.ends_with(" or \"h\" or \"cycles\""));
}

#[test]
fn qualified_numbers_are_found_next_to_plain_ones() {
    let mut card = Card::new("M", "made up", "test");
    for (name, value) in
        [("update_seconds", 3.0), ("update_seconds--128MiB-huge", 1.0), ("update_seconds--1GiB-base", 2.0)]
    {
        card.set(name, Number::new(value, "ns", "made up")).expect("a number");
    }
    assert_eq!(card.get("update_seconds"), Some(3e-9));
    let name = |bytes, pages| NumberName::new(catalogue::UPDATE_SECONDS).with_qualifier([Word::Bytes(bytes), pages]);
    assert_eq!(card.variants("update_seconds"), [name(128 << 20, Word::Huge), name(1 << 30, Word::Base)]);
    assert_eq!(card.get(&name(1 << 30, Word::Base).to_string()), Some(2e-9));
    assert!(card.set("update_seconds--128 MiB", Number::new(1.0, "ns", "x")).is_err());
}

#[test]
fn errors_show_the_place_and_the_expected_value() {
    let (message, advice, place) = error_of("[numbers.update_second]\nvalue = 1\nunit = \"s\"\nhow = \"x\"\n");
    assert!(message.contains("update_second") && advice.contains("\"update_seconds\""), "{message} {advice}");
    assert_eq!(place.as_deref(), Some("update_second"));
    let (message, advice, _) = error_of("[numbers.update_seconds]\nvalue = 1\nunit = \"MB\"\nhow = \"x\"\n");
    assert!(message.contains("\"MB\"") && advice.contains("\"ns\""), "{message} {advice}");
    let (message, advice, _) = error_of("[numbers.update_seconds]\nvalue = 1\nunit = \"cycles\"\nhow = \"x\"\n");
    assert!(message.contains("clock") && advice.contains("clock_hz"), "{message} {advice}");
    let (message, ..) = error_of("[numbers.cores]\nvalue = -1\nhow = \"x\"\n");
    assert!(message.contains("negative"), "{message}");
    let (message, ..) = error_of("[numbers.cores]\nvalue = nan\nhow = \"x\"\n");
    assert!(message.contains("finite"), "{message}");
    let (message, ..) = error_of("[numbers.cores]\nvalue = 2\nlow = 3\nhigh = 4\nhow = \"x\"\n");
    assert!(message.contains("interval"), "{message}");
    let (message, ..) = error_of("[numbers.cores]\nvalue = 2\nlow = 1\nhow = \"x\"\n");
    assert!(message.contains("interval"), "{message}");
    let (message, advice, _) = error_of("[numbers.cores]\nvalue = 2\nsize = 1\nhow = \"x\"\n");
    assert!(message.contains("\"size\"") && advice.contains("value"), "{message} {advice}");
    let (message, ..) = error_of("[numbers.cores]\nvalue = 2\n");
    assert!(message.contains("\"how\""), "{message}");
    let missing = Card::find("bluegene-q").expect_err("no such machine");
    assert!(missing.help.contains("path of a card"), "{missing}");
    let missing = Card::read(Path::new("/nowhere/m.toml")).expect_err("no such file");
    assert!(missing.message.contains("/nowhere/m.toml"), "{missing}");
}

/// Returns a unit that is valid for numbers of this kind.
fn unit(kind: Unit) -> &'static str {
    match kind {
        Unit::Seconds => "ns",
        Unit::SecondsPerByte => "ns/B",
        Unit::Bytes => "KiB",
        Unit::BytesPerSecond => "GB/s",
        Unit::PerSecond => "M/s",
        Unit::UpdatesPerSecond => "GUPS",
        Unit::Hertz => "GHz",
        _ => "",
    }
}

#[test]
fn every_published_machine_is_readable_and_cites_its_sources() {
    assert_eq!(PUBLISHED.len(), 10);
    for (name, _) in PUBLISHED {
        let card = Card::find(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(
            !card.numbers().is_empty() && ["paper", "measured by"].iter().any(|source| card.source.contains(source)),
            "{name}"
        );
        for (number, entry) in card.numbers() {
            let is_cited = ["Table", "Section", "Equation"].iter().any(|place| entry.how.contains(place));
            assert!(
                is_cited || ["assumed: ", "measured: "].iter().any(|start| entry.how.starts_with(start)),
                "{name} {number}"
            );
            assert!(card.get(number).is_some(), "{name} {number}");
        }
    }
}

proptest! {
    #[test]
    fn written_cards_are_read_back(
        name in "\\PC*", how in "\\PC*",
        values in proptest::collection::vec((0..CATALOGUE.len(), 0.0..1e300f64, proptest::option::of(0.0..1.0f64)), 0..8),
    ) {
        let mut card = Card::new(&name, "two\nlines \"quoted\"", &how);
        card.provenance.insert("host".into(), toml::Value::String(name.clone()));
        for (index, value, spread) in values {
            let entry = CATALOGUE[index];
            let is_count = entry.name == catalogue::RECEIVE_PACKETS.name;
            let value = if is_count { 1.0 + (value % 1e6).floor() } else { value };
            let mut number = Number::new(value, unit(entry.unit), how.clone());
            if let Some(spread) = spread {
                number = number.with_interval(value * (1.0 - spread), value * (1.0 + spread));
            }
            card.set(entry.name, number).expect("a number");
        }
        let read = Card::parse(&card.to_toml(), Path::new("m.toml")).expect("its own text");
        prop_assert_eq!(read, card);
    }

    #[test]
    fn no_text_makes_the_card_reader_panic(text in "\\PC*", key in "[a-z_-]{1,20}", value in "[-0-9a-z.\"]{0,8}") {
        let _ = Card::parse(&text, Path::new("m.toml"));
        let _ = card(&format!("[numbers.{key}]\nvalue = {value}\nhow = \"x\"\n"));
    }
}

/// Every name in cards and calibrations survives reading and writing.
#[test]
fn names_of_numbers_survive_writing_and_reading() {
    let mut names: Vec<String> = Vec::new();
    for (card_name, _) in PUBLISHED {
        let card = Card::find(card_name).expect("a published card");
        assert_eq!(Card::parse(&card.to_toml(), Path::new("again")).expect("a card"), card);
        names.extend(card.numbers().keys().cloned());
    }
    let host = apexmap_measure::provenance::host();
    let probes =
        [apexmap_study::calibrate::probes(&host, 2), apexmap_study::calibrate::node_probes(&host, 64)].concat();
    names.extend(probes.iter().map(|probe| probe.number.to_string()));
    assert!(names.iter().filter(|name| name.contains("--")).count() > 100);
    for name in names {
        let parsed = NumberName::parse(&name).expect("a name");
        assert_eq!(parsed.to_string(), name);
        let other = parsed.qualifier.iter().find(|word| matches!(word, Word::Other(_)));
        assert!(other.is_none(), "{name}: calibrations write known words only, not {other:?}");
    }
}

/// Constants make a wrong name a compile error.
#[test]
fn the_program_reads_card_numbers_through_catalogue_constants() {
    for folder in ["src/theory", "src/study", "src/pages", "src/results", "src/commands"] {
        for (file, text) in sources(folder) {
            for asked in ["get", "best", "require", "set", "variants", "interval", "range"] {
                assert!(!text.contains(&format!("card.{asked}(\"")), "{}: card.{asked}", file.display());
            }
        }
    }
    assert_eq!(catalogue::CLOCK_HZ.name, "clock_hz", "the name of a number is that of its constant");
    let inverse = inverse(catalogue::NETWORK_BANDWIDTH_BYTES_PER_SECOND.name);
    assert_eq!(inverse.as_deref(), Some(catalogue::NETWORK_SECONDS_PER_BYTE));
}

fn word() -> impl Strategy<Value = Word> {
    prop_oneof![
        any::<u64>().prop_map(|bytes| Word::Bytes(bytes >> 12)),
        (0u32..54).prop_map(|bits| Word::Bytes(1 << bits)),
        (0u64..1000).prop_map(Word::PerCent),
        prop::sample::select(vec![Word::Huge, Word::Base, Word::BasePages, Word::Dependent, Word::Send, Word::Few]),
        "[a-zA-Z0-9_]{1,9}".prop_map(|text| Word::parse(&text).expect("a word")),
    ]
}

proptest! {
    #[test]
    fn a_generated_name_is_read_back(entry in prop::sample::select(CATALOGUE.iter().collect::<Vec<_>>()), words in prop::collection::vec(word(), 0..5)) {
        let name = NumberName::new(entry).with_qualifier(words);
        prop_assert_eq!(NumberName::parse(&name.to_string()).expect("a name"), name);
    }

    #[test]
    fn any_text_is_refused_or_written_unchanged(text in "[a-zA-Z0-9_ -]{0,30}", whole in any::<String>()) {
        for text in [format!("read_seconds--{text}"), whole] {
            if let Ok(name) = NumberName::parse(&text) {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }
}
