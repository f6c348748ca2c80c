/// The distribution of 2^`bits` words over `parts` owners. Each of the first `rem` owners has `small` + 1 words, each of the others
/// `small` (Blue Gene/P paper, Section 4.4, where `small` is called mlts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    bits: u32,
    parts: u64,
    small: u64,
    rem: u64,
}

impl Layout {
    /// `parts` is between 1 and 2^`bits`.
    pub fn new(bits: u32, parts: usize) -> Self {
        let (words, parts) = (1u64 << bits, parts as u64);
        debug_assert!(parts > 0 && parts <= words);
        Self { bits, parts, small: words / parts, rem: words % parts }
    }

    pub fn words(&self) -> u64 {
        1 << self.bits
    }

    pub fn parts(&self) -> usize {
        self.parts as usize
    }

    /// For part number `parts` this is the end of the table.
    #[inline(always)]
    pub fn first(&self, part: usize) -> u64 {
        let part = part as u64;
        part * self.small + part.min(self.rem)
    }

    pub fn count(&self, part: usize) -> u64 {
        self.small + u64::from((part as u64) < self.rem)
    }

    /// As in the reference implementation.
    #[inline(always)]
    pub fn owner_by_division(&self, word: u64) -> usize {
        let larger = self.rem * (self.small + 1);
        let part = if word < larger { word / (self.small + 1) } else { (word - self.rem) / self.small };
        part as usize
    }

    /// Returns floor(word x parts / words), an estimate that is never below the owner. It is at most one above the owner if parts <
    /// words / parts (Blue Gene/P paper, Theorem 4.1).
    #[inline(always)]
    pub fn predict_owner(&self, word: u64) -> usize {
        ((u128::from(word) * u128::from(self.parts)) >> self.bits) as usize
    }

    /// Needs no division, for any number of parts.
    #[inline(always)]
    pub fn owner_by_prediction(&self, word: u64) -> usize {
        let mut part = self.predict_owner(word);
        while word < self.first(part) {
            part -= 1;
        }
        part
    }
}

/// Three methods to compute the owner of a word. They give the same result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owners {
    /// Only if the number of parts is a power of two.
    Shift(u32),
    Division(Layout),
    Prediction(Layout),
}

impl Owners {
    pub fn cheapest(layout: Layout) -> Self {
        if layout.parts.is_power_of_two() {
            Owners::Shift(layout.bits - layout.parts.trailing_zeros())
        } else {
            Owners::Prediction(layout)
        }
    }

    #[inline(always)]
    pub fn owner(&self, word: u64) -> usize {
        match self {
            Owners::Shift(bits) => (word >> bits) as usize,
            Owners::Division(layout) => layout.owner_by_division(word),
            Owners::Prediction(layout) => layout.owner_by_prediction(word),
        }
    }
}
