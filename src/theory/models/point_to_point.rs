//! A message between two ranks: latency, bandwidth, and the switch from an immediate copy (eager) to a rendezvous.
//!
//! SOURCE: Apex-Map paper, Section 3.3 (eager to rendezvous above 256 bytes on the Cray X1). The linear cost is standard.

use crate::models::prelude::*;
use apexmap_measure::kernels::message_rate::ping_pong;

/// T = latency + bytes/bandwidth, plus bytes x copy up to the eager limit, plus a rendezvous above it; the rate is 1/T.
pub struct PointToPoint;

const BYTES: Variable = variable("message_bytes", Unit::Bytes, "bytes of a message", None);

impl Model for PointToPoint {
    fn about(&self) -> &'static About {
        const ABOUT: About = About {
            id: "point_to_point.switch",
            summary: "latency + bytes/bandwidth, with a copy up to a limit and a rendezvous above it",
            source: &source::APEX_MAP,
            place: "Section 3.3",
            variables: &[BYTES],
            parameters: &[
                Parameter::new_fitted(catalogue::NETWORK_LATENCY_SECONDS.name, "latency", 1e-9, 1.0, 2e-6),
                Parameter::new_fitted(catalogue::NETWORK_SECONDS_PER_BYTE, "1/bandwidth", 1e-13, 1e-5, 1e-9),
                // Without numbers of a switch on the card, the model has no switch.
                Parameter {
                    breaks: Break::ZeroWithoutBreak,
                    if_missing: Some(0.0),
                    ..Parameter::new_fitted(catalogue::RENDEZVOUS_SECONDS.name, "rendezvous", 1e-12, 1.0, 1e-6)
                },
                Parameter {
                    breaks: Break::ZeroWithoutBreak,
                    if_missing: Some(0.0),
                    ..Parameter::new_fitted(catalogue::EAGER_SECONDS_PER_BYTE.name, "eager copy", 1e-13, 1e-5, 1e-10)
                },
                Parameter {
                    breaks: Break::Location("message_bytes"),
                    if_missing: Some(f64::INFINITY),
                    ..Parameter::new_given(catalogue::EAGER_BYTES.name, "eager limit", 1.0, 1e9, 4096.0)
                },
            ],
            explains: &[ping_pong::KERNEL.id],
            linear: true,
            design: "messages from 8 bytes to some MiB, at least three lengths on each side of the eager limit (sweeps/eager-limit.toml)",
            assumes: "one message at a time; one switch of protocol",
            ..RATES
        };
        &ABOUT
    }

    fn predict(&self, x: &[f64], p: &[f64]) -> Prediction {
        let [size] = array(x);
        let [latency, gap, rendezvous, copy, eager] = array(p);
        let (start, gap) = if size > eager { (latency + rendezvous, gap) } else { (latency, gap + copy) };
        let bytes = size * gap;
        let bottleneck = if bytes > start {
            "bandwidth"
        } else if size > eager {
            "rendezvous"
        } else {
            "latency"
        };
        bound(1.0 / (start + bytes), bottleneck)
    }
}
