//! Lower bounds of a cost, from measurements at several sizes.

use super::Law;

/// Minimum cost by size. Costs do not decrease with size: the cost of a size is never above a cost measured at a larger size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ladder {
    /// Size and cost, both in ascending order.
    rungs: Vec<(f64, f64)>,
}

impl Ladder {
    /// Takes sizes and costs in any order.
    pub fn new(mut rungs: Vec<(f64, f64)>) -> Self {
        rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut min_cost = f64::INFINITY;
        // The largest size comes first: no cost is above that of a larger size.
        for (_, cost) in rungs.iter_mut().rev() {
            min_cost = min_cost.min(*cost);
            *cost = min_cost;
        }
        Self { rungs }
    }

    pub fn is_empty(&self) -> bool {
        self.rungs.is_empty()
    }

    pub fn rungs(&self) -> &[(f64, f64)] {
        &self.rungs
    }

    pub fn min_cost(&self) -> Option<f64> {
        self.rungs.first().map(|(_, cost)| *cost)
    }

    /// Returns a lower bound of the cost at `size`: the cost of the largest measured size that is not above `size`. Returns
    /// `None` if all measured sizes are larger.
    pub fn cost_at(&self, size: f64) -> Option<f64> {
        self.rungs.iter().rev().find(|(rung, _)| *rung <= size).map(|(_, cost)| *cost)
    }

    pub fn min_with(&self, other: &Self) -> Self {
        let both = |&(size, cost): &(f64, f64)| {
            let (_, instead) = other.rungs.iter().find(|(rung, _)| *rung == size)?;
            Some((size, cost.min(*instead)))
        };
        Self { rungs: self.rungs.iter().filter_map(both).collect() }
    }

    pub fn rungs_from(&self, bytes: f64) -> Self {
        Self { rungs: self.rungs.iter().copied().filter(|(rung, _)| *rung >= bytes).collect() }
    }

    /// Returns a lower bound of the mean cost of accesses that follow `law`. Each cost must be the mean of uniform draws
    /// below its size.
    pub fn mean_cost(&self, law: &Law) -> f64 {
        let ends = self.rungs.iter().skip(1).map(|(rung, _)| *rung).chain([law.own()]);
        let inside = self.rungs.iter().zip(ends).filter(|((rung, _), _)| *rung < law.own());
        let up_to =
            |bytes: f64| if bytes < law.own() { law.uniform_weight(bytes) } else { law.uniform_weight_before_end() };
        let between = inside.map(|(&(rung, cost), end)| (up_to(end) - up_to(rung)).max(0.0) * cost);
        (1.0 - law.uniform_weight_before_end()) * self.cost_at(law.own()).unwrap_or(0.0) + between.sum::<f64>()
    }

    /// Returns a lower bound where each cost belongs to a resource that limits alone: the largest contribution of a single
    /// rung.
    pub fn max_rung_cost(&self, law: &Law) -> f64 {
        let part = |&(rung, cost): &(f64, f64)| {
            let before = if rung < law.own() { law.uniform_weight(rung) } else { law.uniform_weight_before_end() };
            (1.0 - before) * cost
        };
        self.rungs.iter().filter(|(rung, _)| *rung <= law.own()).map(part).fold(0.0, f64::max)
    }
}
