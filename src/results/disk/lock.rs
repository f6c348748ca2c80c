//! Locks of files that keep programs on one or several hosts from writing to one result.
//!
//! The system's lock (`flock`) is released when its holder dies. Some file systems do not have it (Lustre without the mount option
//! `flock`), and others lock each host on its own (`localflock`, `nolock`). So each holder also writes a file next to the lock,
//! named after its host and process: empty until it has looked for others, and then changed every few seconds, its sign of life.

use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::note;
use apexmap_base::{new_file, regular_file};
use apexmap_measure::provenance::host_name;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::libc::O_NOFOLLOW;
use nix::sys::signal::{SigSet, kill};
use nix::unistd::Pid;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Once};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Time between two signs of life.
const SIGN_INTERVAL: Duration = Duration::from_secs(2);
/// A holder without a sign of life in this time is gone.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);

/// Whether others may hold the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    Exclusive,
    Shared,
}

/// A lock, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    // Dropped first: whoever gets the system's lock must not find this file.
    holder_file: Option<HolderFile>,
    _flock: Option<Flock<File>>,
}

impl Lock {
    /// Locks a file; `None` if another process holds the lock. Waits up to [`SILENCE_LIMIT`] for signs of life of other hosts.
    pub fn acquire(path: &Path, sharing: Sharing) -> Result<Option<Self>> {
        let flock = match flock(path, sharing)? {
            Ok(flock) => Some(flock),
            Err(Errno::EWOULDBLOCK) => return Ok(None),
            Err(cause) => {
                note_missing_locks(path, cause);
                None
            }
        };
        let mut holder_file = match HolderFile::announce(path, sharing) {
            Ok(file) => Some(file),
            // A result of another user may be read only, or the disk may be full.
            Err(_) if flock.is_some() => None,
            Err(error) => return Err(error),
        };
        if is_held_by_others(path, sharing, holder_file.as_ref().map(|file| file.path.as_path())) {
            return Ok(None);
        }
        holder_file.as_mut().map_or(Ok(()), HolderFile::start_heart).map_err(|e| Error::file("lock", path, e))?;
        Ok(Some(Self { holder_file, _flock: flock }))
    }

    pub fn move_to(&mut self, folder: &Path) {
        if let Some(file) = &mut self.holder_file {
            file.path = folder.join(file.path.file_name().unwrap_or_default());
        }
    }
}

/// Returns true if another process holds the lock, shared or not. Creates no file, and does not wait.
pub fn is_held(path: &Path) -> bool {
    path.is_file()
        // Shared, because a job that begins at this moment would not get its lock beside an exclusive one.
        && match flock(path, Sharing::Shared) {
            Ok(Err(Errno::EWOULDBLOCK)) => true,
            _ => list_holders(path).iter().any(|holder| {
                let time = read_sign(&holder.path).and_then(|sign| sign.modified().ok());
                let age = time.and_then(|time| SystemTime::now().duration_since(time).ok());
                !holder.is_dead() && age.is_some_and(|age| age < SILENCE_LIMIT)
            }),
        }
}

/// Returns true if a process may hold the lock, shared or not. Does not wait.
pub fn has_holders(path: &Path) -> bool {
    list_holders(path).iter().any(|holder| !holder.is_dead())
}

/// Describes the holders of a lock: ` (process 1234 on n1)`; empty if they are unknown.
pub fn describe_holders(path: &Path) -> String {
    let holders: Vec<String> = list_holders(path).iter().map(Holder::to_string).collect();
    if holders.is_empty() { String::new() } else { format!(" ({})", holders.join(", ")) }
}

/// Takes the system's lock, or returns the reason why that is not possible.
fn flock(path: &Path, sharing: Sharing) -> Result<Result<Flock<File>, Errno>> {
    // In a folder shared with other users, the file may be anything: do not truncate it, follow it as a link, or wait for it.
    let open = |options: &mut OpenOptions| regular_file::open_with(options, O_NOFOLLOW, path);
    let file = match open(OpenOptions::new().write(true).create(true).truncate(false)) {
        // The file may belong to another user of the group. Locking does not need write access.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            open(OpenOptions::new().read(true)).map_err(|_| error)
        }
        opened => opened,
    };
    let file = file.map_err(|e| new_file::access_error("lock", path, e))?;
    let how = match sharing {
        Sharing::Exclusive => FlockArg::LockExclusiveNonblock,
        Sharing::Shared => FlockArg::LockSharedNonblock,
    };
    match Flock::lock(file, how) {
        Ok(lock) => Ok(Ok(lock)),
        Err((_, cause @ (Errno::EWOULDBLOCK | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::ENOLCK))) => Ok(Err(cause)),
        Err((_, cause)) => Err(Error::file("lock", path, cause)),
    }
}

fn note_missing_locks(path: &Path, cause: Errno) {
    static NOTED: Once = Once::new();
    let folder = path.parent().unwrap_or(path).display();
    NOTED.call_once(|| {
        note(&format!(
            "note: the file system of {folder} has no file locks ({cause}). A file with the host, the process and a sign of life \
             replaces them; run one apexmap at a time there, or name a folder on another file system with --out"
        ));
    });
}

/// The file of a holder, removed when it is dropped.
#[derive(Debug)]
struct HolderFile {
    path: PathBuf,
    file: Arc<File>,
    /// Ends the sign of life when it is dropped.
    stop: Option<Sender<()>>,
    heart: Option<JoinHandle<()>>,
}

impl HolderFile {
    fn announce(lock: &Path, sharing: Sharing) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let word = if sharing == Sharing::Exclusive { EXCLUSIVE } else { SHARED };
        let path =
            lock.with_file_name(format!("{}{word}.{}.{}.{number}", prefix(lock), own_host(), std::process::id()));
        let file = Arc::new(new_file::create(&path)?);
        Ok(Self { path, file, stop: None, heart: None })
    }

    fn start_heart(&mut self) -> io::Result<()> {
        let (stop, stopped) = channel();
        let file = self.file.clone();
        // A full disk is no reason to stop.
        let beat = move || drop(file.write_all_at(b".", 0));
        beat();
        let keep_beating = move || {
            // Signals are for the main thread.
            let _ = SigSet::all().thread_block();
            while stopped.recv_timeout(SIGN_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                beat();
            }
        };
        self.stop = Some(stop);
        self.heart = Some(std::thread::Builder::new().name("sign of life".into()).spawn(keep_beating)?);
        Ok(())
    }
}

impl Drop for HolderFile {
    fn drop(&mut self) {
        // The thread ends with its channel, so no sign of life follows the removal.
        self.stop = None;
        self.heart.take().map(JoinHandle::join);
        let _ = fs::remove_file(&self.path);
    }
}

const EXCLUSIVE: &str = "exclusive";
const SHARED: &str = "shared";

fn prefix(lock: &Path) -> String {
    format!("{}.by-", lock.file_name().unwrap_or_default().to_string_lossy())
}

fn own_host() -> String {
    host_name().replace('/', "_")
}

/// A process that holds a lock, by the name of its file: `.lock.by-shared.HOST.PROCESS.NUMBER`.
struct Holder {
    path: PathBuf,
    is_exclusive: bool,
    host: String,
    process: i32,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.host)
    }
}

impl Holder {
    fn conflicts_with(&self, sharing: Sharing) -> bool {
        self.is_exclusive || sharing == Sharing::Exclusive
    }

    /// Returns true if the process was on this host and has ended. A zombie has ended, too.
    fn is_dead(&self) -> bool {
        let is_zombie = || {
            let status = regular_file::read_text(Path::new(&format!("/proc/{}/stat", self.process)));
            status.is_ok_and(|text| text.contains(") Z "))
        };
        self.host == own_host() && (kill(Pid::from_raw(self.process), None) == Err(Errno::ESRCH) || is_zombie())
    }
}

fn list_holders(lock: &Path) -> Vec<Holder> {
    let folder = lock.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (prefix, entries) = (prefix(lock), fs::read_dir(folder).into_iter().flatten().flatten());
    let read = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix(&prefix)?.to_owned();
        let (sharing, rest) = name.split_once('.')?;
        let mut parts = rest.rsplitn(3, '.').skip(1);
        let process = parts.next()?.parse().ok().filter(|process| *process > 0)?;
        Some(Holder { is_exclusive: sharing == EXCLUSIVE, host: parts.next()?.to_owned(), process, path })
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

/// Returns the metadata of a holder's file. The file is opened first, because NFS then asks the server.
fn read_sign(path: &Path) -> Option<Metadata> {
    let _file = regular_file::open(path);
    fs::symlink_metadata(path).ok()
}

/// Returns true if the heart of another holder beats while this one watches. Removes the files of others. Of several processes
/// that look for others at the same time, the one whose file has the first name takes the lock.
fn is_held_by_others(lock: &Path, sharing: Sharing, own_path: Option<&Path>) -> bool {
    let is_other = |holder: &Holder| Some(holder.path.as_path()) != own_path && holder.conflicts_with(sharing);
    let first_sign = |holder: Holder| Some((read_sign(&holder.path)?, holder));
    let mut others: Vec<(Metadata, Holder)> =
        list_holders(lock).into_iter().filter(is_other).filter_map(first_sign).collect();
    let own_time = own_path.and_then(read_sign).and_then(|sign| sign.modified().ok());
    let begun_at = Instant::now();
    let mut is_noted = false;
    loop {
        let is_over = begun_at.elapsed() >= SILENCE_LIMIT;
        others.retain(|(_, holder)| {
            let is_gone = is_over || holder.is_dead();
            if is_gone {
                let _ = fs::remove_file(&holder.path);
            }
            !is_gone
        });
        let is_alive = |(first, holder): &(Metadata, Holder)| {
            let Some(sign) = read_sign(&holder.path) else { return false };
            let (time, first_time) = (sign.modified().ok(), first.modified().ok());
            let age = own_time.zip(time).and_then(|(own_time, time)| own_time.duration_since(time).ok());
            let has_begun_before = own_path.is_some_and(|own_path| holder.path.as_path() < own_path);
            match (sign.len(), first.len()) {
                (0, _) => has_begun_before && age.is_none_or(|age| age < 3 * SILENCE_LIMIT),
                (_, 0) => true,
                _ => time != first_time,
            }
        };
        if others.iter().any(is_alive) {
            return true;
        }
        others.retain(|(_, holder)| holder.path.exists());
        let Some((_, other)) = others.first() else { return false };
        if begun_at.elapsed() > Duration::from_secs(1) && !std::mem::replace(&mut is_noted, true) {
            note(&format!("note: waiting for {other}, which holds {} or was killed", lock.display()));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}
