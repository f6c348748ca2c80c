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
