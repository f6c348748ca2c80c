//! Measures the time in the hosts' network stacks: messages by plain sockets between two hosts, without MPI.

use super::hosts::{Network, on_host};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// Returns half the median time of a round trip of this number of bytes over TCP between the first two hosts, in
/// seconds. Both ends spin, as ranks do.
pub fn tcp_half_round_trip(network: &Network, bytes: usize) -> f64 {
    const ROUNDS: usize = 400;
    let (first, second) = (network.namespace_of(0), network.namespace_of(1));
    let listener = on_host(&second, || TcpListener::bind("10.77.0.2:7777")).expect("a port");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            on_host(&second, || {
                let mut stream = make_spinning(listener.accept().expect("a connection").0);
                let mut message = vec![0; bytes];
                for _ in 0..ROUNDS {
                    receive(&mut stream, &mut message);
                    stream.write_all(&message).expect("an answer");
                }
            });
        });
        on_host(&first, || {
            let mut stream = make_spinning(TcpStream::connect("10.77.0.2:7777").expect("a connection"));
            let mut message = vec![0; bytes];
            let mut round = || {
                let begun = Instant::now();
                stream.write_all(&message).expect("a message");
                receive(&mut stream, &mut message);
                begun.elapsed().as_secs_f64()
            };
            let mut seconds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
            seconds.sort_by(f64::total_cmp);
            seconds[ROUNDS / 2] / 2.0
        })
    })
}

fn make_spinning(stream: TcpStream) -> TcpStream {
    stream.set_nodelay(true).expect("no delay");
    stream.set_nonblocking(true).expect("no waiting");
    stream
}

fn receive(stream: &mut TcpStream, message: &mut [u8]) {
    let mut received = 0;
    while received < message.len() {
        match stream.read(&mut message[received..]) {
            Ok(0) => panic!("the other end has gone"),
            Ok(more) => received += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}
