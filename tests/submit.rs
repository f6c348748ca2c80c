//! Tests a sweep that runs as jobs: how it is divided, submitted once, measured by several jobs at a time, and submitted again.
//! Scripts replace the programs of Slurm; jobs and launches are real.

use super::common::{Scratch, output, small_point};
use super::terminal::TINY_SWEEP;
use apexmap_cluster::batch::{self, Submission, System};
use apexmap_cluster::jobs::files::JobFiles;
use apexmap_cluster::jobs::part::{Part, PartJob, parts};
use apexmap_measure::comm::TransportKind;
use apexmap_measure::worker::Repeat;
use apexmap_results::disk::Folder;
use apexmap_results::disk::lock::{Lock, Sharing};
use apexmap_results::disk::manifest::Manifest;
use apexmap_run::drive::plan::{Context, Plan};
use apexmap_run::launch;
use apexmap_run::sweep::submit_table::Jobs as Division;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A login node whose batch system is a set of scripts.
pub struct LoginNode {
    pub scratch: Scratch,
}

impl LoginNode {
    /// Creates a login node. The shell command `answer` prints the answer of the program `$0`, which is Slurm's.
    pub fn new(answer: &str) -> Self {
        let scratch = Scratch::new();
        std::fs::create_dir(scratch.join("bin")).expect("a folder");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> {}\n{answer}\n", scratch.join("called").display());
        for program in ["sbatch", "sinfo", "scontrol"] {
            let path = scratch.join("bin").join(program);
            std::fs::write(&path, &script).expect("a file");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("rights");
        }
        Self { scratch }
    }

    /// Creates a login node with a sweep, `s.toml`, and a Slurm that accepts jobs under the ids 1, 2, ...
    fn accepting(sweep: &str) -> Self {
        let site = Self::new("case $0 in *sbatch) cd \"$(dirname \"$0\")\" && echo x >>ids && wc -l <ids;; esac");
        std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
        site
    }

    /// Runs apexmap, and returns its exit code and its output.
    pub fn apexmap(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.apexmap_with(arguments, &[])
    }

    /// Runs apexmap with further environment variables.
    pub fn apexmap_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let path = format!("{}:{}", self.scratch.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        command.args(arguments).env("PATH", path).env_remove("SLURM_JOB_ID").current_dir(&*self.scratch);
        command.envs(environment.iter().copied());
        let output = output(&mut command);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    /// Submits the sweep into the result `r`.
    fn submit(&self, further: &[&str]) -> (Option<i32>, String) {
        self.apexmap(&[&["run", "s.toml", "--out", "r", "--submit=slurm"], further].concat())
    }

    /// Returns the command that runs the script of a part, as a job on this machine.
    fn job(&self, part: &str) -> Command {
        let mut command = Command::new("bash");
        command.arg(self.result().script(part)).env("SLURM_JOB_ID", "1").env("SLURM_JOB_NUM_NODES", "1");
        command.env("SLURMD_NODENAME", part).current_dir("/");
        command
    }

    fn result(&self) -> JobFiles {
        JobFiles::new(&self.folder())
    }

    fn folder(&self) -> Folder {
        Folder { path: self.scratch.join("r") }
    }

    /// Returns the exit code of `status --exit-code`, and its JSON.
    fn status(&self) -> (Option<i32>, serde_json::Value) {
        let (code, text) = self.apexmap(&["status", "r", "--json", "--exit-code"]);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["exit_code"].as_i64(), code.map(i64::from), "{text}");
        (code, value)
    }

    /// Checks that the result has this number of samples, each once.
    fn assert_whole(&self, expected: usize) {
        let records = self.folder().records().expect("journals");
        let samples = records.iter().flat_map(|record| &record.samples);
        let mut keys: Vec<_> = samples.map(|sample| (&sample.key, sample.block, sample.repetition)).collect();
        assert_eq!(keys.len(), expected);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), expected, "samples were duplicated");
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn a_job_is_submitted_once_and_the_same_command_submits_what_is_missing() {
    let site = LoginNode::accepting(TINY_SWEEP);
    let (code, messages) = site.submit(&[]);
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains("submitted job 1: 1 node, about") && messages.contains("time limit 5 min"), "{messages}");
    let (code, value) = site.status();
    assert_eq!((code, value["state"].as_str()), (Some(10), Some("queued")), "{value}");
    assert_eq!((value["jobs"][0]["part"].as_str(), value["jobs"][0]["id"].as_str()), (Some("nodes-1"), Some("1")));
    // The job waits, so no second one is submitted, unless the user has cancelled it.
    let (code, messages) = site.submit(&[]);
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains("nodes-1: job 1 is submitted and has not started"), "{messages}");
    std::fs::remove_file(site.scratch.join("r/jobs/nodes-1.queued")).expect("the file that the message names");
    assert!(site.submit(&[]).1.contains("submitted job 2"));
    // A job measures: it shares the lock of the result, and holds that of its part.
    std::fs::remove_file(site.scratch.join("r/jobs/nodes-1.queued")).expect("a file");
    let lock = site.folder().share().expect("a lock");
    let part_lock = Lock::acquire(&site.result().part_lock("nodes-1"), Sharing::Exclusive).expect("a lock");
    assert_eq!(site.status().1["state"].as_str(), Some("running"));
    assert!(site.submit(&[]).1.contains("nodes-1: a job measures it"));
    let second = output(&mut site.job("nodes-1"));
    assert!(second.status.code() == Some(3) && text(&second).contains("another job measures nodes-1"), "{second:?}");
    drop((lock, part_lock));

    let job = output(&mut site.job("nodes-1"));
    assert!(job.status.success(), "{}", text(&job));
    site.assert_whole(8);
    assert_eq!(site.status().0, Some(0));
    let (code, messages) = site.submit(&[]);
    assert!(code == Some(0) && !messages.contains("submitted job"), "{messages}");
    assert!(site.scratch.join("r/report.html").is_file(), "{messages}");
    let called = std::fs::read_to_string(site.scratch.join("called")).expect("calls");
    assert_eq!(called.matches("bin/sbatch").count(), 2, "{called}");
}

/// Two nodes of one machine, which measure at the same time.
#[test]
fn jobs_of_one_result_measure_at_the_same_time() {
    let sweep = "[launch]\npreflight = 0\n[repeat]\nmin = 6\n[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\n[axes]\nL = [1, 8]\n";
    let site = LoginNode::accepting(sweep);
    let nodes = "case $0 in *sbatch) echo 9;; *sinfo) echo 'main* 1 2 1 8000 1:00:00 1-8 (null) n1 idle'; echo 'main* 1 2 1 8000 1:00:00 1-8 (null) n2 idle';; esac";
    for program in ["sbatch", "sinfo"] {
        std::fs::write(site.scratch.join("bin").join(program), format!("#!/bin/sh\n{nodes}\n")).expect("a file");
    }
    let (code, messages) = site.submit(&["--each-node"]);
    assert_eq!((code, messages.matches("submitted job 9: node n").count()), (Some(0), 2), "{messages}");
    for _ in 0..2 {
        let start = |node| site.job(node).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a job");
        for mut job in ["n1", "n2"].map(start) {
            assert!(job.wait().expect("an end").success());
        }
    }
    site.assert_whole(24);
    assert_eq!(site.status().0, Some(0));
}

#[test]
fn a_job_stops_before_its_time_limit_and_the_next_one_resumes() {
    let sweep = "[launch]\npreflight = 0\n[repeat]\nmin = 40\n[fixed]\nkernel = \"apex_map.two_sided\"\nranks = 1\nM = 65536\nN = 400\nL = 16\n";
    let site = LoginNode::accepting(sweep);
    assert_eq!(site.submit(&[]).0, Some(0));
    let file = site.result().part_file("nodes-1");
    let inputs = std::fs::read_to_string(&file).expect("the inputs of the job");
    assert!(inputs.contains("\"seconds\":300.0"), "{inputs}");
    // The margin of the limit is 10 s, so no time is left.
    std::fs::write(&file, inputs.replace("\"seconds\":300.0", "\"seconds\":10.0")).expect("a file");
    let job = output(&mut site.job("nodes-1"));
    assert!(job.status.success() && text(&job).contains("its time limit is near"), "{}", text(&job));
    assert_eq!(site.status().1["state"].as_str(), Some("incomplete"));
    std::fs::write(&file, inputs).expect("a file");
    let job = output(&mut site.job("nodes-1"));
    assert!(job.status.success(), "{}", text(&job));
    site.assert_whole(40);
}

#[test]
fn a_job_of_another_plan_than_that_of_the_result_is_refused() {
    let site = LoginNode::accepting(TINY_SWEEP);
    assert_eq!(site.submit(&[]).0, Some(0));
    std::fs::write(site.folder().sweep(), TINY_SWEEP.replace("M = 4096", "M = 8192")).expect("a file");
    let job = output(&mut site.job("nodes-1"));
    assert!(job.status.code() == Some(3) && text(&job).contains("the plan has changed"), "{}", text(&job));
    assert_eq!(site.folder().records().expect("journals").len(), 0);
}

/// A refusal names the jobs that are not submitted, and what the batch system prints is never run.
#[test]
fn a_refused_job_ends_the_submission_and_names_the_others() {
    let site = LoginNode::accepting(TINY_SWEEP);
    let answer = |text: &str| {
        std::fs::write(site.scratch.join("bin/sbatch"), format!("#!/bin/sh\n{text}\n")).expect("a file");
        site.submit(&[])
    };
    let (code, messages) = answer("echo 'sbatch: error: Invalid account' >&2; exit 1");
    assert!(code == Some(3) && messages.contains("sbatch refused: sbatch: error: Invalid account"), "{messages}");
    assert!(messages.contains("--dry-run shows the scripts"), "{messages}");
    assert_eq!(site.status().1["state"].as_str(), Some("incomplete"), "no job is queued");
    let (code, messages) = answer("echo 'Submitted batch job 7;touch${IFS}pwned $(touch pwned)'");
    assert!(code == Some(0) && messages.contains("submitted job 7: "), "{messages}");
    std::fs::remove_file(site.scratch.join("r/jobs/nodes-1.queued")).expect("a file");
    let (code, messages) = answer("echo 'Have a nice day'");
    assert!(code == Some(0) && messages.contains("submitted job without a known id"), "{messages}");
    assert!(!site.scratch.join("pwned").exists() && !site.scratch.join("r/pwned").exists());
}

/// Returns a batch system with a script in the place of `sbatch`.
fn system(scratch: &Scratch, script: &str) -> System {
    let program = scratch.join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("a file");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("rights");
    let mut template = batch::find("slurm").expect("a template");
    template.submit[0] = program.to_str().expect("a path").into();
    System::new(template, PathBuf::from(&**scratch))
}

#[test]
fn a_job_id_is_read_while_a_process_keeps_the_output_open() {
    let scratch = Scratch::new();
    let submit = |script: &str| system(&scratch, script).submit(&scratch.join("job.sh")).expect("an answer");
    let accepted = |id: Option<&str>| Submission::Accepted(id.map(str::to_owned));
    assert_eq!(submit("sleep 30 & echo $! > pid; echo 42"), accepted(Some("42")));
    let pid: i32 = std::fs::read_to_string(scratch.join("pid")).expect("a process").trim().parse().expect("a number");
    kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it stayed behind");
    for script_without_id in ["exit 0", "echo Have a nice day", "echo --user=root", "echo 0", "echo all"] {
        assert_eq!(submit(script_without_id), accepted(None), "{script_without_id}");
    }
    let refused = submit("echo no such partition >&2; exit 1");
    assert!(matches!(&refused, Submission::Refused(why) if why.ends_with("refused: no such partition")), "{refused:?}");
}

#[test]
fn a_batch_system_that_does_not_answer_is_ended() {
    let scratch = Scratch::new();
    let unanswered = |script: &str, timeout: Duration| {
        let system = System { timeout, ..system(&scratch, script) };
        let answer = system.submit(&scratch.join("job.sh")).expect("an answer");
        assert!(matches!(answer, Submission::Unanswered(_)), "{answer:?}");
        let pid = std::fs::read_to_string(scratch.join("pid")).expect("a process").trim().parse().expect("a number");
        assert!(kill(Pid::from_raw(pid), None).is_err(), "it still runs");
    };
    unanswered("echo $$ > pid; exec sleep 1000", Duration::from_secs(1));
    unanswered("echo $$ > pid; exec yes", Duration::from_secs(600));
}

/// Names distinguish samples: login nodes and compute nodes have their own host names.
#[test]
fn a_machine_has_the_name_of_its_cluster_or_its_recorded_one() {
    let scratch = Scratch::new();
    let sweep = "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nI = 16\nN = 1\nL = 1\n[launch]\npreflight = 0\n[repeat]\nmin = 2\n";
    std::fs::write(scratch.join("s.toml"), sweep).expect("a file");
    let run = |arguments: &[&str], inside: bool| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        command.current_dir(&*scratch).args(arguments).args(["s.toml", "--out", "result"]);
        command.env_remove("SLURM_JOB_ID");
        if inside {
            command.env("SLURM_JOB_ID", "1").env("SLURM_JOB_NUM_NODES", "1").env("SLURM_CLUSTER_NAME", "summit");
        }
        let output = output(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(&["run", "--no-report"], true);
    let folder = Folder { path: scratch.join("result") };
    assert_eq!(Manifest::read(&folder).expect("a manifest").machine, "summit");
    assert!(run(&["plan"], true).contains("1 done") && run(&["plan"], false).contains("2 stale samples"));
    assert!(run(&["plan", "--machine", "summit"], false).contains("1 done"));
    std::fs::create_dir(scratch.join("result/jobs")).expect("a folder");
    assert!(run(&["plan"], false).contains("1 done"), "whatever the name of this host is");
    assert!(run(&["plan", "--machine", "other"], false).contains("2 stale samples"), "the user's word comes first");
}

#[test]
fn parts_contain_their_node_counts() {
    let context = |ranks_per_node| Context {
        transport: TransportKind::Mpi,
        launcher: launch::find("srun").expect("a launcher"),
        ranks_per_node,
        place: None,
        machine: "m".into(),
        build: "b1".into(),
        builds: Default::default(),
        simulation: None,
        library: "MPI".into(),
    };
    let repeat = Repeat { min: 3, max: 3, width: None, budget_seconds: None };
    let points = [2, 4].map(|ranks| small_point("apex_map.two_sided", ranks));
    let plan = |ranks| Plan::new(context(ranks), points.to_vec(), 2, repeat, 5).expect("a plan");
    let parts_per_node_count = parts(&plan(Some(1)), Division::PerNodeCount).expect("parts");
    let summaries: Vec<_> =
        parts_per_node_count.iter().map(|part| (part.name.as_str(), part.nodes, part.sizes.len())).collect();
    assert_eq!(summaries, [("nodes-2", 2, 1), ("nodes-4", 4, 1)]);
    let whole = parts(&plan(Some(1)), Division::One).expect("a part");
    assert_eq!((whole[0].name.as_str(), whole[0].nodes, whole[0].sizes.len()), ("all", 4, 2));
    let error = parts(&plan(None), Division::One).expect_err("a refusal");
    assert!(error.message.contains("the number of nodes for 2 ranks is unknown"), "{error}");
}

#[test]
fn the_time_limit_of_a_job_follows_from_its_work() {
    let job = |measuring, launches, limit| {
        let part = Part { name: "nodes-4".into(), nodes: 4, ranks_per_node: None, sizes: Vec::new() };
        let job = PartJob::new(part, measuring, launches, limit);
        (job.seconds, job.jobs_needed)
    };
    assert_eq!(job(10.0, 2, None), (300.0, 1));
    assert_eq!(job(10.0, 2, Some(3600.0)), (300.0, 1));
    assert_eq!(job(1000.0, 4, None), (1620.0, 1));
    assert_eq!(job(1000.0, 4, Some(1800.0)), (1620.0, 1));
    // 1560 s of work. A job of 600 s needs 60 s to start and 30 s to end.
    assert_eq!(job(1000.0, 4, Some(600.0)), (600.0, 4));
}

#[test]
fn a_sweep_that_may_take_too_many_node_hours_is_refused() {
    let site = LoginNode::new("");
    let sweep = "[fixed]\nkernel = \"apex_map.sequential\"\nM = 4096\nL = 1\n[launch]\nmax_node_hours = 0.05\n";
    std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
    let (code, messages) = site.apexmap(&["run", "s.toml", "--submit=slurm", "--dry-run"]);
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("# nodes-1: about") && messages.contains("MiB on each node"), "{messages}");
    assert!(messages.contains("at most 0.083 node hours by the time limits"), "{messages}");
    assert!(
        messages.contains("the jobs may take 0.083 node hours")
            && messages.contains("max_node_hours in [launch] allows 0.05"),
        "{messages}"
    );
    let run = ["run", "s.toml", "--submit=slurm", "--dry-run", "--max-node-hours", "1", "--ranks", "1"];
    let (code, messages) = site.apexmap(&run);
    assert_eq!(code, Some(0), "a flag comes before the sweep: {messages}");
    assert!(messages.contains("--ranks=1"), "the job runs the same points: {messages}");
    let called = std::fs::read_to_string(site.scratch.join("called")).expect("calls");
    assert!(!called.contains("bin/sbatch") && !site.scratch.join("results").exists(), "a dry run submits nothing");
}

#[test]
fn a_constraint_selects_the_nodes_that_a_sweep_is_sized_for() {
    let nodes = "main* 1 2 1 1000 10:00 1-4 intel,ib\nmain* 1 2 1 1000 10:00 1-4 amd,ib\nmain* 1 4 1 64000 10:00 1-4 amd,bigmem";
    let site = LoginNode::new(&format!("case $0 in *sinfo) printf '{nodes}\n';; esac"));
    let sweep = "[fixed]\nkernel = \"apex_map.two_sided\"\nranks = \"cores\"\nM = \"1 GiB per rank\"\nL = 1\n";
    std::fs::write(site.scratch.join("s.toml"), sweep).expect("a file");
    let dry_run = |constraint: &[&str]| site.apexmap(&[&["run", "s.toml", "--dry-run"], constraint].concat());
    let (code, messages) = dry_run(&[]);
    assert_eq!(code, Some(2), "the smallest node has 1000 MiB: {messages}");
    assert!(messages.contains("(--constraint)"), "{messages}");
    for constraint in ["bigmem", "amd&bigmem", "bigmem|huge", "[bigmem]"] {
        let (code, messages) = dry_run(&["--constraint", constraint]);
        assert_eq!(code, Some(0), "{constraint}: {messages}");
        assert!(messages.contains(&format!("the default partition with {constraint} has 4 cores")), "{messages}");
    }
    let (code, messages) = dry_run(&["--constraint", "intel"]);
    assert!(code == Some(2) && messages.contains("the default partition with intel has 2 cores"), "{messages}");
    let (code, messages) = dry_run(&["--constraint", "power"]);
    assert!(
        code == Some(2) && messages.contains("no node of the default partition has the features power"),
        "{messages}"
    );
    assert!(messages.contains("amd, bigmem, ib, intel"), "{messages}");
}
