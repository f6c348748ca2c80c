//! Writes an exported launch as a script for any POSIX shell. All texts are quoted, so none of them runs as a command.

use crate::batch::script::quote;
use apexmap_run::launch::CommandLine;
use apexmap_run::sweep::environment;

/// Markers for paths that are known only on the other machine. No text of a sweep contains these characters.
pub const WORKER: &str = "\u{1}worker\u{1}";
pub const JOB: &str = "\u{1}job\u{1}";

/// Prefix of the lines of an output that record environment variables of the script.
pub const VARIABLE_PREFIX: &str = "apexmap environment: ";

/// The contents of a script.
pub struct Script<'a> {
    /// The launch's name, and the stem of its files.
    pub name: &'a str,
    /// A comment for readers.
    pub description: &'a str,
    /// The command, with the markers [`WORKER`] and [`JOB`].
    pub command: &'a CommandLine,
    /// Possible launcher programs. The first one that exists replaces the first word of the command.
    pub programs: &'a [&'a str],
    /// The worker's path on the other machine.
    pub worker: &'a str,
}

impl Script<'_> {
    /// Returns the script's text. The script runs the launch in its own folder, and refuses to overwrite earlier output.
    pub fn text(&self) -> String {
        let name = self.name;
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            format!("# {}, written by apexmap {}.", self.description, env!("CARGO_PKG_VERSION")),
            "# Set APEXMAP_WORKER to use another worker than the one below. Earlier output is never overwritten."
                .into(),
            "set -C".into(),
            "cd \"$(dirname \"$0\")\" || exit 3".into(),
            "folder=$(pwd) || exit 3".into(),
            format!("worker={}", quote(self.worker)),
            "[ -z \"${APEXMAP_WORKER-}\" ] || worker=$APEXMAP_WORKER".into(),
        ];
        if let [first, _, ..] = self.programs {
            let programs: Vec<String> = self.programs.iter().map(|program| quote(program)).collect();
            lines.extend([
                format!("launcher={}", quote(first)),
                format!("for program in {}; do", programs.join(" ")),
                "    command -v \"$program\" >/dev/null && launcher=$program && break".into(),
                "done".into(),
            ]);
        }
        for (variable, value) in &self.command.env {
            lines.push(format!("export {variable}={}", quote(value)));
        }
        let mut words: Vec<String> = self.command.argv.iter().map(|text| self.quote_word(text)).collect();
        if let ([_, _, ..], Some(first)) = (self.programs, words.first_mut()) {
            *first = "\"$launcher\"".into();
        }
        lines.extend([
            "# The result records the variables that change how messages are sent.".into(),
            format!("env | grep -E '{}' | sed 's/^/{VARIABLE_PREFIX}/' >{name}.out || exit 3", environment::pattern()),
            // `>|` replaces the messages of an earlier try in spite of `set -C`.
            format!("exec {} \\\n    </dev/null >>{name}.out 2>|{name}.err", words.join(" ")),
        ]);
        lines.join("\n") + "\n"
    }

    /// Returns the command for readers: the script's command with the worker's path filled in.
    pub fn shown_command(&self) -> String {
        let quote_plain =
            |word: &str| quote(&word.replace(WORKER, self.worker).replace(JOB, &format!("{}.job", self.name)));
        let words: Vec<String> = self.command.argv.iter().map(|text| quote_plain(text)).collect();
        format!("{} >{}.out", words.join(" "), self.name)
    }

    /// Quotes a word for the script, with the script's variables for the worker and the job.
    fn quote_word(&self, word: &str) -> String {
        let job = format!("\"$folder\"/{}.job", quote(self.name));
        let quote_plain = |text: &str| if text.is_empty() { String::new() } else { quote(text) };
        let with_job = |text: &str| text.split(JOB).map(quote_plain).collect::<Vec<_>>().join(&job);
        match word {
            "" => quote(""),
            _ => word.split(WORKER).map(with_job).collect::<Vec<_>>().join("\"$worker\""),
        }
    }
}
