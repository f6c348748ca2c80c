//! Tests of results with files that are damaged, copied or written by others: readable data are read, the rest is
//! reported, and nothing panics.

use super::common::{Scratch, apexmap, launch, manifest, sample, small_point, successful_stdout, with_time_limit};
use super::terminal::TINY_SWEEP;
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_measure::kernels::{self, Domain};
use apexmap_results::disk::Folder;
use apexmap_results::disk::journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::parquet;
use apexmap_results::disk::reader::Reader;
use apexmap_results::disk::record::Record;
use apexmap_results::disk::tabulate::Tabulation;
use apexmap_results::table::Table;
use apexmap_results::table::TableBuilder;
use apexmap_results::table::column::Column;
use apexmap_theory::bounds::Limits;
use apexmap_theory::machine::Card;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates a compacted result of one launch with these lines, in a temporary folder.
fn result(lines: &[String]) -> (Scratch, Folder) {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    std::fs::write(folder.journal("0001"), lines.concat()).expect("written");
    manifest().write(&folder).expect("written");
    folder.compact().expect("compacted");
    (scratch, folder)
}

fn line(event: &Event) -> String {
    serde_json::to_string(event).expect("JSON") + "\n"
}

/// Returns the lines of a launch with six samples of each of four points.
fn lines() -> Vec<String> {
    let mut lines = vec![line(&Event::Hello(Box::new(launch("0001", 1, "b1"))))];
    for (index, (alpha, block)) in [(0.1, 1u64), (0.1, 8), (1.0, 1), (1.0, 8)].into_iter().enumerate() {
        let point = small_point("apex_map.sequential", 1).with_parameter("alpha", alpha).with_parameter("L", block);
        let nth_sample = |k: u32| sample(&point, &format!("k{index}"), k, 1e-3 * f64::from(k + 1));
        lines.extend((0..6).map(|k| line(&Event::Sample(Box::new(nth_sample(k))))));
    }
    lines.push(line(&Event::Ended {
        status: Status::Ok,
        message: String::new(),
        doubtful: false,
        output: Default::default(),
    }));
    lines
}

fn path(folder: &Folder) -> &str {
    folder.path.to_str().expect("a path")
}

/// Returns the text of a command on both outputs, and its exit code.
fn run_command(arguments: &[&str]) -> (String, Option<i32>) {
    let output = apexmap(arguments);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (text.concat(), output.status.code())
}

#[test]
fn an_impossible_sample_is_an_unreadable_line() {
    let damages = [
        ("\"I\":64", "\"I\":6.4"),
        ("\"I\":64", "\"J\":64,\"I\":\"64\""),
        ("\"L\":1,", "\"L\":\"8\","),
        ("\"L\":1,", "\"L\":0,"),
        ("\"alpha\":0.1", "\"alpha\":7.5"),
        ("\"ranks\":1", "\"ranks\":0"),
        ("\"ranks\":1", "\"ranks\":2"),
        ("\"seconds\":0.001", "\"seconds\":0.0"),
        ("\"seconds\":0.001", "\"seconds\":-0.001"),
        ("\"seconds\":0.001", "\"seconds\":1e999"),
        ("\"seconds\":0.001", "\"seconds\":null"),
        ("\"status\":\"ok\"", "\"status\":\"fine\""),
        ("\"remote_share\":0.5", "\"remote_share\":[0.5]"),
        ("\"repetition\":0", "\"repetition\":4294967295"),
    ];
    for (good, bad) in damages {
        let mut lines = lines();
        assert!(lines[1].contains(good), "{good} in {}", lines[1]);
        lines[1] = lines[1].replacen(good, bad, 1);
        let (_scratch, folder) = result(&lines);
        let record = journal::read(&folder.journal("0001")).expect("readable");
        assert_eq!((record.samples.len(), record.unreadable), (23, 1), "{bad}");
        assert_eq!(folder.table().expect("a table").rows, 23, "{bad}");
    }
}

#[test]
fn damage_is_reported_with_its_journal_by_every_reader() {
    let mut damaged = lines();
    damaged[0] = "garbage\n".into();
    damaged[3] = damaged[3].replacen("\"I\":64", "\"I\":6.4", 1);
    damaged[4] = damaged[3].clone();
    damaged[4].truncate(100);
    let (scratch, folder) = result(&damaged);
    let out = scratch.join("x.csv");
    let export = ["export", path(&folder), "--out", out.to_str().expect("a path")];
    for arguments in [&["status", path(&folder)][..], &["query", path(&folder)], &export] {
        let (text, code) = run_command(arguments);
        assert!(text.contains("journal 0001.jsonl: 3 lines cannot be read") && code == Some(0), "{text}");
    }
    let (text, _) = run_command(&["status", path(&folder)]);
    assert!(text.contains("journal 0001.jsonl: no launch record, 21 samples"), "{text}");
}

#[test]
fn samples_of_a_copied_journal_count_once_and_are_reported() {
    let (_scratch, folder) = result(&lines());
    std::fs::copy(folder.journal("0001"), folder.journal("0002")).expect("copied");
    assert_eq!(folder.table().expect("a table").rows, 24);
    for command in ["status", "query"] {
        let (text, code) = run_command(&[command, path(&folder)]);
        assert!(text.contains("journal 0002.jsonl: 24 samples occurred before and count once"), "{text}");
        assert_eq!(code, Some(0));
    }
    // Another run of the same repetition is not a copy.
    let again = lines()[1].replacen("\"unix_seconds\":1700000000.0", "\"unix_seconds\":1700000100.0", 1);
    std::fs::write(folder.journal("0002"), [lines()[0].clone(), again].concat()).expect("written");
    assert_eq!(folder.table().expect("a table").rows, 25);
}

#[test]
fn an_endless_line_is_not_kept_in_memory() {
    let scratch = Scratch::new();
    let path = scratch.join("0001.jsonl");
    let long = "x".repeat((64 << 20) + 5);
    std::fs::write(&path, format!("{}{long}\n{}", lines()[0], lines()[1])).expect("written");
    let record = journal::read(&path).expect("readable");
    assert_eq!((record.samples.len(), record.unreadable), (1, 1));
}

/// Lines in the usual format have a separate, faster reader.
#[test]
fn a_sample_is_the_same_in_every_spelling_of_its_line() {
    let scratch = Scratch::new();
    let mut original = sample(&small_point("apex_map.sequential", 1), "k\",\"block\":7", 3, 1.5);
    original.message = "{\"block\":9}".into();
    let written = line(&Event::Sample(Box::new(original.clone())));
    let value: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let fields = value.as_object().expect("fields");
    let backwards: Vec<String> = fields.iter().rev().map(|(name, value)| format!("\"{name}\" : {value}")).collect();
    let newer = written.replacen("\"repetition\"", "\"of a later version\":{\"block\":5},\"repetition\"", 1);
    let escaped = written.replacen("\"block\"", "\"\\u0062lock\"", 1);
    for text in [written.clone(), format!("{{{}}}\n", backwards.join(", ")), newer, escaped] {
        let path = scratch.join("0001.jsonl");
        std::fs::write(&path, &text).expect("written");
        let (full, quick) = (journal::read(&path).expect("readable"), journal::read_outcomes(&path).expect("readable"));
        assert_eq!((full.unreadable, full.samples.as_slice()), (0, [original.clone()].as_slice()), "{text}");
        assert_eq!(
            (quick.samples[0].block, quick.samples[0].repetition),
            (original.block, original.repetition),
            "{text}"
        );
        assert_eq!(quick.samples[0].key, original.key, "{text}");
    }
    // A duplicate field is damage, wherever it is.
    let twice = written.replacen("\"repetition\"", "\"key\":\"other\",\"repetition\"", 1);
    let path = scratch.join("0001.jsonl");
    std::fs::write(&path, twice).expect("written");
    assert_eq!(journal::read(&path).expect("readable").unreadable, 1);
}

#[test]
fn samples_of_earlier_versions_get_defaults_for_newer_parameters() {
    let mut lines = lines();
    lines[1] = lines[1].replacen("\"pages\":\"huge\",", "", 1).replacen("\"I\":64", "\"I\":64,\"gone\":3", 1);
    let (_scratch, folder) = result(&lines);
    let table = folder.table().expect("a table");
    assert_eq!((table.rows, table.word("pages", 0), table.number("gone", 0)), (24, "huge", 3.0));
}

#[test]
fn a_figure_with_unrepresentable_values_is_omitted_and_reported() {
    let mut lines = lines();
    for line in &mut lines[1..7] {
        *line = line.replace("\"seconds\":0.00", "\"seconds\":1e30");
    }
    let (_scratch, folder) = result(&lines);
    let (text, code) = run_command(&["report", path(&folder)]);
    assert!(code == Some(0) && text.contains("is not drawn") && text.contains("no axis can show"), "{text}");
    let page = std::fs::read_to_string(folder.report()).expect("a report");
    assert!(page.contains("is not drawn"));
}

/// Changes the contents of a file.
fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("readable");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn file_contents_decide_whether_a_parquet_file_is_current() {
    let (_scratch, folder) = result(&lines());
    let manifest = Manifest::read(&folder).expect("a manifest");
    let compaction = manifest.compaction.expect("it lists samples.parquet");
    assert_eq!(
        compaction.sources.iter().map(|source| source.file.as_str()).collect::<Vec<_>>(),
        ["journals/0001.jsonl"]
    );
    // Time stamps have no effect, neither a future nor a past one.
    let parquet = std::fs::File::options().append(true).open(folder.samples()).expect("the file");
    for seconds in [0, 1 << 33] {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        parquet.set_modified(time).expect("a time");
        change(&folder.journal("0001"), |bytes| bytes.extend(line(&Event::Done { budget_spent: false }).bytes()));
        let mut new_line = lines()[1].replacen("1700000000.0", &format!("17000{seconds}.0"), 1);
        new_line.insert(new_line.len() - 1, ' ');
        change(&folder.journal("0001"), |bytes| bytes.extend(new_line.bytes()));
        assert_eq!(folder.table().expect("a table").rows, if seconds == 0 { 25 } else { 26 });
    }
    // Points of another plan are stale, whatever file is newer.
    folder.compact().expect("compacted");
    std::fs::write(folder.points(), "{\"key\": \"k0\"}\n").expect("written");
    let table = folder.table().expect("a table");
    assert_eq!((0..table.rows).filter(|&row| table.number("stale", row) == 1.0).count(), 18);
}

#[test]
fn a_damaged_parquet_file_is_reported_and_journals_are_read() {
    let (_scratch, folder) = result(&lines());
    let table = folder.table().expect("a table");
    let length = std::fs::metadata(folder.samples()).expect("the file").len() as usize;
    for offset in (0..length).step_by(length / 40) {
        change(&folder.samples(), |bytes| bytes[offset] ^= 1 << (offset % 8));
        let (text, code) = run_command(&["query", path(&folder)]);
        assert_eq!(code, Some(0), "{text}");
        let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("note:")).collect();
        assert!(matches!(notes[..], [note] if note.contains("does not match its checksum in manifest.json")), "{text}");
        assert_eq!(folder.table().expect("a table"), table);
        change(&folder.samples(), |bytes| bytes[offset] ^= 1 << (offset % 8));
    }
    assert!(!run_command(&["query", path(&folder)]).0.contains("note:"));
    // Without journals, only the Parquet file remains.
    std::fs::remove_dir_all(folder.journals()).expect("removed");
    assert!(run_command(&["query", path(&folder)]).1 == Some(0));
    change(&folder.samples(), |bytes| bytes[length / 2] ^= 1);
    let (text, code) = run_command(&["query", path(&folder)]);
    assert!(code == Some(3) && text.contains("does not match its checksum in manifest.json"), "{text}");
}

/// Returns a table of two columns, one of them with gaps.
fn small_table() -> Table {
    let mut table = TableBuilder::default();
    for row in 0..9u64 {
        table.begin_row();
        table.set("seconds", &Value::Real(1.5 * row as f64));
        if row % 4 > 0 {
            table.set("host", &Value::Text(format!("node {}", row % 2)));
        }
    }
    table.finish()
}

#[test]
fn a_damaged_foreign_parquet_file_never_ends_the_program() {
    let scratch = Scratch::new();
    let path = scratch.join("foreign.parquet");
    let mut file = std::fs::File::create(&path).expect("a file");
    parquet::write(&mut file, &path, &small_table()).expect("written");
    let original = std::fs::read(&path).expect("the file");
    let mut refused = 0;
    for bit in 0..original.len() * 8 {
        let mut bytes = original.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, bytes).expect("written");
        match parquet::read(&path) {
            Ok(table) => {
                assert!(table.names().iter().all(|name| table.column(name).expect("named").len() == table.rows));
            }
            Err(error) => {
                assert!(error.message.contains("foreign.parquet") && error.exit_code() == 2, "bit {bit}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > original.len(), "{refused} of {}", original.len() * 8);
    for length in 0..original.len() {
        std::fs::write(&path, &original[..length]).expect("written");
        assert!(parquet::read(&path).is_err(), "{length} bytes of {}", original.len());
    }
}

/// One changed bit in a page's header makes the number of its values negative. As an unsigned number it is very large.
#[test]
fn a_parquet_file_that_needs_too_much_memory_is_refused() {
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/parquet/negative-page");
    let scratch = Scratch::new();
    let file = scratch.join("foreign.parquet");
    std::fs::copy(seed, &file).expect("copied");
    let (text, code) = run_command(&["query", file.to_str().expect("a path")]);
    assert!(code == Some(2) && text.contains("as Parquet: it is damaged: a page of "), "{code:?}: {text}");
    assert_eq!(text.lines().count(), 2, "an error and advice: {text}");
}

#[test]
fn samples_are_checked_against_the_manifest_even_when_named_directly() {
    let (scratch, folder) = result(&lines());
    let file = folder.samples();
    let named = ["query", file.to_str().expect("a path"), "--where", "alpha == 1", "--format", "csv"];
    let expected_text = successful_stdout(&named);
    change(&file, |bytes| bytes[100] ^= 1);
    let (text, code) = run_command(&named);
    assert!(code == Some(0) && text.starts_with(&expected_text), "{text}");
    assert!(text.contains("does not match its checksum in manifest.json; its journals are read instead"), "{text}");
    let output = Command::new(env!("CARGO_BIN_EXE_apexmap"))
        .current_dir(&folder.path)
        .args(["query", "samples.parquet"])
        .output();
    let text = String::from_utf8_lossy(&output.expect("it runs").stderr).into_owned();
    assert!(text.contains("its journals are read instead"), "{text}");
    std::fs::remove_dir_all(folder.journals()).expect("removed");
    let (text, code) = run_command(&named);
    assert!(code == Some(3) && text.contains("does not match its checksum in manifest.json"), "{text}");
    // In another folder, it is an ordinary file.
    change(&file, |bytes| bytes[100] ^= 1);
    let other = scratch.join("samples.parquet");
    std::fs::copy(&file, &other).expect("copied");
    assert_eq!(
        successful_stdout(&["query", other.to_str().expect("a path"), "--where", "alpha == 1", "--format", "csv"]),
        expected_text
    );
}

#[test]
fn files_without_a_manifest_are_marked_and_wrong_times_count_as_failed() {
    let (_scratch, folder) = result(&lines());
    std::fs::remove_file(folder.manifest()).expect("removed");
    std::fs::remove_dir_all(folder.journals()).expect("removed");
    let file = folder.samples();
    let file = file.to_str().expect("a path");
    for named in [file, path(&folder)] {
        let (text, code) = run_command(&["query", named]);
        assert!(code == Some(0) && text.contains("samples.parquet has no checksum"), "{text}");
        assert!(!text.contains("count as failed"), "{text}");
    }
    // The times of five of six samples of a point.
    let table = parquet::read(Path::new(file)).expect("a table");
    let wrong = [0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut changed = Table::default();
    for name in table.names() {
        let column = table.column(name).expect("a column");
        let seconds = |row: usize| wrong.get(row).copied().unwrap_or(column.number(row));
        let column =
            if name == "seconds" { Column::from_numbers((0..table.rows).map(seconds)) } else { column.clone() };
        changed.insert(name, column);
    }
    folder.replace(&folder.samples(), |out| parquet::write(out, Path::new(file), &changed)).expect("written");
    let (text, code) = run_command(&["query", file, "--format", "csv"]);
    assert!(code == Some(0) && text.contains("5 runs of ") && text.contains("they count as failed"), "{text}");
    let (head, row) = (text.lines().next().expect("a head"), text.lines().nth(1).expect("a row"));
    let value = |name: &str| {
        let index = head.split(',').position(|column| column == name).unwrap_or_else(|| panic!("no {name}: {head}"));
        row.split(',').nth(index).expect("a value").to_owned()
    };
    assert_eq!((value("samples"), value("failed")), ("1".into(), "5".into()), "{text}");
}

/// Files of a result that are replaced by a pipe without a writer.
const PIPES: &[&str] = &[
    "manifest.json",
    "points.jsonl",
    "sweep.toml",
    "machine.toml",
    "card.toml",
    "trial.json",
    "samples.parquet",
    "report.html",
    ".lock",
    ".apexmap-1-1.tmp",
    "figures/.made",
    "figures/.apexmap-1-1.tmp",
    "figures/heat-map-1-core.svg",
    "journals/0001.job",
    "journals/.apexmap-1-1.tmp",
    "jobs/nodes-1.json",
    "jobs/nodes-1.queued",
    "jobs/.nodes-1",
];

#[test]
fn a_pipe_in_a_result_blocks_no_command() {
    with_time_limit(|| {
        let scratch = Scratch::new();
        let sweep = scratch.join("tiny.toml");
        std::fs::write(&sweep, TINY_SWEEP).expect("written");
        for name in PIPES {
            let (_scratch, folder) = result(&lines());
            std::fs::create_dir(folder.path.join("jobs")).expect("a folder");
            std::fs::write(folder.path.join("jobs/nodes-1.json"), "").expect("a file");
            let place = folder.path.join(name);
            let _ = std::fs::remove_file(&place);
            nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
            let (out, sweep) = (path(&folder), sweep.to_str().expect("a path"));
            let svg = scratch.join("a.svg");
            let commands: [&[&str]; 6] = [
                &["status", out],
                &["query", out],
                &["report", out],
                &["plot", out, "curves", "--x", "L", "--out", svg.to_str().expect("a path")],
                &["export", out],
                &["run", "--out", out, sweep],
            ];
            for command in commands {
                let (text, code) = run_command(command);
                assert!(matches!(code, Some(0 | 2..=4)), "{command:?} with {name}: {code:?}: {text}");
            }
        }
    });
}

#[test]
fn samples_of_an_inconsistent_launch_are_kept_but_do_not_count() {
    let doubtful = line(&Event::Ended {
        status: Status::Failed,
        message: "\u{1}".repeat(2000),
        doubtful: true,
        output: Default::default(),
    });
    let mut second: Vec<String> = lines().iter().map(|line| line.replace("1700000000.0", "1700000001.0")).collect();
    assert_ne!(second, lines());
    *second.last_mut().expect("a line") = doubtful;
    let (_scratch, folder) = result(&lines());
    std::fs::write(folder.journal("0002"), second.concat()).expect("written");
    let table = folder.table().expect("a table");
    assert_eq!(table.rows, 24);
    folder.compact().expect("compacted");
    assert_eq!(folder.table().expect("a table"), table);
    let damages = Manifest::read(&folder).expect("a manifest").compaction.expect("it lists samples.parquet").damages;
    assert_eq!(
        damages.iter().map(|damage| (&*damage.journal, damage.doubtful)).collect::<Vec<_>>(),
        [("0002.jsonl", 24)]
    );
    let (full, quick) = (journal::read(&folder.journal("0002")), journal::read_outcomes(&folder.journal("0002")));
    let (full, quick) = (full.expect("readable"), quick.expect("readable"));
    assert_eq!((full.samples.len(), full.doubtful, full.unreadable), (0, 24, 0));
    assert_eq!((quick.samples.len(), quick.doubtful, quick.unreadable), (0, 24, 0));
    for command in ["status", "query"] {
        let (text, code) = run_command(&[command, path(&folder)]);
        let expected = "journal 0002.jsonl: 24 samples of a launch with inconsistent lines do not count";
        assert!(code == Some(0) && text.contains(expected), "{command}: {text}");
    }
}

#[test]
fn a_damaged_manifest_plan_or_card_never_causes_a_panic() {
    let (_scratch, folder) = result(&lines());
    successful_stdout(&["report", path(&folder)]);
    std::fs::write(folder.points(), "{\"key\": \"k0\"}\n").expect("written");
    let damaged = ["", "{", "[]", "null", "{\"key\": 3}\n", "\u{0}\u{0}", "name = ", "{\"schema\": 99}"];
    for file in [folder.manifest(), folder.points(), folder.machine()] {
        let before = std::fs::read(&file).ok();
        for text in damaged {
            std::fs::write(&file, text).expect("written");
            for command in ["status", "query", "report"] {
                let (text_of_command, code) = run_command(&[command, path(&folder)]);
                let clean_exit = matches!(code, Some(0 | 2 | 3));
                assert!(
                    clean_exit && !text_of_command.contains("panicked"),
                    "{command}, {}: {text:?}: {text_of_command}",
                    file.display()
                );
            }
        }
        let _ = before.map_or_else(|| std::fs::remove_file(&file), |bytes| std::fs::write(&file, bytes));
    }
}

/// Generates points of any kernel with each value within its domain, whether the point can run or not.
fn any_point() -> impl Strategy<Value = Point> {
    let value = |domain: Domain| match domain {
        Domain::Integer { min: least, max: most, .. }
        | Domain::Size { min: least, max: most, .. }
        | Domain::Global { min: least, max: most, .. }
        | Domain::Chosen { min: least, max: most, .. } => {
            prop_oneof![Just(least), Just(most), least..=most, least..=most.min(least + 40)]
                .prop_map(Value::Integer)
                .boxed()
        }
        Domain::Real { exclusive_min: above, max: most, .. } => {
            prop_oneof![Just(most), above..most].prop_map(Value::Real).boxed()
        }
        Domain::Choice(words) => prop::sample::select(words).prop_map(Value::from).boxed(),
    };
    (0..kernels::ALL.len(), prop_oneof![1usize..9, Just(1 << 20)]).prop_flat_map(move |(index, ranks)| {
        let kernel = kernels::ALL[index];
        let values: Vec<_> = kernel.parameters.iter().map(|parameter| value(parameter.domain)).collect();
        values.prop_map(move |values| {
            let named = kernel.parameters.iter().map(|parameter| parameter.name.to_owned()).zip(values);
            Point { params: named.collect(), ..Point::new(kernel.id, ranks) }
        })
    })
}

fn card() -> Card {
    Card::parse(include_str!("../fuzz/seeds/card/cut"), &PathBuf::from("card.toml")).expect("a card")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Valid combinations depend on the machine, so readers of samples do not check them.
    #[test]
    fn rates_and_bounds_of_every_readable_sample_can_be_computed(point in any_point(), seconds in 1e-9f64..1e3) {
        let scratch = Scratch::new();
        let path = scratch.join("0001.jsonl");
        let hello = line(&Event::Hello(Box::new(launch("0001", point.ranks.min(9), "b1"))));
        let original: Sample = sample(&point, "k", 0, seconds);
        std::fs::write(&path, hello + &line(&Event::Sample(Box::new(original)))).expect("written");
        let mut table = Tabulation::new(Some(Limits::from_card(&card())));
        let mut samples = 0;
        let add = |sample: Sample, record: &mut Record| {
            samples += 1;
            table.add(&sample, record.launch.as_ref(), true);
        };
        Reader::default().read_each(&[path], add).expect("readable");
        prop_assert_eq!(table.finish().rows, samples);
    }
}

#[test]
fn an_invalid_line_of_the_plan_is_reported_by_its_number() {
    let (_scratch, folder) = result(&lines());
    std::fs::write(folder.points(), "{\"key\": \"k0\", \"kernel\": \"k\", \"ranks\": 1}\n{\"key\": 3}\n")
        .expect("written");
    for command in ["status", "query"] {
        let (text, code) = run_command(&[command, path(&folder)]);
        let named = text.contains("points.jsonl: line 2 is not a planned point") && text.contains("remove the file");
        assert!(code == Some(3) && named, "{command}: {text}");
    }
    std::fs::remove_file(folder.points()).expect("removed");
    assert_eq!(run_command(&["status", path(&folder)]).1, Some(0));
}

#[test]
fn a_pipe_in_place_of_a_journal_is_refused_without_blocking() {
    let scratch = Scratch::new();
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    nix::unistd::mkfifo(&folder.journal("0001"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let error = folder.records().expect_err("no journal");
    assert!(error.message.contains("0001.jsonl is not a file") && error.exit_code() == 3, "{error}");
}

#[test]
fn a_pipe_in_place_of_a_result_file_blocks_no_command() {
    for name in ["manifest.json", "points.jsonl", "sweep.toml", "machine.toml", ".lock"] {
        let (_scratch, folder) = result(&lines());
        let place = folder.path.join(name);
        let _ = std::fs::remove_file(&place);
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        with_time_limit(move || {
            assert_eq!(Manifest::read(&folder).is_err(), name == "manifest.json");
            assert_eq!(folder.lock().is_err(), name == ".lock");
            assert_eq!(folder.planned_points().is_err(), name == "points.jsonl");
            for command in ["status", "query"] {
                let (text, code) = run_command(&[command, path(&folder)]);
                // Samples in Parquet contain the information whether they are stale.
                let asks = name == "points.jsonl" && command == "status";
                assert_eq!(code, Some(if asks { 3 } else { 0 }), "{command} with {name}: {text}");
            }
        });
    }
}
