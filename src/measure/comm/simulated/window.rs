//! The interfaces of nodes serve gets and puts without their cores.

use super::SimulatedComm;
use super::engine::Member;
use super::machine::Time;
use super::network::Passage;
use crate::comm::{GetWindow, Item, Rma, RmaWindow};
use apexmap_base::units::WORD_BYTES;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

const REQUEST_BYTES: usize = 16;

#[derive(Clone, Copy)]
struct Exposed {
    start: *const u64,
    words: usize,
}

/// Arrival, number, and words.
type Fetched = (Time, u64, Box<[u64]>);

pub struct SimulatedGetWindow<'m> {
    member: &'m Member,
    memories: Rc<Vec<Exposed>>,
    slots: usize,
    max_words: usize,
    outstanding: BinaryHeap<Reverse<Fetched>>,
    issued: u64,
}

impl Rma for SimulatedComm {
    type GetWindow<'m> = SimulatedGetWindow<'m>;
    type RmaWindow<'m, T: Item> = SimulatedRmaWindow<'m, T>;

    fn get_window<R>(
        &self,
        memory: &[u64],
        slots: usize,
        words: usize,
        work: impl FnOnce(SimulatedGetWindow<'_>) -> R,
    ) -> R {
        let exposed = Exposed { start: memory.as_ptr(), words: memory.len() };
        let memories = self.member.share_all(exposed);
        let window = SimulatedGetWindow {
            member: &self.member,
            memories,
            slots,
            max_words: words,
            outstanding: BinaryHeap::new(),
            issued: 0,
        };
        let result = work(window);
        // The memory is lent until all ranks have finished.
        self.member.barrier();
        result
    }

    fn rma_window<T: Item, R>(
        &self,
        origin: &mut [T],
        memory: &mut [T],
        work: impl FnOnce(SimulatedRmaWindow<'_, T>) -> R,
    ) -> R {
        let own: Rc<RefCell<Arrivals<T>>> = Rc::default();
        let lengths = self.member.share_all((memory.len(), Rc::clone(&own)));
        let window = SimulatedRmaWindow { member: &self.member, windows: lengths, origin, memory, acknowledged: 0 };
        let result = work(window);
        self.member.barrier();
        result
    }
}

impl SimulatedGetWindow<'_> {
    /// A check for fetched blocks found nothing.
    fn fail(&self, now: Time) {
        let Member { world, .. } = self.member;
        let is_one_node = world.size <= world.machine.ranks_per_node;
        let path = if is_one_node { &world.machine.node } else { &world.machine.network };
        self.member.fail_after(path.get.poll.unwrap_or(world.machine.poll), now, "a fetched block");
    }

    /// Spends the time of a get on this rank's core. Returns when the words arrive.
    fn fetch(&self, owner: usize, words: usize) -> Time {
        let Member { rank, world, .. } = self.member;
        let (machine, bytes) = (&world.machine, words * WORD_BYTES as usize);
        let costs = &machine.costs(*rank, owner).get;
        self.member.advance(costs.send);
        let now = self.member.synchronize();
        if machine.node_of(*rank) == machine.node_of(owner) {
            // The rank reads the memory itself.
            return world.send(costs, now, (*rank, owner), bytes).arrived + costs.latency;
        }
        let asked = world.send(costs, now, (*rank, owner), REQUEST_BYTES);
        self.member.advance_to(asked.entered);
        world.send(costs, asked.arrived, (owner, *rank), bytes).arrived
    }
}

impl GetWindow for SimulatedGetWindow<'_> {
    fn get(&mut self, owner: usize, offset: usize, words: usize) -> bool {
        assert!(words <= self.max_words, "a get longer than its window allows");
        let Exposed { start, words: length } = self.memories[owner];
        crate::comm::check_range(offset, words, length);
        let now = self.member.synchronize();
        if self.outstanding.len() >= self.slots {
            self.fail(now);
            return false;
        }
        // SAFETY: `check_range` has checked the range. The owner lends its memory until the barrier at the end of the window,
        // and nothing changes it: `get_window` borrows it shared.
        let block: Box<[u64]> = unsafe { std::slice::from_raw_parts(start.add(offset), words) }.into();
        let arrived = self.fetch(owner, words);
        self.issued += 1;
        self.outstanding.push(Reverse((arrived, self.issued, block)));
        self.member.world.announce(self.member.rank, arrived);
        self.member.progress();
        true
    }

    fn take<R>(&mut self, read: impl FnOnce(&[u64]) -> R) -> Option<R> {
        let now = self.member.synchronize();
        if self.outstanding.peek().is_none_or(|Reverse((arrived, ..))| *arrived > now) {
            self.fail(now);
            return None;
        }
        let Reverse((.., block)) = self.outstanding.pop()?;
        self.member.progress();
        Some(read(&block))
    }
}

enum Write<T> {
    Put(Box<[T]>),
    Xor(T),
}

/// Writes for a rank that have not been applied.
struct Arrivals<T> {
    writes: BinaryHeap<Reverse<Arrival<T>>>,
    accepted: u64,
}

impl<T> Default for Arrivals<T> {
    fn default() -> Self {
        Self { writes: BinaryHeap::new(), accepted: 0 }
    }
}

struct Arrival<T> {
    order: (Time, u64),
    offset: usize,
    write: Write<T>,
}

impl<T> PartialEq for Arrival<T> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<T> Eq for Arrival<T> {}

impl<T> PartialOrd for Arrival<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Arrival<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

/// The length of a rank's memory, and the writes for it.
type Target<T> = (usize, Rc<RefCell<Arrivals<T>>>);

pub struct SimulatedRmaWindow<'m, T: Item> {
    member: &'m Member,
    windows: Rc<Vec<Target<T>>>,
    origin: &'m mut [T],
    memory: &'m mut [T],
    /// The acknowledgement of the last of this rank's writes arrives then.
    acknowledged: Time,
}

impl<T: Item> SimulatedRmaWindow<'_, T> {
    fn write(&mut self, target: usize, offset: usize, items: usize, write: Write<T>) {
        let Member { rank, world, .. } = self.member;
        let (length, arrivals) = &self.windows[target];
        crate::comm::check_range(offset, items, *length);
        let (costs, bytes) = (&world.machine.costs(*rank, target).put, items * size_of::<T>());
        self.member.advance(costs.send + costs.copying(bytes));
        let now = self.member.synchronize();
        let Passage { entered, arrived, .. } = world.send(costs, now, (*rank, target), bytes);
        self.member.advance_to(entered);
        self.acknowledged = self.acknowledged.max(arrived + costs.latency);
        {
            let mut arrivals = arrivals.borrow_mut();
            arrivals.accepted += 1;
            let order = (arrived, arrivals.accepted);
            arrivals.writes.push(Reverse(Arrival { order, offset, write }));
        }
        world.announce(target, arrived);
        self.member.progress();
    }

    fn apply(&mut self, now: Time) {
        let mut arrivals = self.windows[self.member.rank].1.borrow_mut();
        while arrivals.writes.peek().is_some_and(|Reverse(arrival)| arrival.order.0 <= now) {
            let Some(Reverse(Arrival { offset, write, .. })) = arrivals.writes.pop() else { break };
            match write {
                Write::Put(items) => self.memory[offset..][..items.len()].copy_from_slice(&items),
                Write::Xor(value) => self.memory[offset] = self.memory[offset] ^ value,
            }
        }
    }
}

impl<T: Item> RmaWindow<T> for SimulatedRmaWindow<'_, T> {
    fn origin(&mut self) -> &mut [T] {
        self.flush();
        self.origin
    }

    unsafe fn put(&mut self, offset: usize, items: usize, target: usize, target_offset: usize) {
        let content: Box<[T]> = self.origin[offset..][..items].into();
        self.write(target, target_offset, items, Write::Put(content));
    }

    fn put_value(&mut self, target: usize, target_offset: usize, value: T) {
        self.write(target, target_offset, 1, Write::Put(Box::new([value])));
    }

    fn xor(&mut self, target: usize, target_offset: usize, value: T) {
        self.write(target, target_offset, 1, Write::Xor(value));
    }

    fn flush(&mut self) {
        self.member.advance_to(self.acknowledged);
    }

    unsafe fn peek(&mut self, offset: usize) -> T {
        let now = self.member.synchronize();
        self.apply(now);
        let value = self.memory[offset];
        self.member.fail(now, "a put");
        value
    }

    fn fence<R>(&mut self, work: impl FnOnce(&mut [T]) -> R) -> R {
        self.flush();
        self.member.barrier();
        let now = self.member.synchronize();
        self.apply(now);
        let result = work(self.memory);
        self.member.barrier();
        result
    }
}
