//! Tests of properties of all commands: help with examples, a manual page, completions.

use super::common::{Scratch, apexmap, refusal_message, successful_stdout};

/// Returns the commands for users.
fn commands() -> Vec<String> {
    let program = apexmap::command();
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    shown.map(|command| command.get_name().to_owned()).collect()
}

/// Returns the groups of commands in a help text, each with the names of the commands that it describes.
fn groups(help: &str) -> Vec<(&str, Vec<&str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in help.lines().take_while(|line| *line != "Options:") {
        if let Some(name) = line.strip_suffix(':') {
            groups.push((name, Vec::new()));
        } else if let (Some(text), Some((_, names))) = (line.strip_prefix("  "), groups.last_mut())
            && text.contains("  ")
            && !text.starts_with(' ')
        {
            names.extend(text.split_whitespace().next());
        }
    }
    groups
}

#[test]
fn the_help_lists_all_commands_in_five_groups_and_the_short_one_describes_ten() {
    let (short, long) = (successful_stdout(&["-h"]), successful_stdout(&["--help"]));
    let (first, complete) = (groups(&short), groups(&long));
    let names = |groups: &[(&str, Vec<&str>)]| groups.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&complete), ["Measure", "Look", "Compare and explain", "Papers and models", "Clusters"], "{long}");
    assert_eq!(names(&first), names(&complete), "{short}");
    let listed: Vec<&str> = first.iter().flat_map(|(_, names)| names.clone()).collect();
    let expected = ["run", "sweeps", "try", "calibrate", "show", "status", "query", "report", "compare", "predict"];
    assert_eq!(listed, expected, "{short}");
    let mut listed: Vec<&str> =
        complete.iter().flat_map(|(_, names)| names.clone()).chain(["man", "completions"]).collect();
    listed.sort_unstable();
    let mut commands = commands();
    commands.sort_unstable();
    assert_eq!(listed, commands, "{long}");
    assert!(commands.iter().all(|name| short.contains(name.as_str())), "{short}");
    let without = apexmap(&[]);
    assert!(without.status.success() && String::from_utf8_lossy(&without.stdout) == short, "{without:?}");
}

#[test]
fn the_short_help_of_run_has_six_flags_and_the_long_one_has_all() {
    let flags = |help: &str| help.lines().filter(|line| line.trim_start().starts_with("--")).count();
    let (short, long) = (successful_stdout(&["run", "-h"]), successful_stdout(&["run", "--help"]));
    assert_eq!(flags(&short), 6, "{short}");
    assert!(
        short.contains("--budget") && short.contains("--out") && short.contains("see more with '--help'"),
        "{short}"
    );
    assert!(flags(&long) > 30 && long.contains("--retry-failed"), "{long}");
}

#[test]
fn a_removed_name_says_what_to_use_instead() {
    for (arguments, expected) in [
        (&["export", "results/none", "--format", "extra-p"][..], "--format jsonl"),
        (&["calibrate", "--export", "goal"], "apexmap card CARD --all"),
        (&["simulate"], "apexmap run SWEEP --simulate CARD"),
        (&["try", "protocol", "--worker", "w"], "apexmap run protocol --worker w --trial"),
    ] {
        let message = refusal_message(arguments);
        assert!(message.contains("help: ") && message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn every_command_shows_examples_with_its_name() {
    let names = commands();
    assert!(names.len() >= 15 && !names.iter().any(|name| name == "worker"), "{names:?}");
    for name in names {
        let help = successful_stdout(&[&name, "--help"]);
        let (_, examples) = help.split_once("Example").unwrap_or_else(|| panic!("{name} has no example"));
        assert!(examples.contains(&format!("apexmap {name}")), "{name}: {examples}");
    }
}

#[test]
fn every_option_has_a_description() {
    for name in commands() {
        let page = successful_stdout(&["man", &name]);
        let options = page.split_once(".SH OPTIONS").expect("options").1.split("\n.SH").next().unwrap_or_default();
        for option in options.split(".TP").skip(1) {
            let meaning: String = option.lines().skip(2).collect();
            let meaning = meaning.replace(".br", "").replace(".RS 14", "");
            assert!(meaning.trim().chars().filter(|c| c.is_alphabetic()).count() > 5, "{name}: {option}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page_and_the_program_lists_them() {
    let scratch = Scratch::new();
    successful_stdout(&["man", "--out", scratch.to_str().expect("a path")]);
    let read = |name: &str| std::fs::read_to_string(scratch.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let program = read("apexmap.1");
    assert!(program.contains(".SH EXAMPLES") && program.contains("Exit codes"), "{program}");
    let names = commands();
    for name in &names {
        let page = read(&format!("apexmap-{name}.1"));
        for part in [".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES\n.nf\n"] {
            assert!(page.contains(part), "{name} has no {part}");
        }
        assert_eq!(page, successful_stdout(&["man", name]));
        assert!(program.contains(&format!("apexmap\\-{name}(1)")), "apexmap.1 does not name {name}");
    }
    assert_eq!(std::fs::read_dir(&*scratch).expect("the folder").count(), names.len() + 1);
    let refused = apexmap(&["man", "qurey"]);
    assert!(refused.status.code() == Some(2) && String::from_utf8_lossy(&refused.stderr).contains("\"query\""));
}

#[test]
fn a_misspelt_command_gets_the_nearest_suggestion() {
    for (arguments, expected) in [
        (&["qurey", "results/quickstart"][..], "did you mean apexmap query?"),
        (&["statsu"], "did you mean apexmap status?"),
        (&["predict", "hypercube", "--machine=red-storm"], "did you mean \"random_access.hypercube\"?"),
    ] {
        let output = apexmap(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(expected), "{arguments:?}: {error}");
    }
    // For a word that `apexmap run` would take, the help names that command.
    for word in ["memory-sizes", "sweeps/protocol.toml"] {
        let error = refusal_message(&[word]);
        assert!(error.contains(&format!("help: apexmap run {word}")), "{error}");
    }
    assert!(refusal_message(&["sweeps/none.toml"]).contains("there is no command \"sweeps/none.toml\""));
    assert_eq!(apexmap(&["run", "sweeps/none.toml"]).status.code(), Some(2));
    let error = refusal_message(&["plot", "results/quickstart", "countour"]);
    assert!(error.contains("error: [KIND] cannot be") && error.contains("did you mean \"contour\"?"), "{error}");
    let error = refusal_message(&["export", "results/quickstart", "--format", "parquet"]);
    assert!(error.contains("help: the samples are already Parquet: RESULT/samples.parquet"), "{error}");
}

#[test]
fn kernels_and_models_are_listed_by_family_and_partial_name() {
    let kernels = successful_stdout(&["kernels"]);
    for kernel in apexmap_measure::kernels::ALL {
        let line = kernels.lines().filter(|line| line.split_whitespace().next() == Some(kernel.id)).count();
        assert_eq!(line, 1, "{}", kernel.id);
    }
    let described = |name: &str, id: &str| {
        let text = successful_stdout(&["kernels", name]);
        assert!(text.lines().any(|line| line == id) && text.contains("  parameters:"), "{name}: {text}");
        assert!(text.contains("  method: "), "{name}: {text}");
    };
    described("apex_map.two_sided", "apex_map.two_sided");
    described("two_sided", "apex_map.two_sided");
    described("apex-map", "apex_map.one_sided");
    described("one_sided", "random_access.one_sided");
    let random = successful_stdout(&["kernels", "random"]);
    assert!(random.contains("message_rate.random ") && random.contains("random_access.hypercube "), "{random}");
    assert!(successful_stdout(&["kernels", "latency"]).contains("message_rate.ping_pong  Latency"));
    assert!(refusal_message(&["kernels", "apex_mpa"]).contains("did you mean \"apex_map\"?"));
    assert!(successful_stdout(&["models", "hypercube"]).contains("numbers of the machine:"));
    assert!(successful_stdout(&["models", "point_to_point"]).contains("point_to_point.log_gp\n"));
    assert!(successful_stdout(&["models", "hypercub"]).contains("random_access.hypercube  rounds"));
}

#[test]
fn ready_sweeps_are_listed_printed_and_written_without_overwriting() {
    let (first, list) = (successful_stdout(&["sweeps"]), successful_stdout(&["sweeps", "--all"]));
    let names = |list: &str| list.lines().filter(|line| line.contains('?')).count();
    assert!(names(&first) == 12 && first.contains("How fast are my caches"), "{first}");
    let of_papers = list.split_once("Experiments of the papers").expect("a second list").1;
    assert!(list.contains("mpi, srun") && names(&list) > 40, "{list}");
    assert!(
        names(of_papers) == 17 && of_papers.contains("paper-figure-2") && of_papers.contains("protocol"),
        "{of_papers}"
    );
    let text = std::fs::read_to_string("sweeps/protocol.toml").expect("a sweep");
    assert_eq!(successful_stdout(&["sweeps", "protocol"]), text);
    let sweeps = successful_stdout(&["sweeps", "bandwidth"]);
    assert!(sweeps.contains("stream") && !sweeps.contains("protocol "), "{sweeps}");
    assert!(String::from_utf8_lossy(&apexmap(&["run", "memory"]).stderr).contains("memory-sizes, "));
    assert!(refusal_message(&["compare", "results/one"]).contains("a comparison needs two results"));
    assert!(refusal_message(&["sweeps", "protocl"]).contains("did you mean \"protocol\"?"));
    let scratch = Scratch::new();
    let folder = scratch.to_str().expect("a path");
    successful_stdout(&["sweeps", "--write", folder, "protocol"]);
    assert_eq!(std::fs::read_to_string(scratch.join("protocol.toml")).expect("written"), text);
    std::fs::write(scratch.join("protocol.toml"), "mine").expect("written");
    assert!(refusal_message(&["sweeps", "--write", folder]).contains("exists and differs"));
    assert_eq!(std::fs::read_dir(&*scratch).expect("the folder").count(), 1);
}

#[test]
fn predictions_for_impossible_inputs_are_refused() {
    for (set, expected) in [
        ("P=0", "P must be a whole number of ranks"),
        ("P=2.5", "P must be a whole number of ranks"),
        ("P=1e300", "P must be a whole number of ranks"),
        ("Q=0", "Q must be a whole number from 1"),
        ("Q=-1", "must be finite and not negative"),
    ] {
        let output = apexmap(&["predict", "random_access.hypercube", "--machine=red-storm", "--set=P=4", "--set", set]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(expected), "{set}: {error}");
    }
    assert!(
        refusal_message(&["predict", "apex_map.surface", "--machine=seaborg", "--set=alpha=5"]).contains("at most 1")
    );
}

#[test]
fn a_card_without_memory_predicts_only_data_that_fit_its_caches() {
    let scratch = Scratch::new();
    let number = |name: &str, value: f64, unit: &str| {
        format!("[numbers.{name}]\nvalue = {value:?}\nunit = \"{unit}\"\nhow = \"fit\"\n")
    };
    let card = scratch.join("fitted.toml");
    let text = [
        "name = \"fitted\"\nsummary = \"two caches\"\nsource = \"a fit\"\n".to_owned(),
        number("l1_bytes", 32768.0, "B"),
        number("l2_bytes", 1048576.0, "B"),
        number("issue_seconds", 1e-9, "s"),
        number("issue_seconds_per_byte", 1e-11, "s/B"),
        number("l2_line_seconds", 3e-9, "s"),
        number("startup_lines", 64.0, ""),
        number("startup_factor", 1e-15, ""),
        number("overlap_seconds", 20e-9, "s"),
    ];
    std::fs::write(&card, text.concat()).unwrap();
    let card = card.to_string_lossy().into_owned();
    let predict = ["predict", "apex_map.surface", "--machine", &card, "--set=P=1", "--set=alpha=1", "--set=L=1"];
    let within = |words: &'static str| [&predict[..], &["--set", words]].concat();
    // 4096 of 65536 words are in the first cache: 8 bytes take 1 ns with probability 1/16 and 4 ns with 15/16.
    assert!(successful_stdout(&within("M=65536")).contains("2.1 GB/s"), "{}", successful_stdout(&within("M=65536")));
    assert!(refusal_message(&within("M=1048576")).contains("the card has no memory_line_seconds"));
}

#[test]
fn completions_include_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = successful_stdout(&["completions", shell]);
        commands().iter().for_each(|name| assert!(script.contains(name.as_str()), "{shell}: {name}"));
    }
}
