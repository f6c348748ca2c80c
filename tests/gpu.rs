//! Tests of kernels on devices of OpenCL, on pocl's, which is this processor.

use super::common::{Scratch, apexmap, output, successful_stdout};
use apexmap_base::point::{Point, Value};
use apexmap_base::units::exact_bytes;
use apexmap_measure::kernels::gpu::device::Device;
use apexmap_measure::kernels::gpu::platforms::devices;
use apexmap_measure::kernels::{self, Outcome};
use apexmap_measure::numerics::mix::{mix, seed};
use apexmap_theory::bounds::{self, Case, Limits};
use apexmap_theory::machine::{Card, Number};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Returns why this machine has no device for the tests.
pub fn missing_requirement() -> Option<String> {
    devices().err().map(|error| error.message)
}

/// Returns the point of a kernel with parameters such as `M = 64`. Words are between single quotes.
fn point(kernel: &str, parameters: &str) -> Point {
    let mut point = Point::new(kernel, 1);
    for parameter in parameters.split(", ").filter(|parameter| !parameter.is_empty()) {
        let (name, text) = parameter.split_once(" = ").expect("a value");
        let number = text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Real));
        point = point.with_parameter(name, number.unwrap_or_else(|_| Value::from(text.trim_matches('\''))));
    }
    kernels::complete(point).unwrap_or_else(|refusal| panic!("{kernel} {parameters}: {refusal}"))
}

fn run(kernel: &str, parameters: &str) -> Outcome {
    kernels::run_embedded(&point(kernel, parameters), 0).unwrap_or_else(|e| panic!("{kernel} {parameters}: {e}"))
}

fn integer(outcome: &Outcome, column: &str) -> u64 {
    match outcome.outputs.get(column) {
        Some(Value::Integer(number)) => *number,
        other => panic!("{column}: {other:?}"),
    }
}

#[test]
fn every_kernel_is_verified_at_small_and_awkward_sizes() {
    needs!(OpenCl);
    let points = [
        ("gpu.stream", "bytes = 1024"),
        ("gpu.stream", "bytes = 100008, work_items = 7"),
        ("gpu.stream", "bytes = 4100, access = 'copy'"),
        ("gpu.stream", "bytes = 65536, access = 'scale', work_items = 256"),
        ("gpu.stream", "bytes = 70000, access = 'add', work_items = 1"),
        ("gpu.stream", "bytes = 65544, access = 'triad', work_items = 513"),
        ("gpu.chase", "bytes = 1024, line_bytes = 256, steps = 1"),
        ("gpu.chase", "bytes = 65536, line_bytes = 8, chases = 64, steps = 1001"),
        ("gpu.chase", "bytes = 65536, chases = 32, steps = 999, writers = 3"),
        ("gpu.random_access", "N_words = 2, updates = 0.5"),
        ("gpu.random_access", "N_words = 4096, work_items = 7"),
        ("gpu.random_access", "N_words = 65536, protection = 'unprotected'"),
        ("gpu.apex_map", "M = 1, I = 1"),
        ("gpu.apex_map", "M = 4095, L = 15, I = 1001, lanes = 4, in_flight = 3, alpha = 0.01, work_items = 12"),
        ("gpu.apex_map", "M = 65536, L = 1, I = 10000, in_flight = 16, work_items = 100"),
        ("gpu.apex_map", "M = 65536, L = 4096, I = 100, alpha = 0.1"),
        ("gpu.apex_map", "M = 65536, L = 4, I = 4096, alpha = 0.001, index_source = 'generated'"),
        ("gpu.apex_map", "M = 65536, I = 4096, index_source = 'generated', lanes = 2"),
        ("gpu.transfer", "bytes = 8"),
        ("gpu.transfer", "bytes = 100000, direction = 'to_host', host_memory = 'pageable'"),
        ("gpu.transfer", "bytes = 65536, direction = 'both'"),
        ("gpu.launch", "launches = 10"),
    ];
    let ran: std::collections::BTreeSet<&str> = points.iter().map(|(kernel, _)| *kernel).collect();
    let family = kernels::ALL.iter().filter(|kernel| kernel.id.starts_with("gpu."));
    assert!(family.map(|kernel| kernel.id).all(|id| ran.contains(id)), "{ran:?}");
    for (kernel, parameters) in points {
        let outcome = run(kernel, parameters);
        assert!(outcome.seconds > 0.0, "{kernel} {parameters}: {outcome:?}");
        let declared = kernels::find(kernel).expect("a kernel").outputs;
        let undeclared = outcome.outputs.keys().find(|name| declared.iter().all(|output| output.column != **name));
        assert_eq!(undeclared, None, "{kernel}");
        for column in ["device_name", "device_driver", "host_seconds", "launch_passes", "warm_up_seconds"] {
            assert!(outcome.outputs.contains_key(column), "{kernel}: {column}");
        }
    }
}

/// The draws of apex_map.sequential, from the description of the power law: rank 0, purpose 0.
#[test]
fn stored_blocks_are_those_that_the_processor_draws() {
    needs!(OpenCl);
    for (words, block, alpha) in [(1 << 16, 1, 1.0), (3 << 12, 16, 0.1), (1 << 12, 64, 0.001)] {
        let parameters = format!("M = {words}, L = {block}, alpha = {alpha}, I = 70001, seed = 5");
        let outcome = run("gpu.apex_map", &parameters);
        let mut random = Pcg64Mcg::seed_from_u64(seed(&[5, 0, 0, 0]));
        let sum = (0..70001).fold(0_u64, |sum, _| {
            let u: f64 = random.random();
            let share = if alpha == 1.0 { u } else { u.powf(1.0 / alpha) };
            let first = (share * (words / block) as f64) as u64 * block;
            sum.wrapping_add(mix(first + block).wrapping_sub(mix(first)))
        });
        assert_eq!(integer(&outcome, "pass_sum"), sum, "{parameters}");
    }
}

#[test]
fn the_updated_table_is_that_of_the_processor() {
    needs!(OpenCl);
    for parameters in ["N_words = 4096, updates = 4.0", "N_words = 1024, updates = 0.3"] {
        let device = run("gpu.random_access", parameters);
        let processor = run("random_access.sequential", &format!("{parameters}, offset = 'none'"));
        let hash = |outcome: &Outcome| outcome.outputs["table_hash"].clone();
        assert_eq!(hash(&device), hash(&processor), "{parameters}");
        assert_eq!(integer(&device, "errors"), 0);
    }
}

#[test]
fn devices_are_listed_as_text_and_as_json() {
    needs!(OpenCl);
    let (text, json) = (successful_stdout(&["devices"]), successful_stdout(&["devices", "--json"]));
    let listed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let first = &listed[0];
    assert_eq!(first["number"], 0);
    assert!(first["memory_bytes"].as_u64() >= first["allocation_bytes"].as_u64(), "{first}");
    for column in ["name", "platform", "driver"] {
        let value = first[column].as_str().expect("a text");
        assert!(!value.is_empty() && text.contains(value), "{column}: {text}");
    }
    assert!(text.contains("64-bit atomics: yes"), "{text}");
    let unknown = kernels::run_embedded(&point("gpu.launch", "device = 1000"), 0).unwrap_err();
    assert!(unknown.message.contains("there is no device 1000"), "{unknown}");
}

/// Returns the error of `apexmap devices` with an environment variable.
fn error_with(name: &str, value: &Path) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = output(program.arg("devices").env(name, value));
    assert_eq!(output.status.code(), Some(3));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_machine_without_a_device_names_the_cause_and_the_package() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    let none = error_with("OCL_ICD_VENDORS", &scratch);
    assert!(none.contains("has no .icd file") && none.contains("pocl-opencl-icd"), "{none}");
    std::fs::write(scratch.join("missing.icd"), "libno-such-opencl.so.7\n").expect("written");
    let missing = error_with("OCL_ICD_VENDORS", &scratch);
    assert!(missing.contains("missing.icd names libno-such-opencl.so.7, which cannot be loaded"), "{missing}");
    std::fs::write(scratch.join("missing.icd"), "libOpenCL.so.1\r\n").expect("written");
    let carriage_return = error_with("OCL_ICD_VENDORS", &scratch);
    assert!(carriage_return.contains("names libOpenCL.so.1\\r, which cannot be loaded"), "{carriage_return}");
    std::fs::write(scratch.join("missing.icd"), "\n").expect("written");
    let blank = error_with("OCL_ICD_VENDORS", &scratch);
    assert!(blank.contains("missing.icd names no library"), "{blank}");
    // A library without a platform, as a vendor's without a device.
    let (source, library) = (scratch.join("empty.c"), scratch.join("libempty.so"));
    std::fs::write(&source, "int nothing;\n").expect("written");
    assert!(output(Command::new("cc").args(["-shared", "-o"]).args([&library, &source])).status.success());
    std::fs::write(scratch.join("missing.icd"), library.display().to_string()).expect("written");
    let empty = error_with("OCL_ICD_VENDORS", &scratch);
    assert!(empty.contains("can be loaded but has no platform") && !empty.contains("cannot be loaded"), "{empty}");
    // A file that is no library comes before the loader.
    std::fs::write(scratch.join("libOpenCL.so.1"), "").expect("written");
    let no_loader = error_with("LD_LIBRARY_PATH", &scratch);
    assert!(no_loader.contains("ocl-icd-libopencl1"), "{no_loader}");
}

#[test]
fn a_user_who_may_not_open_a_device_is_told_its_group() {
    needs!(OpenCl);
    needs!(Network);
    let script = "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && : > /dev/kfd && chgrp video /dev/kfd && \
                  chmod 660 /dev/kfd && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$0\" devices";
    let mut program = Command::new("unshare");
    program.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_apexmap")]).env("OCL_ICD_VENDORS", "/none/");
    let refused = output(&mut program);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(3), "{message}");
    assert!(message.contains("/dev/kfd of the group video") && message.contains("usermod -aG video"), "{message}");
}

#[test]
fn the_log_of_a_kernel_that_does_not_compile_is_shown() {
    needs!(OpenCl);
    let device = Device::open(0).expect("a device");
    let error =
        device.program("kernel void wrong(global ulong *a) { a[0] = no_such_name; }", &[]).map(drop).unwrap_err();
    assert!(error.message.contains("no_such_name"), "{error}");
}

#[test]
fn sizes_that_the_device_refuses_name_the_limit() {
    needs!(OpenCl);
    let limit = Device::open(0).expect("a device").about.allocation_bytes;
    let words = (limit / 8 + 1).next_power_of_two();
    let point = point("gpu.random_access", &format!("N_words = {words}"));
    let error = kernels::run_embedded(&point, 0).unwrap_err();
    let sizes = [8 * words, limit].map(exact_bytes);
    assert!(sizes.iter().all(|size| error.message.contains(size)), "{sizes:?}: {error}");
    assert!(error.help.contains("use a smaller size"), "{error}");
    let refused = |kernel: &str, name: &str, value: u64| {
        let point = Point::new(kernel, 1).with_parameter(name, value);
        kernels::complete(point).unwrap_err().message
    };
    assert!(refused("gpu.apex_map", "M", 1 << 33).contains("2^32 blocks"));
    assert!(refused("gpu.random_access", "N_words", 1000).contains("use 1024"));
    assert!(refused("gpu.chase", "chases", 3).contains("use 4"));
}

/// Runs a sweep into a folder, with further environment variables. Returns its output and errors together.
pub fn run_sweep(scratch: &Scratch, name: &str, text: &str, variables: &[(&str, &str)]) -> (String, Option<i32>) {
    let file = scratch.join(format!("{name}.toml"));
    std::fs::write(&file, text).expect("written");
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    program.args(["run", "--out"]).arg(scratch.join(name)).arg(&file).envs(variables.iter().copied());
    let output = output(&mut program);
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (text, output.status.code())
}

#[test]
fn the_other_points_of_a_sweep_are_measured_if_the_device_refuses_one() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    let text = "[fixed]\nkernel = \"gpu.chase\"\nsteps = 100\n[axes]\nbytes = [\"4 KiB\", \"64 KiB\", \"1 TiB\"]\n[repeat]\nmin = 2\n";
    let (output, code) = run_sweep(&scratch, "refused", text, &[]);
    assert_eq!(code, Some(4), "{output}");
    assert!(output.contains("1 TiB are more than"), "{output}");
    let folder = scratch.join("refused");
    let rows = successful_stdout(&["query", folder.to_str().expect("a path"), "--group-by", "bytes"]);
    assert!(rows.contains("4 KiB  2") && rows.contains("64 KiB  2"), "{rows}");
}

/// pocl compiles its kernels with these options, too: all work items of a group then have the same number. A chase would leave its
/// memory.
#[test]
fn a_device_whose_work_items_do_the_wrong_work_is_found_out() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    let variables = [("POCL_EXTRA_BUILD_FLAGS", "-Dget_global_id=get_group_id")];
    let sweeps = [
        ("gpu.stream", "bytes = [65536]\naccess = [\"read\", \"triad\"]"),
        ("gpu.random_access", "N_words = [4096]"),
        ("gpu.apex_map", "M = [4096]\nI = [1000]"),
        ("gpu.transfer", "bytes = [65536]\ndirection = [\"to_device\", \"to_host\"]"),
    ];
    for (kernel, axes) in sweeps {
        let text = format!("[fixed]\nkernel = \"{kernel}\"\n[axes]\n{axes}\n[repeat]\nmin = 1\n");
        let (output, code) = run_sweep(&scratch, kernel, &text, &variables);
        assert!(code != Some(0) && output.contains("wrong"), "{kernel}: {code:?} {output}");
        let folder = scratch.join(kernel);
        let rows = apexmap(&["query", folder.to_str().expect("a path"), "--group-by", "kernel", "--format", "csv"]);
        let rows = String::from_utf8_lossy(&rows.stdout).into_owned();
        assert!(rows.contains(&format!("\n{kernel},0,")), "{kernel}: a sample counts\n{rows}");
    }
}

/// Returns a ready sweep with small sizes: lines that begin with a key have another value.
fn small_sweep(name: &str) -> String {
    let text = std::fs::read_to_string(Path::new("sweeps").join(name).with_extension("toml")).expect("a sweep");
    let small = |line: &str| match line.split_once(" = ").map(|(key, _)| key) {
        Some("M") => "M = \"64 kwords\"\nI = 1000".to_owned(),
        Some("alpha") if name == "gpu" => "alpha = [0.01, 0.1, 1]".to_owned(),
        Some("L") if name == "gpu" => "L = [1, 16, 256]".to_owned(),
        Some("bytes") if name == "gpu-loaded" => "bytes = \"1 MiB\"".to_owned(),
        Some("chases") => "chases = [1, 16, 256]".to_owned(),
        Some("bytes") => "bytes = [\"16 KiB\", \"64 KiB\"]".to_owned(),
        Some("N_words") => "N_words = [1024, 4096]".to_owned(),
        Some("work_items") => "work_items = [64, 256]".to_owned(),
        Some("in_flight") => "in_flight = [1, 8]".to_owned(),
        Some("launches") => "launches = 1".to_owned(),
        Some("min") => "min = 2".to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(small).collect::<Vec<_>>().join("\n")
}

#[test]
fn ready_sweeps_become_pages_that_answer_their_question() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    let name = Device::open(0).expect("a device").about.name.clone();
    let answers = [
        ("gpu", "for random words"),
        ("gpu-memory-sizes", "latency "),
        ("gpu-random-access", "without atomics"),
        ("gpu-loaded", " alone, "),
        ("gpu-stream", "triad "),
        ("gpu-transfer", "pinned memory gives"),
        ("gpu-parallelism", "work items with 8 loads"),
    ];
    for (sweep, answer) in answers {
        let (output, code) = run_sweep(&scratch, sweep, &small_sweep(sweep), &[]);
        assert_eq!(code, Some(0), "{sweep}: {output}");
        let page = std::fs::read_to_string(scratch.join(sweep).join("report.html")).expect("a page");
        assert!(page.contains(answer) && !output.contains("not answered"), "{sweep}: {output}");
        let folder = scratch.join(sweep);
        let samples = successful_stdout(&["export", folder.to_str().expect("a path"), "--format", "csv"]);
        assert!(samples.contains(&name), "{sweep} does not name {name}");
    }
}

#[test]
fn a_comparison_says_what_is_one_device_and_maps_the_ratio() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    for (name, kernel) in [("processor", "apex_map.sequential"), ("device", "gpu.apex_map")] {
        let fixed = format!("[fixed]\nkernel = \"{kernel}\"\nranks = 1\nM = 65536\nI = 64\n");
        let text = fixed + "[axes]\nalpha = [0.01, 1]\nL = [1, 16]\n[repeat]\nmin = 2\n";
        let (output, code) = run_sweep(&scratch, name, &text, &[]);
        assert_eq!(code, Some(0), "{output}");
    }
    let [processor, device] =
        ["processor", "device"].map(|name| scratch.join(name).to_str().expect("a path").to_owned());
    // 1 MB/s to the device: slower than a processor.
    let mut card = Card::new("a device", "", "");
    card.set("to_device_bytes_per_second", Number::new(1e6, "B/s", "given")).expect("a number");
    let card_file = scratch.join("card.toml");
    std::fs::write(&card_file, card.to_toml()).expect("written");
    let cards = format!(",{}", card_file.to_str().expect("a path"));
    let with_card = ["compare", "--cards", &cards];
    for (other, name) in [(device.as_str(), "device"), ("h100", "NVIDIA H100")] {
        let out = scratch.join(format!("{name} compared"));
        let mut compare = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        compare.args(if name == "device" { &with_card[..] } else { &with_card[..1] });
        let compared =
            output(compare.args([processor.as_str(), other, "--names", &format!("host,{name}"), "--out"]).arg(&out));
        let text =
            [compared.stdout, compared.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert_eq!(compared.status.code(), Some(0), "{text}");
        let page = std::fs::read_to_string(out.join("compare.html")).expect("a page");
        let sentence = format!("{name} is one device, without transfers to it");
        assert!(page.contains("host is one process at P = 1") && page.contains(&sentence), "{text}");
        assert!(page.contains(&format!("Speed of {name} relative to host")), "{text}");
        if name == "device" {
            assert!(page.contains("Speed of device with transfers relative to host"), "{text}");
            assert!(text.contains("moves each word there, at 1 MB/s, each time that it is read"), "{text}");
            assert!(page.contains("each time that it is read"), "{text}");
            assert!(text.contains("device with transfers / host = 0.000"), "{text}");
        } else {
            assert!(page.contains("without transfers to it, whose rate was not measured"), "{text}");
        }
    }
}

#[test]
fn the_bound_of_a_device_counts_sectors_beyond_its_largest_cache() {
    let mut card = Card::new("a device", "", "");
    card.provenance.insert(bounds::DEVICE_NAME.into(), "a device".into());
    let numbers = [
        ("sector_bytes", 32.0, "B"),
        ("l1_bytes", 1024.0, "B"),
        ("l2_bytes", 1048576.0, "B"),
        ("node_bandwidth_bytes_per_second", 3.2e9, "B/s"),
    ];
    for (name, value, unit) in numbers {
        card.set(name, Number::new(value, unit, "given")).expect("a number");
    }
    let limits = Limits::from_card(&card);
    let rate = |words: u64, device: &str| {
        let point = point("gpu.apex_map", &format!("M = 1048576, L = {words}"));
        let outputs = BTreeMap::from([(bounds::DEVICE_NAME.to_owned(), Value::from(device))]);
        let case = Case { limits: &limits, point: &point, outputs: &outputs, carrier: ("threads", ""), nodes: 1 };
        bounds::terms(&case).expect("a family").bottleneck().map(|term| term.rate)
    };
    // The cache holds 1 MiB of 8 MiB. A word takes a sector, 16 words take four.
    for (words, bytes) in [(1, 32.0), (16, 128.0)] {
        let bound = rate(words, "a device").expect("a bound");
        assert!((bound * bytes * 0.875 / 3.2e9 - 1.0).abs() < 1e-3, "{words}: {bound}");
    }
    assert_eq!(rate(1, "another device"), None);
    // 1024 work items of 32 lanes have 256 accesses in flight, four times those of a pass.
    let with_pass = |accesses: u64| {
        let point = point("gpu.apex_map", &format!("M = 1048576, L = 64, I = {accesses}"));
        let outputs =
            [(bounds::DEVICE_NAME.to_owned(), Value::from("a device")), ("items_used".into(), Value::Integer(1024))];
        let outputs = BTreeMap::from(outputs);
        let case = Case { limits: &limits, point: &point, outputs: &outputs, carrier: ("threads", ""), nodes: 1 };
        let terms = bounds::terms(&case).expect("a family").limits;
        terms.iter().find(|term| term.name == bounds::MEMORY).expect("a bound").rate
    };
    assert!((with_pass(64) / with_pass(256) - 4.0).abs() < 1e-9 && with_pass(256) == with_pass(1024));
}

#[test]
fn a_device_whose_caches_are_unknown_has_no_bound_by_its_memory() {
    let mut card = Card::new("a device", "", "");
    card.provenance.insert(bounds::DEVICE_NAME.into(), "a device".into());
    for (name, value, unit) in [("sector_bytes", 32.0, "B"), ("node_bandwidth_bytes_per_second", 3.2e9, "B/s")] {
        card.set(name, Number::new(value, unit, "given")).expect("a number");
    }
    let (limits, point) = (Limits::from_card(&card), point("gpu.apex_map", "M = 1048576"));
    let outputs = BTreeMap::from([(bounds::DEVICE_NAME.to_owned(), Value::from("a device"))]);
    let case = Case { limits: &limits, point: &point, outputs: &outputs, carrier: ("threads", ""), nodes: 1 };
    let terms = bounds::terms(&case).expect("a family");
    assert!(terms.missing.contains(&bounds::MEMORY) && terms.bottleneck().is_none(), "{terms:?}");
}
