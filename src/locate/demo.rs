//! Six small codes in C that ship with the program, to be located.

use crate::tracer::COMPILER_VARIABLE;
use apexmap_base::error::{Error, Result};
use apexmap_base::new_file;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("demo.c");

/// The codes, and the functions and arguments of the demonstration that run them.
pub const CODES: [(&str, &str); 6] = [
    ("STREAM triad", "triad"),
    ("matrix product, naive", "naive"),
    ("matrix product, tiled", "tiled"),
    ("SpMV, five-point", "spmv"),
    ("GUPS", "gups"),
    ("list walk", "walk"),
];

/// Compiles the codes in a folder, and returns the program.
///
/// # Errors
/// If there is no C compiler, or it fails.
pub fn build(folder: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("demo.c"), folder.join("demo"));
    new_file::replace_contents(&source, SOURCE)?;
    let compiler = std::env::var_os(COMPILER_VARIABLE).unwrap_or_else(|| "cc".into());
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-g", "-o"]).arg(&program).arg(&source);
    let name = compiler.display();
    let help = "install a C compiler (Debian: apt install gcc), or name one: CC=clang apexmap locate --demo";
    let output =
        command.output().map_err(|e| Error::environment(format!("cannot run the C compiler {name}: {e}"), help))?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        let first = log.lines().next().unwrap_or_default();
        return Err(Error::environment(format!("{name} cannot compile the demonstration: {first}"), help));
    }
    Ok(program)
}
