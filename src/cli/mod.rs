//! The command line of `apexmap`, which ends with one of [`EXIT_CODES`].

mod advice;
mod completions;
mod man;

use crate::commands::{self as explore, GROUPS, diagnostics};
use apexmap_base::crash;
use apexmap_base::error::{EXIT_CODES, Result};
use apexmap_base::shell::command_words;
use apexmap_base::terminal::{print_styled, supports_colours, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_measure::cli::worker;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::io::stdout;
use std::process::ExitCode;

/// Measures how fast a machine delivers data, from the best case of locality to the worst
#[derive(Parser)]
#[command(name = "apexmap", version, about, after_help = after_help(), subcommand_required = true)]
#[command(help_template = "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  apexmap run                    measure this machine (20 s to 2 min) and write a report
  apexmap sweeps                 ready sweeps, by the question they answer
  apexmap plan memory-sizes      show the points of a sweep, and which are done
  apexmap run memory-sizes       run or resume a sweep
  apexmap plot results/quickstart contour --where 'P == 1'
  apexmap predict random_access.hypercube --machine red-storm --ranks 1..131072
  apexmap kernels                list the kernels";

fn after_help() -> String {
    let code = |(code, meaning): &(&str, &str)| format!("\n  {code:<13}  {meaning}");
    format!("{EXAMPLES}\n\nExit codes:{}", EXIT_CODES.iter().map(code).collect::<String>())
}

/// The flags in `apexmap run -h`. `apexmap run --help` shows all.
const FIRST_FLAGS: [&str; 6] = ["budget", "launches", "out", "command", "card", "submit"];

fn with_help(command: clap::Command) -> clap::Command {
    let (short, long) = (command_groups(&command, false), command_groups(&command, true));
    indent_help(command.before_help(short).before_long_help(long), help_width().min(80)).mut_subcommand("run", |run| {
        run.mut_args(|flag| {
            let is_first = flag.is_positional() || FIRST_FLAGS.contains(&flag.get_id().as_str());
            flag.hide_short_help(!is_first)
        })
    })
}

/// The longest line of a help text of clap.
const CLAP_WIDTH: usize = 100;

/// As clap finds it.
fn help_width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal_width().or_else(columns).unwrap_or(CLAP_WIDTH).clamp(20, CLAP_WIDTH)
}

/// The commands of each group, the first ones with their descriptions, and if `is_long` the others, too.
fn command_groups(program: &clap::Command, is_long: bool) -> String {
    let mut text = String::new();
    let width = help_width();
    for (group, first, more) in GROUPS {
        let described = if is_long { [*first, *more].concat() } else { first.to_vec() };
        let mut table = TextTable::new([Align::Left; 2]).with_indent(2).with_width(Some(width));
        for name in described.iter().map(|name| name.to_lowercase()) {
            let about = program.find_subcommand(&name).and_then(clap::Command::get_about);
            table.add_row([format!("{name:<9}"), about.map(ToString::to_string).unwrap_or_default()]);
        }
        text.push_str(&format!("{group}:\n{table}"));
        if !is_long && !more.is_empty() {
            let label = if first.is_empty() { "" } else { "also " };
            text.push_str(&format!("  {label}{}\n", more.join(", ").to_lowercase()));
        }
        text.push('\n');
    }
    text + "`apexmap help COMMAND` describes a command; `man` and `completions` serve the shell."
}

/// Wraps the examples and exit codes of all commands with hanging indents. Examples stay commands of a shell, with comments.
fn indent_help(command: clap::Command, width: usize) -> clap::Command {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = text.replace("Example: ", "Example:\n  ").replace(" \\\n      ", " ");
    let text = text.lines().map(|line| indent_line(line, width)).collect::<Vec<_>>().join("\n");
    command.after_help(text).mut_subcommands(|command| indent_help(command, width))
}

fn indent_line(line: &str, width: usize) -> String {
    if line.starts_with("  apexmap") {
        return indent_command(line, width);
    }
    // A meaning that follows its code continues below itself.
    let column = line.rfind("  ").map_or(0, |gap| gap + 2);
    let indent = if (3..60).contains(&column) { column } else { 6 } * usize::from(line.starts_with("  "));
    wrap(line, width, &" ".repeat(indent)).join("\n")
}

/// A comment that does not fit is in lines before the command.
fn indent_command(line: &str, width: usize) -> String {
    let comment = line.rfind("  ").filter(|gap| *gap > 0);
    let (command, comment) = comment.map_or((line, ""), |gap| line.split_at(gap + 2));
    let whole = if comment.is_empty() { command.to_owned() } else { format!("{command}# {comment}") };
    if whole.chars().count() <= width {
        return whole;
    }
    // Spaces in the quotes of a command do not divide arguments.
    const GLUE: &str = "\u{a0}";
    let quoted =
        |(number, part): (usize, &str)| if number % 2 == 1 { part.replace(' ', GLUE) } else { part.to_owned() };
    let glued = command.trim_end().split('\'').enumerate().map(quoted).collect::<Vec<_>>().join("'");
    let lines = wrap(&glued, width.saturating_sub(2), "      ").join(" \\\n").replace(GLUE, " ");
    let comment = if comment.is_empty() { Vec::new() } else { wrap(&format!("  # {comment}"), width, "  # ") };
    comment.into_iter().chain([lines]).collect::<Vec<_>>().join("\n")
}

fn wrap(text: &str, width: usize, indent: &str) -> Vec<String> {
    let options = textwrap::Options::new(width).subsequent_indent(indent).break_words(false);
    let whole_words = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::wrap(text, whole_words).into_iter().map(String::from).collect()
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Explore(Box<explore::Command>),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print a manual page for `man -l -`, or write those of all commands
    Man(man::Arguments),
    /// Internal: launchers start this on each rank
    #[command(hide = true)]
    Worker(worker::Arguments),
}

/// Runs the command line of `apexmap` on the arguments of this process, prints errors, and returns one of the [`EXIT_CODES`].
pub fn main() -> ExitCode {
    apexmap_measure::provenance::set_commit(env!("APEXMAP_COMMIT"));
    // At the limit of file sizes, writes then fail with an error that names the file.
    // SAFETY: no handler is installed.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
    ExitCode::from(crash::guard(code))
}

fn code() -> u8 {
    match parse_and_run() {
        Ok(()) => 0,
        Err(error) => {
            diagnostics::show(&error);
            error.exit_code()
        }
    }
}

fn parse_and_run() -> Result<()> {
    let words = command_words();
    if let Some(error) = advice::divided_value(&words) {
        return Err(error);
    }
    let help = (words.len() < 2).then(|| "-h".into());
    let parsed = with_help(program()).try_get_matches_from(std::env::args_os().chain(help));
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)).map(|cli| cli.command) {
        Ok(Command::Explore(command)) => explore::run(&command),
        Ok(Command::Completions(arguments)) => completions::run(&arguments),
        Ok(Command::Man(arguments)) => man::run(&arguments),
        Ok(Command::Worker(arguments)) => worker::run(&arguments),
        Err(error) if error.use_stderr() => Err(diagnostics::shorten(advice::answer(&error, &words))),
        Err(help) => {
            let text = help.render();
            print_styled(&if supports_colours(&stdout()) { text.ansi().to_string() } else { text.to_string() })
        }
    }
}

/// The definition of the command line, for manual pages, completions, errors and tests.
pub fn program() -> clap::Command {
    Cli::command()
}
