//! The owner of each word of the table, and how it is found.

/// A table of 2^`bits` words over `parts` owners: the first `rem` own one word more than the others (Blue Gene/P paper,
/// Section 4.4, where `small` is called mlts).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    bits: u32,
    parts: u64,
    small: u64,
    rem: u64,
}

impl Layout {
    /// `parts` is at least 1 and at most 2^`bits`; callers check and say so to the user.
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

    /// The first word of a part; of part `parts`, the end of the table.
    #[inline(always)]
    pub fn first(&self, part: usize) -> u64 {
        let part = part as u64;
        part * self.small + part.min(self.rem)
    }

    /// How many words a part owns.
    pub fn count(&self, part: usize) -> u64 {
        self.small + u64::from((part as u64) < self.rem)
    }

    /// The owner of a word, by integer division, as the reference implementation finds it.
    #[inline(always)]
    pub fn by_division(&self, word: u64) -> usize {
        let larger = self.rem * (self.small + 1);
        let part = if word < larger { word / (self.small + 1) } else { (word - self.rem) / self.small };
        part as usize
    }

    /// floor(word x parts / words): what [`Layout::by_prediction`] corrects.
    ///
    /// Never below the owner, and above it by one at most if parts < words / parts (Blue Gene/P paper, Theorem 4.1).
    #[inline(always)]
    pub fn prediction(&self, word: u64) -> usize {
        ((u128::from(word) * u128::from(self.parts)) >> self.bits) as usize
    }

    /// The owner of a word without a division, for any number of parts.
    #[inline(always)]
    pub fn by_prediction(&self, word: u64) -> usize {
        let mut part = self.prediction(word);
        while word < self.first(part) {
            part -= 1;
        }
        part
    }
}

/// How owners are found. The three agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Owners {
    /// For a power of two of parts.
    Shift(u32),
    Division(Layout),
    Prediction(Layout),
}

impl Owners {
    /// The cheapest for this layout.
    pub fn cheapest(layout: Layout) -> Self {
        if layout.parts.is_power_of_two() {
            Owners::Shift(layout.bits - layout.parts.trailing_zeros())
        } else {
            Owners::Prediction(layout)
        }
    }

    #[inline(always)]
    pub fn of(&self, word: u64) -> usize {
        match self {
            Owners::Shift(bits) => (word >> bits) as usize,
            Owners::Division(layout) => layout.by_division(word),
            Owners::Prediction(layout) => layout.by_prediction(word),
        }
    }
}
