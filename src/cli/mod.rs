//! The command line of `apexmap`, which ends with one of [`EXIT_CODES`].

mod completions;
mod man;

use crate::commands::{self as explore, GROUPS, diagnostics::show, is_sweep};
use apexmap_base::crash;
use apexmap_base::error::{EXIT_CODES, Error, Result};
use apexmap_base::name_lookup::{nearest_name, suggest};
use apexmap_base::terminal::{note_raw, supports_colours, terminal_width, to_printable};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_measure::cli::worker;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;

/// Measures how fast a machine delivers data, from the best case of locality to the worst
#[derive(Parser)]
#[command(name = "apexmap", version, about, after_help = after_help(), subcommand_required = true, arg_required_else_help = true)]
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

/// Commands, flags and values that do not exist, some since they were removed, with the replacement.
const INSTEAD: &[(&str, &str)] = &[
    ("simulate", "apexmap run SWEEP --simulate CARD"),
    ("parquet", "the samples are already Parquet: RESULT/samples.parquet"),
    ("xlsx", "write CSV, which spreadsheets open: --format csv"),
    ("excel", "write CSV, which spreadsheets open: --format csv"),
    ("extra-p", "write CSV or JSON lines, from which a script makes the input of Extra-P: --format jsonl"),
    ("--parameters", "select columns with --select"),
    (
        "--export",
        "`apexmap card CARD --all` shows the network's numbers; tests/simgrid/platform.rs writes them for SimGrid",
    ),
    (
        "cancel",
        "cancel jobs by the batch system's own program, such as scancel; RESULT/jobs/*.queued has the ids of jobs that wait",
    ),
    ("job", "run apexmap itself on the other machine: `make release` builds a file for any Linux"),
    ("--detach", "--submit, which submits each job once and ends"),
    ("--wait", "--submit, and then `apexmap status RESULT`"),
    ("--from-card", "`apexmap card CARD --all` shows the network's numbers"),
];

/// The flags in `apexmap run -h`. `apexmap run --help` shows all.
const FIRST_FLAGS: [&str; 6] = ["budget", "launches", "out", "command", "card", "submit"];

fn with_help(command: clap::Command) -> clap::Command {
    let (short, long) = (command_groups(&command, false), command_groups(&command, true));
    indent_help(command.before_help(short).before_long_help(long)).mut_subcommand("run", |run| {
        run.mut_args(|flag| {
            let is_first = flag.is_positional() || FIRST_FLAGS.contains(&flag.get_id().as_str());
            flag.hide_short_help(!is_first)
        })
    })
}

/// The longest line of a help text of clap.
const CLAP_WIDTH: usize = 100;

/// The commands of each group, the first ones with their descriptions, and if `is_long` the others, too.
fn command_groups(program: &clap::Command, is_long: bool) -> String {
    let mut text = String::new();
    // Clap would break longer lines without regard to the columns.
    let width = terminal_width().unwrap_or(CLAP_WIDTH).min(CLAP_WIDTH);
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

/// Wraps the examples and exit codes of all commands with hanging indents. Wrapped commands stay commands of a shell.
fn indent_help(command: clap::Command) -> clap::Command {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = text.lines().map(indent_line).collect::<Vec<_>>().join("\n");
    command.after_help(text).mut_subcommands(indent_help)
}

fn indent_line(line: &str) -> String {
    // A meaning that follows its code or command continues below itself.
    let column = line.rfind("  ").map_or(0, |gap| gap + 2);
    let has_meaning = (3..60).contains(&column);
    let is_command = line.starts_with("  apexmap") && !has_meaning;
    let indent = if has_meaning { column } else { 6 } * usize::from(line.starts_with("  "));
    // Spaces in the quotes of a command do not divide arguments.
    const GLUE: char = '\u{a0}';
    let mut is_quoted = false;
    let glue = |letter: char| {
        is_quoted ^= is_command && letter == '\'';
        if is_quoted && letter == ' ' { GLUE } else { letter }
    };
    let continues = if line.ends_with(" \\") { " \\" } else { "" };
    let glued: String = line.trim_end_matches(" \\").chars().map(glue).collect();
    let indent = " ".repeat(indent);
    let width = textwrap::Options::new(if is_command { 78 } else { 80 }).subsequent_indent(&indent).break_words(false);
    let lines = textwrap::wrap(&glued, width).join(if is_command { " \\\n" } else { "\n" });
    lines.replace(GLUE, " ") + continues
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
    let result = match with_help(program()).try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => run(&cli.command),
        Err(error) => match wrong_command(&error).or_else(|| wrong_flag(&error)).or_else(|| wrong_value(&error)) {
            Some(error) => Err(error),
            None => return print_usage(&error),
        },
    };
    exit_code(result)
}

fn exit_code(result: Result<()>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(error) => {
            show(&error);
            error.exit_code()
        }
    }
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Explore(command) => explore::run(command),
        Command::Completions(arguments) => completions::run(arguments),
        Command::Man(arguments) => man::run(arguments),
        Command::Worker(arguments) => worker::run(arguments),
    }
}

/// The definition of the command line, for manual pages, completions, errors and tests.
pub fn program() -> clap::Command {
    Cli::command()
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    if let Some(ContextValue::String(text)) = error.get(kind) { Some(text) } else { None }
}

fn instead_of(name: &str) -> Option<String> {
    INSTEAD.iter().find(|(word, _)| *word == name).map(|(_, advice)| advice.to_string())
}

fn wrong_command(error: &clap::Error) -> Option<Error> {
    let word =
        context(error, ContextKind::InvalidSubcommand).filter(|_| error.kind() == ErrorKind::InvalidSubcommand)?;
    let program = program();
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    let next = if is_sweep(word) {
        format!("apexmap run {word}")
    } else if let Some(advice) = instead_of(word) {
        advice
    } else if let Some(other) = nearest_name(word, commands.map(clap::Command::get_name).collect::<Vec<_>>()) {
        format!("did you mean apexmap {other}?")
    } else {
        "`apexmap --help` lists the commands".into()
    };
    Some(Error::input(format!("there is no command \"{word}\""), next))
}

fn wrong_flag(error: &clap::Error) -> Option<Error> {
    let flag = context(error, ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument)?;
    Some(Error::input(format!("there is no flag {flag} any more"), instead_of(flag)?))
}

fn wrong_value(error: &clap::Error) -> Option<Error> {
    let (flag, value) = (context(error, ContextKind::InvalidArg)?, context(error, ContextKind::InvalidValue)?);
    let Some(ContextValue::Strings(accepted)) = error.get(ContextKind::ValidValue) else { return None };
    if error.kind() != ErrorKind::InvalidValue || accepted.is_empty() {
        return None;
    }
    let flag = flag.split(" <").next().unwrap_or(flag);
    let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
    let help = instead_of(value).unwrap_or_else(|| suggest(value, &accepted));
    Some(Error::input(format!("{flag} cannot be \"{value}\""), help))
}

/// Clap's label of advice becomes `help:`.
fn print_usage(error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        let printed = error.print().or_else(|cause| match cause.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Error::environment(format!("cannot write to standard output: {cause}"), "check where it goes")),
        });
        return exit_code(printed);
    }
    let coloured_text = supports_colours(&std::io::stderr()).then(render_coloured).flatten();
    let fits = |text: &String| text.lines().all(|line| line.len() <= LONGEST_LINE);
    let text = coloured_text.filter(fits).unwrap_or_else(|| cut_lines(&to_printable(&error.render().to_string())));
    note_raw(&format!("{}\n", text.replace("tip:", "help:").trim_end()));
    2
}

/// In bytes. An error repeats arguments, which may be long.
const LONGEST_LINE: usize = 500;

fn cut_lines(text: &str) -> String {
    let line = |line: &str| match line.char_indices().map(|(offset, _)| offset).find(|&offset| offset >= LONGEST_LINE) {
        Some(end) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Parses again with unprintable characters removed from the arguments.
fn render_coloured() -> Option<String> {
    let arguments = std::env::args_os().map(|argument| to_printable(&argument.to_string_lossy()).into_owned());
    let error = Cli::try_parse_from(arguments).err()?;
    Some(error.render().ansi().to_string())
}
