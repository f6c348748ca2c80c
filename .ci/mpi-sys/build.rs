// Replaces the build script of mpi-sys in apexmap's `make dist`. The original script is upstream.rs in this folder. If
// it finds no libclang, this script uses bindings from the tarball that match the header of this machine's MPI.

mod upstream {
    include!("upstream.rs");

    pub fn run() {
        main();
    }
}

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, panic};

fn main() {
    let Err(cause) = panic::catch_unwind(upstream::run) else { return };
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Other bindings do not fix a failure before the bindings are generated.
    if !out.join("librsmpi.a").is_file() {
        panic::resume_unwind(cause);
    }
    println!("cargo:rerun-if-changed=pregenerated");
    let (mut compiler, mut reasons) = (String::new(), String::new());
    for bindings in list_bindings() {
        let name = bindings.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (command, misfit) = check(&bindings.with_extension("c"));
        compiler = command;
        let Some(misfit) = misfit else {
            fs::copy(&bindings, out.join("functions_and_types.rs")).expect("the bindings can be copied");
            println!(
                "cargo:warning=libclang is not available: using the bindings for {name}, whose types match this MPI"
            );
            return;
        };
        reasons.push_str(&format!("\nbindings for {name}: {misfit}"));
    }
    let reasons = if reasons.is_empty() { "\nnone are included".to_owned() } else { reasons };
    eprintln!(
        "\nerror: cannot generate bindings to this MPI without libclang, and no included bindings match it \
         (header found by {compiler}):{reasons}\nhelp: install libclang (Debian: libclang-dev), or set LIBCLANG_PATH to its \
         folder; or build the worker on a machine with libclang and copy it; or check that MPICC is the compiler of the intended MPI\n"
    );
    std::process::exit(1);
}

/// Each file has a C file that compiles only if the bindings match.
fn list_bindings() -> Vec<PathBuf> {
    let entries = fs::read_dir("pregenerated").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
    files.sort();
    files
}

/// Returns the compiler's name, and its errors for this check; `None` if it accepts the file.
fn check(file: &Path) -> (String, Option<String>) {
    let (mut builder, library) = (cc::Build::new(), build_probe_mpi::probe().ok());
    builder.cargo_metadata(false);
    match library.as_ref().and_then(|library| library.mpicc.as_ref()) {
        Some(mpicc) => _ = builder.compiler(mpicc),
        None => library.iter().flat_map(|library| &library.include_paths).for_each(|path| _ = builder.include(path)),
    }
    let compiler = builder.get_compiler();
    let name = compiler.path().display().to_string();
    let mut command: Command = compiler.to_command();
    match command.arg("-fsyntax-only").arg(file).output() {
        Err(error) => (name, Some(format!("cannot start the compiler: {error}"))),
        Ok(output) if output.status.success() => (name, None),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let wrong = text.lines().filter(|line| line.contains("error: ")).take(3);
            let wrong: Vec<&str> = wrong.map(|line| line.split("error:").last().unwrap_or(line).trim()).collect();
            (name, Some(if wrong.is_empty() { text } else { wrong.join("; ") }))
        }
    }
}
