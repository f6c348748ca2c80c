//! Non-blocking sends and receives in place: what message rates are measured with.

use super::{Collectives, Tag};
use apexmap_base::error::Result;

/// Messages from one rank to another that a sender may start before the receiver has posted any receive: every transport
/// takes so many without waiting.
pub const UNEXPECTED_MESSAGES: usize = 128;

/// Messages of any length, each sent from where it stands and received where it shall stand.
pub trait PointToPoint: Collectives {
    type Messages<'m>: Messages
    where
        Self: 'm;

    /// Collective: messages under `tag` that are sent from, and received into, buffers of so many items of 4 bytes,
    /// zeros at first. At most one of a tag at a time. Fails if there is not so much memory.
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self::Messages<'_>>;
}

/// Sends and receives under way, and their buffers. Lengths and places count items of 4 bytes.
pub trait Messages {
    /// What is sent. Completes first what is on its way.
    fn outgoing(&mut self) -> &mut [u32];
    /// What was received. Completes first what is on its way.
    fn incoming(&mut self) -> &mut [u32];
    /// Starts sending `items` items at `at` of the outgoing buffer to another rank.
    fn isend(&mut self, at: usize, items: usize, to: usize);
    /// Starts receiving the next message of another rank, of at most `items` items, at `at` of the incoming buffer.
    fn irecv(&mut self, at: usize, items: usize, from: usize);
    /// Returns when this rank's receives have come and its sends have left.
    fn wait_all(&mut self);
}
