//! The neighbours are not in the paper. Each checks the sums of the words that it reads or receives, and that no
//! message is lost.

mod background;

use super::draw::Location;
use super::tally::PassTally;
use super::timing::{Arrays, time};
use super::*;
use crate::kernels::shared::accesses::arrays;
use background::{MESSAGE_WORDS, Neighbour, SingleRank};

pub const NEIGHBOURS: Key<Activity> = choice_key(
    "neighbours",
    "activity of all ranks except rank 0 during the run: stream (read memory from end to end), probe (read random words), send (send \
     messages of 4 KiB to each other), or idle",
);
// Rank 0 accesses only its own memory.
const OWN_N: Key<u64> = N.with_domain(chosen(1..=1 << 32, "I and L", |point| arrays::count_for_share(point, 0.0)));
choice! { pub enum Activity { Stream = "stream", Probe = "probe", Send = "send", Idle = "idle" } }

const ALL_OUTPUTS: [Output; OUTPUTS.len() + 1] = join(
    OUTPUTS,
    &[output(
        "background_bytes_per_second",
        Unit::BytesPerSecond,
        "bytes read or received by all other ranks together, per second",
    )],
);

pub static KERNEL: Kernel = Kernel {
    id: "apex_map.neighbours",
    summary: "Apex-Map on one core while the other ranks read memory, probe it or send",
    place: "Section 2",
    parameters: parameters![M, ALPHA, L, I, OWN_N, NEIGHBOURS, PAGES, SEED],
    outputs: &ALL_OUTPUTS,
    headline: "bytes_per_second",
    refuse: |point| match (point.ranks, NEIGHBOURS.of(point)) {
        (1, _) => Err(refusal!(["ranks"], "needs at least two ranks: the others are the neighbours")),
        (2, Activity::Send) => {
            Err(refusal!(["ranks", "neighbours"], "needs at least three ranks: neighbours send to each other"))
        }
        _ => Ok(()),
    },
    // Only the accesses of rank 0 count.
    work: |point| work(point, 1),
    // A few messages and the random offsets, in blocks of L words.
    buffer_bytes: |point| buffer_bytes(point, Arrays::OneByOne, (16 * MESSAGE_WORDS as u64).div_ceil(L.of(point))),
    rings: |point| match NEIGHBOURS.of(point) {
        Activity::Send => vec![Rings::new(4, 1)],
        Activity::Stream | Activity::Probe | Activity::Idle => Vec::new(),
    },
    run: |point, stream, world| on_transport!(world.transport, comm => run(comm, point, stream, world.arena)),
    ..FAMILY
};

pub fn run<C: Mailboxes>(comm: &C, point: &Point, stream: u64, arena: &mut Arena) -> Result<Outcome> {
    // Every rank has the memory of rank 0 in a world of one rank.
    let mut own = point.clone().with_parameter("M", super::local_words(point));
    own.ranks = 1;
    let (memory, granted) = memory(&own, 0, arena)?;
    let activity = NEIGHBOURS.of(point);
    let mut mailbox = (activity == Activity::Send).then(|| comm.mailbox(Tag::Data(0), 4, 4, MESSAGE_WORDS));
    let block = L.of(point) as usize;
    comm.barrier();
    let mut outcome = None;
    let mut report = [0; 4];
    if comm.rank() == 0 {
        outcome = Some(time(&SingleRank(comm), (&own, stream), (memory, granted), Arrays::OneByOne, |locations| {
            let sum = sum_all(memory, Location::offsets(locations), block);
            let end = comm.wall_time();
            PassTally { sum, own_end: end, end, ..PassTally::default() }
        }));
        // Neighbours work until this rank arrives here.
        let mut barrier = comm.ibarrier();
        while !comm.test(&mut barrier) {
            comm.relax();
        }
    } else {
        let start = comm.wall_time();
        let mut neighbour = Neighbour::new(comm, memory, stream);
        match activity {
            Activity::Stream => neighbour.stream(),
            Activity::Probe => neighbour.probe(),
            Activity::Send => mailbox.as_mut().into_iter().for_each(|(inbox, outbox)| neighbour.send(inbox, outbox)),
            Activity::Idle => neighbour.idle(),
        }
        report = [neighbour.bytes, (comm.wall_time() - start).to_bits(), neighbour.wrong, neighbour.lost];
    }
    comm.barrier();
    let reports = comm.gather(&report).unwrap_or_else(|| report.to_vec());
    let neighbour_reports = || reports.chunks_exact(report.len()).skip(1);
    let rate: f64 = neighbour_reports().map(|row| row[0] as f64 / f64::from_bits(row[1])).sum();
    let [wrong, lost] = [2, 3].map(|column: usize| neighbour_reports().map(|row| row[column]).sum::<u64>());
    // Only the outcome of rank 0 is used.
    let mut outcome = outcome.unwrap_or(Outcome { seconds: 0.0, outputs: Default::default(), verdict: Ok(()) });
    outcome.outputs.insert("background_bytes_per_second", Value::Real(rate));
    let problems = [
        (lost, "messages between neighbours were lost or never sent"),
        (wrong, "sums of words that the neighbours read or received are wrong"),
    ];
    let problems: Vec<String> =
        problems.iter().filter(|(count, _)| *count > 0).map(|(count, problem)| format!("{count} {problem}")).collect();
    if !problems.is_empty() && outcome.verdict.is_ok() {
        outcome.verdict = Err(problems.join("; "));
    }
    Ok(outcome)
}
