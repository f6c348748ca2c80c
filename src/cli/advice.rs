//! Answers to command lines that clap refuses: what is wrong, and the command to type instead.

use super::program;
use crate::commands::is_sweep;
use apexmap_base::error::Error;
use apexmap_base::name_lookup::{nearest_name, suggest};
use apexmap_base::shell::quote_words;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::LazyLock;

/// Meanings of names that do not exist.
#[derive(Deserialize)]
struct Wishes {
    units: Vec<String>,
    instead: BTreeMap<String, String>,
    commands: BTreeMap<String, String>,
    flag_of_word: BTreeMap<String, String>,
    separators: BTreeMap<String, String>,
    flag: Vec<FlagWish>,
}

#[derive(Deserialize)]
struct FlagWish {
    names: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    has_no_value: bool,
    otherwise: String,
}

static WISHES: LazyLock<Wishes> = LazyLock::new(|| toml::from_str(include_str!("wishes.toml")).expect("a table"));

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(" and ")),
        _ => None,
    }
}

/// Answers an error of clap about these words.
pub fn answer(error: &clap::Error, words: &[String]) -> Error {
    let name = context(error, ContextKind::InvalidArg).unwrap_or_default();
    let value = context(error, ContextKind::InvalidValue).unwrap_or_default();
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    if let Some(word) = context(error, ContextKind::InvalidSubcommand) {
        return wrong_command(&word, words);
    }
    let Some(line) = Line::new(words) else {
        let help = WISHES.instead.get(&name).map_or("`apexmap --help` lists the commands", |text| text);
        return Error::input(text, help);
    };
    if let Some((start, end)) = line.find_divided() {
        return line.join_value(start, end);
    }
    match error.kind() {
        ErrorKind::UnknownArgument if name.starts_with('-') => line.unknown_flag(&name),
        ErrorKind::UnknownArgument => line.extra_word(&name),
        ErrorKind::InvalidValue => line.wrong_value(&name, &value, error),
        ErrorKind::ValueValidation => {
            let reason = error.source().map_or_else(|| text.to_owned(), ToString::to_string);
            line.refused_value(&name, &value, &reason)
        }
        ErrorKind::MissingRequiredArgument => {
            Error::input(format!("{} needs {name}", line.name), line.example(&format!("{name} {}", words.join(" "))))
        }
        _ => Error::input(text, "leave out one of the two"),
    }
}

/// A value that a shell has divided so that clap accepts the words: in `--budget 14 s`, `s` would be a sweep.
pub fn divided_value(words: &[String]) -> Option<Error> {
    let line = Line::new(words)?;
    let is_divided = |part: &[String]| {
        let [flag, number, unit] = part else { return false };
        let takes_unit = WISHES.separators.get(flag).is_some_and(String::is_empty);
        takes_unit && number.parse::<f64>().is_ok() && WISHES.units.contains(unit)
    };
    let start = words.windows(3).position(is_divided)?;
    Some(line.join_value(start, start + 3))
}

fn wrong_command(word: &str, words: &[String]) -> Error {
    let program = program();
    let names = program.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    let rest = words.iter().skip_while(|other| *other != word).skip(1).map(String::as_str);
    let next = if is_sweep(word) {
        quote_words(["apexmap", "run", word].into_iter().chain(rest))
    } else if let Some(advice) = WISHES.instead.get(word) {
        advice.clone()
    } else if let Some(other) = WISHES.commands.get(word) {
        quote_words(["apexmap", other].into_iter().chain(rest))
    } else if let Some(other) = nearest_name(word, names.collect::<Vec<_>>()) {
        format!("did you mean apexmap {other}?")
    } else {
        "`apexmap --help` lists the commands".into()
    };
    Error::input(format!("there is no command \"{word}\""), next)
}

struct Line<'a> {
    words: &'a [String],
    command: Command,
    name: String,
}

impl<'a> Line<'a> {
    /// `None` without a command that exists.
    fn new(words: &'a [String]) -> Option<Self> {
        let mut program = program();
        program.build();
        let command = program.find_subcommand(words.get(1)?)?.clone();
        Some(Self { words, name: format!("apexmap {}", command.get_name()), command })
    }

    fn flag(&self, word: &str) -> Option<&Arg> {
        let long = word.strip_prefix("--")?;
        let aliases = |flag: &Arg| flag.get_all_aliases().is_some_and(|aliases| aliases.contains(&long));
        self.command.get_arguments().find(|flag| flag.get_long() == Some(long) || aliases(flag))
    }

    fn is_value(&self, place: usize) -> bool {
        let flag = self.flag(&self.words[place - 1]);
        flag.is_some_and(|flag| flag.get_action().takes_values() && !flag.is_require_equals_set())
    }

    fn positionals(&self) -> Vec<usize> {
        let is_flag = |place: usize| self.words[place].starts_with('-');
        (2..self.words.len()).filter(|place| !is_flag(*place) && !self.is_value(*place)).collect()
    }

    /// The command with this text instead of the words from `start` to `end`.
    fn retype(&self, (start, end): (usize, usize), text: &str) -> String {
        let parts = [quote_words(&self.words[1..start]), text.to_owned(), quote_words(&self.words[end..])];
        format!("apexmap {}", parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" "))
    }

    fn describe_flags(&self) -> String {
        format!("`{} --help` lists its flags", self.name)
    }

    fn unknown_flag(&self, flag: &str) -> Error {
        let place = self.words.iter().rposition(|word| word.starts_with(flag)).unwrap_or(1);
        let (word, before) = (&self.words[place], &self.words[place - 1]);
        if flag[1..].starts_with(|letter: char| letter.is_ascii_digit()) && before.starts_with("--") {
            let help = self.retype((place, place + 1), &word[1..]);
            return Error::input(format!("{before} cannot be negative: {word}"), help);
        }
        let similar = || {
            let flags = self.command.get_arguments().filter(|flag| !flag.is_hide_set()).filter_map(Arg::get_long);
            let other = nearest_name(flag.trim_start_matches('-'), flags.collect::<Vec<_>>())?;
            Some(self.retype((place, place + 1), &word.replacen(flag, &format!("--{other}"), 1)))
        };
        let next = self.wish(flag, place).or_else(|| WISHES.instead.get(flag).cloned()).or_else(similar);
        let next = next.unwrap_or_else(|| self.describe_flags());
        Error::input(format!("{} has no flag {flag}", self.name), next)
    }

    /// The flag for one of other programs, or advice.
    fn wish(&self, flag: &str, place: usize) -> Option<String> {
        let name = flag.trim_start_matches('-');
        let wish = WISHES.flag.iter().find(|wish| wish.names.iter().any(|other| other == name))?;
        let replacements = wish.flags.iter().map(|text| text.split_once(' ').unwrap_or((text, "")));
        let Some((target, example)) = replacements.into_iter().find(|(target, _)| self.flag(target).is_some()) else {
            return Some(wish.otherwise.clone());
        };
        let joined = self.words[place].split_once('=').map(|(_, value)| value);
        let takes_next = joined.is_none() && !example.is_empty() && target != "--format" && !wish.has_no_value;
        let next = self.words.get(place + 1).filter(|word| takes_next && !word.starts_with('-') && !is_sweep(word));
        // The user's value has another form than these examples.
        let own = joined.or(next.map(String::as_str)).filter(|_| !example.contains(['\'', '=']));
        let value = own.map_or_else(|| example.to_owned(), |value| quote_words([value]));
        let end = place + 1 + usize::from(next.is_some());
        Some(self.retype((place, end), format!("{target} {value}").trim_end()))
    }

    fn extra_word(&self, word: &str) -> Error {
        let positionals = self.positionals();
        let text = |place: usize| self.words[place].as_str();
        let is_condition = |place: &usize| text(*place).contains(['=', '<', '>']);
        if let (Some(place), true) = (positionals.iter().copied().find(is_condition), self.flag("--where").is_some()) {
            let help = self.retype((place, place + 1), &format!("--where '{}'", text(place)));
            return Error::input(format!("a condition needs --where: {}", text(place)), help);
        }
        if self.command.get_positionals().any(Arg::is_last_set) && !positionals.is_empty() {
            let help = self.retype((positionals[0], positionals[0]), "--");
            return Error::input(format!("a program needs -- before it: {word}"), help);
        }
        if let Some(flag) = WISHES.flag_of_word.get(self.command.get_name()) {
            return Error::input(format!("{word} needs a flag, such as {flag}"), self.example(flag));
        }
        if positionals.len() < 2 || self.command.get_positionals().count() > 1 {
            return Error::input(format!("{} takes no further {word}", self.name), self.example(""));
        }
        let commands = positionals.iter().map(|place| format!("{} {}", self.name, quote_words([text(*place)])));
        let help = commands.collect::<Vec<_>>().join(" && ");
        Error::input(format!("{} takes one argument, not {}", self.name, positionals.len()), help)
    }

    /// A flag and the end of its value if a shell has divided the value. Words that the command requires are no part of it.
    fn find_divided(&self) -> Option<(usize, usize)> {
        let positionals = self.positionals();
        let required = self.command.get_positionals().filter(|word| word.is_required_set()).count();
        (2..self.words.len()).rev().filter(|place| WISHES.separators.contains_key(&self.words[*place])).find_map(
            |start| {
                let next_flag = (start + 1..self.words.len()).find(|place| self.words[*place].starts_with('-'));
                let end = next_flag.unwrap_or(self.words.len());
                let elsewhere = positionals.iter().filter(|place| !(start..end).contains(*place)).count();
                let end = end - required.saturating_sub(elsewhere).min(end - start);
                (end > start + 2 - usize::from(self.words[start] == "--submit")).then_some((start, end))
            },
        )
    }

    fn join_value(&self, start: usize, end: usize) -> Error {
        let (flag, values) = (&self.words[start], &self.words[start + 1..end]);
        let separator = WISHES.separators.get(flag).filter(|text| *text != "=" || !values[0].contains('='));
        let value = quote_words([values.join(separator.map_or(",", String::as_str))]);
        let between = if flag == "--submit" { "=" } else { " " };
        let help = self.retype((start, end), &format!("{flag}{between}{value}"));
        Error::input(format!("the value of {flag} is one word: {}", values.join(" ")), help)
    }

    fn wrong_value(&self, flag: &str, value: &str, error: &clap::Error) -> Error {
        let name = flag.split(' ').next().unwrap_or(flag);
        if value.is_empty() {
            return Error::input(format!("{name} has no value"), self.example(name));
        }
        let accepted = context(error, ContextKind::ValidValue).unwrap_or_default();
        let accepted: Vec<&str> = accepted.split(" and ").collect();
        let help = match self.positionals()[..] {
            [first, second] if accepted.contains(&self.words[first].as_str()) => {
                self.retype((first, second + 1), &quote_words([&self.words[second], &self.words[first]]))
            }
            _ => WISHES.instead.get(value).cloned().unwrap_or_else(|| suggest(value, &accepted)),
        };
        Error::input(format!("{name} cannot be \"{value}\""), help)
    }

    fn refused_value(&self, flag: &str, value: &str, reason: &str) -> Error {
        let name = flag.split(' ').next().unwrap_or(flag);
        let is_number = reason.contains("digit") || reason.contains("not in");
        let (reason, help) = match reason.split_once("; write ") {
            Some((reason, next)) => (reason, format!("write {next}")),
            None if is_number => ("it is a whole number from 1", format!("for example: {name} 2")),
            None => (reason, self.example(name)),
        };
        Error::input(format!("{name} cannot be \"{value}\": {reason}"), help)
    }

    /// The example of the help that has most of the flags in a text.
    fn example(&self, text: &str) -> String {
        let flags: Vec<&str> = text.split(' ').filter(|word| word.starts_with("--")).collect();
        let help = self.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let help = help.replace(" \\\n      ", " ").replace("Example: ", "  ");
        let lines = help.lines().filter_map(|line| line.trim_start().split("  ").next());
        let count = |line: &&str| line.split(' ').filter(|word| flags.contains(word)).count();
        let best = lines.filter(|line| line.starts_with(&self.name)).rev().max_by_key(count);
        match best.filter(|line| count(line) > 0 || flags.is_empty()) {
            Some(line) => format!("for example: {line}"),
            None => match flags.first().and_then(|flag| self.flag(flag)?.get_help()) {
                Some(help) => format!("{} is: {help}", flags[0]),
                None => self.describe_flags(),
            },
        }
    }
}
