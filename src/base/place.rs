//! The order for placing ranks on the hardware threads of a machine.

crate::words! {
    /// The order for placing ranks on hardware threads. Fast cores always come before slow ones.
    #[derive(Default)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum PlacementOrder {
        /// One rank per core first, cycling over packages, NUMA nodes and last-level caches.
        #[default]
        Spread = "spread",
        /// One rank per core first, package by package.
        Compact = "compact",
        /// All hardware threads of a core first, package by package.
        Smt = "smt",
    }
}
