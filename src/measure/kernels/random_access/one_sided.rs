//! After Figure 14: rounds of Q puts into a buffer that the owner keeps for each rank, barrier, scan, barrier. The code of Figure
//! 14 clears the entry after the one that it has read; here the entries that were read are cleared. An entry of 0 ends a buffer, so
//! the stream must not contain 0.

use super::layout::Owners;
use super::random_stream::Generator;
use super::random_stream::StreamKind;
use super::table::Table;
use super::verify::{Clock, measure_timed};
use super::*;

use crate::comm::RmaWindow;

pub static KERNEL: Kernel = Kernel {
    id: "random_access.one_sided",
    summary: "RandomAccess with puts into the owner's buffers, or with remote atomic xor",
    source: &source::NIC_MESSAGE_RATE,
    place: "Section 7, Figure 14",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, ACCESS, OWNER_BY, STREAM, INDEX, STARTS, OFFSET, PAGES, SEED
    ],
    windows: Windows::Always,
    refuse: |point| {
        if (ACCESS.of(point), STREAM.of(point)) == (Access::Buffers, StreamKind::Lcg) {
            return Err(refusal!(
                ["access", "stream"],
                "access = \"buffers\" needs a stream without 0, but stream = \"lcg\" contains 0; use \
                 stream = \"lfsr\", or access = \"xor\""
            ));
        }
        refuse_unusable_shift(point)
    },
    buffer_bytes: |point| bytes(point.ranks as u64 * (Q.of(point) + 3)),
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

const ACCESS: Key<Access> = choice_key(
    "access",
    "access: buffers (puts into buffers that the owner scans) or xor (atomic xor of the owner's words)",
);
choice! { enum Access { Buffers = "buffers", Xor = "xor" } }

fn run<C: Rma>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let owners = problem.find_owners(point);
    let tally =
        Tally { stored: problem.look_ahead as u64, buffer_bytes: (KERNEL.buffer_bytes)(point), ..Tally::default() };
    if ACCESS.of(point) == Access::Xor {
        return measure_timed(comm, &problem, arena, Rules::STRICT, |table, clock| {
            run_atomics(comm, &problem, owners, table, clock, tally)
        });
    }
    let mut memory = vec![0; comm.size() * (problem.look_ahead + 1)];
    comm.rma_window(&mut [], &mut memory, |mut window| {
        measure(comm, &problem, arena, Rules::STRICT, |table| {
            run_puts(comm, &problem, owners, table, &mut window, tally)
        })
    })
}

fn run_puts<C: Rma>(
    comm: &C,
    problem: &Problem,
    owners: Owners,
    table: &mut Table,
    window: &mut impl RmaWindow<u64>,
    mut tally: Tally,
) -> Tally {
    let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
    let buffer_words = problem.look_ahead + 1;
    let mut counts = vec![0; comm.size()];
    for _ in 0..problem.rounds(problem.look_ahead) {
        let size = left.min(problem.look_ahead as u64);
        left -= size;
        comm.charge(Computation::Generate, size as usize);
        comm.charge(Computation::Divide, size as usize);
        for _ in 0..size {
            let value = generator.next_u64();
            let owner = owners.owner(problem.index.word(value));
            window.put_value(owner, comm.rank() * buffer_words + counts[owner], value);
            counts[owner] += 1;
        }
        tally.messages += size;
        tally.hops += size;
        counts.fill(0);
        tally.applied += window.fence(|buffers| {
            let scan = |buffer: &mut [u64]| {
                let end = buffer.iter().position(|&value| value == 0).unwrap_or(buffer.len());
                table.apply(&buffer[..end]);
                buffer[..end].fill(0);
                end as u64
            };
            let applied = buffers.chunks_exact_mut(buffer_words).map(scan).sum::<u64>();
            comm.charge(Computation::Update, applied as usize);
            applied
        });
    }
    tally
}

/// Remote atomics on the table itself. Creating the window is not timed.
fn run_atomics<C: Rma>(
    comm: &C,
    problem: &Problem,
    owners: Owners,
    table: &mut Table,
    clock: &mut Clock<C>,
    tally: Tally,
) -> Tally {
    let (generator, counts) = (problem.own_generator(), vec![0; comm.size()]);
    let (tally, counts) = comm.rma_window(&mut [], table.words, |mut window| {
        clock.start();
        let done = apply_atomics(comm, problem, owners, generator, &mut window, tally, counts);
        clock.stop();
        done
    });
    // An owner does not see how many updates were applied to its words, so the sending ranks report the numbers.
    let mut received = Vec::new();
    comm.all_to_all_v(&counts, &vec![1; comm.size()], &mut received);
    Tally { applied: received.iter().sum(), ..tally }
}

/// Also returns the number of updates sent to each rank. The generator is passed by value, so that it stays in registers: the
/// processor waits for all stores before each atomic operation.
fn apply_atomics(
    comm: &impl Rma,
    problem: &Problem,
    owners: Owners,
    mut generator: Generator,
    window: &mut impl RmaWindow<u64>,
    mut tally: Tally,
    mut counts: Vec<u64>,
) -> (Tally, Vec<u64>) {
    let mut left = problem.own_updates();
    for _ in 0..problem.rounds(problem.look_ahead) {
        let size = left.min(problem.look_ahead as u64);
        left -= size;
        comm.charge(Computation::Generate, size as usize);
        comm.charge(Computation::Divide, size as usize);
        for _ in 0..size {
            let value = generator.next_u64();
            let word = problem.index.word(value);
            let owner = owners.owner(word);
            window.xor(owner, (word - problem.owners.first(owner)) as usize, value);
            counts[owner] += 1;
        }
        tally.messages += size;
        tally.hops += size;
        window.fence(|_| ());
    }
    (tally, counts)
}
