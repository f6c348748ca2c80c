//! The measurement of idle time.

use crate::comm::Comm;

/// The idle time of a rank: it waits for messages or for room.
#[derive(Default)]
pub struct Idle {
    since: Option<f64>,
    pub seconds: f64,
}

impl Idle {
    pub fn begin(&mut self, comm: &impl Comm) {
        if self.since.is_none() {
            self.since = Some(comm.wall_time());
        }
    }

    /// Ends an idle interval, if one has begun.
    pub fn end(&mut self, comm: &impl Comm) {
        if let Some(since) = self.since.take() {
            self.seconds += comm.wall_time() - since;
        }
    }
}
