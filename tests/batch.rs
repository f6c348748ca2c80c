//! Tests of batch systems: scripts as text, arguments, and the meaning of answers.

use super::common::Scratch;
use super::terminal::TINY_SWEEP;
use apexmap_cluster::batch::answer::parse_cluster_name;
use apexmap_cluster::batch::nodes::{Limits, NodeSize, NodeTable};
use apexmap_cluster::batch::script::{query_command, quote, submit_command};
use apexmap_cluster::batch::{self, JobOptions, JobScript, JobState, TEMPLATES, Template, answer};
use apexmap_cluster::cluster::Cluster;
use apexmap_run::campaign::Request;
use apexmap_run::placeholder::fill;
use apexmap_run::sweep::submit_table::{Jobs, SubmitTable};
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;

fn template(name: &str) -> Template {
    batch::find(name).expect("a template of the program")
}

fn table() -> SubmitTable {
    let word = |text: &str| Some(text.to_owned());
    SubmitTable {
        account: word("a123"),
        partition: word("batch"),
        qos: word("low"),
        constraint: word("haswell&ib"),
        reservation: word("maintenance"),
        time_limit: word("90 min"),
        modules: vec!["gcc/13".into(), "open mpi/4".into()],
        environment: [("UCX_TLS".to_owned(), "rc, it's".to_owned())].into(),
        directives: vec!["--mail-type=END".into()],
        ..SubmitTable::default()
    }
}

fn options(system: &str) -> JobOptions {
    JobOptions::new(table(), system).expect("options that hold")
}

fn script(system: &str, options: &JobOptions) -> String {
    let command: Vec<String> = ["/opt/apexmap", "run", "it's $HOME.toml"].map(str::to_owned).into();
    let script = JobScript {
        node: None,
        name: "am-001-abc",
        nodes: 4,
        ranks_per_node: Some(2),
        seconds: 5400.0,
        log: "jobs/am-001-abc.log",
        folder: Path::new("/scratch/a b"),
        command: &command,
    };
    script.text(&template(system), options)
}

#[test]
fn a_slurm_script_contains_the_requested_options() {
    assert_eq!(
        script("slurm", &options("slurm")),
        "#!/bin/bash -l
#SBATCH --job-name=am-001-abc
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:30:00
#SBATCH --output=jobs/am-001-abc.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --account=a123
#SBATCH --partition=batch
#SBATCH --qos=low
#SBATCH --constraint=haswell&ib
#SBATCH --reservation=maintenance
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --mail-type=END
# Written by apexmap. All samples are kept, however this job ends.
module load gcc/13
module load 'open mpi/4'
export UCX_TLS='rc, it'\\''s'
cd '/scratch/a b' || exit 3
exec /opt/apexmap run 'it'\\''s $HOME.toml'
"
    );
}

#[test]
fn exclusive_nodes_request_all_memory_unless_the_user_sets_it() {
    let memory = |change: fn(&mut JobOptions)| {
        let mut options = options("slurm");
        change(&mut options);
        let text = script("slurm", &options);
        text.lines().filter(|line| line.contains("--mem")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(memory(|_| ()), ["#SBATCH --mem=0"]);
    assert_eq!(memory(|options| options.exclusive = false), [""; 0]);
    assert_eq!(memory(|options| options.directives = vec!["--mem-per-cpu=1G".into()]), ["#SBATCH --mem-per-cpu=1G"]);
    assert_eq!(memory(|options| options.directives = vec!["--mem=5G".into()]), ["#SBATCH --mem=5G"]);
}

#[test]
fn a_directive_of_the_user_replaces_the_same_option_of_the_template() {
    let exclusive = |system: &str, directive: &str| {
        let mut options = options(system);
        options.directives = vec![directive.into()];
        let text = script(system, &options);
        text.lines().filter(|line| line.contains("excl")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(exclusive("slurm", "--exclusive=user"), ["#SBATCH --exclusive=user"]);
    assert_eq!(exclusive("slurm", "--exclusive"), ["#SBATCH --exclusive"]);
    assert_eq!(exclusive("slurm", "--mail-type=END"), ["#SBATCH --exclusive"]);
    assert_eq!(exclusive("pbs", "-l place=free:exclhost"), ["#PBS -l place=free:exclhost"]);
}

#[test]
fn scripts_of_other_systems_contain_the_same_options_in_their_syntax() {
    let bare = JobOptions::new(SubmitTable::default(), "pbs").expect("options that hold");
    let head = |system: &str| {
        let text = script(system, &bare);
        let lines: Vec<&str> = text.lines().skip(1).take_while(|line| !line.starts_with("# Written")).collect();
        lines.join("\n")
    };
    assert_eq!(
        head("pbs"),
        "#PBS -N am-001-abc\n#PBS -l select=4:ncpus=2:mpiprocs=2\n#PBS -l walltime=01:30:00\n#PBS -j oe\n\
         #PBS -o jobs/am-001-abc.log\n#PBS -r y\n#PBS -l place=scatter:excl"
    );
    assert_eq!(
        head("torque"),
        "#PBS -N am-001-abc\n#PBS -l nodes=4:ppn=2\n#PBS -l walltime=01:30:00\n#PBS -j oe\n#PBS -o jobs/am-001-abc.log\n\
         #PBS -r y\n#PBS -n"
    );
    assert_eq!(
        head("lsf"),
        "#BSUB -J am-001-abc\n#BSUB -nnodes 4\n#BSUB -W 1:30\n#BSUB -o jobs/am-001-abc.log\n#BSUB -r\n#BSUB -x"
    );
    assert_eq!(
        head("flux"),
        "# flux: --job-name=am-001-abc\n# flux: --nodes=4\n# flux: --time-limit=90m\n# flux: --output=jobs/am-001-abc.log\n\
         # flux: --exclusive"
    );
}

#[test]
fn dependent_jobs_are_submitted_and_cancelled_with_argument_lists() {
    let line = |system: &str, after| submit_command(&template(system), "/j.sh", after).expect("a command").join(" ");
    assert_eq!(line("slurm", None), "sbatch --parsable /j.sh");
    assert_eq!(line("slurm", Some("7")), "sbatch --parsable --dependency=afterany:7 /j.sh");
    assert_eq!(line("pbs", Some("7.srv")), "qsub -W depend=afterany:7.srv /j.sh");
    assert_eq!(line("lsf", Some("7")), "bsub -w ended(7)");
    assert_eq!(line("flux", Some("fA")), "flux batch --dependency=afterany:fA /j.sh");
    let slurm = template("slurm");
    let ids = ["7".to_owned(), "8".to_owned()];
    let cancel = query_command(&slurm, &slurm.cancel, "me", &ids).expect("a command");
    assert_eq!(cancel, ["scancel", "7", "8"]);
    let ended =
        query_command(&slurm, &slurm.ask_ended.clone().expect("a question").command, "me", &ids).expect("a command");
    assert!(ended.contains(&"--jobs=7,8".to_owned()), "{ended:?}");
}

#[test]
fn job_ids_are_parsed_from_submission_messages() {
    let id = |system: &str, output: &str| answer::parse_job_id(&template(system), output);
    assert_eq!(id("slurm", "12345\n").as_deref(), Some("12345"));
    assert_eq!(id("slurm", "maintenance on Monday\n12345;cluster\n").as_deref(), Some("12345"));
    assert_eq!(id("pbs", "12345.server.site\n").as_deref(), Some("12345.server.site"));
    assert_eq!(id("lsf", "Job <77> is submitted to queue <normal>.\n").as_deref(), Some("77"));
    assert_eq!(id("lsf", "no job\n"), None);
    assert_eq!(id("flux", "ƒ2NJWKd9\n").as_deref(), Some("ƒ2NJWKd9"));
    assert_eq!(id("slurm", ""), None);
}

#[test]
fn news_of_a_site_are_no_job_ids() {
    let id = |system: &str, output: &str| answer::parse_job_id(&template(system), output);
    for news in
        ["120 core-hours remain in project abc", "2026-12-01 maintenance", "2026-12-01", "12 jobs of yours", "12:30"]
    {
        assert_eq!(id("slurm", &format!("4711\n{news}\n")).as_deref(), Some("4711"), "{news}");
        assert_eq!(id("slurm", &format!("{news}\n4711;blue\n{news}\n")).as_deref(), Some("4711"), "{news}");
        assert_eq!(id("pbs", &format!("4711.server\n{news}\n")).as_deref(), Some("4711.server"), "{news}");
        assert_eq!(
            id("slurm", &format!("{news}\nSubmitted batch job 4711 on cluster blue\n")).as_deref(),
            Some("4711")
        );
        assert_eq!(id("slurm", news), None, "{news}");
    }
    assert_eq!(id("pbs", "4711[].server\n").as_deref(), Some("4711[].server"));
}

/// The states of squeue(1) and sacct(1) of Slurm 23.11 and 25.11, and their meaning for a job.
const SLURM: &[(&str, JobState)] = &[
    ("BOOT_FAIL", JobState::NodeFailure),
    ("CANCELLED", JobState::Cancelled),
    ("COMPLETED", JobState::Completed),
    ("CONFIGURING", JobState::Waiting),
    ("COMPLETING", JobState::Running),
    ("DEADLINE", JobState::Deadline),
    ("EXPEDITING", JobState::Waiting),
    ("FAILED", JobState::Failed),
    ("LAUNCH_FAILED", JobState::Failed),
    ("NODE_FAIL", JobState::NodeFailure),
    ("OUT_OF_MEMORY", JobState::OutOfMemory),
    ("PENDING", JobState::Waiting),
    ("POWER_UP_NODE", JobState::Waiting),
    ("PREEMPTED", JobState::Preempted),
    ("RECONFIG_FAIL", JobState::Failed),
    ("REQUEUED", JobState::Waiting),
    ("REQUEUE_FED", JobState::Waiting),
    ("REQUEUE_HOLD", JobState::Held),
    ("RESIZING", JobState::Running),
    ("RESV_DEL_HOLD", JobState::Held),
    ("REVOKED", JobState::Cancelled),
    ("RUNNING", JobState::Running),
    ("SIGNALING", JobState::Running),
    ("SPECIAL_EXIT", JobState::Held),
    ("STAGE_OUT", JobState::Running),
    ("STOPPED", JobState::Running),
    ("SUSPENDED", JobState::Running),
    ("TIMEOUT", JobState::TimeLimit),
    ("UPDATE_DB", JobState::Running),
];

#[test]
fn every_state_of_slurm_has_a_meaning() {
    let slurm = template("slurm");
    for (word, state) in SLURM {
        let answers = answer::parse_jobs(&slurm, &slurm.ask, &format!("7|{word}|am-1|None|N/A\n"));
        assert_eq!((answers["7"].state, answers["7"].name.as_str()), (*state, "am-1"), "{word}");
    }
}

#[test]
fn states_that_a_narrow_column_cuts_off_are_recognised() {
    let slurm = template("slurm");
    for (word, state) in [
        ("OUT_OF_ME+", JobState::OutOfMemory),
        ("CANCELLED+", JobState::Cancelled),
        ("NODE_FAIL+", JobState::NodeFailure),
        ("COMPLETED+", JobState::Completed),
        ("DREAMING+", JobState::Running),
    ] {
        let answers = answer::parse_jobs(&slurm, &slurm.ask, &format!("7|{word}|am-1|None|N/A\n"));
        assert_eq!(answers["7"].state, state, "{word}");
    }
}

#[test]
fn held_jobs_are_shown_with_the_command_that_releases_them() {
    let slurm = template("slurm");
    let answer = |state: &str, reason: &str| {
        answer::parse_jobs(&slurm, &slurm.ask, &format!("7|{state}|am-1|{reason}|N/A\n")).remove("7").expect("the job")
    };
    for (state, reason) in [
        ("PENDING", "launch failed requeued held"),
        ("PENDING", "launch_failed_requeued_held"),
        ("PENDING", "user env retrieval failed requeued held"),
        ("PENDING", "job requeued in held state"),
        ("PENDING", "JobHeldAdmin"),
        ("PENDING", "JobHeldUser"),
        ("PENDING", "ReservationDeleted"),
        ("REQUEUE_HOLD", "None"),
        ("SPECIAL_EXIT", "None"),
    ] {
        let held = answer(state, reason);
        assert_eq!(held.state, JobState::Held, "{state} {reason}");
        assert!(held.help.contains("`scontrol release 7`"), "{}", held.help);
    }
    // The reason may remain after the release.
    assert_eq!(answer("RUNNING", "JobHeldUser").state, JobState::Running);
    let down = answer("PENDING", "PartitionDown");
    assert!(down.state == JobState::Waiting && down.help.contains("--partition"), "{down:?}");
    let waiting = answer("PENDING", "ReqNodeNotAvail, UnavailableNodes:shield01");
    assert_eq!((waiting.state, waiting.help.as_str()), (JobState::Waiting, ""));
    for (system, line, command) in [
        ("pbs", "7.srv am-1 me 0 H batch", "qrls 7.srv"),
        ("torque", "7.srv am-1 me 0 H batch", "qrls 7.srv"),
        ("lsf", "7|PSUSP|am-1|-", "bresume 7"),
    ] {
        let template = template(system);
        let held = answer::parse_jobs(&template, &template.ask, line).into_values().next().expect("the job");
        assert!(
            held.state == JobState::Held && held.help.contains(command.trim_end_matches(".srv")),
            "{system}: {held:?}"
        );
    }
}

#[test]
fn answers_show_who_cancelled_a_job_and_which_jobs_never_start() {
    let slurm = template("slurm");
    let ended = slurm.ask_ended.clone().expect("a question");
    let own_user = nix::unistd::Uid::effective();
    let answer_for = |text: &str| answer::parse_jobs(&slurm, &ended, text).remove("9").expect("the job");
    assert_eq!(answer_for(&format!("9|CANCELLED by {own_user}\n")).state, JobState::Cancelled);
    let other = answer_for("9|CANCELLED by 4711\n");
    assert_eq!((other.state, other.reason.as_str()), (JobState::Removed, "by user 4711"));
    assert_eq!(answer_for("9|DREAMING\n").state, JobState::Running, "an unknown job may still run");
    let never = answer::parse_jobs(&slurm, &slurm.ask, "7|PENDING|am-1|DependencyNeverSatisfied|N/A\n");
    assert_eq!(never["7"].state, JobState::NeverStarts);
    // Reasons in squeue(1) that waiting does not resolve.
    for reason in [
        "PartitionTimeLimit",
        "PartitionNodeLimit",
        "PartitionConfig",
        "BadConstraints",
        "AssocMaxNodePerJobLimit",
        "AssocMaxWallDurationPerJobLimit",
        "AssocMaxCpuPerJobLimit",
        "QOSMaxCpuPerJobLimit",
        "QOSMaxWallDurationPerJobLimit",
        "QOSMaxMemoryPerJob",
        "MaxMemPerLimit",
        "InvalidQOS",
    ] {
        let answers = answer::parse_jobs(&slurm, &slurm.ask, &format!("7|PENDING|am-1|{reason}|N/A\n"));
        assert_eq!(answers["7"].state, JobState::Unsatisfiable, "{reason}");
        assert!(answer::advice(reason).contains("--"), "{reason}");
    }
    assert!(answer::advice("PartitionTimeLimit").contains("--time-limit"));
    assert!(answer::advice("QOSMaxWallDurationPerJobLimit").contains("--time-limit"));
    assert!(answer::advice("PartitionNodeLimit").contains("--ranks-per-node"));
    assert!(answer::advice("BadConstraints").contains("--constraint"));
    // Reasons that end without action.
    for reason in
        ["AssocMaxJobsLimit", "QOSMaxJobsPerUserLimit", "AssocGrpNodeLimit", "Resources", "PartitionDown", "Dependency"]
    {
        let answers = answer::parse_jobs(&slurm, &slurm.ask, &format!("7|PENDING|am-1|{reason}|N/A\n"));
        assert_eq!(answers["7"].state, JobState::Waiting, "{reason}");
    }
    let waits = answer::parse_jobs(
        &slurm,
        &slurm.ask,
        "7|PENDING|am-1|Priority|2026-11-22T21:29:48\nslurm: news of the site\n",
    );
    assert_eq!(waits.len(), 1);
    assert_eq!((waits["7"].state, waits["7"].start.as_str()), (JobState::Waiting, "2026-11-22T21:29:48"));
}

#[test]
fn answers_of_other_systems_are_read() {
    let state = |system: &str, text: &str, id: &str| {
        let template = template(system);
        let answers = answer::parse_jobs(&template, &template.ask, text);
        answers.get(id).map(|job| job.state)
    };
    let pbs = "Job id            Name             User              Time Use S Queue\n\
               ----------------  ---------------- ----------------  -------- - -----\n\
               12.srv            am-001-abc       anna              00:00:03 F workq\n\
               13.pbs-01.hsn.ma* am-002-abc       anna                     0 Q workq\n";
    assert_eq!(state("pbs", pbs, "12"), Some(JobState::Ended));
    assert_eq!(state("pbs", pbs, "13"), Some(JobState::Waiting));
    assert_eq!(state("torque", pbs, "13"), Some(JobState::Waiting));
    let lsf = "5|EXIT|am-1|TERM_RUNLIMIT: job killed after reaching LSF run time limit\n6|RUN|am-2|-\n7|EXIT|am-3|TERM_ADMIN: x\n";
    assert_eq!(state("lsf", lsf, "5"), Some(JobState::TimeLimit));
    assert_eq!(state("lsf", lsf, "6"), Some(JobState::Running));
    assert_eq!(state("lsf", lsf, "7"), Some(JobState::Removed));
    let flux = "ƒA|SCHED|am-1|\nƒB|TIMEOUT|am-2|timeout\nƒC|COMPLETED|am-3|\n";
    assert_eq!(state("flux", flux, "ƒA"), Some(JobState::Waiting));
    assert_eq!(state("flux", flux, "ƒB"), Some(JobState::TimeLimit));
    assert_eq!(state("flux", flux, "ƒC"), Some(JobState::Completed));
}

#[test]
fn values_that_a_script_cannot_contain_are_refused() {
    let wrong = |change: fn(&mut SubmitTable)| {
        let mut table = table();
        change(&mut table);
        JobOptions::new(table, "slurm").expect_err("a refusal").0
    };
    assert_eq!(wrong(|t| t.account = Some("a\nb".into())), "account = \"a\\nb\" is not allowed in a job script");
    assert_eq!(wrong(|t| t.partition = Some("$(id)".into())), "partition = \"$(id)\" is not allowed in a job script");
    assert_eq!(wrong(|t| t.qos = Some(String::new())), "qos = \"\" is not allowed in a job script");
    assert_eq!(
        wrong(|t| t.directives.push("a\nrm -r x".into())),
        "directives: \"a\\nrm -r x\" is not one line of text"
    );
    assert_eq!(wrong(|t| t.modules.push(" ".into())), "modules: \" \" is not one line of text");
    assert_eq!(
        wrong(|t| {
            t.environment.insert("A;B".into(), String::new());
        }),
        "environment: \"A;B\" is not a valid name of a variable"
    );
    assert_eq!(wrong(|t| t.time_limit = Some("10 s".into())), "time_limit is shorter than a minute");
    assert_eq!(wrong(|t| t.tries = Some(0)), "tries is 0, which allows no job");
    assert!(wrong(|t| t.time_limit = Some("soon".into())).starts_with("time_limit: "));
}

#[test]
fn a_sweep_that_requests_no_valid_jobs_is_refused_with_its_line() {
    let scratch = Scratch::new();
    let error = |submit: &str| {
        let (sweep, out) = (scratch.join("s.toml"), scratch.join("r"));
        let text = TINY_SWEEP.replace("[launch]\n", &format!("[launch]\nsubmit = {submit}\n"));
        std::fs::write(&sweep, text).expect("a sweep");
        let request = Request { sweep: Some(sweep), out: Some(out), ..Request::default() };
        let error = Cluster::default().planner(&request).plan().err().expect("a refusal");
        let location = error.location.clone().expect("a place");
        assert_eq!(&location.text[location.span.clone()], submit);
        (error.message, error.help)
    };
    let (message, help) = error("\"slrum\"");
    assert_eq!(message, "\"slrum\" is neither a batch system nor a template file");
    assert!(help.contains("did you mean \"slurm\"?"), "{help}");
    assert_eq!(error("{ tries = 0 }").0, "submit: tries is 0, which allows no job");
}

#[test]
fn options_from_a_result_are_checked_like_those_from_a_user() {
    let mut options = options("slurm");
    options.account = Some("a\ntouch /tmp/x".into());
    assert!(options.check().is_err());
    assert!(batch::find_built_in("slurm").is_ok());
    let scratch = Scratch::new();
    let file = scratch.join("template.toml");
    std::fs::write(&file, TEMPLATES[0].1).expect("a file");
    let name = file.to_str().expect("a path");
    assert!(batch::find(name).is_ok(), "a user may name a file");
    let error = batch::find_built_in(name).expect_err("a refusal");
    assert!(error.message.contains("apexmap runs only its built-in templates for a result"), "{error}");
}

#[test]
fn flags_come_before_the_sweep_and_lists_are_joined() {
    let flags = SubmitTable {
        account: Some("mine".into()),
        jobs: Some(Jobs::One),
        modules: vec!["b".into()],
        ..Default::default()
    };
    let sweep = SubmitTable {
        account: Some("its".into()),
        qos: Some("q".into()),
        modules: vec!["a".into()],
        ..Default::default()
    };
    let joined = flags.fill_from(sweep);
    assert_eq!(
        (joined.account.as_deref(), joined.qos.as_deref(), joined.jobs),
        (Some("mine"), Some("q"), Some(Jobs::One))
    );
    assert_eq!(joined.modules, ["a", "b"]);
}

#[test]
fn unknown_systems_and_broken_templates_are_refused() {
    let error = batch::find("slrum").expect_err("a refusal");
    assert!(error.help.contains("slurm"), "{error}");
    let parse = |text: &str| Template::parse(text, Path::new("x.toml")).expect_err("a refusal").message;
    let slurm = TEMPLATES[0].1;
    assert!(parse(&slurm.replace("{script}", "{scrpit}")).contains("unknown placeholder {scrpit}"));
    assert!(parse(&slurm.replace("prefix =", "prefxi =")).contains("prefxi"));
    assert!(parse(&slurm.replace("\"completed\"", "\"complete\"")).contains("complete"));
    assert!(parse(&slurm.replace("cancel = [\"scancel\", \"{ids}\"]", "cancel = []")).contains("cancel is empty"));
}

#[test]
fn braces_are_placeholders_unless_they_are_doubled() {
    let value = |name: &str| (name == "a").then(|| "1".to_owned());
    assert_eq!(fill("x{a}y{{a}}{", value).as_deref(), Some("x1y{a}{"));
    assert_eq!(fill("{b}", value), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    /// A shell restores the word that was quoted.
    #[test]
    fn any_quoted_text_is_one_shell_word(word in "[^\u{0}]{0,20}") {
        let output = Command::new("sh").args(["-c", &format!("printf %s {}", quote(&word))]).output().expect("a shell");
        prop_assert_eq!(String::from_utf8_lossy(&output.stdout), word);
    }

    #[test]
    fn any_answer_is_parsed_without_a_panic(text in ".{0,200}") {
        for (name, _) in TEMPLATES {
            let template = template(name);
            answer::parse_job_id(&template, &text);
            answer::parse_jobs(&template, &template.ask, &text);
        }
        NodeTable::parse(&text).limits();
        parse_cluster_name(&text);
    }
}

#[test]
fn node_sizes_are_read_from_the_default_or_the_requested_partition() {
    let small = |cores_of_socket, cores, hardware_threads, mebibytes: u64| {
        Some(NodeSize { cores_of_socket, cores, hardware_threads, memory: mebibytes << 20 })
    };
    assert_eq!(
        NodeTable::parse("debug 1 2 1 900\nmain* 2 64 2 257000\nmain* 2 48 2 128000\n").size(),
        small(48, 96, 192, 128000)
    );
    assert_eq!(NodeTable::parse("debug 1 2 1 900\nmain 2 64 2 257000+\n").size(), small(2, 2, 2, 900));
    assert_eq!(NodeTable::parse("main* 2\nslurm_load_partitions: no\n").size(), None);
    assert_eq!(NodeTable::parse("main* 99999999999999999 99999999999999999 1 1\nmain* 0 1 1 1\n").size(), None);
}

#[test]
fn the_limits_of_a_partition_are_read_from_the_same_answer() {
    let node = |name: &str, rest: &str| format!("{name} 2 64 2 257000 {rest}\n");
    let limits_of_three = |rest: &str| NodeTable::parse(&node("main*", rest).repeat(3)).limits();
    let seconds = |rest: &str| limits_of_three(rest).seconds;
    assert_eq!(limits_of_three("10:00 1-infinite"), Limits { seconds: Some(600.0), nodes: Some(3) });
    assert_eq!(limits_of_three("infinite 1-2"), Limits { seconds: None, nodes: Some(2) });
    assert_eq!(limits_of_three("1-00:00:00 2"), Limits { seconds: Some(86400.0), nodes: Some(2) });
    assert_eq!((seconds("2:30:00 1"), seconds("30"), seconds("n/a")), (Some(9000.0), Some(1800.0), None));
    assert_eq!(
        NodeTable::parse("main* 2 64 2 257000\n").limits(),
        Limits { seconds: None, nodes: Some(1) },
        "a template without such a query"
    );
    assert_eq!(NodeTable::parse("nonsense\n").limits(), Limits::default());
    // Other partitions are ignored. If several are meant, the largest limit counts.
    let two_partitions = node("main*", "10:00 1-infinite") + &node("long", "infinite 1-infinite");
    assert_eq!(NodeTable::parse(&two_partitions).limits(), Limits { seconds: Some(600.0), nodes: Some(1) });
    let two_default_partitions = node("a", "10:00 1-infinite") + &node("b", "20:00 1-infinite").repeat(2);
    assert_eq!(NodeTable::parse(&two_default_partitions).limits(), Limits { seconds: Some(1200.0), nodes: Some(2) });
}

#[test]
fn the_cluster_name_is_read_from_its_settings() {
    assert_eq!(parse_cluster_name("BootTime = 1\nClusterName             = summit\n").as_deref(), Some("summit"));
    assert_eq!(parse_cluster_name("ClusterName = (null)\n"), None);
    assert_eq!(parse_cluster_name("slurm_load_ctl_conf error: Unable to contact slurm controller\n"), None);
}
