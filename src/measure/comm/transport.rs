//! The list of transports. One costs its folder, its line in the list, and its arm in [`on_transport`](crate::on_transport).

use super::arena::Arena;
use crate::hardware::Place;
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Of each transport: kind and name, a rank's end of it, and its module, with `library` and `start`.
macro_rules! transports {
    ($($(#[$built:meta])? $kind:ident $name:literal, $end:ty, $module:ident;)*) => {
        /// What carries data between ranks.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Transport"))]
        pub enum TransportKind {
            $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $kind,)*
        }

        impl TransportKind {
            /// All transports, also those that this program was built without.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// As in sweeps, journals and command lines.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        /// One rank's end of one of the transports that this program was built with.
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

        /// What implements a transport, with its version; `None` if this program was built without it.
        pub fn library(kind: TransportKind) -> Option<String> {
            $(
                $(#[$built])?
                if kind == TransportKind::$kind {
                    return Some(super::$module::library());
                }
            )*
            None
        }

        /// Ends all ranks of this transport at once, from any thread of one of them, whatever they are doing.
        pub fn abort(kind: TransportKind) -> ! {
            $(
                $(#[$built])?
                if kind == TransportKind::$kind {
                    super::$module::abort();
                }
            )*
            std::process::abort()
        }

        /// Runs `program` on each of the ranks that this process has of `ranks`. Threads are placed; processes stay where
        /// their launcher put them. `failed` gets the message of one that fails, if
        /// its failure ends this process.
        pub fn start(
            kind: TransportKind,
            ranks: usize,
            place: Place,
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
}

impl TransportKind {
    /// The transport of a name such as `threads`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs an expression with `$comm` bound to this rank's end of the world's transport, of its own type.
#[doc(hidden)]
#[macro_export]
macro_rules! on_transport {
    ($transport:expr, $comm:ident => $body:expr) => {
        match $transport {
            $crate::comm::Transport::Threads($comm) => $body,
            #[cfg(feature = "mpi")]
            $crate::comm::Transport::Mpi($comm) => $body,
        }
    };
}
