//! `apexmap compare`: compares results and published machines.

use super::{compare_folder, opened::Opened, own_model::OwnModels, parser, pretty};
use apexmap_base::error::{Error, ErrorKind, Result};
use apexmap_base::name_lookup::suggest;
use apexmap_base::shell;
use apexmap_base::terminal::{note, print, print_data};
use apexmap_base::units::plural;
use apexmap_draw::figure::Style;
use apexmap_pages::compare::machine::{Machine, content_hash, name_all};
use apexmap_pages::compare::matching::{AllowedDifferences, MatchRanks, Matching};
use apexmap_pages::compare::ratio::Decision;
use apexmap_pages::compare::regression::Conditions;
use apexmap_pages::compare::regression::{self, Outcome, RegressionCheck};
use apexmap_pages::compare::sections::check;
use apexmap_pages::compare::sections::provenance::environment_differences;
use apexmap_pages::compare::{Comparison, compare, devices, published_machines, sections};
use apexmap_pages::html::make_style_folder;
use apexmap_results::disk::manifest::Manifest;
use apexmap_results::samples::Samples;
use apexmap_results::table::columns;
use apexmap_theory::codes;
use apexmap_theory::machine::Card;
use apexmap_theory::models::Model;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap compare results/old results/new
  apexmap compare 'results/pages[pages == \"base\"]' 'results/pages[pages == \"huge\"]' \\
      --allow page-size --names 4KiB,2MiB
  apexmap compare red-storm results/random-access-ranks
  apexmap compare results/base results/new --fail-if slower=5%,noisy --no-page

Ratios are speeds relative to the first machine; above 1 means faster.")]
pub struct Arguments {
    /// Result folders, Parquet files of samples, published machines or machine cards; a condition in brackets selects samples
    #[arg(required = true, num_args = 1.., value_name = "RESULT")]
    inputs: Vec<String>,
    /// Folder for the HTML page, its figures and tables [default: compare/A-vs-B]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// If the folder holds something else, such as another comparison, keep that as FOLDER.1 and start again
    #[arg(long)]
    replace: bool,
    /// Names of the machines, comma-separated [default: their own names]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    names: Vec<String>,
    /// Machine cards for the results, in their order, comma-separated; an empty entry keeps a result's own card
    #[arg(long, value_delimiter = ',', value_name = "CARDS")]
    cards: Vec<String>,
    /// Numbers of cores of the machines, in their order, comma-separated, for imported results that do not have them; an empty entry
    /// keeps a result's own
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    cores: Vec<String>,
    /// Accept these differences and print them on every figure: page-size, oversubscription, transport, version, kernel,
    /// one-launch
    #[arg(long, value_delimiter = ',', value_name = "DIFFERENCES")]
    allow: Vec<String>,
    /// Ignore these parameters when matching points, such as I,N
    #[arg(long, value_delimiter = ',', value_name = "PARAMETERS")]
    ignore: Vec<String>,
    /// Match rank counts in this way
    #[arg(long, value_name = "HOW", default_value = "auto")]
    match_ranks: MatchRanks,
    /// Decide in this way which points differ, in maps and counts
    #[arg(long, value_name = "HOW", default_value = "adjusted")]
    significance: Decision,
    /// Select samples of all results; given twice, both conditions must be true
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Exit with code 5 if a condition is met. slower=5%: points of another result are slower than in the first by more than 5 %, beyond
    /// their uncertainty, or did not finish (code 4 if the check could hardly detect that); noisy: a machine was disturbed
    #[arg(long, value_name = "CONDITION,...", value_delimiter = ',')]
    fail_if: Vec<String>,
    /// paper, slide, slide-dark: also write each figure in this style, into figures/STYLE
    #[arg(long, default_value = "screen", value_parser = parser(Style::ALL))]
    style: Style,
    /// Also show the ratios at the places of the codes in this TOML file, and of their weighted mix
    #[arg(long, value_name = "FILE")]
    codes: Option<PathBuf>,
    #[command(flatten)]
    models: OwnModels,
    /// Do not write the HTML page; print only the text, or that of the check
    #[arg(long)]
    no_page: bool,
    /// Print the check as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let matching = Matching {
        allowed: AllowedDifferences::parse(&arguments.allow)?,
        ignored: arguments.ignore.iter().map(|name| parameter_column(name)).collect::<Result<_>>()?,
        ranks: arguments.match_ranks,
    };
    if arguments.json && arguments.fail_if.is_empty() {
        let next = "add --fail-if slower=5%, for example";
        return Err(Error::input("--json applies only to --fail-if", next));
    }
    if let [only] = arguments.inputs.as_slice() {
        let help = format!("name the other one: apexmap compare {only} OTHER");
        return Err(Error::input("a comparison needs two results", help));
    }
    let mut machines = read_machines(&arguments.inputs, &arguments.conditions)?;
    give_cards(&mut machines, &arguments.cards)?;
    give_cores(&mut machines, &arguments.cores)?;
    name_all(&mut machines, &arguments.names)?;
    let Conditions { limit, noisy } = Conditions::parse(&arguments.fail_if)?;
    if arguments.json && limit.is_none() {
        return Err(Error::input("--json prints the check of slower=", "add slower=5% to --fail-if, for example"));
    }
    // A check has two sides.
    if limit.is_none() {
        devices::add_with_transfers(&mut machines);
    }
    let comparison = with_choices(arguments, compare(&machines, matching)?)?;
    if let (Some(_), Some([first, second])) = (&limit, comparison.same_samples()) {
        return Err(Error::input(
            format!("{first} and {second} are the same samples"),
            "name the result of another run",
        ));
    }
    if let Some(text) = environment_differences(&machines) {
        note(&format!("note: {text}"));
    }
    let checks = limit.map(|limit| regression::check_each(&comparison, limit)).transpose()?.unwrap_or_default();
    if !arguments.no_page {
        let folder = arguments.out.clone().unwrap_or_else(|| default_folder(&machines));
        let entries = machines.iter().map(compare_folder::record_entry).collect();
        compare_folder::prepare(&folder, entries, arguments.replace)?;
        let made = write_page(arguments, &folder, &comparison, &checks)?;
        // With --json, standard output contains only the check.
        if arguments.json { note(made.trim_end()) } else { print(&made)? }
    } else if arguments.fail_if.is_empty() {
        print(&sections::text(&comparison)?)?;
    }
    match checks.as_slice() {
        [only] if arguments.json => print_data(&pretty(only)?)?,
        several if arguments.json => print_data(&pretty(&several)?)?,
        several => {
            let printed = if arguments.no_page { Vec::new() } else { comparison.warnings() };
            print(&several.iter().map(|check| check::text(check, &printed)).collect::<String>())?;
        }
    }
    if noisy {
        require_quiet(&comparison)?;
    }
    // A slow result counts before one that is undecided.
    let (failed, others): (Vec<_>, Vec<_>) = checks.iter().partition(|check| check.verdict == Outcome::Failed);
    failed.into_iter().chain(others).try_for_each(report_verdict)
}

fn with_choices<'a>(arguments: &Arguments, comparison: Comparison<'a>) -> Result<Comparison<'a>> {
    let codes = arguments.codes.as_deref().map_or_else(|| Ok(codes::list_known()), codes::read_with_known)?;
    let models = arguments.models.read()?;
    let is_measured = |kernel: &&str| {
        let has = |machine: &&Machine| machine.words("kernel").iter().any(|word| word == kernel);
        comparison.machines.iter().filter(has).count() > 1
    };
    if let Some(model) = models.iter().find(|model| !model.about().explains.iter().any(is_measured)) {
        let kernels = model.about().explains.join(" or ");
        return Err(Error::input(
            format!("--model {}: no two results have a kernel that it models", model.about().id),
            format!("compare results of {kernels}, or omit --model"),
        ));
    }
    Ok(Comparison { decision: arguments.significance, codes, models, ..comparison })
}

fn require_quiet(comparison: &Comparison) -> Result<()> {
    let disturbed: Vec<String> =
        comparison.disturbed_machines().map(|(name, health)| format!("{name} was {}", health.sentence())).collect();
    match disturbed.as_slice() {
        [] => Ok(()),
        some => Err(Error::new(
            ErrorKind::Regression,
            some.join("; "),
            "free the machine, measure again, and compare the new results",
        )),
    }
}

fn report_verdict(check: &RegressionCheck) -> Result<()> {
    match check.verdict {
        Outcome::Passed => return Ok(()),
        Outcome::Undecided => {
            return Err(Error::measurement(
                format!(
                    "undecided whether {} is slower than {}: {}, and the limit is {} %",
                    check.new,
                    check.base,
                    check.grounds(),
                    check.percent()
                ),
                "measure both on a quiet machine, with more launches (apexmap run ... --launches 5), or raise the limit",
            ));
        }
        Outcome::Failed => {}
    }
    let mut problems = Vec::new();
    if !check.slower.is_empty() {
        let percent = check.percent();
        problems.push(format!(
            "{} more than {percent} % slower than in {}",
            plural(check.slower.len(), "point"),
            check.base
        ));
    }
    if !check.not_finished.is_empty() {
        problems.push(format!(
            "{} that {} finished did not finish",
            plural(check.not_finished.len(), "point"),
            check.base
        ));
    }
    let next = match check.exact {
        true => "the points are listed above; `apexmap compare` without --no-page maps them",
        false => "the points are listed above; measure again to check that the difference persists",
    };
    Err(Error::new(ErrorKind::Regression, format!("{}: {}", check.new, problems.join(", ")), next))
}

fn write_page(
    arguments: &Arguments,
    folder: &Path,
    comparison: &Comparison,
    checks: &[RegressionCheck],
) -> Result<String> {
    make_style_folder(&folder.join("figures"), arguments.style)?;
    let made = sections::write(comparison, folder, &shell::command_line(), checks)?;
    Ok(format!("{}comparison: {}\n", made.summary, made.page.display()))
}

fn parameter_column(name: &str) -> Result<String> {
    let column = columns::resolve(name);
    let parameters = || apexmap_measure::kernels::ALL.iter().flat_map(|kernel| kernel.parameters);
    if parameters().any(|parameter| parameter.column == column) {
        return Ok(column.to_owned());
    }
    let names: Vec<&str> =
        parameters().map(|p| p.name).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    Err(Error::input(format!("--ignore {name}: no kernel has this parameter"), suggest(name, &names)))
}

/// `compare/A-vs-B`, in characters that every file system accepts.
fn default_folder(machines: &[Machine]) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let folder_name = |machine: &Machine| {
        let name: String = machine.name.chars().map(plain).collect();
        name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    };
    let mut name = machines.iter().map(folder_name).collect::<Vec<_>>().join("-vs-");
    name.truncate(120);
    Path::new("compare").join(name)
}

/// In the order given. Published machines are predicted at the points of the measured ones.
fn read_machines(inputs: &[String], conditions: &[String]) -> Result<Vec<Machine>> {
    let cards: Vec<Option<Card>> = inputs.iter().map(|input| card(input)).collect::<Result<_>>()?;
    let mut measured = Vec::new();
    for (input, _) in inputs.iter().zip(&cards).filter(|(_, card)| card.is_none()) {
        measured.push(open(input, conditions)?);
    }
    let mut published = Vec::new();
    for (input, card) in inputs.iter().zip(&cards) {
        if let Some(card) = card {
            published.push(published_machines::machine(input, card.clone(), &measured)?);
        }
    }
    let (mut measured, mut published) = (measured.into_iter(), published.into_iter());
    let next = |card: &Option<Card>| if card.is_some() { published.next() } else { measured.next() };
    Ok(cards.iter().filter_map(next).collect())
}

fn check_count(flag: &str, noun: &str, entries: &[String], machines: &[Machine]) -> Result<()> {
    if entries.is_empty() || entries.len() == machines.len() {
        return Ok(());
    }
    let (given, machines) = (plural(entries.len(), noun), plural(machines.len(), "machine"));
    let help = format!("give one {noun} per machine, separated by commas; an empty entry keeps a result's own {noun}");
    Err(Error::input(format!("{flag} has {given} for {machines}"), help))
}

fn give_cards(machines: &mut [Machine], cards: &[String]) -> Result<()> {
    check_count("--cards", "card", cards, machines)?;
    for (machine, card) in machines.iter_mut().zip(cards).filter(|(_, card)| !card.is_empty()) {
        machine.card = Some(Card::find(card)?);
    }
    Ok(())
}

fn give_cores(machines: &mut [Machine], cores: &[String]) -> Result<()> {
    check_count("--cores", "number", cores, machines)?;
    for (machine, text) in machines.iter_mut().zip(cores).filter(|(_, text)| !text.is_empty()) {
        let number = text.parse().ok().filter(|cores| *cores > 0);
        let wrong = || Error::input(format!("--cores {text} is not a number of cores"), "write --cores 16,32");
        machine.cores = Some(number.ok_or_else(wrong)?);
    }
    Ok(())
}

fn card(given: &str) -> Result<Option<Card>> {
    let published = apexmap_theory::machine::is_published(given);
    let path = Path::new(given);
    match published || (path.is_file() && path.extension().is_some_and(|end| end == "toml" || end == "json")) {
        true => Card::find(given).map(Some),
        false => Ok(None),
    }
}

/// A result folder or a Parquet file, with an optional condition in brackets.
fn open(given: &str, common: &[String]) -> Result<Machine> {
    let (path, own) = match given.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
        // The name of a file may contain brackets.
        Some((path, own)) if !Path::new(given).exists() => (path, Some(own)),
        _ => (given, None),
    };
    let file = Path::new(path);
    if !file.exists() {
        let published: Vec<&str> = apexmap_theory::machine::PUBLISHED.iter().map(|(name, _)| *name).collect();
        return Err(Error::input(
            format!("there is no result, file or published machine \"{path}\""),
            format!("{}; or name a result folder, or a Parquet file of samples", suggest(path, &published)),
        ));
    }
    let opened = Opened::open(file)?;
    let samples = opened.samples()?;
    let described = opened.known_folder().map(|folder| -> Result<_> {
        Ok((folder.manifest().is_file().then(|| Manifest::read(folder)).transpose()?, folder.card()?))
    });
    let (manifest, card) = described.transpose().map_err(|error| opened.name_error(error))?.unwrap_or_default();
    let result = opened.known_folder().filter(|_| !opened.is_unpacked()).map(|folder| folder.path.clone());
    let file = result.as_deref().unwrap_or(file);
    let content = content_hash(&samples);
    let samples = choose(given, &samples, common, own)?;
    let mut machine = Machine::from_samples(given, samples, manifest)?;
    machine.card = card.or(machine.card);
    machine.run = file.canonicalize().ok().map(|path| path.to_string_lossy().into());
    machine.content = content;
    Ok(machine)
}

fn choose(given: &str, samples: &Samples, common: &[String], own: Option<&str>) -> Result<Samples> {
    let mut chosen = samples.current();
    let common = common.iter().map(|text| (text.as_str(), "--where"));
    for (text, place) in common.chain(own.map(|text| (text, given))) {
        let condition = samples.condition(text).map_err(|mut error| {
            error.location.iter_mut().for_each(|position| position.file = place.into());
            Error { message: format!("{given}: {}", error.message), ..error }
        })?;
        chosen = chosen.filter(&condition);
    }
    Ok(chosen)
}
