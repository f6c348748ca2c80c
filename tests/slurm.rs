//! Tests with a real Slurm: its controller and four node daemons run on this machine, and jobs are submitted as users
//! submit them.

use super::common::{self, Scratch};
use super::mpi_worker::{MPICH, OPEN_MPI};
use apexmap_results::disk::Folder;
use nix::unistd::{Uid, User};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Admits one cluster at a time, because their jobs would share the machine's two cores.
static CLUSTER_LOCK: Mutex<()> = Mutex::new(());

/// Four nodes of two processors. Dropping the value stops them.
struct Cluster {
    scratch: Scratch,
    daemons: Vec<Child>,
    _alone: MutexGuard<'static, ()>,
}

/// Settings that differ between clusters. Memory is a resource; a job gets little of it unless it asks for more.
struct Site {
    /// Default MPI plugin of srun.
    mpi: &'static str,
    /// Cores of a node, as reported by Slurm.
    cores: usize,
    node_mebibytes: usize,
    /// Time limit of a job, in minutes.
    minutes_per_job: usize,
}

impl Default for Site {
    fn default() -> Self {
        Self { mpi: "pmix", cores: 2, node_mebibytes: 2000, minutes_per_job: 10 }
    }
}

/// Returns a port below the range from which the system assigns ports, so that no connection of another test takes it
/// first.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u64::from(std::process::id()) * 64;
    (0..10_000)
        .map(|_| 20_000 + ((start + u64::from(NEXT.fetch_add(1, Ordering::Relaxed))) % 10_000) as u16)
        .find(|&port| TcpListener::bind(("0.0.0.0", port)).is_ok())
        .expect("a free port")
}

impl Cluster {
    fn start() -> Self {
        Self::start_with(&Site::default())
    }

    fn start_with(site: &Site) -> Self {
        let Site { mpi, cores, node_mebibytes: mebibytes, minutes_per_job: longest } = site;
        let alone = CLUSTER_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let scratch = Scratch::new();
        let mut cluster = Self { scratch, daemons: Vec::new(), _alone: alone };
        let user = User::from_uid(Uid::effective()).expect("users").expect("this user").name;
        let host = apexmap_measure::provenance::host_name();
        let path = cluster.scratch.display();
        let mut conf = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser={user}\nSlurmdUser={user}\n\
             AuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=1\nJobAcctGatherParams=OverMemoryKill\nSwitchType=switch/none\nMpiDefault={mpi}\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU_Memory\nDefMemPerCPU=200\nSlurmdParameters=config_overrides\nReturnToService=2\nKillWait=1\n\
             SchedulerParameters=sched_interval=1,bf_interval=1\n\
             SlurmdSpoolDir={path}/spool.%n\nSlurmdPidFile={path}/%n.pid\nSlurmctldPidFile={path}/controller.pid\n\
             StateSaveLocation={path}/state\nTmpFS={path}/tmp.%n\nSlurmdLogFile={path}/%n.log\n\
             SlurmctldLogFile={path}/controller.log\n",
            port = free_port()
        );
        fs::create_dir(cluster.scratch.join("state")).expect("a folder");
        for node in 1..=4 {
            let port = free_port();
            conf += &format!(
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cores} RealMemory={mebibytes}\n"
            );
            fs::create_dir(cluster.scratch.join(format!("spool.n{node}"))).expect("a folder");
            fs::create_dir(cluster.scratch.join(format!("tmp.n{node}"))).expect("a folder");
        }
        conf += &format!("PartitionName=main Nodes=n[1-4] Default=YES MaxTime={longest} State=UP\n");
        fs::write(cluster.conf(), conf).expect("a file");
        cluster.daemon("slurmctld", &["-D"]);
        for node in 1..=4 {
            cluster.daemon("slurmd", &["-D", "-N", &format!("n{node}")]);
        }
        let idle = || {
            let output = cluster.command("sinfo", &["--noheader", "--format=%t %D"]).output().expect("sinfo");
            String::from_utf8_lossy(&output.stdout).contains("idle 4")
        };
        let logs = || format!("four idle nodes; {}", cluster.logs());
        wait(logs, idle);
        cluster
    }

    fn conf(&self) -> std::path::PathBuf {
        self.scratch.join("slurm.conf")
    }

    /// Returns the last lines of all daemons' logs.
    fn logs(&self) -> String {
        let files = fs::read_dir(&*self.scratch).expect("a folder").flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|path| {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{}:\n{}\n", path.display(), lines[lines.len().saturating_sub(10)..].join("\n"))
        })
        .collect()
    }

    fn daemon(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command(program, arguments);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")));
    }

    /// Builds a command with the settings that Slurm and Open MPI need if all nodes are one host.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.conf()).current_dir(&*self.scratch);
        command.env("OMPI_MCA_btl", "self,tcp").env("OMPI_MCA_btl_tcp_if_include", "lo");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command.env("OMPI_MCA_mpi_yield_when_idle", "1");
        command
    }

    fn apexmap(&self, arguments: &[&str]) -> Output {
        common::output(&mut self.command(env!("CARGO_BIN_EXE_apexmap"), arguments))
    }

    fn slurm(&self, arguments: &[&str]) -> String {
        let output = common::output(&mut self.command(arguments[0], &arguments[1..]));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Submits the sweep, and returns the output.
    fn submit(&self, further: &[&str]) -> String {
        let output = self.apexmap(&[&["run", "s.toml", "--no-report", "--out", "result"], further].concat());
        let messages = text(&output);
        assert!(output.status.success(), "{messages}");
        messages
    }

    /// Submits the sweep, and waits until its jobs have ended.
    fn submit_and_wait(&self, further: &[&str]) -> String {
        let messages = self.submit(further);
        self.wait_for_jobs();
        messages
    }

    fn wait_for_jobs(&self) {
        wait(|| format!("an empty queue; {}", self.job_logs()), || self.slurm(&["squeue", "--noheader"]).is_empty());
    }

    fn status(&self) -> String {
        text(&self.apexmap(&["status", "result"]))
    }

    /// Runs apexmap on a login node with this host name. Needs root.
    fn on_login_node(&self, name: &str, arguments: &[&str]) -> Command {
        let script = "echo \"$0\" > /proc/sys/kernel/hostname && exec \"$@\"";
        let program = env!("CARGO_BIN_EXE_apexmap");
        self.command("unshare", &[&["--uts", "sh", "-c", script, name, program], arguments].concat())
    }

    fn samples(&self) -> usize {
        let folder = Folder { path: self.scratch.join("result") };
        folder.records().map_or(0, |records| records.iter().map(|record| record.samples.len()).sum())
    }

    /// Returns the output of all jobs.
    fn job_logs(&self) -> String {
        let files =
            fs::read_dir(self.scratch.join("result/jobs")).expect("a folder").flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.map(|path| fs::read_to_string(path).expect("a log")).collect()
    }

    /// Returns the standard errors of all launches of a result, with backtraces of crashed ranks.
    fn rank_errors(&self, result: &str) -> String {
        let files = fs::read_dir(self.scratch.join(result).join("journals")).expect("a folder").flatten();
        let errors = files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "stderr"));
        errors.map(|path| format!("{}:\n{}\n", path.display(), fs::read_to_string(&path).unwrap_or_default())).collect()
    }

    fn assert_whole(&self, samples: usize) {
        let records = Folder { path: self.scratch.join("result") }.records().expect("journals");
        let mut samples_by_key: Vec<_> = records.iter().flat_map(|record| &record.samples).collect();
        assert_eq!(samples_by_key.len(), samples);
        samples_by_key.sort_by_key(|sample| (&sample.key, sample.block, sample.repetition));
        samples_by_key.dedup_by_key(|sample| (&sample.key, sample.block, sample.repetition));
        assert_eq!(samples_by_key.len(), samples, "samples were duplicated");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Daemons of job steps end with their jobs; no other code stops them.
        self.slurm(&["scancel", "--user", &Uid::effective().to_string()]);
        let begun = Instant::now();
        while !self.slurm(&["squeue", "--noheader"]).is_empty() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
        }
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn wait(describe_goal: impl Fn() -> String, mut until: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(600), "{} did not come", describe_goal());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Writes a sweep of slow points on one thread.
fn write_slow_sweep(folder: &Path, repetitions: u32) {
    let text = format!(
        "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = \"64 kwords\"\nN = 400\n[axes]\nL = [1, 4, 16]\n\
         [launch]\nsubmit = \"slurm\"\n[repeat]\nmin = {repetitions}\n"
    );
    fs::write(folder.join("s.toml"), text).expect("a file");
}

#[test]
fn a_login_node_submits_jobs_of_two_and_of_four_nodes() {
    needs!(Slurm);
    needs!(Mpi);
    let cluster = Cluster::start();
    let worker = OPEN_MPI.worker().display();
    let sweep = format!(
        "name = \"jobs\"\n[[include]]\nkernel = \"message_rate.ping_pong\"\nmessages = 64\nnodes = [2, 4]\n\
         [[include]]\nkernel = \"calibrate.get\"\nmessages = 64\nnodes = [2, 4]\n[launch]\n\
         transport = \"mpi\"\nlauncher = \"srun\"\nranks_per_node = 1\nworker = \"{worker}\"\n\
         [launch.submit]\nsystem = \"slurm\"\npartition = \"main\"\nenvironment = {{ UCX_TLS = \"tcp\" }}\n"
    );
    fs::write(cluster.scratch.join("s.toml"), sweep).expect("a file");
    let shown = text(&cluster.apexmap(&["run", "s.toml", "--out", "result", "--dry-run"]));
    assert!(shown.contains("#SBATCH --nodes=4\n") && shown.contains("export UCX_TLS=tcp\n"), "{shown}");
    assert!(!cluster.scratch.join("result").exists(), "a dry run leaves no files");

    // With two nodes, the job of four nodes waits. Its user cancels it.
    cluster.slurm(&["scontrol", "update", "NodeName=n[3-4]", "State=DRAIN", "Reason=test"]);
    let messages = cluster.submit(&[]);
    assert!(
        messages.contains("submitted job 1: 2 nodes") && messages.contains("submitted job 2: 4 nodes"),
        "{messages}"
    );
    wait(|| cluster.status(), || cluster.samples() == 12 && !cluster.slurm(&["squeue", "--noheader"]).contains(" R "));
    assert!(cluster.status().contains("nodes-4: job 2 is submitted and has not started"), "{}", cluster.status());
    assert!(cluster.submit(&[]).contains("nodes-4: job 2 is submitted"), "it is not submitted twice");
    cluster.slurm(&["scancel", "2"]);
    cluster.slurm(&["scontrol", "update", "NodeName=n[3-4]", "State=RESUME"]);
    fs::remove_file(cluster.scratch.join("result/jobs/nodes-4.queued")).expect("the file that the message names");
    let messages = cluster.submit_and_wait(&[]);
    assert_eq!(messages.matches("submitted job").count(), 1, "only what is missing: {messages}");
    assert!(messages.contains("submitted job 3: 4 nodes"), "{messages}");
    cluster.assert_whole(24);
    // The nodes' network has no remote memory access. The trial detects that, and the launches get settings that work.
    let logs = cluster.job_logs();
    assert!(logs.contains("trial of the largest launch") && logs.contains("note: MPI_Win_create fails"), "{logs}");
    let records = Folder { path: cluster.scratch.join("result") }.records().expect("journals");
    let launches: Vec<_> = records.iter().filter_map(|record| record.launch.as_ref()).collect();
    assert!(launches.iter().all(|launch| launch.environment["OMPI_MCA_osc"] == "pt2pt"), "{logs}");
    // Without a missing point, the same command writes the report. The user is warned that these nodes share a machine.
    let messages = text(&cluster.apexmap(&["run", "s.toml", "--out", "result"]));
    assert!(messages.contains("Several nodes are one machine") && !messages.contains("submitted job"), "{messages}");
    assert!(cluster.scratch.join("result/report.html").is_file());

    // In a job of two nodes, launches of four are refused before any of them starts.
    let mut inside = cluster.command(env!("CARGO_BIN_EXE_apexmap"), &["run", "s.toml", "--out", "other"]);
    let output = inside.env("SLURM_JOB_ID", "1").env("SLURM_JOB_NUM_NODES", "2").output().expect("the program");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("take 4 nodes, but this job has 2 nodes"), "{}", text(&output));
    assert!(text(&output).contains("SLURM_JOB_ID is set"), "{}", text(&output));
    assert!(!cluster.scratch.join("other").exists());
}

#[test]
fn a_requeued_job_resumes_its_sweep() {
    needs!(Slurm);
    let cluster = Cluster::start();
    write_slow_sweep(&cluster.scratch, 150);
    assert_eq!(cluster.submit(&[]).matches("submitted job").count(), 1);
    wait(|| "a sample".into(), || cluster.samples() > 3);
    cluster.slurm(&["scontrol", "requeue", "1"]);
    // Slurm keeps a requeued job for two minutes before it restarts it. A restart in the same second would fail,
    // because the job's credential is revoked by then.
    std::thread::sleep(Duration::from_secs(2));
    wait(
        || "the second start".into(),
        || {
            cluster.slurm(&["scontrol", "update", "JobId=1", "StartTime=now"]);
            let job = cluster.slurm(&["scontrol", "show", "job", "1"]);
            job.contains("Restarts=1") && !job.contains("JobState=PENDING")
        },
    );
    cluster.wait_for_jobs();
    cluster.assert_whole(450);
}

/// The worker of job 1 reports another processor than that of job 2.
#[test]
fn a_job_on_an_unlike_node_measures_from_the_beginning_and_keeps_samples_apart() {
    needs!(Slurm);
    let cluster = Cluster::start();
    write_slow_sweep(&cluster.scratch, 100);
    let (wrapper, program) = (cluster.scratch.join("worker"), env!("CARGO_BIN_EXE_apexmap"));
    let replace = "s/\"node_types\":{\"[^\"]*\"/\"node_types\":{\"Old CPU, 4 cores\"/";
    let script = format!(
        "#!/bin/sh\nif [ \"$SLURM_JOB_ID\" = 1 ] && [ \"$2\" != --info ]; then\n  {program} \"$@\" | sed -u '{replace}'\nelse\n  \
         exec {program} \"$@\"\nfi\n"
    );
    fs::write(&wrapper, script).expect("a file");
    fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("rights");
    let worker = ["--worker", wrapper.to_str().expect("a path")];
    cluster.submit(&worker);
    wait(|| format!("samples; {}", cluster.job_logs()), || cluster.samples() > 9);
    cluster.slurm(&["scancel", "1"]);
    cluster.wait_for_jobs();
    let expected = "runs on other nodes (";
    assert!(!cluster.job_logs().contains(expected), "{}", cluster.job_logs());
    let old = cluster.samples();
    cluster.submit_and_wait(&worker);
    let logs = cluster.job_logs();
    assert!(logs.contains(expected) && logs.contains("Old CPU, 4 cores"), "{logs}");
    cluster.assert_whole(old + 300);
    let status = text(&cluster.apexmap(&["status", "result"]));
    let types = format!("from 2 types of nodes, which are kept apart: Old CPU, 4 cores ({old} samples, launch 0001); ");
    assert!(status.contains(&types) && status.contains("(300 samples, launch 000"), "{status}");
    assert!(status.contains("3 done, 0 partial"), "{status}");
}

/// Writes a sweep of two ranks on two nodes.
fn write_ping_pong_sweep(folder: &Path, worker: &Path) {
    let text = format!(
        "[fixed]\nkernel = \"message_rate.ping_pong\"\nmessages = 16\nnodes = 2\n[launch]\ntransport = \"mpi\"\n\
         launcher = \"srun\"\nranks_per_node = 1\nworker = \"{}\"\n[repeat]\nmin = 2\n",
        worker.display()
    );
    fs::write(folder.join("s.toml"), text).expect("a file");
}

#[test]
fn a_wrong_srun_plugin_is_refused_with_the_right_one() {
    needs!(Slurm);
    needs!(Mpi);
    let cluster = Cluster::start();
    write_ping_pong_sweep(&cluster.scratch, MPICH.worker());
    let run = ["run", "s.toml", "--no-report", "--out", "result"];
    let output = cluster.apexmap(&run);
    let messages = text(&output);
    assert_eq!(output.status.code(), Some(6), "{messages}");
    assert!(messages.contains("the launcher belongs to another MPI than the worker"), "{messages}");
    assert!(
        messages.contains("help: set SLURM_MPI_TYPE=pmi2 for MPICH Version: 4.0.2: SLURM_MPI_TYPE is not set, and"),
        "{messages}"
    );
    assert!(messages.contains("srun offers pmix, none, cray_shasta, pmi2"), "{messages}");
    let output = cluster.command(env!("CARGO_BIN_EXE_apexmap"), &run).env("SLURM_MPI_TYPE", "pmi2").output();
    let output = output.expect("the program");
    assert!(output.status.success(), "{}", text(&output));
    cluster.assert_whole(2);
}

#[test]
fn the_mpi_of_the_worker_determines_a_missing_srun_plugin() {
    needs!(Slurm);
    needs!(Mpi);
    let cluster = Cluster::start_with(&Site { mpi: "none", ..Site::default() });
    for (worker, chosen) in [(OPEN_MPI.worker(), "pmix"), (MPICH.worker(), "pmi2")] {
        write_ping_pong_sweep(&cluster.scratch, worker);
        let output = cluster.apexmap(&["run", "s.toml", "--no-report", "--out", chosen]);
        let messages = text(&output);
        assert!(output.status.success(), "{messages}\n{}", cluster.rank_errors(chosen));
        assert!(messages.contains(&format!("note: SLURM_MPI_TYPE={chosen} is set for the launches")), "{messages}");
        let records = Folder { path: cluster.scratch.join(chosen) }.records().expect("journals");
        let launch = records[0].launch.as_ref().expect("a greeting");
        assert_eq!(launch.environment.get("SLURM_MPI_TYPE").map(String::as_str), Some(chosen));
    }
}

#[test]
fn the_cores_of_a_submitted_sweep_are_those_of_the_nodes() {
    needs!(Slurm);
    let cluster = Cluster::start();
    let sweep = |memory: &str| {
        let text = format!(
            "[fixed]\nkernel = \"apex_map.two_sided\"\nM = \"{memory}\"\nL = 1\n[axes]\nranks = [1, \"hardware threads\"]\n\
             [launch]\nsubmit = \"slurm\"\n[repeat]\nmin = 2\n"
        );
        fs::write(cluster.scratch.join("s.toml"), text).expect("a file");
    };
    sweep("64 kwords per rank");
    let messages = cluster.submit_and_wait(&[]);
    let expected = "according to sinfo, a node of the default partition has 2 cores and 1.95 GiB";
    assert!(messages.contains(expected), "{messages}");
    cluster.assert_whole(4);
    let manifest = fs::read_to_string(cluster.scratch.join("result/manifest.json")).expect("a manifest");
    assert!(manifest.contains(expected), "{manifest}");
    // A sweep that needs more memory than the nodes have is refused before it enters the queue.
    sweep("256 Mwords per rank");
    let output = cluster.apexmap(&["run", "s.toml", "--no-report", "--out", "other"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("2 ranks on a node take"), "{}", text(&output));
}

/// Login nodes have their own host names; samples belong to the cluster.
#[test]
fn a_driver_on_another_login_node_finds_the_same_samples() {
    needs!(Slurm);
    needs!(Network);
    let cluster = Cluster::start();
    write_slow_sweep(&cluster.scratch, 100);
    let run = ["run", "s.toml", "--no-report", "--out", "result"];
    let output = common::output(&mut cluster.on_login_node("login1", &run));
    assert!(text(&output).contains("submitted job 1"), "{}", text(&output));
    cluster.wait_for_jobs();
    let output = common::output(&mut cluster.on_login_node("login2", &run));
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(text(&output).matches("submitted job").count(), 0, "{}", text(&output));
    cluster.assert_whole(300);
    let status = text(&common::output(&mut cluster.on_login_node("login3", &["status", "result"])));
    assert!(status.contains("300 successful, 0 stale"), "{status}");
    let plan = text(&common::output(&mut cluster.on_login_node("login3", &["plan", "s.toml", "--out", "result"])));
    assert!(plan.contains("3 done, 0 partial") && plan.contains("0 stale samples"), "{plan}");
    let manifest = fs::read_to_string(cluster.scratch.join("result/manifest.json")).expect("a manifest");
    assert!(manifest.contains("\"machine\": \"test\""), "{manifest}");
}

/// Jobs get the memory of their nodes, or what the user requests.
#[test]
fn a_job_gets_the_memory_of_its_nodes_or_what_a_directive_requests() {
    needs!(Slurm);
    let cluster = Cluster::start();
    let sweep = "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = \"96 Mwords\"\nN = 1\nL = 64\nI = 64\n[launch]\n\
                 submit = \"slurm\"\n[repeat]\nmin = 2\n";
    fs::write(cluster.scratch.join("s.toml"), sweep).expect("a file");
    cluster.submit_and_wait(&[]);
    // 768 MiB of a node with 2000.
    cluster.assert_whole(2);
    fs::remove_dir_all(cluster.scratch.join("result")).expect("a result");
    // Runs so long that Slurm checks its memory before the first sample, also on fast machines.
    let long = sweep.replace("N = 1\n", "N = 400_000\n").replace("min = 2", "min = 1000");
    fs::write(cluster.scratch.join("s.toml"), long).expect("a file");
    cluster.submit_and_wait(&["--directive=--mem=200"]);
    assert!(cluster.job_logs().contains("memory"), "{}", cluster.job_logs());
    assert!(cluster.status().contains("output of its jobs: result/jobs/*.log"), "{}", cluster.status());
}

/// The commands of docs/clusters.md and README.md, on the kind of nodes that they describe.
#[test]
fn the_commands_of_the_guide_run_unchanged_under_slurm() {
    needs!(Slurm);
    needs!(Mpi);
    let cluster =
        Cluster::start_with(&Site { cores: 128, node_mebibytes: 256_000, minutes_per_job: 1440, ..Site::default() });
    let worker = OPEN_MPI.worker().display().to_string();
    let site = cluster.scratch.join("site.toml");
    fs::write(&site, format!("[workers]\nmpi = \"{worker}\"\n")).expect("a file");
    let guide = ["docs/clusters.md", "README.md"];
    let guide = guide
        .map(|page| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page"))
        .concat();
    let commands: Vec<&str> = guide
        .lines()
        .filter(|line| line.starts_with("target/release/apexmap run") && line.contains("--submit"))
        .collect();
    assert!(commands.len() >= 3, "{commands:?}");
    for command in commands {
        let words = command.split_whitespace().skip(1).filter(|word| *word != "--dry-run");
        let words: Vec<&str> =
            words.map(|word| if word == "target/release/apexmap-worker" { &worker } else { word }).collect();
        let mut command_line = cluster.command(env!("CARGO_BIN_EXE_apexmap"), &[&words[..], &["--dry-run"]].concat());
        let output = common::output(command_line.env("APEXMAP_CONFIG", &site));
        let messages = text(&output);
        assert!(output.status.success(), "{command}: {messages}");
        assert!(messages.contains(&format!("--worker {worker} ")), "{command}: {messages}");
        assert!(
            messages.contains("#SBATCH --nodes=2\n") && messages.contains("--machine test"),
            "{command}: {messages}"
        );
        if command.contains("paper-figures-3-to-7") {
            assert!(messages.contains("each node gets 128 ranks, one per core"), "{messages}");
            assert!(
                messages.contains("#SBATCH --ntasks-per-node=128\n") && messages.contains("--ranks-per-node=128"),
                "{messages}"
            );
            assert!(messages.contains("#SBATCH --time=02:00:00\n"), "{messages}");
        }
    }
}

#[test]
fn requests_beyond_the_partition_limits_are_refused_before_submission() {
    needs!(Slurm);
    let cluster = Cluster::start();
    write_slow_sweep(&cluster.scratch, 4_000_000);
    let dry =
        |further: &[&str]| cluster.apexmap(&[&["run", "s.toml", "--out", "result", "--dry-run"], further].concat());
    let messages = text(&dry(&[]));
    assert!(
        messages.contains("#SBATCH --time=00:10:00\n") && messages.contains("such jobs, one after the other"),
        "{messages}"
    );
    let output = dry(&["--time-limit", "30 min"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("the default partition allows at most 10 min"), "{}", text(&output));
    let sweep = "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 18\n[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n\
                 ranks_per_node = 2\nworker = \"WORKER\"\nsubmit = \"slurm\"\n";
    if crate::needs::Group::Mpi.is_available() {
        let sweep = sweep.replace("WORKER", &OPEN_MPI.worker().display().to_string());
        fs::write(cluster.scratch.join("s.toml"), sweep).expect("a file");
        let output = dry(&["--partition", "main"]);
        assert_eq!(output.status.code(), Some(2));
        let expected =
            "a job would need 9 nodes with 2 ranks on each, but according to sinfo, partition main allows at most 4";
        assert!(text(&output).contains(expected), "{}", text(&output));
    }
    // What Slurm itself refuses.
    write_slow_sweep(&cluster.scratch, 2);
    let output = cluster.apexmap(&["run", "s.toml", "--out", "result", "--partition", "absent"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(
        text(&output).contains("sbatch refused: ") && text(&output).contains("invalid partition"),
        "{}",
        text(&output)
    );
    assert!(cluster.slurm(&["squeue", "--noheader"]).is_empty());
}

/// Cause and help are the same as without a batch system.
#[test]
fn set_up_faults_of_jobs_and_their_fixes_are_in_their_logs() {
    needs!(Slurm);
    needs!(Mpi);
    let cluster = Cluster::start();
    write_ping_pong_sweep(&cluster.scratch, MPICH.worker());
    cluster.submit_and_wait(&["--submit"]);
    let logs = cluster.job_logs();
    assert!(logs.contains("the launcher belongs to another MPI than the worker"), "{logs}");
    assert!(logs.contains("help: set SLURM_MPI_TYPE=pmi2 for MPICH"), "{logs}");
    assert!(cluster.status().contains("1 missing"), "{}", cluster.status());
}

/// A drained node is left out and named; once it is back, the same command measures only this node. Each job runs on its node.
#[test]
fn each_node_of_a_partition_runs_the_sweep_alone() {
    needs!(Slurm);
    let cluster = Cluster::start();
    cluster.slurm(&["scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=test"]);
    let sweep = "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = \"64 kwords\"\n[axes]\nL = [1, 16]\n\
                 [launch]\npreflight = \"0 s\"\n[repeat]\nmin = 6\n";
    fs::write(cluster.scratch.join("s.toml"), sweep).expect("a file");
    let run = ["--each-node", "--submit"];
    let messages = cluster.submit_and_wait(&run);
    assert!(messages.contains("cannot run a job now: n3 (drained); 3 nodes remain"), "{messages}");
    cluster.assert_whole(36);
    cluster.slurm(&["scontrol", "update", "NodeName=n3", "State=RESUME"]);
    // A node that has just returned does not respond at first: idle*.
    wait(|| cluster.logs(), || cluster.slurm(&["sinfo", "--noheader", "--format=%T %D"]).contains("idle 4"));
    let messages = cluster.submit_and_wait(&run);
    assert_eq!(messages.matches("submitted job").count(), 1, "{messages}");
    cluster.assert_whole(48);
    let records = Folder { path: cluster.scratch.join("result") }.records().expect("journals");
    for record in &records {
        let launch = record.launch.as_ref().expect("a greeting");
        let nodes: Vec<_> = record.samples.iter().map(|sample| sample.point.node()).collect();
        assert!(nodes.iter().all(|node| *node == Some(&launch.placement[0].node)), "{nodes:?}");
    }
    assert_eq!(records.len(), 4);
    let status = text(&cluster.apexmap(&["status", "result"]));
    assert!(status.contains("4 nodes: 4 done"), "{status}");
    let check = text(&cluster.apexmap(&["query", "result", "--each-node"]));
    assert!(check.contains("4 nodes"), "{check}");
}
