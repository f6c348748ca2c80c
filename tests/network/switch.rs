//! A switch in user space. It delivers frames between TAP devices after the time on their links plus a delay.
//!
//! A host has one link, with a rate for each direction. A frame leaves its host after earlier frames of this host,
//! arrives at the other host at the same rate after earlier frames to that host, and one delay later.

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Delay and rate of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Delay between two hosts.
    pub delay: Duration,
    /// Rate of each link, in bytes on the wire per second.
    pub rate: f64,
}

/// The longest payload of a frame: the MTU of the devices.
pub const MTU: usize = 9000;
/// Ethernet header of a frame.
const ETHERNET_HEADER: usize = 14;
/// Other bytes of a frame on the wire: preamble, check sequence, gap.
const FRAME_OVERHEAD: usize = 24;
/// Bytes that a message over TCP needs on the wire in addition to its payload, with IPv4 and time stamps.
pub const MESSAGE_OVERHEAD: usize = ETHERNET_HEADER + FRAME_OVERHEAD + 20 + 32;

impl Setting {
    pub fn on_wire(&self, frame: usize) -> Duration {
        Duration::from_secs_f64((frame + FRAME_OVERHEAD) as f64 / self.rate)
    }
}

/// Returns the address of the host at a port.
pub fn mac(port: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8]
}

/// A frame in transit: arrival time, sequence number, target port, content.
type Flight = Reverse<(Instant, u64, usize, Vec<u8>)>;

/// Carries frames until it is dropped.
pub struct Switch {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    delay_nanoseconds: AtomicU64,
    bytes_per_second: AtomicU64,
    ends: AtomicBool,
}

impl Shared {
    fn set(&self, setting: Setting) {
        self.delay_nanoseconds.store(setting.delay.as_nanos() as u64, Ordering::Relaxed);
        self.bytes_per_second.store(setting.rate.to_bits(), Ordering::Relaxed);
    }

    fn get(&self) -> Setting {
        Setting {
            delay: Duration::from_nanos(self.delay_nanoseconds.load(Ordering::Relaxed)),
            rate: f64::from_bits(self.bytes_per_second.load(Ordering::Relaxed)),
        }
    }
}

impl Switch {
    /// Starts a switch between these devices, which must be non-blocking.
    pub fn start(ports: Vec<File>, setting: Setting) -> Self {
        let shared = Arc::new(Shared::default());
        shared.set(setting);
        let (thread_shared, (ready, is_ready)) = (Arc::clone(&shared), mpsc::channel());
        let carry = move || {
            ready.send(real_time()).expect("the starting thread waits");
            Carrier::new(ports).carry(&thread_shared);
        };
        let thread = std::thread::Builder::new().name("switch".into()).spawn(carry).expect("a thread");
        is_ready.recv().expect("an answer").expect("a real-time priority");
        Self { shared, thread: Some(thread) }
    }

    /// Changes the setting for frames that are sent from now on.
    pub fn set(&self, setting: Setting) {
        self.shared.set(setting);
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Gives this thread the processor whenever it is ready to run.
pub fn real_time() -> Result<(), Errno> {
    let parameter = libc::sched_param { sched_priority: 10 };
    // SAFETY: 0 is this thread; the parameter lives until the call returns.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameter) }).map(|_| ())
}

/// Times when the links of the hosts become free, by port: from the host and to it.
pub struct Links {
    free: Vec<[Instant; 2]>,
}

impl Links {
    pub fn new(ports: usize, now: Instant) -> Self {
        Self { free: vec![[now; 2]; ports] }
    }

    /// Returns for each target the arrival time of a frame of this size that is sent now.
    pub fn send(
        &mut self,
        now: Instant,
        from: usize,
        targets: &[usize],
        bytes: usize,
        setting: Setting,
    ) -> Vec<Instant> {
        let time = setting.on_wire(bytes);
        let sent = self.free[from][0].max(now) + time;
        self.free[from][0] = sent;
        let mut arrival = |to: &usize| {
            let arrived = sent.max(self.free[*to][1] + time);
            self.free[*to][1] = arrived;
            arrived + setting.delay
        };
        targets.iter().map(&mut arrival).collect()
    }
}

struct Carrier {
    ports: Vec<File>,
    links: Links,
    flights: BinaryHeap<Flight>,
    sent: u64,
}

impl Carrier {
    fn new(ports: Vec<File>) -> Self {
        let links = Links::new(ports.len(), Instant::now());
        Self { ports, links, flights: BinaryHeap::new(), sent: 0 }
    }

    fn carry(&mut self, shared: &Shared) {
        /// Interval between checks for the end.
        const CHECK_INTERVAL: Duration = Duration::from_millis(50);
        let mut frame = vec![0; MTU + ETHERNET_HEADER + FRAME_OVERHEAD];
        while !shared.ends.load(Ordering::Relaxed) {
            self.deliver();
            let next = self.flights.peek().map(|Reverse((due, ..))| due.saturating_duration_since(Instant::now()));
            let readable = self.wait(next.unwrap_or(CHECK_INTERVAL).min(CHECK_INTERVAL));
            for from in readable {
                if let Ok(length) = self.ports[from].read(&mut frame) {
                    self.forward(from, &frame[..length], shared.get());
                }
            }
        }
    }

    /// Waits at most this time and returns the ports with frames.
    fn wait(&self, time: Duration) -> Vec<usize> {
        let mut asked: Vec<PollFd> =
            self.ports.iter().map(|port| PollFd::new(port.as_fd(), PollFlags::POLLIN)).collect();
        match ppoll(&mut asked, Some(TimeSpec::from_duration(time)), None) {
            Ok(0) | Err(_) => Vec::new(),
            Ok(_) => (0..asked.len()).filter(|&port| asked[port].any() == Some(true)).collect(),
        }
    }

    fn deliver(&mut self) {
        while self.flights.peek().is_some_and(|Reverse((due, ..))| *due <= Instant::now()) {
            let Some(Reverse((_, _, to, frame))) = self.flights.pop() else { return };
            // Frames to a host that has ended are lost.
            let _ = self.ports[to].write(&frame);
        }
    }

    fn forward(&mut self, from: usize, frame: &[u8], setting: Setting) {
        let Some(address) = frame.get(..6) else { return };
        let to_all = address[0] & 1 == 1;
        let targets: Vec<usize> = (0..self.ports.len())
            .filter(|&port| if to_all { port != from } else { address == mac(port) && port != from })
            .collect();
        let arrivals = self.links.send(Instant::now(), from, &targets, frame.len(), setting);
        for (to, arrival) in targets.into_iter().zip(arrivals) {
            self.sent += 1;
            self.flights.push(Reverse((arrival, self.sent, to, frame.to_vec())));
        }
    }
}
