//! Tests of RandomAccess on both MPIs with real launches: every algorithm makes the same table as `sequential`.

use crate::common::Scratch;
use crate::mpi_worker::{MPICH, Mpi, OPEN_MPI, job, lock_launches};
use crate::random_access;
use apexmap_base::point::{Point, Value};
use apexmap_base::sample::{Event, Sample, Status};
use apexmap_measure::kernels::{self, Kernel, Ranks};
use apexmap_results::disk::Folder;
use apexmap_results::table::Table;
use apexmap_theory::machine::{Card, Number};
use std::process::{Command, Stdio};

/// Words of the table. Few numbers of ranks divide it, and most buckets overflow it.
const WORDS: u64 = 128;

fn table(kernel: &str, ranks: usize) -> Point {
    random_access::table(kernel, ranks, WORDS).with_parameter("updates", 2.0)
}

/// Returns the kernels that run on this number of ranks.
fn kernels_on(ranks: usize) -> impl Iterator<Item = &'static Kernel> {
    let kernels_of_family = kernels::ALL.iter().copied().filter(|kernel| kernel.id.starts_with("random_access."));
    let without_roles = kernels_of_family.filter(|kernel| kernel.id != "random_access.roles");
    without_roles.filter(move |kernel| ranks == 1 || kernel.ranks == Ranks::Any)
}

fn points(ranks: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for kernel in kernels_on(ranks) {
        for look_ahead in [1, 7, 1024] {
            for variant in random_access::variants(kernel.id) {
                let mut point = table(kernel.id, ranks).with_parameter("Q", look_ahead);
                if kernel.parameters.iter().any(|parameter| parameter.name == "cores") {
                    point = point.with_parameter("cores", 1u64);
                }
                let point = variant.into_iter().fold(point, |point, (name, value)| point.with_parameter(name, value));
                points.push(kernels::complete(point).unwrap());
            }
        }
    }
    points
}

/// Returns points with nodes of this number of cores. On each node, one core updates.
fn nodes(ranks: usize, cores: usize) -> Vec<Point> {
    let roles = random_access::roles(ranks, WORDS, cores as u64, cores as u64 - 1).with_parameter("updates", 2.0);
    let point = |(look_ahead, packets): (u64, u64)| {
        roles.clone().with_parameter("Q", look_ahead).with_parameter("packets", packets)
    };
    [(1, 1), (7, 4), (1024, 4), (1024, 1)].map(|settings| kernels::complete(point(settings)).unwrap()).into()
}

fn verify(mpi: &Mpi, ranks: usize) {
    verify_tables(mpi, ranks, ranks, points(ranks));
}

fn verify_tables(mpi: &Mpi, ranks: usize, streams: usize, points: Vec<Point>) {
    let sequential = table("random_access.sequential", 1)
        .with_parameter("streams", streams as u64)
        .with_parameter("method", "immediate");
    let expected = random_access::hash(&random_access::run(sequential));
    let mut samples: Vec<Sample> = Vec::new();
    let ending = mpi.run(&job("tables", ranks, 1, points.clone()), &mut |event| {
        if let Event::Sample(sample) = event {
            samples.push((**sample).clone());
        }
    });
    assert_eq!(ending.status, Status::Ok, "{} on {ranks} ranks: {}", mpi.name, ending.message);
    assert_eq!(samples.len(), points.len());
    for sample in samples {
        let label = sample.point.label();
        assert_eq!(sample.status, Status::Ok, "{label}: {}", sample.message);
        assert_eq!(sample.outputs["errors"].as_f64(), Some(0.0), "{label}");
        // Each rank has a table; the hash is that of all tables together.
        if sample.point.kernel != "random_access.star" || ranks == 1 {
            assert_eq!(sample.outputs["table_hash"].to_string(), expected, "{label}");
        }
        if let (Some(way), true) = (sample.point.params.get("within_node"), ranks > 1) {
            let (share, words) =
                if *way == Value::from("messages") { (0.0, "by messages") } else { (1.0, "through memory") };
            assert_eq!(sample.outputs["memory_share_of_messages"].as_f64(), Some(share), "{label}");
            assert_eq!(sample.outputs["message_way"], Value::from(words), "{label}");
        }
    }
}

#[test]
fn open_mpi_reproduces_the_sequential_tables_on_one_to_five_ranks() {
    needs!(Mpi);
    (1..=5).for_each(|ranks| verify(&OPEN_MPI, ranks));
    for (ranks, count) in [(2, 1), (4, 1), (4, 2)] {
        verify_tables(&OPEN_MPI, ranks, count, nodes(ranks, ranks / count));
    }
}

#[test]
fn mpich_reproduces_the_sequential_tables_on_one_to_five_ranks() {
    needs!(Mpi);
    (1..=5).for_each(|ranks| verify(&MPICH, ranks));
    for (ranks, count) in [(3, 1), (4, 2)] {
        verify_tables(&MPICH, ranks, count, nodes(ranks, ranks / count));
    }
}

/// Runs this algorithm of RandomAccess on four ranks with a setting, further arguments and a variable in the environment.
fn run_updates(
    mpi: &Mpi,
    (algorithm, setting): (&str, &str),
    arguments: &[&str],
    (name, value): (&str, &str),
) -> Table {
    let scratch = Scratch::new();
    let (path, out) = (scratch.join("sweep.toml"), scratch.join("out"));
    let text = format!(
        "[fixed]\nkernel = \"random_access.{algorithm}\"\nranks = 4\nN_words = \"64 kwords\"\n{setting}\n\
         [launch]\ntransport = \"mpi\"\nlauncher = \"{}\"\nlaunches = 1\nworker = \"{}\"\n[repeat]\nmin = 1\n",
        mpi.launcher,
        mpi.worker().display()
    );
    std::fs::write(&path, text).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    run.args(["run", "--no-report", "--out", out.to_str().unwrap(), path.to_str().unwrap()]);
    run.args(arguments).env(name, value);
    let _alone = lock_launches();
    let output = run.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Folder::open(&out).unwrap().table().unwrap()
}

/// MPICH divides the ranks of this machine into two groups that count as nodes.
#[test]
fn updates_for_another_node_are_messages_and_the_others_go_through_memory() {
    needs!(Mpi);
    let table = run_updates(&MPICH, ("hypercube", ""), &[], ("MPIR_CVAR_NUM_CLIQUES", "2"));
    // Along one of the two dimensions the partner is on the same node.
    assert_eq!(["memory_share_of_messages", "errors"].map(|name| table.number(name, 0)), [0.5, 0.0]);
    assert_eq!(table.word("message_way", 0), "through memory and by messages");
}

/// This component of Open MPI has no memory that ranks share.
#[test]
fn ranks_that_cannot_share_memory_exchange_messages() {
    needs!(Mpi);
    let table = run_updates(&OPEN_MPI, ("hypercube", ""), &[], ("OMPI_MCA_osc", "pt2pt"));
    assert_eq!((table.word("message_way", 0), table.number("errors", 0)), ("by messages", 0.0));
}

#[test]
fn long_messages_are_as_long_as_the_card_or_open_mpi_sends_eagerly() {
    needs!(Mpi);
    let scratch = Scratch::new();
    let mut card = Card::new("a machine", "", "");
    card.set("eager_bytes", Number::new(1000.0, "B", "given")).unwrap();
    let file = scratch.join("card.toml");
    std::fs::write(&file, card.to_toml()).unwrap();
    let with_card = ["--card", file.to_str().unwrap(), "--card-of-another-host"];
    let messages = "within_node = \"messages\"";
    type Case<'a> = (&'a Mpi, (&'a str, &'a str), &'a [&'a str], f64);
    let cases: [Case; 8] = [
        (&OPEN_MPI, ("hypercube", messages), &[], 496.0),
        (&OPEN_MPI, ("hypercube", messages), &with_card, 125.0),
        (&OPEN_MPI, ("hypercube", "within_node = \"messages\"\nmessage_words = 700"), &with_card, 700.0),
        (&OPEN_MPI, ("hypercube", ""), &with_card, 2064.0),
        (&OPEN_MPI, ("exchange", messages), &with_card, 125.0),
        (&OPEN_MPI, ("exchange", ""), &[], 1040.0),
        (&MPICH, ("hypercube", messages), &[], 2064.0),
        (&MPICH, ("hypercube", messages), &with_card, 125.0),
    ];
    for (mpi, run, arguments, words) in cases {
        let table = run_updates(mpi, run, arguments, ("APEXMAP_TEST", ""));
        let values = ["longest_message_words", "errors"].map(|name| table.number(name, 0));
        assert_eq!(values, [words, 0.0], "{} {run:?} {arguments:?}", mpi.name);
    }
}
