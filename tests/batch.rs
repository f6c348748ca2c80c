//! Tests of batch systems: scripts as text, arguments, and ids in answers.

use super::common::Scratch;
use super::terminal::TINY_SWEEP;
use apexmap_cluster::batch::nodes::{Limits, NodeSize, NodeTable};
use apexmap_cluster::batch::script::{parse_cluster_name, parse_job_id, quote, submit_command};
use apexmap_cluster::batch::{self, JobScript, TEMPLATES, Template};
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

fn script(system: &str, options: &SubmitTable) -> String {
    let command: Vec<String> = ["/opt/apexmap", "run", "it's $HOME.toml"].map(str::to_owned).into();
    let script = JobScript {
        node: None,
        name: "am-nodes-4",
        nodes: 4,
        ranks_per_node: Some(2),
        seconds: 5400.0,
        log: "jobs/nodes-4.log",
        queued: "jobs/nodes-4.queued",
        folder: Path::new("/scratch/a b"),
        command: &command,
    };
    script.text(&template(system), options)
}

#[test]
fn a_slurm_script_contains_the_requested_options() {
    assert_eq!(
        script("slurm", &table()),
        "#!/bin/bash -l
#SBATCH --job-name=am-nodes-4
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --time=01:30:00
#SBATCH --output=jobs/nodes-4.log
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
rm -f jobs/nodes-4.queued
exec /opt/apexmap run 'it'\\''s $HOME.toml'
"
    );
}

#[test]
fn exclusive_nodes_request_all_memory_unless_the_user_sets_it() {
    let memory = |change: fn(&mut SubmitTable)| {
        let mut options = table();
        change(&mut options);
        let text = script("slurm", &options);
        text.lines().filter(|line| line.contains("--mem")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(memory(|_| ()), ["#SBATCH --mem=0"]);
    assert_eq!(memory(|options| options.exclusive = Some(false)), [""; 0]);
    assert_eq!(memory(|options| options.directives = vec!["--mem-per-cpu=1G".into()]), ["#SBATCH --mem-per-cpu=1G"]);
    assert_eq!(memory(|options| options.directives = vec!["--mem=5G".into()]), ["#SBATCH --mem=5G"]);
}

#[test]
fn a_directive_of_the_user_replaces_the_same_option_of_the_template() {
    let exclusive = |system: &str, directive: &str| {
        let mut options = table();
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
    let bare = SubmitTable::default();
    let head = |system: &str| {
        let text = script(system, &bare);
        let lines: Vec<&str> = text.lines().skip(1).take_while(|line| !line.starts_with("# Written")).collect();
        lines.join("\n")
    };
    assert_eq!(
        head("pbs"),
        "#PBS -N am-nodes-4\n#PBS -l select=4:ncpus=2:mpiprocs=2\n#PBS -l walltime=01:30:00\n#PBS -j oe\n\
         #PBS -o jobs/nodes-4.log\n#PBS -r y\n#PBS -l place=scatter:excl"
    );
    assert_eq!(
        head("torque"),
        "#PBS -N am-nodes-4\n#PBS -l nodes=4:ppn=2\n#PBS -l walltime=01:30:00\n#PBS -j oe\n#PBS -o jobs/nodes-4.log\n\
         #PBS -r y\n#PBS -n"
    );
    assert_eq!(
        head("lsf"),
        "#BSUB -J am-nodes-4\n#BSUB -nnodes 4\n#BSUB -W 1:30\n#BSUB -o jobs/nodes-4.log\n#BSUB -r\n#BSUB -x"
    );
    assert_eq!(
        head("flux"),
        "# flux: --job-name=am-nodes-4\n# flux: --nodes=4\n# flux: --time-limit=90m\n# flux: --output=jobs/nodes-4.log\n\
         # flux: --exclusive"
    );
}

#[test]
fn jobs_are_submitted_with_argument_lists() {
    let line = |system: &str| submit_command(&template(system), "/j.sh").join(" ");
    let lines = ["slurm", "pbs", "torque", "lsf", "flux"].map(line);
    assert_eq!(lines, ["sbatch --parsable /j.sh", "qsub /j.sh", "qsub /j.sh", "bsub", "flux batch /j.sh"]);
}

#[test]
fn job_ids_are_parsed_from_submission_messages() {
    let id = |system: &str, output: &str| parse_job_id(&template(system), output);
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
    let id = |system: &str, output: &str| parse_job_id(&template(system), output);
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

#[test]
fn values_that_a_script_cannot_contain_are_refused() {
    let wrong = |change: fn(&mut SubmitTable)| {
        let mut table = table();
        change(&mut table);
        table.check().expect_err("a refusal").0
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
    assert_eq!(error("{ time_limit = \"1 s\" }").0, "submit: time_limit is shorter than a minute");
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
    let submit = "submit = [\"sbatch\", \"--parsable\", \"{script}\"]";
    assert!(parse(&slurm.replace(submit, "submit = []")).contains("submit is empty"));
    let scratch = Scratch::new();
    let file = scratch.join("template.toml");
    std::fs::write(&file, slurm).expect("a file");
    assert!(batch::find(file.to_str().expect("a path")).is_ok(), "a user may name a file");
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
            parse_job_id(&template(name), &text);
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
