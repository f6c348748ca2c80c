//! Known causes of failed launches: messages of launchers, MPI libraries and batch systems, their meaning, and the next step.
//!
//! These messages are long, and the informative line is rarely the last one. [`find`] looks for known texts in all lines. If
//! several causes match, the first of [`CAUSES`] is reported, so a specific cause precedes its consequences.

use apexmap_base::terminal::to_printable;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// A fault of the set-up: every launch of this kind ends the same way until the set-up is fixed.
    Setup,
    /// A node ran out of memory.
    Memory,
    /// The job is over.
    JobOver,
    /// A fault that may not recur: a node or a connection was lost, or a process died.
    Transient,
}

/// One cause.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    /// The cause in plain words.
    pub summary: &'static str,
    /// The next step.
    pub advice: &'static str,
    pub nature: Nature,
    /// A line with one of these texts shows this cause; `..` matches any text. At least [`SIGN_PREFIX`] bytes precede the first
    /// `..`.
    signs: &'static [&'static str],
    /// Number of lines after the matching one that belong to the message.
    extra_lines: usize,
}

const fn setup_fault(summary: &'static str, signs: &'static [&'static str], advice: &'static str) -> Cause {
    Cause { summary, advice, nature: Nature::Setup, signs, extra_lines: 0 }
}

impl Cause {
    const fn with_extra_lines(mut self, extra_lines: usize) -> Self {
        self.extra_lines = extra_lines;
        self
    }

    const fn with_nature(mut self, nature: Nature) -> Self {
        self.nature = nature;
        self
    }
}

/// The cause of failed windows: Open MPI between hosts without remote memory access.
pub const NO_WINDOW: &str = "MPI_Win_create fails: the one-sided component of Open MPI cannot use this network";

/// All known causes, the most specific first.
pub const CAUSES: &[Cause] = &[
    setup_fault(
        NO_WINDOW,
        &["MPI_Win_create: MPI_ERR_WIN", "in MPI_Win_create", "MPI_ERR_WIN:"],
        "set OMPI_MCA_osc=pt2pt in the environment (Open MPI 1 to 4)",
    ),
    setup_fault(
        "a node does not have a shared library of the worker, or has another version of it",
        &["error while loading shared libraries", "symbol lookup error", "version `..' not found", "cannot open shared object"],
        "load the modules that the worker was built with, also in the job (--module), or set LD_LIBRARY_PATH; `ldd WORKER` on the \
         node lists the missing libraries",
    ),
    setup_fault(
        "the worker was built for another kind of processor than a node has",
        &["Illegal instruction", "Exec format error"],
        "build the worker on that node, or for the oldest processor of all nodes",
    ),
    setup_fault(
        "a node cannot find or execute the worker",
        &[
            "execvp error on file",
            "error: execve():",
            "execve failed",
            "flux-shell..No such file or directory",
            "launch failed..No such file",
            "exec failed: file",
            "Could not chdir to or execute",
        ],
        "put the worker on a file system that all nodes mount at the same path, and make it executable",
    ),
    setup_fault(
        "a node cannot find or execute the worker",
        &["or execute an executable", "could not be executed because of..Executable"],
        "put the worker on a file system that all nodes mount at the same path, and make it executable",
    )
    .with_extra_lines(2),
    setup_fault(
        "a node does not have the working folder",
        &["change to the specified working directory"],
        "run in a folder on a file system that all nodes share",
    )
    .with_extra_lines(2),
    setup_fault(
        "a node cannot read the job's file, because the result folder is not on a shared file system",
        &["cannot read the job "],
        "choose a result folder on a shared file system with --out",
    ),
    setup_fault(
        "the worker and this program have different versions",
        &["unknown variant", "missing field `", "unexpected argument '--", "is of another version"],
        "build both from the same sources, and name the worker with --worker",
    ),
    setup_fault(
        "the launcher belongs to another MPI than the worker, so each process runs as a single rank",
        &["MPI started a world of"],
        "use the launcher of the worker's MPI; with srun, set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH \
         (`srun --mpi=list` lists the plugins)",
    ),
    setup_fault(
        "srun does not have the MPI plugin named by SLURM_MPI_TYPE or the cluster's default",
        &["Couldn't find the specified plugin name for mpi/", "Invalid MPI type", "--mpi=list for acceptable types"],
        "set SLURM_MPI_TYPE to a plugin that `srun --mpi=list` lists: pmix for Open MPI, pmi2 for MPICH",
    ),
    setup_fault(
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
        "set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH; `srun --mpi=list` lists the plugins. If neither works, use \
         mpirun of the worker's MPI in the allocation (launcher = \"openmpi\" or \"mpich\")",
    ),
    setup_fault(
        "Slurm killed a step that ran out of memory",
        &["oom-kill event", "oom_kill event", "Out Of Memory", "OUT_OF_MEMORY", "xceeded job memory limit", "exceeded memory limit", "TERM_MEMLIMIT"],
        "lower M or the ranks per node, or request more memory (in Slurm, --directive=--mem=0 requests all memory of a node)",
    )
    .with_nature(Nature::Memory),
    setup_fault(
        "the job reached its time limit",
        &["DUE TO TIME LIMIT", "TERM_RUNLIMIT", "walltime .. exceeded limit", "Job/step already completing"],
        "rerun the same command in another job: all samples are kept",
    )
    .with_nature(Nature::JobOver),
    setup_fault(
        "the job is over",
        &["Slurm job .. has expired", "Expired or invalid job", "Invalid job id specified", "has been revoked"],
        "rerun the same command in another job: all samples are kept",
    )
    .with_nature(Nature::JobOver),
    setup_fault(
        "a node was lost",
        &["DUE TO NODE FAILURE", "Node failure on", "lost communication with", "node .. is unresponsive", "NODE_FAIL"],
        "if it happens again, exclude that node (--exclude in Slurm)",
    )
    .with_nature(Nature::Transient),
    setup_fault(
        "the batch system refuses the launch's request",
        &[
            "Invalid partition name",
            "invalid partition specified",
            "Invalid account",
            "Invalid qos",
            "Memory specification can not be satisfied",
            "Job violates accounting",
        ],
        "correct the partition, account, QOS or memory: SLURM_* and SBATCH_* in the environment, or the flags of --submit",
    ),
    setup_fault(
        "the launch needs more cores or nodes than the job has",
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
        "request more nodes or cores, or set fewer ranks or another ranks_per_node in the sweep",
    )
    .with_extra_lines(1),
    setup_fault(
        "this machine has no Slurm configuration, or cannot reach Slurm's controller",
        &["Could not establish a configuration source", "Unable to contact slurm controller"],
        "run this on a login or compute node of the cluster, and check that `sinfo` answers",
    ),
    setup_fault(
        "this machine does not know a node's ssh key, or the key has changed",
        &["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"],
        "log in to that node once with ssh and accept its key (ssh-keyscan NODE >> ~/.ssh/known_hosts), or use the batch system's launcher",
    ),
    setup_fault(
        "a node refuses the ssh login",
        &["Permission denied (publickey", "Permission denied, please try again", "Too many authentication failures"],
        "set up ssh without a password (ssh-copy-id NODE), or use the batch system's launcher",
    ),
    setup_fault(
        "this machine cannot reach a node",
        &[
            "Could not resolve hostname",
            "ssh: connect to host",
            "No route to host",
            "unable to find interface",
            "unable to get network interface",
        ],
        "check the names of hosts and interfaces, and that `ssh NODE` works from this machine",
    ),
    setup_fault(
        "the daemons of mpirun did not start on a node",
        &["unable to reliably start one or more daemons", "ORTE daemon has unexpectedly failed", "PRTE has lost communication"],
        "check that all nodes have the same MPI at the same path (PATH and LD_LIBRARY_PATH there), and that ssh works",
    ),
    setup_fault(
        "the nodes have different versions of MPI or its helpers",
        &[
            "PMIX_ERR_NOT_SUPPORTED",
            "Data unpack had inadequate space",
            "version mismatch",
            "incompatible version",
            "PMI version mismatch",
        ],
        "install the same MPI at the same path on all nodes",
    ),
    setup_fault(
        "the MPI library cannot use the network that its settings choose",
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
        "check UCX_TLS, UCX_NET_DEVICES, FI_PROVIDER and OMPI_MCA_* in the environment; without them, the library chooses itself",
    ),
    setup_fault(
        "the network library cannot register memory",
        &["ibv_reg_mr", "Cannot allocate memory..registration", "failed to register memory", "locked memory"],
        "raise the limit of locked memory on the nodes (ulimit -l unlimited)",
    ),
    setup_fault(
        "mpirun refuses to run as root",
        &["has detected an attempt to run as root"],
        "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    ),
    setup_fault(
        "the launcher does not know one of its options: the program on the PATH is another kind or version than the sweep's launcher",
        &["unknown option", "unrecognized argument", "unrecognized option", "invalid option --"],
        "choose the launcher that fits the program on the PATH, or `custom` with your own command",
    ),
    setup_fault(
        "signal 9 killed a rank: the system ran out of memory, or a user killed it",
        &["signal 9 (Killed)", "(signal 9)", "task ..: Killed", "tasks ..: Killed"],
        "compare the plan's memory (`apexmap plan`) with the node's, and check for other programs on that node",
    )
    .with_nature(Nature::Transient),
    setup_fault(
        "a rank crashed",
        &["signal 11 (", "(signal 11)", "Segmentation fault", "signal 7 (", "Bus error", "signal 6 (", "(signal 6)"],
        "see the .stderr file next to the launch's journal",
    )
    .with_nature(Nature::Transient),
    setup_fault(
        "a connection between ranks was lost",
        &["Connection reset by peer", "Connection timed out", "Transport retry count exceeded", "Endpoint timeout"],
        "check that all nodes are healthy, and rerun",
    )
    .with_nature(Nature::Transient),
    setup_fault(
        "the step was cancelled",
        &["CANCELLED AT", "Terminated by user", "TERM_OWNER"],
        "rerun the same command: all samples are kept",
    )
    .with_nature(Nature::Transient),
    setup_fault(
        "the MPI library aborted the launch",
        &["*** An error occurred in", "*** MPI_ERR_", "Fatal error in "],
        "see the .stderr file next to the launch's journal",
    )
    .with_nature(Nature::Transient)
    .with_extra_lines(1),
];

/// A cause, and the line that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseMatch {
    pub cause: &'static Cause,
    pub line: String,
}

impl CauseMatch {
    /// Returns the cause and its line as one sentence.
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.cause.summary, self.line)
    }
}

/// Returns true if a message says that launcher and MPI library do not fit, so that no world of ranks started.
pub fn is_launcher_mismatch(message: &str) -> bool {
    ["MPI plugin", "process management (PMI)", "belongs to another MPI"].iter().any(|words| message.contains(words))
}

/// Largest number of characters shown of a line.
const MAX_LINE_CHARACTERS: usize = 300;

/// Length of the prefix by which signs are indexed, in bytes. With the index, one pass over a text finds all lines that may
/// contain a sign.
const SIGN_PREFIX: usize = 4;

/// Signs and the positions of their causes in [`CAUSES`], by prefix.
type Signs = HashMap<&'static [u8], Vec<(usize, &'static str)>, RandomState>;

/// Returns the index of all signs.
fn signs() -> &'static Signs {
    static SIGNS: OnceLock<Signs> = OnceLock::new();
    SIGNS.get_or_init(|| {
        let mut signs = Signs::default();
        for (rank, sign) in
            CAUSES.iter().enumerate().flat_map(|(rank, cause)| cause.signs.iter().map(move |sign| (rank, sign)))
        {
            signs.entry(&sign.as_bytes()[..SIGN_PREFIX]).or_default().push((rank, sign));
        }
        signs
    })
}

/// Returns the most specific cause that a line of this text shows.
pub fn find(text: &str) -> Option<CauseMatch> {
    let (mut best, mut start) = (None, 0);
    for line in text.split_inclusive('\n') {
        let limit = best.map_or(CAUSES.len(), |(rank, _)| rank);
        best = best_rank(line, limit).map(|rank| (rank, start)).or(best);
        start += line.len();
    }
    let (rank, start) = best?;
    let cause = &CAUSES[rank];
    let lines = text[start..].lines().map(str::trim).filter(|line| !line.is_empty());
    let message_lines = lines.take(1 + cause.extra_lines).take_while(|line| !line.starts_with("---"));
    let line = message_lines.collect::<Vec<_>>().join(" ");
    Some(CauseMatch { cause, line: to_printable(&line).chars().take(MAX_LINE_CHARACTERS).collect() })
}

/// Returns the position of the most specific cause that this line shows, if it is below `limit`.
fn best_rank(line: &str, mut limit: usize) -> Option<usize> {
    let (signs, mut best, mut tried) = (signs(), None, Vec::new());
    for begin in line.as_bytes().windows(SIGN_PREFIX) {
        for (rank, sign) in signs.get(begin).into_iter().flatten() {
            if *rank < limit && !tried.contains(sign) {
                tried.push(*sign);
                if matches_sign(line, sign) {
                    (best, limit) = (Some(*rank), *rank);
                }
            }
        }
    }
    best
}

/// Returns the more specific of two causes, or the first if they are equal.
pub fn more_special(first: Option<CauseMatch>, second: Option<CauseMatch>) -> Option<CauseMatch> {
    let rank = |cause_match: &CauseMatch| CAUSES.iter().position(|cause| *cause == *cause_match.cause);
    [first, second].into_iter().flatten().min_by_key(rank)
}

/// Returns true if the line contains the parts of the sign in their order.
pub fn matches_sign(line: &str, sign: &str) -> bool {
    let mut rest = line;
    sign.split("..").all(|part| match rest.find(part) {
        Some(offset) => {
            rest = &rest[offset + part.len()..];
            true
        }
        None => false,
    })
}
