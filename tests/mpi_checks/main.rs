//! Checks the contract of MPI mailboxes and windows on three ranks; `tests/mpi.rs` builds and starts this program.
//!
//! Its arguments are the name of the check and a folder. Ranks that must not let MPI make progress wait for files in
//! this folder.

use apexmap_measure::comm::mpi::MpiComm;
use apexmap_measure::comm::{
    Collectives, Comm, GetWindow, Inbox, MailboxCapacity, Mailboxes, MemoryOutbox, Outbox, Rma, Tag, Transport,
    TransportKind, start,
};
use apexmap_measure::hardware::PlacementOrder;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Words of a message that no MPI library sends before its receiver has requested it: 32 MiB.
const LONG_MESSAGE_WORDS: usize = 4 << 20;

mod message_order;

fn main() {
    let argument = |index| std::env::args().nth(index).expect("the name of a check, and a folder");
    let (check, folder) = (argument(1), PathBuf::from(argument(2)));
    let run = |transport: Transport| match (transport, check.as_str()) {
        (Transport::Mpi(comm), "mailboxes") => {
            a_late_message_blocks_nobody(comm, &folder);
            a_send_handle_is_busy_until_its_message_has_left(comm, &folder);
            message_order::check_order(comm);
        }
        (Transport::Mpi(comm), "windows") => gets_are_as_many_as_there_are_slots(comm),
        _ => panic!("there is nothing to check"),
    };
    let program = |transport: Transport, _: &mut _| {
        run(transport);
        Ok(())
    };
    start(TransportKind::Mpi, 3, PlacementOrder::default(), program, |message| eprintln!("{message}"))
        .expect("three ranks");
    println!("checked");
}

fn create_file(folder: &Path, name: &str) {
    std::fs::write(folder.join(name), "").expect("a file");
}

/// Waits for a file without calls to MPI. The limit is long enough for everything that must arrive first.
fn await_file(folder: &Path, name: &str) {
    let start = Instant::now();
    while !folder.join(name).exists() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A long message matches the oldest receive of rank 0, but its sender then does nothing. Rank 2's messages arrive
/// later and must not wait for it.
fn a_late_message_blocks_nobody(comm: &MpiComm, folder: &Path) {
    const SHORT_MESSAGES: usize = 5;
    let memory: Vec<u64> = (0..LONG_MESSAGE_WORDS as u64).map(|word| word << 8 | comm.rank() as u64).collect();
    let (mut go_in, mut go_out) = comm.mailbox(Tag::Request, 1, 1, 1);
    let limits = MailboxCapacity { receives: SHORT_MESSAGES + 1, sends: SHORT_MESSAGES, words: LONG_MESSAGE_WORDS };
    let order = comm.memory_mailbox(Tag::Reply, limits, &memory, |inbox, outbox| {
        let mut order = Vec::new();
        match comm.rank() {
            0 => {
                while order.len() < SHORT_MESSAGES + 1 {
                    let taken = inbox.take(|from, words| {
                        let start = words[0] >> 8;
                        let right = (start..).zip(words).all(|(word, item)| *item == word << 8 | from as u64);
                        assert!(right, "the message was changed in transit");
                        (from, words.len())
                    });
                    order.extend(taken);
                    if order.len() == SHORT_MESSAGES {
                        create_file(folder, "short");
                    }
                }
            }
            1 => {
                assert!(outbox.send(0, 0, LONG_MESSAGE_WORDS) && go_out.send(2, &[0]));
                await_file(folder, "short");
            }
            _ => {
                while go_in.take(|_, _| ()).is_none() {}
                (0..SHORT_MESSAGES).for_each(|k| assert!(outbox.send(0, 100 * k, 10)));
            }
        }
        order
    });
    if comm.rank() == 0 {
        let mut expected = vec![(2, 10); SHORT_MESSAGES];
        expected.push((1, LONG_MESSAGE_WORDS));
        assert_eq!(order, expected, "the late message comes last");
    }
    comm.barrier();
}

/// A message without a matching receive occupies its send handle: one handle per message.
fn a_send_handle_is_busy_until_its_message_has_left(comm: &MpiComm, folder: &Path) {
    let memory = vec![7; LONG_MESSAGE_WORDS];
    let limits = MailboxCapacity { receives: 4, sends: 2, words: LONG_MESSAGE_WORDS };
    comm.memory_mailbox(Tag::Reply, limits, &memory, |inbox, outbox| match comm.rank() {
        0 => {
            assert!(outbox.send(1, 0, LONG_MESSAGE_WORDS) && outbox.send(1, 0, LONG_MESSAGE_WORDS), "two handles");
            assert!(!outbox.ready() && !outbox.send(1, 0, LONG_MESSAGE_WORDS), "two messages are outstanding");
            create_file(folder, "sent");
            while !outbox.ready() {}
            assert!(outbox.send(1, 1, 1), "one message has left");
        }
        1 => {
            await_file(folder, "sent");
            let mut received = 0;
            while received < 3 {
                received += usize::from(inbox.take(|_, _| ()).is_some());
            }
        }
        _ => {}
    });
    comm.barrier();
}

fn gets_are_as_many_as_there_are_slots(comm: &MpiComm) {
    let memory: Vec<u64> = (0..100).map(|word| word + 100 * comm.rank() as u64).collect();
    let other = (comm.rank() + 1) % comm.size();
    comm.get_window(&memory, 2, 1, |mut window| {
        assert!(window.get(other, 5, 1) && window.get(other, 6, 1), "two slots");
        assert!(!window.get(other, 7, 1), "two are outstanding");
        let mut received = Vec::new();
        while received.len() < 2 {
            received.extend(window.take_arrived(|words| words[0]));
        }
        received.sort_unstable();
        assert_eq!(received, [5, 6].map(|word| word + 100 * other as u64));
    });
}
