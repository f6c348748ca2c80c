//! The processes of this machine: their parents, groups and sessions, and marks in their environment.

use nix::unistd::Pid;

/// A process as the system lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    pub id: Pid,
    pub parent: Pid,
    pub group: Pid,
    pub session: Pid,
    /// Whether it has ended and waits for its parent.
    pub is_over: bool,
}

impl Live {
    /// Returns the process with this id; `None` if it does not exist.
    pub fn find(id: Pid) -> Option<Self> {
        let stat = std::fs::read(format!("/proc/{id}/stat")).ok()?;
        // The fields after the name are state, parent, group and session. The name may contain any character.
        let fields = String::from_utf8_lossy(&stat[stat.iter().rposition(|&byte| byte == b')')? + 1..]).into_owned();
        let mut fields = fields.split_ascii_whitespace();
        let is_over = matches!(fields.next()?, "Z" | "X");
        let mut number = || Some(Pid::from_raw(fields.next()?.parse().ok()?));
        Some(Self { id, parent: number()?, group: number()?, session: number()?, is_over })
    }

    /// Returns all processes; empty if the system does not list them.
    pub fn list_all() -> Vec<Self> {
        let id = |entry: std::fs::DirEntry| Some(Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(id).filter_map(Self::find).collect()
    }

    /// Returns the value of a variable of its environment, if it has one and this user may read it.
    pub fn variable(&self, name: &str) -> Option<Vec<u8>> {
        let environment = std::fs::read(format!("/proc/{}/environ", self.id)).ok()?;
        let value = |entry: &[u8]| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_owned());
        environment.split(|&byte| byte == 0).find_map(value)
    }
}

pub fn descendants(processes: &[Live], root: Pid) -> Vec<Live> {
    let (mut below, mut next) = (Vec::new(), vec![root]);
    while let Some(parent) = next.pop() {
        let children = processes.iter().filter(|process| process.parent == parent && process.id != root);
        for child in children {
            below.push(*child);
            next.push(child.id);
        }
    }
    below
}

/// Returns a string that distinguishes a process from all others, also later ones with its id.
pub fn process_identity(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may contain any characters, so the fields are counted after it. The start time is in ticks since the machine
    // booted.
    let start_ticks = stat.rsplit(')').next()?.split_ascii_whitespace().nth(19)?;
    Some(format!("{process}-{start_ticks}"))
}
