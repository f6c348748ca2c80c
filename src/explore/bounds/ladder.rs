//! A cost measured over sizes: what is known of all others from it.

/// Least costs by size. Whatever is larger costs no less, so that a cost is never taken to be more than any measured at a
/// larger size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// Size and cost, both ascending.
    rungs: Vec<(f64, f64)>,
}

impl Ladder {
    /// From sizes and costs in any order.
    pub fn new(mut rungs: Vec<(f64, f64)>) -> Self {
        rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut least = f64::INFINITY;
        for (_, cost) in rungs.iter_mut().rev() {
            least = least.min(*cost);
            *cost = least;
        }
        Self { rungs }
    }

    pub fn is_empty(&self) -> bool {
        self.rungs.is_empty()
    }

    pub fn rungs(&self) -> &[(f64, f64)] {
        &self.rungs
    }

    /// The least cost of all.
    pub fn least(&self) -> Option<f64> {
        self.rungs.first().map(|(_, cost)| *cost)
    }

    /// The cost that `size` has at least: that of the largest size measured which is not above it.
    pub fn at(&self, size: f64) -> Option<f64> {
        self.rungs.iter().rev().find(|(rung, _)| *rung <= size).map(|(_, cost)| *cost)
    }

    /// The lesser of two costs, at the sizes that both have.
    pub fn or(&self, other: &Self) -> Self {
        let both = |&(size, cost): &(f64, f64)| {
            let (_, instead) = other.rungs.iter().find(|(rung, _)| *rung == size)?;
            Some((size, cost.min(*instead)))
        };
        Self { rungs: self.rungs.iter().filter_map(both).collect() }
    }

    /// The mean cost, at least, of draws below `size` by the power law P(draw < c) = (c / size)^alpha, for a cost that is the
    /// mean of uniform draws below its size. The law is a mixture of uniform ones: alpha parts of that below `size`, and
    /// 1 - alpha parts of those below c, c drawn by the law itself (integration by parts of its density).
    pub fn mean(&self, alpha: f64, size: f64) -> f64 {
        let below = |bytes: f64| (bytes.min(size) / size).powf(alpha);
        let ends = self.rungs.iter().skip(1).map(|(rung, _)| *rung).chain([f64::INFINITY]);
        let between = self.rungs.iter().zip(ends).map(|(&(rung, cost), end)| (below(end) - below(rung)) * cost);
        alpha * self.at(size).unwrap_or(0.0) + (1.0 - alpha) * between.sum::<f64>()
    }

    /// The same, if each cost is that of some resource which only bounds by itself: the largest of a single rung's.
    pub fn most(&self, alpha: f64, size: f64) -> f64 {
        let part = |&(rung, cost): &(f64, f64)| {
            let above = 1.0 - (rung / size).powf(alpha);
            (alpha + (1.0 - alpha) * above) * cost
        };
        self.rungs.iter().filter(|(rung, _)| *rung <= size).map(part).fold(0.0, f64::max)
    }
}
