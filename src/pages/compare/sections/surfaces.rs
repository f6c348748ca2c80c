//! The section with the interactive view of the machines' surfaces.

use super::Section;
use crate::html::Viewer;
use serde::Serialize;

#[derive(Serialize)]
pub struct Surfaces {
    pub viewer: Viewer,
}

impl Section for Surfaces {
    const HEADING: Option<[&'static str; 2]> = Some(["live", "The surfaces"]);
    const TEMPLATE: &'static str = include_str!("surfaces.html");

    fn applies(&self) -> bool {
        !self.viewer.surfaces.is_empty()
    }
}
