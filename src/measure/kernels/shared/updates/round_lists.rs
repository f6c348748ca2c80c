/// The updates of a round.
pub struct RoundLists {
    pub values: Vec<u64>,
    pub owners: Vec<u32>,
    pub sorted: Vec<u64>,
    pub received: Vec<u64>,
    /// Number of values of each owner.
    pub counts: Vec<usize>,
    ends: Vec<usize>,
}

impl RoundLists {
    /// For `size` updates of `parts` owners.
    pub fn new(size: usize, parts: usize) -> Self {
        Self {
            values: vec![0; size],
            owners: vec![0; size],
            sorted: vec![0; size],
            received: Vec::with_capacity(2 * size),
            counts: vec![0; parts],
            ends: vec![0; parts],
        }
    }

    /// The sort is stable.
    pub fn sort(&mut self, size: usize, owner: impl Fn(u64) -> usize) {
        self.counts.fill(0);
        for (&value, slot) in self.values[..size].iter().zip(&mut self.owners) {
            let owner = owner(value);
            *slot = owner as u32;
            self.counts[owner] += 1;
        }
        let mut start = 0;
        for (end, &count) in self.ends.iter_mut().zip(&self.counts) {
            *end = start;
            start += count;
        }
        for (&value, &owner) in self.values[..size].iter().zip(&self.owners) {
            let end = &mut self.ends[owner as usize];
            self.sorted[*end] = value;
            *end += 1;
        }
    }
}
