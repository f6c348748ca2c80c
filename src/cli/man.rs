//! `apexmap man`: manual pages, one per command, made from the text of `--help`.

use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::new_file;
use apexmap_base::terminal::{print, print_data};
use clap_mangen::Man;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap man | man -l -
  apexmap man fit | man -l -
  apexmap man --out ~/.local/share/man/man1    then: man apexmap, man apexmap-fit")]
pub struct Arguments {
    /// Command to document [default: the program]
    command: Option<String>,
    /// Write the manual pages of the program and all its commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut program = super::indent_help(super::program(), 1000).disable_help_subcommand(true);
    program.build();
    let commands: Vec<&clap::Command> = program.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    if let Some(folder) = &arguments.out {
        std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
        for command in std::iter::once(&program).chain(commands) {
            let file = folder.join(format!("{}.1", name(command)));
            new_file::write_user_file_contents(&file, page(command)?)?;
        }
        return print(&format!("{}\n", folder.join("apexmap.1").display()));
    }
    let command = match &arguments.command {
        None => &program,
        Some(name) => commands.iter().copied().find(|command| command.get_name() == name).ok_or_else(|| {
            let names: Vec<_> = commands.iter().map(|command| command.get_name()).collect();
            Error::input(format!("there is no command \"{name}\""), suggest(name, &names))
        })?,
    };
    print_data(&page(command)?)
}

/// `apexmap-fit`.
fn name(command: &clap::Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_owned()
}

fn page(command: &clap::Command) -> Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(|e| Error::internal(e.to_string()))?;
    let page = String::from_utf8(page).map_err(|e| Error::internal(e.to_string()))?;
    Ok(keep_example_lines(&page))
}

/// The examples after the options are commands, not running text.
fn keep_example_lines(page: &str) -> String {
    let Some((before, after)) = page.split_once(".SH EXTRA\n") else { return page.to_owned() };
    let (extra, rest) = after.find("\n.SH").map_or((after, ""), |newline| after.split_at(newline + 1));
    format!("{before}.SH EXAMPLES\n.nf\n{}\n.fi\n{rest}", extra.trim_end())
}
