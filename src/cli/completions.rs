//! `apexmap completions`: scripts for shells.

use super::{Cli, print};
use crate::error::Result;
use clap::CommandFactory;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap completions bash > ~/.local/share/bash-completion/completions/apexmap")]
pub struct Arguments {
    /// bash, elvish, fish, powershell or zsh
    shell: clap_complete::Shell,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "apexmap", &mut script);
    print(&String::from_utf8_lossy(&script))
}
