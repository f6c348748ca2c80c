//! Points, rectangles and polygons in the pixels of a picture.

/// In pixels, y downwards.
pub type Xy = (f64, f64);

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub fn from_centre(centre: Xy, width: f64, height: f64) -> Self {
        let (x, y) = centre;
        Self { left: x - width / 2.0, top: y - height / 2.0, right: x + width / 2.0, bottom: y + height / 2.0 }
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn centre(&self) -> Xy {
        ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0)
    }

    pub fn inflate(&self, distance: f64) -> Self {
        Self {
            left: self.left - distance,
            top: self.top - distance,
            right: self.right + distance,
            bottom: self.bottom + distance,
        }
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    pub fn shared_area(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    pub fn contains(&self, other: &Self) -> bool {
        self.left <= other.left && other.right <= self.right && self.top <= other.top && other.bottom <= self.bottom
    }
}

/// The sharpest corners of the convex polygon move a little less.
pub fn inflate(points: &[Xy], distance: f64) -> Vec<Xy> {
    let mut points = points.to_vec();
    // A side without a length has no normal.
    points.dedup_by(|a, b| (a.0 - b.0).hypot(a.1 - b.1) < 1e-6);
    let count = points.len();
    let side = |k: usize| (points[k % count], points[(k + 1) % count]);
    let area: f64 = (0..count).map(side).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum();
    let normal = |k: usize| {
        let (a, b) = side(k);
        let length = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9) * area.signum();
        ((b.1 - a.1) / length, (a.0 - b.0) / length)
    };
    let corner = |k: usize| {
        let (before, after) = (normal(k + count - 1), normal(k));
        let times = distance / (1.0 + before.0 * after.0 + before.1 * after.1).max(0.4);
        (points[k].0 + (before.0 + after.0) * times, points[k].1 + (before.1 + after.1) * times)
    };
    (0..count).map(corner).collect()
}
