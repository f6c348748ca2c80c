//! The option `--card`: the machine card that a result's bounds come from.

use apexmap_base::error::{Error, Result};
use apexmap_base::provenance::Host;
use apexmap_theory::bounds::Limits;
use apexmap_theory::machine::Card;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Default)]
pub struct CardArguments {
    /// Show rates relative to the limits of this machine card; the result keeps a copy
    #[arg(long, value_name = "CARD")]
    pub card: Option<PathBuf>,
    /// Accept a card that was measured on another host; the report says so
    #[arg(long, requires = "card")]
    pub card_of_another_host: bool,
}

impl CardArguments {
    /// Returns the card, if one was given. It must come from one of these hosts, or from the machine that the result names.
    pub fn find(&self, machine: &str, hosts: &[&Host]) -> Result<Option<Card>> {
        let Some(path) = &self.card else { return Ok(None) };
        let mut card = match path.to_str() {
            Some(name) => Card::find(name)?,
            None => Card::read(path)?,
        };
        let limits = Limits::from_card(&card);
        card.provenance.remove(Limits::ACCEPTED);
        if !hosts.iter().any(|host| limits.is_from_host(host)) {
            let same_kind = hosts.iter().any(|host| limits.cpu_model.as_ref() == Some(&host.cpu_model));
            let accepted = match (same_kind && card.name == machine, self.card_of_another_host) {
                (true, _) => Limits::BY_NAME,
                (false, true) => Limits::BY_FORCE,
                (false, false) => return Err(foreign_card(path, &limits, machine)),
            };
            card.provenance.insert(Limits::ACCEPTED.into(), accepted.into());
        }
        Ok(Some(card))
    }
}

fn foreign_card(path: &std::path::Path, limits: &Limits, machine: &str) -> Error {
    let reason = match (&limits.host, &limits.cpu_model) {
        (Some(host), Some(model)) => format!("was measured on {host} ({model}), the samples on {machine}"),
        _ => "does not name the host that it was measured on".to_owned(),
    };
    Error::input(
        format!("{} {reason}: its numbers do not bound these samples", path.display()),
        "run `apexmap calibrate` on that machine and name its card; to use the limits of another machine anyway, \
         add --card-of-another-host",
    )
}
