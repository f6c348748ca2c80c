//! The keys of parameters that other parts of the program look up.

pub use super::apex_map::access::Access;
pub use super::apex_map::neighbours::NEIGHBOURS;
pub use super::random_access::base::{SENDING, Sending};
pub use super::random_access::{N_WORDS, Q, STREAM, TIME_BOUND, UPDATES};
pub use super::shared::accesses::draw::GIVEN_REMOTE_SHARE;
pub use super::shared::accesses::two_sided::POLL_EVERY;
pub use super::shared::accesses::{ALPHA, B, I, L, M, N, SEED};
pub use super::shared::messages::{
    BUFFERS, Buffers, CACHES, Caches, MESSAGE_BYTES, MESSAGES, OPERATION, Operation, SENDERS, WINDOW,
};
pub use super::shared::parameters::PAGES;
pub use super::shared::updates::random_stream::StreamKind;
pub use super::{CORE_NODE, MEMORY_NODE};
pub use crate::comm::arena::Pages;
