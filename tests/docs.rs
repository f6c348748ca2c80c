//! Checks documentation for users: commands and snippets run, links are valid, generated parts are up to date.

pub mod generated_parts;
mod questions;

use super::common::{Scratch, manifest, output, sample, table, write};
use super::synthetic_machines;
use apexmap_base::point::Point;
use apexmap_cluster::batch::check_submit;
use apexmap_cluster::site::Site;
use apexmap_measure::kernels;
use apexmap_results::disk::Folder;
use apexmap_run::sweep::{self, Machine};
use apexmap_theory::codes;
use apexmap_theory::machine::Card;
use std::collections::HashSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the pages: path from the repository's root, and text.
pub fn pages() -> Vec<(PathBuf, String)> {
    let files = |folder: &'static str| {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder").flatten();
        entries.map(move |entry| Path::new(folder).join(entry.file_name()))
    };
    let docs = files("docs").chain(files("docs/appendix"));
    let mut paths: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    paths.extend(["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from));
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(root().join(&path)).expect("a page");
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// Returns the blocks of a page that are fenced with this word.
fn blocks<'a>(text: &'a str, fence: &str) -> Vec<&'a str> {
    let begin = format!("```{fence}\n");
    text.split(&begin).skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block).collect()
}

/// Returns the text of a page without its fenced blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// Splits a shell line into words, up to a comment, a pipe, a redirection or a connective.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#' | '|' | '>' | ';' | '&') if word.is_none() => return words,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Returns the arguments of each line of a page that starts apexmap directly, through cargo or in an allocation.
fn commands(text: &str) -> Vec<Vec<String>> {
    let arguments = |line: Vec<String>| {
        let cargo = line.starts_with(&["cargo".to_owned(), "run".to_owned()]) && !line.iter().any(|w| w == "--example");
        let index = line.iter().position(|word| if cargo { word == "--" } else { word.ends_with("apexmap") });
        index.map(|index| line[index + 1..].to_vec()).filter(|arguments| !arguments.is_empty())
    };
    // In running text, commands are between backticks. The program's name alone, without arguments, is not a command.
    let prose = prose(text);
    let quoted = prose.split('`').skip(1).step_by(2).filter(|code| code.starts_with("apexmap ")).map(words);
    let quoted = quoted.filter(|line| line.len() > 2);
    blocks(text, "sh").into_iter().flat_map(str::lines).map(words).chain(quoted).filter_map(arguments).collect()
}

/// Adds the examples in the help of a command and of its subcommands: the command's name, and the arguments of each line.
fn add_help_examples(command: &clap::Command, examples: &mut Vec<(String, Vec<String>)>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let text = help.split_once("Examples:\n").map_or("", |(_, text)| text);
    // A line that ends with a backslash continues on the next one.
    let lines = text.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
    for line in lines.lines().map(str::trim).take_while(|line| !line.is_empty()) {
        // A description follows after several spaces.
        let line = line.split("  ").next().unwrap_or_default();
        let place = format!("apexmap {} --help", command.get_name());
        examples.extend(line.strip_prefix("apexmap").map(|arguments| (place, words(arguments))));
    }
    command.get_subcommands().for_each(|subcommand| add_help_examples(subcommand, examples));
}

/// Returns the commands of the guide and the examples of each `--help`, with their places.
fn documented_commands() -> Vec<(String, Vec<String>)> {
    let of_page = |(path, text): (PathBuf, String)| {
        let place = path.display().to_string();
        commands(&text).into_iter().map(move |arguments| (place.clone(), arguments)).collect::<Vec<_>>()
    };
    let mut documented: Vec<(String, Vec<String>)> = pages().into_iter().flat_map(of_page).collect();
    let in_pages = documented.len();
    add_help_examples(&apexmap::command(), &mut documented);
    let in_help = documented.len() - in_pages;
    assert!(in_pages > 40 && in_help > 60, "only {in_pages} commands and {in_help} examples were found");
    documented
}

#[test]
fn every_command_in_the_guide_and_in_help_is_valid() {
    let mut wrong = Vec::new();
    for (place, arguments) in documented_commands() {
        let line = std::iter::once("apexmap").chain(arguments.iter().map(String::as_str));
        if let Err(error) = apexmap::command().try_get_matches_from(line) {
            wrong.push(format!("{place}: apexmap {}\n{error}", arguments.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the quickstart with its own axes, but with little memory, few accesses and a fixed number of samples.
fn small_quickstart() -> String {
    let text = std::fs::read_to_string(root().join("sweeps/quickstart.toml")).expect("the quickstart");
    let replace_line = |line: &str| match line.split_once(" = ").map(|(key, _)| key) {
        Some("M") => "M = \"64 kwords per rank\"\nN = 2".to_owned(),
        Some("I") => "I = 64".to_owned(),
        Some("launches") => "launches = 2".to_owned(),
        Some("min") => "min = 3".to_owned(),
        Some("budget") => String::new(),
        _ => line.to_owned(),
    };
    let small = text.lines().map(replace_line).collect::<Vec<_>>().join("\n");
    for (kept, replaced) in [("[[together]]\nL = ", "beyond caches\""), ("pages = [\"huge\"", "110 s")] {
        assert!(small.contains(kept) && !small.lines().any(|line| !line.starts_with('#') && line.contains(replaced)));
    }
    small
}

/// Returns the program. With `hides_facts`, the machine shows neither sizes of caches, TLB and memory nor cores, NUMA nodes and clock,
/// like some virtual machines.
fn program(hides_facts: bool) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    if hides_facts {
        program.env("APEXMAP_TEST_HIDE_HOST_FACTS", "1");
    }
    program
}

/// Creates a folder with small results for the commands of the guide.
fn results(hides_facts: bool) -> Scratch {
    let scratch = Scratch::new();
    symlink(root().join("sweeps"), scratch.join("sweeps")).expect("a link");
    let sweep = |name: &str, text: &str| {
        let (file, out) = (scratch.join(format!("{name}.toml")), scratch.join("results").join(name));
        std::fs::write(&file, text).expect("written");
        let arguments = ["run", "--no-report", "--out"].map(Path::new).into_iter().chain([&*out, &*file]);
        let run = program(hides_facts).args(arguments).output().expect("the program");
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    };
    sweep("quickstart", &small_quickstart());
    let repeat = "[launch]\nlaunches = 2\n[repeat]\nmin = 6\n";
    let surface = "[fixed]\npages = \"base\"\nM = \"64 kwords per rank\"\nI = 64\nN = 2\n[axes]\nalpha = [0.001, 0.1, 1]\n\
                   L = [1, 64, 256, 4096]\n[[together]]\nkernel = [\"apex_map.sequential\", \"apex_map.two_sided\"]\n\
                   ranks = [1, 2]\n";
    for name in ["base", "new"] {
        sweep(name, &format!("{surface}{repeat}"));
    }
    let ranks = "[fixed]\nkernel = \"random_access.hypercube\"\nN_words = \"16 kwords per rank\"\n\
                 [axes]\nranks = [1, 2, 4]\n";
    sweep("random-access-ranks", &format!("{ranks}{repeat}"));
    let mountain = "[fixed]\nkernel = \"calibrate.stride\"\nranks = 1\nreads = 4096\n\
                    [axes]\nbytes = [\"16 KiB\", \"64 KiB\"]\nstride = [1, 2, 8]\n";
    sweep("memory-mountain", &format!("{mountain}{repeat}"));
    scratch
}

/// Commands that only read. They run if [`results`] creates their results.
const READ_COMMANDS: [&str; 13] = [
    "codes", "show", "validate", "plot", "query", "export", "report", "status", "compare", "kernels", "models",
    "predict", "fit",
];

/// Runs the documented commands that only read small results: those of all places that are `wanted`. Returns their number.
fn run_documented_commands(scratch: &Scratch, hides_facts: bool, wanted: impl Fn(&str) -> bool) -> usize {
    let is_available = |word: &String| match word.split_once("results/") {
        Some((_, rest)) => scratch.join("results").join(rest.split(['[', '/']).next().unwrap_or_default()).is_dir(),
        None => ![".toml", ".html"].iter().any(|end| word.ends_with(end)),
    };
    let (mut seen, mut count, mut wrong) = (HashSet::new(), 0, Vec::new());
    for (place, arguments) in documented_commands().into_iter().filter(|(place, _)| wanted(place)) {
        let reads = arguments.first().is_some_and(|command| READ_COMMANDS.contains(&command.as_str()));
        // A calibrated card takes minutes. Another test has the card of a simulated machine.
        let slow = ["--card", "bottleneck"];
        let slow = arguments.iter().any(|word| slow.contains(&word.as_str()));
        if !reads || slow || !arguments.iter().all(is_available) || !seen.insert(arguments.clone()) {
            continue;
        }
        count += 1;
        let output = program(hides_facts).args(&arguments).current_dir(&**scratch).output().expect("the program");
        // Four outcomes are not faults of the guide, because the results are small and the machine is shared:
        // --fail-if finds a difference (exit code 5), it cannot decide, a fit is refused because few noisy
        // samples cannot identify its parameters, or no sample is quiet.
        let error = String::from_utf8_lossy(&output.stderr);
        let is_surface = arguments.iter().any(|word| word == "apex_map.surface");
        let hides = ["cannot identify", "which hides"].iter().any(|words| error.contains(words));
        let refused = arguments[0] == "fit" && hides && !is_surface;
        let undecided = arguments[0] == "compare" && error.contains("undecided whether");
        let busy = arguments[0] == "query" && error.contains("in this result quietness is ");
        let done = refused || undecided || busy || matches!(output.status.code(), Some(0 | 5));
        if !done {
            wrong.push(format!("{place}: apexmap {}\n{error}", arguments.join(" ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    count
}

/// Runs apexmap in a folder. Returns its standard output and standard error together, and the exit code.
fn run_in(folder: &Path, arguments: &[String]) -> (String, Option<i32>) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_apexmap"));
    let output = output(program.args(arguments).current_dir(folder));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (text, output.status.code())
}

/// Returns the documented commands that need a machine card.
fn commands_with_a_card() -> Vec<Vec<String>> {
    let needs_card = |arguments: &Vec<String>| {
        let is = |word: &str| arguments.iter().any(|argument| argument == word);
        is("bottleneck") || is("report") && is("--card")
    };
    let mut chosen: Vec<Vec<String>> = pages().iter().flat_map(|(_, text)| commands(text)).filter(needs_card).collect();
    chosen.retain(|arguments| arguments.iter().any(|word| word == "results/quickstart"));
    // The report writes the card into the result, which the other commands need.
    chosen.sort_by_key(|arguments| arguments[0] != "report");
    chosen.dedup();
    chosen
}

#[test]
fn documented_commands_with_a_card_run_on_a_simulated_machine() {
    let scratch = Scratch::new();
    let plan =
        synthetic_machines::Plan { words: &[1 << 26], base_pages: false, noise: 0.02, ..synthetic_machines::ONE_RANK };
    let numbers = &synthetic_machines::NUMBERS;
    let folder = synthetic_machines::folder(&scratch, "quickstart", plan, numbers, false);
    std::fs::create_dir_all(scratch.join("results/calibrate")).expect("a folder");
    std::fs::rename(folder, scratch.join("results/quickstart")).expect("moved");
    std::fs::rename(scratch.join("quickstart.toml"), scratch.join("results/calibrate/card.toml")).expect("moved");
    let commands = commands_with_a_card();
    assert!(commands.iter().any(|arguments| arguments[0] == "plot"), "{commands:?}");
    for mut arguments in commands {
        // The card of a simulated machine names no host.
        arguments.extend((arguments[0] == "report").then(|| "--card-of-another-host".to_owned()));
        let (text, code) = run_in(&scratch, &arguments);
        assert_eq!(code, Some(0), "apexmap {}: {text}", arguments.join(" "));
    }
}

/// Mistakes, and the beginning of the advice.
const MISTAKES: &[(&str, &str)] = &[
    ("plot results/quickstart contour", "choose one value with --where 'kernel =="),
    ("plot results/quickstart contour --where 'alpha > 0.01 || L == 1'", "choose one value with --where '(alpha >"),
    ("plot results/quickstart surface --where 'pages == \"base\"'", "draw curves over it: apexmap plot"),
    (
        "plot results/quickstart curves --x alpha --y pages --where 'pages == \"base\"'",
        "choose one value with --where 'pages",
    ),
    ("plot results/memory-mountain surface --x bandwidth", "did you mean \"bytes_per_second"),
    ("query results/quickstart --select bandwidth", "did you mean \"bytes_per_second"),
    ("query results/quickstart --select latency", "did you mean \"cycles_per_operation"),
    ("plot results/quickstart heat --z GB/s --where 'P == 1'", "did you mean \"bytes_per_second"),
    ("query results/quickstart --where 'alfa == 1'", "did you mean \"alpha\"?"),
    ("query results/quickstart --where 'pages == huge'", "write \"huge\" in double quotes"),
    ("query results/quickstart --group-by alfa", "did you mean \"alpha\"?"),
    ("fit results/quickstart --where 'P == 1'", "choose one: apexmap fit results/quickstart --where 'P == 1' --model"),
    ("predict random_access.hypercube --machine red-storm --ranks 1-64", "write 1..64"),
    ("predict random_access.hypercub --machine red-storm --ranks 4", "did you mean \"random_access.hypercube\"?"),
];

/// Returns the command that the help of a mistake suggests: a whole command, a condition, or a word instead of another.
fn follow(mistake: &[String], help: &str) -> Vec<String> {
    if let Some((_, command)) = help.split_once("apexmap ").filter(|_| !help.contains("--columns")) {
        let command = command.split(", or").next().unwrap_or_default();
        return words(command.trim());
    }
    let replace = |wrong: &str, right: &str| mistake.iter().map(|word| word.replace(wrong, right)).collect();
    if let Some((_, condition)) = help.split_once("--where '") {
        let condition = condition.split('\'').next().expect("a condition");
        let mut command = mistake.to_vec();
        if let Some(index) = command.iter().position(|word| word == "--where") {
            command.drain(index..index + 2);
        }
        command.extend(["--where".to_owned(), condition.to_owned()]);
        return command;
    }
    if let Some(word) = help.strip_prefix("write \"").and_then(|rest| rest.split('"').next()) {
        return replace(word, &format!("\"{word}\""));
    }
    if let Some(range) = help.strip_prefix("write ").and_then(|rest| rest.split(' ').next()) {
        return replace("1-64", range);
    }
    let right = help.split('"').nth(1).expect("a name");
    let mistaken_names = ["bandwidth", "latency", "GB/s", "alfa", "random_access.hypercub"];
    let wrong =
        mistaken_names.into_iter().find(|wrong| mistake.iter().any(|word| word.contains(wrong))).expect("a mistake");
    replace(wrong, right)
}

/// Follows the help of each mistake to a command that works.
fn follow_the_help_of_each_mistake(scratch: &Scratch) {
    let mut wrong = Vec::new();
    for (mistake, expected) in MISTAKES {
        let mut arguments = words(mistake);
        let (text, code) = run_in(scratch, &arguments);
        let help =
            |text: &str| text.split_once("help: ").map(|(_, help)| help.lines().next().unwrap_or_default().to_owned());
        let first = help(&text).unwrap_or_default();
        if code != Some(2) || !first.starts_with(expected) {
            wrong.push(format!("apexmap {mistake}: {text}"));
            continue;
        }
        let (mut text, mut code, mut steps) = (text, code, 0);
        while let (Some(next), true, true) = (help(&text), code == Some(2), steps < 2) {
            arguments = follow(&arguments, &next);
            (text, code) = run_in(scratch, &arguments);
            steps += 1;
        }
        if code != Some(0) {
            wrong.push(format!("apexmap {mistake}\nled to {arguments:?}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn documented_commands_and_the_help_of_each_mistake_work_on_small_results() {
    let scratch = results(false);
    let count = run_documented_commands(&scratch, false, |_| true);
    assert!(count > 40, "only {count} commands ran");
    follow_the_help_of_each_mistake(&scratch);
}

#[test]
fn commands_of_the_readme_and_the_guide_work_where_the_machine_hides_its_facts() {
    let scratch = results(true);
    let count = run_documented_commands(&scratch, true, |place| place.ends_with(".md"));
    assert!(count > 20, "only {count} commands ran");
    // Fits say what they assume.
    let fit = ["fit", "results/quickstart", "--model", "apex_map.surface", "--where", "P == 1"].map(str::to_owned);
    let (text, _) = run_in(&scratch, &fit);
    for number in ["tlb_entries 1536", "l2_bytes 1 MiB", "this machine give"] {
        assert!(text.contains(number), "{number}: {text}");
    }
}

#[test]
fn every_toml_block_of_the_guide_is_a_sweep_a_card_or_a_site_file() {
    let scratch = Scratch::new();
    let machine = Machine::with_cores(8, 64 << 30);
    let mut count = 0;
    for (path, text) in pages() {
        for block in blocks(&text, "toml") {
            count += 1;
            let place = path.display();
            if block.contains("[[code]]") {
                codes::parse(block, &path).unwrap_or_else(|error| panic!("{place}: {error}\n{block}"));
            } else if block.contains("[numbers.") {
                Card::parse(block, &path).unwrap_or_else(|error| panic!("{place}: {error}\n{block}"));
            } else if block.contains("[network]") {
                // A partial card is completed by its names and a number.
                let card = format!(
                    "name = \"a\"\nsummary = \"b\"\nsource = \"c\"\n{block}\n[numbers.cores]\nvalue = 1\nhow = \"d\"\n"
                );
                Card::parse(&card, &path).unwrap_or_else(|error| panic!("{place}: {error}\n{block}"));
            } else if block.contains("[workers]") {
                let file = scratch.join("site.toml");
                std::fs::write(&file, block).expect("written");
                Site::from_files(&[file]).unwrap_or_else(|error| panic!("{place}: {error}\n{block}"));
            } else if !block.contains("example.stride") {
                // A partial sweep is completed by the rest. If it names a kernel, no other kernel is added.
                let kernel = if block.contains("kernel =") { "" } else { "[fixed]\nkernel = \"apex_map.two_sided\"\n" };
                let sweep_text = match block.find("[fixed]") {
                    Some(_) => block.to_owned(),
                    None => format!("{block}\n{kernel}"),
                };
                sweep::parse(&sweep_text, &path, machine.clone())
                    .and_then(|sweep| check_submit(&sweep))
                    .unwrap_or_else(|error| panic!("{place}: {error}\n{sweep_text}"));
            }
        }
    }
    assert!(count > 5, "only {count} blocks were found");
}

/// Returns the anchor that GitHub creates for a heading.
fn anchor(heading: &str) -> String {
    let kept =
        heading.trim().to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn every_link_in_the_guide_has_a_target() {
    for (path, text) in pages() {
        let prose = prose(&text);
        for target in prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            if target.starts_with("https://") {
                continue;
            }
            let (file, part) = target.split_once('#').map_or((target, None), |(file, part)| (file, Some(part)));
            let folder = path.parent().expect("a folder");
            let file = if file.is_empty() { path.clone() } else { folder.join(file) };
            let full = root().join(&file);
            assert!(full.exists(), "{}: there is no {target}", path.display());
            if let Some(part) = part {
                let text = self::prose(&std::fs::read_to_string(&full).expect("a page"));
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                let exists = headings.any(|line| anchor(line.trim_start_matches('#')) == part);
                assert!(exists, "{}: {} has no heading for #{part}", path.display(), file.display());
            }
        }
    }
}

#[test]
fn each_page_that_sources_and_help_texts_name_exists() {
    let mut count = 0;
    for (path, text) in crate::architecture::sources("src") {
        for (start, _) in text.match_indices("docs/") {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
            let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
            let page = text[start..end].trim_end_matches('.');
            if page.ends_with(".md") {
                count += 1;
                assert!(root().join(page).is_file(), "{}: there is no {page}", path.display());
            }
        }
    }
    assert!(count > 10, "only {count} pages");
}

#[test]
fn the_readme_is_short_and_links_to_every_page() {
    let pages = pages();
    let text = |name: &str| &pages.iter().find(|(path, _)| path == Path::new(name)).expect("a page").1;
    let readme = text("README.md");
    assert!(readme.lines().count() <= 110, "README.md has {} lines", readme.lines().count());
    let long: Vec<&str> = readme.lines().filter(|line| line.chars().count() > 120).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(
        readme.contains(concat!("Rust ", env!("CARGO_PKG_RUST_VERSION"))),
        "README.md and Cargo.toml name different versions of Rust"
    );
    // The book has its own list.
    for list in ["docs/README.md", "docs/SUMMARY.md"] {
        let is_listed =
            |path: &Path| path.starts_with("docs") && !path.ends_with("README.md") && !path.ends_with("SUMMARY.md");
        for (path, _) in pages.iter().filter(|(path, _)| is_listed(path)) {
            let name = path.strip_prefix("docs").expect("a page of docs/").display();
            assert!(text(list).contains(&format!("]({name})")), "{list} does not lead to {name}");
        }
    }
}

#[test]
fn the_guide_is_short_and_each_task_page_has_a_picture() {
    let (mut tasks, mut total) = (0, 0);
    let in_guide = |path: &Path| path.starts_with("docs") || path == Path::new("README.md");
    for (path, text) in pages().into_iter().filter(|(path, _)| in_guide(path)) {
        // The table of contents for mdBook.
        if path == Path::new("docs/SUMMARY.md") {
            continue;
        }
        let count = text.split_whitespace().count();
        total += count;
        let is_navigation = path == Path::new("docs/README.md");
        if path.starts_with("docs/appendix") {
            continue;
        }
        tasks += count;
        assert!(is_navigation || text.contains("!["), "{} has no picture", path.display());
        assert!(count <= 1500, "{} has {count} words", path.display());
    }
    assert!(tasks <= 16_119 && total <= 39_972, "task pages and README: {tasks} words, all: {total}");
}

/// Returns the sentences of a page with at least this many words, outside of tables, lists of code and links.
fn long_sentences(text: &str, least: usize) -> Vec<String> {
    let lines = prose(text).lines().filter(|line| !line.starts_with(['|', '#', '!'])).collect::<Vec<_>>().join(" ");
    let sentences = lines.split(['.', ':', ';']).map(|sentence| sentence.split_whitespace().collect::<Vec<_>>());
    sentences.filter(|sentence| sentence.len() >= least).map(|sentence| sentence.join(" ")).collect()
}

#[test]
fn no_sentence_of_the_guide_is_on_two_pages() {
    let mut seen: Vec<(PathBuf, String)> = Vec::new();
    let mut repeated = Vec::new();
    for (path, text) in pages().into_iter().filter(|(path, _)| path != Path::new("CHANGELOG.md")) {
        for sentence in long_sentences(&text, 10) {
            match seen.iter().find(|(_, other)| *other == sentence) {
                Some((other, _)) if *other == path => {}
                Some((other, _)) => repeated.push(format!("{} and {}: {sentence}", other.display(), path.display())),
                None => seen.push((path.clone(), sentence)),
            }
        }
    }
    assert!(repeated.is_empty(), "{repeated:#?}");
}

#[test]
fn the_guide_names_every_sweep_and_command() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).expect("a page");
    let (sweeps, index) = (read("docs/appendix/sweeps.md"), read("docs/README.md"));
    let mut missing = Vec::new();
    for sweep in std::fs::read_dir(root().join("sweeps")).expect("a folder of sweeps").flatten() {
        let name = sweep.file_name().into_string().expect("a name");
        if !sweeps.contains(&format!("`{}`", name.trim_end_matches(".toml"))) {
            missing.push(name);
        }
    }
    for command in apexmap::command().get_subcommands().filter(|command| !command.is_hide_set()) {
        if !index.contains(&format!("`apexmap {}", command.get_name())) {
            missing.push(format!("command {}", command.get_name()));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// Creates a result with messages of 1 us + 0.1 ns per byte. Times measured on a busy machine might follow no model.
fn messages(scratch: &Scratch) -> PathBuf {
    let folder = Folder::create(&scratch.join("result")).expect("a folder");
    let times = (3..16).step_by(2).map(|power| {
        let bytes = 1u64 << power;
        let point = Point::new("message_rate.ping_pong", 2).with_parameter("message_bytes", bytes);
        let point = kernels::complete(point).expect("a valid point");
        let messages = kernels::find(&point.kernel).expect("a kernel").work(&point).operations;
        sample(&point, &point.label(), 0, messages * (1e-6 + 1e-10 * bytes as f64))
    });
    write(&folder, &table(times.collect()));
    manifest().write(&folder).expect("written");
    scratch.join("result")
}

/// `cargo test` builds the examples next to the program.
#[test]
fn the_examples_in_rust_run() {
    let scratch = Scratch::new();
    let file = scratch.join("small.toml");
    let small = "[fixed]\nkernel = \"message_rate.ping_pong\"\nranks = 2\nmessages = 64\n\
                 [axes]\nmessage_bytes = { from = 8, to = 32768, factor = 4 }\n";
    std::fs::write(&file, small).expect("written");
    let name = |path: &Path| path.to_str().expect("a path").to_owned();
    for (example, arguments, expected) in [
        ("run_kernel", vec![], "MB/s per rank"),
        ("run_sweep", vec![], "L=4096"),
        ("run_sweep", vec![name(&file)], "message_bytes=32768"),
        ("fit_model", vec![name(&messages(&scratch))], "network_latency_seconds: 1.000e-6"),
    ] {
        let program = Path::new(env!("CARGO_BIN_EXE_apexmap")).with_file_name("examples").join(example);
        let output = Command::new(&program).args(&arguments).output().expect("the example");
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains(expected), "{example} {arguments:?}: {text}{error}");
    }
}

/// Returns the pairs of a term and a word that the glossary replaces by it.
fn replaced_words() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("a page");
    let glossary = text.split("## Glossary").nth(1).expect("a glossary");
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let words = cells[3].split(", ").filter(|word| !word.is_empty());
        words.map(|word| (cells[1].to_owned(), word.to_lowercase())).collect::<Vec<_>>()
    })
    .collect()
}

/// Returns whether a text contains a phrase as whole words, also across the end of a line. `text` is in lower case.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase).any(|(start, _)| {
        !is_part(text[..start].chars().next_back()) && !is_part(text[start + phrase.len()..].chars().next())
    })
}

#[test]
fn words_replaced_by_the_glossary_do_not_occur() {
    assert!(contains_phrase("a data point, here", "data point") && !contains_phrase("data pointer", "data point"));
    let replaced = replaced_words();
    assert!(replaced.len() >= 40, "{replaced:?}");
    let sources = crate::architecture::sources("src").into_iter();
    let own_words = |path: &Path| path == Path::new("CONTRIBUTING.md");
    let mut uses = Vec::new();
    for (path, text) in sources.chain(pages()).filter(|(path, _)| !own_words(path)) {
        let joined = text.lines().map(|line| line.trim().trim_start_matches('/').trim()).collect::<Vec<_>>().join(" ");
        let joined = joined.to_lowercase();
        let words = replaced.iter().filter(|(_, word)| contains_phrase(&joined, word));
        uses.extend(words.map(|(term, word)| format!("{}: \"{word}\": write \"{term}\"", path.display())));
    }
    assert!(uses.is_empty(), "{uses:#?}");
}
