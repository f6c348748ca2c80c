//! Tests of the messages of launchers and MPI libraries when a launch fails: the cause is recognised, and the line that
//! shows it is kept.

use super::common::Scratch;
use apexmap_base::other_output::{LineCounts, OtherOutput};
use apexmap_run::drive::errors::ErrorOutput;
use apexmap_run::launch::causes::{CAUSES, Nature, Search, Stage, find, find_handicap};

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("recorded/launchers/", $name, ".txt"))
    };
}

const LIBRARY: &str = "a shared library";
const WORKER: &str = "a node cannot find or execute the worker";
const HELPER: &str = "the program by which it reaches other nodes";
const DAEMONS: &str = "the daemons of mpirun did not start";
const CONTAINER: &str = "the container of the ranks does not start";
const CONTAINERS: &str = "different containers or user namespaces";
const SYSV: &str = "System V shared memory";
const SHM: &str = "/dev/shm of a node is too small";
const CMA: &str = "may not read the memory of another";
const MUNGE: &str = "authentication (munge)";
const CRASH: &str = "a rank crashed";
const CORES: &str = "needs more cores or nodes";
const PMI: &str = "process management (PMI)";
const NETWORK: &str = "cannot use the network";
const OPTION: &str = "does not know one of its options";
const KILLED: &str = "signal 9 killed a rank";
const REACHED: &str = "this machine cannot reach a node";
const BINDING: &str = "a binding to cores that the launch does not have";
const FIREWALL: &str = "often because of a firewall";
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
    (recorded!("openmpi-crash"), CRASH, "signal 11 (Segmentation fault)"),
    (recorded!("mpich-no-worker"), WORKER, "execvp error on file /nonexistent/apexmap"),
    (recorded!("mpich-not-executable"), WORKER, "Permission denied"),
    (recorded!("mpich-no-library"), LIBRARY, "libmpich.so.99"),
    (recorded!("mpich-unknown-host"), REACHED, "nosuchhost"),
    (recorded!("mpich-no-interface"), REACHED, "unable to find interface nosuch"),
    (recorded!("mpich-unknown-option"), OPTION, "unrecognized argument nosuchflag"),
    (recorded!("mpich-ucx"), NETWORK, "No such device"),
    (recorded!("mpich-killed"), KILLED, "Killed (signal 9)"),
    (recorded!("mpich-crash"), CRASH, "(signal 11)"),
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
    // Messages as in public reports.
    (
        "n1: UCX  ERROR   shmget(size=134221824 flags=0x7b0) for mm_recv_desc failed: No space left on device",
        SYSV,
        "134221824",
    ),
    (
        "mm_posix.c:194  UCX  ERROR open(file_name=/proc/20353/fd/18 flags=0x0) failed: No such file or directory",
        CONTAINERS,
        "20353",
    ),
    (
        "mm_posix.c:445  UCX  ERROR Error returned from open in attach. Permission denied. File name is: /proc/9/fd/16",
        CONTAINERS,
        "attach",
    ),
    (
        "UCX  ERROR Not enough memory to write total of 67108864 bytes. Please check that /dev/shm or the directory you specified has \
         more available memory.",
        SHM,
        "67108864",
    ),
    (
        "cma_ep.c:84   process_vm_readv(pid=9 {0x2,12480}-->{0x1,12480}) returned -1: Operation not permitted",
        CMA,
        "readv",
    ),
    (
        "A requested component was not found, or was unable to be opened.  This\nmeans that this component is either not\n\nHost:      n1\n\
         Framework: pml\nComponent: ucx\n----------------\n[n1:9] *** An error occurred in MPI_Init",
        "a component that its settings name",
        "Framework: pml Component: ucx",
    ),
    (
        "It looks like opal_init failed for some reason\n\n  opal_shmem_base_select failed",
        "the installation of Open MPI",
        "opal_init",
    ),
    ("n1.304088hfi_userinit_internal: assign_context command failed: Device or resource busy", "Omni-Path", "busy"),
    (
        "n1.9PSM2 can't open hfi unit: -1 (err=23)\nFatal error in MPI_Init: Internal MPI error!",
        "Omni-Path",
        "hfi unit",
    ),
    ("n1:rank1: PSM3 can't open nic unit: 0 (err=23)\nn1: rank 1 exited with code 1", "Omni-Path", "nic unit"),
    (
        "MPIDI_OFI_mpi_init_hook(1653): \ncreate_vni_context(2253).....: OFI endpoint open failed (ofi_init.c:2253:Invalid argument)",
        NETWORK,
        "OFI endpoint open failed",
    ),
    ("MPIDI_OFI_mpi_init_hook(1554): \n(unknown)(): No such device", NETWORK, "No such device"),
    (
        "srun: error: Unable to create step for job 9: Memory required by task is not available",
        "another step of the job",
        "Memory",
    ),
    ("srun: error: Unable to create step for job 9: Requested nodes are busy", "another step of the job", "busy"),
    (
        "srun: Job 9 step creation temporarily disabled, retrying (Requested nodes are busy)",
        "waits for nodes",
        "retrying",
    ),
    (
        "srun: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No such file or directory\n\
         srun: error: Unable to create step for job 9: Protocol authentication error",
        MUNGE,
        "munge.socket.2",
    ),
    ("srun: error: Task launch for StepId=9.4 failed on node n7: Job credential expired", MUNGE, "n7"),
    (
        "srun: error: Task launch for StepId=9.0 failed on node n7: Socket timed out on send/recv operation\n\
         srun: error: Application launch failed: Socket timed out on send/recv operation",
        "its daemon (slurmd)",
        "n7",
    ),
    (
        "bash: line 1: orted: command not found\nORTE was unable to reliably start one or more daemons.",
        DAEMONS,
        "orted",
    ),
    ("bash: /opt/ompi/bin/prted: No such file or directory", DAEMONS, "prted"),
    ("orted: error while loading shared libraries: libimf.so: cannot open shared object file", DAEMONS, "libimf.so"),
    (
        "HYDU_create_process (launch.c:69): execvp error on file /w/hydra_pmi_proxy (No such file or directory)",
        DAEMONS,
        "proxy",
    ),
    (
        "[mpiexec@n1] check_exit_codes (poll.c:117): unable to run bstrap_proxy on n2 (pid 9, exit code 256)",
        DAEMONS,
        "n2",
    ),
    (
        "[mpiexec@n1] HYDU_create_process (launch.c:74): execvp error on file /usr/bin/ssh (No such file)",
        HELPER,
        "/usr/bin/ssh",
    ),
    (
        "[mpiexec@n1] HYDU_create_process (launch.c:74): execvp error on file srun (No such file or directory)",
        HELPER,
        "srun",
    ),
    (
        "[proxy:0:0@n1] HYDU_create_process (launch.c:74): execvp error on file /home/ssh/worker (No such file)",
        WORKER,
        "ssh/worker",
    ),
    (
        "FATAL:   container creation failed: mount /proc/self/fd/3->/rootfs error: squashfuse_ll exited",
        CONTAINER,
        "squashfuse",
    ),
    (
        "slurmstepd: error: pyxis: couldn't start container\nsrun: error: n1: task 0: Exited with exit code 1",
        CONTAINER,
        "pyxis",
    ),
    ("docker: Error response from daemon: OCI runtime create failed: exec: \"/w\": no such file", CONTAINER, "OCI"),
    ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   KILLED BY SIGNAL: 9 (Killed)", KILLED, "SIGNAL: 9"),
    (
        "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   KILLED BY SIGNAL: 11 (Segmentation fault)",
        CRASH,
        "SIGNAL: 11",
    ),
    ("prterun noticed that process rank 1 with PID 9 on node n1 exited on signal 7 (Bus error).", CRASH, "Bus error"),
    ("x1000c0s0b0n0: rank 1 died from signal 9", KILLED, "rank 1"),
    ("_pmiu_daemon(SIGCHLD): [NID 00012] PE RANK 1 exit signal Killed", KILLED, "NID 00012"),
    (
        "opal_os_dirpath_create: Error: Unable to create the sub-directory (/tmp/ompi.n1.0)",
        "temporary folder",
        "/tmp/ompi.n1.0",
    ),
    (
        "srun: error: Unable to allocate resources: Requested time limit is invalid",
        "the batch system refuses",
        "time limit",
    ),
    (
        "memory allocation of 1073741824 bytes failed\nn1: rank 0 died from signal 6",
        "did not get the memory",
        "1073741824",
    ),
    ("ERROR:  One or more process (first noticed rank 1) terminated with signal 9", KILLED, "rank 1"),
    (
        "[n1:9:0:9] Caught signal 7 (Bus error: nonexistent physical address)",
        "bus error, often because /dev/shm",
        "nonexistent",
    ),
    (
        "srun: error: CPU binding outside of job step allocation, allocated CPUs are: 0x0000000F.\n\
         srun: error: Task launch for StepId=9.0 failed on node n7: Unable to satisfy cpu bind request",
        BINDING,
        "0x0000000F",
    ),
    (
        "[proxy:0:1@n2] HYDU_sock_connect (sock.c:113): unable to connect from \"n2\" to \"n1\" (No route to host)\n\
         [proxy:0:1@n2] main (pmip.c:189): unable to connect to server n1 at port 40001 (check for firewalls!)",
        FIREWALL,
        "n1",
    ),
    (
        "A process or daemon was unable to complete a TCP connection\nto another process:\n  Local host:    n1",
        FIREWALL,
        "TCP connection",
    ),
    ("Unable to get host entry for n5\n[unset]: PMI_Init returned -1", "cannot resolve the name of a host", "n5"),
    ("[mpiexec@n1] HYDU_getfullhostname: unable to get host address for n9 (1)", "cannot resolve the name", "n9"),
    ("srun: error: Unable to resolve \"n7\": Unknown host", "cannot resolve the name", "n7"),
    ("  --> Returned \"Unreachable\" (-12) instead of \"Success\" (0)", NETWORK, "-12"),
    (
        "/w/apexmap: error while loading shared libraries: /lib64/libc.so.6: CPU ISA level is lower than required",
        "another kind of processor",
        "ISA level",
    ),
    ("write failed: Disk quota exceeded (os error 122)", "no space left for this user", "quota"),
    ("kex_exchange_identification: Connection closed by remote host", "refuses the ssh login", "kex"),
];

/// What ended a launch.
const ENDS: &[(&str, &str)] = &[
    ("mpirun noticed that process rank 1 with PID 9 on node n1 exited on signal 9 (Killed).", KILLED),
    ("mpirun noticed that process rank 1 with PID 9 on node n1 exited on signal 11 (Segmentation fault).", CRASH),
    ("There are not enough slots available in the system to satisfy the 64", CORES),
    ("slurmstepd: error: *** STEP 7.1 ON n2 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***", TIME),
    ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3.0.", MEMORY),
    ("srun: error: Node failure on n4", LOST),
    ("slurmstepd: error: execve(): /w/apexmap: No such file or directory", WORKER),
    ("[n1:9] Open MPI failed: Transport retry count exceeded on mlx5_0:1", "a connection between ranks was lost"),
];

/// Lines of launches that measure well, which show no cause.
const WARNINGS: &[&str] = &[
    "[n1:9] mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1: cannot open shared object file: No such file \
     or directory (ignored)",
    "[n1:9] mca_base_component_repository_open: unable to open mca_btl_uct: mca_btl_uct.so: undefined symbol: uct_ep (ignored)",
    "--------------------------------------------------------------------------\nWARNING: There was an error initializing an OpenFabrics \
     device.\n\n  Local host:   n1\n--------------------------------------------------------------------------",
    "--------------------------------------------------------------------------\nWARNING: Open MPI failed to TCP connect to a peer MPI \
     process.\n\n  Local host: n1\n  Message:    No route to host (113)\nYour job may hang: Connection timed out\n\
     --------------------------------------------------------------------------",
    "WARNING: An invalid value was given for btl_tcp_if_include.  This\n  Message:    unable to find interface matching this subnet",
    "[1795396356.97] [n1:9 :0]     ucp_context.c:1014 UCX  WARN  failed to register memory: no usable transports/devices",
    "libibverbs: Warning: couldn't load driver 'librxe-rdmav25.so': librxe-rdmav25.so: cannot open shared object file",
    "libfabric:9:1693920302::core:core:fi_getinfo_():1234<warn> fi_getinfo: provider usnic returned -61 (No data available)",
    "[n1:9] PMIX ERROR: ERROR in file gds_ds12_lock_pthread.c at line 168",
    "n1.9hfi_wait_for_device: The /dev/hfi1_0 device failed to appear after 15.0 seconds: Connection timed out",
    "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1",
    "slurmstepd-n1: error: couldn't chdir to `/home/u': No such file or directory: going to /tmp instead",
    "slurmstepd: error: run_command: slurm task_prolog can not be executed (/etc/prolog.sh) No such file or directory",
    "INFO:    User not listed in /etc/subuid, trying root-mapped namespace",
    "A high-performance Open MPI point-to-point messaging module\nwas unable to find any relevant network interfaces:",
];

/// Lines that launches that measure print as well as launches that fail.
const SUSPECTS: &[&str] = &[
    "[n1:9] PMIX ERROR: UNREACHABLE in file ptl_tcp_component.c at line 1849",
    "The OpenFabrics (openib) BTL failed to initialize while trying to\nallocate some locked memory.",
    "pmix: PMIx version mismatch between server 4.2 and client 3.1",
    "[n1:9] [[5071,0],0] ORTE_ERROR_LOG: Data unpack had inadequate space in file show_help.c at line 513",
    "prolog: module: command not found",
    "sudo: unable to resolve host n1: Name or service not known",
    "n1.9: UCX  ERROR no usable transports/devices (asked ib on network:*)",
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
    let noise = format!("[n1:00065] 3 more processes have sent help message\n{}\n", WARNINGS.join("\n")).repeat(30);
    for (text, cause, line) in RECORDED.iter().chain(COMPOSED) {
        check(&format!("{noise}{text}\n{noise}"), cause, line);
    }
}

#[test]
fn warnings_of_successful_launches_are_not_causes() {
    for warning in WARNINGS.iter().copied().chain([""]) {
        assert_eq!(find(warning), None, "{warning}");
    }
    assert_eq!(find(&WARNINGS.join("\n")), None);
}

#[test]
fn what_ended_the_launch_precedes_what_may_be_a_warning() {
    for (end, cause) in ENDS {
        for suspect in SUSPECTS {
            check(&format!("{suspect}\n--------------------\n{end}\n--------------------\n"), cause, end);
            check(&format!("{end}\n{suspect}\n"), cause, "");
        }
    }
}

#[test]
fn a_full_shared_memory_explains_a_bus_error() {
    let text = "[n1:9] [[5071,0],0] ORTE_ERROR_LOG: Data unpack had inadequate space in file show_help.c at line 513\n\
                It appears as if there is not enough space for /dev/shm/vader_segment.n1.0 (the shared-memory backing\n  Space Requested: \
                4194312 B\n  Space Available: 16384 B\nmpirun noticed that process rank 1 exited on signal 7 (Bus error).\n";
    check(text, SHM, "Space Available: 16384 B");
    check(&text.replace("signal 7 (Bus error)", "signal 9 (Killed)"), KILLED, "signal 9");
}

#[test]
fn the_greeting_of_the_ranks_refutes_faults_of_their_start() {
    let mut search = Search::default();
    let add = |search: &mut Search, text: &str| {
        text.lines().for_each(|line| search.add_line(line));
        search.cause().map(|match_found| match_found.cause.summary)
    };
    add(&mut search, "It appears as if there is not enough space for /dev/shm/vader_segment.n1.0\n");
    let worker = "slurmstepd: error: execve(): /opt/prolog: No such file or directory\n";
    assert!(add(&mut search, worker).expect("a cause").contains(WORKER));
    search.record_start();
    let late = SUSPECTS.iter().filter(|text| !text.contains("locked memory")).chain([&worker]);
    for text in late {
        assert!(add(&mut search, text).expect("a cause").contains(SHM), "{text}");
    }
    let crash = "mpirun noticed that process rank 1 exited on signal 9 (Killed).";
    assert!(add(&mut search, crash).expect("a cause").contains(KILLED));
}

#[test]
fn only_refusals_of_the_launcher_are_final() {
    for text in SUSPECTS {
        let suspect = find(text).unwrap_or_else(|| panic!("no cause is found for: {text}"));
        assert_ne!(suspect.cause.stage, Stage::Refused, "{text}");
    }
    for (text, ..) in [RECORDED[3], RECORDED[7], RECORDED[17]] {
        assert_eq!(find(text).expect("a cause").cause.stage, Stage::Refused, "{text}");
    }
}

#[test]
fn known_handicaps_of_launches_that_measure_have_advice() {
    for (line, cause) in [
        ("It appears as if there is not enough space for /dev/shm/vader_segment.n1.0 (the shared-memory backing", SHM),
        ("[n1:39278] Read -1, expected 131072, errno = 1", CMA),
        ("WARNING: but CMA support is not available due to restrictive ptrace settings.", CMA),
        ("allocate some locked memory.", "cannot register memory"),
    ] {
        assert!(find_handicap(line).expect("a cause").summary.contains(cause), "{line}");
    }
    for line in WARNINGS.iter().filter(|line| !line.contains("register memory")).chain(&SUSPECTS[..1]) {
        assert_eq!(find_handicap(line), None, "{line}");
    }
}

#[test]
fn every_cause_has_advice() {
    for cause in CAUSES {
        assert!(cause.summary.len() > 10 && cause.advice.len() > 10, "{}", cause.summary);
    }
    assert!(CAUSES.iter().filter(|cause| cause.nature == Nature::Setup).count() > 15);
}

#[test]
fn a_cause_in_the_middle_of_much_output_is_kept() {
    const CHUNK: usize = 1 << 16;
    let scratch = Scratch::new();
    let mut errors = ErrorOutput::create(&scratch.join("stderr"), &["srun".into()]).expect("a file");
    let line = "ucp_worker.c:1855 UCX  INFO  ep_cfg[0]: tag(self/memory knem/memory) rma(self/memory) signal handler of node n1\n";
    let chunk: String = line.chars().cycle().take(CHUNK).collect();
    (0..80).for_each(|_| errors.add(chunk.as_bytes()));
    assert!(errors.cause().is_none());
    // In the middle of 10 MB, which is not kept, and in two pieces.
    errors.add(b"\nssh: connect to ho");
    assert!(errors.cause().is_none());
    errors.add(b"st n2 port 22: Connection refused\n");
    (0..80).for_each(|_| errors.add(chunk.as_bytes()));
    let kept = errors.cause().expect("a cause stays once it is found");
    assert_eq!(kept.line, "ssh: connect to host n2 port 22: Connection refused");
    // A more specific cause replaces the first one, even before the end of its line.
    errors.add(b"\nHost key verification failed.");
    assert!(errors.cause().expect("a cause").cause.summary.contains("ssh key"));
    errors.finish();
    assert!(errors.cause().expect("a cause").cause.summary.contains("ssh key"));
    let counts = errors.into_counts();
    assert!(counts.lines > 80_000 && counts.frequent[0].count > 80_000, "{counts:?}");
}

#[test]
fn a_line_without_an_end_is_searched_in_pieces_and_not_stored() {
    let scratch = Scratch::new();
    let mut errors = ErrorOutput::create(&scratch.join("stderr"), &["srun".into()]).expect("a file");
    for padding in 0..9 {
        errors.add(&vec![b'x'; 1000 + padding]);
        errors.add(b" unable to find inter");
        errors.add(&[b"face eth7".as_slice(), &[b'x'; 4000]].concat());
    }
    assert!(errors.cause().expect("a cause").line.len() < 6000);
}

#[test]
fn lines_that_differ_only_in_numbers_count_as_one() {
    let mut counts = LineCounts::default();
    for process in 0..40 {
        counts.add(&format!("[c0{process}:39{process}] Read -1, expected {process}, errno = 1"));
    }
    for line in ["", "------", "an apple", "a pear", "an apple", "a fig", "[c1:9] done"] {
        counts.add(line);
    }
    let first = counts.finish();
    assert_eq!((first.lines, first.frequent.len()), (45, 3));
    assert_eq!((first.frequent[0].count, first.frequent[1].count), (40, 2));
    assert_eq!(first.frequent[0].line, "[c00:390] Read -1, expected 0, errno = 1");
    let mut second = first.clone();
    second.causes.insert("it is slow; what to do: wait".into());
    let total = OtherOutput::total([&first, &second, &second].into_iter());
    assert_eq!((total.lines, total.frequent[0].count, total.causes.len()), (135, 120, 1));
    let sentences = total.sentences();
    assert!(sentences[0].contains("135 lines") && sentences[0].contains("120 times \"[c00:390] Read"), "{sentences:?}");
    assert_eq!(sentences[1], "it is slow; what to do: wait");
    assert!(OtherOutput::default().sentences().is_empty());
}

#[test]
fn advice_for_srun_is_given_only_for_its_launches() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for (command, is_found) in
        [("mpirun -n 2 worker", false), ("srun -n 2 worker", true), ("sh -c 'srun worker'", true)]
    {
        let mut search = Search::of_command(&words(command));
        search.add_line("[n1:7] PMIX ERROR: NO-PERMISSIONS in file gds_dstore.c, PMIx_Init failed");
        search.add_line("PMI server not found");
        assert_eq!(search.cause().is_some(), is_found, "{command}");
    }
}
