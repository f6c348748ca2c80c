//! Starts a program without a copy of this process. `fork` copies the page tables of this process, whose time grows with its
//! memory, and this process pays again when it writes to its pages. Here the child borrows the memory of this process until the
//! program begins (`CLONE_VM` and `CLONE_VFORK`), as in `posix_spawn`, which can set neither cores nor a signal for the end of this
//! process. The child only makes system calls.

use crate::affinity;
use apexmap_base::guarded::LAUNCH_VARIABLE;
use apexmap_base::programs::find_program;
use nix::libc;
use nix::sched::{CloneFlags, clone};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use nix::unistd::{Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, setsid};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString, c_char};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::ffi::OsStringExt;
use std::time::Instant;

/// Besides the list of arguments, which the C library may copy to run a script.
const STACK: usize = 1 << 16;

#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The program, then its arguments.
    pub arguments: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// The working folder; that of this process if absent.
    pub cwd: Option<String>,
    /// The file that is its standard input; empty if absent.
    pub input: Option<String>,
    /// The hardware threads that it may use; all of this process if absent.
    pub cores: Option<Vec<usize>>,
}

pub struct Child {
    pub id: Pid,
    pub stdout: PipeReader,
    pub stderr: PipeReader,
    /// After everything that this process did for the program.
    pub begun_at: Instant,
}

/// As C programs take them.
struct Texts {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    fn new(texts: impl Iterator<Item = OsString>) -> io::Result<Self> {
        let texts = texts.map(|text| CString::new(text.into_vec())).collect::<Result<Vec<_>, _>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Ok(Self { _texts: texts, pointers })
    }
}

/// With these variables in addition to those of this process, on these hardware threads.
pub fn start(
    program: &Program,
    input: &File,
    variables: &BTreeMap<OsString, OsString>,
    cores: &[usize],
) -> io::Result<Child> {
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.extend(variables.clone());
    let name = &program.arguments[0];
    let search_path = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    // A name with a slash refers to the working folder of the program.
    let path = if name.contains('/') { Some(name.into()) } else { find_program(name, search_path) };
    let path = CString::new(path.ok_or(nix::errno::Errno::ENOENT)?.into_os_string().into_vec())?;
    let folder = program.cwd.as_deref().map(CString::new).transpose()?;
    let arguments = Texts::new(program.arguments.iter().map(Into::into))?;
    let entry = |(mut name, value): (OsString, OsString)| {
        name.push("=");
        name.push(value);
        name
    };
    let environment = Texts::new(environment.into_iter().map(entry))?;
    let ((stdout, output), (stderr, errors)) = (io::pipe()?, io::pipe()?);
    // A guardian ends the program in an orderly way, with what it started, if this process was started by one.
    let ends_with_parent = std::env::var_os(LAUNCH_VARIABLE).is_none();
    let prepared = Prepared { path, folder, arguments, environment, input, output, errors, cores, ends_with_parent };
    let (id, begun_at) = prepared.start()?;
    Ok(Child { id, stdout, stderr, begun_at })
}

struct Prepared<'a> {
    path: CString,
    folder: Option<CString>,
    arguments: Texts,
    environment: Texts,
    input: &'a File,
    output: PipeWriter,
    errors: PipeWriter,
    cores: &'a [usize],
    ends_with_parent: bool,
}

impl Prepared<'_> {
    fn start(&self) -> io::Result<(Pid, Instant)> {
        let mut stack = vec![0; STACK + size_of_val(&*self.arguments.pointers)];
        let (mut begun_at, mut fault) = (Instant::now(), None);
        // No handler of this process may run in the child.
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut mask))?;
        let child = Box::new(|| {
            fault = Some(self.become_program(&mut begun_at));
            127
        });
        let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
        // SAFETY: this thread waits until the child runs the program or ends, so all borrows outlive it. The child makes only system
        // calls, which take no lock and allocate nothing.
        let id = unsafe { clone(child, &mut stack, flags, Some(libc::SIGCHLD)) };
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&mask), None)?;
        let id = id?;
        match fault {
            None => Ok((id, begun_at)),
            Some(fault) => {
                let _ = nix::sys::wait::waitpid(id, None);
                Err(fault.into())
            }
        }
    }

    /// Replaces the child by the program. Returns why it did not. Its session has no terminal, so that nothing waits for a user,
    /// and it ends with this process.
    fn become_program(&self, begun_at: &mut Instant) -> nix::Error {
        let prepare = || {
            setsid()?;
            if self.ends_with_parent {
                prctl::set_pdeathsig(Signal::SIGKILL)?;
            }
            affinity::bind(self.cores);
            self.folder.as_deref().map_or(Ok(()), chdir)?;
            dup2_stdin(self.input)?;
            dup2_stdout(&self.output)?;
            dup2_stderr(&self.errors)?;
            // Files that this process inherited. SAFETY: the child has its own table of open files. Older systems do not know the call.
            unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
            // SAFETY: the default of a signal runs no code of this process.
            unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl)? };
            sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
        };
        if let Err(fault) = prepare() {
            return fault;
        }
        *begun_at = Instant::now();
        let (arguments, environment) = (self.arguments.pointers.as_ptr(), self.environment.pointers.as_ptr());
        // SAFETY: the texts end with zeros, and both lists with null.
        unsafe { libc::execvpe(self.path.as_ptr(), arguments, environment) };
        nix::Error::last()
    }
}
