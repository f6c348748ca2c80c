//! Which one-sided component of Open MPI the launches of a result are given, where its default one cannot use the network.

use crate::disk::folder::Folder;
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use serde::{Deserialize, Serialize};

/// The variable that chooses the component.
pub const VARIABLE: &str = "OMPI_MCA_osc";
/// The component that needs messages only, which Open MPI 1 to 4 have.
pub const BY_MESSAGES: &str = "pt2pt";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    component: String,
}

impl Folder {
    /// Whether launches of this result get the component that needs messages only, as `one-sided.json` says.
    ///
    /// # Errors
    /// If the file cannot be read, or names anything else: no result chooses what programs get.
    pub fn is_one_sided_by_messages(&self) -> Result<bool> {
        let path = self.path.join("one-sided.json");
        if !path.is_file() {
            return Ok(false);
        }
        let text = regular_file::read_text(&path).map_err(|e| Error::file("read", &path, e))?;
        match serde_json::from_str::<Kept>(&text) {
            Ok(kept) if kept.component == BY_MESSAGES => Ok(true),
            _ => Err(Error::environment(
                format!("{} does not name the component {BY_MESSAGES}", path.display()),
                "delete it: the next launch that needs it finds that out again",
            )),
        }
    }

    /// Keeps that they do.
    pub fn keep_one_sided_by_messages(&self) -> Result<()> {
        let kept = Kept { component: BY_MESSAGES.to_owned() };
        let text = serde_json::to_string(&kept).map_err(|e| Error::internal(e.to_string()))?;
        self.replace_text(&self.path.join("one-sided.json"), &text)
    }
}
