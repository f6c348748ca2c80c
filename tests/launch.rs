//! Command lines of launchers, and the checks before them.

use apexmap::error::ErrorKind;
use apexmap::explore::launch::custom::Custom;
use apexmap::explore::launch::local::Local;
use apexmap::explore::launch::mpich::Mpich;
use apexmap::explore::launch::openmpi::OpenMpi;
use apexmap::explore::launch::registry::ALL;
use apexmap::explore::launch::srun::Srun;
use apexmap::explore::launch::{Here, LaunchJob, Launcher, check, find};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A job on a machine of four cores with two hardware threads each.
fn job(program: &str, ranks: usize, ranks_per_node: Option<usize>) -> LaunchJob {
    LaunchJob {
        program: program.into(),
        worker: "/opt/a pex/apexmap".into(),
        arguments: ["worker", "--job", "/tmp/0001.job; rm -rf *"].map(String::from).to_vec(),
        ranks,
        nodes: None,
        ranks_per_node,
        here: Here { cores: 4, hardware_threads: 8, nodes: 1, allocated: false, root: false },
    }
}

const WORKER: &str = "/opt/a pex/apexmap|worker|--job|/tmp/0001.job; rm -rf *";

/// The command line with its arguments between bars, then its environment.
fn line(launcher: &dyn Launcher, job: &LaunchJob) -> (String, String) {
    let command = launcher.command(job);
    let env: Vec<_> = command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (command.argv.join("|"), env.join(" "))
}

fn custom(template: &[&str]) -> apexmap::error::Result<Custom> {
    Custom::new(template.iter().map(|argument| argument.to_string()).collect())
}

#[test]
fn the_local_launcher_is_the_worker_itself() {
    assert_eq!(line(&Local, &job("unused", 8, None)), (WORKER.into(), "".into()));
}

#[test]
fn open_mpi_binds_each_rank_to_a_core_of_its_own() {
    let (argv, env) = line(&OpenMpi, &job("mpirun.openmpi", 4, None));
    assert_eq!(argv, format!("mpirun.openmpi|-n|4|--stdin|none|--bind-to|core|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn open_mpi_uses_hardware_threads_only_when_cores_do_not_suffice() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 5, None));
    assert_eq!(argv, format!("mpirun|-n|5|--stdin|none|--use-hwthread-cpus|--bind-to|hwthread|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn oversubscribed_open_mpi_yields_and_binds_to_nothing() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 9, None));
    assert_eq!(argv, format!("mpirun|-n|9|--stdin|none|--bind-to|none|{WORKER}"));
    assert_eq!(env, "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1");
}

#[test]
fn open_mpi_gets_its_root_flag_only_as_root() {
    let mut job = job("mpirun", 1, None);
    job.here.root = true;
    assert_eq!(line(&OpenMpi, &job).1, "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
}

#[test]
fn ranks_per_node_decide_what_fits_on_a_node() {
    let (argv, env) = line(&OpenMpi, &job("mpirun", 256, Some(4)));
    assert_eq!(argv, format!("mpirun|-n|256|--stdin|none|--map-by|ppr:4:node|--bind-to|core|{WORKER}"));
    assert_eq!(env, "");
}

#[test]
fn ranks_of_an_allocation_spread_over_its_nodes() {
    let mut job = job("mpirun", 16, None);
    job.here.nodes = 4;
    assert!(line(&OpenMpi, &job).0.contains("--bind-to|core"));
}

#[test]
fn mpich_binds_to_cores_then_to_threads_then_not_at_all() {
    let argv = |ranks, per_node| line(&Mpich, &job("mpiexec.mpich", ranks, per_node)).0;
    assert_eq!(argv(4, None), format!("mpiexec.mpich|-n|4|-bind-to|core|{WORKER}"));
    assert_eq!(argv(8, None), format!("mpiexec.mpich|-n|8|-bind-to|hwthread|{WORKER}"));
    assert_eq!(argv(9, None), format!("mpiexec.mpich|-n|9|{WORKER}"));
    assert_eq!(argv(9, Some(2)), format!("mpiexec.mpich|-n|9|-ppn|2|-bind-to|core|{WORKER}"));
}

#[test]
fn srun_asks_for_tasks_and_ends_all_with_the_first_that_fails() {
    let argv = |per_node| line(&Srun, &job("srun", 256, per_node)).0;
    assert_eq!(argv(None), format!("srun|--ntasks=256|--kill-on-bad-exit=1|--input=none|{WORKER}"));
    let with_nodes = format!("srun|--ntasks=256|--ntasks-per-node=16|--kill-on-bad-exit=1|--input=none|{WORKER}");
    assert_eq!(argv(Some(16)), with_nodes);
}

#[test]
fn nodes_and_ranks_on_each_are_handed_to_every_launcher_that_knows_them() {
    let mut job = job("x", 12, Some(3));
    job.nodes = Some(4);
    let srun = "x|--ntasks=12|--nodes=4|--ntasks-per-node=3|--kill-on-bad-exit=1|--input=none";
    assert_eq!(line(&Srun, &job).0, format!("{srun}|{WORKER}"));
    let open_mpi = "x|-n|12|--stdin|none|--map-by|ppr:3:node|--bind-to|core";
    assert_eq!(line(&OpenMpi, &job).0, format!("{open_mpi}|{WORKER}"));
    assert_eq!(line(&Mpich, &job).0, format!("x|-n|12|-ppn|3|-bind-to|core|{WORKER}"));
    let launcher = custom(&["x", "-N{nodes}", "-n{ranks_per_node}", "{ranks}", "{worker}", "{arguments}"]).unwrap();
    assert_eq!(line(&launcher, &job).0, format!("x|-N4|-n3|12|{WORKER}"));
    // Where the sweep tells only the ranks on each node, the nodes follow.
    job.nodes = None;
    assert_eq!(line(&launcher, &job).0, format!("x|-N4|-n3|12|{WORKER}"));
}

#[test]
fn a_custom_command_is_filled_in_argument_by_argument() {
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
        assert!(error.what.contains(missing), "{error}");
    }
}

proptest! {
    #[test]
    fn whatever_a_custom_argument_says_nothing_else_is_touched(text in "[a-z{} ]{0,20}", ranks in 1usize..100) {
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
    for entry in ALL {
        let found = find(entry.id).unwrap();
        assert_eq!((found.id, found.transport), (entry.id, entry.transport));
        // What the registry makes is the launcher of that line.
        let launcher = (found.make)(if found.takes_command { &template } else { &[] }).unwrap();
        assert_eq!(launcher.entry(), *entry);
    }
    assert!(ALL.iter().any(|entry| entry.id == "custom" && entry.takes_command));
}

#[test]
fn an_unknown_launcher_is_answered_with_the_nearest_one() {
    let error = find("opnmpi").err().unwrap();
    assert!(error.what.contains("opnmpi") && error.next.contains("did you mean \"openmpi\"?"), "{error}");
}

/// A folder with an executable and a plain file in it.
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
fn the_first_program_that_is_on_the_path_serves() {
    let folder = folder("launch-path");
    let worker = folder.join("apexmap");
    assert_eq!(check(&OpenMpi, &worker, folder.as_os_str()).unwrap(), "mpirun");
    assert_eq!(check(&Local, &worker, OsStr::new("")).unwrap(), worker.to_str().unwrap());
    let by_path = worker.to_str().unwrap();
    let launcher = custom(&[by_path, "{ranks}", "{worker}", "{arguments}"]).unwrap();
    assert_eq!(check(&launcher, &worker, OsStr::new("")).unwrap(), by_path);
}

#[test]
fn a_launcher_that_is_not_installed_is_refused_with_what_to_install() {
    let folder = folder("launch-missing");
    let error = check(&Mpich, &folder.join("apexmap"), folder.as_os_str()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Environment);
    assert!(error.what.contains("mpiexec.mpich or mpiexec.hydra or mpiexec"), "{error}");
    assert!(error.next.contains("apt-get install mpich"), "{error}");
}

#[test]
fn a_worker_that_cannot_be_run_is_refused_before_the_launch() {
    let folder = folder("launch-worker");
    let refuse = |worker: &str| check(&OpenMpi, &folder.join(worker), folder.as_os_str()).unwrap_err();
    assert!(refuse("absent").what.contains("absent does not exist"));
    assert!(refuse("plain").what.contains("plain is not an executable file"));
    assert!(refuse("plain").next.contains("--features mpi"));
}
