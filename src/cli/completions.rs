//! `apexmap completions`: completion scripts for shells.

use apexmap_base::error::Result;
use apexmap_base::terminal::print_data;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap completions bash > ~/.local/share/bash-completion/completions/apexmap")]
pub struct Arguments {
    /// Shell to print the script for
    shell: clap_complete::Shell,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::program(), "apexmap", &mut script);
    print_data(&String::from_utf8_lossy(&script))
}
