//! LogGP: what a message costs the processors, the network, and the next message.
//!
//! SOURCE: Alexandrov, Ionescu, Schauser, Scheiman, LogGP: Incorporating Long Messages into the LogP Model, SPAA 1995: latency L,
//!   overhead o, gap g, gap a byte G; a message of k bytes takes o + (k - 1) G + L + o.

use super::{About, Model, Parameter, Prediction, Variable, array, bound, variable};
use crate::source;
use crate::units::Unit;

/// Messages per second of a pair, by how they follow each other:
/// in ping-pong L + 2 o + (k - 1) G a message, one after another max(o, g) + (k - 1) G, and a call that sends or receives o.
///
/// Ping-pong alone tells L + 2 o, streaming alone max(o, g); the calls' own time tells o, and so L.
pub struct LogGp;

const KERNEL: Variable =
    Variable { words: EXPLAINS, ..variable("kernel", Unit::None, "how messages follow each other", Some(0.0)) };
const BYTES: Variable = variable("message_bytes", Unit::Bytes, "of a message", Some(8.0));

const EXPLAINS: &[&str] = &["message_rate.ping_pong", "message_rate.streaming", "calibrate.send", "calibrate.receive"];

impl Model for LogGp {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "point_to_point.log_gp",
            summary: "LogGP: latency, processor overhead, gap between messages, gap per byte",
            source: &source::LOG_GP,
            place: "the time of a message of k bytes",
            variables: &[KERNEL, BYTES],
            parameters: &[
                Parameter::fitted("wire_latency_seconds", "L", 1e-10, 1.0, 1e-6),
                Parameter::fitted("network_overhead_seconds", "o", 1e-10, 1.0, 3e-7),
                Parameter::fitted("network_gap_seconds", "g", 1e-10, 1.0, 5e-7),
                Parameter::fitted("network_seconds_per_byte", "G", 1e-13, 1e-5, 1e-9),
            ],
            explains: EXPLAINS,
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: false,
            design: "with sweeps/log-gp.toml, which has message_rate.ping_pong (L + 2 o), message_rate.streaming (g, G) and calibrate.send \
                     and .receive (o) in one result",
            assumes: "one protocol for all lengths (choose them with --where); sending costs as much as receiving; overhead does not grow \
                      with the length; messages are as far apart as o or g, whichever is longer",
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [kernel, bytes] = array(x);
        let [latency, overhead, gap, by_byte] = array(p);
        let rest = (bytes - 1.0).max(0.0) * by_byte;
        let parts = match kernel as usize {
            0 => vec![bound(latency, "latency"), bound(2.0 * overhead, "overhead"), bound(rest, "bytes")],
            1 if gap >= overhead => vec![bound(gap, "gap"), bound(rest, "bytes")],
            1 => vec![bound(overhead, "overhead"), bound(rest, "bytes")],
            _ => vec![bound(overhead, "overhead")],
        };
        let longest = parts.iter().max_by(|a, b| a.value.total_cmp(&b.value)).expect("a part");
        bound(1.0 / parts.iter().map(|part| part.value).sum::<f64>(), longest.bottleneck)
    }
}
