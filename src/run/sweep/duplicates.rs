//! Removes repeated points.

use apexmap_base::point::{Point, Value};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns the points, each only once, in the order of their first occurrence.
pub fn remove_duplicates(points: Vec<Point>) -> Vec<Point> {
    struct PointIdentity<'a>(&'a Point);
    impl PartialEq for PointIdentity<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }
    impl Eq for PointIdentity<'_> {}
    impl Hash for PointIdentity<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            (&self.0.kernel, self.0.ranks).hash(state);
            for value in self.0.params.values() {
                match value {
                    Value::Integer(v) => v.hash(state),
                    Value::Real(v) => v.to_bits().hash(state),
                    Value::Text(v) => v.hash(state),
                }
            }
        }
    }
    let mut seen =
        HashSet::with_capacity_and_hasher(points.len(), std::hash::BuildHasherDefault::<DefaultHasher>::new());
    let is_first: Vec<bool> = points.iter().map(|point| seen.insert(PointIdentity(point))).collect();
    drop(seen);
    points.into_iter().zip(is_first).filter_map(|(point, first)| first.then_some(point)).collect()
}
