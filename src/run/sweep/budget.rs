//! The time for the launches of a group.

use super::groups::Group;

/// Seconds for the launches of a group.
#[derive(Clone, Copy)]
pub struct Budget {
    /// Its share among all groups.
    pub share: f64,
    /// Its share among the groups of its block, while points have no sample: every point is measured once before launches repeat.
    pub first_round: f64,
}

impl Budget {
    /// Divides seconds among groups in proportion to their points, and returns those of the first group. Each group is a block and a number
    /// of points.
    pub fn of_first_group(seconds: f64, groups: &[(u32, usize)]) -> Self {
        let points = |block: Option<u32>| {
            let is_counted = |group: &&(u32, usize)| block.is_none_or(|block| group.0 == block);
            groups.iter().filter(is_counted).map(|group| group.1).sum::<usize>() as f64
        };
        let (block, own) = groups[0];
        Self { share: seconds * own as f64 / points(None), first_round: seconds * own as f64 / points(Some(block)) }
    }

    /// Returns what is left after some seconds; `None` if the group may not be launched again.
    pub fn after(self, seconds: f64, group: &Group) -> Option<Self> {
        let left = Self { share: (self.share - seconds).max(0.0), first_round: (self.first_round - seconds).max(0.0) };
        let has_first_round = left.first_round > 0.0 && group.pending.iter().any(|pending| pending.values.is_empty());
        (left.share > 0.0 || has_first_round).then_some(left)
    }
}
