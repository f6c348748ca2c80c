//! The order in which ranks take the hardware threads of a machine.

/// In which order ranks take the hardware threads of a machine. Fast cores come before slow ones in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// One rank on each core first, in turn over packages, NUMA nodes and last-level caches.
    #[default]
    Spread,
    /// One rank on each core first, a package after the other.
    Compact,
    /// All hardware threads of a core first, a package after the other.
    Smt,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Spread, Self::Compact, Self::Smt];

    pub fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Compact => "compact",
            Self::Smt => "smt",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }
}
