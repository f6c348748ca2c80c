//! Non-blocking sends and receives in place, for measuring message rates.

use super::{Collectives, Tag};
use apexmap_base::error::Result;

/// Number of messages that a rank may send to another one before the receiver has posted any receive. Every transport accepts
/// this number without waiting.
pub const UNEXPECTED_MESSAGES: usize = 128;

/// Messages of any length, sent from and received into their final place without further copies.
pub trait PointToPoint: Collectives {
    type Messages<'m>: Messages
    where
        Self: 'm;

    /// Opens buffers of `outgoing` and `incoming` items of 4 bytes, initially zeros, for messages under `tag`. Only one such pair
    /// may exist per tag at a time. Fails if the system has not enough memory. Collective.
    fn messages(&self, tag: Tag, outgoing: usize, incoming: usize) -> Result<Self::Messages<'_>>;
}

/// Outstanding sends and receives, with their buffers. Lengths and offsets count items of 4 bytes.
pub trait Messages {
    /// Returns the buffer to send from, after completing all outstanding messages.
    fn outgoing(&mut self) -> &mut [u32];
    fn incoming(&mut self) -> &mut [u32];
    /// Starts sending `items` items at `offset` of the outgoing buffer to another rank.
    fn isend(&mut self, offset: usize, items: usize, receiver: usize);
    /// Starts receiving the next message of another rank, of at most `items` items, at `offset` of the incoming buffer.
    fn irecv(&mut self, offset: usize, items: usize, sender: usize);
    /// Returns when this rank's receives have arrived and its sends have left.
    fn wait_all(&mut self);
}
