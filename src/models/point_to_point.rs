//! A message between two ranks: latency, bandwidth and the switch to a rendezvous.
//!
//! SOURCE: Apex-Map paper, Section 3.3 (eager to rendezvous above 256 bytes on the Cray X1); the linear cost is the usual one.

use super::{About, Model, Parameter, Prediction, Variable, bound, variable};
use crate::source;
use crate::units::Unit;

/// T = latency + bytes/bandwidth, and a rendezvous more above the eager limit; 1/T messages a second.
pub struct PointToPoint;

const BYTES: Variable = variable("message_bytes", Unit::Bytes, "of a message", None);

impl Model for PointToPoint {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "point_to_point.switch",
            summary: "latency + bytes/bandwidth, with a rendezvous above a limit",
            source: &source::APEX_MAP,
            place: "Section 3.3",
            variables: &[BYTES],
            parameters: &[
                Parameter::fitted("network_latency_seconds", "latency", 1e-9, 1.0, 2e-6),
                Parameter::fitted("network_seconds_per_byte", "1/bandwidth", 1e-13, 1e-5, 1e-9),
                Parameter::fitted("rendezvous_seconds", "rendezvous", 1e-12, 1.0, 1e-6),
                Parameter {
                    breaks: Some("message_bytes"),
                    ..Parameter::given("eager_bytes", "eager limit", 1.0, 1e9, 4096.0)
                },
            ],
            explains: &["message_rate.ping_pong"],
            column: "operations_per_second",
            unit: Unit::PerSecond,
            linear: true,
            design: "messages from 8 bytes to some MiB, several on both sides of the eager limit",
            assumes: "one message at a time; one switch of protocol",
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [latency, gap, rendezvous, eager] = *p else { unreachable!("four parameters") };
        let start = latency + if x[0] > eager { rendezvous } else { 0.0 };
        let bytes = x[0] * gap;
        let binding = if bytes > start {
            "bandwidth"
        } else if x[0] > eager {
            "rendezvous"
        } else {
            "latency"
        };
        bound(1.0 / (start + bytes), binding)
    }
}
