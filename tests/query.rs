//! Tests of medians by groups, by the library and by `apexmap query`.

use super::common::{Scratch, apexmap, file, sample, samples, small_point, successful_stdout, table, write};
use apexmap_base::condition::Condition;
use apexmap_base::point::Value;
use apexmap_base::sample::Status;
use apexmap_results::disk::Folder;
use apexmap_results::query::{self, groups};
use apexmap_results::samples::Samples;
use apexmap_results::table::TableBuilder;

#[test]
fn statistics_within_one_launch_are_order_statistics() {
    let samples = Samples::from(table(samples())).current();
    let result = groups(&samples, &["block_words"], &["seconds"]).expect("groups");
    let [nine_samples, five_samples] = result.groups.as_slice() else { panic!("two groups: {result:?}") };
    // n = 9: the second and the eighth value cover the median with 96.1 % (scipy.stats.binom.cdf(1, 9, 0.5) = 0.01953).
    let summary = nine_samples.summaries[0].expect("a summary");
    assert_eq!((summary.median, summary.interval, summary.n), (5.0, Some((2.0, 8.0)), 9));
    let summary = five_samples.summaries[0].expect("a summary");
    assert_eq!((summary.median, summary.interval, summary.max), (3.0, None, 10.0));
    assert_eq!(
        (five_samples.by.as_slice(), five_samples.samples, five_samples.failures.as_slice()),
        (&[Value::Integer(2)][..], 5, &[Status::TimedOut][..])
    );
    assert_eq!((result.mixed.len(), result.left_out), (0, 0));
}

#[test]
fn a_dependent_column_does_not_distinguish_points() {
    let current = Samples::from(table(samples())).current();
    assert!(!current.is_constant("indices"));
    let axes = current.axes();
    assert_eq!(axes.len(), 1, "I follows from L and L from I: {axes:?}");
    let mut wider = samples();
    wider.push(sample(
        &small_point("apex_map.two_sided", 2).with_parameter("L", 4u64).with_parameter("I", 32u64),
        "c",
        0,
        1.0,
    ));
    assert_eq!(Samples::from(table(wider)).current().axes(), ["block_words"]);
}

#[test]
fn a_condition_may_name_a_verdict_that_no_sample_has() {
    let mut quiet = TableBuilder::default();
    quiet.begin_row();
    quiet.set("kernel", &Value::from("apex_map.sequential"));
    quiet.set("quietness", &Value::from("quiet"));
    let samples = Samples::from(quiet.finish());
    let not_disturbed = samples.choose(Some("quietness != \"disturbed\"")).expect("samples");
    assert_eq!(not_disturbed.len(), 1);
    let none = samples.choose(Some("quietness == \"disturbed\"")).expect_err("no sample");
    assert_eq!(none.message, "no sample meets the condition");
    let wrong = samples.choose(Some("quietness == \"distrbed\"")).expect_err("a wrong word");
    assert!(wrong.help.contains("disturbed"), "{}", wrong.help);
}

#[test]
fn mixtures_and_samples_without_a_value_are_reported() {
    let mut mixed = samples();
    mixed.push(sample(&small_point("apex_map.sequential", 1), "s", 0, 1.0));
    let samples = Samples::from(table(mixed)).current();
    let result = groups(&samples, &["receive_buffers"], &["seconds"]).expect("groups");
    assert_eq!(result.left_out, 1, "the sequential kernel has no buffers");
    assert_eq!(result.mixed, ["indices", "block_words"]);
    let ungrouped = groups(&samples, &[], &["seconds"]).expect("one group");
    assert_eq!((ungrouped.groups.len(), ungrouped.groups[0].samples), (1, 15));
    let only = Condition::parse("P == 1", &[("P", apexmap_base::condition::NameType::Number)]).expect("a condition");
    assert_eq!(samples.filter(&only).len(), 1);
}

#[test]
fn the_command_prints_the_same_numbers_as_table_csv_and_json() {
    let scratch = Scratch::new();
    let file = file(&scratch, samples());
    let file = file.to_str().expect("a path");
    let text = successful_stdout(&["query", file, "--group-by", "L", "--select", "seconds"]);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["L", "n", "failed", "seconds", "95", "%", "interval"]);
    assert_eq!(lines[1], ["1", "9", "0", "5", "s", "[2", "s,", "8", "s]"]);
    assert_eq!(lines[2], ["2", "5", "1", "3", "s", "-"]);
    assert!(text.contains("at least six samples within one") && text.contains("Within one launch"), "{text}");
    let csv = successful_stdout(&["query", file, "--group-by", "L", "--select", "seconds", "--format", "csv"]);
    let head = "block_words,samples,failed,seconds_n,seconds_median,seconds_low,seconds_high,seconds_min,seconds_max,seconds_launches,seconds_basis";
    assert_eq!(csv, format!("{head}\n1,9,0,9,5.0,2.0,8.0,1.0,9.0,1,samples\n2,5,1,5,3.0,,,1.0,10.0,1,nothing\n"));
    let json = successful_stdout(&["query", file, "--group-by", "L", "--select", "seconds", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[0]["values"]["seconds"]["high"], 8.0);
    assert_eq!(
        (&json[1]["failures"][0], &json[1]["values"]["seconds"]["low"]),
        (&"timed-out".into(), &serde_json::Value::Null)
    );
    let by_default = successful_stdout(&["query", file]);
    assert!(by_default.lines().next().is_some_and(|head| head.contains("bytes_per_second_per_rank")), "{by_default}");
}

#[test]
fn tables_write_sizes_of_memory_with_units_and_files_as_numbers() {
    let scratch = Scratch::new();
    let file = file(&scratch, samples());
    let file = file.to_str().expect("a path");
    let by = ["query", file, "--group-by", "M,L", "--select", "seconds"];
    let text = successful_stdout(&by);
    assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("64 KiB  1")), "{text}");
    let csv = successful_stdout(&[&by[..], &["--format", "csv"]].concat());
    assert!(csv.lines().nth(1).is_some_and(|line| line.starts_with("8192,1,")), "{csv}");
    // What is printed can be typed.
    assert_eq!(successful_stdout(&[&by[..], &["--where", "M == 64 KiB"]].concat()), text);
    assert!(successful_stdout(&["status", file, "--columns"]).contains("64 KiB"));
}

#[test]
fn a_condition_on_bytes_says_which_bytes_it_means() {
    let scratch = Scratch::new();
    let file = file(&scratch, samples());
    let note = |condition: &str| {
        let output = apexmap(&["query", file.to_str().expect("a path"), "--group-by", "L", "--where", condition]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let moved = note("bytes > 1 B");
    assert!(moved.contains("note: \"bytes\" is what a run moved; the size of memory is M: 'M == 64 KiB'"), "{moved}");
    assert!(!note("M == 64 KiB").contains("moved"));
    let help = successful_stdout(&["query", "--help"]);
    assert!(help.contains("M == 512 MiB") && !help.contains("bytes =="), "{help}");
}

#[test]
fn wrong_columns_and_conditions_without_matches_are_refused_with_help() {
    let scratch = Scratch::new();
    let file = file(&scratch, samples());
    let file = file.to_str().expect("a path");
    let (query, export, plot) = (&["query", file][..], &["export", file][..], &["plot", file, "curves"][..]);
    for (command, arguments, expected) in [
        (query, ["--select", "host"], "holds text"),
        (query, ["--select", "sceonds"], "--select sceonds: the result has no column \"sceonds\""),
        (query, ["--select", "sceonds"], "did you mean \"seconds\"?"),
        (query, ["--select", ""], "no column is selected"),
        (query, ["--select", "L,block_words"], "--select names block_words twice"),
        (query, ["--group-by", "Lx"], "--group-by Lx: the result has no column \"Lx\""),
        (query, ["--where", "L > 99"], "no sample meets the condition"),
        (query, ["--where", "L > 99"], "in this result L is 1, 2 words (8 B, 16 B)"),
        (query, ["--where", "L == 1 and P == 2"], "written &&, || and !"),
        (query, ["--select", "bandwidth"], "did you mean \"bytes_per_second\" or \"bytes_per_second_per_rank\"?"),
        (query, ["--select", "bandwith_of_nothing"], "--columns` lists the columns"),
        (query, ["--group-by", ","], "names no column"),
        (query, ["--where", "Lx > 99"], "[--where:1:1]"),
        (export, ["--select", "kernel,hots"], "did you mean \"host\"?"),
        (plot, ["--z", "kernel"], "holds text"),
        (plot, ["--y", "alhpa"], "did you mean \"alpha\"?"),
        (plot, ["--x", "B,L"], "--x B,L: the result has no column \"B,L\""),
    ] {
        let output = apexmap(&[command, &arguments[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn files_without_samples_are_refused_by_name() {
    let scratch = Scratch::new();
    let text = scratch.join("text.parquet");
    std::fs::write(&text, "no Parquet\n").expect("written");
    let mut other = TableBuilder::default();
    other.begin_row();
    other.set("price", &Value::Real(1.0));
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    write(&folder, &other.finish());
    for (file, code, expected) in [
        (text, 2, "text.parquet is a text file, not a result of apexmap"),
        (folder.samples(), 2, "samples.parquet does not hold samples of apexmap: it has no valid column \"kernel\""),
        (scratch.join("none"), 2, "none does not exist"),
    ] {
        for command in [&["query"][..], &["export"], &["plot", "--x=L", "--y=", "--z=seconds"]] {
            let mut arguments = [command, &[file.to_str().expect("a path")]].concat();
            arguments.extend((command[0] == "plot").then_some("curves"));
            let output = apexmap(&arguments);
            let error = String::from_utf8_lossy(&output.stderr);
            let explained = error.contains(expected) && error.contains("help: ");
            assert!(output.status.code() == Some(code) && explained, "{arguments:?}: {error}");
        }
    }
}

#[test]
fn words_from_a_file_cannot_move_the_cursor() {
    let mut table = TableBuilder::default();
    table.begin_row();
    table.set("host", &Value::from("\u{1b}[2Jnode\u{7}"));
    table.set("seconds", &Value::Real(1.0));
    let text = query::text(&groups(&table.finish().into(), &["host"], &["seconds"]).expect("a group"));
    assert!(text.contains("[2Jnode") && !text.contains(['\u{1b}', '\u{7}']), "{text:?}");
}
