//! Any program as a kernel: its sweep file, its runs and failures, and its use in results, pages and comparisons.

use crate::common::{Scratch, apexmap, output, successful_stdout, with_time_limit};
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::Status;
use apexmap_base::shell::shell_syntax;
use apexmap_measure::kernels::Outcome;
use apexmap_measure::kernels::command::{COMMAND, measure};
use apexmap_results::disk::Folder;
use apexmap_results::samples::Samples;
use apexmap_run::sweep::{Machine, Sweep, parse};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn sweep(text: &str) -> Result<Sweep, apexmap_base::error::Error> {
    parse(text, Path::new("probe.toml"), Machine::with_cores(2, 1 << 30))
}

/// Returns the fault of a sweep file: its message and its advice.
fn fault(text: &str) -> String {
    let error = sweep(text).expect_err("a fault");
    format!("{error}\n{}", error.help)
}

/// Measures a specification at a point with these parameters. Tests may not wait for a program that hangs.
fn outcome(specification: serde_json::Value, parameters: &[(&str, Value)]) -> Result<Outcome, String> {
    let mut point = Point::new("command", 1).with_parameter(COMMAND, specification.to_string().as_str());
    point.params.extend(parameters.iter().map(|(name, value)| (name.to_string(), value.clone())));
    with_time_limit(move || measure(&point))
}

/// Returns the specification of a script.
fn script(text: &str) -> serde_json::Value {
    json!({ "command": ["sh", "-c", text], "value": { "regex": "rate: ([0-9.a-z]+)", "unit": "GB/s" }, "time_limit": 20 })
}

fn failure(text: &str) -> String {
    outcome(script(text), &[]).expect_err("a failed run")
}

const BENCH: &str = r#"
[fixed]
kernel = "command"
command = ["./bench", "--size", "{bytes}", "--threads", "{threads}"]
value = { regex = 'rate: ([0-9.]+) GB/s', unit = "GB/s" }
[axes]
bytes = { from = "1 MiB", to = "256 MiB", factor = 2 }
threads = [1, 2]
"#;

#[test]
fn a_sweep_names_its_own_parameters_with_units() {
    let points = sweep(BENCH).unwrap().points;
    assert_eq!(points.len(), 18);
    assert_eq!(points[0].params["bytes"], Value::Integer(1 << 20));
    assert_eq!(points[17].params["threads"], Value::Integer(2));
    let filtered = BENCH.replacen('\n', "\nwhere = ['bytes <= 4194304 && threads == 1']\n", 1);
    assert_eq!(sweep(&filtered).unwrap().points.len(), 3);
    let words = "[fixed]\nkernel = \"command\"\ncommand = [\"x\", \"{mode}\", \"{wait}\"]\n[axes]\nmode = [\"a\", \"b\"]\nwait = \"10 ms\"";
    let points = sweep(words).unwrap().points;
    assert_eq!(points[1].params["mode"], Value::from("b"));
    assert_eq!(points[1].params["wait"], Value::Real(0.01));
}

#[test]
fn the_point_holds_the_whole_command_so_that_another_command_is_another_point() {
    let first = sweep(BENCH).unwrap().points;
    let second = sweep(&BENCH.replace("--size", "--bytes")).unwrap().points;
    assert_ne!(first[0], second[0]);
    let Value::Text(text) = &first[0].params[COMMAND] else { panic!("no text") };
    assert!(text.contains("--size") && text.contains("GB/s"), "{text}");
}

#[test]
fn faults_of_a_command_in_a_sweep_name_what_is_missing() {
    for (from, to, expected) in [
        ("{bytes}", "{size}", "the sweep has no parameter size"),
        ("\"{threads}\"", "\"4\"", "nothing uses the parameter threads"),
        ("kernel = \"command\"", "kernel = \"apex_map.sequential\"", "belongs to the kernel command"),
        ("kernel = \"command\"", "kernel = \"command\"\ncwdd = \"x\"", "nothing uses the parameter cwdd"),
        ("command = [\"./bench\", \"--size\", \"{bytes}\", \"--threads\", \"{threads}\"]", "", "command"),
        ("([0-9.]+)", "[0-9.]+", "put the number in parentheses"),
        ("([0-9.]+)", "([0-9.+)", "is not valid"),
        ("unit = \"GB/s\"", "name = \"load\"", "is a column of every result"),
        ("unit = \"GB/s\"", "unit = \"GB/s\", best = 1", "a value is"),
        ("threads = [1, 2]", "\"my threads\" = [1, 2]", "cannot be the name of a parameter"),
    ] {
        let text = BENCH.replace(from, to);
        assert_ne!(text, BENCH, "{from}");
        let fault = fault(&text);
        assert!(fault.contains(expected), "{to}: {fault}\nshould contain {expected}");
    }
}

#[test]
fn values_come_from_patterns_json_and_the_system() {
    let outputs_of = |value: serde_json::Value, text: &str| {
        let outputs = outcome(json!({ "command": ["sh", "-c", text], "value": value }), &[]).unwrap().outputs;
        outputs.into_iter().map(|(name, value)| (name.to_owned(), value.as_f64().unwrap())).collect::<Vec<_>>()
    };
    let require = |outputs: &[(String, f64)], name: &str, value: f64| {
        assert!(
            outputs.iter().any(|(other, number)| other == name && *number == value),
            "{name} = {value} in {outputs:?}"
        );
    };
    let rate = outputs_of(json!({ "regex": "rate: ([0-9.]+)", "unit": "GB/s" }), "echo rate: 1; echo rate: 12.5 GB/s");
    require(&rate, "value_bytes_per_second", 12.5e9);
    let latency =
        outputs_of(json!({ "regex": "([0-9,]+) ns", "unit": "ns", "name": "latency" }), "echo 1,250,000 ns >&2");
    require(&latency, "latency_seconds", 1.25e-3);
    let path = json!([{ "json": "results.1.median" }, { "json": "n", "name": "runs", "unit": "runs/s" }, "maxrss"]);
    let both = outputs_of(path, "echo '{\"results\": [1, {\"median\": 3}], \"n\": 7}'");
    require(&both, "value", 3.0);
    require(&both, "runs_runs_per_s", 7.0);
    let peak = both.iter().find(|(name, _)| name == "peak_bytes").unwrap().1;
    assert!((1e5..1e9).contains(&peak), "{peak}");
}

#[test]
fn arguments_environment_folder_input_setup_and_cleanup_reach_the_program() {
    let scratch = Scratch::new();
    std::fs::write(scratch.join("input"), "rate: 3").unwrap();
    let folder = scratch.to_str().unwrap();
    let specification = json!({
        "command": ["sh", "-c", "cat - made; echo $SIZE {{bytes}} '{print $1}' >> log; test \"$SIZE\" = 8"],
        "value": { "regex": "rate: ([0-9]+)" },
        "env": { "SIZE": "{bytes}" },
        "cwd": folder,
        "input": format!("{folder}/input"),
        "setup": ["sh", "-c", "echo s >> log; touch made"],
        "cleanup": ["sh", "-c", "echo c >> log; rm made"],
        "warm_up": 1,
        "cores": 1,
    });
    let outcome = outcome(specification, &[("bytes", Value::Integer(8))]).unwrap();
    assert_eq!(outcome.outputs["value"], Value::Real(3.0));
    assert!(outcome.seconds > 0.0);
    let log = std::fs::read_to_string(scratch.join("log")).unwrap();
    assert_eq!(log, "s\n8 {bytes} {print $1}\n8 {bytes} {print $1}\nc\n", "set-up, a warm-up run, the run, clean-up");
}

#[test]
fn a_program_inherits_no_open_file_and_no_blocked_signal() {
    let text = "echo rate: $(ls /proc/self/fd | wc -l); cat /proc/self/status";
    let values = json!([{ "regex": "rate: ([0-9]+)" }, { "regex": "SigBlk:\\s*([0-9a-f]+)", "name": "blocked" }]);
    let outputs = outcome(json!({ "command": ["sh", "-c", text], "value": values }), &[]).unwrap().outputs;
    assert_eq!(outputs["value"], Value::Real(4.0), "its three streams, and the folder that ls reads");
    assert_eq!(outputs["blocked"], Value::Real(0.0));
}

#[test]
fn exit_codes_count_as_declared() {
    assert!(failure("echo rate: 1; exit 3").contains("exit code 3"));
    let mut with_codes = script("echo rate: 1; exit 3");
    with_codes["success"] = json!([0, 3]);
    outcome(with_codes, &[]).unwrap();
    assert!(failure("echo rate: 1; kill -SEGV $$").contains("SIGSEGV"));
}

#[test]
fn output_without_the_value_is_a_failure_that_shows_its_first_lines() {
    let message = failure("echo one; echo two");
    assert!(message.contains("does not match") && message.contains("one | two"), "{message}");
    let message = failure("echo rate: nan");
    assert!(message.contains("NaN"), "{message}");
    let message = failure("echo rate: fast >&2");
    assert!(
        message.contains("\"fast\", which is not a number") && message.contains("error output begins"),
        "{message}"
    );
    assert!(failure("true").contains("it wrote nothing"));
}

#[test]
fn a_comma_divides_thousands_or_is_a_decimal_sign_and_is_refused_if_it_may_be_either() {
    let rate = |pattern: &str, text: &str| {
        let value = json!({ "regex": pattern });
        let outcome = outcome(json!({ "command": ["echo", format!("rate: {text} MB/s")], "value": value }), &[]);
        outcome.map(|outcome| outcome.outputs["value"].as_f64().unwrap())
    };
    for (text, number) in [
        ("12.5", 12.5),
        ("1,234.5", 1234.5),
        ("-1,234,567", -1_234_567.0),
        ("1e3,", 1000.0),
        ("12,5", 12.5),
        ("0,063", 0.063),
        ("-0,7", -0.7),
        (",25", 0.25),
        ("1234,567", 1234.567),
        ("1,2345", 1.2345),
        ("1.234,5", 1234.5),
        ("12.345.678,125", 12_345_678.125),
        ("1,5e-3", 1.5e-3),
    ] {
        assert_eq!(rate(r"rate: (\S+)", text), Ok(number), "{text}");
    }
    for text in ["1,234", "12,345e3", "1,2345.6", "0,123,456", "123,456", "1,23,456"] {
        let message = rate(r"rate: (\S+)", text).unwrap_err();
        assert!(message.contains(&format!("\"{text}\", which may have a decimal comma: print a point")), "{message}");
    }
    let message = rate("rate: ([0-9.]+)", "12,5").unwrap_err();
    assert!(message.contains("\"12\", which may end at a decimal comma"), "{message}");
    assert_eq!(rate("rate: ([0-9.]+),", "12,5"), Ok(12.0), "the pattern has the comma");
    assert_eq!(rate("rate: ([0-9.]+)", "12, 5"), Ok(12.0), "no digit follows");
}

#[test]
fn programs_start_with_the_locale_c_unless_the_sweep_names_one_and_the_point_has_it() {
    let own = |line: &str| {
        let text = BENCH.replace("[axes]", &format!("{line}\n[axes]"));
        let Value::Text(point) = sweep(&text).unwrap().points[0].params[COMMAND].clone() else { panic!("no text") };
        serde_json::from_str::<serde_json::Value>(&point).unwrap()["env"].clone()
    };
    assert_eq!(own(""), json!({ "LC_ALL": "C" }));
    assert_eq!(own("env = { A = \"1\" }"), json!({ "A": "1", "LC_ALL": "C" }));
    for locale in ["LC_ALL", "LANG", "LC_NUMERIC"] {
        assert_eq!(own(&format!("env = {{ {locale} = \"\" }}")), json!({ locale: "" }));
    }
    let scratch = Scratch::new();
    let seen = scratch.join("seen");
    let out = scratch.join("out");
    let print = format!("sh -c 'echo $LC_ALL > {}'", seen.display());
    let line = ["run", "--command", &print, "--runs", "1", "--no-report", "--out", out.to_str().unwrap()];
    assert!(
        output(Command::new(env!("CARGO_BIN_EXE_apexmap")).args(line).env("LC_ALL", "de_DE.UTF-8")).status.success()
    );
    assert_eq!(std::fs::read_to_string(seen).unwrap(), "C\n");
    let rows = successful_stdout(&["query", out.to_str().unwrap(), "--group-by", "command", "--select", "seconds"]);
    assert!(rows.contains("LC_ALL"), "the result has the locale: {rows}");
}

#[test]
fn parts_of_a_command_that_only_a_shell_interprets_are_found_outside_of_quotes() {
    let of_a_shell = [
        ("true | cat", "|"),
        ("echo a >out", ">out"),
        ("ls 2>/dev/null", ">/dev/null"),
        ("sort <in", "<in"),
        ("true && sleep 1", "&&"),
        ("sleep 1 &", "&"),
        ("true; true", ";"),
        ("ls *.txt", "*.txt"),
        ("ls ~/x", "~/x"),
        ("echo $HOME/x", "$HOME/x"),
        ("echo ${A}", "${A}"),
        ("echo `date`", "`date`"),
        ("N=1 ./bench", "N=1"),
        ("echo \"$HOME\"", "$HOME\""),
    ];
    for (command, part) in of_a_shell {
        assert_eq!(shell_syntax(command), Some(part), "{command}");
    }
    for command in [
        "./bench --size={bytes} -x a=b",
        "sh -c 'ls *.txt | wc -l > x; echo $HOME'",
        "awk '{print $1}' \"a|b\"",
        "find . -exec true {} \\;",
        "sh -c \"echo $HOME\"",
        "printf \"a\\\"|b\"",
        "grep 'it'\\''s|' f~ x$",
        "echo 5$ \\*",
    ] {
        assert_eq!(shell_syntax(command), None, "{command}");
    }
}

#[test]
fn words_of_a_shell_and_ranges_with_a_hyphen_are_refused_with_the_text_to_type() {
    let refused: [(&[&str], &str); 6] = [
        (
            &["true {n} > /dev/null", "--axis", "n=1,2"],
            "write sh -c 'true {n} > /dev/null' as the command, or add --shell sh",
        ),
        (&["true {n}", "--axis", "n=1000-4000"], "write --axis n=1000..4000"),
        (&["true {n}", "--axis", "n=1MiB-4MiB"], "write --axis n=1MiB..4MiB"),
        (&["true {n}", "--axis", "n=0-3"], "write --axis n=0..3+1"),
        (&["true", "--cleanup", "rm *.tmp"], "write sh -c 'rm *.tmp'"),
        (&["true", "--success", "300"], "300"),
    ];
    for (line, expected) in refused {
        let refused = apexmap(&[&["run", "--command"], line].concat());
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && message.contains(expected), "{line:?}: {message}");
    }
    for flag in ["--shell", "--setup", "--runs", "--warmup", "--success", "--value"] {
        let refused = apexmap(&["run", flag, "1"]);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && message.contains("needs --command"), "{flag}: {message}");
    }
}

#[test]
fn a_command_by_a_shell_has_set_up_clean_up_warm_up_codes_and_a_number_of_runs() {
    let scratch = Scratch::new();
    let (log, out) = (scratch.join("log"), scratch.join("out"));
    let add = |letter: &str| format!("printf {letter} >> {}", log.display());
    let (command, prepare, conclude) = (format!("{}; exit {{code}}", add("{code}")), add("s"), add("c"));
    let line = ["run", "--command", &command, "--axis", "code=3,7", "--shell", "sh", "--success", "3,7"];
    let hooks = ["--prepare", &prepare, "--conclude", &conclude, "--warmup", "2", "--runs", "5"];
    let done = apexmap(&[&line[..], &hooks, &["--no-report", "--out", out.to_str().unwrap()]].concat());
    let (shown, message) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{message}");
    let log = std::fs::read_to_string(log).unwrap();
    // Five runs that count and two before the first of them, each between set-up and clean-up.
    assert_eq!((log.matches("s3c").count(), log.matches("s7c").count(), log.len()), (7, 7, 42), "{log}");
    assert!(log.starts_with("s3cs3cs3c") || log.starts_with("s7cs7cs7c"), "{log}");
    let (least, median) = (shown.contains("least "), shown.contains("median (95 % CI)"));
    assert!(least && median && !out.join("report.html").exists(), "without a report, the numbers are shown: {shown}");
    let failed = apexmap(&["run", "--command", "sh -c 'exit 3'", "--out", scratch.join("failed").to_str().unwrap()]);
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(message.contains("write --success 0,3 (in a sweep: success = [0,3])"), "{message}");
}

#[test]
fn a_missing_program_is_a_failure_that_says_what_to_do() {
    let message = outcome(json!({ "command": ["no-such-program-of-apexmap"] }), &[]).unwrap_err();
    assert!(message.contains("cannot start no-such-program-of-apexmap") && message.contains("PATH"), "{message}");
}

#[test]
fn a_program_that_writes_without_end_is_ended_in_bounded_memory() {
    let message = failure("yes rate: 1");
    assert!(message.contains("more than 16 MiB") && message.contains("rate: 1 | rate: 1"), "{message}");
}

/// Waits until no process has this word as an argument: the system ends killed processes a little later.
fn assert_ends(word: &str) {
    let runs = || {
        let folders = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = folders.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.any(|line| line.split(|&byte| byte == 0).any(|part| part == word.as_bytes()))
    };
    let start = std::time::Instant::now();
    while runs() {
        assert!(start.elapsed().as_secs() < 20, "{word} still runs");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn processes_that_a_program_leaves_behind_are_ended_and_named() {
    let message = failure("sleep 98761 & echo rate: 1");
    assert!(message.contains("left processes behind") && message.contains("sleep"), "{message}");
    assert_ends("98761");
    let message = failure("setsid sleep 98762 > /dev/null 2>&1 & sleep 0.2; echo rate: 1");
    assert!(message.contains("left processes behind"), "{message}");
    assert_ends("98762");
    let message = failure("env -i setsid sleep 98764 > /dev/null 2>&1 & echo rate: 1");
    assert!(message.contains("left processes behind"), "a daemon without an environment: {message}");
    assert_ends("98764");
}

#[test]
fn programs_that_wait_for_a_user_or_ignore_signals_do_not_hang() {
    assert!(failure("cat").contains("it wrote nothing"), "standard input is empty");
    assert!(failure("read x < /dev/tty; exit 7").contains("exit code"), "there is no terminal");
    let mut stubborn = script("trap '' TERM; echo begun; sleep 98763");
    stubborn["time_limit"] = json!("0.3 s");
    let message = outcome(stubborn, &[]).unwrap_err();
    assert!(message.contains("did not end within 0.3 s") && message.contains("begun"), "{message}");
    assert_ends("98763");
}

/// Writes a program whose rate is known, and a sweep of it.
fn write_bench(scratch: &Scratch, rate: &str) -> std::path::PathBuf {
    let bench = scratch.join("bench");
    std::fs::write(&bench, format!("echo \"rate: $(({rate})) MB/s\"\n")).unwrap();
    let text = format!(
        "[fixed]\nkernel = \"command\"\ncommand = [\"sh\", \"{}\", \"{{bytes}}\", \"{{threads}}\"]\n\
         value = {{ regex = 'rate: ([0-9]+) MB/s', unit = \"MB/s\", name = \"speed\" }}\n\
         [axes]\nbytes = [1024, 2048]\nthreads = [1, 2]\n[repeat]\nmin = 2\n[launch]\npreflight = \"0 s\"\n",
        bench.display()
    );
    let path = scratch.join("speed.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn run_sweep(sweep: &Path, out: &Path, more: &[&str]) -> std::process::Output {
    let arguments = ["run", sweep.to_str().unwrap(), "--out", out.to_str().unwrap()];
    apexmap(&[&arguments[..], more].concat())
}

#[test]
fn a_sweep_of_a_program_runs_resumes_and_is_read_by_every_command() {
    let scratch = Scratch::new();
    let (sweep, out) = (write_bench(&scratch, "$1 * $2"), scratch.join("out"));
    let done = run_sweep(&sweep, &out, &[]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let result = out.to_str().unwrap();
    let samples = Samples::from(Folder::open(&out).unwrap().table().unwrap());
    assert_eq!(samples.len(), 8);
    assert_eq!(samples.axes(), ["bytes_", "threads"]);
    assert!(String::from_utf8_lossy(&run_sweep(&sweep, &out, &[]).stdout).contains("nothing to do"));
    let rows =
        successful_stdout(&["query", result, "--group-by", "bytes,threads", "--select", "speed_bytes_per_second"]);
    assert!(rows.contains("4.1 GB/s") || rows.contains("4.10 GB/s"), "{rows}");
    let chosen =
        ["query", result, "--group-by", "threads", "--where", "bytes == 2 KiB", "--select", "speed_bytes_per_second"];
    assert_eq!(successful_stdout(&chosen).matches("GB/s").count(), 2);
    successful_stdout(&["plot", result, "heat", "--x", "bytes", "--y", "threads"]);
    assert!(successful_stdout(&["status", result]).contains("4"));
    assert!(successful_stdout(&["show", result]).contains("speed"));
    successful_stdout(&["export", result]);
    let formula = "speed_bytes_per_second = a * bytes_ * threads";
    let fit = successful_stdout(&["fit", result, "--formula", formula, "--fit", "a"]);
    assert!(fit.contains("a"), "{fit}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("speed") && page.contains("threads"));
}

#[test]
fn repetitions_narrow_the_printed_value_and_not_the_time() {
    let scratch = Scratch::new();
    let counts = |name: &str, rate: &str| {
        let sweep = write_bench(&scratch, rate);
        let text = std::fs::read_to_string(&sweep).unwrap();
        // No time of a program is equal to one part in 10^9.
        std::fs::write(&sweep, text.replace("min = 2", "min = 6\nmax = 8\nwidth = 1e-9")).unwrap();
        let out = scratch.join(name);
        let done = run_sweep(&sweep, &out, &["--no-report"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(String::from_utf8_lossy(&run_sweep(&sweep, &out, &[]).stdout).contains("nothing to do"));
        Samples::from(Folder::open(&out).unwrap().table().unwrap()).len()
    };
    assert_eq!(counts("constant", "$1 * $2"), 4 * 6, "equal values have an interval without width");
    assert_eq!(counts("spread", "$$ + 1"), 4 * 8, "process ids differ");
}

#[test]
fn threads_and_simulated_ranks_start_no_command() {
    let simulated = format!("{BENCH}[launch]\ntransport = \"simulated\"\nsimulate = \"red-storm\"\n");
    assert!(fault(&simulated).contains("a command cannot run on simulated ranks"), "{}", fault(&simulated));
    let ranks = BENCH.replace("threads = [1, 2]", "threads = [1, 2]\nranks = [1, 2]");
    assert!(fault(&ranks).contains("a command runs once, not on 2 ranks; set transport"), "{}", fault(&ranks));
}

#[test]
fn the_launcher_of_a_sweep_starts_a_command_on_its_ranks() {
    needs!(Mpi);
    for (launcher, variable) in [("openmpi", "OMPI_COMM_WORLD_SIZE"), ("mpich", "PMI_SIZE")] {
        let scratch = Scratch::new();
        let sweep = scratch.join("sweep.toml");
        let text = format!(
            r#"title = "Ranks of a program"
[fixed]
kernel = "command"
command = ["/bin/sh", "-c", "echo size: ${variable} of {{ranks}}"]
value = [{{ regex = 'size: ([0-9]+)', name = "size" }}, {{ regex = 'of ([0-9]+)', name = "known" }}]
[axes]
ranks = [1, 2, 3]
[launch]
transport = "mpi"
launcher = "{launcher}"
[repeat]
min = 1
"#
        );
        std::fs::write(&sweep, text).unwrap();
        let out = scratch.join("out");
        let done = run_sweep(&sweep, &out, &["--no-report"]);
        assert!(done.status.success(), "{launcher}: {}", String::from_utf8_lossy(&done.stderr));
        let samples = Samples::from(Folder::open(&out).unwrap().table().unwrap());
        for column in ["ranks", "size", "known"] {
            let mut values = samples.numbers(column);
            values.sort_by(f64::total_cmp);
            assert_eq!(values, [1.0, 2.0, 3.0], "{launcher}: {column}");
        }
        let launch = (samples.words("transport"), samples.words("launcher"), samples.words("library"));
        assert_eq!(launch, (vec!["mpi"], vec![launcher], vec!["the command's MPI"]));
    }
}

#[test]
fn two_results_of_a_program_compare_by_its_parameters_and_fail_if_slower() {
    let (first, second) = (Scratch::new(), Scratch::new());
    let results = [(&first, "1000 * $2"), (&second, "900 * $2")].map(|(scratch, rate)| {
        let out = scratch.join("out");
        let done = run_sweep(&write_bench(scratch, rate), &out, &["--launches", "3", "--no-report"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        out.to_str().unwrap().to_owned()
    });
    let [base, slower] = &results;
    for (old, new, code, why) in [(base, slower, 5, "slower"), (slower, base, 0, "higher is better")] {
        let check = apexmap(&["compare", old, new, "--no-page", "--fail-if", "slower=5%"]);
        // On a busy machine, a disturbance may explain or hide the difference.
        let text = String::from_utf8_lossy(&check.stdout);
        let code = if text.contains("UNDECIDED") && text.contains("disturbed") { 4 } else { code };
        assert_eq!(check.status.code(), Some(code), "{why}: {text}");
    }
}

#[test]
fn a_run_that_fails_is_a_failed_sample_and_the_other_points_are_measured() {
    let scratch = Scratch::new();
    let (sweep, out) = (write_bench(&scratch, "$2 == 2 ? 1 / 0 : 5"), scratch.join("out"));
    let done = run_sweep(&sweep, &out, &["--no-report"]);
    assert_eq!(done.status.code(), Some(4));
    let records = Folder::open(&out).unwrap().records().unwrap();
    let samples: Vec<_> = records.into_iter().flat_map(|record| record.samples).collect();
    let failed: Vec<_> = samples.iter().filter(|sample| sample.status == Status::Failed).collect();
    assert_eq!((samples.len(), failed.len()), (6, 2), "a failed point is not run again");
    assert!(failed[0].message.contains("its error output begins"), "{}", failed[0].message);
    assert!(successful_stdout(&["status", out.to_str().unwrap()]).contains("exit code"));
}

#[test]
fn one_line_writes_the_sweep_and_runs_it() {
    let scratch = Scratch::new();
    let out = scratch.join("out");
    let line = ["run", "--command", "sh -c 'echo rate: {bytes}{{x}} {pages}'", "--axis", "bytes=1KiB..4KiB"];
    // The name of a parameter of other kernels, with other values.
    let own_name = ["--axis", "pages=10,20", "--value"];
    let value = ["regex:rate: ([0-9]+)", "--unit", "MB/s", "--no-report", "--out", out.to_str().unwrap()];
    let done = apexmap(&[&line[..], &own_name, &value].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(out.join("sweep.toml")).unwrap();
    assert!(text.contains("kind = \"heat\"\nx = \"bytes\"\ny = \"pages\""), "{text}");
    let answer = "least {least} at bytes {least_bytes}, pages {least_pages}; most {most} at bytes {most_bytes}, pages {most_pages}";
    assert!(text.contains(answer), "{text}");
    let report = successful_stdout(&["report", out.to_str().unwrap()]);
    let answer = "How does this program depend on bytes and pages?\n  least 1.02 GB/s at bytes 1 KiB, pages ";
    assert!(report.contains(answer) && report.contains("; most 4.1 GB/s at bytes 4 KiB, pages "), "{report}");
    assert!(text.starts_with("# Written by: ") && sweep(&text).unwrap().points.len() == 6, "{text}");
    let faults = [
        (vec!["--axis", "bytes"], "there is no ="),
        (vec!["--axis", "command=1"], "belongs to the command"),
        (vec!["--axis", "bytes=1..2", "--axis", "bytes=1"], "gives bytes twice"),
        (vec!["--axis", "bytes=1..2", "--value", "wal"], "did you mean"),
    ];
    for (more, expected) in faults {
        let refused = apexmap(&[&["run", "--command", "echo {bytes}"][..], &more].concat());
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(2) && message.contains(expected), "{message}");
    }
}

#[test]
fn the_command_of_a_result_runs_only_with_consent() {
    let scratch = Scratch::new();
    let (sweep, out) = (write_bench(&scratch, "1"), scratch.join("sent"));
    assert!(run_sweep(&sweep, &out, &["--no-report"]).status.success());
    std::fs::write(scratch.join("bench"), "touch \"$0.ran\"; echo rate: 1 MB/s\n").unwrap();
    let again = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command
            .arg("run")
            .arg(out.join("sweep.toml"))
            .arg("--out")
            .arg(scratch.join("new"))
            .args(["--no-report"])
            .args(more);
        output(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))
    };
    let refused = again(&[]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        refused.status.code() == Some(2) && message.contains("lies in a result") && message.contains("bench"),
        "{message}"
    );
    assert!(!scratch.join("bench.ran").exists(), "nothing ran");
    assert!(again(&["--trust"]).status.success());
    assert!(scratch.join("bench.ran").exists());
}

/// The sender of a result controls its files and the names of its folders.
#[test]
fn nothing_of_a_sent_result_runs_without_consent() {
    let scratch = Scratch::new();
    let (sweep, good) = (write_bench(&scratch, "1"), scratch.join("good"));
    assert!(run_sweep(&sweep, &good, &["--no-report"]).status.success());
    let (program, mark) = (scratch.join("w.sh"), scratch.join("ran"));
    std::fs::write(&program, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let kernel = "[fixed]\nkernel = \"apex_map.two_sided\"\nM = \"8 kwords\"\nranks = 2\n[launch]\npreflight = 0\n";
    let command = "[fixed]\nkernel = \"command\"\ncommand = [\"true\"]\n";
    let sweeps = [
        ("worker:", format!("{kernel}worker = \"{program}\"\n")),
        (
            "launcher:",
            format!(
                "{kernel}transport = \"mpi\"\nlauncher = \"custom\"\ncommand = [\"{program}\", \"{{ranks}}\", \"{{worker}}\", \"{{arguments}}\"]\n"
            ),
        ),
        ("set-up:", format!("{command}setup = [\"{program}\"]\n")),
        ("cleanup:", format!("{command}cleanup = [\"{program}\"]\n")),
        ("environment: ENV", format!("{command}env = {{ ENV = \"{program}\" }}\n")),
    ];
    type Damage = fn(&std::path::Path) -> PathBuf;
    let damages: [Damage; 4] = [
        |folder| folder.join("sweep.toml"),
        |folder| {
            std::fs::write(folder.join("manifest.json"), "{\"schema\": 9999}").unwrap();
            folder.join("sweep.toml")
        },
        |folder| {
            std::fs::remove_file(folder.join("manifest.json")).unwrap();
            std::fs::create_dir_all(folder.join("a/b")).unwrap();
            std::fs::rename(folder.join("sweep.toml"), folder.join("a/b/s.toml")).unwrap();
            folder.join("a/b/s.toml")
        },
        |folder| {
            let link = folder.with_extension("toml");
            std::os::unix::fs::symlink(folder.join("sweep.toml"), &link).unwrap();
            link
        },
    ];
    for (kind, text) in sweeps {
        for (number, damage) in damages.into_iter().enumerate() {
            let folder = scratch.join(format!("{}{number}", kind.replace([':', ' '], "")));
            let copied = output(Command::new("cp").arg("-r").arg(&good).arg(&folder));
            assert!(copied.status.success());
            std::fs::write(folder.join("sweep.toml"), &text).unwrap();
            let sweep = damage(&folder);
            let (sweep, new) = (sweep.to_str().unwrap(), scratch.join("new"));
            let new = new.to_str().unwrap();
            let asked: [&[&str]; 3] = [
                &["run", sweep, "--no-report", "--out", new],
                &["run", sweep, "--trial", "--out", new],
                &["ab", "--sweep", sweep, "--budget", "1s"],
            ];
            for arguments in asked {
                let refused = apexmap(arguments);
                let message = String::from_utf8_lossy(&refused.stderr);
                assert!(refused.status.code() == Some(2) && message.contains(kind), "{arguments:?}: {message}");
                assert!(message.contains("--trust"), "{message}");
            }
            for arguments in [["plan", sweep, "--out", new], ["plan", sweep, "--points", "--schema"]] {
                apexmap(&arguments);
            }
            for command in ["status", "show", "query"] {
                apexmap(&[command, folder.to_str().unwrap()]);
            }
            assert!(!mark.exists(), "{kind} of {sweep} ran");
        }
    }
}

#[test]
fn values_beyond_the_range_of_numbers_and_ratios_of_none_are_refused() {
    let scratch = Scratch::new();
    let huge = ["--value", "regex:rate (\\S*) end", "--unit", "GB/s"];
    let out = scratch.join("out");
    let line = ["run", "--command", "echo rate 1e308 end", "--no-report", "--out", out.to_str().unwrap()];
    let failed = apexmap(&[&line[..], &huge].concat());
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(failed.status.code() == Some(4), "{message}");
    let status = apexmap(&["status", out.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&status.stdout).contains("the program printed 1e308"));
    for value in ["0", "-5"] {
        let command = format!("echo rate {value} end");
        let refused = apexmap(&["ab", &command, &command, "--budget", "1s", huge[0], huge[1]]);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(4) && message.contains("which has no ratio"), "{message}");
    }
    for width in ["nan", "inf", "0", "-1"] {
        assert_eq!(apexmap(&["ab", "true", "true", &format!("--width={width}")]).status.code(), Some(2), "{width}");
    }
}

#[test]
fn paths_are_words_of_an_axis_and_pages_have_no_control_characters() {
    let scratch = Scratch::new();
    let out = scratch.join("out");
    let out = out.to_str().unwrap();
    let axis = ["--axis", "f=../a.txt,../b/2..3,x", "--value", "regex:(7)"];
    let line = ["run", "--command", "printf '\\033[2J%s7\\342\\200\\256' {f}", "--out", out];
    let done = apexmap(&[&line[..], &axis].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = std::fs::read_to_string(scratch.join("out/sweep.toml")).unwrap();
    assert!(sweep(&text).unwrap().points.len() == 3 && text.contains("../b/2..3"), "{text}");
    let failed = scratch.join("failed");
    let line = ["run", "--command", "printf '\\033[2J\\342\\200\\256'", "--value", "regex:(7)", "--out"];
    apexmap(&[&line[..], &[failed.to_str().unwrap()]].concat());
    let page = std::fs::read_to_string(failed.join("report.html")).unwrap();
    assert!(page.contains("\u{fffd}[2J") && !page.contains(apexmap_base::terminal::is_unprintable));
}

#[test]
fn a_pipe_without_a_writer_is_no_sweep() {
    let scratch = Scratch::new();
    let pipe = scratch.join("sweep.toml");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let refused = apexmap(&["plan", pipe.to_str().unwrap()]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(3) && message.contains("no program writes into it"), "{message}");
    // Of a shell: apexmap plan <(sleep 1; cat tiny.toml)
    let mut late = Command::new("bash");
    late.args(["-c", "\"$0\" plan <(sleep 1; printf '[fixed]\\nkernel = \"calibrate.latency\"\\n')"]);
    let planned = output(late.arg(env!("CARGO_BIN_EXE_apexmap")));
    let message = String::from_utf8_lossy(&planned.stderr);
    assert!(!message.contains("no program writes"), "{message}");
}
