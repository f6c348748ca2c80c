//! Tests of the command lines of launchers, and of the checks before them.

use super::common::{Scratch, apexmap, refusal_message, successful_stdout};
use apexmap_base::error::ErrorKind;
use apexmap_measure::hardware::PlacementOrder;
use apexmap_run::launch::allocation;
use apexmap_run::launch::custom::Custom;
use apexmap_run::launch::hosts::{Hosts, HostsSource};
use apexmap_run::launch::local::Local;
use apexmap_run::launch::openmpi::OpenMpi;
use apexmap_run::launch::registry::LAUNCHERS;
use apexmap_run::launch::srun::{parse_default_type, parse_types, plugin_for};
use apexmap_run::launch::{LaunchJob, Launcher, LocalMachine, check, find, template};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns a job on a machine of four cores with two hardware threads each.
fn job(program: &str, ranks: usize, ranks_per_node: Option<usize>) -> LaunchJob {
    LaunchJob {
        program: program.into(),
        worker: "/opt/a pex/apexmap".into(),
        arguments: ["worker", "--job", "/tmp/0001.job; rm -rf *"].map(String::from).to_vec(),
        ranks,
        nodes: None,
        ranks_per_node,
        hosts: Vec::new(),
        place: None,
        variables: Vec::new(),
        machine: LocalMachine { cores: 4, hardware_threads: 8, packages: 1, nodes: 1, allocated: false, root: false },
    }
}

const WORKER: &str = "/opt/a pex/apexmap|worker|--job|/tmp/0001.job; rm -rf *";

/// Returns the command line with bars between its arguments, and its environment.
fn line(launcher: &dyn Launcher, job: &LaunchJob) -> (String, String) {
    let command = launcher.command(job);
    let env: Vec<_> = command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (command.argv.join("|"), env.join(" "))
}

/// Returns the launcher with this name, which takes no command.
fn launcher_named(id: &str) -> Box<dyn Launcher> {
    (find(id).expect("a launcher").make)(&[]).expect("a launcher")
}

fn custom(template: &[&str]) -> apexmap_base::error::Result<Custom> {
    Custom::new(template.iter().map(|argument| argument.to_string()).collect())
}

#[test]
fn the_local_launcher_runs_the_worker_itself() {
    assert_eq!(line(&Local, &job("unused", 8, None)), (WORKER.into(), "".into()));
}

#[test]
fn open_mpi_exports_message_settings_except_its_own() {
    let variables = ["OMPI_MCA_btl", "UCX_TLS"].map(String::from).to_vec();
    let (argv, _) = line(&OpenMpi, &LaunchJob { variables, ..job("mpirun", 4, None) });
    assert_eq!(argv, format!("mpirun|-n|4|--stdin|none|--bind-to|core|-x|UCX_TLS|{WORKER}"));
}

#[test]
fn open_mpi_binds_each_rank_to_a_separate_core() {
    let (argv, env) = line(&OpenMpi, &job("mpirun.openmpi", 4, None));
    assert_eq!(argv, format!("mpirun.openmpi|-n|4|--stdin|none|--bind-to|core|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn open_mpi_uses_hardware_threads_only_if_cores_are_too_few() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 5, None));
    assert_eq!(argv, format!("mpirun|-n|5|--stdin|none|--use-hwthread-cpus|--bind-to|hwthread|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn oversubscribed_open_mpi_yields_and_does_not_bind() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 9, None));
    assert_eq!(argv, format!("mpirun|-n|9|--stdin|none|--bind-to|none|{WORKER}"));
    assert_eq!(env, "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1");
}

#[test]
fn open_mpi_gets_its_root_flag_only_for_root() {
    let mut job = job("mpirun", 1, None);
    job.machine.root = true;
    assert_eq!(line(&OpenMpi, &job).1, "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

#[test]
fn open_mpi_receives_the_ranks_per_node() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 256, Some(4)));
    assert_eq!(argv, format!("mpirun|-n|256|--stdin|none|--map-by|ppr:4:node|--bind-to|core|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn ranks_of_an_allocation_are_spread_over_its_nodes() {
    let mut job = job("mpirun", 16, None);
    job.machine.nodes = 4;
    assert!(line(&OpenMpi, &job).0.contains("--bind-to|core"));
}

#[test]
fn mpich_binds_to_cores_then_to_threads_or_not_at_all() {
    let argv = |ranks, per_node| line(&*launcher_named("mpich"), &job("mpiexec.mpich", ranks, per_node)).0;
    assert_eq!(argv(4, None), format!("mpiexec.mpich|-n|4|-bind-to|core|{WORKER}"));
    assert_eq!(argv(8, None), format!("mpiexec.mpich|-n|8|-bind-to|hwthread|{WORKER}"));
    assert_eq!(argv(9, None), format!("mpiexec.mpich|-n|9|{WORKER}"));
    assert_eq!(argv(9, Some(2)), format!("mpiexec.mpich|-n|9|-ppn|2|-bind-to|core|{WORKER}"));
}

#[test]
fn srun_requests_tasks_and_ends_all_after_the_first_failure() {
    let argv = |per_node| line(&*launcher_named("srun"), &job("srun", 256, per_node)).0;
    assert_eq!(argv(None), format!("srun|--ntasks=256|--kill-on-bad-exit=1|--input=none|{WORKER}"));
    let with_nodes = format!("srun|--ntasks=256|--ntasks-per-node=16|--kill-on-bad-exit=1|--input=none|{WORKER}");
    assert_eq!(argv(Some(16)), with_nodes);
}

/// The machine has four cores with two hardware threads each.
#[test]
fn pals_receives_the_ranks_per_node_and_their_binding() {
    let argv = |ranks, per_node| line(&*launcher_named("pals"), &job("mpiexec", ranks, per_node)).0;
    let rest = format!("--envall|{WORKER}");
    assert_eq!(argv(4, None), format!("mpiexec|-n|4|--cpu-bind|core|{rest}"));
    assert_eq!(argv(64, Some(4)), format!("mpiexec|-n|64|--ppn|4|--cpu-bind|core|{rest}"));
    assert_eq!(argv(64, Some(8)), format!("mpiexec|-n|64|--ppn|8|--cpu-bind|thread|{rest}"));
    assert_eq!(argv(64, Some(16)), format!("mpiexec|-n|64|--ppn|16|--cpu-bind|none|{rest}"));
}

#[test]
fn flux_requests_nodes_and_tasks_with_one_core_each_or_whole_nodes() {
    let argv = |ranks, per_node| line(&*launcher_named("flux"), &job("flux", ranks, per_node)).0;
    let rest = format!("--setopt=exit-on-error|{WORKER}");
    let bound = "--cores-per-task=1|--setopt=cpu-affinity=per-task";
    assert_eq!(argv(4, None), format!("flux|run|--ntasks=4|{bound}|{rest}"));
    assert_eq!(argv(64, Some(4)), format!("flux|run|--nodes=16|--ntasks=64|{bound}|{rest}"));
    let whole = "flux|run|--nodes=8|--tasks-per-node=8|--exclusive|--setopt=cpu-affinity=off";
    assert_eq!(argv(64, Some(8)), format!("{whole}|{rest}"));
}

#[test]
fn the_srun_plugin_is_chosen_by_the_mpi_library() {
    // Recorded with Slurm 22.05; in earlier versions, the lines begin with "srun: ".
    let list = parse_types("MPI plugin types are...\n\tpmix\n\tnone\n\tcray_shasta\n\tpmi2\n");
    assert_eq!(list, ["pmix", "none", "cray_shasta", "pmi2"]);
    assert_eq!(parse_types("srun: MPI types are...\nsrun: none\nsrun: pmi2\n"), ["none", "pmi2"]);
    for (library, fit) in [
        ("Open MPI v4.1.4, package: Debian OpenMPI", Some("pmix")),
        ("MPICH Version: 4.0.2", Some("pmi2")),
        ("MPI VERSION : CRAY MPICH version 8.1.25", Some("cray_shasta")),
        ("an MPI library without a name", None),
    ] {
        assert_eq!(plugin_for(library, &list).as_deref(), fit, "{library}");
    }
    assert_eq!(plugin_for("Open MPI v4.1.4", &["none".into()]), None);
    assert_eq!(
        parse_default_type("MessageTimeout          = 10 sec\nMpiDefault              = pmix\nMpiParams = (null)\n"),
        Some("pmix")
    );
}

#[test]
fn nodes_and_ranks_per_node_are_passed_to_every_capable_launcher() {
    let mut job = job("x", 12, Some(3));
    job.nodes = Some(4);
    let srun = "x|--ntasks=12|--nodes=4|--ntasks-per-node=3|--kill-on-bad-exit=1|--input=none";
    assert_eq!(line(&*launcher_named("srun"), &job).0, format!("{srun}|{WORKER}"));
    let open_mpi = "x|-n|12|--stdin|none|--map-by|ppr:3:node|--bind-to|core";
    assert_eq!(line(&OpenMpi, &job).0, format!("{open_mpi}|{WORKER}"));
    assert_eq!(line(&*launcher_named("mpich"), &job).0, format!("x|-n|12|-ppn|3|-bind-to|core|{WORKER}"));
    let launcher = custom(&["x", "-N{nodes}", "-n{ranks_per_node}", "{ranks}", "{worker}", "{arguments}"]).unwrap();
    assert_eq!(line(&launcher, &job).0, format!("x|-N4|-n3|12|{WORKER}"));
    // If the sweep gives only the ranks per node, the number of nodes follows.
    job.nodes = None;
    assert_eq!(line(&launcher, &job).0, format!("x|-N4|-n3|12|{WORKER}"));
}

#[test]
fn launchers_receive_only_the_hosts_that_a_launch_needs() {
    let mut job = job("x", 4, Some(2));
    job.hosts = ["a", "b", "c"].map(String::from).to_vec();
    let open_mpi = "x|-n|4|--stdin|none|--map-by|ppr:2:node|--host|a:2,b:2|--bind-to|core";
    assert_eq!(line(&OpenMpi, &job).0, format!("{open_mpi}|{WORKER}"));
    assert_eq!(line(&*launcher_named("mpich"), &job).0, format!("x|-n|4|-ppn|2|-hosts|a,b|-bind-to|core|{WORKER}"));
    let srun = "x|--ntasks=4|--ntasks-per-node=2|--nodelist=a,b|--kill-on-bad-exit=1|--input=none";
    assert_eq!(line(&*launcher_named("srun"), &job).0, format!("{srun}|{WORKER}"));
    let launcher = custom(&["x", "-H{hosts}", "{ranks}", "{worker}", "{arguments}"]).unwrap();
    assert_eq!(line(&launcher, &job).0, format!("x|-Ha,b|4|{WORKER}"));
    assert!(launcher.takes_hosts());
    assert!(line(&*launcher_named("flux"), &job).0.contains("|--requires=hosts:a,b|"));
    assert!(line(&*launcher_named("pals"), &job).0.contains("|--ppn|2|--hosts|a,b|"));
    // Other launchers report that they cannot.
    assert!(!Local.takes_hosts());
    assert!(!custom(&["x", "{ranks}", "{worker}", "{arguments}"]).unwrap().takes_hosts());
}

/// Returns the hosts of a list, or the message about a fault in it.
fn list(words: &[&str]) -> Result<Hosts, String> {
    let source = HostsSource::List(words.iter().map(|word| word.to_string()).collect());
    source.read().map_err(|error| error.message)
}

#[test]
fn invalid_hosts_are_refused() {
    assert_eq!(list(&[]).unwrap_err(), "hosts: the list is empty");
    for wrong in [
        "",
        " ",
        "-a",
        "a b",
        "a,b",
        "a slots",
        "a:2 slots=2",
        "a;b",
        "n[1",
        "n1]",
        "n[4-1]",
        "n[a-b]",
        "n[]",
        "n[1-999999999]",
        "[1-9999][1-9999]",
    ] {
        assert_eq!(list(&["x", wrong]).unwrap_err(), format!("hosts: \"{wrong}\" is not a host"));
    }
    for wrong in ["a:0", "a:", "a:-1", "a slots=x"] {
        assert_eq!(list(&[wrong]).unwrap_err(), format!("hosts: \"{wrong}\" has no valid number of ranks"));
    }
}

#[test]
fn host_files_of_both_mpis_are_accepted() {
    let scratch = Scratch::new();
    let path = scratch.join("hosts");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        HostsSource::File(path.clone()).read()
    };
    for text in [
        "# two\na:4\n\n b:4 # the second\n",
        "a slots=4\nb slots=4 max_slots=8\n",
        "a slots = 4\nb  cpu=4 max-slots = 8\n",
        "a np=4\nb slots= 4\n",
        "a\nb\na\nb\na\nb\na\nb\n",
        "a:3\nb\na\nb:3\n",
    ] {
        let hosts = read(text).unwrap();
        assert_eq!(hosts.names, ["a", "b"]);
        assert_eq!(hosts.ranks_per_node(None).unwrap(), 4);
    }
    let unequal = read("a\na\nb\n").unwrap();
    assert!(unequal.ranks_per_node(None).is_err(), "one line per slot: a has 2, b has 1");
    assert!(unequal.ranks_per_node(Some(2)).unwrap_err().message.contains("host b takes 1 rank"));
    let empty = read("# nothing\n").unwrap_err();
    assert!(empty.message.ends_with("hosts: the list is empty"), "{empty}");
    std::fs::remove_file(&path).unwrap();
    let absent = HostsSource::File(path.clone()).read().unwrap_err();
    assert!(absent.message.contains("cannot read") && absent.message.contains("hosts"), "{absent}");
}

#[test]
fn numbers_in_brackets_are_hosts() {
    let names = |words: &[&str]| list(words).unwrap().names.join(" ");
    assert_eq!(names(&["n[08-10]"]), "n08 n09 n10");
    assert_eq!(names(&["x", "n[1", "3-4]-ib:2", "y"]), "x n1-ib n3-ib n4-ib y", "the command line divides at commas");
    assert_eq!(names(&["r[1-2]n[1-2]"]), "r1n1 r1n2 r2n1 r2n2");
    assert_eq!(list(&["n[1-4]:2"]).unwrap().ranks_per_node(None).unwrap(), 2);
}

#[test]
fn the_ranks_per_host_are_requested_listed_or_one() {
    assert_eq!(list(&["a", "b"]).unwrap().ranks_per_node(None).unwrap(), 1);
    assert_eq!(list(&["a", "b"]).unwrap().ranks_per_node(Some(8)).unwrap(), 8);
    assert_eq!(list(&["a:4", "b:6"]).unwrap().ranks_per_node(Some(4)).unwrap(), 4);
    let fewer = list(&["a:4", "b:6"]).unwrap().ranks_per_node(Some(5)).unwrap_err();
    assert!(fewer.message.contains("host a takes 4 ranks, but the sweep puts 5"), "{fewer}");
    let differ = list(&["a:4", "b"]).unwrap().ranks_per_node(None).unwrap_err();
    assert!(differ.message.contains("different numbers of ranks"), "{differ}");
}

#[test]
fn unusable_hosts_are_refused_before_a_launch() {
    let scratch = Scratch::new();
    let file = scratch.join("s.toml").to_str().unwrap().to_owned();
    let out = scratch.join("result").to_str().unwrap().to_owned();
    let refuse = |launch: &str, flags: &[&str]| {
        let text = format!(
            "[fixed]\nkernel = \"message_rate.ping_pong\"\n[axes]\nranks = [2, 8]\n[launch]\ntransport = \"threads\"\n{launch}"
        );
        std::fs::write(&file, text).unwrap();
        refusal_message(&[&["run", &file, "--out", &out], flags].concat())
    };
    let error = refuse("", &["--hosts", "a,b"]);
    assert!(error.contains("launcher \"local\" does not accept hosts"), "{error}");
    let error = refuse("hosts = [\"a\"]\nhostfile = \"f\"", &[]);
    assert!(error.contains("hosts and hostfile are both set"), "{error}");
    assert!(!scratch.join("result").exists());
}

#[test]
fn a_custom_command_is_expanded_argument_by_argument() {
    let launcher =
        custom(&["jsrun", "-n{ranks}", "-r", "{ranks_per_node}", "{other}", "{worker}", "{arguments}"]).unwrap();
    let (argv, env) = line(&launcher, &job("jsrun", 6, Some(3)));
    assert_eq!(argv, format!("jsrun|-n6|-r|3|{{other}}|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn a_custom_command_without_its_placeholders_is_refused_by_name() {
    for (template, missing) in [
        (&["x", "{ranks}", "{arguments}"][..], "{worker}"),
        (&["x", "{ranks}", "{worker}", "--{arguments}"], "{arguments}"),
        (&["x", "{worker}", "{arguments}"], "{ranks}"),
        (&[], "{worker}"),
    ] {
        let error = custom(template).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input);
        assert!(error.message.contains(missing), "{error}");
    }
}

proptest! {
    #[test]
    fn expansion_of_a_custom_argument_changes_no_other_argument(text in "[a-z{} ]{0,20}", ranks in 1usize..100) {
        let launcher = custom(&["run", "{ranks}", &text, "{worker}", "{arguments}"]).unwrap();
        let argv = launcher.command(&job("run", ranks, None)).argv;
        prop_assert_eq!(&argv[1], &ranks.to_string());
        let expected = text.replace("{ranks}", &argv[1]).replace("{worker}", "/opt/a pex/apexmap");
        if text != "{arguments}" {
            prop_assert_eq!(&argv[2], &expected);
        }
    }
}

#[test]
fn every_launcher_is_found_by_its_id() {
    let template = ["x", "{ranks}", "{worker}", "{arguments}"].map(String::from);
    let ids: Vec<_> = LAUNCHERS.iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["local", "simulated", "openmpi", "mpich", "srun", "pals", "flux", "custom"]);
    for entry in LAUNCHERS.iter() {
        let entry_by_id = find(entry.id).unwrap();
        assert_eq!((entry_by_id.id, entry_by_id.transport), (entry.id, entry.transport));
        // The registry creates the launcher of that entry.
        let launcher = (entry_by_id.make)(if entry_by_id.takes_command { &template } else { &[] }).unwrap();
        assert_eq!(launcher.id(), entry.id);
    }
    assert!(LAUNCHERS.iter().any(|entry| entry.id == "custom" && entry.takes_command));
}

#[test]
fn templates_with_unknown_keys_or_placeholders_are_refused() {
    let wrong = |text: &str| template::entry("x", text).expect_err("a refusal");
    let good = "summary = \"x\"\nprograms = [\"x\"]\ninstall = \"x\"\ncommand = [[\"{program}\", \"-n{ranks}\"]]\n";
    assert!(template::entry("x", good).is_ok());
    let error = wrong(&good.replace("{ranks}", "{rank}"));
    assert!(error.message.contains("unknown placeholder {rank}"), "{error}");
    let error = wrong(&good.replace("programs", "program"));
    assert!(error.message.contains("no key \"program\""), "{error}");
    assert!(wrong(&format!("{good}[binding]\ncores = [[\"{{core}}\"]]\n")).message.contains("{core}"));
}

#[test]
fn an_unknown_launcher_gets_the_nearest_suggestion() {
    let error = find("opnmpi").err().unwrap();
    assert!(error.message.contains("opnmpi") && error.help.contains("did you mean \"openmpi\"?"), "{error}");
}

#[test]
fn a_removed_launcher_is_refused_with_its_replacement_command() {
    for (id, line) in [
        ("aprun", "aprun|-n|4|-j|1|-cc|cpu"),
        ("jsrun", "jsrun|--nrs=4|--tasks_per_rs=1|--cpu_per_rs=1|--bind=rs|--exit_on_error=1"),
    ] {
        let error = find(id).err().unwrap();
        let command = error.help.strip_prefix("use launcher = \"custom\" with command = ").expect("a command");
        let command: Vec<String> = serde_json::from_str(command.split(';').next().expect("it")).expect("a list");
        let launcher = Custom::new(command).expect("a command that custom takes");
        assert_eq!(launcher.command(&job("x", 4, None)).argv.join("|"), format!("{line}|{WORKER}"));
    }
}

/// Creates a folder with an executable and a plain file.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, mode) in [("mpirun", 0o755), ("apexmap", 0o755), ("plain", 0o644)] {
        std::fs::write(folder.join(file), "").unwrap();
        std::fs::set_permissions(folder.join(file), PermissionsExt::from_mode(mode)).unwrap();
    }
    folder
}

#[test]
fn the_first_program_on_the_path_is_used() {
    let folder = folder("launch-path");
    let worker = folder.join("apexmap");
    assert_eq!(check(&OpenMpi, &worker, folder.as_os_str()).unwrap(), "mpirun");
    assert_eq!(check(&Local, &worker, OsStr::new("")).unwrap(), worker.to_str().unwrap());
    let by_path = worker.to_str().unwrap();
    let launcher = custom(&[by_path, "{ranks}", "{worker}", "{arguments}"]).unwrap();
    assert_eq!(check(&launcher, &worker, OsStr::new("")).unwrap(), by_path);
}

#[test]
fn a_missing_launcher_is_refused_with_install_instructions() {
    let folder = folder("launch-missing");
    let error = check(&*launcher_named("mpich"), &folder.join("apexmap"), folder.as_os_str()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Environment);
    assert!(error.message.contains("mpiexec.mpich or mpiexec.hydra or mpiexec"), "{error}");
    assert!(error.help.contains("apt-get install mpich"), "{error}");
}

#[test]
fn an_unusable_worker_is_refused_before_the_launch() {
    let folder = folder("launch-worker");
    let refuse = |worker: &str| check(&OpenMpi, &folder.join(worker), folder.as_os_str()).unwrap_err();
    assert!(refuse("absent").message.contains("absent does not exist"));
    assert!(refuse("plain").message.contains("plain is not an executable file"));
    assert!(refuse("plain").help.contains("--features mpi"));
}

#[test]
fn a_trial_runs_the_largest_launch_and_leaves_no_files() {
    let scratch = Scratch::new();
    let sweep = scratch.join("s.toml");
    let text =
        "[fixed]\nkernel = \"apex_map.two_sided\"\nM = 4096\n[axes]\nranks = [2, 4]\n[launch]\npreflight = \"0 s\"\n";
    std::fs::write(&sweep, text).unwrap();
    let out = scratch.join("result");
    let stdout = successful_stdout(&["run", "--trial", sweep.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    for part in ["launcher   local", "ranks      4 on 1 node", "barrier    ", "ping-pong  ", "streaming  "] {
        assert!(stdout.contains(part), "{stdout}");
    }
    let left: Vec<_> = std::fs::read_dir(scratch.join(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["s.toml"]);
}

#[test]
fn a_failed_trial_leaves_its_output_in_the_result_until_the_next_trial() {
    let scratch = Scratch::new();
    let sweep = scratch.join("s.toml");
    let text = |command: &str| {
        format!(
            "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\n[launch]\ntransport = \"threads\"\n\
             launcher = \"local\"\nworker = \"{command}\"\npreflight = 0\n"
        )
    };
    // Describes itself as a worker, and cannot measure.
    let worker = scratch.join("worker");
    let program = env!("CARGO_BIN_EXE_apexmap");
    let script = format!("#!/bin/sh\n[ \"$2\" = --info ] && exec {program} \"$@\"\necho out of luck >&2\nexit 1\n");
    std::fs::write(&worker, script).unwrap();
    std::fs::set_permissions(&worker, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(&sweep, text(worker.to_str().unwrap())).unwrap();
    let out = scratch.join("result");
    let arguments = ["run", "--trial", sweep.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let trials = || -> Vec<_> {
        let entries = std::fs::read_dir(out.join("trials")).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| !name.to_string_lossy().starts_with('.')).collect()
    };
    for _ in 0..2 {
        let message = String::from_utf8(apexmap(&arguments).stderr).unwrap();
        assert!(message.contains("result/trials/2-ranks-1-nodes"), "{message}");
        assert_eq!(trials(), ["2-ranks-1-nodes"]);
    }
    std::fs::write(&sweep, text(program)).unwrap();
    successful_stdout(&arguments);
    assert!(!out.exists());
}

/// The trial also works for one rank, which has no pairs, and for an odd number of ranks.
#[test]
fn a_trial_accepts_launches_of_one_and_of_three_ranks() {
    let scratch = Scratch::new();
    let sweep = scratch.join("s.toml");
    for (kernel, ranks, expected) in
        [("apex_map.sequential", 1, "ranks      1 on 1 node"), ("apex_map.two_sided", 3, "ranks      3 on 1 node")]
    {
        let text = format!(
            "[fixed]\nkernel = \"{kernel}\"\nranks = {ranks}\nM = 3072\nL = 1\n[launch]\npreflight = \"0 s\"\n"
        );
        std::fs::write(&sweep, text).unwrap();
        let stdout = successful_stdout(&[
            "run",
            "--trial",
            sweep.to_str().unwrap(),
            "--out",
            scratch.join("result").to_str().unwrap(),
        ]);
        assert!(stdout.contains(expected) && !stdout.contains("ping-pong"), "{stdout}");
    }
    assert!(
        successful_stdout(&["run", "--trial", "memory-sizes", "--out", scratch.join("m").to_str().unwrap()])
            .contains("ranks      1 on 1")
    );
}

#[test]
fn the_node_count_of_a_job_is_read_from_its_batch_system() {
    let nodes = |name: &'static str, value: &str| {
        let value = value.to_owned();
        allocation::count_nodes(move |asked| (asked == name).then(|| value.clone()))
    };
    assert_eq!(nodes("SLURM_JOB_NUM_NODES", "4"), Some(4));
    let scratch = Scratch::new();
    let file = scratch.join("nodes");
    std::fs::write(&file, "n1\nn1\nn2\nn2\n\n").expect("a file");
    assert_eq!(nodes("PBS_NODEFILE", file.to_str().expect("a path")), Some(2));
    assert_eq!(nodes("PBS_NODEFILE", "/no/such/file"), None);
    assert_eq!(nodes("LSB_MCPU_HOSTS", "n1 16 n2 16 "), Some(2));
    assert_eq!(nodes("LSB_MCPU_HOSTS", "batch5 1 n1 42 n2 42"), Some(2), "no rank runs where the job starts them");
    assert_eq!(nodes("LSB_MCPU_HOSTS", "n1 1 n2 1"), Some(2));
    assert_eq!(nodes("LSB_MCPU_HOSTS", "n1"), None);
    assert_eq!(nodes("HOME", "/"), None);
    let names = |name: &'static str, value: &str| {
        let value = value.to_owned();
        allocation::list_nodes(move |asked| (asked == name).then(|| value.clone())).map(Option::unwrap_or_default)
    };
    assert_eq!(names("PBS_NODEFILE", file.to_str().expect("a path")).expect("a list"), ["n1", "n2"]);
    assert!(names("PBS_NODEFILE", "/no/such/file").is_err_and(|error| error.message.contains("/no/such/file")));
    assert_eq!(names("LSB_MCPU_HOSTS", "batch5 1 n1 42 n2 42").expect("a list"), ["n1", "n2"]);
    assert!(names("HOME", "/").expect("a list").is_empty());
}

/// On a node of two packages with four cores of two hardware threads each.
#[test]
fn ranks_are_placed_as_requested_if_the_launcher_supports_it() {
    let argv = |launcher: &dyn Launcher, place, ranks, per_node| {
        let mut job = job("x", ranks, per_node);
        (job.place, job.machine.cores, job.machine.hardware_threads, job.machine.packages) = (Some(place), 8, 16, 2);
        line(launcher, &job).0.replace(&format!("|{WORKER}"), "").replace("x|-n|", "")
    };
    let spread = |ranks, per_node| argv(&OpenMpi, PlacementOrder::Spread, ranks, per_node);
    assert_eq!(spread(3, None), "3|--stdin|none|--map-by|socket|--bind-to|core");
    assert_eq!(spread(8, Some(4)), "8|--stdin|none|--map-by|ppr:2:socket|--rank-by|socket|--bind-to|core");
    assert_eq!(spread(9, Some(3)), "9|--stdin|none|--map-by|socket|--bind-to|core");
    assert_eq!(spread(17, None), "17|--stdin|none|--bind-to|none", "ranks that share hardware threads have no place");
    assert_eq!(
        argv(&OpenMpi, PlacementOrder::Compact, 8, Some(4)),
        "8|--stdin|none|--map-by|ppr:4:node|--bind-to|core"
    );
    let smt = "4|--stdin|none|--map-by|hwthread|--use-hwthread-cpus|--bind-to|hwthread";
    assert_eq!(argv(&OpenMpi, PlacementOrder::Smt, 4, None), smt);
    assert_eq!(
        argv(&*launcher_named("mpich"), PlacementOrder::Spread, 8, Some(4)),
        "8|-ppn|4|-bind-to|core|-map-by|socket"
    );
    assert_eq!(argv(&*launcher_named("mpich"), PlacementOrder::Compact, 4, None), "4|-bind-to|core|-map-by|core");
    assert_eq!(argv(&*launcher_named("mpich"), PlacementOrder::Smt, 4, None), "4|-bind-to|hwthread|-map-by|hwthread");
    assert!(
        argv(&*launcher_named("srun"), PlacementOrder::Spread, 4, None)
            .contains("|--cpu-bind=cores|--distribution=block:cyclic|")
    );
    assert!(argv(&*launcher_named("srun"), PlacementOrder::Compact, 4, None).contains("|--distribution=block:block|"));
}
