//! Causes: what launchers, MPI libraries and batch systems say when a launch fails, what it means, and what to do next.
//!
//! Their messages are long, and the line that tells is seldom the last. [`find`] looks for known lines; the first cause of [`ALL`]
//! that has one is the one to tell, so what is special stands before what follows from it.

use apexmap_base::terminal::printable;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// The set-up's: every launch of the kind will end the same way until somebody mends it.
    Setup,
    /// A node's lack of memory.
    Memory,
    /// The job's, which is over.
    Over,
    /// It may not come again: a node or a connection was lost, a process died.
    Passing,
}

/// One cause.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// In plain words.
    pub what: &'static str,
    /// What to do.
    pub next: &'static str,
    pub nature: Nature,
    /// Any of these texts in a line tells of it; `..` stands for anything. No text begins with fewer than four bytes before that.
    signs: &'static [&'static str],
    /// So many lines after that one belong to it.
    more: usize,
}

const fn setup(what: &'static str, signs: &'static [&'static str], next: &'static str) -> Cause {
    Cause { what, next, nature: Nature::Setup, signs, more: 0 }
}

impl Cause {
    const fn lines(mut self, more: usize) -> Self {
        self.more = more;
        self
    }

    const fn of(mut self, nature: Nature) -> Self {
        self.nature = nature;
        self
    }
}

/// Of Open MPI between hosts without remote memory.
pub const NO_WINDOW: &str = "MPI_Win_create fails: the one-sided component of Open MPI cannot use this network";

/// Every known cause, the most special first.
pub const ALL: &[Cause] = &[
    setup(
        NO_WINDOW,
        &["MPI_Win_create: MPI_ERR_WIN", "in MPI_Win_create", "MPI_ERR_WIN:"],
        "set OMPI_MCA_osc=pt2pt in the environment (Open MPI 1 to 4)",
    ),
    setup(
        "a shared library that the worker needs is not on a node, or is of another version",
        &["error while loading shared libraries", "symbol lookup error", "version `..' not found", "cannot open shared object"],
        "load the modules that the worker was built with, in the job too (--module), or set LD_LIBRARY_PATH; `ldd WORKER` on the \
         node lists what is missing",
    ),
    setup(
        "a node has another kind of processor than the one that the worker was built for",
        &["Illegal instruction", "Exec format error"],
        "build the worker on such a node, or for the oldest processor among the nodes",
    ),
    setup(
        "the worker was not found, or may not be executed, on a node",
        &[
            "execvp error on file",
            "error: execve():",
            "execve failed",
            "flux-shell..No such file or directory",
            "launch failed..No such file",
            "exec failed: file",
            "Could not chdir to or execute",
        ],
        "put the worker on a file system that the nodes share, by a path that is the same on them, and see that it is executable",
    ),
    setup(
        "the worker was not found, or may not be executed, on a node",
        &["or execute an executable", "could not be executed because of..Executable"],
        "put the worker on a file system that the nodes share, by a path that is the same on them, and see that it is executable",
    )
    .lines(2),
    setup(
        "the working folder is not on a node",
        &["change to the specified working directory"],
        "run in a folder that is on a file system that the nodes share",
    )
    .lines(2),
    setup(
        "a node cannot read the job's file: the result folder is not on a file system that the nodes share",
        &["cannot read the job "],
        "choose a result folder on a shared file system with --out",
    ),
    setup(
        "the worker is of another version than this program",
        &["unknown variant", "missing field `", "unexpected argument '--", "is of another version"],
        "build both from the same sources, and name the worker with --worker",
    ),
    setup(
        "the launcher belongs to another MPI than the worker: each process takes itself for the only rank",
        &["MPI started a world of"],
        "start it with the launcher of the worker's own MPI; with srun set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH \
         (`srun --mpi=list` lists what there is)",
    ),
    setup(
        "srun does not have the MPI plugin that SLURM_MPI_TYPE (or the cluster's default) names",
        &["Couldn't find the specified plugin name for mpi/", "Invalid MPI type", "--mpi=list for acceptable types"],
        "set SLURM_MPI_TYPE to one that `srun --mpi=list` names: pmix for Open MPI, pmi2 for MPICH",
    ),
    setup(
        "srun does not offer the process management (PMI) that the worker's MPI needs",
        &[
            "OMPI was not built with SLURM's PMI support",
            "PMI2_Init failed",
            "PMI_Init failed",
            "PMI_Init returned",
            "PMIx_Init failed",
            "PMIX ERROR",
            "ext3x_client.c",
            "pmix_init:startup:internal-failure",
            "MPI was not built with PMI support",
        ],
        "set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH; `srun --mpi=list` lists what there is. Where neither works, use \
         mpirun of the worker's MPI in the allocation (launcher = \"openmpi\" or \"mpich\")",
    ),
    setup(
        "Slurm killed a step for lack of memory",
        &["oom-kill event", "oom_kill event", "Out Of Memory", "OUT_OF_MEMORY", "xceeded job memory limit", "exceeded memory limit", "TERM_MEMLIMIT"],
        "lower M or the ranks on a node, or ask for more memory (in a job of Slurm --directive=--mem=0 asks for all of a node)",
    )
    .of(Nature::Memory),
    setup(
        "the time of the job is over",
        &["DUE TO TIME LIMIT", "TERM_RUNLIMIT", "walltime .. exceeded limit", "Job/step already completing"],
        "rerun the same command in another job: all samples are kept",
    )
    .of(Nature::Over),
    setup(
        "the job is over",
        &["Slurm job .. has expired", "Expired or invalid job", "Invalid job id specified", "has been revoked"],
        "rerun the same command in another job: all samples are kept",
    )
    .of(Nature::Over),
    setup(
        "a node was lost",
        &["DUE TO NODE FAILURE", "Node failure on", "lost communication with", "node .. is unresponsive", "NODE_FAIL"],
        "leave that node out (--exclude of Slurm) if it happens again",
    )
    .of(Nature::Passing),
    setup(
        "the batch system refuses what the launch asks for",
        &[
            "Invalid partition name",
            "invalid partition specified",
            "Invalid account",
            "Invalid qos",
            "Memory specification can not be satisfied",
            "Job violates accounting",
        ],
        "correct partition, account, QOS or memory: SLURM_* and SBATCH_* in the environment, or the flags of --submit",
    ),
    setup(
        "the job has fewer cores or nodes than the launch takes",
        &[
            "More processors requested than permitted",
            "Only allocated .. nodes asked for",
            "Requested node configuration is not available",
            "not enough slots available",
            "requested more processes than the ppr",
            "binding more",
            "claim exceeds reservation's",
            "nid count exceeds reservation",
            "exceeds allocated",
            "insufficient resources",
            "unsatisfiable request",
        ],
        "ask for more nodes or cores, or name fewer ranks, or another ranks_per_node, in the sweep",
    )
    .lines(1),
    setup(
        "Slurm's own settings were not found here",
        &["Could not establish a configuration source", "Unable to contact slurm controller"],
        "run this on a login or compute node of the cluster, and see whether `sinfo` answers",
    ),
    setup(
        "a node's ssh key is not known here, or it has changed",
        &["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"],
        "log in to that node once by ssh and accept its key (ssh-keyscan NODE >> ~/.ssh/known_hosts), or use the batch system's launcher",
    ),
    setup(
        "ssh may not log in on a node",
        &["Permission denied (publickey", "Permission denied, please try again", "Too many authentication failures"],
        "let ssh log in without a password (ssh-copy-id NODE), or use the batch system's launcher",
    ),
    setup(
        "a node was not reached",
        &[
            "Could not resolve hostname",
            "ssh: connect to host",
            "No route to host",
            "unable to find interface",
            "unable to get network interface",
        ],
        "check the names of hosts and interfaces, and that this machine may log in on them with ssh",
    ),
    setup(
        "the daemons of mpirun did not start on a node",
        &["unable to reliably start one or more daemons", "ORTE daemon has unexpectedly failed", "PRTE has lost communication"],
        "see that the same MPI is installed, by the same path, on all nodes (PATH and LD_LIBRARY_PATH there), and that ssh works",
    ),
    setup(
        "nodes have different versions of MPI or of its helpers",
        &[
            "PMIX_ERR_NOT_SUPPORTED",
            "Data unpack had inadequate space",
            "version mismatch",
            "incompatible version",
            "PMI version mismatch",
        ],
        "use the same MPI, by the same path, on all nodes",
    ),
    setup(
        "the MPI library cannot use the network that it was told to",
        &[
            "no usable transports/devices",
            "PML .. cannot be selected",
            "unable to reach each other",
            "at least one MPI process is unreachable",
            "No components were able to be opened in the pml",
            "OFI addrinfo() failed",
            "OFI get address vector",
            "fi_getinfo",
            "MPIDI_OFI_mpi_init_hook",
            "MPIDI_UCX_init_local",
            "No provider found",
            "Destination is unreachable",
        ],
        "check UCX_TLS, UCX_NET_DEVICES, FI_PROVIDER and OMPI_MCA_* in the environment; without them the library chooses",
    ),
    setup(
        "the network's memory registration failed",
        &["ibv_reg_mr", "Cannot allocate memory..registration", "failed to register memory", "locked memory"],
        "raise the limit of locked memory on the nodes (ulimit -l unlimited)",
    ),
    setup(
        "mpirun does not run as root unless it is told twice",
        &["has detected an attempt to run as root"],
        "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    setup(
        "the launcher does not know one of its options: it is of another kind or version than this launcher of the sweep",
        &["unknown option", "unrecognized argument", "unrecognized option", "invalid option --"],
        "choose the launcher that fits the program on the PATH, or `custom` with a command of your own",
    ),
    setup(
        "a rank was ended by signal 9: by the system for lack of memory, or by somebody",
        &["signal 9 (Killed)", "(signal 9)", "task ..: Killed", "tasks ..: Killed"],
        "see how much memory the plan takes (`apexmap plan`) and what else runs on that node",
    )
    .of(Nature::Passing),
    setup(
        "a rank crashed",
        &["signal 11 (", "(signal 11)", "Segmentation fault", "signal 7 (", "Bus error", "signal 6 (", "(signal 6)"],
        "see the .stderr file next to the launch's journal",
    )
    .of(Nature::Passing),
    setup(
        "a connection between ranks was lost",
        &["Connection reset by peer", "Connection timed out", "Transport retry count exceeded", "Endpoint timeout"],
        "see whether all nodes are well, and rerun",
    )
    .of(Nature::Passing),
    setup(
        "the step was cancelled",
        &["CANCELLED AT", "Terminated by user", "TERM_OWNER"],
        "rerun the same command: all samples are kept",
    )
    .of(Nature::Passing),
    setup(
        "the MPI library ended the launch",
        &["*** An error occurred in", "*** MPI_ERR_", "Fatal error in "],
        "see the .stderr file next to the launch's journal",
    )
    .of(Nature::Passing)
    .lines(1),
];

/// A cause with the line that tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub cause: &'static Cause,
    pub line: String,
}

impl Found {
    /// The cause and its line.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.cause.what, self.line)
    }
}

/// Whether a message tells that launcher and library do not go together: no world of ranks came about.
pub fn is_of_launcher(message: &str) -> bool {
    ["MPI plugin", "process management (PMI)", "belongs to another MPI"].iter().any(|words| message.contains(words))
}

/// Characters of a line that are shown.
const SHOWN: usize = 300;

/// Bytes with which every sign begins, by which lines that may have one are found in one pass over a text.
const BEGINNING: usize = 4;

/// Signs with the places of their causes in [`ALL`], by their first bytes.
type Signs = HashMap<&'static [u8], Vec<(usize, &'static str)>, RandomState>;

/// All signs.
fn signs() -> &'static Signs {
    static SIGNS: OnceLock<Signs> = OnceLock::new();
    SIGNS.get_or_init(|| {
        let mut signs = Signs::default();
        for (rank, sign) in
            ALL.iter().enumerate().flat_map(|(rank, cause)| cause.signs.iter().map(move |sign| (rank, sign)))
        {
            signs.entry(&sign.as_bytes()[..BEGINNING]).or_default().push((rank, sign));
        }
        signs
    })
}

/// The most special cause that a line of this text tells of.
pub fn find(text: &str) -> Option<Found> {
    let (mut best, mut start) = (None, 0);
    for line in text.split_inclusive('\n') {
        let most = best.map_or(ALL.len(), |(rank, _)| rank);
        best = rank(line, most).map(|rank| (rank, start)).or(best);
        start += line.len();
    }
    let (rank, start) = best?;
    let cause = &ALL[rank];
    let lines = text[start..].lines().map(str::trim).filter(|line| !line.is_empty());
    let of = lines.take(1 + cause.more).take_while(|line| !line.starts_with("---"));
    let line = of.collect::<Vec<_>>().join(" ");
    Some(Found { cause, line: printable(&line).chars().take(SHOWN).collect() })
}

/// The place of the most special cause that a line tells of, if that is before `most`.
fn rank(line: &str, mut most: usize) -> Option<usize> {
    let (signs, mut best, mut tried) = (signs(), None, Vec::new());
    for begin in line.as_bytes().windows(BEGINNING) {
        for (rank, sign) in signs.get(begin).into_iter().flatten() {
            if *rank < most && !tried.contains(sign) {
                tried.push(*sign);
                if has(line, sign) {
                    (best, most) = (Some(*rank), *rank);
                }
            }
        }
    }
    best
}

/// The more special of two causes, the first if they are the same.
pub fn more_special(first: Option<Found>, second: Option<Found>) -> Option<Found> {
    let rank = |found: &Found| ALL.iter().position(|cause| *cause == *found.cause);
    [first, second].into_iter().flatten().min_by_key(rank)
}

/// Whether a line has the parts of a sign in their order.
pub fn has(line: &str, sign: &str) -> bool {
    let mut rest = line;
    sign.split("..").all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}
