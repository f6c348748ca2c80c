//! Falls back to the one-sided component of Open MPI that uses only messages, for networks that the default component cannot use.

use super::Campaign;
use crate::drive::execute::Ending;
use crate::launch::causes::{Cause, Special};
use apexmap_base::error::Result;
use apexmap_measure::comm::TransportKind;
use apexmap_results::disk::Folder;
use apexmap_results::disk::one_sided::{BY_MESSAGES, VARIABLE};
use std::cell::Cell;

pub struct Fallback<'a> {
    folder: &'a Folder,
    library: &'a str,
    is_allowed: bool,
    is_used: Cell<bool>,
}

impl<'a> Fallback<'a> {
    /// Starts with the state recorded in the result. The sweep can forbid the fallback. A component that the user chose has precedence.
    pub fn new(campaign: &'a Campaign, folder: &'a Folder) -> Result<Self> {
        let context = &campaign.plan.context;
        let is_open = campaign.sweep.launch.fallback && std::env::var_os(VARIABLE).is_none();
        let is_allowed = is_open && context.transport == TransportKind::Mpi && has_component(&context.library);
        let is_used = Cell::new(is_allowed && folder.is_one_sided_by_messages()?);
        Ok(Self { folder, library: &context.library, is_allowed, is_used })
    }

    pub fn variable(&self) -> Option<(String, String)> {
        self.is_used.get().then(|| (VARIABLE.to_owned(), BY_MESSAGES.to_owned()))
    }

    pub fn note(&self) -> Option<String> {
        self.is_used
            .get()
            .then(|| format!("note: {VARIABLE}={BY_MESSAGES} is set for all launches, as earlier in this result"))
    }

    /// Enables the fallback for the next launches if this one failed without it. Records that in the result, and returns a note.
    pub fn apply_remedy(&self, ending: &Ending) -> Result<Option<String>> {
        let is_cause = |cause: &&Cause| cause.special == Some(Special::NoWindow);
        // `replace` lets the remedy apply once. A second failure with the variable has another reason.
        let Some(cause) = ending.cause.filter(is_cause).filter(|_| self.is_allowed && !self.is_used.replace(true))
        else {
            return Ok(None);
        };
        self.folder.keep_one_sided_by_messages()?;
        Ok(Some(format!(
            "note: {}. {VARIABLE}={BY_MESSAGES} is set for all further launches: gets and puts use messages, so bounds \
             for remote memory do not hold (fallback = false in [launch] turns this off)",
            cause.summary
        )))
    }

    pub fn advice(&self) -> Option<String> {
        (!has_component(self.library)).then(|| {
            format!(
                "{} does not have the component {BY_MESSAGES}, which Open MPI 5 removed: use UCX, or another MPI such as MPICH, \
                 or leave out kernels with gets or puts",
                self.library
            )
        })
    }
}

pub fn has_component(library: &str) -> bool {
    let version = library.strip_prefix("Open MPI v").and_then(|rest| rest.split('.').next());
    version.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 5)
}
