//! A sweep as jobs of a batch system. The sweep is divided into parts. Their jobs are submitted, followed through the journals on
//! the shared file system, and submitted again if they end before their points are done.
//!
//! A job runs the same driver as a user, for the launches of one number of nodes, and stops before its time limit. The follower
//! measures nothing and may stop at any time, because all its state is in the folder `jobs/` of the result.

pub mod decide;
pub mod ends;
pub mod follow;
pub mod known;
mod lines;
pub mod log;
pub mod node_hours;
pub mod parts;
mod questions;
pub mod queue;
pub mod record;
mod state;
pub mod submission;
pub mod tail;

pub use parts::Part;
pub use queue::{Queue, Submission, System};
pub use record::{Jobs, PartFile};
