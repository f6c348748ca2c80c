//! The program `apexmap`.

use apexmap_base::crash::Allocator;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    apexmap::main()
}
