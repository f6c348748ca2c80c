use crate::ring::{Consumer, Count, Place, Producer, Ring};
use crate::sync::{Arrivals, Barrier, Deliveries, Exposure, Failure, Slot};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread::{self, yield_now};

fn check_interleavings(body: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(body);
}

/// Memory that only one thread at a time may write, which loom checks.
#[derive(Default)]
struct Memory(UnsafeCell<u64>);

// SAFETY: loom reports two threads that access it without synchronisation; that is its purpose.
unsafe impl Send for Memory {}
unsafe impl Sync for Memory {}

impl Memory {
    fn write(&self, value: u64) {
        self.0.with_mut(|pointer| unsafe { *pointer = value });
    }

    fn read(&self) -> u64 {
        self.0.with(|pointer| unsafe { *pointer })
    }
}

/// The ordering of a ring of messages: the sender publishes, the receiver acquires.
#[derive(Default)]
struct MessageCount(AtomicUsize);

impl MessageCount {
    fn push(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    fn wait_for(&self, messages: usize) {
        while self.0.load(Ordering::Acquire) < messages {
            yield_now();
        }
    }
}

/// Runs `member` on this number of threads, and returns when all have ended.
fn run_team(members: usize, member: impl Fn(usize) + Send + Sync + 'static) {
    let member = Arc::new(member);
    let others: Vec<_> = (1..members)
        .map(|me| {
            let member = member.clone();
            thread::spawn(move || member(me))
        })
        .collect();
    member(0);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn a_barrier_orders_accesses_before_and_after_it() {
    check_interleavings(|| {
        let (barrier, failure) = (Barrier::new(2), Failure::default());
        let memory = [Memory::default(), Memory::default()];
        run_team(2, move |me| {
            for round in 1..=2 {
                memory[me].write(round);
                assert!(barrier.wait(&failure, yield_now));
                assert_eq!(memory[1 - me].read(), round);
                assert!(barrier.wait(&failure, yield_now));
            }
        });
    });
}

#[test]
fn a_failure_releases_waiting_ranks() {
    check_interleavings(|| {
        let (barrier, failure, memory) = (Barrier::new(2), Failure::default(), Memory::default());
        run_team(2, move |me| {
            if me == 0 {
                memory.write(1);
                failure.declare();
            } else {
                assert!(!barrier.wait(&failure, yield_now));
                assert_eq!(memory.read(), 1);
                assert!(!barrier.wait(&failure, yield_now), "for good");
            }
        });
    });
}

#[test]
fn a_rank_that_sees_all_arrivals_sees_all_earlier_writes() {
    check_interleavings(|| {
        let (arrivals, memory) = (Arrivals::default(), [Memory::default(), Memory::default()]);
        run_team(2, move |me| {
            memory[me].write(1);
            arrivals.arrive();
            while !arrivals.have_reached(2) {
                yield_now();
            }
            assert_eq!(memory[1 - me].read(), 1);
        });
    });
}

/// A member fails while others enter a window, use it or leave it. No member frees its memory while another can access
/// it.
#[test]
fn no_rank_leaves_a_window_while_others_access_its_memory() {
    check_interleavings(|| {
        let (exposure, barrier, failure) = (Exposure::default(), Barrier::new(2), Failure::default());
        let memory = [Memory::default(), Memory::default()];
        run_team(3, move |me| {
            if me == 2 {
                return failure.declare();
            }
            exposure.enter();
            // Opens, accesses and closes the window, as far as possible.
            let opened = barrier.wait(&failure, yield_now);
            if opened {
                memory[1 - me].read();
            }
            if opened && barrier.wait(&failure, yield_now) {
                exposure.leave();
            } else {
                failure.declare();
                exposure.leave();
                while !exposure.is_over() {
                    yield_now();
                }
            }
            // Frees the memory.
            memory[me].write(0);
        });
    });
}

#[test]
fn a_slot_is_written_and_read_alternately() {
    check_interleavings(|| {
        let (slot, ring) = (Slot::new(2), MessageCount::default());
        run_team(2, move |me| {
            for message in 1..=3 {
                if me == 0 {
                    while !slot.is_free() {
                        yield_now();
                    }
                    // SAFETY: it is free, and no other thread sends.
                    unsafe { slot.fill(&[message, message]) };
                    ring.push();
                } else {
                    ring.wait_for(message as usize);
                    // SAFETY: the ring announced the message.
                    unsafe { slot.read(2, |words| assert_eq!(words, [message, message])) };
                }
            }
        });
    });
}

#[test]
fn delivered_memory_may_be_rewritten() {
    check_interleavings(|| {
        let (delivered, ring, source) = (Deliveries::default(), MessageCount::default(), Memory::default());
        run_team(2, move |me| {
            for message in 1..=3 {
                if me == 0 {
                    source.write(message);
                    ring.push();
                    while !delivered.all_delivered(message) {
                        yield_now();
                    }
                } else {
                    ring.wait_for(message as usize);
                    assert_eq!(source.read(), message);
                    delivered.count();
                }
            }
        });
    });
}

/// The memory of a ring of two places.
#[derive(Default)]
struct RingMemory(Count, [Place<u64>; 2]);

// SAFETY: loom reports places that both ends access at once.
unsafe impl Send for RingMemory {}
unsafe impl Sync for RingMemory {}

impl RingMemory {
    fn ring(&self) -> Ring<u64> {
        Ring { taken: &self.0, places: self.1.as_ptr(), capacity: 2, stride: size_of::<Place<u64>>() }
    }
}

#[test]
fn a_ring_delivers_every_item_once_in_order() {
    for together in [false, true] {
        check_interleavings(move || {
            let memory = Arc::new(RingMemory::default());
            run_team(2, move |me| {
                if me == 0 {
                    // SAFETY: the memory lives, and this is the only producer.
                    let mut producer = unsafe { Producer::new(memory.ring(), memory.clone()) };
                    for item in 1..=3 {
                        while !producer.push(item) {
                            yield_now();
                        }
                    }
                } else {
                    // SAFETY: the memory lives, and this is the only consumer.
                    let mut consumer = unsafe { Consumer::new(memory.ring(), memory.clone()) };
                    let mut next = 1;
                    while next <= 3 {
                        if together {
                            consumer.pop_together(2, |&item| {
                                assert_eq!(item, next);
                                next += 1;
                            });
                        } else if let Some(item) = consumer.pop(|&item| item) {
                            assert_eq!(item, next);
                            next += 1;
                        }
                        yield_now();
                    }
                }
            });
        });
    }
}
