//! The program `apexmap`.

use std::process::ExitCode;

fn main() -> ExitCode {
    apexmap::main()
}
