//! A sweep as jobs of a batch system: divided, submitted, followed from the journals on the shared folder, submitted again where
//! jobs end before their points are done.
//!
//! A job runs the same driver as a user does, for the launches of one number of nodes, and stops before its time is over. Whoever
//! follows measures nothing and may leave at any time: all that must be known is in the result folder, `jobs/`.

pub mod decide;
pub mod follow;
pub mod known;
pub mod log;
pub mod parts;
pub mod queue;
pub mod record;
pub mod tail;

pub use parts::Part;
pub use queue::{Queue, System};
pub use record::{Jobs, PartFile};
