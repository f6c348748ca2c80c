//! Tests of recipes for other package managers: their syntax, and that they name this version. Also tests the files
//! that `make dist` adds to its sources.

use crate::common::{Scratch, apexmap};
use crate::needs::python;
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use sha2::{Digest, Sha256};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(recipe(name)).expect("a recipe")
}

#[test]
fn python_recipes_can_be_parsed() {
    needs!(Python);
    for name in ["spack/package.py", &format!("easybuild/apexmap-{VERSION}-foss-2025b.eb")] {
        let parse = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
        let output = Command::new(python()).args(["-c", parse]).arg(recipe(name)).output().expect("Python");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_apptainer_definition_has_its_sections_in_order() {
    let text = read("apptainer/apexmap.def");
    let sections: Vec<&str> = text.lines().filter(|line| line.starts_with('%')).collect();
    assert_eq!(sections, ["%files", "%post", "%runscript", "%help"]);
    let header: Vec<&str> =
        text.lines().take_while(|line| !line.starts_with('%')).filter(|l| l.contains(": ")).collect();
    assert!(header.contains(&"Bootstrap: docker"), "{header:?}");
    // %post contains a shell script.
    let post: String = text
        .lines()
        .skip_while(|line| *line != "%post")
        .skip(1)
        .take_while(|l| !l.starts_with('%'))
        .collect::<Vec<_>>()
        .join("\n");
    let output = Command::new("sh").args(["-n", "-c", &post]).output().expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn recipes_name_this_version_and_build_offline() {
    for name in ["spack/package.py", "apptainer/apexmap.def", &format!("easybuild/apexmap-{VERSION}-foss-2025b.eb")] {
        let text = read(name);
        assert!(text.contains(VERSION), "{name} is of another version");
        let builds = text.matches("apexmap-measure").count();
        assert!(builds == 1 && text.matches("--offline").count() == 2, "{name}");
    }
}

#[test]
fn module_files_name_this_version_and_set_the_site_file() {
    for name in ["modules/apexmap-VERSION.lua", "modules/apexmap-VERSION.tcl"] {
        let text = read(&name.replace("VERSION", VERSION));
        let set_version = [format!("local version = \"{VERSION}\"\n"), format!("set version {VERSION}\n")];
        assert!(set_version.iter().any(|line| text.contains(line)), "{name} is of another version");
        assert!(text.contains("APEXMAP_CONFIG") && text.contains("etc/site.toml"), "{name}");
    }
}

fn ci_script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci").join(name)
}

#[test]
fn release_scripts_can_be_parsed() {
    for name in ["dist", "mpi-bindings", "static"] {
        let output = Command::new("sh").arg("-n").arg(ci_script(name)).output().expect("a shell");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(fs::metadata(ci_script(name)).expect("a file").permissions().mode() & 0o111 != 0, "{name}");
    }
}

fn sha256(path: &Path) -> String {
    let hash = Sha256::digest(fs::read(path).expect("a file"));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Uses a cargo that generates bindings of a single constant.
#[test]
fn bindings_in_a_tarball_match_only_their_mpi() {
    needs!(Mpi);
    let scratch = Scratch::new();
    let write = |name: &str, text: &str| {
        let path = scratch.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("written");
        path
    };
    let cargo = write(
        "bin/cargo",
        "#!/bin/sh\nmkdir -p \"$CARGO_TARGET_DIR/mpi-bindings/release/build/mpi-sys-1/out\"\n\
         echo 'pub const MPI_UNDEFINED: i32 = -32766;' >\"$CARGO_TARGET_DIR/mpi-bindings/release/build/mpi-sys-1/out/functions_and_types.rs\"\n",
    );
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("a mode");
    write("vendor/mpi-0.8.2/src/lib.rs", "ffi::MPI_UNDEFINED");
    write("vendor/mpi-0.8.2/src/a/b.rs", "");
    let upstream = write("vendor/mpi-sys-0.2.4/build.rs", "fn main() {}");
    let before = sha256(&upstream);
    write(
        "vendor/mpi-sys-0.2.4/.cargo-checksum.json",
        &format!("{{\"files\":{{\"build.rs\":\"{before}\"}},\"package\":\"0\"}}"),
    );
    let sys = scratch.join("vendor/mpi-sys-0.2.4");
    let path = format!("{}:{}", scratch.join("bin").display(), std::env::var("PATH").expect("a PATH"));
    let mut script = Command::new(ci_script("mpi-bindings"));
    script.arg(&sys).env("PATH", path).env("CARGO_TARGET_DIR", scratch.join("target"));
    let output = script.output().expect("the script");
    let messages = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && messages.contains("Open MPI") && messages.contains("MPICH"), "{messages}");

    let sums = fs::read_to_string(sys.join(".cargo-checksum.json")).expect("sums");
    let sums: serde_json::Value = serde_json::from_str(&sums).expect("JSON");
    for name in ["build.rs", "upstream.rs"] {
        assert_eq!(sums["files"][name], sha256(&sys.join(name)), "{name}");
    }
    assert_eq!(sha256(&sys.join("upstream.rs")), before);

    let files = fs::read_dir(sys.join("pregenerated")).expect("bindings").flatten().map(|entry| entry.path());
    let checks: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "c")).collect();
    assert_eq!(checks.len(), 2, "{checks:?}");
    let fits = |compiler: &str, check: &Path| {
        let output = Command::new(compiler).arg("-fsyntax-only").arg(check).output().expect("a compiler");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for check in checks {
        let text = fs::read_to_string(&check).expect("a check");
        let (own_compiler, other_compiler) = match text.contains("OPEN_MPI") {
            true => ("mpicc.openmpi", "mpicc.mpich"),
            false => ("mpicc.mpich", "mpicc.openmpi"),
        };
        assert!(fits(own_compiler, &check).0 && !fits(other_compiler, &check).0, "{text}");
        for (original, wrong) in [
            ("== -32766", "== 1"),
            ("sizeof(MPI_Status) == ", "sizeof(MPI_Status) == 1"),
            ("MPI_TAG) == ", "MPI_TAG) == 1"),
        ] {
            assert!(text.contains(original), "{text}");
            fs::write(&check, text.replace(original, wrong)).expect("written");
            let (fits, errors) = fits(own_compiler, &check);
            assert!(!fits && (errors.contains("another") || errors.contains("elsewhere")), "{errors}");
        }
    }
}

#[test]
fn a_report_warns_of_a_musl_or_unoptimised_worker() {
    let scratch = Scratch::new();
    let path = |name: &str| scratch.join(name).to_str().expect("a path").to_owned();
    let text =
        "[fixed]\nkernel = \"apex_map.sequential\"\nM = \"4 kwords\"\nI = 16\nN = 1\n[launch]\npreflight = \"0 s\"\n";
    fs::write(scratch.join("sweep.toml"), text).expect("written");
    let run = apexmap(&["run", &path("sweep.toml"), "--out", &path("result")]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let report_contains =
        |text: &str| fs::read_to_string(scratch.join("result/report.html")).expect("a report").contains(text);
    let (musl, slow) = ("built against musl", "opt-level 1 instead of 3: it measures slow code");
    let own_build = provenance::build();
    assert_eq!([musl, slow].map(report_contains), [own_build.target.ends_with("musl"), own_build.opt_level == "1"]);
    let folder = Folder::open(&scratch.join("result")).expect("a result");
    let mut manifest = Manifest::read(&folder).expect("a manifest");
    manifest.worker.target = "x86_64-unknown-linux-musl".into();
    manifest.worker.opt_level = "1".into();
    manifest.write(&folder).expect("written");
    assert!(apexmap(&["report", &path("result")]).status.success());
    assert!(report_contains(musl) && report_contains(slow));
}
