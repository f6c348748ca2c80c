//! Six small codes in C that ship with the program, to be located.

use crate::tracer::compiler;
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

pub fn build(folder: &Path) -> Result<PathBuf> {
    let (source, program) = (folder.join("demo.c"), folder.join("demo"));
    new_file::replace_contents(&source, SOURCE)?;
    let compiler = compiler::compiler();
    let mut command = Command::new(&compiler);
    command.args(["-O2", "-g", "-o"]).arg(&program).arg(&source);
    let (status, messages) = compiler::run(command, folder)?;
    if !status.success() {
        let (name, first) = (compiler.display(), messages.lines().next().unwrap_or_default());
        return Err(Error::environment(
            format!("{name} cannot compile the demonstration: {first}"),
            "name another compiler: CC=clang apexmap locate --demo",
        ));
    }
    Ok(program)
}
