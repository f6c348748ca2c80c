//! Tests of results on disk: no readable data are lost, and no file is left half-written.

use super::common::{Scratch, launch, sample, small_point, write};
use crate::needs;
use apexmap_base::disturbance::{Fact, Facts};
use apexmap_base::error::Error;
use apexmap_base::point::Value;
use apexmap_base::provenance::MemoryPlacement;
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_measure::kernels::keys::ALPHA;
use apexmap_measure::numerics::statistics::Summary;
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal::{self, Journal, Record, Run};
use apexmap_results::disk::parquet;
use apexmap_results::disk::tabulate::tabulate;
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use apexmap_results::table::TableBuilder;
use apexmap_results::table::column::Column;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> (Scratch, Folder) {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    (scratch, folder)
}

fn write_journal(folder: &Folder, name: &str, events: &[Event]) -> PathBuf {
    let path = folder.journal(name);
    let mut journal = Journal::create(&path).expect("a new journal");
    events.iter().for_each(|event| journal.append(event).expect("a line"));
    journal.finish().expect("on disk");
    path
}

fn events(samples: &[Sample]) -> Vec<Event> {
    let hello = Event::Hello(Box::new(launch("0001", 2, "b1")));
    let lines = samples.iter().map(|sample| Event::Sample(Box::new(sample.clone())));
    std::iter::once(hello).chain(lines).collect()
}

fn some_samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for (key, block) in [("a", 1u64), ("b", 2), ("c", 64)] {
        let point = small_point("apex_map.two_sided", 2).with_parameter("L", block);
        samples.extend((0..4).map(|k| sample(&point, key, k, 0.125 * f64::from(k + 1))));
    }
    samples[5].status = Status::TimedOut;
    samples[5].seconds = None;
    samples[5].message = "no sign of life within 60 s".into();
    samples
}

#[test]
fn a_journal_returns_the_written_samples() {
    let (_scratch, folder) = folder();
    let mut lines = events(&some_samples());
    lines.push(Event::Done { budget_spent: true });
    lines.push(Event::Ended {
        status: Status::Ok,
        message: String::new(),
        doubtful: false,
        output: Default::default(),
    });
    let record = journal::read(&write_journal(&folder, "0001", &lines)).expect("readable");
    assert_eq!(record.launch, Some(launch("0001", 2, "b1")));
    assert_eq!(record.samples, some_samples());
    assert!(record.budget_spent);
    assert_eq!((record.ended, record.unreadable), (Some((Status::Ok, String::new())), 0));
}

#[test]
fn a_truncated_line_and_garbage_affect_no_other_line() {
    let (_scratch, folder) = folder();
    let path = write_journal(&folder, "0001", &events(&some_samples()[..3]));
    let last = serde_json::to_vec(&Event::Sample(Box::new(some_samples()[4].clone()))).expect("a line");
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("the journal");
    file.write_all(b"\xff\xfe\x00 not a line\n\n{\"event\":\"sample\"}\n[1, 2\n").expect("written");
    file.write_all(&last).and_then(|()| file.write_all(b"\n")).expect("written");
    file.write_all(&last[..last.len() / 2]).expect("written");
    let record = journal::read(&path).expect("readable");
    assert_eq!(record.samples, [&some_samples()[..3], &some_samples()[4..5]].concat());
    assert_eq!(record.unreadable, 4);
}

#[test]
fn a_journal_of_a_newer_apexmap_is_refused_and_not_read_in_part() {
    let (_scratch, folder) = folder();
    let mut events = events(&some_samples()[..1]);
    let Event::Hello(hello) = &mut events[0] else { panic!("a launch comes first") };
    hello.schema += 1;
    let path = write_journal(&folder, "0001", &events);
    for error in [journal::read(&path).expect_err("newer"), journal::read_outcomes(&path).expect_err("newer")] {
        assert!(error.message.contains("0001.jsonl") && error.help.contains("newer"), "{error}");
    }
}

#[test]
fn a_journal_is_never_overwritten() {
    let (_scratch, folder) = folder();
    let path = write_journal(&folder, "0001", &events(&[]));
    let refused: Error = Journal::create(&path).err().expect("it exists");
    assert!(refused.message.contains("0001.jsonl"), "{refused}");
    assert_eq!(folder.next_launch().expect("a name"), "0002");
}

#[test]
fn launches_are_numbered_after_the_highest_and_read_in_order() {
    let (_scratch, folder) = folder();
    assert_eq!(folder.next_launch().expect("a name"), "0001");
    for name in ["0010", "0002", "9999", "10000"] {
        let point = small_point("apex_map.sequential", 1);
        write_journal(&folder, name, &[Event::Sample(Box::new(sample(&point, name, 0, 1.0)))]);
    }
    std::fs::write(folder.journals().join("0099.job"), "{}").expect("written");
    assert_eq!(folder.next_launch().expect("a name"), "10001");
    let order: Vec<_> = folder.records().expect("readable").iter().map(|r| r.samples[0].key.clone()).collect();
    assert_eq!(order, ["0002", "0010", "9999", "10000"]);
}

#[test]
fn integers_become_reals_in_a_column_with_a_real() {
    let mut table = TableBuilder::default();
    for value in
        [Some(Value::Integer(1)), None, Some(Value::Integer(3)), Some(Value::Real(0.5)), Some(Value::Integer(2))]
    {
        table.begin_row();
        if let Some(value) = value {
            table.set("x", &value);
        }
    }
    let table = table.finish();
    assert_eq!(table.rows, 5);
    let values: Vec<_> = (0..5).map(|row| table.value("x", row)).collect();
    let real = |v| Some(Value::Real(v));
    assert_eq!(values, [real(1.0), None, real(3.0), real(0.5), real(2.0)]);
}

#[test]
fn a_missing_column_is_named_with_the_existing_ones() {
    let mut table = TableBuilder::default();
    table.begin_row();
    table.set("alpha", &Value::Real(1.0));
    let samples = Samples::from(table.finish());
    let error = samples.require("alhpa").expect_err("no such column");
    assert!(error.message.contains("\"alhpa\"") && error.help.contains("alpha"), "{error}");
}

/// Returns the contents of a table, by name and row.
fn contents(table: &Table) -> Vec<(String, Vec<Option<Value>>)> {
    let rows = |name: &String| (0..table.rows).map(|row| table.value(name, row)).collect();
    table.names().iter().map(|name| (name.clone(), rows(name))).collect()
}

fn record(samples: Vec<Sample>) -> Record {
    Record { launch: Some(launch("0001", 2, "b1")), samples, ..Record::default() }
}

#[test]
fn parquet_preserves_the_table() {
    let (_scratch, folder) = folder();
    let table = tabulate(&[record(some_samples()), Record::default()], |key| key != "b");
    write(&folder, &table);
    let read = parquet::read(&folder.samples()).expect("readable");
    assert_eq!(contents(&read), contents(&table));
    assert_eq!((read.rows, read.word("status", 5), read.value("seconds", 5)), (12, "timed-out", None));
    assert_eq!((read.number("stale", 3), read.number("stale", 4)), (0.0, 1.0));
    assert_eq!(read.words("transport"), ["threads"]);
}

#[test]
fn rates_are_computed_from_seconds_and_work() {
    let point = small_point("apex_map.two_sided", 2);
    let table = tabulate(&[record(vec![sample(&point, "a", 0, 0.5)])], |_| true);
    // 2 ranks x 64 x 2 accesses of 8 words in half a second at 2 GHz.
    let expected = [
        ("operations", 256.0),
        ("bytes", 256.0 * 64.0),
        ("operations_per_second", 512.0),
        ("bytes_per_second", 512.0 * 64.0),
        ("bytes_per_second_per_rank", 256.0 * 64.0),
        ("cycles_per_operation", 0.5 * 2e9 / 128.0),
    ];
    expected.iter().for_each(|&(column, value)| assert_eq!(table.number(column, 0), value, "{column}"));
}

fn random_sample() -> impl Strategy<Value = Sample> {
    let number = prop_oneof![1e-9f64..1.0, any::<f64>().prop_filter("finite", |v| v.is_finite())];
    let status = prop::sample::select(vec![Status::Ok, Status::Wrong, Status::Failed, Status::Hung]);
    let outputs = prop::collection::btree_map(
        prop::sample::select(vec!["requests_served".to_owned(), "remote_share".into(), "own".into()]),
        prop_oneof![any::<u64>().prop_map(Value::Integer), number.clone().prop_map(Value::Real)],
        0..3,
    );
    // A measured sample has a positive time; other samples may have none.
    let time = prop_oneof![1e-9f64..1.0, Just(f64::MIN_POSITIVE), Just(f64::MAX)];
    let times = (prop::option::of(time), prop::option::of(number.clone()), number);
    (times, status, "\\PC{0,12}", "[a-c]", outputs, any::<(u32, u32)>(), 0.0001f64..1.0).prop_map(
        |((seconds, load, unix_seconds), status, message, key, outputs, (block, repetition), alpha)| Sample {
            point: small_point("apex_map.two_sided", 3).with_parameter("alpha", alpha),
            key,
            block,
            repetition,
            status: if seconds.is_none() && status == Status::Ok { Status::Failed } else { status },
            message,
            unix_seconds,
            load,
            pages_elsewhere: seconds.map(|_| alpha),
            disturbance: Facts::default().with_fact(Fact::RunDelayShare, alpha),
            seconds,
            outputs,
        },
    )
}

#[test]
fn a_launch_is_read_with_its_last_memory_placement() {
    let (_scratch, folder) = folder();
    let on = |memory_node| Some(MemoryPlacement { numa_node: 0, memory_node, elsewhere: f64::from(memory_node) });
    let mut events = events(&some_samples());
    events.insert(2, Event::Memory { ranks: vec![on(0), None] });
    events.push(Event::Memory { ranks: vec![on(0), on(1)] });
    let read = journal::read(&write_journal(&folder, "0001", &events)).expect("readable");
    assert_eq!((read.unreadable, read.samples.len()), (0, some_samples().len()));
    let places = read.launch.expect("a launch").placement;
    assert_eq!(places.into_iter().map(|place| place.memory).collect::<Vec<_>>(), [on(0), on(1)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Values are exact to the last bit: a time or an alpha that changed would split a cell.
    #[test]
    fn samples_survive_conversion_to_journal_and_parquet(samples in prop::collection::vec(random_sample(), 0..12)) {
        let (_scratch, folder) = folder();
        let read = journal::read(&write_journal(&folder, "0001", &events(&samples))).expect("readable");
        prop_assert_eq!(&read.samples, &samples);
        let table = tabulate(&[read], |_| true);
        prop_assert_eq!(table.rows, samples.len());
        for (row, sample) in samples.iter().enumerate() {
            prop_assert_eq!(table.value("seconds", row), sample.seconds.map(Value::Real));
            prop_assert_eq!(table.value("alpha", row), Some(Value::Real(ALPHA.of(&sample.point))));
            prop_assert_eq!(table.word("message", row), &sample.message);
        }
        if table.rows > 0 {
            write(&folder, &table);
            prop_assert_eq!(contents(&parquet::read(&folder.samples()).expect("readable")), contents(&table));
        }
    }

    /// The quick reader gives the same results as the full one, damaged lines included.
    #[test]
    fn the_quick_journal_reader_equals_the_full_one(
        samples in prop::collection::vec(random_sample(), 0..8),
        damage in prop::option::of((0usize..10, 0usize..400)),
    ) {
        let (_scratch, folder) = folder();
        let mut events = events(&samples);
        events.push(Event::Done { budget_spent: true });
        let path = write_journal(&folder, "0001", &events);
        if let Some((line, position)) = damage {
            let text = std::fs::read_to_string(&path).expect("readable");
            let cut = |(number, text): (usize, &str)| {
                let end = if number == line { text.floor_char_boundary(position) } else { text.len() };
                format!("{}\n", &text[..end])
            };
            std::fs::write(&path, text.lines().enumerate().map(cut).collect::<String>()).expect("written");
        }
        let (full, quick) = (journal::read(&path).expect("readable"), journal::read_outcomes(&path).expect("readable"));
        prop_assert_eq!((&full.launch, &full.ended), (&quick.launch, &quick.ended));
        prop_assert_eq!((full.budget_spent, full.unreadable), (quick.budget_spent, quick.unreadable));
        let summary = |sample: &dyn Run| {
            (sample.key().to_owned(), sample.block(), sample.repetition(), sample.status(), sample.repeated_value())
        };
        let full_runs: Vec<_> = full.samples.iter().map(|sample| summary(sample)).collect();
        prop_assert_eq!(full_runs, quick.samples.iter().map(|outcome| summary(outcome)).collect::<Vec<_>>());
        let failures: Vec<&Sample> = quick.samples.iter().filter_map(|outcome| outcome.failure.as_deref()).collect();
        let failed: Vec<&Sample> = full.samples.iter().filter(|sample| sample.status != Status::Ok).collect();
        prop_assert_eq!(failures, failed);
    }

    #[test]
    fn cells_match_a_plain_computation(
        rows in prop::collection::vec((0u64..3, 0u8..3, prop::option::of(1.0f64..9.0), any::<bool>()), 0..80),
    ) {
        let mut table = TableBuilder::default();
        let mut plain: BTreeMap<(u64, String), (Vec<f64>, usize)> = BTreeMap::new();
        for (ranks, word, seconds, listed) in &rows {
            table.begin_row();
            table.set("ranks", &Value::Integer(*ranks));
            table.set("kernel", &Value::Text(format!("k{word}")));
            table.set("status", &Value::from(if seconds.is_some() { "ok" } else { "failed" }));
            table.set("seconds", &Value::Real(seconds.unwrap_or(f64::NAN)));
            if *listed {
                let cell = plain.entry((*ranks, format!("k{word}"))).or_default();
                match seconds {
                    Some(seconds) => cell.0.push(*seconds),
                    None => cell.1 += 1,
                }
            }
        }
        let listed: Vec<usize> = (0..rows.len()).filter(|&row| rows[row].3).collect();
        if !rows.is_empty() {
            let cells = Samples::from(table.finish()).with_rows(listed).cells(&["ranks", "kernel"]).expect("cells");
            prop_assert_eq!(cells.len(), plain.len());
            for (cell, ((ranks, kernel), (seconds, failed))) in cells.iter().zip(&plain) {
                prop_assert_eq!(&cell.by, &[Value::Integer(*ranks), Value::Text(kernel.clone())]);
                prop_assert_eq!(cell.summary("seconds"), Summary::from_samples(seconds));
                prop_assert_eq!(&cell.failures, &vec![Status::Failed; *failed]);
                prop_assert_eq!(cell.samples.len(), seconds.len());
            }
        }
    }
}

#[test]
fn rows_without_a_grouping_value_belong_to_no_cell() {
    let mut table = Table::default();
    table.insert("kernel", Column::from_words([Some("x"), None, Some("x")]));
    table.insert("seconds", Column::from_numbers([1.0, 2.0, 3.0]));
    let samples = Samples::from(table);
    let cells = samples.cells(&["kernel"]).expect("cells");
    assert_eq!(cells.len(), 1);
    assert_eq!((cells[0].samples.rows(), cells[0].summary("seconds").map(|s| s.median)), (&[0, 2][..], Some(2.0)));
    assert!(samples.cells(&["alpha"]).is_err());
}

fn temporary_files(folder: &Folder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&folder.path).expect("the folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "tmp")).collect()
}

#[test]
fn files_are_replaced_completely_or_not_at_all() {
    let (_scratch, folder) = folder();
    let path = folder.manifest();
    folder.replace_text(&path, "old").expect("written");
    folder.replace_text(&path, "new").expect("written");
    let failed = folder.replace(&path, |file| {
        file.write_all(b"half of").expect("written");
        Err(Error::internal("the disk is full"))
    });
    assert!(failed.is_err());
    assert_eq!(std::fs::read_to_string(&path).expect("readable"), "new");
    assert_eq!(temporary_files(&folder), Vec::<PathBuf>::new());
}

#[test]
fn files_with_different_extensions_can_be_written_concurrently() {
    let (_scratch, folder) = folder();
    let (svg, png) = (folder.figures().join("map.svg"), folder.figures().join("map.png"));
    let outer = folder.replace(&svg, |file| {
        file.write_all(b"<svg").expect("written");
        folder.replace_text(&png, "PNG")?;
        file.write_all(b"/>").map_err(|e| Error::file("write", &svg, e))
    });
    outer.expect("written");
    let text = |path: &Path| std::fs::read_to_string(path).expect("readable");
    assert_eq!((text(&svg).as_str(), text(&png).as_str()), ("<svg/>", "PNG"));
}

#[test]
fn the_lock_excludes_a_second_driver_until_the_first_exits() {
    let (_scratch, folder) = folder();
    let lock = folder.lock().expect("no other driver holds the lock");
    let refused = folder.lock().expect_err("another driver holds the lock");
    assert!(refused.message.contains("another apexmap is writing to"), "{refused}");
    drop(lock);
    assert!(folder.lock().is_ok());
}

#[test]
fn a_folder_without_a_result_is_refused() {
    let scratch = Scratch::new();
    assert!(Folder::open(&scratch).expect_err("empty").message.contains("is not a result folder"));
}

#[test]
fn a_table_is_current_even_if_parquet_is_older_than_a_journal() {
    let (_scratch, folder) = folder();
    assert_eq!(folder.table().expect("empty").rows, 0);
    write_journal(&folder, "0001", &events(&some_samples()));
    assert_eq!(folder.compact().expect("written").rows, 12);
    assert_eq!(folder.table().expect("from Parquet").rows, 12);
    let new_samples: Vec<Sample> =
        some_samples()[..2].iter().map(|sample| Sample { repetition: 9, ..sample.clone() }).collect();
    let newer = write_journal(&folder, "0002", &events(&new_samples));
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    std::fs::File::options().append(true).open(newer).and_then(|file| file.set_modified(later)).expect("touched");
    assert_eq!(folder.table().expect("from journals").rows, 14);
}

#[test]
fn samples_outside_the_last_plan_are_stale() {
    let (_scratch, folder) = folder();
    write_journal(&folder, "0001", &events(&some_samples()));
    std::fs::write(folder.points(), "{\"key\": \"a\", \"kernel\": \"k\"}\n{\"key\": \"c\"}\n").expect("written");
    let table = folder.table().expect("readable");
    let stale: Vec<_> = (0..12).filter(|&row| table.number("stale", row) == 1.0).collect();
    assert_eq!(stale, [4, 5, 6, 7]);
}

const READER: &str = r#"
import sys
path = sys.argv[1]
try:
    import duckdb
    rows = duckdb.sql(f"select key, ranks, block_words, alpha, status, seconds from '{path}'").fetchall()
except ImportError:
    try:
        import polars
        frame = polars.read_parquet(path)
        rows = frame.select("key", "ranks", "block_words", "alpha", "status", "seconds").rows()
    except ImportError:
        import pandas
        frame = pandas.read_parquet(path)[["key", "ranks", "block_words", "alpha", "status", "seconds"]]
        rows = [[None if v != v else v for v in row] for row in frame.itertuples(index=False)]
for key, ranks, block, alpha, status, seconds in rows:
    print(key, int(ranks), int(block), alpha, status, seconds)
"#;

#[test]
fn python_reads_the_parquet_file_directly() {
    needs!(Python);
    let (_scratch, folder) = folder();
    write(&folder, &tabulate(&[record(some_samples())], |_| true));
    let output =
        Command::new(needs::python()).args(["-c", READER]).arg(folder.samples()).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 12);
    assert_eq!(lines[1], "a 2 1 1.0 ok 0.25");
    assert_eq!(lines[5], "b 2 2 1.0 timed-out None");
    assert_eq!(lines[11], "c 2 64 1.0 ok 0.5");
}
