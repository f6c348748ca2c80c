//! Tests of message rates on both MPIs with real launches: every pattern, every message verified.

use crate::message_rate::points;
use crate::mpi_worker::{MPICH, Mpi, OPEN_MPI, job};
use apexmap_base::point::Point;
use apexmap_base::sample::{Event, Sample, Status};

fn verify(mpi: &Mpi, ranks: usize) {
    // More ranks than cores take turns, for milliseconds each. Therefore each point runs on only one of three such
    // numbers of ranks.
    let is_selected = |(index, _): &(usize, Point)| ranks == 2 || index % 3 == ranks % 3;
    let points: Vec<Point> =
        points(ranks).into_iter().enumerate().filter(is_selected).map(|(_, point)| point).collect();
    let mut samples: Vec<Sample> = Vec::new();
    let ending = mpi.run(&job("messages", ranks, 1, points.clone()), &mut |event| {
        if let Event::Sample(sample) = event {
            samples.push((**sample).clone());
        }
    });
    assert_eq!(ending.status, Status::Ok, "{} on {ranks} ranks: {}", mpi.name, ending.message);
    assert_eq!(samples.len(), points.len());
    for sample in samples {
        assert_eq!(sample.status, Status::Ok, "{}: {}", sample.point.label(), sample.message);
        assert_eq!(sample.outputs["wrong_messages"].as_f64(), Some(0.0), "{}", sample.point.label());
        assert!(sample.seconds.is_some_and(|seconds| seconds > 0.0), "{}", sample.point.label());
    }
}

#[test]
fn open_mpi_delivers_every_message_on_one_to_five_ranks() {
    needs!(Mpi);
    assert!(points(1).is_empty(), "needs at least two ranks");
    (2..=5).for_each(|ranks| verify(&OPEN_MPI, ranks));
}

#[test]
fn mpich_delivers_every_message_on_one_to_five_ranks() {
    needs!(Mpi);
    (2..=5).for_each(|ranks| verify(&MPICH, ranks));
}
