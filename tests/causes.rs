//! Tests of the messages of launchers and MPI libraries when a launch fails: the cause is recognised, and the line that
//! shows it is kept.

use super::common::Scratch;
use apexmap_run::launch::causes::{CAUSES, Nature, find};
use apexmap_run::sweep::errors::ErrorOutput;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("recorded/launchers/", $name, ".txt"))
    };
}

const LIBRARY: &str = "a shared library";
const WORKER: &str = "a node cannot find or execute the worker";
const CORES: &str = "needs more cores or nodes";
const PMI: &str = "process management (PMI)";
const NETWORK: &str = "cannot use the network";
const OPTION: &str = "does not know one of its options";
const KILLED: &str = "signal 9 killed a rank";
const REACHED: &str = "this machine cannot reach a node";
const OTHER: &str = "belongs to another MPI";
const LOST: &str = "a node was lost";
const TIME: &str = "the job reached its time limit";
const MEMORY: &str = "killed a step that ran out of memory";

/// Messages printed by Open MPI 4.1.4, MPICH 4.0.2 and Slurm 22.05 on one machine, with a part of the cause and a part
/// of the line that shows it.
const RECORDED: &[(&str, &str, &str)] = &[
    (recorded!("openmpi-slots"), CORES, "to satisfy the 64 slots"),
    (recorded!("openmpi-ppr"), CORES, "more processes than the ppr"),
    (recorded!("openmpi-binding"), CORES, "binding more processes than cpus"),
    (recorded!("openmpi-no-worker"), WORKER, "Executable: /nonexistent/apexmap Node: vm"),
    (recorded!("openmpi-not-executable"), WORKER, "Executable: /etc/passwd"),
    (recorded!("openmpi-no-library"), LIBRARY, "libmpi.so.99"),
    (recorded!("openmpi-no-folder"), "the working folder", "Working directory: /nonexistent"),
    (recorded!("openmpi-unknown-host"), REACHED, "Could not resolve hostname nosuchhost"),
    (recorded!("openmpi-ssh-refused"), REACHED, "127.0.0.2 port 22: Connection refused"),
    (recorded!("openmpi-unreachable"), NETWORK, "unable to reach each other"),
    (recorded!("openmpi-no-interface"), NETWORK, "at least one MPI process is unreachable"),
    (recorded!("openmpi-ucx"), NETWORK, "PML ucx cannot be selected"),
    (recorded!("openmpi-ofi"), NETWORK, "No components were able to be opened"),
    (recorded!("openmpi-unknown-option"), OPTION, "--nosuchflag"),
    (recorded!("openmpi-root"), "refuses to run as root", "detected an attempt to run as root"),
    (recorded!("openmpi-killed"), KILLED, "process rank 0 with PID 0 on node vm"),
    (recorded!("openmpi-crash"), "a rank crashed", "signal 11 (Segmentation fault)"),
    (recorded!("mpich-no-worker"), WORKER, "execvp error on file /nonexistent/apexmap"),
    (recorded!("mpich-not-executable"), WORKER, "Permission denied"),
    (recorded!("mpich-no-library"), LIBRARY, "libmpich.so.99"),
    (recorded!("mpich-unknown-host"), REACHED, "nosuchhost"),
    (recorded!("mpich-no-interface"), REACHED, "unable to find interface nosuch"),
    (recorded!("mpich-unknown-option"), OPTION, "unrecognized argument nosuchflag"),
    (recorded!("mpich-ucx"), NETWORK, "No such device"),
    (recorded!("mpich-killed"), KILLED, "Killed (signal 9)"),
    (recorded!("mpich-crash"), "a rank crashed", "(signal 11)"),
    (recorded!("mpich-error"), "the MPI library aborted", "Invalid rank"),
    (recorded!("srun-no-plugin"), "does not have the MPI plugin", "mpi/nonsense"),
    (recorded!("srun-no-worker"), WORKER, "execve(): /nonexistent/apexmap"),
    (recorded!("srun-not-executable"), WORKER, "execve(): /etc/passwd: Permission denied"),
    (recorded!("srun-no-library"), LIBRARY, "libmpi.so.99"),
    (recorded!("srun-openmpi-pmi2"), PMI, "ext3x_client.c"),
    (recorded!("srun-mpich-pmix"), OTHER, "MPI started a world of 1 instead of 2 ranks"),
    (recorded!("srun-too-many-ranks"), CORES, "More processors requested than permitted"),
    (recorded!("srun-too-many-nodes"), CORES, "Only allocated 1 nodes asked for 2"),
    (recorded!("srun-partition"), "the batch system refuses", "invalid partition specified: nosuch"),
    (recorded!("srun-memory"), "the batch system refuses", "Memory specification can not be satisfied"),
    (recorded!("srun-killed"), KILLED, "n1: tasks 0-1: Killed"),
    (recorded!("srun-cancelled"), "the step was cancelled", "STEP 15.0 ON n1 CANCELLED"),
    (recorded!("srun-job-over"), "the job is over", "Slurm job 15 has expired"),
    (recorded!("srun-no-slurm"), "no Slurm configuration", "Could not establish a configuration source"),
];

/// Messages composed from the programs' documentation and sources, never observed here.
const COMPOSED: &[(&str, &str, &str)] = &[
    (
        "slurmstepd: error: *** STEP 7.1 ON n2 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\nsrun: error: n1: task 0: Terminated",
        TIME,
        "STEP 7.1 ON n2",
    ),
    ("srun: error: Unable to create step for job 9: Job/step already completing or completed", TIME, "job 9"),
    ("=>> PBS: job killed: walltime 3635 exceeded limit 3600", TIME, "3635"),
    (
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3.0.\nsrun: error: n3: task 2: Out Of Memory",
        MEMORY,
        "oom-kill",
    ),
    (
        "srun: error: Node failure on n4\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        LOST,
        "n4",
    ),
    (
        "*** STEP 3.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        LOST,
        "n1",
    ),
    (
        "Host key verification failed.\nORTE was unable to reliably start one or more daemons.",
        "does not know a node's ssh key",
        "Host key",
    ),
    (
        "user@n2: Permission denied (publickey,password).\nORTE was unable to reliably start one or more daemons.",
        "refuses the ssh login",
        "n2",
    ),
    (
        "bash: line 1: orted: command not found\nORTE was unable to reliably start one or more daemons.",
        "the daemons of mpirun",
        "unable to reliably",
    ),
    (
        "[cli_0]: write_line error; fd=-1\nFatal error in MPI_Init: Other MPI error, error stack:\nPMI2_Init failed",
        PMI,
        "PMI2_Init",
    ),
    ("/w/apexmap: /lib/libc.so.6: version `GLIBC_2.36' not found (required by /w/apexmap)", LIBRARY, "GLIBC_2.36"),
    ("slurmstepd: error: execve(): /w/apexmap: Exec format error", "another kind of processor", "Exec format error"),
    (
        "MPIDI_OFI_mpi_init_hook(1234): OFI addrinfo() failed (ofi_init.c:1234:No data available)",
        NETWORK,
        "OFI addrinfo",
    ),
    (
        "[n1:1] *** An error occurred in MPI_Win_create\n[n1:1] *** MPI_ERR_WIN: invalid window\n[n1:1] *** MPI_ERRORS_ARE_FATAL (processes \
         in this communicator will now abort,",
        "MPI_Win_create fails",
        "An error occurred in MPI_Win_create",
    ),
    ("apsched: claim exceeds reservation's node-count", CORES, "node-count"),
    ("Error:  Your job will never run: insufficient resources", CORES, "insufficient"),
    ("flux-job: ƒ3 exception type=alloc note=unsatisfiable request", CORES, "unsatisfiable"),
];

fn check(text: &str, cause: &str, line: &str) {
    let diagnosis = find(text).unwrap_or_else(|| panic!("no cause is found for: {text}"));
    assert!(diagnosis.cause.summary.contains(cause), "{} instead of {cause}: {text}", diagnosis.cause.summary);
    assert!(diagnosis.line.contains(line), "{} instead of {line}: {text}", diagnosis.line);
}

#[test]
fn messages_of_launchers_and_libraries_give_their_cause() {
    for (text, cause, line) in RECORDED.iter().chain(COMPOSED) {
        check(text, cause, line);
    }
}

#[test]
fn the_decisive_line_is_found_in_any_surrounding_text() {
    let noise =
        "UCX  WARN  network device 'mlx5_0:1' is not available\n[n1:00065] 3 more processes have sent help message\n"
            .repeat(500);
    for (text, cause, line) in RECORDED {
        check(&format!("{noise}{text}{noise}"), cause, line);
    }
}

#[test]
fn warnings_of_successful_launches_are_not_causes() {
    let warnings = "[n1:1] mca_base_component_repository_open: unable to open mca_btl_openib (ignored)\n\
                    --------------------------------------------------------------------------\nWARNING: There was an error initializing \
                    an OpenFabrics device.\n  Local host:   n1\nUCX  WARN  transport 'rc' is not available, please use one or more of: tcp\n\
                    slurmstepd-n1: error: couldn't chdir to `/home/u': No such file or directory: going to /tmp instead\n";
    assert_eq!(find(warnings), None);
    assert_eq!(find(""), None);
}

#[test]
fn every_cause_has_advice() {
    for cause in CAUSES {
        assert!(cause.summary.len() > 10 && cause.advice.len() > 10, "{}", cause.summary);
    }
    assert!(CAUSES.iter().filter(|cause| cause.nature == Nature::Setup).count() > 15);
}

#[test]
fn the_error_output_of_a_launch_is_searched_only_once() {
    const CHUNK: usize = 1 << 16;
    let scratch = Scratch::new();
    let mut errors = ErrorOutput::create(&scratch.join("stderr")).expect("a file");
    let line = "ucp_worker.c:1855 UCX  INFO  ep_cfg[0]: tag(self/memory knem/memory) rma(self/memory) signal handler of node n1\n";
    let chunk: String = line.chars().cycle().take(CHUNK).collect();
    let (mut searched, mut written) = (0, 0);
    let mut add = |errors: &mut ErrorOutput, text: &str| {
        searched += errors.add(text.as_bytes());
        written += text.len();
        // The beginning of a line is searched again with its rest.
        assert!(searched <= written + written.div_ceil(CHUNK) * 8192, "{searched} bytes for {written}");
    };
    (0..160).for_each(|_| add(&mut errors, &chunk));
    assert!(errors.early_cause().is_none() && errors.final_cause().is_none());
    // In the middle of 20 MB, which is not kept, and in two pieces.
    add(&mut errors, "\nssh: connect to ho");
    assert!(errors.early_cause().is_none());
    add(&mut errors, "st n2 port 22: Connection refused\n");
    assert!(errors.early_cause().expect("a cause").cause.summary.contains("this machine cannot reach a node"));
    (0..160).for_each(|_| add(&mut errors, &chunk));
    let kept = errors.final_cause().expect("a cause stays once it is found");
    assert_eq!(kept.line, "ssh: connect to host n2 port 22: Connection refused");
    // A more specific cause replaces the first one, even before the end of its line.
    add(&mut errors, "\nHost key verification failed.");
    assert!(errors.early_cause().expect("a cause").cause.summary.contains("ssh key"));
    assert!(errors.final_cause().expect("a cause").cause.summary.contains("ssh key"));
}

#[test]
fn a_line_without_an_end_is_searched_in_pieces_and_not_stored() {
    let scratch = Scratch::new();
    let mut errors = ErrorOutput::create(&scratch.join("stderr")).expect("a file");
    let searched: usize = (0..1000).map(|_| errors.add(&[b'x'; 1000])).sum();
    assert!(searched < 6_000_000, "{searched} bytes for 1000000");
    errors.add(b"unable to find inter");
    errors.add(b"face eth7");
    assert!(errors.early_cause().is_some());
}
