//! The machine card of a result: the source of its bounds.

use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::Host;
use apexmap_theory::bounds::Limits;
use apexmap_theory::machine::Card;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Default)]
pub struct CardArguments {
    /// Machine card that `apexmap calibrate` wrote here: rates are then shown relative to the machine's limit; a copy is kept
    /// in the result
    #[arg(long, value_name = "CARD")]
    pub card: Option<PathBuf>,
    /// Accept a card that was measured on another host; the report says so
    #[arg(long, requires = "card")]
    pub card_of_another_host: bool,
}

impl CardArguments {
    /// The card, if one was given: of one of these hosts, or of the machine that the result names.
    pub fn find(&self, machine: &str, hosts: &[&Host]) -> Result<Option<Card>> {
        let Some(path) = &self.card else { return Ok(None) };
        let mut card = match path.to_str() {
            Some(name) => Card::find(name)?,
            None => Card::read(path)?,
        };
        let limits = Limits::of(&card);
        card.provenance.remove(Limits::ACCEPTED);
        if !hosts.iter().any(|host| limits.is_of(host)) {
            let same_kind = hosts.iter().any(|host| limits.cpu_model.as_ref() == Some(&host.cpu_model));
            let accepted = match (same_kind && card.name == machine, self.card_of_another_host) {
                (true, _) => Limits::BY_NAME,
                (false, true) => Limits::BY_FORCE,
                (false, false) => return Err(foreign(path, &limits, machine)),
            };
            card.provenance.insert(Limits::ACCEPTED.into(), accepted.into());
        }
        Ok(Some(card))
    }
}

fn foreign(path: &std::path::Path, limits: &Limits, machine: &str) -> Error {
    let of = match (&limits.host, &limits.cpu_model) {
        (Some(host), Some(model)) => format!("was measured on {host} ({model}), the samples on {machine}"),
        _ => "does not say on which host it was measured".to_owned(),
    };
    Error::input(
        format!("{} {of}: its numbers are no bounds of these samples", path.display()),
        "run `apexmap calibrate` on that machine and name its card; to compare with another machine's limits all the same, \
         add --card-of-another-host",
    )
}
