//! Threads whose messages and puts go wrong, to see whether kernels find it out.

use apexmap::error::Result;
use apexmap::measure::comm::threads::{
    ThreadComm, ThreadInbox, ThreadMessages, ThreadOpened, ThreadOutbox, ThreadPuts, ThreadWindow,
};
use apexmap::measure::comm::{Comm, Messages, Outbox, Posted, Puts, Tag, Window};

/// What goes wrong on the way from rank 0 to rank 1, and with [`Fault::Nothing`] everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    None,
    /// No message is sent, and all are said to have come.
    Nothing,
    /// Every so-manieth message does not come, and is said to have.
    Lost {
        every: usize,
    },
    /// A bit of this item of every so-manieth message is wrong.
    Corrupted {
        every: usize,
        item: usize,
    },
    /// Messages come to the places of their predecessors or successors.
    Swapped,
    /// Whoever opens a mailbox has a message that nobody sent.
    Unasked,
}

pub struct Faulty<'a> {
    comm: &'a ThreadComm,
    fault: Fault,
}

impl<'a> Faulty<'a> {
    pub fn new(comm: &'a ThreadComm, fault: Fault) -> Self {
        Self { comm, fault }
    }

    fn fault(&self, tag: Tag) -> Fault {
        // Acknowledgements are not data; without them, one side would wait.
        if matches!(tag, Tag::Data(_)) { self.fault } else { Fault::None }
    }
}

impl Comm for Faulty<'_> {
    type Arrival = u64;
    type Inbox = ThreadInbox;
    type Outbox = ThreadOutbox;
    type Window<'m>
        = FaultyWindow<'m>
    where
        Self: 'm;
    type Opened<'m>
        = ThreadOpened<'m>
    where
        Self: 'm;
    type Messages<'m>
        = FaultyMessages<'m>
    where
        Self: 'm;
    type Puts<'m>
        = FaultyPuts<'m>
    where
        Self: 'm;

    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn neighbours(&self) -> usize {
        self.comm.ranks_on_node()
    }
    fn oversubscribed(&self) -> bool {
        self.comm.oversubscribed()
    }
    /// Runs fast where messages may be lost, so that nobody waits long for them.
    fn now(&self) -> f64 {
        let haste =
            if matches!(self.fault, Fault::Nothing | Fault::Lost { .. } | Fault::Corrupted { .. }) { 1e3 } else { 1.0 };
        haste * self.comm.now()
    }
    fn idle(&self) {
        self.comm.relax();
    }
    fn barrier(&self) {
        self.comm.barrier();
    }
    fn broadcast(&self, words: &mut [u64]) {
        self.comm.broadcast(words);
    }
    fn gather(&self, words: &[u64]) -> Option<Vec<u64>> {
        self.comm.gather(words)
    }
    fn sum(&self, value: u64) -> u64 {
        self.comm.all_reduce_sum(value)
    }
    fn all_to_all(&self, send: &[u64], counts: &[usize], receive: &mut Vec<u64>) {
        self.comm.all_to_all_v(send, counts, receive);
    }
    fn arrive(&self) -> u64 {
        self.comm.ibarrier()
    }
    fn all_arrived(&self, arrival: &mut u64) -> bool {
        self.comm.test(arrival)
    }
    fn mailbox(&self, tag: Tag, receives: usize, sends: usize, words: usize) -> (ThreadInbox, ThreadOutbox) {
        let (inbox, mut outbox) = self.comm.mailbox(tag, receives, sends, words);
        if self.fault == Fault::Unasked {
            assert!(outbox.send((self.rank() + 1) % self.size(), &[0]), "there is room");
            self.comm.barrier();
        }
        (inbox, outbox)
    }
    fn lines(
        &self,
        tag: Tag,
        peers: &[usize],
        posted: Posted,
        sends: usize,
        words: usize,
    ) -> (Vec<ThreadInbox>, ThreadOutbox) {
        self.comm.mailbox_per_peer(tag, peers, posted, sends, words)
    }
    fn window<'m>(&'m self, memory: &'m [u64], slots: usize, words: usize) -> FaultyWindow<'m> {
        let (window, rank, fault) = (self.comm.window(memory, slots, words), self.rank(), self.fault);
        FaultyWindow { window, rank, fault, taken: 0, old: vec![0; words] }
    }
    fn open<'m>(&'m self, memory: &'m mut [u64]) -> ThreadOpened<'m> {
        self.comm.open(memory)
    }
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<FaultyMessages<'_>> {
        let messages = self.comm.messages(tag, outgoing, incoming)?;
        let (rank, fault) = (self.rank(), self.fault(tag));
        Ok(FaultyMessages { messages, rank, fault, sent: 0, received: 0, spoiled: Vec::new() })
    }
    fn puts(&self, outgoing: usize, incoming: usize) -> Result<FaultyPuts<'_>> {
        Ok(FaultyPuts { puts: self.comm.puts(outgoing, incoming)?, rank: self.rank(), fault: self.fault, put: 0 })
    }
}

pub struct FaultyMessages<'m> {
    messages: ThreadMessages<'m>,
    rank: usize,
    fault: Fault,
    sent: usize,
    received: usize,
    /// Items to become wrong when they have come.
    spoiled: Vec<usize>,
}

impl Messages for FaultyMessages<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.complete();
        self.messages.outgoing()
    }
    fn incoming(&mut self) -> &mut [u32] {
        self.complete();
        self.messages.incoming()
    }
    fn send(&mut self, at: usize, items: usize, to: usize) {
        self.sent += usize::from(self.rank == 0);
        match self.fault {
            Fault::Nothing => {}
            Fault::Lost { every } if self.rank == 0 && self.sent.is_multiple_of(every) => {}
            Fault::Swapped if self.rank == 0 => {
                // Buffers come in pairs of neighbours, on lines of 16 items.
                let stride = items.next_multiple_of(16);
                self.messages.send(((at / stride) ^ 1) * stride, items, to);
            }
            _ => self.messages.send(at, items, to),
        }
    }
    fn receive(&mut self, at: usize, items: usize, from: usize) {
        self.received += usize::from(self.rank == 1);
        match self.fault {
            Fault::Nothing => {}
            Fault::Lost { every } if self.rank == 1 && self.received.is_multiple_of(every) => {}
            Fault::Corrupted { every, item } if self.rank == 1 && self.received.is_multiple_of(every) => {
                self.messages.receive(at, items, from);
                self.spoiled.push(at + item);
            }
            _ => self.messages.receive(at, items, from),
        }
    }
    fn complete(&mut self) {
        for item in std::mem::take(&mut self.spoiled) {
            self.messages.incoming()[item] ^= 1;
        }
        self.messages.complete();
    }
}

pub struct FaultyPuts<'m> {
    puts: ThreadPuts<'m>,
    rank: usize,
    fault: Fault,
    put: usize,
}

impl Puts for FaultyPuts<'_> {
    fn outgoing(&mut self) -> &mut [u32] {
        self.puts.outgoing()
    }
    fn put(&mut self, at: usize, items: usize, to: usize, place: usize) {
        self.put += usize::from(self.rank == 0);
        match self.fault {
            Fault::Nothing => {}
            Fault::Lost { every } if self.rank == 0 && self.put.is_multiple_of(every) => {}
            Fault::Corrupted { every, item } if self.rank == 0 && self.put.is_multiple_of(every) => {
                self.puts.outgoing()[at + item] ^= 1;
                self.puts.put(at, items, to, place);
                self.puts.outgoing()[at + item] ^= 1;
            }
            Fault::Swapped if self.rank == 0 => {
                let stride = items.next_multiple_of(16);
                self.puts.put(((at / stride) ^ 1) * stride, items, to, place);
            }
            _ => self.puts.put(at, items, to, place),
        }
    }
    fn complete(&mut self) {
        self.puts.complete();
    }
    fn peek(&mut self, place: usize) -> u32 {
        self.puts.peek(place)
    }
    fn settle<R>(&mut self, work: impl FnOnce(&mut [u32]) -> R) -> R {
        self.puts.settle(work)
    }
}

pub struct FaultyWindow<'m> {
    window: ThreadWindow<'m>,
    rank: usize,
    fault: Fault,
    taken: usize,
    /// What was fetched last.
    old: Vec<u64>,
}

impl Window for FaultyWindow<'_> {
    fn get(&mut self, from: usize, offset: usize, words: usize) -> bool {
        self.window.get(from, offset, words)
    }
    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        let (rank, fault, old) = (self.rank, self.fault, &mut self.old);
        let taken = self.taken + usize::from(rank == 1);
        let result = self.window.take(|words| {
            let words = match fault {
                Fault::Nothing => old.clone(),
                Fault::Lost { every } if rank == 1 && taken.is_multiple_of(every) => old.clone(),
                Fault::Corrupted { every, item } if rank == 1 && taken.is_multiple_of(every) => {
                    words.iter().zip(0..).map(|(word, k)| word ^ u64::from(k == item / 2)).collect()
                }
                _ => words.to_vec(),
            };
            old.clone_from(&words);
            read(&words)
        });
        if result.is_some() {
            self.taken = taken;
        }
        result
    }
}
