//! Tests of site files: which settings are in force, how they reach jobs and launches, and how they are tested.

use super::common::{Scratch, output};
use super::mpi_worker::{MPICH, OPEN_MPI};
use super::submit::LoginNode;
use super::terminal::TINY_SWEEP;
use apexmap_base::error::Error;
use apexmap_cluster::site::Site;
use apexmap_results::disk::Folder;
use apexmap_results::disk::manifest::Manifest;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let path = scratch.join(name);
    fs::write(&path, text).expect("a file");
    path
}

#[test]
fn a_key_is_taken_from_the_first_file_that_has_it() {
    let scratch = Scratch::new();
    let own = write(
        &scratch,
        "own.toml",
        "[submit]\npartition = \"debug\"\n[environment]\nUCX_TLS = \"tcp\"\n[workers]\nmpi = \"bin/worker\"\n",
    );
    let machine = write(
        &scratch,
        "machine.toml",
        "machine = \"summit\"\n\n[submit]\npartition = \"batch\"\nmodules = [\"openmpi\"]\n[environment]\nUCX_TLS = \"rc\"\nOMPI_MCA_osc = \"pt2pt\"\n",
    );
    let site = Site::from_files(&[own.clone(), machine.clone()]).expect("a site");
    assert_eq!(site.file.machine.as_deref(), Some("summit"));
    assert_eq!(site.file.submit.partition.as_deref(), Some("debug"));
    assert_eq!(site.file.submit.modules, ["openmpi"]);
    assert_eq!(site.file.environment["UCX_TLS"], "tcp");
    assert_eq!(site.file.environment["OMPI_MCA_osc"], "pt2pt");
    assert_eq!(site.file.workers["mpi"], scratch.join("bin/worker"), "relative to its file");
    let origin = |key: &str| {
        let setting = site.settings.iter().find(|setting| setting.key == key).expect("a setting");
        (setting.value.clone(), setting.file.clone(), setting.line)
    };
    assert_eq!(origin("submit.partition"), ("\"debug\"".to_owned(), own.clone(), 2));
    assert_eq!(origin("submit.modules"), ("[\"openmpi\"]".to_owned(), machine.clone(), 5));
    assert_eq!(site.settings.iter().filter(|setting| setting.key == "environment.UCX_TLS").count(), 1);
}

#[test]
fn templates_of_partitions_are_relative_to_their_file() {
    let scratch = Scratch::new();
    let text = "[submit]\nsystem = \"slurm\"\n[partitions.old]\nsystem = \"templates/old.toml\"\n[partitions.new]\nqos = \"a\"\n";
    let site = Site::from_files(&[write(&scratch, "site.toml", text)]).expect("a site");
    let expected = scratch.join("templates/old.toml").display().to_string();
    assert_eq!(site.file.partitions["old"].system.as_deref(), Some(expected.as_str()));
    assert_eq!(site.file.submit.system.as_deref(), Some("slurm"));
}

#[test]
fn errors_in_a_site_file_show_the_line_and_the_nearest_key() {
    let scratch = Scratch::new();
    let error = |text: &str| -> (Error, usize) {
        let path = write(&scratch, "site.toml", text);
        let error = Site::from_files(&[path]).expect_err("a refusal");
        let location = error.location.clone().expect("a place");
        let line = location.text[..location.span.start].matches('\n').count() + 1;
        (error, line)
    };
    let (unknown, line) = error("machine = \"m\"\n[submit]\npartiton = \"batch\"\n");
    assert!(unknown.message.contains("partiton") && unknown.help.contains("did you mean \"partition\"?"), "{unknown}");
    assert_eq!(line, 3);
    let (launcher, line) = error("[workers]\nopenmpi = \"a\"\nmpihc = \"b\"\n");
    assert!(launcher.message.contains("no launcher \"mpihc\"") && launcher.help.contains("mpich"), "{launcher}");
    assert_eq!(line, 3);
    let (value, line) = error("[partitions.debug]\naccount = \"a b\"\n");
    assert!(value.message.contains("partitions.debug: account = \"a b\" is not allowed"), "{value}");
    assert_eq!(line, 2);
    assert!(error("[limits]\nmax_node_hours = 0\n").0.message.contains("greater than 0"));
    assert!(error("[environment]\n\"A B\" = \"c\"\n").0.message.contains("not a valid name"));
    let absent = Site::from_files(&[scratch.join("absent.toml")]).expect_err("a refusal");
    assert!(absent.message.contains("absent.toml") && absent.help.contains("APEXMAP_CONFIG"), "{absent}");
}

/// Runs apexmap in a folder with this site file.
fn apexmap(folder: &Path, site: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    command.args(arguments).env("APEXMAP_CONFIG", site).env("XDG_CONFIG_HOME", folder.join("none")).current_dir(folder);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").env_remove("SLURM_JOB_ID");
    let output = output(&mut command);
    (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn the_settings_in_force_are_listed_and_recorded_in_results() {
    let scratch = Scratch::new();
    let site = write(
        &scratch,
        "site.toml",
        "machine = \"summit\"\n[submit]\naccount = \"p1\"\n[environment]\nUCX_TLS = \"tcp\"\n",
    );
    let (code, shown) = apexmap(&scratch, &site, &["site"]);
    assert_eq!(code, Some(0), "{shown}");
    for part in
        ["site file named by APEXMAP_CONFIG", "of this machine: /etc/apexmap.toml", "submit.account", "site.toml:3"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    write(&scratch, "s.toml", TINY_SWEEP);
    let run = ["run", "s.toml", "--no-report", "--out", "result"];
    let (code, messages) = apexmap(&scratch, &site, &run);
    assert_eq!(code, Some(0), "{messages}");
    let folder = Folder { path: scratch.join("result") };
    assert_eq!(Manifest::read(&folder).expect("a manifest").machine, "summit");
    let record = fs::read_to_string(scratch.join("result/site.toml")).expect("a record");
    assert!(record.contains("machine = \"summit\"  # ") && record.contains("site.toml:1"), "{record}");
    assert!(record.contains("environment.UCX_TLS") && !record.contains("submit"), "no job was submitted: {record}");
    let launch = folder.records().expect("journals")[0].launch.clone().expect("a greeting");
    assert_eq!(launch.environment["UCX_TLS"], "tcp");
    // A flag comes first.
    let (code, messages) = apexmap(&scratch, &site, &[&run[..4], &["other", "--machine", "mine"]].concat());
    assert_eq!(code, Some(0), "{messages}");
    assert_eq!(Manifest::read(&Folder { path: scratch.join("other") }).expect("a manifest").machine, "mine");
    assert!(!fs::read_to_string(scratch.join("other/site.toml")).expect("a record").contains("machine"));
    let (code, messages) = apexmap(&scratch, &scratch.join("absent.toml"), &run);
    assert!(code == Some(3) && messages.contains("absent.toml"), "{messages}");
}

#[test]
fn jobs_get_the_worker_account_modules_and_partition_of_the_site() {
    needs!(Mpi);
    let site = LoginNode::new("");
    let worker = OPEN_MPI.worker().display().to_string();
    let text = format!(
        "[workers]\nmpi = \"{worker}\"\n[account]\nvariable = \"TEST_PROJECT\"\nrequired = true\n[submit]\npartition = \"batch\"\n\
         modules = [\"openmpi\"]\n[partitions.debug]\nqos = \"short\"\n[environment]\nUCX_TLS = \"tcp\"\n"
    );
    let file = write(&site.scratch, "site.toml", &text);
    let sweep = "[fixed]\nkernel = \"message_rate.ping_pong\"\nnodes = 2\n[launch]\ntransport = \"mpi\"\nlauncher = \"srun\"\n\
                 ranks_per_node = 1\n";
    write(&site.scratch, "s.toml", sweep);
    let dry_run = |further: &[&str], project: &str| {
        let environment = [("APEXMAP_CONFIG", file.to_str().expect("a path")), ("TEST_PROJECT", project)];
        site.apexmap_with(&[&["run", "s.toml", "--submit", "--dry-run"], further].concat(), &environment)
    };
    let (code, script) = dry_run(&[], "p17");
    assert_eq!(code, Some(0), "{script}");
    for line in [
        "#SBATCH --account=p17\n",
        "#SBATCH --partition=batch\n",
        "module load openmpi\n",
        "export UCX_TLS=tcp\n",
        &format!("--worker {worker} "),
    ] {
        assert!(script.contains(line), "{line}: {script}");
    }
    let (_, script) = dry_run(&["--partition", "debug", "--account", "mine", "--environment", "UCX_TLS=rc"], "p17");
    for line in ["--account=mine\n", "--partition=debug\n", "--qos=short\n", "export UCX_TLS=rc\n"] {
        assert!(script.contains(line), "{line}: {script}");
    }
    let (code, messages) = dry_run(&[], "");
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("need an account") && messages.contains("--account, or set TEST_PROJECT"), "{messages}");
}

#[test]
fn the_check_starts_each_worker_with_its_launchers() {
    needs!(Mpi);
    let scratch = Scratch::new();
    let (open_mpi, mpich) = (OPEN_MPI.worker().display(), MPICH.worker().display());
    let site = write(&scratch, "site.toml", &format!("[workers]\nopenmpi = \"{open_mpi}\"\nmpich = \"{mpich}\"\n"));
    let (code, messages) = apexmap(&scratch, &site, &["site", "--check"]);
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains("ok     workers.openmpi: ") && messages.contains("built for Open MPI"), "{messages}");
    for launcher in ["openmpi", "mpich"] {
        let expected = format!("ok     workers.{launcher}, launcher {launcher}: ranks 2 on 1 node");
        assert!(messages.contains(&expected), "{messages}");
        let expected = format!("ok     workers.{launcher}, MPI of jobs with {launcher}: ");
        assert!(messages.contains(&expected), "{messages}");
    }
    assert!(!scratch.join("site-check").exists());
    // The mpiexec of Open MPI is not that of PALS.
    let any = write(&scratch, "any.toml", &format!("[workers]\nmpi = \"{open_mpi}\"\n"));
    let (code, messages) = apexmap(&scratch, &any, &["site", "--check"]);
    assert!(code == Some(0) && messages.contains("ok     workers.mpi, launcher openmpi: "), "{messages}");
    assert!(!messages.contains("launcher pals"), "{messages}");
    let wrong = write(&scratch, "wrong.toml", &format!("[workers]\nopenmpi = \"{mpich}\"\nmpich = \"absent\"\n"));
    let (code, messages) = apexmap(&scratch, &wrong, &["site", "--check"]);
    assert_eq!(code, Some(6), "{messages}");
    assert!(
        messages.contains("FAILED workers.openmpi, launcher openmpi: ") && messages.contains("another MPI"),
        "{messages}"
    );
    assert!(messages.contains("FAILED workers.openmpi, MPI of jobs with openmpi: the worker"), "{messages}");
    assert!(messages.contains("FAILED workers.mpich: cannot use the worker"), "{messages}");
}
