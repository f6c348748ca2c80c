//! Records that the launches of a result need a one-sided component of Open MPI other than the default, which cannot use the
//! network.

use crate::disk::folder::Folder;
use apexmap_base::error::{Error, Result};
use apexmap_base::regular_file;
use serde::{Deserialize, Serialize};

/// Environment variable that selects the component.
pub const VARIABLE: &str = "OMPI_MCA_osc";
/// Component that uses messages only, in Open MPI 1 to 4.
pub const BY_MESSAGES: &str = "pt2pt";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChosenComponent {
    component: String,
}

impl Folder {
    /// Returns whether launches of this result use the component that needs only messages, according to `one-sided.json`.
    ///
    /// # Errors
    /// If the file cannot be read or names another component: a result must not set arbitrary variables of programs.
    pub fn is_one_sided_by_messages(&self) -> Result<bool> {
        let path = self.path.join("one-sided.json");
        if !path.is_file() {
            return Ok(false);
        }
        let text = regular_file::read_text(&path).map_err(|e| Error::file("read", &path, e))?;
        match serde_json::from_str::<ChosenComponent>(&text) {
            Ok(kept) if kept.component == BY_MESSAGES => Ok(true),
            _ => Err(Error::environment(
                format!("{} does not name the component {BY_MESSAGES}", path.display()),
                "delete it: the next launch that needs it detects this again",
            )),
        }
    }

    /// Records that launches of this result use this component.
    pub fn keep_one_sided_by_messages(&self) -> Result<()> {
        let kept = ChosenComponent { component: BY_MESSAGES.to_owned() };
        let text = serde_json::to_string(&kept).map_err(|e| Error::internal(e.to_string()))?;
        self.replace_text(&self.path.join("one-sided.json"), &text)
    }
}
