//! `apexmap try`: the largest launch of a sweep for a few seconds, before hours are spent on it.

use super::interrupt::Interrupt;
use super::launching;
use super::setup::{Setup, SweepArguments};
use super::trial;
use apexmap_base::error::{Error, Result};
use apexmap_base::terminal::print;
use apexmap_pages::report::placement;

#[derive(clap::Args)]
#[command(after_help = "Example: apexmap try my.toml --worker target/release/apexmap-worker

It starts the sweep's launcher with as many ranks as its largest launch has, and says where they are, what a barrier takes and what
messages do between the first half of the ranks and the second (of an even number of ranks). It opens no window of remote memory
unless a kernel of the sweep does. Run it where the sweep will run, such as in an allocation. Nothing
of it is kept if all went well. apexmap run does the same first where a sweep has several nodes.")]
pub struct Arguments {
    #[command(flatten)]
    sweep: SweepArguments,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let setup = Setup::new(&arguments.sweep)?;
    if let Some(other) = setup.other_sweep()? {
        return Err(Error::input(
            format!("{} holds the result of another sweep, {other}", setup.folder.display()),
            "name another folder with --out, or begin anew with apexmap run --replace, which keeps that result",
        ));
    }
    let Some(size) = trial::largest(&setup) else { return print("the sweep has no point\n") };
    let (launcher, program) = launching::ready(&setup)?;
    let interrupt = Interrupt::catch();
    let shown = trial::carry_out(&setup, size, (launcher.as_ref(), &program), &|| interrupt.check())?;
    print(&trial::told(&shown.launch, &shown.samples))?;
    let warnings = placement::warnings(&shown.manifest, &shown.samples);
    warnings.iter().try_for_each(|text| print(&format!("warning: {text}\n")))
}
