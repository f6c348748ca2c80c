//! Open MPI's one-sided component that needs messages only, for networks that its default one cannot use.

use super::Campaign;
use crate::launch::causes;
use crate::sweep::execute::Ending;
use apexmap_base::error::{Error, Result};
use apexmap_measure::comm::TransportKind;
use apexmap_results::disk::Folder;
use apexmap_results::disk::one_sided::{BY_MESSAGES, VARIABLE};
use std::cell::Cell;

/// Whether launches get it, and whether they may.
pub struct Fallback<'a> {
    folder: &'a Folder,
    library: &'a str,
    allowed: bool,
    used: Cell<bool>,
}

impl<'a> Fallback<'a> {
    /// As the result says, unless the sweep refuses it or the user has chosen a component.
    pub fn new(campaign: &'a Campaign, folder: &'a Folder) -> Result<Self> {
        let context = &campaign.plan.context;
        let open = campaign.sweep.launch.fallback && std::env::var_os(VARIABLE).is_none();
        let allowed = open && context.transport == TransportKind::Mpi && has_component(&context.library);
        let used = Cell::new(allowed && folder.is_one_sided_by_messages()?);
        Ok(Self { folder, library: &context.library, allowed, used })
    }

    /// What launches get in their environment.
    pub fn variable(&self) -> Option<(String, String)> {
        self.used.get().then(|| (VARIABLE.to_owned(), BY_MESSAGES.to_owned()))
    }

    /// The note for the user at the start.
    pub fn note(&self) -> Option<String> {
        self.used
            .get()
            .then(|| format!("note: {VARIABLE}={BY_MESSAGES} is set for the launches, as before in this result"))
    }

    /// Makes the next launches get it, if this one needed it; returns the note for the user. The result keeps it.
    ///
    /// # Errors
    /// If it cannot be kept.
    pub fn remedy(&self, ending: &Ending) -> Result<Option<String>> {
        let needed = ending.cause.is_some_and(|cause| cause.what == causes::NO_WINDOW);
        if !needed || !self.allowed || self.used.replace(true) {
            return Ok(None);
        }
        self.folder.keep_one_sided_by_messages()?;
        Ok(Some(format!(
            "note: {}. {VARIABLE}={BY_MESSAGES} is set for the launches from here on: gets and puts are made of messages, and bounds \
             for remote memory do not hold (fallback = false in [launch] refuses this)",
            causes::NO_WINDOW
        )))
    }

    /// Advice that fits this library, for an error of launches that need it.
    pub fn advise(&self, error: Error) -> Error {
        if !error.what.contains(causes::NO_WINDOW) || has_component(self.library) {
            return error;
        }
        let next = format!(
            "{}; {} does not have the component {BY_MESSAGES}, which ended with Open MPI 4: use UCX with it, or another MPI such as MPICH, \
             or leave out kernels that get or put",
            error.next, self.library
        );
        Error { next, ..error }
    }
}

/// Whether this library has the component: Open MPI before 5.
pub fn has_component(library: &str) -> bool {
    let version = library.strip_prefix("Open MPI v").and_then(|rest| rest.split('.').next());
    version.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 5)
}
