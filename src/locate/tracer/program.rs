//! Checks whether valgrind can run a program, before it is started.

use apexmap_base::error::{Error, Result};
use apexmap_base::programs::find_on_path;
use apexmap_base::regular_file;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What valgrind's files, Debian's folders and ELF files call a processor.
pub struct Processor {
    pub valgrind: &'static str,
    pub folder: &'static str,
    machine: u16,
}

/// This processor; `None` if the tool has no tests on it.
const PROCESSOR: Option<Processor> = if cfg!(target_arch = "x86_64") {
    Some(Processor { valgrind: "amd64", folder: "x86_64-linux-gnu", machine: 62 })
} else if cfg!(target_arch = "aarch64") {
    Some(Processor { valgrind: "arm64", folder: "aarch64-linux-gnu", machine: 183 })
} else {
    None
};

/// Bytes of a program that may hold names of functions.
const MOST_BYTES: u64 = 64 << 20;

pub fn processor() -> Result<&'static Processor> {
    PROCESSOR.as_ref().ok_or_else(|| {
        Error::environment(
            "`locate` traces programs on x86-64 and 64-bit ARM only",
            "trace on such a machine, or read a trace as text: apexmap locate trace.txt",
        )
    })
}

/// Checks that a program exists, may be executed, and is one that valgrind runs: a script, or an ELF file of this processor.
pub fn check(name: &OsStr) -> Result<()> {
    let path = find(name)?;
    let mode = path.metadata().map_err(|e| Error::file("read", &path, e))?.permissions().mode();
    let shown = path.display();
    if mode & 0o111 == 0 {
        return Err(Error::input(
            format!("{shown} is not executable"),
            format!("chmod +x {shown}, or name its interpreter first"),
        ));
    }
    if mode & 0o6000 != 0 {
        return Err(Error::input(
            format!("{shown} runs as another user (setuid or setgid), which valgrind refuses"),
            "trace a copy: cp does not keep these permissions",
        ));
    }
    let mut start = [0; 20];
    // A program that may be executed but not read fails here, as it would fail in valgrind.
    let mut file = regular_file::open(&path).map_err(|e| Error::file("read", &path, e))?;
    let length = file.read(&mut start).map_err(|e| Error::file("read", &path, e))?;
    check_format(&path, &start[..length])?;
    check_sanitizers(&path)
}

/// Refuses programs with sanitizers, which end at their start under valgrind. The file has the names of their functions.
fn check_sanitizers(path: &Path) -> Result<()> {
    let (mut contents, file) = (Vec::new(), regular_file::open(path));
    let read = file.and_then(|file| file.take(MOST_BYTES).read_to_end(&mut contents));
    read.map_err(|e| Error::file("read", path, e))?;
    let has =
        |name: &&[u8]| contents.starts_with(b"\x7fELF") && contents.windows(name.len()).any(|window| window == *name);
    if [&b"\0__asan_init\0"[..], b"\0__tsan_init\0", b"\0__msan_init\0"].iter().any(has) {
        let message = format!("{} is built with a sanitizer, which fails under valgrind", path.display());
        return Err(Error::input(message, "rebuild it without -fsanitize"));
    }
    Ok(())
}

/// Returns the path that the shell would start.
pub fn find(name: &OsStr) -> Result<PathBuf> {
    let missing = || {
        let help = if name.as_bytes().contains(&b'/') {
            "check the path"
        } else {
            "for a file in this folder, write ./ before it"
        };
        Error::input(format!("there is no program {}", Path::new(name).display()), help)
    };
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return if path.is_file() { Ok(path) } else { Err(missing()) };
    }
    find_on_path(name).ok_or_else(missing)
}

/// The first bytes of a file decide. SOURCE: ELF header, elf(5): byte 4 is the class, bytes 18 and 19 the machine.
fn check_format(path: &Path, start: &[u8]) -> Result<()> {
    let shown = path.display();
    let help = "rebuild it for 64 bits on this machine";
    match start {
        [b'#', b'!', ..] => Ok(()),
        [0x7F, b'E', b'L', b'F', 1, ..] => Err(Error::input(format!("{shown} is a 32-bit program"), help)),
        [0x7F, b'E', b'L', b'F', 2, .., low, high] if start.len() == 20 => {
            let machine = u16::from_le_bytes([*low, *high]);
            if machine == processor()?.machine {
                Ok(())
            } else {
                Err(Error::input(format!("{shown} is for another processor"), help))
            }
        }
        _ => Err(Error::input(
            format!("{shown} is neither a program nor a script that names its interpreter"),
            format!("for a script, name the interpreter: apexmap locate -- sh {shown}"),
        )),
    }
}

/// Returns whether a compiled tool ends with the table of its sections: a full disk may have cut it. SOURCE: elf(5).
pub fn is_whole(path: &Path) -> bool {
    let mut header = [0; 64];
    let Ok(mut file) = regular_file::open(path) else { return false };
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return false };
    if file.read_exact(&mut header).is_err() || !header.starts_with(b"\x7FELF\x02") {
        return false;
    }
    let number = |place: usize| u64::from(u16::from_le_bytes([header[place], header[place + 1]]));
    let table = header[40..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    const FIXED_ADDRESS: u64 = 2;
    number(16) == FIXED_ADDRESS && table.checked_add(number(58) * number(60)) == Some(length)
}
