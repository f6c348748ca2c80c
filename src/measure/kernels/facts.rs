use apexmap_base::point::{Point, Value};

/// The use of windows, through which ranks access the memory of others. Not every network and MPI library supports them. Memory
/// that the ranks of one node share is not a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    Never,
    /// Only to check its result.
    InCheck,
    Always,
    /// If this parameter has this word.
    If(&'static str, &'static str),
}

impl Windows {
    /// Whether the operations of a point get, put or accumulate in a window.
    pub fn carry_operations(self, point: &Point) -> bool {
        match self {
            Windows::Never | Windows::InCheck => false,
            Windows::Always => true,
            Windows::If(name, word) => matches!(point.params.get(name), Some(Value::Text(text)) if text == word),
        }
    }

    pub fn are_opened(self, point: &Point) -> bool {
        self == Windows::InCheck || self.carry_operations(point)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Division {
    /// Each rank has its own, of the whole size.
    EachRank,
    OverRanks,
    Over(fn(&Point) -> usize),
}

impl Division {
    pub fn parts(&self, point: &Point) -> usize {
        match self {
            Division::EachRank => 1,
            Division::OverRanks => point.ranks,
            Division::Over(parts) => parts(point),
        }
    }
}

/// The ranks that a rank sends to at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// One partner or a few.
    Partners,
    AllOthers,
    RandomOthers,
}

/// The operations whose rate a machine limits. Each has one file of bounds. Accesses have the parameters of Apex-Map, updates those
/// of RandomAccess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bounded {
    Accesses,
    Updates,
    /// To blocks of a device's memory.
    DeviceAccesses,
    /// In windows.
    Messages,
}

/// The computations that simulated ranks charge, in addition to their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Computations {
    None,
    /// Generating values, dividing them by owner, and updating words.
    Updates {
        divided: Divided,
        /// Whether a core that only updates spends time in addition.
        by_roles: bool,
    },
    /// Drawing addresses and reading blocks.
    Blocks,
}

/// The division of updates before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Divided {
    BetweenPartners,
    AmongAll,
}

/// The direction of messages in windows. The first three are between pairs of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One message at a time, in turn.
    PingPong,
    /// One of each pair sends.
    OneWay,
    BothWays,
    /// The ranks of one node send to those of all others.
    OneToMany,
    /// All ranks send to random others.
    Random,
}
