//! Devices that fail, by a library between the program and OpenCL's loader (`gpu_faults.c`), and the code that a compiler makes of
//! kernels for a GPU.

use super::common::{Scratch, output, successful_stdout};
use super::gpu::run_sweep;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the name of a clang that compiles for NVIDIA's GPUs, or why there is none.
pub fn compiler() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    ["clang", "clang-15", "clang-14"].into_iter().find(runs)
}

/// Builds the library that makes calls of OpenCL fail.
fn shim(scratch: &Scratch) -> PathBuf {
    let library = scratch.join("libfaults.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gpu_faults.c");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o"]).arg(&library).args([
        source,
        "-l:libOpenCL.so.1",
        "-ldl",
    ]);
    let built = output(&mut cc);
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// Runs a sweep with a fault. Returns its output, exit code, and samples that count by size.
fn run_with(fault: (&str, &str), body: &str) -> (String, Option<i32>, String) {
    let scratch = Scratch::new();
    let library = shim(&scratch);
    let text = format!("[fixed]\n{body}\n[repeat]\nmin = 2\n[launch]\npreflight = \"0 s\"\ntimeout = \"4 s\"\n");
    let library = library.to_str().expect("a path");
    let (text, code) = run_sweep(&scratch, "result", &text, &[("OPENCL_DYLIB_PATH", library), fault]);
    let folder = scratch.join("result");
    let samples = successful_stdout(&["export", folder.to_str().expect("a path"), "--format", "csv"]);
    (text, code, samples)
}

const SIZES: &str = "kernel = \"gpu.stream\"\n[axes]\nbytes = [\"64 KiB\", \"256 MiB\"]";

#[test]
fn a_refused_allocation_fails_its_point_only() {
    needs!(OpenCl);
    let (text, code, samples) = run_with(("FAULT_ALLOCATION", "100000000"), SIZES);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("cannot allocate 256 MiB") && text.contains("CL_MEM_OBJECT_ALLOCATION_FAILURE"), "{text}");
    assert_eq!(samples.matches(",65536,").count(), 2, "{samples}");
}

#[test]
fn a_device_that_is_lost_ends_the_launch_with_the_cause_and_keeps_the_samples() {
    needs!(OpenCl);
    let (text, code, samples) = run_with(
        ("FAULT_LOST", "40"),
        "kernel = \"gpu.stream\"\nbytes = \"64 KiB\"\n[axes]\nwork_items = [64, 128, 256, 512, 1024, 2048]",
    );
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("CL_OUT_OF_RESOURCES"), "{text}");
    assert!(samples.contains(",ok,"), "the samples before the loss: {samples}");
}

#[test]
fn a_device_without_64_bit_atomics_is_listed_and_refused() {
    needs!(OpenCl);
    let (text, code, _) = run_with(("FAULT_EXTENSIONS", "1"), "kernel = \"gpu.random_access\"\nN_words = 1024");
    assert!(code != Some(0) && text.contains("has no 64-bit atomic xor"), "{code:?}: {text}");
    let (text, code, _) = run_with(
        ("FAULT_EXTENSIONS", "1"),
        "kernel = \"gpu.apex_map\"\nM = 4096\nI = 100\nindex_source = \"generated\"",
    );
    assert!(code != Some(0) && text.contains("which generated indices need"), "{code:?}: {text}");
}

/// Loops of the kernels advance by the number of work items, which is 0 here.
#[test]
fn a_kernel_that_never_ends_is_ended_by_the_limit_and_nothing_is_left() {
    needs!(OpenCl);
    let body = "kernel = \"gpu.stream\"\nbytes = 65536";
    let mark = format!("-DMARK{}", std::process::id());
    let (text, code, _) =
        run_with(("POCL_EXTRA_BUILD_FLAGS", &format!("-Dget_global_size=get_global_offset {mark}")), body);
    assert!(code != Some(0) && text.contains("timed-out"), "{code:?}: {text}");
    let left = std::fs::read_dir("/proc").expect("processes").flatten().filter(|process| {
        std::fs::read(process.path().join("environ")).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(&mark))
    });
    assert_eq!(left.map(|process| process.path()).collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn ranks_have_one_device_each() {
    needs!(OpenCl);
    let scratch = Scratch::new();
    let text = "[fixed]\nranks = \"devices\"\nkernel = \"gpu.apex_map\"\nM = 4096\nI = 1000\n[repeat]\nmin = 2\n";
    let (text, code) = run_sweep(&scratch, "two", text, &[("POCL_DEVICES", "pthread pthread")]);
    assert_eq!(code, Some(0), "{text}");
    let folder = scratch.join("two");
    let rows =
        successful_stdout(&["query", folder.to_str().expect("a path"), "--group-by", "ranks", "--format", "csv"]);
    assert!(rows.contains("\n2,2,"), "{rows}");
}

/// Returns the exit code of `apexmap devices` with these variables, and what it prints.
fn list_devices(variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let scratch = Scratch::new();
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output =
        output(program.arg("devices").env("OPENCL_DYLIB_PATH", shim(&scratch)).envs(variables.iter().copied()));
    let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).replace("\n        ", " "));
    (output.status.code(), text.concat())
}

#[test]
fn platforms_and_devices_that_answer_with_an_error_are_named_with_its_code() {
    needs!(OpenCl);
    let (code, text) = list_devices(&[("FAULT_SECOND", "-1")]);
    assert!(code == Some(0) && text.contains("note: Second has no device") && text.contains("device 0"), "{text}");
    let (code, text) = list_devices(&[("FAULT_SECOND", "-30")]);
    assert!(code == Some(0) && text.contains("Second cannot list its devices") && text.contains("(-30)"), "{text}");
    let (code, text) = list_devices(&[("FAULT_DEVICES", "-30")]);
    assert!(code == Some(3) && text.contains("(-30)"), "{text}");
    let (code, text) = list_devices(&[("FAULT_DESCRIPTION", "1")]);
    assert!(code == Some(3) && text.contains("does not describe itself") && text.contains("(-33)"), "{text}");
    let (code, text) = list_devices(&[("FAULT_NAME", "1")]);
    assert!(code == Some(0) && text.contains("  A B") && !text.contains(['\r', '\t', '\u{1b}']), "{text:?}");
}

/// Compiles a kernel for an NVIDIA GPU, and returns the instructions of one of its functions.
fn instructions(name: &str, function: &str, definitions: &[&str]) -> Vec<String> {
    let (scratch, folder) = (Scratch::new(), Path::new("src/measure/kernels/gpu"));
    let [common, own] =
        ["common", name].map(|file| std::fs::read_to_string(folder.join(file).with_extension("cl")).expect("a kernel"));
    let file = scratch.join("kernel.cl");
    std::fs::write(&file, common + &own).expect("written");
    let mut clang = Command::new(compiler().expect("a compiler"));
    clang.args(["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-O3", "-w", "-S", "-o", "-"]);
    clang.args(["--target=nvptx64-nvidia-nvcl", "-march=sm_70"]).args(definitions).arg(&file);
    let output = output(&mut clang);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let body = text.split(".entry ").find(|entry| entry.starts_with(&format!("{function}("))).expect("the function");
    body.lines().map(|line| line.trim().to_owned()).collect()
}

/// Returns the largest number of loads of this kind of which none is used before the last is issued.
fn loads_in_flight(code: &[String], load: &str) -> usize {
    let (mut most, mut pending) = (0, BTreeSet::new());
    for line in code {
        let registers = |text: &str| {
            text.split([',', ' ', '\t', '[', ']', ';', '+']).map(str::to_owned).collect::<BTreeSet<String>>()
        };
        let (instruction, operands) = line.split_once(['\t', ' ']).unwrap_or((line, ""));
        let (target, sources) = operands.trim().split_once(',').unwrap_or(("", operands));
        if instruction.starts_with("bra") || line.starts_with('$') || !registers(sources).is_disjoint(&pending) {
            pending.clear();
        }
        if instruction.starts_with(load) {
            pending.insert(target.to_owned());
            most = most.max(pending.len());
        }
    }
    most
}

#[test]
fn a_compiler_for_gpus_keeps_the_loads_in_flight_and_the_atomics_without_result() {
    needs!(Clang);
    let code = |loads: u32| instructions("apex_map", "sum_blocks", &["-DLANES=1", &format!("-DIN_FLIGHT={loads}")]);
    for loads in [2, 8, 16] {
        let code = code(loads);
        assert_eq!(loads_in_flight(&code, "ld.global.nc.u64"), loads as usize, "words of {loads}");
    }
    let atomics = ["-DATOMIC=1", "-Datom_xor(p,v)=__sync_fetch_and_xor(p,v)"];
    let code = instructions("random_access", "update", &atomics);
    let atomics: Vec<&String> = code.iter().filter(|line| line.starts_with("atom.global.xor.b64")).collect();
    assert!(!atomics.is_empty(), "{code:?}");
    for line in atomics {
        let result = line.split_whitespace().nth(1).expect("a register").trim_end_matches(',');
        let uses =
            code.iter().filter(|line| line.split([',', ' ', '\t', '[', ']', ';', '+']).any(|word| word == result));
        assert_eq!(uses.count(), 1, "{line}: the result is used");
    }
}

/// A driver that crashes, stops or lies while it lists its devices: that of one platform, in C.
const LIAR: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is(const char *mode) { return !strcmp(getenv("LIE"), mode); }
int clGetPlatformIDs(unsigned count, void **ids, unsigned *number) {
    static int platform;
    if (is("crash")) *(volatile int *)0 = 1;
    if (is("exit")) exit(0);
    if (is("abort")) abort();
    if (number) *number = is("many") ? 0xffffffffu : 1;
    if (ids && count) ids[0] = &platform;
    return 0;
}
int clGetPlatformInfo(void *id, unsigned name, size_t size, void *value, size_t *bytes) {
    if (bytes) *bytes = is("huge") ? (size_t)1 << 62 : is("largest") ? ~(size_t)0 : 5;
    if (value && size >= 5) memcpy(value, "liar", 5);
    return 0;
}
int clGetDeviceIDs(void *id, unsigned long kind, unsigned count, void **ids, unsigned *number) { return -1; }
"#;

#[test]
fn a_driver_that_fails_while_it_lists_devices_ends_only_the_process_that_asks_it() {
    let scratch = Scratch::new();
    let (source, library) = (scratch.join("liar.c"), scratch.join("liar.so"));
    std::fs::write(&source, LIAR).expect("a file");
    let built = output(Command::new("cc").args(["-w", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let sweep = scratch.join("gpu.toml");
    std::fs::write(&sweep, "[fixed]\nkernel = \"gpu.stream\"\nranks = \"devices\"\n").expect("a file");
    let expected = [
        ("crash", "crashes when it lists its devices (SIGSEGV)"),
        ("abort", "crashes when it lists its devices (SIGABRT)"),
        ("exit", "ends the process that lists its devices, with code 0"),
        ("many", "ends the process"),
        ("huge", "ends the process"),
        ("largest", "ends the process"),
    ];
    for (lie, message) in expected {
        let (sweep, out) = (sweep.to_str().expect("a path"), scratch.join("out"));
        let calibrate = ["calibrate", "--device", "gpu0", "--out", out.to_str().expect("a path")];
        for arguments in [&["devices"][..], &["devices", "--json"], &["plan", sweep], &calibrate] {
            let mut command = Command::new("prlimit");
            command.args(["--as=4294967296", env!("CARGO_BIN_EXE_apexmap")]).args(arguments);
            let failed = output(command.env("OPENCL_DYLIB_PATH", &library).env("LIE", lie));
            let text = String::from_utf8_lossy(&failed.stderr);
            assert!(failed.status.code() == Some(3) && text.contains(message), "{lie} {arguments:?}: {text}");
        }
    }
}
