//! Fuzz targets: the readers of files, flags and launches.
//!
//! Each function takes any bytes. It panics if the program would, or if the data that were read violate a promise of
//! the reader. The program's own tests run all seeds through them; `make fuzz` runs them under libFuzzer, which
//! searches for new ones.

use apexmap::commands::diagnostics;
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::Error;
use apexmap_base::point::Value;
use apexmap_base::terminal::is_unprintable;
use apexmap_base::units::{self, Unit};
use apexmap_cluster::batch::check_submit;
use apexmap_locate::analysis::Analysis;
use apexmap_locate::text_trace;
use apexmap_measure::kernels;
use apexmap_measure::worker::{Job, Schedule};
use apexmap_results::disk::Folder;
use apexmap_results::disk::archive;
use apexmap_results::disk::journal;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::parquet;
use apexmap_results::import;
use apexmap_results::samples::Samples;
use apexmap_results::table::Table;
use apexmap_run::sweep::{self as sweeps, Machine};
use apexmap_theory::bounds::Limits;
use apexmap_theory::machine::Card;
use apexmap_theory::models::formula::{FormulaModel, Names};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function that must accept any bytes.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: &[(&str, Target)] = &[
    ("archive", archive),
    ("card", card),
    ("condition", condition),
    ("formula", formula),
    ("import", import),
    ("job", job),
    ("journal", journal),
    ("manifest", manifest),
    ("parquet", parquet),
    ("sweep", sweep),
    ("trace", trace),
    ("units", units),
];

/// Checks that an error can be shown on one screen, with help.
fn check_error(error: &Error) {
    let text = diagnostics::render(error, false, 100);
    assert!(!text.trim().is_empty() && !error.message.is_empty(), "{error:?}");
    assert!(text.len() < 20_000, "an error of {} bytes", text.len());
    assert!(!text.contains(is_unprintable), "{text:?}");
}

/// Reads a sweep file. Its points are complete and distinct.
pub fn sweep(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let machine = Machine::with_cores(2, 1 << 34);
    match sweeps::parse(text, Path::new("fuzz.toml"), machine.clone()) {
        Err(error) => check_error(&error),
        Ok(sweep) => {
            check_submit(&sweep).err().iter().for_each(check_error);
            let keys: std::collections::HashSet<String> =
                sweep.points.iter().map(|point| format!("{point:?}")).collect();
            assert_eq!(keys.len(), sweep.points.len(), "a point occurs twice");
            for point in sweep.points.iter().take(100) {
                assert_eq!(kernels::complete(point.clone()).as_ref(), Ok(point), "a point is not complete");
            }
            let again = sweeps::parse(text, Path::new("fuzz.toml"), machine);
            assert_eq!(again.as_ref(), Ok(&sweep), "the same text is another sweep");
        }
    }
}

/// Reads a machine card. Writing and reading it again gives the same card.
pub fn card(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Card::parse(text, Path::new("fuzz.toml")) {
        Err(error) => check_error(&error),
        Ok(card) => {
            Limits::from_card(&card);
            let written = card.to_toml();
            let again = Card::parse(&written, Path::new("fuzz.toml")).expect("what was written");
            assert_eq!(again.to_toml(), written);
        }
    }
}

/// Reads a condition. It is true, false or does not apply.
pub fn condition(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let words = NameType::Word(vec!["lfsr".into(), "xoshiro".into(), "a b".into()]);
    let names = [("L", NameType::Number), ("alpha", NameType::Number), ("P", NameType::Number), ("stream", words)];
    match Condition::parse(text, &names) {
        Err(error) => check_error(&error),
        Ok(condition) => {
            let value = |name: &str| match name {
                "L" => Some(Value::Integer(8)),
                "alpha" => Some(Value::Real(0.1)),
                "stream" => Some(Value::Text("lfsr".into())),
                _ => None,
            };
            let holds = condition.is_true_for(&value);
            assert!(holds.is_some() || condition.names().iter().any(|name| name == "P"), "it does not apply");
        }
    }
}

/// Reads a number with a unit. It is finite, and can be printed.
pub fn units(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for unit in Unit::ALL {
        let Ok(number) = units::parse(text, unit) else { continue };
        assert!(number.is_finite(), "{text} is {number}");
        let _ = (units::quantity(number, unit), units::amount(number, unit), units::interval((number, number), unit));
    }
}

/// Reads a worker's job. It ends.
pub fn job(data: &[u8]) {
    let Ok(job) = serde_json::from_slice::<Job>(data) else { return };
    let mut schedule = Schedule::new(&job, "");
    let max_runs = job.tasks.len().saturating_mul(job.repeat.max.max(1) as usize);
    let mut runs = 0;
    while let Some(index) = schedule.next_point(runs % 3 == 0)
        && runs < 2_000
    {
        runs += 1;
        assert!(runs <= max_runs, "more runs than the job asks for");
        schedule.record(index, (runs % 7 != 0).then(|| 1.0 + f64::from((runs % 5) as u32)));
    }
}

/// Reads a journal. Plans and reports get the same samples from it, and reports can use all of them.
pub fn journal(data: &[u8]) {
    let folder = scratch();
    let path = folder.journal("0001");
    std::fs::write(&path, data).expect("a file");
    let (whole, short) = (journal::read(&path), journal::read_outcomes(&path));
    match (&whole, &short) {
        (Ok(whole), Ok(short)) => {
            assert_eq!(whole.samples.len(), short.samples.len());
            assert_eq!(whole.unreadable, short.unreadable);
        }
        (Err(whole), Err(short)) => assert_eq!(whole, short),
        _ => panic!("one reader refuses what the other reads"),
    }
    match folder.table() {
        Err(error) => check_error(&error),
        Ok(table) => check_samples(table),
    }
}

/// Runs the queries that a report makes on samples.
fn check_samples(table: Table) {
    let samples = Samples::from(table).current();
    let _ = samples.axes();
    match samples.groups() {
        Err(error) => check_error(&error),
        Ok(groups) => {
            for group in &groups {
                let _ = (group.label(), group.is_surface());
            }
        }
    }
    let _ = samples.is_oversubscribed();
}

/// Reads a manifest, and the plan next to it.
pub fn manifest(data: &[u8]) {
    let folder = scratch();
    std::fs::write(folder.manifest(), data).expect("a file");
    match Manifest::read(folder) {
        Err(error) => check_error(&error),
        Ok(manifest) => {
            manifest.write(folder).expect("a file");
            assert_eq!(Manifest::read(folder).as_ref(), Ok(&manifest));
        }
    }
    std::fs::write(folder.points(), data).expect("a file");
    match folder.planned_points() {
        Err(error) => check_error(&error),
        Ok(points) => points.into_iter().flatten().for_each(|point| drop(kernels::complete(point))),
    }
    std::fs::remove_file(folder.points()).expect("a file");
}

/// Reads a Parquet file of another program. Its columns have equal lengths.
pub fn parquet(data: &[u8]) {
    let path = scratch().samples();
    std::fs::write(&path, data).expect("a file");
    match parquet::read(&path) {
        Err(error) => check_error(&error),
        Ok(table) => {
            for name in table.names() {
                assert_eq!(table.column(name).expect("a column").len(), table.rows, "{name}");
            }
            check_samples(table);
        }
    }
    std::fs::remove_file(&path).expect("a file");
}

/// Reads the output of another program. What is read is a result.
pub fn import(data: &[u8]) {
    let place = scratch().path.join("foreign");
    let file = scratch().path.join("foreign.txt");
    std::fs::write(&file, data).expect("a file");
    match import::write(&[file], &place, None, None) {
        Err(error) => check_error(&error),
        Ok(manifest) => {
            let folder = Folder::open(&place).expect("a result");
            assert_eq!(Manifest::read(&folder).as_ref(), Ok(&manifest));
            check_samples(folder.table().expect("samples"));
        }
    }
    let _ = std::fs::remove_dir_all(&place);
}

/// Unpacks a tar file. Whatever it holds, only its folder is written to.
pub fn archive(data: &[u8]) {
    let outer = scratch().path.join("unpacked");
    let folder = outer.join("inner");
    std::fs::create_dir_all(&folder).expect("a folder");
    let damaged = |cause: &dyn std::fmt::Display| Error::input(cause.to_string(), "copy it again");
    archive::unpack_tar(data, &folder, &damaged).err().iter().for_each(check_error);
    assert_eq!(std::fs::read_dir(&outer).expect("a folder").count(), 1, "a file outside of the folder");
    std::fs::remove_dir_all(&outer).expect("a folder");
}

/// Reads a trace as text. Its sites have all accesses.
pub fn trace(data: &[u8]) {
    match text_trace::read(&mut &*data, "fuzz", None, &mut Analysis::default()) {
        Err(error) => check_error(&error),
        Ok(trace) => {
            let counted: u64 = trace.sites.iter().map(|site| site.counters.accesses).sum();
            assert_eq!(counted, trace.accesses);
        }
    }
}

/// Reads a formula of the user's.
pub fn formula(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let typed = |names: &[(&str, Unit)]| names.iter().map(|(name, unit)| ((*name).to_owned(), Some(*unit))).collect();
    let names = Names {
        variables: typed(&[
            ("L", Unit::Words),
            ("P", Unit::None),
            ("alpha", Unit::None),
            ("message_bytes", Unit::Bytes),
        ]),
        columns: typed(&[("seconds", Unit::Seconds), ("bytes_per_second", Unit::BytesPerSecond)]),
        parameters: vec!["latency".to_owned(), "gap".to_owned()],
        kernels: vec!["apex_map.two_sided".to_owned()],
    };
    match FormulaModel::new(text, &names) {
        Err(error) => check_error(&error),
        Ok(model) => assert_eq!(model.text(), text.trim()),
    }
}

/// Returns a result folder for this thread, in memory if possible.
fn scratch() -> &'static Folder {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    thread_local! { static FOLDER: &'static Folder = create_folder(NUMBER.fetch_add(1, Ordering::Relaxed)) }
    FOLDER.with(|folder| *folder)
}

fn create_folder(number: usize) -> &'static Folder {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let folder = Folder::create(&parent.join(format!("apexmap-fuzz-{}-{number}", std::process::id())));
    Box::leak(Box::new(folder.expect("a folder")))
}
