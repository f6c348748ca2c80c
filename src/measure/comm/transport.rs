//! A new transport needs its module, its line in this list, and its arm in [`on_transport`](crate::on_transport).

use super::arena::Arena;
use crate::hardware::PlacementOrder;
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kind and name, the type of a rank's communicator, and the module with `library` and `start`.
macro_rules! transports {
    ($($(#[$built:meta])? $kind:ident $name:literal, $end:ty, $module:ident;)*) => {
        /// The kinds of transport that carry data between ranks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Transport"))]
        pub enum TransportKind {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $kind,)*
        }

        impl TransportKind {
            /// Including those that this program was built without.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// In sweeps, journals and command lines.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        /// For one of the transports that this program was built with.
        #[derive(Clone, Copy)]
        pub enum Transport<'a> {
            $($(#[$built])? $kind(&'a $end),)*
        }

        impl Transport<'_> {
            pub fn kind(self) -> TransportKind {
                match self {
                    $($(#[$built])? Self::$kind(_) => TransportKind::$kind,)*
                }
            }
        }

        /// The implementation with its version, or `None` if this program was built without it.
        pub fn library(kind: TransportKind) -> Option<String> {
            $(
                $(#[$built])?
                if kind == TransportKind::$kind {
                    return Some(super::$module::library());
                }
            )*
            None
        }

        /// Ends all ranks at once. Any thread of a rank may call it at any time.
        pub fn abort(kind: TransportKind) -> ! {
            $(
                $(#[$built])?
                if kind == TransportKind::$kind {
                    super::$module::abort();
                }
            )*
            std::process::abort()
        }

        /// Runs `program` on each of the `ranks` ranks that belong to this process. Threads are placed; processes stay where their
        /// launcher put them. If the failure of a rank ends this process, `failed` gets the message before.
        pub fn start(
            kind: TransportKind,
            ranks: usize,
            place: PlacementOrder,
            program: impl Fn(Transport, &mut Arena) -> Result<()> + Sync,
            failed: impl Fn(&str),
        ) -> Result<()> {
            $(
                $(#[$built])?
                if kind == TransportKind::$kind {
                    let program = |end: &$end, arena: &mut Arena| program(Transport::$kind(end), arena);
                    return super::$module::start(ranks, place, program, failed);
                }
            )*
            Err(Error::environment(
                format!("this build of apexmap has no transport \"{kind}\""),
                format!(
                    "build one with `cargo build --release -p apexmap-measure --features {kind}` and name it with \
                     --worker"
                ),
            ))
        }
    };
}

transports! {
    Threads "threads", super::threads::ThreadComm, threads;
    #[cfg(feature = "mpi")] Mpi "mpi", super::mpi::MpiComm, mpi;
    Simulated "simulated", super::simulated::SimulatedComm, simulated;
}

impl TransportKind {
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Binds `$comm` to the communicator of this rank, with its concrete type.
#[doc(hidden)]
#[macro_export]
macro_rules! on_transport {
    ($transport:expr, $comm:ident => $body:expr) => {
        match $transport {
            $crate::comm::Transport::Threads($comm) => $body,
            #[cfg(feature = "mpi")]
            $crate::comm::Transport::Mpi($comm) => $body,
            $crate::comm::Transport::Simulated($comm) => $body,
        }
    };
}
