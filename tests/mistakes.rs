//! Mistakes that new users make: each answer has the text to type, no mistake is accepted, and each answer can be followed.

use crate::common::{Scratch, output};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// Words as a shell divides them, and a part of the answer. They run in a folder with results, a card, a sweep and a program.
const MISTAKES: [(&str, &str); 97] = [
    // Flags of other programs.
    ("run --threads 4 -o x", "apexmap run --threads 4 --out x"),
    ("run -v", "apexmap status RESULT"),
    ("run --verbose", "apexmap status RESULT"),
    ("run --cores 2", "help: apexmap run --ranks 2"),
    ("run --duration 20s", "help: apexmap run --budget 20s"),
    ("run --time=20s", "help: apexmap run --budget 20s"),
    ("run --fast quickstart", "help: apexmap run --budget 20s quickstart"),
    ("run --quiet", "add 2> /dev/null"),
    ("run --device gpu1", "`apexmap devices` lists"),
    ("run --output x", "help: apexmap run --out x"),
    ("run memory-sizes --outdir x", "help: apexmap run memory-sizes --out x"),
    ("run --force", "help: apexmap run --replace"),
    ("run --iterations 5", "help: apexmap run --launches 5"),
    ("run --size 1GiB", "apexmap run my.toml"),
    ("run -np 4", "help: apexmap run --ranks 4"),
    ("run -n 4", "help: apexmap run --ranks 4"),
    ("run --resume", "run the same command again"),
    ("run --json", "apexmap query RESULT --format json"),
    ("ab ./spmv true --ignore-failure", "help: apexmap ab ./spmv true --success 0,1"),
    ("ab -i ./spmv true", "help: apexmap ab --success 0,1 ./spmv true"),
    ("ab ./spmv true --min-runs 20", "help: apexmap ab ./spmv true --runs 20"),
    ("ab ./spmv true -r 20", "help: apexmap ab ./spmv true --runs 20"),
    ("ab ./spmv true -w 3", "help: apexmap ab ./spmv true --warmup 3"),
    ("run --lunches 5", "help: apexmap run --launches 5"),
    ("run --detach", "--submit, which submits"),
    ("query results/quickstart --filter 'P == 1'", "apexmap query results/quickstart --where 'P == 1'"),
    ("query results/quickstart --csv", "apexmap query results/quickstart --format csv"),
    ("query results/quickstart --group alpha", "apexmap query results/quickstart --group-by alpha"),
    ("query results/quickstart --column seconds", "apexmap query results/quickstart --select seconds"),
    ("query results/quickstart --ranks 2", "apexmap query results/quickstart --where 'P == 4'"),
    ("status --watch", "`apexmap show RESULT` follows a run"),
    ("report results/quickstart --pdf", "xdg-open results/quickstart/report.html"),
    ("predict random_access.hypercube --card red-storm", "apexmap predict random_access.hypercube --machine red-storm"),
    ("compare results/quickstart results/xeon --threshold 5%", "results/xeon --fail-if slower=5%"),
    ("compare results/quickstart --baseline results/xeon", "apexmap compare BASE NEW"),
    ("devices --gpu", "`apexmap devices` lists the devices"),
    ("-v", "help: apexmap --version"),
    // Values.
    ("run --budget 14 s", "help: apexmap run --budget 14s"),
    ("run memory-sizes --budget 2 min", "help: apexmap run memory-sizes --budget 2min"),
    ("run --budget -5s", "help: apexmap run --budget 5s"),
    ("run --budget 0s", "for example: apexmap run --budget 20s"),
    ("run --budget 1,5s", "write a time, for example 20s"),
    ("run --budget", "for example: apexmap run --budget 20s"),
    ("run --launches 0", "for example: --launches 2"),
    ("run --launches many", "for example: --launches 2"),
    ("run --ranks four", "--ranks four: "),
    ("run --ranks 0", "--ranks 0: "),
    ("run memory-sizes --ranks 4", "such as stream"),
    ("run --nodes 2", "--ranks-per-node 4"),
    ("help nosuch", "`apexmap --help` lists"),
    ("run protocol --simulate", "a published machine such as red-storm"),
    ("run memory-sizes --submit slurm", "help: apexmap run memory-sizes --submit=slurm"),
    ("run --command ./spmv {n} --axis n=1,2", "help: apexmap run --command './spmv {n}' --axis n=1,2"),
    ("run --command './spmv {n}' --axis n 1,2", "--axis n=1,2"),
    ("predict random_access.hypercube --machine red-storm --set P 4", "--set P=4"),
    ("export results/quickstart --format xlsx", "--format csv"),
    // Order and quotes.
    ("query P==1 results/quickstart", "help: apexmap query --where 'P==1' results/quickstart"),
    ("query results/quickstart --where P == 1", "help: apexmap query results/quickstart --where 'P == 1'"),
    ("query --where P == 1 results/quickstart", "help: apexmap query --where 'P == 1' results/quickstart"),
    ("query results/quickstart --group-by alpha L", "help: apexmap query results/quickstart --group-by alpha,L"),
    ("plot contour results/quickstart", "help: apexmap plot results/quickstart contour"),
    ("plot results/quickstart countour", "did you mean \"contour\"?"),
    ("locate ./spmv 100", "help: apexmap locate -- ./spmv 100"),
    (
        "locate --map results/quickstart -- ./spmv",
        "for example: apexmap locate --map results/quickstart --out page -- ./app",
    ),
    ("fit results/quickstart surface", "--model"),
    ("predict red-storm random_access.hypercube", "for example: apexmap predict "),
    ("run memory-sizes stream", "help: apexmap run memory-sizes && apexmap run stream"),
    (
        "report results/quickstart results/xeon",
        "help: apexmap report results/quickstart && apexmap report results/xeon",
    ),
    ("plot results/quickstart contour extra", "for example: apexmap plot results/quickstart"),
    ("site nosuch", "for example: apexmap site"),
    // Names.
    ("measure --budget 20s", "help: apexmap run --budget 20s"),
    ("benchmark", "help: apexmap run"),
    ("open", "xdg-open results/quickstart/report.html"),
    ("view results/quickstart", "help: apexmap show results/quickstart"),
    ("diff results/quickstart results/xeon", "help: apexmap compare results/quickstart results/xeon"),
    ("list", "help: apexmap sweeps"),
    ("qurey results/quickstart", "did you mean apexmap query?"),
    ("stream --budget 5s", "help: apexmap run stream --budget 5s"),
    ("run quikstart", "did you mean \"quickstart\"?"),
    ("run s", "`apexmap sweeps` lists the ready sweeps"),
    ("run l1", "\"memory-sizes\" is about it"),
    ("run results/quickstart", "apexmap run results/quickstart/sweep.toml --out results/quickstart"),
    ("show results/quikstart", "such as results/quickstart"),
    ("codes mine.toml", "apexmap codes results/quickstart --codes mine.toml"),
    ("query my.toml", "apexmap run my.toml"),
    ("compare results/quickstart red-strom", "did you mean \"red-storm\"?"),
    ("run quickstart --simulate red-storm", "Red Storm can run "),
    // Missing parts.
    ("query", "for example: apexmap query results/quickstart"),
    ("fit", "for example: apexmap fit results/"),
    ("completions", "for example: apexmap completions bash"),
    // Conditions.
    ("query results/quickstart --where 'P = 1'", "equality is written \"==\""),
    ("query results/quickstart --where 'pages == 4KiB'", "pages is one of \"huge\", \"base\""),
    ("query results/quickstart --where 'alfa == 1'", "did you mean \"alpha\"?"),
    // Outputs that cannot be written.
    ("plot results/quickstart contour --out map.jpg", "--out map.svg"),
    ("report results/quickstart --out r.pdf", "--out r.html"),
    ("report results/quickstart --out results", "name a file in it"),
    ("run --out card.toml", "--out results/mine"),
];

/// A folder with two results, a card, a sweep, a file of codes and a program.
fn folder_of_a_user() -> Scratch {
    let scratch = Scratch::new();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    for (from, to) in [("quickstart-epyc-2", "quickstart"), ("quickstart-xeon-16", "xeon")] {
        let folder = scratch.join("results").join(to);
        std::fs::create_dir_all(&folder).expect("a folder");
        for file in std::fs::read_dir(recorded.join(from)).expect("a result").flatten() {
            std::fs::copy(file.path(), folder.join(file.file_name())).expect("a copy");
        }
    }
    std::fs::copy(recorded.join("xeon-16-card.toml"), scratch.join("card.toml")).expect("a copy");
    std::fs::copy(recorded.join("../../sweeps/memory-sizes.toml"), scratch.join("my.toml")).expect("a copy");
    std::fs::write(scratch.join("mine.toml"), "[[code]]\nname = \"mine\"\n").expect("written");
    std::fs::write(scratch.join("spmv"), "#!/bin/sh\n").expect("written");
    scratch
}

fn run_in(folder: &Path, words: &[String]) -> (Option<i32>, String, String) {
    let output = output(Command::new(env!("CARGO_BIN_EXE_apexmap")).args(words).current_dir(folder));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Calls the function for each item on four threads, and returns what it finds wrong.
fn check_in_parallel<T: Sync>(items: &[T], check: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (next, wrong) = (Mutex::new(items.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let Some(item) = next.lock().expect("a lock").next() else { return };
            if let Some(message) = check(item) {
                wrong.lock().expect("a lock").push(message);
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(work)));
    wrong.into_inner().expect("a lock")
}

fn words(text: &str) -> Vec<String> {
    shell_words::split(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the commands of this program in a help: in backticks, or from its name to the end of a part.
fn commands_in(help: &str) -> Vec<String> {
    let marked = help.split('`').skip(1).step_by(2);
    let plain = help.split('`').step_by(2).flat_map(|text| text.split("; "));
    let plain = plain.filter_map(|text| Some(&text[text.find("apexmap ")?..]));
    let commands =
        marked.chain(plain).flat_map(|text| text.split([';', '|', '>']).next()).flat_map(|text| text.split("&&"));
    let commands = commands.flat_map(|text| text.split(", ").take(1)).map(|text| text.trim().to_owned());
    commands.filter(|text| text.starts_with("apexmap ")).collect()
}

#[test]
fn each_mistake_is_refused_with_the_text_to_type_and_its_commands_are_valid() {
    let scratch = folder_of_a_user();
    let before = std::fs::read_dir(&*scratch).expect("a folder").count();
    let wrong = check_in_parallel(&MISTAKES, |(mistake, expected)| {
        let (code, stdout, message) = run_in(&scratch, &words(mistake));
        // Texts with a place are wrapped.
        let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let help = flat.split_once("help: ").map(|(_, help)| help).unwrap_or_default();
        let commands = commands_in(help);
        let is_valid = |command: &String| {
            let parsed = apexmap::command().try_get_matches_from(words(command));
            parsed.is_ok() || parsed.is_err_and(|other| !other.use_stderr())
        };
        let invalid: Vec<&String> =
            commands.iter().filter(|command| !command.ends_with('?') && !is_valid(command)).collect();
        let is_refused = code == Some(2) && stdout.is_empty() && flat.contains(expected) && !help.is_empty();
        (!is_refused || !invalid.is_empty()).then(|| format!("apexmap {mistake}\n[{code:?}] {message}{invalid:?}\n"))
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
    assert_eq!(std::fs::read_dir(&*scratch).expect("a folder").count(), before, "a refused command writes nothing");
}

/// Commands whose answer names a command that reads the results of the folder, which then succeeds.
const FOLLOWED: [&str; 8] = [
    "query P==1 results/quickstart",
    "query results/quickstart --where P == 1",
    "query results/quickstart --group-by alpha L",
    "query results/quickstart --csv",
    "plot contour results/quickstart --where 'kernel == \"apex_map.sequential\" && pages == \"huge\"' --out c.svg",
    "view results/quickstart",
    "run my.toml --dry --rank 1",
    "list",
];

#[test]
fn the_command_of_an_answer_runs() {
    let scratch = folder_of_a_user();
    let wrong = check_in_parallel(&FOLLOWED, |mistake| {
        let mut line = words(mistake);
        // An answer may lead to another one, but not in a circle.
        let mut seen = BTreeSet::from([line.clone()]);
        loop {
            let (code, _, message) = run_in(&scratch, &line);
            if code == Some(0) {
                return (seen.len() == 1).then(|| format!("{mistake}: accepted"));
            }
            let next = message.split_once("help: apexmap ").and_then(|(_, help)| help.lines().next()).map(words);
            match next.filter(|next| seen.insert(next.clone())) {
                Some(next) => line = next,
                None => return Some(format!("{mistake}: {line:?}: {message}")),
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the commands of this program between backticks in a source.
fn marked_commands(source: &str) -> Vec<String> {
    let joined = source.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let starts = joined.match_indices("`apexmap ").map(|(start, mark)| &joined[start + mark.len()..]);
    starts.filter_map(|text| Some(text.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn the_commands_and_flags_that_messages_and_comments_name_exist() {
    let program = apexmap::command();
    let (mut checked, mut wrong) = (0, Vec::new());
    for (file, source) in crate::architecture::sources("src") {
        for text in marked_commands(&source) {
            let mut words = text.split(' ');
            let name = words.next().unwrap_or_default();
            if name == "help" || !name.chars().all(|letter| letter.is_ascii_lowercase()) {
                continue;
            }
            checked += 1;
            let command = program.find_subcommand(name);
            let has = |flag: &str| {
                let is_same =
                    |other: &clap::Arg| other.get_long_and_visible_aliases().is_some_and(|names| names.contains(&flag));
                flag.is_empty() || flag == "help" || command.is_some_and(|command| command.get_arguments().any(is_same))
            };
            let mut flags =
                words.filter_map(|word| word.strip_prefix("--")).map(|flag| flag.split('=').next().unwrap_or(flag));
            if command.is_none() || flags.any(|flag| !has(flag)) {
                wrong.push(format!("{}: {text}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty() && checked > 100, "{checked}:\n{}", wrong.join("\n"));
}

#[test]
fn every_example_can_be_pasted_from_help_at_60_80_and_120_columns() {
    let scratch = Scratch::new();
    let program = apexmap::command();
    let names: Vec<&str> =
        program.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    // A shell passes the words to this function, and redirects nothing.
    let script = "apexmap() { printf '%s\\036' \"$@\"; printf '\\035'; }\nman() { cat; }\njq() { cat; }\nset -eu\n";
    let paste = |name: &str, columns: &str| -> Vec<Vec<String>> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apexmap"));
        let help = output(command.args([name, "--help"]).env("COLUMNS", columns));
        let help = String::from_utf8(help.stdout).expect("text");
        let width: usize = columns.parse().expect("a width");
        let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("{name} has no examples"));
        let examples: Vec<&str> = examples.lines().skip(1).take_while(|line| line.starts_with("  ")).collect();
        let longest_word = |line: &&str| line.split(' ').map(str::len).max().unwrap_or_default() + 8;
        assert!(
            examples.iter().all(|line| line.chars().count() <= width.max(longest_word(line))),
            "{name}: {examples:#?}"
        );
        let text = examples.join("\n").replace(" > ", " GREATER ");
        let shell = output(Command::new("sh").current_dir(&*scratch).arg("-c").arg(format!("{script}{text}\n")));
        assert!(shell.status.success(), "{name}: {text}\n{}", String::from_utf8_lossy(&shell.stderr));
        let printed = String::from_utf8(shell.stdout).expect("text");
        printed
            .split_terminator('\u{1d}')
            .map(|line| line.split_terminator('\u{1e}').map(str::to_owned).collect())
            .collect()
    };
    let wrong = check_in_parallel(&names, |name| {
        let whole = paste(name, "100");
        let is_command = |words: &Vec<String>| {
            let end = words.iter().position(|word| word == "GREATER").unwrap_or(words.len());
            let line = std::iter::once("apexmap").chain(words[..end].iter().map(String::as_str));
            program.clone().try_get_matches_from(line).is_ok()
        };
        let others = ["60", "80", "120"].iter().find(|columns| paste(name, columns) != whole);
        let invalid = whole.iter().find(|words| !is_command(words));
        (whole.is_empty() || others.is_some() || invalid.is_some())
            .then(|| format!("{name}: {others:?} {invalid:?} {whole:#?}"))
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
