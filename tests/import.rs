//! Tests of imports: outputs of other programs, as those print them, become results that are compared and labelled.

use super::common::{Scratch, apexmap, output};
use super::terminal::TINY_SWEEP;
use apexmap_base::new_file;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::disk::{Folder, parquet};
use apexmap_results::import;
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

fn recorded_output(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded/imports")).join(name)
}

/// Imports recorded outputs.
fn import_outputs(scratch: &Scratch, names: &[&str]) -> (Samples, Manifest) {
    let files: Vec<PathBuf> = names.iter().map(|name| recorded_output(name)).collect();
    let folder = scratch.join("imported");
    let manifest = import::write(&files, &folder, None, None).unwrap_or_else(|error| panic!("{error}"));
    (Folder::open(&folder).and_then(|folder| folder.table()).expect("samples").into(), manifest)
}

/// Returns the only value of a column where these conditions hold.
fn value(samples: &Samples, condition: &str, column: &str) -> f64 {
    let chosen = samples.choose(Some(condition)).unwrap_or_else(|error| panic!("{condition}: {error}"));
    let values = chosen.numbers(column);
    assert_eq!(values.len(), 1, "{condition}: {column} is {values:?}");
    values[0]
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-9
}

#[test]
fn hpcc_has_apexmaps_kernels_and_totals_over_ranks() {
    let scratch = Scratch::new();
    let (samples, manifest) = import_outputs(&scratch, &["hpcc.txt"]);
    let import = manifest.imported.expect("an import");
    assert_eq!((import.label().as_str(), manifest.machine.as_str()), ("imported from hpcc 1.5.0", "c07"));
    let rate = |kernel: &str, stream: &str| {
        value(&samples, &format!("kernel == \"{kernel}\" && stream == \"{stream}\""), "operations_per_second")
    };
    assert!(is_near(rate("random_access.base", "lfsr"), 0.417e9));
    assert!(is_near(rate("random_access.base", "lcg"), 0.412e9));
    assert!(is_near(rate("random_access.sequential", "lfsr"), 0.0761e9));
    assert!(is_near(rate("random_access.star", "lfsr"), 64.0 * 0.0215e9), "HPCC prints the mean of 64 processes");
    assert!(is_near(value(&samples, "kernel == \"calibrate.stream\" && P == 64", "bytes_per_second"), 64.0 * 3.91e9));
    assert!(is_near(value(&samples, "kernel == \"hpcc.MaxPingPongLatency\"", "operation_seconds"), 2.17e-6));
    assert_eq!(value(&samples, "kernel == \"random_access.base\" && stream == \"lfsr\"", "table_words"), 2f64.powi(31));
    assert!(!samples.has("pages") && !samples.has("look_ahead"), "the file holds neither");
    assert!(import.notes.iter().any(|note| note.contains("does not say which algorithm")), "{:?}", import.notes);
}

#[test]
fn failed_parts_of_hpcc_are_no_measurements_and_the_flag_chooses_the_algorithm() {
    let scratch = Scratch::new();
    let (samples, manifest) = import_outputs(&scratch, &["hpcc-failed.txt"]);
    assert!(is_near(value(&samples, "kernel == \"random_access.hypercube\"", "operations_per_second"), 0.00442194e9));
    let status = |kernel: &str| samples.with_kernel(kernel).first_word("status").to_owned();
    assert_eq!(status("random_access.base"), "wrong", "2 % of the words are wrong");
    assert_eq!((status("random_access.star"), status("hpcc.PTRANS")), ("failed".into(), "failed".into()));
    assert_eq!(value(&samples, "kernel == \"calibrate.stream\" && P == 128", "region_bytes"), 24.0 * 16_666_347.0);
    let notes = manifest.imported.expect("an import").notes.join(" ");
    assert!(notes.contains("Success=0") && !notes.contains("algorithm"), "{notes}");
}

#[test]
fn stream_is_the_best_of_its_runs_and_says_so() {
    let scratch = Scratch::new();
    let (samples, _) = import_outputs(&scratch, &["stream.txt"]);
    let triad = "kernel == \"calibrate.stream\" && access == \"triad\"";
    assert!(is_near(value(&samples, triad, "bytes_per_second"), 67_190.8e6));
    assert_eq!(value(&samples, triad, "seconds"), 0.028575);
    assert_eq!(value(&samples, triad, "ranks"), 8.0);
    assert_eq!(value(&samples, triad, "region_bytes"), 3.0 * 80e6 * 8.0 / 8.0);
    let origin = samples.describe_import().expect("imported");
    assert_eq!(origin, "imported from stream 5.10 (best of its runs, not medians)");
}

#[test]
fn the_tests_of_osu_have_their_columns_and_units() {
    let scratch = Scratch::new();
    let (samples, _) = import_outputs(&scratch, &["osu-latency.txt", "osu-bw.txt", "osu-collectives.txt"]);
    let value_at = |condition: &str, column: &str| value(&samples, condition, column);
    assert!(is_near(
        value_at("kernel == \"message_rate.ping_pong\" && message_bytes == 8", "operation_seconds"),
        1.68e-6
    ));
    assert!(is_near(
        value_at("kernel == \"message_rate.ping_pong\" && message_bytes == 4096", "bytes_per_second"),
        4096.0 / 3.25e-6
    ));
    assert!(is_near(
        value_at("kernel == \"message_rate.streaming\" && message_bytes == 4096", "bytes_per_second"),
        9216.55e6
    ));
    assert!(is_near(
        value_at("kernel == \"message_rate.streaming\" && P == 30", "operations_per_second"),
        4_333_726.75
    ));
    assert_eq!(value_at("kernel == \"message_rate.streaming\" && P == 30", "window"), 64.0);
    assert!(is_near(value_at("kernel == \"message_rate.bidirectional\"", "bytes_per_second"), 20.5e6));
    assert!(is_near(value_at("kernel == \"osu.reduce\"", "operation_seconds_max"), 12.5e-6));
    assert!(is_near(value_at("kernel == \"osu.non_blocking_allreduce\"", "operation_seconds_pure_comm"), 5.18e-6));
    assert!(is_near(value_at("kernel == \"calibrate.barrier\"", "operation_seconds"), 1.57e-6));
    assert!(
        is_near(value_at("kernel == \"osu.mpi_cuda_latency\"", "operation_seconds"), 4.06e-6),
        "no kernel of apexmap"
    );
    assert!(!samples.with_kernel("message_rate.ping_pong").has("window"), "the file does not hold it");
}

#[test]
fn the_matrices_of_mlc_are_points_of_its_nodes() {
    let scratch = Scratch::new();
    let (samples, manifest) = import_outputs(&scratch, &["mlc.txt"]);
    assert_eq!(manifest.imported.expect("an import").label(), "imported from mlc 3.9a");
    let value_at = |condition: &str, column: &str| value(&samples, condition, column);
    let remote = "core_node == 0 && memory_node == 1";
    assert!(is_near(value_at(&format!("kernel == \"calibrate.chase\" && {remote}"), "operation_seconds"), 129.6e-9));
    assert!(is_near(value_at(&format!("kernel == \"calibrate.stream\" && {remote}"), "bytes_per_second"), 32_537.9e6));
    assert_eq!(samples.with_kernel("calibrate.chase").len(), 3, "a dash is no value");
    let loaded = samples.with_kernel("calibrate.loaded");
    assert!(is_near(value(&loaded, "inject_delay == 100", "operation_seconds"), 98.94e-9));
    assert!(is_near(value(&loaded, "inject_delay == 100", "background_bytes_per_second"), 68_357.8e6));
    assert_eq!(loaded.axes(), ["inject_delay"], "a parameter of another program distinguishes points");
    assert!(is_near(
        value_at("kernel == \"mlc.peak_bandwidth\" && traffic == \"3:1 Reads-Writes\"", "bytes_per_second"),
        61_908.4e6
    ));
    assert_eq!(samples.with_kernel("mlc.cache_to_cache").len(), 4);
}

#[test]
fn the_idle_latency_of_mlc_has_its_buffer() {
    let scratch = Scratch::new();
    let file = scratch.join("idle.txt");
    let output = "Intel(R) Memory Latency Checker - v3.11b\nCommand line parameters: --idle_latency\n\n\
                  Using buffer size of 2000.000MiB\nEach iteration took 233.6 base frequency clocks (\t93.4\tns)\n";
    fs::write(&file, output).expect("written");
    let folder = scratch.join("idle");
    import::write(&[file], &folder, Some("mine"), None).expect("an import");
    let samples = Samples::from(Folder::open(&folder).and_then(|folder| folder.table()).expect("samples"));
    assert!(is_near(value(&samples, "kernel == \"calibrate.chase\"", "operation_seconds"), 93.4e-9));
    assert_eq!(samples.numbers("region_bytes"), [2000.0 * 1024.0 * 1024.0]);
}

/// Numbers of the paper's machine are compared at the points that the file has.
#[test]
fn an_imported_result_is_queried_drawn_compared_and_labelled() {
    let scratch = Scratch::new();
    let folder = scratch.join("hpcc");
    let folder = folder.to_str().expect("a path");
    let made = apexmap(&["import", recorded_output("hpcc.txt").to_str().expect("a path"), "--out", folder]);
    assert!(made.status.success(), "{}", text(&made));
    for (arguments, expected) in [
        (&["query", folder][..], "417"),
        (&["query", folder], "IMPORTED from hpcc 1.5.0 (partly best of its runs, not medians)"),
        (&["plot", folder, "curves", "--x", "P", "--y", "", "--z", "bytes_per_second"], "curves.svg"),
        (&["status", folder], "neither resumed nor measured into"),
        (&["status", folder], "Imported from hpcc 1.5.0 (partly"),
        (&["status", folder, "--json"], "\"exit_code\": 0"),
        (&["report", folder], "IMPORTED"),
        (&["compare", folder, "red-storm"], "(imported)"),
    ] {
        let mut command = arguments.to_vec();
        let out = scratch.join("compared");
        if arguments[0] == "compare" {
            command.extend(["--out", out.to_str().expect("a path")]);
        }
        let output = apexmap(&command);
        assert!(output.status.success() && text(&output).contains(expected), "{arguments:?}: {}", text(&output));
    }
    let page = fs::read_to_string(scratch.join("compared/compare.html")).expect("a page");
    assert!(page.contains("IMPORTED from hpcc 1.5.0"), "the page says that one side is imported");
    let report = fs::read_to_string(scratch.join("hpcc/report.html")).expect("a report");
    assert!(report.contains("IMPORTED: values of another program") && report.contains("imported from hpcc 1.5.0"));
}

#[test]
fn an_imported_result_is_compared_once_the_user_states_its_cores() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
    let (sweep, own, stream) = (path("s.toml"), path("own"), path("stream"));
    let text = "[fixed]\nkernel = \"calibrate.stream\"\nbytes = \"1 MiB\"\n[axes]\naccess = [\"triad\"]\n\
                ranks = { from = 1, to = \"cores\", factor = 2 }\n[launch]\ntransport = \"threads\"\nlaunches = 1\n\
                preflight = 0\n[repeat]\nmin = 2\n";
    fs::write(&sweep, text).expect("written");
    assert!(apexmap(&["run", &sweep, "--no-report", "--out", &own]).status.success());
    let recorded = recorded_output("stream.txt");
    let recorded = recorded.to_str().expect("a path");
    assert!(apexmap(&["import", recorded, "--out", &stream]).status.success());
    // The file has 8 threads, which may be points of this machine too.
    if std::thread::available_parallelism().is_ok_and(|threads| threads.get() >= 8) {
        return;
    }
    // The help of each refusal leads to a comparison.
    for more in [&[][..], &["--match-ranks", "role"]] {
        let compare = [&["compare", &stream, &own, "--no-page"], more].concat();
        let refused = text_of(&compare);
        let help = refused.split("--cores ").nth(1).unwrap_or_else(|| panic!("{refused}")).trim();
        let ignore = if more.is_empty() { "NUMBER, --ignore bytes" } else { "NUMBER," };
        assert_eq!(help, ignore, "{refused}");
        let stated = text_of(&[&compare[..], &["--cores", "8,", "--ignore", "bytes"]].concat());
        assert!(stated.contains("All cores, whole machine: ") && stated.contains("1 point matched"), "{stated}");
    }
    let again = path("again");
    assert!(apexmap(&["import", recorded, "--out", &again, "--cores", "8"]).status.success());
    let refused = text_of(&["compare", &again, &own, "--no-page"]);
    assert!(refused.contains("exclude parameters from the matching: --ignore bytes"), "{refused}");
    let stated = text_of(&["compare", &again, &own, "--no-page", "--ignore", "bytes"]);
    assert!(stated.contains("All cores, whole machine: "), "{stated}");
    assert!(text_of(&["compare", &stream, &own, "--cores", "8"]).contains("--cores has 1 number for 2 machines"));
    assert!(text_of(&["compare", &stream, &own, "--cores", "x,"]).contains("--cores x is not a number of cores"));
}

fn text_of(arguments: &[&str]) -> String {
    text(&apexmap(arguments))
}

#[test]
fn an_interrupted_import_does_not_block_the_next_one() {
    let scratch = Scratch::new();
    import_outputs(&scratch, &["stream.txt"]);
    let folder = scratch.join("imported");
    fs::remove_file(folder.join("manifest.json")).expect("the last file of an import");
    import_outputs(&scratch, &["stream.txt"]);
    assert!(folder.join("manifest.json").is_file());
}

#[test]
fn an_imported_result_is_never_measured_into() {
    let scratch = Scratch::new();
    let (folder, sweep) = (scratch.join("imported"), scratch.join("tiny.toml"));
    import_outputs(&scratch, &["stream.txt"]);
    fs::write(&sweep, TINY_SWEEP).expect("a file");
    let before = fs::read(folder.join("samples.parquet")).expect("samples");
    let paths = [sweep.to_str().expect("a path"), folder.to_str().expect("a path")];
    let ran = apexmap(&["run", paths[0], "--out", paths[1]]);
    assert_eq!(ran.status.code(), Some(2), "{}", text(&ran));
    assert!(text(&ran).contains("imported from stream 5.10, which cannot be measured into"), "{}", text(&ran));
    let again = apexmap(&["import", recorded_output("stream.txt").to_str().expect("a path"), "--out", paths[1]]);
    assert!(again.status.code() == Some(2) && text(&again).contains("is not empty"), "{}", text(&again));
    assert_eq!(fs::read(folder.join("samples.parquet")).expect("samples"), before);
    // Alone, the samples keep their label and count although they have no time.
    let alone = scratch.join("alone.parquet");
    fs::copy(folder.join("samples.parquet"), &alone).expect("copied");
    let table = parquet::read(&alone).expect("samples");
    assert!(table.check_samples("alone").is_ok() && Samples::from(table).describe_import().is_some());
}

#[test]
fn files_of_other_programs_are_named() {
    let scratch = Scratch::new();
    let gzip = |bytes: &[u8]| {
        let file = scratch.join("packed");
        fs::write(&file, bytes).expect("written");
        output(Command::new("gzip").arg("-c").arg(&file)).stdout
    };
    let stream = fs::read(recorded_output("stream.txt")).expect("a file");
    let cases: [(&[u8], &str); 20] = [
        (b"", "is empty"),
        (b"\x89HDF\r\n\x1a\n\0\0", "an HDF5 file"),
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"PK\x03\x04\x14\0", "a zip archive"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\x7fELF\x02\x01\x01\0", "ELF"),
        (b"\x28\xb5\x2f\xfd\0", "zstd"),
        (b"{\n \"context\": {\"date\": \"x\"},\n \"benchmarks\": []}", "Google Benchmark"),
        (b"{\"results\": [{\"command\": \"sleep 1\", \"mean\": 1.0}]}", "hyperfine"),
        (b"{\"a\": 1}", "a JSON file"),
        (b"nodes,tasks,bw_avg\n1,2,3.5\n2,4,7.1\n", "a CSV table"),
        (b"jube_wp_id,bw\n0,3.5\n", "JUBE"),
        (b"[axes]\nL = [1]\n", "a sweep"),
        (b"\x01\x02\0\x03", "unknown binary format"),
        (b"Some words.\n", "a text file"),
        (&gzip(b"Some words.\n"), "a gzip file that holds a text file"),
        (&gzip(&stream), "a gzip file that holds output of STREAM"),
        (&stream, "output of STREAM"),
        (b"<html><p>No result</p></html>", "holds no result"),
    ];
    for (index, (bytes, expected)) in cases.iter().enumerate() {
        let file = scratch.join(format!("file{index}"));
        fs::write(&file, bytes).expect("written");
        let file = file.to_str().expect("a path");
        for command in ["query", "report", "fit", "status", "show", "export"] {
            let output = apexmap(&[command, file]);
            let message = text(&output);
            let is_named = message.contains(expected) && message.contains("help: ") && !message.contains("delete");
            assert!(output.status.code() == Some(2) && is_named, "{command}: {expected}: {message}");
        }
    }
    let compared = apexmap(&["compare", "red-storm", recorded_output("stream.txt").to_str().expect("a path")]);
    assert!(text(&compared).contains("convert it: apexmap import"), "{}", text(&compared));
    let foreign = scratch.join("file1");
    let refused = apexmap(&["import", foreign.to_str().expect("a path"), "--out", "never"]);
    assert!(text(&refused).contains("HDF5") && text(&refused).contains("HPCC"), "{}", text(&refused));
}

#[test]
fn parquet_with_another_codec_says_how_to_write_it() {
    for codec in ["zstd", "lz4"] {
        let output = apexmap(&["query", recorded_output(&format!("{codec}.parquet")).to_str().expect("a path")]);
        let message = text(&output);
        let is_clear =
            message.contains(&format!("compressed with {codec}")) && message.contains("compression=\"snappy\"");
        assert!(output.status.code() == Some(2) && is_clear && !message.contains("feature"), "{message}");
    }
}

#[test]
fn maps_without_values_on_an_axis_are_refused() {
    let scratch = Scratch::new();
    for missing in ["alpha", "block_words"] {
        let mut table = TableBuilder::default();
        for seconds in [1.0, 2.0] {
            table.begin_row();
            table.set("kernel", &"apex_map.sequential".into());
            table.set("status", &"ok".into());
            table.set("ranks", &1u64.into());
            let kept = if missing == "alpha" { "block_words" } else { "alpha" };
            table.set(kept, &seconds.into());
            table.set("seconds", &seconds.into());
            table.set("bytes_per_second_per_rank", &seconds.into());
        }
        let file = scratch.join("foreign.parquet");
        new_file::replace(&file, |out| parquet::write(out, &file, &table.finish())).expect("written");
        let output = apexmap(&["show", file.to_str().expect("a path")]);
        assert!(
            output.status.code() == Some(2) && text(&output).contains("no values on the axes"),
            "{}",
            text(&output)
        );
    }
}

#[test]
fn files_of_users_are_read_up_to_a_limit() {
    for arguments in [&["plan", "/dev/zero"][..], &["card", "/dev/zero"], &["codes", "--codes", "/dev/zero"]] {
        let output = apexmap(arguments);
        assert!(text(&output).contains("/dev/zero is larger than 16 MiB"), "{arguments:?}: {}", text(&output));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
