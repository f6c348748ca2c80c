//! The table of causes: kind of fault, stage, summary, signs and advice.

use super::Nature::{JobOver, Memory, Setup, Transient};
use super::Special::{LauncherMismatch, NoWindow};
use super::Stage::{Refused, Running, Starting};
use super::{Cause, Nature, Special, Stage};

const fn row(
    nature: Nature,
    stage: Stage,
    summary: &'static str,
    signs: &'static [&'static str],
    advice: &'static str,
) -> Cause {
    Cause { summary, advice, nature, stage, signs, extra_lines: 0, special: None, of_srun: false }
}

impl Cause {
    const fn with_extra_lines(self, extra_lines: usize) -> Self {
        Self { extra_lines, ..self }
    }

    const fn of_srun(self) -> Self {
        Self { of_srun: true, ..self }
    }

    const fn special(self, special: Special) -> Self {
        Self { special: Some(special), ..self }
    }
}

const LIBRARY: &str = "a node does not have a shared library of the worker, or has another version of it";
const LOAD_MODULES: &str = "load the modules that the worker was built with, also in the job (--module), or set LD_LIBRARY_PATH; `ldd WORKER` \
     on the node lists the missing libraries";
const WORKER: &str = "a node cannot find or execute the worker, or a program that starts it";
const SHARE_WORKER: &str = "put the worker on a file system that all nodes mount at the same path, and make it executable; install any other \
     program that the message names on the nodes";
const PMI: &str = "srun does not offer the process management (PMI) that the worker's MPI needs";
const CHOOSE_PMI: &str = "set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH; `srun --mpi=list` lists the plugins. If neither works, use \
     mpirun of the worker's MPI in the allocation (launcher = \"openmpi\" or \"mpich\")";
const DAEMONS: &str = "the daemons of mpirun did not start on a node";
const SAME_MPI: &str =
    "check that all nodes have the same MPI at the same path (PATH and LD_LIBRARY_PATH there), and that ssh works";
const NETWORK: &str = "the MPI library cannot use the network that its settings choose";
const FREE_NETWORK: &str = "check UCX_TLS, UCX_NET_DEVICES, FI_PROVIDER and OMPI_MCA_* in the environment; without them, the library chooses itself";
const UNREACHED: &str = "this machine cannot reach a node";
const CHECK_NAMES: &str = "check the names of hosts and interfaces, and that `ssh NODE` works from this machine";
const REGISTER: &str = "the network library cannot register memory";
const RAISE_MEMLOCK: &str = "raise the limit of locked memory on the nodes (ulimit -l unlimited)";
const KILLED: &str = "signal 9 killed a rank: the system ran out of memory, or a user killed it";
const COMPARE_MEMORY: &str =
    "compare the plan's memory (`apexmap plan`) with the node's, and check for other programs on that node";
const REQUEST_MEMORY: &str = "lower M or the ranks per node, or request more memory (in Slurm, --directive=--mem=0 requests all memory of a node)";
const REFUSED: &str = "the batch system refuses the launch's request";
const CORRECT_REQUEST: &str =
    "correct the partition, account, QOS or memory: SLURM_* and SBATCH_* in the environment, or the flags of --submit";
const RERUN: &str = "rerun the same command in another job: all samples are kept";
const SEE_OUTPUT: &str = "see the .stderr file next to the launch's journal";

/// All known causes. The first one that matches is reported, so the order is: the batch system or the launcher ends the launch, the
/// ranks cannot start, messages have no way, a rank died, and at last what may be a warning or a consequence.
#[rustfmt::skip]
pub const CAUSES: &[Cause] = &[
    row(JobOver, Running, "the job reached its time limit",
        &["DUE TO TIME LIMIT", "TERM_RUNLIMIT", "walltime .. exceeded limit", "Job/step already completing", "resource allocation expired"],
        RERUN),
    row(JobOver, Running, "the job is over",
        &["Slurm job .. has expired", "Expired or invalid job", "Invalid job id specified", "has been revoked", "DUE TO PREEMPTION"], RERUN),
    row(Memory, Running, "Slurm killed a step that ran out of memory",
        &["oom-kill event", "oom_kill event", "task ..: Out Of Memory", "tasks ..: Out Of Memory", "OUT_OF_MEMORY", "OOM Killed",
          "out-of-memory handler", "xceeded job memory limit", "exceeded memory limit", "TERM_MEMLIMIT", "mem .. exceeded limit"],
        REQUEST_MEMORY),
    row(Transient, Running, KILLED,
        &["signal 9 (Killed)", "signal: 9", "(signal 9)", "from signal 9", "with signal 9", "by signal 9", "exit signal Killed"], COMPARE_MEMORY),
    row(Transient, Running, "a node was lost",
        &["DUE TO NODE FAILURE", "Node failure on", "lost communication with", "node .. is unresponsive", "NODE_FAIL"],
        "if it happens again, exclude that node (--exclude in Slurm)"),
    row(Setup, Running, "MPI_Win_create fails: the one-sided component of Open MPI cannot use this network",
        &["MPI_Win_create: MPI_ERR_WIN", "in MPI_Win_create", "MPI_ERR_WIN:"], "set OMPI_MCA_osc=pt2pt in the environment (Open MPI 1 to 4)")
        .special(NoWindow),

    // The ranks cannot start. The file that a message names decides.
    row(Setup, Refused, "the launcher does not find the program by which it reaches other nodes (ssh, rsh or srun)",
        &["execvp error on file ..ssh (", "execvp error on file ..rsh (", "execvp error on file ..srun (", "execvp error on file ..blaunch (",
          "plm_rsh_agent\" was set to a path", "ssh: command not found", "ssh: not found", "/ssh: No such file"],
        "install ssh where the launcher runs (images of containers often have none), or start the launcher outside the container; on one node, \
         MPICH needs none with HYDRA_LAUNCHER=fork, Intel MPI with I_MPI_HYDRA_BOOTSTRAP=fork"),
    row(Setup, Refused, DAEMONS,
        &["orted: command not found", "prted: command not found", "orted: not found", "prted: not found", "orted: No such file",
          "prted: No such file", "orted: error while loading", "prted: error while loading", "hydra_pmi_proxy: ", "hydra_bstrap_proxy: ",
          "execvp error on file ..pmi_proxy (", "execvp error on file ..bstrap_proxy (", "execve(): orted", "execve(): ..proxy: "],
        SAME_MPI),
    row(Setup, Starting, "the container of the ranks does not start",
        &["container creation failed", "FATAL:   ", "pyxis: couldn't start container", "pyxis: container start failed", "pyxis: failed",
          "plugin spank_pyxis.so", "enroot-switchroot", "nvidia-container-cli", "OCI runtime", "Error response from daemon",
          "executable file not found in $PATH", "executable file `..not found", "failed to create user namespace", "squashfuse_ll exited",
          "execvp error on file ..apptainer (", "execvp error on file ..singularity (", "execve(): ..apptainer: ",
          "execve(): ..singularity: ", "apptainer: command not found", "singularity: command not found", "ch-run..error:",
          "Plugin initialization failed"],
        "start one container on a compute node with the worker's `--help`: check the image's path, its runtime on the nodes, and the \
         path of the worker inside"),
    row(Setup, Starting, "the worker or one of its libraries was built for another kind of processor than a node has",
        &["Illegal instruction", "signal 4 (", "Exec format error", "cannot execute binary file", "the processor support",
          "CPU ISA level is lower"],
        "build the worker on that node, or for the oldest processor of all nodes; libraries of that node's system fit its processor"),
    row(Setup, Starting, LIBRARY, &["error while loading shared libraries", "symbol lookup error", "version `..' not found"], LOAD_MODULES),
    row(Setup, Refused, WORKER,
        &["execvp error on file", "error: execve():", "execve failed", "flux-shell..No such file or directory", "launch failed..No such file",
          "exec failed: file", "Could not chdir to or execute"],
        SHARE_WORKER),
    row(Setup, Refused, WORKER, &["or execute an executable", "could not be executed because of..Executable"], SHARE_WORKER)
        .with_extra_lines(2),
    row(Setup, Refused, "a node does not have the working folder", &["change to the specified working directory"],
        "run in a folder on a file system that all nodes share")
        .with_extra_lines(2),
    row(Setup, Starting, "a node cannot write to its temporary folder",
        &["session_dir", "session directory", "unable to create the desired directory",
          "os_dirpath_create"],
        "set TMPDIR to a folder that exists on every node, has space and a short path")
        .with_extra_lines(1),
    row(Setup, Starting, "a node cannot read the job's file, because the result folder is not on a shared file system",
        &["cannot read the job "], "choose a result folder on a shared file system with --out"),
    row(Setup, Starting, "the worker and this program have different versions",
        &["unknown variant", "missing field `", "unexpected argument '--", "is of another version"],
        "build both from the same sources, and name the worker with --worker"),
    row(Setup, Starting, "the launcher belongs to another MPI than the worker, so each process runs as a single rank",
        &["MPI started a world of"],
        "use the launcher of the worker's MPI; with srun, set SLURM_MPI_TYPE=pmix for Open MPI, pmi2 for MPICH (`srun --mpi=list` lists the \
         plugins)")
        .special(LauncherMismatch),
    row(Setup, Starting, "srun does not have the MPI plugin named by SLURM_MPI_TYPE or the cluster's default",
        &["Couldn't find the specified plugin name for mpi/", "Invalid MPI type", "--mpi=list for acceptable types"],
        "set SLURM_MPI_TYPE to a plugin that `srun --mpi=list` lists: pmix for Open MPI, pmi2 for MPICH")
        .special(LauncherMismatch),
    row(Setup, Starting, "a node cannot resolve the name of a host",
        &["Unable to get host entry", "unable to get host address", "Unable to resolve \"", "gethostbyname fail"],
        "run `getent hosts NAME` with the name of the message on the nodes, and add it to DNS or /etc/hosts there; a name that only one node \
         knows is often its own (hostname)"),
    row(Setup, Starting, PMI,
        &["OMPI was not built with SLURM's PMI support", "PMI2_Init failed", "PMI_Init failed", "PMI_Init returned", "PMIx_Init failed",
          "ext3x_client.c", "PMI server not found", "pmix_init:startup:internal-failure", "MPI was not built with PMI support",
          "Invalid MPI plugin"],
        CHOOSE_PMI)
        .of_srun()
        .special(LauncherMismatch),
    row(Setup, Starting, REFUSED,
        &["Invalid partition name", "invalid partition specified", "Invalid account", "Invalid qos", "Memory specification can not be satisfied",
          "Job violates accounting", "Invalid generic resource"],
        CORRECT_REQUEST),
    row(Setup, Starting, "another step of the job holds the memory, cores or nodes that the launch needs",
        &["Memory required by task is not available", "Unable to create step..Requested nodes are busy",
          "Unable to create step..Resource temporarily"],
        "set SLURM_OVERLAP=1, or SLURM_MEM_PER_NODE=0 for all memory of the job; request all memory with --directive=--mem=0; end other steps \
         of the job (`squeue --steps`)"),
    row(Setup, Starting, "the launch needs more cores or nodes than the job has",
        &["More processors requested than permitted", "Only allocated .. nodes asked for", "Requested node configuration is not available",
          "not enough slots available", "requested more processes than the ppr", "binding more", "claim exceeds reservation's",
          "nid count exceeds reservation", "exceeds allocated", "insufficient resources", "unsatisfiable request", "Unable to layout tasks",
          "no allocated resources", "are already filled"],
        "request more nodes or cores, or set fewer ranks or another ranks_per_node in the sweep")
        .with_extra_lines(1),
    row(Setup, Starting, "Slurm's authentication (munge) does not work between this machine and the cluster",
        &["Munge encode failed", "Munge decode failed", "munge.socket", "authentication error", "Job credential expired",
          "Invalid job credential", "Invalid authentication credential", "Rewound credential", "Expired credential"],
        "start munge on the node that the message names (systemctl status munge); its key and the clock must be those of the cluster"),
    row(Setup, Starting, "this machine has no Slurm configuration, or cannot reach Slurm's controller",
        &["Could not establish a configuration source", "Unable to contact slurm controller"],
        "run this on a login or compute node of the cluster, and check that `sinfo` answers"),
    row(Setup, Starting, REFUSED, &["Unable to allocate resources"], CORRECT_REQUEST),
    row(Setup, Starting, "srun requests a binding to cores that the launch does not have",
        &["CPU binding outside of", "Unable to satisfy cpu bind"],
        "unset SLURM_CPU_BIND, SLURM_CPU_BIND_LIST and SLURM_CPU_BIND_TYPE, which srun in another step or job has set, or set \
         SLURM_CPU_BIND=none (--cpu-bind=none)"),
    row(Transient, Starting, "Slurm cannot reach its daemon (slurmd) on a node",
        &["Task launch for ..failed on node", "Application launch failed", "Communication connection failure", "check slurm.conf",
          "Zero Bytes were transmitted"],
        "check the node (`scontrol show node NAME`); if it happens again, exclude it (--exclude)"),
    row(Setup, Refused, "this machine does not know a node's ssh key, or the key has changed",
        &["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"],
        "log in to that node once with ssh and accept its key (ssh-keyscan NODE >> ~/.ssh/known_hosts), or use the batch system's launcher"),
    row(Setup, Refused, "a node refuses the ssh login",
        &["Permission denied (publickey", "Permission denied (gss", "Permission denied (password", "Permission denied (keyboard",
          "Permission denied (hostbased", "Permission denied, please try again", "Too many authentication failures", "pam_slurm_adopt",
          "_exchange_identification"],
        "set up ssh without a password (ssh-copy-id NODE), or use the batch system's launcher"),
    row(Setup, Starting, "a node cannot open a TCP connection to another node, often because of a firewall",
        &["check for firewalls", "HYDU_sock_connect", "unable to complete a TCP connection"],
        "open the ports between the nodes in the firewall, or set a range that is open: MPIEXEC_PORT_RANGE=LOW:HIGH (MPICH), \
         I_MPI_PORT_RANGE (Intel MPI), OMPI_MCA_oob_tcp_dynamic_ipv4_ports (Open MPI); HYDRA_IFACE or OMPI_MCA_oob_tcp_if_include \
         names the network"),
    row(Setup, Refused, UNREACHED,
        &["Could not resolve hostname", "ssh: connect to host", "unable to find interface", "unable to get network interface",
          "does not know how to route"],
        CHECK_NAMES),
    row(Setup, Starting, "mpirun refuses to run as root", &["has detected an attempt to run as root"],
        "run as another user, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"),
    row(Setup, Starting,
        "the launcher does not know one of its options: the program on the PATH is another kind or version than the sweep's launcher",
        &["unknown option", "unrecognized argument", "unrecognized option", "invalid option --"],
        "choose the launcher that fits the program on the PATH, or `custom` with your own command"),

    // Messages within a node have no way, or a slow one.
    row(Setup, Running, "System V shared memory of a node is used up or forbidden",
        &["shmget(", "mm_sysv.c", "for mm_recv_desc"],
        "remove the segments of ended programs (`ipcs -m`, ipcrm), raise the limits that `ipcs -l` shows, or set UCX_TLS=^sysv"),
    row(Setup, Running, "/dev/shm of a node is too small or cannot be used, so messages within the node fail or take a slow way",
        &["not enough space for /", "the shared-memory backing", "shm..No space left on device", "No space left on device../dev/shm",
          "during shared memory initialization", "could not set up shared memory segment", "shm_open..failed", "/dev/shm..Cannot allocate",
          "/dev/shm..Permission denied", "check that /dev/shm"],
        "make /dev/shm larger (docker run --shm-size=1g, or --ipc=host; mount -o remount,size=50% /dev/shm), and delete files of ended programs \
         in it: vader_segment.*, osc_sm.*, sm_segment.*")
        .with_extra_lines(2),
    row(Setup, Running, "ranks of a node are in different containers or user namespaces, so they cannot open each other's shared memory",
        &["open(file_name=/proc/", "mm_posix.c..open", "mm ep failed to connect", "failed to connect to remote peer with mm",
          "failed: Shared memory error"],
        "set UCX_POSIX_USE_PROC_LINK=n or UCX_TLS=^posix, or start all ranks of a node in one container"),
    row(Setup, Running, "a rank may not read the memory of another one, so large messages within a node fail or are copied twice",
        &["Read -1, expected", "process_vm_readv", "process_vm_writev", "CMA support is not available", "cma_ep.c", "xpmem_attach",
          "restrictive ptrace"],
        "allow it (docker run --cap-add=SYS_PTRACE, sysctl kernel.yama.ptrace_scope=0), or turn it off: \
         OMPI_MCA_btl_vader_single_copy_mechanism=none (Open MPI 4), OMPI_MCA_smsc=^cma (5), UCX_TLS=^cma"),
    row(Setup, Running, "a node's Omni-Path adapter has no context left for a rank",
        &["assign_context command failed", "can't open hfi unit", "can't open nic unit", "available contexts", "contexts available"],
        "run fewer ranks per node, share contexts (PSM2_RANKS_PER_CONTEXT=2), or end other programs on that node; FI_PROVIDER=tcp does without"),

    // Messages between nodes have no way.
    row(Setup, Starting, "Open MPI does not have a component that its settings name, or cannot load it",
        &["A requested component was not found"],
        "unset OMPI_MCA_* or correct it (`ompi_info` lists the components), or use an Open MPI that is built with that component")
        .with_extra_lines(7),
    row(Setup, Starting, "the installation of Open MPI on a node is incomplete, or of two versions",
        &["opal_init failed", "opal_shmem_base_select failed", "orte_init failed", "opal_init:startup"],
        "use mpirun and libraries of one Open MPI: check PATH, LD_LIBRARY_PATH, OPAL_PREFIX and OMPI_MCA_* on the nodes"),
    row(Setup, Starting, NETWORK,
        &["PML .. cannot be selected", "unable to reach each other", "at least one MPI process is unreachable",
          "No components were able to be opened in the pml", "PML add procs failed", "Returned \"Unreachable\"", "OFI addrinfo() failed", "OFI get address vector",
          "OFI endpoint open failed", "MPIDI_UCX_init_local"],
        FREE_NETWORK),
    row(Setup, Starting, NETWORK, &["MPIDI_OFI_mpi_init_hook", "failed an OFI Libfabric library call"], FREE_NETWORK).with_extra_lines(1),
    row(Setup, Running, REGISTER, &["ibv_reg_mr", "ibv_create_..Cannot allocate memory", "Unable to create send CQ", "failed to register memory"], RAISE_MEMLOCK),

    // A rank died.
    row(Transient, Running, KILLED,
        &["task ..: Killed", "tasks ..: Killed", "exit code: 137", "exit code 137"], COMPARE_MEMORY),
    row(Transient, Running, "a rank did not get the memory that it needs",
        &["memory allocation of .. bytes failed", "std::bad_alloc", "fork..Cannot allocate memory"], REQUEST_MEMORY),
    row(Transient, Running, "a rank crashed with a bus error, often because /dev/shm or a file system is full",
        &["signal 7 (", "signal: 7", "(signal 7)", "from signal 7", "with signal 7", "by signal 7", "Bus error"],
        "check `df /dev/shm` on the node; see also the .stderr file next to the launch's journal"),
    row(Transient, Running, "a rank crashed",
        &["signal 11 (", "(signal 11)", "signal: 11", "from signal 11", "with signal 11", "by signal 11", "Segmentation fault", "signal 6 (",
          "signal: 6", "(signal 6)", "from signal 6", "with signal 6", "by signal 6", "signal 8 (", "(signal 8)", "task ..: Aborted",
          "tasks ..: Aborted"],
        SEE_OUTPUT),
    row(Transient, Running, "a connection between ranks was lost",
        &["Connection reset by peer", "Connection timed out", "No route to host", "Transport retry count exceeded", "Endpoint timeout"],
        "check that all nodes are healthy, and rerun"),
    row(Transient, Running, "the step was cancelled", &["CANCELLED AT", "Terminated by user", "TERM_OWNER"],
        "rerun the same command: all samples are kept"),

    // Launches that measure print these too.
    row(Setup, Starting, PMI, &["PMIX ERROR"], CHOOSE_PMI).of_srun().special(LauncherMismatch),
    row(Setup, Running, REGISTER, &["locked memory", "memlock"], RAISE_MEMLOCK),
    row(Setup, Starting, NETWORK, &["no usable transports/devices", "fi_getinfo", "No provider found", "Destination is unreachable"],
        FREE_NETWORK),
    row(Setup, Starting, "the nodes have different versions of MPI or its helpers",
        &["PMIX_ERR_NOT_SUPPORTED", "version mismatch", "incompatible version"],
        "install the same MPI at the same path on all nodes"),
    row(Setup, Starting, UNREACHED, &["Name or service not known", "Temporary failure in name resolution"], CHECK_NAMES),
    row(Setup, Starting, LIBRARY, &["cannot open shared object"], LOAD_MODULES),
    row(Setup, Starting, "the launch waits for nodes that other steps of the job use", &["Requested nodes are busy"],
        "set SLURM_OVERLAP=1, or end the other steps (`squeue --steps`)"),
    row(Setup, Running, "a file system has no space left for this user (quota)", &["Disk quota exceeded"],
        "delete files there (`quota -s` shows the limit), or choose other folders with --out and TMPDIR"),
    row(Setup, Starting, "a node's limit of processes or open files is too low",
        &["Too many open files", "Resource temporarily unavailable", "number of children"],
        "raise the limits on the nodes (ulimit -n, ulimit -u), or run fewer ranks per node"),
    row(Setup, Starting, "a program is not on the PATH", &["command not found"],
        "load its module, also in the job (--module), or name it with its path"),
    row(Setup, Starting, DAEMONS, &["unable to run bstrap_proxy", "unable to run proxy on"],
        "on one node, also in a container without ssh, set I_MPI_HYDRA_BOOTSTRAP=fork (Intel MPI) or HYDRA_LAUNCHER=fork (MPICH); in a Slurm \
         job on several nodes, slurm instead of fork; otherwise check that `ssh NODE` works and that all nodes have the same MPI"),
    row(Setup, Starting, DAEMONS,
        &["unable to reliably start one or more daemons", "daemon has unexpectedly failed", "error setting up the boo"],
        SAME_MPI),
    row(Transient, Running, "the MPI library aborted the launch",
        &["*** An error occurred in", "*** MPI_ERR_", "Fatal error in "], SEE_OUTPUT)
        .with_extra_lines(1),
    row(Setup, Starting, "the nodes have different versions of MPI or its helpers", &["Data unpack had inadequate space"],
        "install the same MPI at the same path on all nodes"),
];
