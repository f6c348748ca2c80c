//! Expands the tables of a sweep into its points.

use super::distinct::distinct;
use super::memory::{Sizes, default_amount};
use super::nodes;
use super::settings::LaunchSpec;
use super::spec::{Axis, Entries, File, Machine, Scalar};
use super::values::{MOST_POINTS, Setting, Values, kernel_id};
use apexmap_base::condition::{Condition, NameType};
use apexmap_base::error::{Error, Result};
use apexmap_base::point::{Point, Value};
use apexmap_base::toml_file::Page;
use apexmap_base::units::plural;
use apexmap_measure::kernels::{self, Domain, Kernel};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use toml::Spanned;

/// A parameter with its values.
#[derive(Clone)]
struct Column {
    name: String,
    /// The position of the name in the file.
    span: Range<usize>,
    settings: Vec<Setting>,
}

/// Columns that advance together, all with the same length.
type Dial = Vec<Column>;

/// All combinations of its dials.
struct AxisGrid {
    dials: Vec<Dial>,
    /// The position of the table in the file.
    span: Range<usize>,
}

impl AxisGrid {
    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.dials.iter().flatten()
    }

    fn count(&self) -> f64 {
        self.dials.iter().map(|dial| dial[0].settings.len() as f64).product()
    }
}

/// Returns the points of a sweep, completed, without duplicates, in the order of the file.
///
/// Unless `launch` or the point sets the ranks per node, all ranks are on one node.
pub fn points(file: &File, machine: Machine, launch: &LaunchSpec, page: &Page) -> Result<Vec<Point>> {
    let values = Values { page, kernels: selected(file, page)?, machine };
    let sizes = Sizes { machine, ranks_per_node: launch.ranks_per_node };
    let grids = grids(file, &values)?;
    grids.iter().try_for_each(|grid| check_nodes(grid, launch, page))?;
    let count: f64 = grids.iter().map(AxisGrid::count).sum();
    if count > MOST_POINTS as f64 {
        let mut sizes: Vec<_> = grids.iter().flat_map(AxisGrid::columns).map(|c| (c.settings.len(), c)).collect();
        sizes.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let place = sizes.first().map_or(0..0, |(_, column)| column.span.clone());
        let sizes: Vec<_> =
            sizes.iter().map(|(length, column)| format!("{} ({length})", column.name)).take(3).collect();
        return Err(page.wrong(
            place,
            format!("the sweep has {} points, more than {MOST_POINTS}", apexmap_base::units::significant(count)),
            format!("use fewer values; the longest lists are {}", sizes.join(", ")),
        ));
    }
    let filter = Filter::new(file, &values)?;
    let (mut found, mut refused) = (Vec::new(), RefusedPoints::default());
    for grid in &grids {
        combinations(grid, |at| {
            let point = point(grid, at, sizes);
            if filter.keeps(&point) {
                match kernels::complete(point).and_then(|point| nodes::on_these(point, launch)) {
                    Ok(point) => found.push(point),
                    Err(reason) => refused.add(reason, || self::point(grid, at, sizes)),
                }
            }
        });
    }
    refused.check(&grids, found.len(), page)?;
    let points = distinct(found);
    if points.is_empty() {
        let place = file.conditions.first().or(file.exclude.first()).map_or(0..0, Spanned::span);
        let what = match count {
            1.0 => "the only point does not meet the conditions".to_owned(),
            count => format!("none of the {count} points meets the conditions"),
        };
        return Err(page.wrong(place, what, "relax where and exclude"));
    }
    check_launches(file, launch, points.len(), page)?;
    Ok(points)
}

/// Limits the total number of points, because every launch measures all points of its size again.
fn check_launches(file: &File, launch: &LaunchSpec, points: usize, page: &Page) -> Result<()> {
    let (each, most) = (plural(points, "point"), MOST_POINTS / points.max(1));
    match &file.launch.launches {
        Some(launches) if launch.launches as usize > most => Err(page.wrong(
            launches.span(),
            format!("{} launches of {each} are more than {MOST_POINTS} points in total", launch.launches),
            format!("write launches = {most} or less, or use fewer points"),
        )),
        _ => Ok(()),
    }
}

/// Returns the kernels that the file names in any table, in the order of the program's list.
pub(super) fn selected(file: &File, page: &Page) -> Result<Vec<&'static dyn Kernel>> {
    let mut ids = BTreeSet::new();
    let mut note = |scalar: &Scalar, span| kernel_id(scalar, span, page).map(|id| ids.insert(id.to_string()));
    for (_, scalar) in file.fixed.iter().filter(|(name, _)| name.get_ref() == "kernel") {
        note(scalar.get_ref(), scalar.span())?;
    }
    let tables = file.together.iter().chain(&file.include).map(Spanned::get_ref).chain([&file.axes]);
    for axis in
        tables.flat_map(|table| table.iter()).filter(|(name, _)| name.get_ref() == "kernel").map(|(_, axis)| axis)
    {
        match axis.get_ref() {
            Axis::One(scalar) => _ = note(scalar, axis.span())?,
            Axis::List(list) => {
                for scalar in list {
                    note(scalar.get_ref(), scalar.span())?;
                }
            }
            Axis::Range(_) => {
                return Err(page.wrong(axis.span(), "kernels have no range", "write a list of kernels"));
            }
        }
    }
    if ids.is_empty() {
        let all: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id()).collect();
        let next = format!("add kernel = \"{}\" to [fixed]; the kernels are {}", all[0], all.join(", "));
        return Err(page.wrong(0..0, "the sweep names no kernel", next));
    }
    Ok(kernels::ALL.iter().copied().filter(|kernel| ids.contains(kernel.id())).collect())
}

/// Returns the main grid, and one grid for each include.
fn grids(file: &File, values: &Values) -> Result<Vec<AxisGrid>> {
    let fixed: Vec<Dial> = (in_file_order(&file.fixed).into_iter())
        .map(|(name, scalar)| {
            let text = values.name(name)?;
            let settings = vec![values.setting(&text, scalar.get_ref(), scalar.span())?];
            Ok(vec![Column { name: text, span: name.span(), settings }])
        })
        .collect::<Result<_>>()?;
    let mut varied: Vec<Dial> = columns(&file.axes, values)?.into_iter().map(|column| vec![column]).collect();
    for table in &file.together {
        varied.push(together(table, values)?);
    }
    let swept: Vec<String> = varied.iter().flatten().map(|column| column.name.clone()).collect();

    let mut grids = Vec::new();
    if !varied.is_empty() || file.include.is_empty() {
        grids.push(AxisGrid { dials: fixed.iter().cloned().chain(varied).collect(), span: 0..0 });
    }
    for table in &file.include {
        let own = columns(table.get_ref(), values)?;
        let kept = fixed.iter().filter(|dial| own.iter().all(|column| column.name != dial[0].name)).cloned();
        let dials: Vec<Dial> = kept.chain(own.iter().map(|column| vec![column.clone()])).collect();
        let grid = AxisGrid { dials, span: table.span() };
        check_include(&grid, &swept, values)?;
        grids.push(grid);
    }
    grids.iter().try_for_each(|grid| check_once(grid, values.page))?;
    match grids.iter().find(|grid| grid.columns().all(|column| column.name != "kernel")) {
        Some(grid) => {
            Err(values.page.wrong(grid.span.clone(), "these points have no kernel", "add kernel = ... to [fixed]"))
        }
        None => Ok(grids),
    }
}

/// Returns the dial of a `[[together]]` table.
fn together(table: &Spanned<Entries<Axis>>, values: &Values) -> Result<Dial> {
    let dial = columns(table.get_ref(), values)?;
    let [first, rest @ ..] = dial.as_slice() else {
        let next = "add parameters, or remove the table";
        return Err(values.page.wrong(table.span(), "this table has no parameters", next));
    };
    let length = first.settings.len();
    if let Some(other) = rest.iter().find(|column| column.settings.len() != length) {
        let (name, count) = (&other.name, other.settings.len());
        let what = format!(
            "{name} has {}, but {}, which varies together with it, has {length}",
            plural(count, "value"),
            first.name
        );
        return Err(values.page.wrong(other.span.clone(), what, "give all lists of this table one length"));
    }
    Ok(dial)
}

/// Checks that extra points set the kernel and the ranks if the grid varies them. These are never guessed.
fn check_include(grid: &AxisGrid, swept: &[String], values: &Values) -> Result<()> {
    for names in [&["kernel"][..], &["ranks", "nodes", "ranks_per_node"]] {
        let missing = grid.columns().all(|column| !names.contains(&column.name.as_str()));
        if let Some(name) = swept.iter().find(|name| missing && names.contains(&name.as_str())) {
            let what = format!("the grid varies {name}, but these extra points give no value for it");
            return Err(values.page.wrong(grid.span.clone(), what, format!("add {name} = ... to this table")));
        }
    }
    Ok(())
}

fn check_nodes(grid: &AxisGrid, launch: &LaunchSpec, page: &Page) -> Result<()> {
    nodes::check(&|name| grid.columns().find(|column| column.name == name).map(|c| c.span.clone()), launch, page)
}

/// Checks that each parameter is set only once.
fn check_once(grid: &AxisGrid, page: &Page) -> Result<()> {
    let mut seen: BTreeMap<&str, &Column> = BTreeMap::new();
    for column in grid.columns() {
        if let Some(first) = seen.insert(&column.name, column) {
            let (first, second) = if first.span.start < column.span.start { (first, column) } else { (column, first) };
            return Err(page.wrong(
                second.span.clone(),
                format!("{} is set twice, here and in line {}", column.name, page.line(first.span.start)),
                "keep one of the two",
            ));
        }
    }
    Ok(())
}

fn columns(table: &Entries<Axis>, values: &Values) -> Result<Vec<Column>> {
    let column = |(name, axis): (&Spanned<String>, &Spanned<Axis>)| {
        let text = values.name(name)?;
        Ok(Column { settings: values.settings(&text, axis)?, name: text, span: name.span() })
    };
    in_file_order(table).into_iter().map(column).collect()
}

fn in_file_order<T>(table: &Entries<T>) -> Vec<(&Spanned<String>, &Spanned<T>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// Calls `visit` with every combination of a grid's dials. The last dial moves fastest.
fn combinations(grid: &AxisGrid, mut take: impl FnMut(&[usize])) {
    let mut at = vec![0; grid.dials.len()];
    loop {
        take(&at);
        let Some(dial) = (0..at.len()).rev().find(|&dial| at[dial] + 1 < grid.dials[dial][0].settings.len()) else {
            return;
        };
        at[dial] += 1;
        at[dial + 1..].fill(0);
    }
}

/// Returns the point at these positions of the dials. It has only its kernel's parameters, and these are not yet checked
/// together.
fn point(grid: &AxisGrid, at: &[usize], sizes: Sizes) -> Point {
    let setting = |name: &str| {
        let mut columns = grid.dials.iter().zip(at).flat_map(|(dial, &at)| dial.iter().map(move |c| (c, at)));
        columns.find(|(column, _)| column.name == name).map(|(column, at)| &column.settings[at])
    };
    let id = setting("kernel").map(|s| s.value.to_string()).unwrap_or_default();
    let number = |name: &str| setting(name).and_then(|s| s.value.as_f64()).map(|number| number as usize);
    let mut point =
        nodes::spread(&id, number("ranks"), number("nodes"), number("ranks_per_node"), sizes.ranks_per_node);
    let ranks = point.ranks;
    for name in ["memory_node", "core_node"] {
        point.params.extend(setting(name).map(|s| (name.to_owned(), s.value.clone())));
    }
    for parameter in kernels::find(&id).map_or(&[][..], |kernel| kernel.parameters()) {
        let value = setting(parameter.name).map_or_else(|| parameter.default_value(), |s| Some(s.on(ranks)));
        point.params.extend(value.map(|value| (parameter.name.to_owned(), value)));
    }
    for parameter in kernels::find(&id).map_or(&[][..], |kernel| kernel.parameters()) {
        let asked = setting(parameter.name).map_or_else(|| default_amount(parameter), |setting| setting.amount);
        let words = sizes.words(&point, parameter, asked);
        point.params.extend(words.map(|words| (parameter.name.to_owned(), words.into())));
    }
    kernels::choose(&mut point);
    point
}

/// The conditions of a sweep.
struct Filter {
    required: Vec<Condition>,
    excluded: Vec<Condition>,
}

impl Filter {
    fn new(file: &File, values: &Values) -> Result<Self> {
        let parse = |texts: &[Spanned<String>]| -> Result<Vec<Condition>> {
            texts.iter().map(|text| condition(text, &values.kernels, values.page)).collect()
        };
        Ok(Self { required: parse(&file.conditions)?, excluded: parse(&file.exclude)? })
    }

    fn keeps(&self, point: &Point) -> bool {
        let value = |name: &str| match name {
            "kernel" => Some(Value::from(point.kernel.as_str())),
            "ranks" | "P" => Some(Value::Integer(point.ranks as u64)),
            _ => point.params.get(name).cloned(),
        };
        self.required.iter().all(|condition| condition.holds(&value) != Some(false))
            && self.excluded.iter().all(|condition| condition.holds(&value) != Some(true))
    }
}

/// Parses a condition about the points of some kernels.
pub(super) fn condition(text: &Spanned<String>, kernels: &[&dyn Kernel], page: &Page) -> Result<Condition> {
    let words = |words: &[&str]| NameType::Word(words.iter().map(|&word| word.to_owned()).collect());
    let ids: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id()).collect();
    let mut known = vec![("kernel", words(&ids)), ("ranks", NameType::Number), ("P", NameType::Number)];
    known.extend(kernels::OF_LAUNCHES.map(|parameter| (parameter.name, NameType::Number)));
    for parameter in kernels.iter().flat_map(|kernel| kernel.parameters()) {
        if known.iter().all(|(name, _)| *name != parameter.name) {
            known.push((
                parameter.name,
                if let Domain::Choice(w) = parameter.domain { words(w) } else { NameType::Number },
            ));
        }
    }
    Condition::parse(text.get_ref(), &known).map_err(|e| placed(e, text, page))
}

/// Moves an error within a condition to its place in the file.
fn placed(error: Error, condition: &Spanned<String>, page: &Page) -> Error {
    let inner = error.place.as_ref().map_or(0..0, |place| place.span.clone());
    // Escapes in the text would shift the place, so the whole text is underlined then.
    let start = page.text[condition.span()].find(condition.get_ref().as_str()).map(|at| condition.span().start + at);
    let span = start.map_or(condition.span(), |start| start + inner.start..start + inner.end);
    error.at(page.path, page.text, span)
}

/// Points that pass the conditions but cannot run.
#[derive(Default)]
struct RefusedPoints {
    count: usize,
    /// The first point of each kind, with its reason. A kind is a reason without its numbers.
    first: Vec<(String, Point, String)>,
}

impl RefusedPoints {
    fn add(&mut self, reason: String, point: impl Fn() -> Point) {
        self.count += 1;
        let sort: String = reason.chars().filter(|c| !c.is_ascii_digit()).collect();
        if self.first.iter().all(|(other, ..)| *other != sort) {
            self.first.push((sort, point(), reason));
        }
    }

    fn check(&self, grids: &[AxisGrid], good: usize, page: &Page) -> Result<()> {
        let Some((_, point, reason)) = self.first.first() else { return Ok(()) };
        let mut what = match self.count {
            1 => "a point of this sweep cannot be run".to_owned(),
            count => format!("{count} of {} points of this sweep cannot be run; the first of each kind", count + good),
        };
        for (_, point, reason) in &self.first {
            what.push_str(&format!(":\n{reason}\n(at {})", point.label()));
        }
        // Suggest a condition from the parameters that the reason names and the sweep varies, because these distinguish the
        // points.
        let words: Vec<&str> = reason.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let named = |name: &str| match name {
            "kernel" => true,
            "ranks" => words.iter().any(|word| matches!(*word, "P" | "rank" | "ranks")),
            _ => words.contains(&name),
        };
        let mut varied: Vec<&Column> = grids.iter().flat_map(AxisGrid::columns).filter(|c| named(&c.name)).collect();
        varied.sort_by_key(|column| std::cmp::Reverse(column.settings.len()));
        let mut terms: Vec<String> = Vec::new();
        for column in varied.iter().filter(|column| column.settings.len() > 1) {
            let term = match column.name.as_str() {
                "kernel" => format!("kernel == \"{}\"", point.kernel),
                "ranks" => format!("P == {}", point.ranks),
                name => point.params.get(name).map(|value| format!("{name} == {value}")).unwrap_or_default(),
            };
            if !term.is_empty() && !terms.contains(&term) {
                terms.push(term);
            }
        }
        let next = match terms.is_empty() {
            true => "change the parameter, or leave such points out with a condition in where or exclude".to_owned(),
            false => format!(
                "change the parameters, or leave such points out with a condition at the top of the file: \
                 exclude = ['{}'] leaves out the first",
                terms.join(" && ")
            ),
        };
        Err(page.wrong(varied.first().map_or(0..0, |column| column.span.clone()), what, next))
    }
}
