//! Records that launches need another one-sided component of Open MPI, because the default cannot use the network.

use crate::disk::folder::Folder;
use apexmap_base::error::{Error, Result};
use serde::{Deserialize, Serialize};

pub const VARIABLE: &str = "OMPI_MCA_osc";
/// Component that uses messages only, in Open MPI 1 to 4.
pub const BY_MESSAGES: &str = "pt2pt";
const FILE: &str = "one-sided.json";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChosenComponent {
    component: String,
}

impl Folder {
    /// Returns whether launches use the component for messages. Another one is an error: a result sets no variables.
    pub fn is_one_sided_by_messages(&self) -> Result<bool> {
        let help = "delete it: the next launch that needs it detects this again";
        match self.read_json::<ChosenComponent>(FILE, help)? {
            Some(kept) if kept.component != BY_MESSAGES => {
                let path = self.path.join(FILE);
                Err(Error::environment(format!("{} does not name the component {BY_MESSAGES}", path.display()), help))
            }
            kept => Ok(kept.is_some()),
        }
    }

    pub fn keep_one_sided_by_messages(&self) -> Result<()> {
        self.replace_json(FILE, &ChosenComponent { component: BY_MESSAGES.to_owned() })
    }
}
