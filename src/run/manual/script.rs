//! An exported launch as a script for any POSIX shell. All texts are quoted: none is run as a command.

use crate::batch::script::quoted;
use crate::launch::CommandLine;
use crate::sweep::environment;

/// Stand for what is only known on the other machine; no text of a sweep has these characters.
pub const WORKER: &str = "\u{1}worker\u{1}";
pub const JOB: &str = "\u{1}job\u{1}";

/// Lines of an output that begin so have a variable of the environment in which its script was started.
pub const VARIABLE: &str = "apexmap environment: ";

/// What a script is made of.
pub struct Script<'a> {
    /// Of the launch; its files are called so.
    pub name: &'a str,
    /// For readers: plain words.
    pub about: &'a str,
    /// With [`WORKER`] and [`JOB`] in their places.
    pub command: &'a CommandLine,
    /// Programs of which the first that is there starts the ranks: the first of the command is any of them.
    pub programs: &'a [&'a str],
    /// The worker, as the other machine knows it.
    pub worker: &'a str,
}

impl Script<'_> {
    /// The script: it runs the launch in its own folder, and refuses to write over what the launch has written.
    pub fn text(&self) -> String {
        let name = self.name;
        let mut lines = vec![
            "#!/bin/sh".to_owned(),
            format!("# {}, written by apexmap {}.", self.about, env!("CARGO_PKG_VERSION")),
            "# APEXMAP_WORKER names another worker than the one below. What was measured is never written over.".into(),
            "set -C".into(),
            "cd \"$(dirname \"$0\")\" || exit 3".into(),
            "folder=$(pwd) || exit 3".into(),
            format!("worker={}", quoted(self.worker)),
            "[ -z \"${APEXMAP_WORKER-}\" ] || worker=$APEXMAP_WORKER".into(),
        ];
        if let [first, _, ..] = self.programs {
            let programs: Vec<String> = self.programs.iter().map(|program| quoted(program)).collect();
            lines.extend([
                format!("launcher={}", quoted(first)),
                format!("for program in {}; do", programs.join(" ")),
                "    command -v \"$program\" >/dev/null && launcher=$program && break".into(),
                "done".into(),
            ]);
        }
        for (variable, value) in &self.command.env {
            lines.push(format!("export {variable}={}", quoted(value)));
        }
        let mut words: Vec<String> = self.command.argv.iter().map(|text| self.word(text)).collect();
        if let ([_, _, ..], Some(first)) = (self.programs, words.first_mut()) {
            *first = "\"$launcher\"".into();
        }
        lines.extend([
            "# Variables that change how messages are sent belong to the result.".into(),
            format!("env | grep -E '{}' | sed 's/^/{VARIABLE}/' >{name}.out || exit 3", environment::pattern()),
            format!("exec {} \\\n    </dev/null >>{name}.out 2>|{name}.err", words.join(" ")),
        ]);
        lines.join("\n") + "\n"
    }

    /// The command for readers, as it stands in the script but for the worker's path.
    pub fn shown(&self) -> String {
        let plain = |word: &str| quoted(&word.replace(WORKER, self.worker).replace(JOB, &format!("{}.job", self.name)));
        let words: Vec<String> = self.command.argv.iter().map(|text| plain(text)).collect();
        format!("{} >{}.out", words.join(" "), self.name)
    }

    /// For the script: quoted, with the worker and the job as the script knows them.
    fn word(&self, word: &str) -> String {
        let job = format!("\"$folder\"/{}.job", quoted(self.name));
        let plain = |text: &str| if text.is_empty() { String::new() } else { quoted(text) };
        let with_job = |text: &str| text.split(JOB).map(plain).collect::<Vec<_>>().join(&job);
        match word {
            "" => quoted(""),
            _ => word.split(WORKER).map(with_job).collect::<Vec<_>>().join("\"$worker\""),
        }
    }
}
