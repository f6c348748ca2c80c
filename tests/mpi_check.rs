//! Tests of the comparison between the MPI of workers, launchers and modules before jobs are queued.

use super::mpi_worker::{MPICH, OPEN_MPI};
use super::submit::LoginNode;
use apexmap_run::launch::mpi::Mpi;
use apexmap_run::launch::srun::describe_misfit;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Descriptions of libraries (MPI_Get_library_version) and launchers (--version), as these print them.
const OPEN_MPI_4: &str = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
const MPIRUN_4: &str = "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/";
const DEBIAN_4: &str = "mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/";
const MPIRUN_5: &str = "mpirun (Open MPI) 5.0.3\n\nReport bugs to https://www.open-mpi.org/community/help/";
const MPICH_4: &str = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022";
const HYDRA: &str = "HYDRA build details:\n    Version:                                 4.0.2\n    Release Date: 2022";
const INTEL: &str = "Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 20230307 (id: d82b3071db)";
const CRAY: &str = "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)";
const MVAPICH: &str = "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\tWed March 02 22:00:00 EST 2022";

#[test]
fn libraries_and_launchers_are_recognised_by_their_descriptions() {
    let names = [OPEN_MPI_4, MPIRUN_4, DEBIAN_4, MPIRUN_5, MPICH_4, HYDRA, INTEL, CRAY, MVAPICH];
    let names = names.map(|text| Mpi::parse(text).expect("a known MPI").to_string());
    let expected = [
        "Open MPI 4.1.4",
        "Open MPI 4.1.4",
        "Open MPI 4.1.4",
        "Open MPI 5.0.3",
        "MPICH 4.0.2",
        "MPICH's Hydra 4.0.2",
        "Intel MPI 2021.9",
        "Cray MPICH 8.1.25.17",
        "MVAPICH 2.3.7",
    ];
    assert_eq!(names, expected);
    assert_eq!(Mpi::parse("mpiexec version 1.2.12 (PALS)"), None);
}

#[test]
fn a_launcher_starts_workers_of_its_family_and_open_mpi_of_its_major_version() {
    let starts = |launcher: &str, library: &str| {
        Mpi::parse(launcher).expect("a launcher").starts(&Mpi::parse(library).expect("a library"))
    };
    assert!(starts(MPIRUN_4, OPEN_MPI_4) && !starts(MPIRUN_5, OPEN_MPI_4));
    for library in [MPICH_4, INTEL, CRAY, MVAPICH] {
        assert!(starts(HYDRA, library) && starts(INTEL, library), "{library}");
        assert!(!starts(MPIRUN_4, library), "{library}");
    }
    assert!(!starts(HYDRA, OPEN_MPI_4));
}

#[test]
fn the_plugin_of_srun_is_compared_with_what_the_library_usually_needs() {
    assert_eq!(describe_misfit(OPEN_MPI_4, Some("pmix_v4")), None);
    assert_eq!(describe_misfit(MPICH_4, Some("pmi2")), None);
    assert_eq!(describe_misfit(MPICH_4, Some("none")), None, "apexmap then sets one");
    assert_eq!(
        describe_misfit(MPICH_4, Some("pmix")).as_deref(),
        Some("srun takes the plugin pmix, and MPICH Version:\t4.0.2 usually needs pmi2: set SLURM_MPI_TYPE=pmi2")
    );
}

/// A login node whose function `module` puts a folder in front of the PATH, and where `sbatch` accepts jobs.
struct Site(LoginNode);

impl Site {
    fn new() -> Self {
        let site = LoginNode::new("case $0 in *sbatch) echo 7;; esac");
        let path = site.scratch.display();
        let profile = format!("module() {{ touch {path}/loaded; export PATH=\"{path}/modules/$2:$PATH\"; }}\n");
        fs::write(site.scratch.join(".bash_profile"), profile).expect("a file");
        let folder = site.scratch.join("modules/openmpi5");
        fs::create_dir_all(&folder).expect("a folder");
        let program = folder.join("mpirun.openmpi");
        fs::write(&program, "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.3'\n").expect("a file");
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("rights");
        Self(site)
    }

    /// Submits a sweep on two ranks of a worker. `submit` is the table of the sweep.
    fn submit(&self, worker: &Path, submit: &str, further: &[&str]) -> (Option<i32>, String) {
        let sweep = format!(
            "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\n[launch]\ntransport = \"mpi\"\nlauncher = \"openmpi\"\n\
             ranks_per_node = 2\nsubmit = {submit}\n"
        );
        fs::write(self.0.scratch.join("s.toml"), sweep).expect("a file");
        let _ = fs::remove_dir_all(self.0.scratch.join("result"));
        let _ = fs::remove_file(self.0.scratch.join("called"));
        let run = ["run", "s.toml", "--out", "result", "--worker", worker.to_str().expect("a path")];
        self.0.apexmap_with(&[&run, further].concat(), &[("HOME", self.0.scratch.to_str().expect("a path"))])
    }

    fn has_submitted(&self) -> bool {
        fs::read_to_string(self.0.scratch.join("called")).is_ok_and(|text| text.contains("bin/sbatch"))
    }
}

#[test]
fn a_worker_of_another_mpi_than_the_launcher_is_refused_before_any_job_is_queued() {
    needs!(Mpi);
    let site = Site::new();
    let (code, messages) = site.submit(MPICH.worker(), "\"slurm\"", &[]);
    assert_eq!(code, Some(6), "{messages}");
    let text = messages.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["no job was submitted: the worker", "uses MPICH 4.", "mpirun.openmpi in the environment of jobs is Open MPI"]
    {
        assert!(text.contains(part), "{part}: {messages}");
    }
    assert!(text.contains("help: load the module of MPICH 4.") && text.contains("--worker"), "{messages}");
    assert!(!site.has_submitted() && !site.0.scratch.join("result").exists());
    let (code, messages) = site.submit(OPEN_MPI.worker(), "\"slurm\"", &[]);
    assert_eq!(code, Some(0), "{messages}");
    assert!(site.has_submitted() && !messages.contains("not certain"), "{messages}");
}

#[test]
fn modules_of_flags_are_loaded_for_the_comparison_and_those_of_a_sweep_are_not() {
    needs!(Mpi);
    let site = Site::new();
    let (code, messages) = site.submit(OPEN_MPI.worker(), "\"slurm\"", &["--module", "openmpi5"]);
    assert_eq!(code, Some(6), "{messages}");
    let text = messages.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("modules/openmpi5/mpirun.openmpi with the modules openmpi5 is Open MPI 5.0.3"), "{messages}");
    assert!(text.contains("help: replace the modules by those of Open MPI 4."), "{messages}");
    assert!(!site.has_submitted());
    // A module may hide the libraries of the worker.
    let wrapper = site.0.scratch.join("worker");
    let script = format!(
        "#!/bin/sh\n[ -n \"$BROKEN\" ] && {{ echo 'libmpi.so.40: not found'; exit 127; }}\nexec {} \"$@\"\n",
        OPEN_MPI.worker().display()
    );
    fs::write(&wrapper, script).expect("a file");
    fs::set_permissions(&wrapper, PermissionsExt::from_mode(0o755)).expect("rights");
    let (code, messages) = site.submit(&wrapper, "\"slurm\"", &["--environment", "BROKEN=1"]);
    let text = messages.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        code == Some(6) && text.contains("does not start in the environment of jobs: libmpi.so.40: not found"),
        "{messages}"
    );
    // The modules of a sweep are those of its author.
    fs::remove_file(site.0.scratch.join("loaded")).expect("the module was loaded");
    let (code, messages) = site.submit(OPEN_MPI.worker(), "{ system = \"slurm\", modules = [\"openmpi5\"] }", &[]);
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.contains("not certain") && !site.0.scratch.join("loaded").exists(), "{messages}");
}
