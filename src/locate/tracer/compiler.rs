//! Runs the C compiler. A signal ends it with everything that it started.

use apexmap_base::error::{Error, Result};
use apexmap_base::interrupt::Interrupt;
use apexmap_base::process::{Output, Process};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Environment variable that names the C compiler instead of `cc`.
pub const COMPILER_VARIABLE: &str = "CC";

pub fn compiler() -> OsString {
    std::env::var_os(COMPILER_VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into())
}

/// Runs a compiler to its end, and returns its messages. It leaves its temporary files in `folder` if it is killed.
pub fn run(mut command: Command, folder: &Path) -> Result<(ExitStatus, String)> {
    command.env("TMPDIR", folder);
    let (interrupt, mut errors) = (Interrupt::catch(), Vec::new());
    let mut process = Process::start(command).map_err(|error| {
        let help = "install one: on Debian the package gcc; or set CC to its path";
        Error::environment(format!("`locate` needs a C compiler at first use: {}", error.message), help)
    })?;
    let mut read = |process: &mut Process, wait| {
        process.read(wait, &mut |output| {
            if let Output::Error(bytes) = output {
                errors.extend_from_slice(bytes);
            }
        })
    };
    let wait = Duration::from_millis(50);
    while read(&mut process, wait) || !process.has_ended()? {
        interrupt.check()?;
    }
    // Its last messages are still in the pipe.
    read(&mut process, Duration::ZERO);
    Ok((process.end()?, String::from_utf8_lossy(&errors).into_owned()))
}
