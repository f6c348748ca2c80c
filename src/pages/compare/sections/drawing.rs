//! A figure of a section with its texts.

use crate::html::{self, Picture};
use apexmap_base::error::Result;
use apexmap_draw::figure::Figure;
use std::path::Path;

/// Maximum number of groups with figures.
pub const MAX_GROUPS: usize = 6;

/// A figure and its texts.
pub struct Drawing {
    pub figure: Figure,
    /// Name of the files without extension.
    pub file: String,
    pub title: String,
    pub caption: String,
}

impl Drawing {
    /// Draws the picture. If its values cannot be drawn, returns `None` and adds the reason to `undrawn`.
    pub fn draw(self, folder: &Path, undrawn: &mut Vec<String>) -> Result<Option<Picture>> {
        let Self { figure, file, title, caption } = self;
        html::if_drawable(html::picture(folder, &figure, file, title.clone(), caption), &title, undrawn)
    }
}
