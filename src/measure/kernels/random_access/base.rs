//! After the HPC Challenge definition, "The Supplied MPI-1 RandomAccess Code", Figures 6 and 7. With `"reference"`, as in the
//! reference implementation, a rank looks for messages before every update, and applies updates of its own words at once. With
//! `"bucketed"`, it looks when its buckets are full, and its own updates also wait in a bucket. Unlike in the reference
//! implementation, at the end the ranks add up the messages sent and received, instead of sending a last message to all others.

use super::layout::Owners;
use super::random_stream::Generator;
use super::table::Table;
use super::*;

use crate::comm::{Inbox, Outbox};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.base",
    summary: "RandomAccess with direct messages between all ranks, each with one or many updates",
    source: &source::HPCC_RANDOM_ACCESS,
    place: "Figures 6 and 7",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, SENDING, OWNER_BY, B, SMSG, STREAM, INDEX, OPERATION, STARTS, OFFSET, PAGES,
        SEED,
    ],
    traffic: Traffic::RandomOthers,
    refuse: refuse_unusable_shift,
    buffer_bytes: |point| {
        let messages = (B.of(point) + SMSG.of(point)) * message_words(point) as u64;
        bytes(messages + 4 * Q.of(point) + 2 * point.ranks as u64)
    },
    rings: |point| vec![Rings::new(B.of(point).max(SMSG.of(point)), point.ranks as u64 - 1)],
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

pub const SENDING: Key<Sending> = choice_key(
    "sending",
    "sending of updates: bucketed (in buckets of up to Q updates, the fullest first), immediate (each update separately), or reference \
     (in buckets, with a look for messages before every update, as the program of HPCC)",
);
choice! { pub enum Sending { Bucketed = "bucketed", Immediate = "immediate", Reference = "reference" } }

fn message_words(point: &Point) -> usize {
    match SENDING.of(point) {
        Sending::Immediate => 1,
        Sending::Bucketed | Sending::Reference => Q.of(point) as usize,
    }
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let problem = Problem::with_distributed_table(point, comm.rank(), comm.size());
    let count = |key: Key<u64>| key.of(point) as usize;
    let (inbox, outbox) = comm.mailbox(Tag::Data(0), count(B), count(SMSG), message_words(point));
    let mut rank = Rank {
        comm,
        owners: problem.find_owners(point),
        inbox,
        outbox,
        received: 0,
        tally: Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), stored: 1, ..Tally::default() },
    };
    let sending = SENDING.of(point);
    measure(comm, &problem, arena, Rules::STRICT, |table| {
        match sending {
            Sending::Immediate => rank.send_immediately(&problem, table),
            Sending::Bucketed => rank.send_buckets(&problem, table),
            Sending::Reference => rank.send_as_reference(&problem, table),
        }
        rank.finish(table);
        rank.tally
    })
}

struct Rank<'a, C: Mailboxes> {
    comm: &'a C,
    owners: Owners,
    inbox: C::Inbox,
    outbox: C::Outbox,
    /// Number of received messages.
    received: u64,
    tally: Tally,
}

impl<C: Mailboxes> Rank<'_, C> {
    /// As in Figures 6 and 7.
    fn send_immediately(&mut self, problem: &Problem, table: &mut Table) {
        let mut generator = problem.own_generator();
        for _ in 0..problem.own_updates() {
            if let Some((owner, value)) = self.next_for_other(problem, &mut generator, table) {
                self.send(owner, &[value], table);
                self.look(table);
            }
        }
    }

    /// Stores up to Q updates and sends the fullest bucket.
    fn send_buckets(&mut self, problem: &Problem, table: &mut Table) {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        let mut buckets = Buckets::new(problem.owners.parts(), problem.look_ahead);
        let mut batch = Vec::with_capacity(problem.look_ahead);
        while left > 0 || buckets.stored > 0 {
            let stored_before = buckets.stored;
            while left > 0 && buckets.stored < problem.look_ahead {
                let value = generator.next_u64();
                buckets.push(self.owners.owner(problem.index.word(value)), value);
                left -= 1;
            }
            self.comm.charge(Computation::Generate, buckets.stored - stored_before);
            self.comm.charge(Computation::Divide, buckets.stored - stored_before);
            self.tally.store(buckets.stored);
            let fullest = buckets.empty_fullest(&mut batch);
            if fullest == self.comm.rank() {
                table.apply(&batch);
                self.comm.charge(Computation::Update, batch.len());
                self.tally.applied += batch.len() as u64;
            } else {
                self.send(fullest, &batch, table);
            }
            self.look(table);
        }
    }

    fn send_as_reference(&mut self, problem: &Problem, table: &mut Table) {
        let (mut generator, mut left) = (problem.own_generator(), problem.own_updates());
        let mut buckets = Buckets::new(problem.owners.parts(), problem.look_ahead);
        let mut batch = Vec::with_capacity(problem.look_ahead);
        while left > 0 || buckets.stored > 0 {
            self.look(table);
            if left == 0 || buckets.stored == problem.look_ahead {
                let fullest = buckets.empty_fullest(&mut batch);
                self.send(fullest, &batch, table);
                continue;
            }
            left -= 1;
            if let Some((owner, value)) = self.next_for_other(problem, &mut generator, table) {
                buckets.push(owner, value);
                self.tally.store(buckets.stored);
            }
        }
    }

    /// Generates an update, and applies it if its word is this rank's own. Returns the owner and the update otherwise.
    #[inline(always)]
    fn next_for_other(&mut self, problem: &Problem, from: &mut Generator, table: &mut Table) -> Option<(usize, u64)> {
        let value = from.next_u64();
        let owner = self.owners.owner(problem.index.word(value));
        self.comm.charge(Computation::Generate, 1);
        self.comm.charge(Computation::Divide, 1);
        if owner != self.comm.rank() {
            return Some((owner, value));
        }
        table.update(value);
        self.comm.charge(Computation::Update, 1);
        self.tally.applied += 1;
        None
    }

    fn look(&mut self, table: &mut Table) {
        self.comm.charge(Computation::Look, 1);
        self.receive(table);
    }

    /// Receives while all send handles are busy.
    fn send(&mut self, to: usize, words: &[u64], table: &mut Table) {
        while !self.outbox.send(to, words) {
            if !self.receive(table) {
                self.comm.relax();
            }
        }
        self.tally.count_message(words.len(), self.outbox.path(to));
    }

    /// Returns whether any message had arrived.
    fn receive(&mut self, table: &mut Table) -> bool {
        let received_before = self.received;
        while let Some(words) = self.inbox.take(|_, words| {
            table.apply(words);
            self.comm.charge(Computation::Update, words.len());
            words.len()
        }) {
            self.tally.applied += words as u64;
            self.received += 1;
        }
        self.received > received_before
    }

    /// Receives until all ranks together have received every message.
    fn finish(&mut self, table: &mut Table) {
        // Ranks that still send need this one to receive.
        let mut barrier = self.comm.ibarrier();
        while !self.comm.test(&mut barrier) {
            if !self.receive(table) {
                self.comm.relax();
            }
        }
        // No rank sends any more, but messages may still be on their way.
        while self.comm.all_reduce_sum(self.tally.messages.wrapping_sub(self.received)) != 0 {
            self.receive(table);
        }
    }
}

/// A bucket for each owner. The buckets are linked lists and share places for `capacity` values.
struct Buckets {
    stored: usize,
    counts: Vec<u32>,
    /// First place of each bucket's list, arbitrary for an empty bucket.
    heads: Vec<u32>,
    /// A value and the next place in the list of its bucket.
    places: Vec<(u64, u32)>,
    free: Vec<u32>,
}

impl Buckets {
    fn new(owners: usize, capacity: usize) -> Self {
        Self {
            stored: 0,
            counts: vec![0; owners],
            heads: vec![0; owners],
            places: vec![(0, 0); capacity],
            free: (0..capacity as u32).collect(),
        }
    }

    #[inline(always)]
    fn push(&mut self, owner: usize, value: u64) {
        let place = self.free.pop().expect("the caller ensures a free place");
        self.places[place as usize] = (value, self.heads[owner]);
        self.heads[owner] = place;
        self.counts[owner] += 1;
        self.stored += 1;
    }

    /// Moves the values of the fullest bucket to `batch`. Returns its owner.
    fn empty_fullest(&mut self, batch: &mut Vec<u64>) -> usize {
        let largest = self.counts.iter().copied().max().unwrap_or(0);
        let owner = self.counts.iter().position(|&count| count == largest).unwrap_or(0);
        batch.clear();
        let mut place = self.heads[owner];
        for _ in 0..largest {
            let (value, next) = self.places[place as usize];
            batch.push(value);
            self.free.push(place);
            place = next;
        }
        self.heads[owner] = place;
        self.counts[owner] = 0;
        self.stored -= batch.len();
        owner
    }
}
