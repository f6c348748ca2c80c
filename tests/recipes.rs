//! Tests of recipes for other package managers: their tools accept them, and they name this version. Also tests the files
//! that `make dist` adds to its sources.

use crate::common::{Scratch, apexmap, output};
use crate::needs::{python, python_program};
use apexmap_measure::provenance;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(recipe(name)).expect("a recipe")
}

const EASYCONFIG: &str = "easybuild/apexmap-VERSION-gompi-2026.1.eb";

/// Writes the easyconfig as `make dist` does, and returns its path.
fn write_easyconfig(scratch: &Scratch) -> PathBuf {
    let name = EASYCONFIG.replace("VERSION", VERSION);
    let path = scratch.join(Path::new(&name).file_name().expect("a name"));
    fs::write(&path, read(&name).replace("@SHA256@", &"0".repeat(64))).expect("written");
    path
}

/// Runs EasyBuild, which reads its own easyconfigs too, without a module system.
fn easybuild(scratch: &Scratch, arguments: &[&str], easyconfig: &Path) -> Output {
    let mut command = Command::new(python_program("eb"));
    command
        .args(["--allow-use-as-root-and-accept-consequences", "--fetch", "--prefix"])
        .arg(&**scratch)
        .args(arguments);
    output(command.arg(easyconfig).env("EB_PYTHON", python()).env("HOME", &**scratch))
}

#[test]
fn easybuild_accepts_the_easyconfig() {
    needs!(PackageTools);
    let scratch = Scratch::new();
    let easyconfig = write_easyconfig(&scratch);
    let checked = easybuild(&scratch, &["--check-contrib"], &easyconfig);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && text.contains("All contribution checks PASSed"), "{text}");
    // EasyBuild has all that the easyconfig needs.
    let listed = easybuild(&scratch, &["--dry-run", "--robot"], &easyconfig);
    let text = String::from_utf8_lossy(&listed.stdout);
    let needed = ["/Rust-1.94", "/OpenMPI-", "module: apexmap/"];
    assert!(listed.status.success() && needed.iter().all(|name| text.contains(name)), "{text}");

    fs::write(&easyconfig, fs::read_to_string(&easyconfig).expect("text").replace("'1.94.1'", "'0.94.1'"))
        .expect("written");
    assert!(!easybuild(&scratch, &["--dry-run", "--robot"], &easyconfig).status.success());
}

#[test]
fn the_spack_package_is_python_with_the_features_of_cargo() {
    needs!(Python);
    let text = read("spack/package.py");
    let parse = "import ast, sys; ast.parse(sys.argv[1])";
    let parsed = Command::new(python()).args(["-c", parse, &text]).output().expect("Python");
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    let manifest = fs::read_to_string(recipe("../src/measure/Cargo.toml")).expect("a manifest");
    assert!(text.contains("\"--features\", \"mpi\"") && manifest.contains("\nmpi = ["));
}

#[test]
fn the_apptainer_definition_has_two_stages_with_their_sections() {
    let text = read("apptainer/apexmap.def");
    let stages: Vec<&str> = text.split("Bootstrap: docker\n").skip(1).collect();
    let sections = |stage: &str| -> Vec<String> {
        stage.lines().filter(|line| line.starts_with('%')).map(str::to_owned).collect()
    };
    let [build, last] = stages[..] else { panic!("{} stages", stages.len()) };
    assert!(build.contains("From: rust:") && last.contains("From: debian:"));
    assert_eq!(sections(build), ["%files", "%post"]);
    assert_eq!(sections(last), ["%files from build", "%post", "%labels", "%test", "%runscript", "%help"]);
    for stage in stages {
        for section in ["%post\n", "%test\n", "%runscript\n"].into_iter().filter(|name| stage.contains(*name)) {
            let lines = stage.split(section).nth(1).expect("a section").lines();
            let script: Vec<&str> = lines.take_while(|line| !line.starts_with('%')).collect();
            let output = Command::new("sh").args(["-n", "-c", &script.join("\n")]).output().expect("a shell");
            assert!(output.status.success(), "{section}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn recipes_name_this_version_and_build_the_worker_from_locked_sources() {
    for name in ["spack/package.py", "apptainer/apexmap.def", EASYCONFIG] {
        let text = read(&name.replace("VERSION", VERSION));
        assert!(text.contains(VERSION), "{name} is of another version");
        assert!(text.contains("src/measure") && text.contains("--locked"), "{name}");
        assert_eq!(text.contains("@SHA256@"), name != "apptainer/apexmap.def", "{name}");
    }
}

/// The oldest Rust of the recipes, as in Spack's notation.
#[test]
fn recipes_ask_for_the_rust_of_the_manifest() {
    let manifest = fs::read_to_string(recipe("../Cargo.toml")).expect("a manifest");
    let version =
        manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a version");
    assert!(read("spack/package.py").contains(&format!("rust@{version}:")), "{version}");
    assert!(read(&EASYCONFIG.replace("VERSION", VERSION)).contains(&format!("('Rust', '{version}")), "{version}");
}

/// Crates may state the oldest Rust that they need. Compute nodes build what src/measure needs.
#[test]
fn locked_crates_need_no_newer_rust_than_the_manifests_state() {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.args(["metadata", "--locked", "--format-version", "1", "--features", "mpi"]);
    let output = metadata.current_dir(recipe("..")).output().expect("cargo");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let items = list.as_array().expect("a list").iter();
        items.map(|item| (item["id"].as_str().expect("an id").to_owned(), item.clone())).collect()
    };
    let (packages, nodes) = (by_id(&metadata["packages"]), by_id(&metadata["resolve"]["nodes"]));
    let version = |package: &Value| -> (u32, u32) {
        let text = package["rust_version"].as_str().unwrap_or("1.0");
        let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
        (parts.next().expect("a number"), parts.next().unwrap_or(0))
    };
    for name in ["apexmap", "apexmap-measure"] {
        let root = packages.iter().find(|(_, package)| package["name"] == name).expect("a member").0;
        let (mut built, mut open) = (BTreeSet::new(), vec![root.clone()]);
        while let Some(id) = open.pop() {
            if !built.insert(id.clone()) {
                continue;
            }
            let needed = nodes[&id]["deps"].as_array().expect("a list").iter().filter(|dependency| {
                dependency["dep_kinds"].as_array().expect("kinds").iter().any(|kind| kind["kind"] != "dev")
            });
            open.extend(needed.map(|dependency| dependency["pkg"].as_str().expect("an id").to_owned()));
        }
        assert!(built.len() > 50, "{name}: {}", built.len());
        for id in &built {
            assert!(version(&packages[id]) <= version(&packages[root]), "{name}: {id}");
        }
    }
}

/// Builds with the profile, the features and in the folder of this test, so that cargo finds most of it compiled. It replaces the program
/// there, which the other tests start: `make test` runs it after them.
#[test]
#[ignore = "replaces the program under test"]
fn pip_installs_the_driver_from_a_wheel() {
    needs!(PackageTools);
    let scratch = Scratch::new();
    let built = Path::new(env!("CARGO_BIN_EXE_apexmap")).parent().expect("a folder");
    let profile = if built.ends_with("release") { "release" } else { "dev" };
    let mut pip = Command::new(python());
    pip.args(["-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation", "--prefix"]).arg(&*scratch);
    let target = built.parent().expect("a folder").display();
    let features = if cfg!(feature = "polars") { "--features polars" } else { "" };
    pip.env("MATURIN_PEP517_ARGS", format!("--offline --profile {profile} --target-dir {target} {features}"));
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(python_program(".")).chain(std::env::split_paths(&folders));
    pip.env("PATH", std::env::join_paths(folders).expect("a PATH"));
    let installed = output(pip.arg(recipe("python")));
    assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    let version = output(Command::new(scratch.join("bin/apexmap")).arg("--version"));
    assert_eq!(String::from_utf8_lossy(&version.stdout), format!("apexmap {VERSION}\n"));
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
    for name in ["dist", "mpi-bindings", "release"] {
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
    let sums: Value = serde_json::from_str(&sums).expect("JSON");
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
    assert_eq!([musl, slow].map(report_contains), [false, own_build.opt_level == "1"]);
    let folder = Folder::open(&scratch.join("result")).expect("a result");
    let mut manifest = Manifest::read(&folder).expect("a manifest");
    manifest.worker.target = "riscv64gc-unknown-linux-musl".into();
    manifest.worker.opt_level = "1".into();
    manifest.write(&folder).expect("written");
    assert!(apexmap(&["report", &path("result")]).status.success());
    assert!(report_contains(musl) && report_contains(slow));
}
