//! `apexmap models`: lists and describes the models and the published machines.

use super::predict::value_text;
use apexmap_base::error::{Error, Result};
use apexmap_base::name_lookup::{NameMatch, look_up};
use apexmap_base::terminal::{family_index, print, terminal_width};
use apexmap_base::text_table::{Align, TextTable};
use apexmap_base::units::amount;
use apexmap_pages::html::Drawing;
use apexmap_study::model_fit::nic;
use apexmap_theory::machine::{self, Card};
use apexmap_theory::models::{ALL, Model, published::published_machines};
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  apexmap models                                      list the models
  apexmap models random_access                        describe the models of a family
  apexmap models random_access.hypercube
  apexmap models message_rate.nic --figures figures   also draw Figures 11 to 13 of its paper")]
pub struct Arguments {
    /// Family or model, such as random_access or random_access.hypercube [default: one line per model]
    #[arg(value_name = "FAMILY|ID")]
    model: Option<String>,
    /// Draw the figures of the model's paper into this folder, as SVG and PNG
    #[arg(long, value_name = "FOLDER", requires = "model")]
    figures: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let lines: Vec<(&str, &str)> = ALL.iter().map(|model| (model.about().id, model.about().summary)).collect();
    let mut text = String::new();
    let Some(wanted) = &arguments.model else {
        text.push_str(&family_index(&lines));
        text.push_str("\nDetails: apexmap models FAMILY|ID\n\nPublished machines, for --machine:\n");
        let mut table = meaning_table(2);
        for (name, _) in machine::PUBLISHED {
            let card = Card::find(name)?;
            let usable = ALL.iter().filter_map(|model| {
                let machines = published_machines(*model);
                let limit = machines.iter().find_map(|machine| machine.strip_prefix(name))?;
                Some(format!("{}{limit}", model.about().id))
            });
            let usable: Vec<String> = usable.collect();
            let usable = if usable.is_empty() { "none".to_owned() } else { usable.join(", ") };
            table.add_row([*name, &format!("{} ({}); models: {usable}", card.summary, card.source)]);
        }
        return print(&(text + &table.to_string()));
    };
    if machine::is_published(wanted) {
        let help =
            format!("`apexmap card {wanted}` shows its numbers; `apexmap models` lists the models that use them");
        return Err(Error::input(format!("{wanted} is a machine, not a model"), help));
    }
    let entries = match look_up("model", wanted, &lines)? {
        NameMatch::Entries(entries) => entries,
        NameMatch::Mentioned(lines) => return print(&family_index(&lines)),
    };
    for model in entries.iter().map(|&index| ALL[index]) {
        describe(model, &mut text);
        if let Some(folder) = &arguments.figures {
            draw(model, folder, &mut text)?;
        }
    }
    print(&text)
}

fn draw(model: &dyn Model, folder: &Path, text: &mut String) -> Result<()> {
    if !nic::belong_to(model) {
        let message = format!("apexmap does not have the figures of the paper of {}", model.about().id);
        return Err(Error::input(message, "use message_rate.nic, or draw a fit with apexmap fit --figures"));
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::file("create", folder, e))?;
    for drawing in nic::paper_figures()? {
        Drawing::new(drawing.figure, drawing.file, drawing.title, drawing.caption).picture(folder)?;
        let _ = writeln!(text, "{}", folder.join(drawing.file).with_extension("svg").display());
    }
    Ok(())
}

fn meaning_table(indent: usize) -> TextTable {
    TextTable::new([Align::Left; 2]).with_indent(indent).with_width(terminal_width())
}

fn describe(model: &dyn Model, text: &mut String) {
    let about = model.about();
    let _ = writeln!(text, "{}\n  {}", about.id, about.summary);
    let _ = writeln!(text, "  source: {}, \"{}\", {}", about.source.authors, about.source.title, about.place);
    let _ = writeln!(text, "  assumes: {}", about.assumes);
    if !about.explains.is_empty() {
        let _ = writeln!(text, "  explains: {} of {}", about.column, about.explains.join(", "));
    }
    let machines = published_machines(model);
    let machines = if machines.is_empty() {
        "no card has all parameters; fit them, or write a card".to_owned()
    } else {
        machines.join(", ")
    };
    let _ = writeln!(text, "  published machines: {machines}");
    let (mut variables, mut parameters) = (meaning_table(4), meaning_table(4));
    for variable in about.variables {
        let default =
            variable.default.map_or(String::new(), |value| format!("; default {}", value_text(variable, value)));
        let words = if variable.words.is_empty() { String::new() } else { format!(": {}", variable.words.join(", ")) };
        variables.add_row([variable.name, &format!("{}{words}{default}", variable.meaning)]);
    }
    for parameter in about.parameters {
        let typical = format!("; {} if unknown", amount(parameter.first_guess, parameter.unit()));
        let given = match (parameter.is_given, parameter.is_first_guess_typical) {
            (false, _) => String::new(),
            (true, is_typical) => format!(" (not fitted{})", if is_typical { &typical } else { "" }),
        };
        parameters.add_row([parameter.number, &format!("{}: {}{given}", parameter.symbol, parameter.meaning())]);
    }
    let _ = writeln!(text, "  variables:\n{variables}  numbers of the machine:\n{parameters}");
}
