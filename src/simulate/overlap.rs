//! Which kernels wait for each message.

use super::computation::has_word;
use apexmap_base::point::{Point, Value};

/// Returns whether no rank of a point sends or takes a message while another one is on its way to it or from it. The whole latency
/// of each message then counts, however the card divides it among cores and network. The time of all other points depends on
/// the cores' time of a message.
pub fn waits_for_each_message(point: &Point) -> bool {
    let is = |name: &str, word: &str| has_word(point, name, word);
    let is_one = |name: &str| point.params.get(name).and_then(Value::as_f64) == Some(1.0);
    match point.kernel.as_str() {
        _ if point.ranks == 1 => true,
        "message_rate.ping_pong" | "calibrate.barrier" => true,
        // Simulated ranks exchange with one rank after the other.
        "random_access.alltoallv" => true,
        "apex_map.one_sided" => is_one("B"),
        // Other numbers of ranks than powers of two have two partners in some stages.
        "random_access.hypercube" => {
            let is_original = is("receives", "on_demand") && is("waits", "early") && is_one("SMSG");
            is_original && point.ranks.is_power_of_two()
        }
        _ => false,
    }
}
