//! The site file: settings of a cluster that its users share, such as its workers and its account rule.
//!
//! Up to three files count, the most specific first: the one that `APEXMAP_CONFIG` names, the user's, and the machine's. A key is
//! taken from the first file that has it, as in git and cargo. Flags come before the sweep, and the sweep before the site file.

mod file;

pub use file::{AccountRule, LimitRule, SiteFile};

use apexmap_base::error::{Error, Result};
use apexmap_base::toml_file::{self, TomlSource};
use apexmap_run::campaign::Setting;
use apexmap_run::sweep::submit_table::SubmitTable;
use file::{EXAMPLES, find_leaves, merge, parse};
use std::path::PathBuf;

pub const VARIABLE: &str = "APEXMAP_CONFIG";
const MACHINE_FILE: &str = "/etc/apexmap.toml";

/// The settings in force, and their origins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Site {
    pub file: SiteFile,
    pub settings: Vec<Setting>,
}

/// The possible site files, the most specific first, each with the words that name it.
pub fn candidates() -> Vec<(PathBuf, String)> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let named = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
    let named = named.map(|name| (PathBuf::from(name), format!("named by {VARIABLE}")));
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let own = folder.map(|folder| (folder.join("apexmap/site.toml"), "of this user".to_owned()));
    let machine = (PathBuf::from(MACHINE_FILE), "of this machine".to_owned());
    named.into_iter().chain(own).chain([machine]).collect()
}

/// Without its comments.
fn write_in_one_line(value: &str) -> String {
    let parsed = toml::from_str::<toml::Table>(&format!("value = {value}")).ok();
    parsed.and_then(|mut table| table.remove("value")).map_or_else(|| value.to_owned(), |value| value.to_string())
}

impl Site {
    /// Files that do not exist are skipped, except the one that `APEXMAP_CONFIG` names.
    pub fn load() -> Result<Self> {
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let is_relevant = |path: &PathBuf| path.exists() || named.as_ref() == Some(path);
        let paths: Vec<PathBuf> = candidates().into_iter().map(|(path, _)| path).filter(is_relevant).collect();
        Self::from_files(&paths)
    }

    /// The most specific first.
    pub fn from_files(paths: &[PathBuf]) -> Result<Self> {
        let (mut merged, mut settings) = (toml::Table::new(), Vec::<Setting>::new());
        for path in paths {
            let help = format!("check {VARIABLE} and the path; `apexmap site` lists the files");
            let path = std::path::absolute(path).map_err(|e| Error::file("find", path, e))?;
            let text = toml_file::read_text(&path, "site file", &help)?;
            let table = parse(&text, &path)?;
            let source = TomlSource { path: &path, text: &text, examples: EXAMPLES };
            for (key, span) in find_leaves(&text) {
                let line = source.line_number(span.start);
                if !settings.iter().any(|setting| setting.key == key) {
                    let value = write_in_one_line(text.get(span).unwrap_or_default());
                    settings.push(Setting { key, value, file: path.clone(), line });
                }
            }
            merge(&mut merged, table);
        }
        let file = merged.try_into().map_err(|error| Error::internal(format!("site file: {error}")))?;
        Ok(Self { file, settings })
    }

    /// Fills the options of jobs that flags and sweep leave open: from the partition's table, from `[submit]`, and the account's rule.
    pub fn fill_options(&self, table: SubmitTable) -> Result<SubmitTable> {
        let partition = table.partition.clone().or_else(|| self.file.submit.partition.clone());
        let of_partition = partition.and_then(|name| self.file.partitions.get(&name)).cloned().unwrap_or_default();
        let environment = SubmitTable { environment: self.file.environment.clone(), ..SubmitTable::default() };
        let mut table = table.fill_from(of_partition).fill_from(self.file.submit.clone()).fill_from(environment);
        let rule = &self.file.account;
        let from_variable = || std::env::var(rule.variable.as_ref()?).ok().filter(|account| !account.is_empty());
        table.account = table.account.or_else(from_variable);
        if table.account.is_none() && rule.required == Some(true) {
            let message = "jobs on this machine need an account, and none is given";
            let variable = rule.variable.as_ref().map_or(String::new(), |name| format!(", or set {name}"));
            return Err(Error::input(message, format!("name one with --account{variable}")));
        }
        Ok(table)
    }
}
