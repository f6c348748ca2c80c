//! The order for placing ranks on the hardware threads of a machine.

/// The order for placing ranks on hardware threads. Fast cores always come before slow ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PlacementOrder {
    /// One rank per core first, cycling over packages, NUMA nodes and last-level caches.
    #[default]
    Spread,
    /// One rank per core first, package by package.
    Compact,
    /// All hardware threads of a core first, package by package.
    Smt,
}

impl PlacementOrder {
    pub const ALL: [Self; 3] = [Self::Spread, Self::Compact, Self::Smt];

    pub fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Compact => "compact",
            Self::Smt => "smt",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }
}
