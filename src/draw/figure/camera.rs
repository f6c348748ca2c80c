//! Projects points of the box around a 3-D surface to pixels of the picture.

use super::geometry::Xy;
use super::view::{BOX_HEIGHT, View};

/// The projection from the box to the picture.
#[derive(Clone, Copy)]
pub struct Camera {
    pub view: View,
    /// Pixels per unit of the box.
    pub pixels: f64,
    pub centre: Xy,
}

impl Camera {
    pub fn pixel(&self, point: [f64; 3]) -> Xy {
        let projected = self.view.project(point);
        let middle = self.view.project([0.5, 0.5, BOX_HEIGHT / 2.0]);
        (
            self.centre.0 + (projected.right - middle.right) * self.pixels,
            self.centre.1 - (projected.up - middle.up) * self.pixels,
        )
    }
}
