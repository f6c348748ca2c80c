//! LogGP: cost of a message for the processors, the network and the next message.
//!
//! SOURCE: Alexandrov, Ionescu, Schauser, Scheiman, LogGP: Incorporating Long Messages into the LogP Model, SPAA 1995:
//! latency L, overhead o, gap g, gap per byte G; a message of k bytes takes o + (k - 1) G + L + o. Here the overhead is
//! split: o_s to send, o_r to receive.

use crate::models::prelude::*;
use apexmap_measure::kernels::calibrate::network::pair::{RECEIVE, SEND};
use apexmap_measure::kernels::message_rate::patterns::STREAMING;
use apexmap_measure::kernels::message_rate::ping_pong;

/// Messages per second of a pair of ranks: the reciprocal of a time that depends on how messages follow each other.
///
/// - Ping-pong: o_s + L + o_r + (k - 1) G per message.
/// - Streaming: max(o_s, o_r, g) + (k - 1) G per message.
/// - A call that sends: o_s. A call that receives: o_r.
///
/// Ping-pong alone determines only o_s + L + o_r, and streaming alone max(o_s, o_r, g). The calls determine o_s and o_r.
pub struct LogGp;

const KERNEL: Variable =
    Variable { words: EXPLAINS, ..variable("kernel", Unit::None, "how messages follow each other", Some(0.0)) };
const BYTES: Variable = variable("message_bytes", Unit::Bytes, "bytes of a message", Some(8.0));

const EXPLAINS: &[&str] = &[ping_pong::KERNEL.id, STREAMING.id, SEND.id, RECEIVE.id];

impl Model for LogGp {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "point_to_point.log_gp",
            summary: "LogGP: latency, processor overhead, gap between messages, gap per byte",
            source: &source::LOG_GP,
            place: "the time of a message of k bytes",
            variables: &[KERNEL, BYTES],
            parameters: &[
                Parameter::new_fitted(catalogue::WIRE_LATENCY_SECONDS.name, "L", 1e-10, 1.0, 1e-6),
                Parameter::new_fitted(catalogue::NETWORK_SEND_OVERHEAD_SECONDS.name, "o_s", 1e-10, 1.0, 3e-7),
                Parameter::new_fitted(catalogue::NETWORK_RECEIVE_OVERHEAD_SECONDS.name, "o_r", 1e-10, 1.0, 3e-7),
                Parameter::new_fitted(catalogue::NETWORK_GAP_SECONDS.name, "g", 1e-10, 1.0, 5e-7),
                Parameter::new_fitted(catalogue::NETWORK_SECONDS_PER_BYTE, "G", 1e-13, 1e-5, 1e-9),
            ],
            explains: EXPLAINS,
            design: "the sweep sweeps/log-gp.toml, which has message_rate.ping_pong (o_s + L + o_r), message_rate.streaming (g, G) and \
                     calibrate.send and .receive (o_s, o_r) in one result",
            assumes: "one protocol for all lengths (select them with --where); overhead does not grow with the length; \
                      consecutive messages are separated by o_s, o_r or g, whichever is longest",
            ..RATES
        };
        &ABOUT
    }

    /// The distance between messages is the largest of g, o_s and o_r.
    fn hidden_pairs(&self) -> &'static [[&'static str; 2]] {
        const {
            &[
                [catalogue::NETWORK_GAP_SECONDS.name, catalogue::NETWORK_SEND_OVERHEAD_SECONDS.name],
                [catalogue::NETWORK_GAP_SECONDS.name, catalogue::NETWORK_RECEIVE_OVERHEAD_SECONDS.name],
            ]
        }
    }

    /// Cards of older fits have one o for both overheads.
    fn parameters(&self, card: &Card) -> Result<Vec<f64>> {
        let value = |parameter: &Parameter| match parameter.symbol {
            "o_s" | "o_r" => card.get(parameter.number).or_else(|| card.get(catalogue::NETWORK_OVERHEAD_SECONDS.name)),
            _ => None,
        };
        parameter_values(self.about().parameters, card, |parameter| {
            value(parameter).or_else(|| card_number(card, parameter.number))
        })
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [kernel, bytes] = array(x);
        let [latency, send, receive, gap, by_byte] = array(p);
        let rest = (bytes - 1.0).max(0.0) * by_byte;
        let overhead = send.max(receive);
        let parts = match kernel as usize {
            0 => vec![bound(latency, "latency"), bound(send + receive, "overhead"), bound(rest, "bytes")],
            1 if gap >= overhead => vec![bound(gap, "gap"), bound(rest, "bytes")],
            1 => vec![bound(overhead, "overhead"), bound(rest, "bytes")],
            2 => vec![bound(send, "overhead")],
            _ => vec![bound(receive, "overhead")],
        };
        let time = sum(&parts);
        bound(1.0 / time.value, time.bottleneck)
    }
}
