//! Expands the tables of a sweep into its points.

use super::conditions::{Filter, KnownNames};
use super::memory::{Amount, Machine, Sizes, default_amount};
use super::spec::{Axis, Entries, File, Scalar};
use super::values::{MAX_POINTS, Setting, Values, kernel_id};
use super::{command, launch_spec::LaunchSpec, nodes};
use apexmap_base::distinct::distinct;
use apexmap_base::error::Result;
use apexmap_base::point::Point;
use apexmap_base::toml_file::TomlSource;
use apexmap_base::units::plural;
use apexmap_measure::kernels::{self, Kernel, Ranks, Refusal, command::COMMAND};
use apexmap_results::table::columns::point_label;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use toml::Spanned;

#[derive(Clone)]
struct Column {
    name: String,
    span: Range<usize>,
    settings: Vec<Setting>,
}

/// Columns that advance together, all with the same length.
type Dial = Vec<Column>;

/// All combinations of its dials.
struct AxisGrid {
    dials: Vec<Dial>,
    span: Range<usize>,
}

impl AxisGrid {
    fn replace_ranks(&mut self, ranks: &[Setting]) {
        match self.dials.iter_mut().find(|dial| dial.iter().any(|column| column.name == "ranks")) {
            Some(dial) => dial.iter_mut().for_each(|column| {
                let repeated = |setting: &Setting| {
                    if column.name == "ranks" { ranks.to_vec() } else { vec![setting.clone(); ranks.len()] }
                };
                column.settings = column.settings.iter().flat_map(repeated).collect();
            }),
            None => self.dials.push(vec![Column { name: "ranks".into(), span: 0..0, settings: ranks.to_vec() }]),
        }
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        self.dials.iter().flatten()
    }

    fn count(&self) -> f64 {
        self.dials.iter().map(|dial| dial[0].settings.len() as f64).product()
    }
}

/// The points of a sweep, completed, without duplicates, in the order of the file. All ranks are on one node by default.
pub fn points(file: &File, machine: Machine, launch: &LaunchSpec, page: &TomlSource) -> Result<Vec<Point>> {
    let values = Values { page, kernels: select_kernels(file, page)?, machine };
    let sizes = Sizes { machine: &values.machine, ranks_per_node: launch.ranks_per_node };
    let mut grids = grids(file, &values)?;
    let ranks = file.ranks.iter().map(|ranks| values.setting("ranks", ranks, 0..0)).collect::<Result<Vec<_>>>()?;
    if !ranks.is_empty() {
        grids.iter_mut().for_each(|grid| grid.replace_ranks(&ranks));
    }
    grids.iter().try_for_each(|grid| check_nodes(grid, launch, page))?;
    // A real number, because products of long lists overflow an integer.
    let count: f64 = grids.iter().map(AxisGrid::count).sum();
    if count > MAX_POINTS as f64 {
        let mut sizes: Vec<_> = grids.iter().flat_map(AxisGrid::columns).map(|c| (c.settings.len(), c)).collect();
        sizes.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let place = sizes.first().map_or(0..0, |(_, column)| column.span.clone());
        let sizes: Vec<_> =
            sizes.iter().map(|(length, column)| format!("{} ({length})", column.name)).take(3).collect();
        return Err(page.error_at(
            place,
            format!("the sweep has {} points, more than {MAX_POINTS}", apexmap_base::units::short_number(count)),
            format!("use fewer values; the longest lists are {}", sizes.join(", ")),
        ));
    }
    let known_names = KnownNames::new(file, &values.kernels, page)?;
    let command = command::specification(file, values.takes_any_name(), page)?;
    let filter = Filter::new(file, &known_names, launch.transport, page)?;
    let (mut expanded, mut refused_points) = (Vec::new(), RefusedPoints::default());
    for grid in &grids {
        combinations(grid, |position| {
            let point = point(grid, position, sizes, command.as_deref(), ranks.is_empty());
            if filter.accepts(&point) {
                match kernels::complete(point).and_then(|point| nodes::check_point(point, launch)) {
                    Ok(point) => expanded.push(point),
                    Err(refusal) => {
                        refused_points
                            .add(refusal, || self::point(grid, position, sizes, command.as_deref(), ranks.is_empty()));
                    }
                }
            }
        });
    }
    refused_points.check(&grids, expanded.len(), page)?;
    let mut seen = HashSet::new();
    // The text of a point also distinguishes numbers from words.
    let points: Vec<Point> = expanded.into_iter().filter(|point| seen.insert(format!("{point:?}"))).collect();
    if points.is_empty() {
        let place = file.conditions.first().or(file.exclude.first()).map_or(0..0, Spanned::span);
        let message = match count {
            1.0 => "the only point does not meet the conditions".to_owned(),
            count => format!("none of the {count} points meets the conditions"),
        };
        return Err(page.error_at(place, message, "relax where and exclude"));
    }
    check_launches(file, launch, points.len(), page)?;
    Ok(points)
}

/// Every launch measures all points of its size again.
fn check_launches(file: &File, launch: &LaunchSpec, points: usize, page: &TomlSource) -> Result<()> {
    let (points_text, max_launches) = (plural(points, "point"), MAX_POINTS / points.max(1));
    match &file.launch.launches {
        Some(launches) if launch.launches as usize > max_launches => Err(page.error_at(
            launches.span(),
            format!("{} launches of {points_text} are more than {MAX_POINTS} points in total", launch.launches),
            format!("write launches = {max_launches} or less, or use fewer points"),
        )),
        _ => Ok(()),
    }
}

/// The kernels that the file names in any table, in the order of the program's list.
pub(super) fn select_kernels(file: &File, page: &TomlSource) -> Result<Vec<&'static Kernel>> {
    let mut ids = BTreeSet::new();
    let mut add_kernel = |scalar: &Scalar, span| kernel_id(scalar, span, page).map(|id| ids.insert(id.to_string()));
    for (_, scalar) in file.fixed.entries.iter().filter(|(name, _)| name.get_ref() == "kernel") {
        add_kernel(scalar.get_ref(), scalar.span())?;
    }
    let tables = file.together.iter().chain(&file.include).map(Spanned::get_ref).chain([&file.axes]);
    for axis in
        tables.flat_map(|table| table.iter()).filter(|(name, _)| name.get_ref() == "kernel").map(|(_, axis)| axis)
    {
        match axis.get_ref() {
            Axis::One(scalar) => _ = add_kernel(scalar, axis.span())?,
            Axis::List(list) => {
                for scalar in list {
                    add_kernel(scalar.get_ref(), scalar.span())?;
                }
            }
            Axis::Range(_) => {
                return Err(page.error_at(axis.span(), "kernels have no range", "write a list of kernels"));
            }
        }
    }
    if ids.is_empty() {
        let kernel_ids: Vec<_> = kernels::ALL.iter().map(|kernel| kernel.id).collect();
        let advice =
            format!("add kernel = \"{}\" to [fixed]; the kernels are {}", kernel_ids[0], kernel_ids.join(", "));
        return Err(page.error_at(0..0, "the sweep names no kernel", advice));
    }
    let kernels: Vec<&Kernel> = kernels::ALL.iter().copied().filter(|kernel| ids.contains(kernel.id)).collect();
    match kernels.iter().find(|kernel| kernel.has_own_parameters) {
        Some(kernel) if kernels.len() > 1 => {
            let message =
                format!("the kernel {} has parameters of its own, so that it is the only one of a sweep", kernel.id);
            Err(page.error_at(0..0, message, "sweep the other kernels in a separate file"))
        }
        _ => Ok(kernels),
    }
}

fn grids(file: &File, values: &Values) -> Result<Vec<AxisGrid>> {
    let fixed: Vec<Dial> = (sort_by_position(&file.fixed.entries).into_iter())
        .map(|(name, scalar)| {
            let text = values.name(name)?;
            let settings = vec![values.setting(&text, scalar.get_ref(), scalar.span())?];
            Ok(vec![Column { name: text, span: name.span(), settings }])
        })
        .collect::<Result<_>>()?;
    let mut varied: Vec<Dial> = columns(&file.axes, values)?.into_iter().map(|column| vec![column]).collect();
    for table in &file.together {
        varied.push(dial_of_table(table, values)?);
    }
    let swept: Vec<String> = varied.iter().flatten().map(|column| column.name.clone()).collect();

    let mut grids = Vec::new();
    if !varied.is_empty() || file.include.is_empty() {
        grids.push(AxisGrid { dials: fixed.iter().cloned().chain(varied).collect(), span: 0..0 });
    }
    for table in &file.include {
        let own_columns = columns(table.get_ref(), values)?;
        let kept_dials =
            fixed.iter().filter(|dial| own_columns.iter().all(|column| column.name != dial[0].name)).cloned();
        let dials: Vec<Dial> = kept_dials.chain(own_columns.iter().map(|column| vec![column.clone()])).collect();
        grids.push(AxisGrid { dials, span: table.span() });
        check_include(&grids[grids.len() - 1], &swept, values)?;
    }
    grids.iter().try_for_each(|grid| check_once(grid, values.page))?;
    match grids.iter().find(|grid| grid.columns().all(|column| column.name != "kernel")) {
        Some(grid) => {
            Err(values.page.error_at(grid.span.clone(), "these points have no kernel", "add kernel = ... to [fixed]"))
        }
        None => Ok(grids),
    }
}

fn dial_of_table(table: &Spanned<Entries<Axis>>, values: &Values) -> Result<Dial> {
    let dial = columns(table.get_ref(), values)?;
    let [first, rest @ ..] = dial.as_slice() else {
        let advice = "add parameters, or remove the table";
        return Err(values.page.error_at(table.span(), "this table has no parameters", advice));
    };
    let length = first.settings.len();
    if let Some(other) = rest.iter().find(|column| column.settings.len() != length) {
        let (name, count) = (&other.name, other.settings.len());
        let message = format!(
            "{name} has {}, but {}, which varies together with it, has {length}",
            plural(count, "value"),
            first.name
        );
        return Err(values.page.error_at(other.span.clone(), message, "give all lists of this table one length"));
    }
    Ok(dial)
}

/// Extra points must set the kernel and the ranks if the grid varies them. These are never guessed.
fn check_include(grid: &AxisGrid, swept: &[String], values: &Values) -> Result<()> {
    for names in [&["kernel"][..], &["ranks", "nodes", "ranks_per_node"]] {
        let missing = grid.columns().all(|column| !names.contains(&column.name.as_str()));
        if let Some(name) = swept.iter().find(|name| missing && names.contains(&name.as_str())) {
            let message = format!("the grid varies {name}, but these extra points give no value for it");
            return Err(values.page.error_at(grid.span.clone(), message, format!("add {name} = ... to this table")));
        }
    }
    Ok(())
}

fn check_nodes(grid: &AxisGrid, launch: &LaunchSpec, page: &TomlSource) -> Result<()> {
    nodes::check(&|name| grid.columns().find(|column| column.name == name).map(|c| c.span.clone()), launch, page)
}

fn check_once(grid: &AxisGrid, page: &TomlSource) -> Result<()> {
    let mut seen: BTreeMap<&str, &Column> = BTreeMap::new();
    for column in grid.columns() {
        if let Some(first) = seen.insert(&column.name, column) {
            let (first, second) = if first.span.start < column.span.start { (first, column) } else { (column, first) };
            return Err(page.error_at(
                second.span.clone(),
                format!("{} is set twice, here and in line {}", column.name, page.line_number(first.span.start)),
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
    sort_by_position(table).into_iter().map(column).collect()
}

fn sort_by_position<T>(table: &Entries<T>) -> Vec<(&Spanned<String>, &Spanned<T>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

/// Calls `visit` with every combination of a grid's dials. The last dial moves fastest.
fn combinations(grid: &AxisGrid, mut visit: impl FnMut(&[usize])) {
    let mut position = vec![0; grid.dials.len()];
    loop {
        visit(&position);
        let Some(dial) =
            (0..position.len()).rev().find(|&dial| position[dial] + 1 < grid.dials[dial][0].settings.len())
        else {
            return;
        };
        position[dial] += 1;
        position[dial + 1..].fill(0);
    }
}

/// It has only its kernel's parameters, which are not yet checked together.
fn point(grid: &AxisGrid, position: &[usize], sizes: Sizes, command: Option<&str>, has_own_ranks: bool) -> Point {
    let setting = |name: &str| {
        let mut columns =
            grid.dials.iter().zip(position).flat_map(|(dial, &position)| dial.iter().map(move |c| (c, position)));
        columns.find(|(column, _)| column.name == name).map(|(column, position)| &column.settings[position])
    };
    let id = setting("kernel").map(|s| s.value.to_string()).unwrap_or_default();
    let number = |name: &str| setting(name).and_then(|s| s.value.as_f64()).map(|number| number as usize);
    let core_node = setting("ranks").filter(|s| s.amount == Amount::OneNumaNode).and_then(|_| number("core_node"));
    let keeps_one = !has_own_ranks && kernels::find(&id).is_ok_and(|kernel| kernel.ranks == Ranks::One);
    let ranks = if keeps_one { Some(1) } else { number("ranks") };
    let ranks = core_node.and_then(|node| sizes.machine.numa_cores.get(&node).copied()).or(ranks);
    let mut point = nodes::point_on_nodes(&id, ranks, number("nodes"), number("ranks_per_node"), sizes.ranks_per_node);
    let ranks = point.ranks;
    let node = |name: &str| Some((name.to_owned(), setting(name)?.value.clone()));
    point.params.extend(["memory_node", "core_node"].into_iter().filter_map(node));
    let parameters = kernels::find(&id).map_or(&[][..], |kernel| kernel.parameters);
    for parameter in parameters {
        let value = setting(parameter.name).map_or_else(|| parameter.default_value(), |s| Some(s.value_on(ranks)));
        point.params.extend(value.map(|value| (parameter.name.to_owned(), value)));
    }
    for parameter in parameters {
        let amount = setting(parameter.name).map_or_else(|| default_amount(parameter), |setting| setting.amount);
        let words = sizes.words(&point, parameter, amount);
        point.params.extend(words.map(|words| (parameter.name.to_owned(), words.into())));
    }
    if let Some(command) = command {
        let own = grid.columns().map(|column| column.name.as_str()).filter(|name| !["kernel", "ranks"].contains(name));
        let values = own.filter_map(|name| Some((name.to_owned(), setting(name)?.value.clone())));
        point.params.extend(values.chain([(COMMAND.to_owned(), command.into())]));
    }
    kernels::choose_defaults(&mut point);
    point
}

/// Points that pass the conditions but cannot run.
#[derive(Default)]
struct RefusedPoints {
    count: usize,
    /// The first point of each kind.
    first: Vec<(Point, Refusal)>,
}

impl RefusedPoints {
    fn add(&mut self, refusal: Refusal, point: impl Fn() -> Point) {
        self.count += 1;
        if self.first.iter().all(|(_, other)| (other.kind, &other.names) != (refusal.kind, &refusal.names)) {
            self.first.push((point(), refusal));
        }
    }

    fn check(&self, grids: &[AxisGrid], accepted: usize, page: &TomlSource) -> Result<()> {
        let Some((point, refusal)) = self.first.first() else { return Ok(()) };
        let mut message = match self.count {
            1 => "a point of this sweep cannot be run".to_owned(),
            count => {
                format!("{count} of {} points of this sweep cannot be run; the first of each kind", count + accepted)
            }
        };
        for (point, refusal) in &self.first {
            message.push_str(&format!(":\n{refusal}\n(at {})", point_label(point, |_| true)));
        }
        // The parameters at fault that the sweep varies distinguish the points.
        let is_named = |name: &str| name == "kernel" || refusal.names.contains(&name);
        let mut varied: Vec<&Column> = grids.iter().flat_map(AxisGrid::columns).filter(|c| is_named(&c.name)).collect();
        varied.sort_by_key(|column| (std::cmp::Reverse(column.settings.len()), column.name == "kernel"));
        let several = varied.iter().filter(|column| column.settings.len() > 1);
        let terms = distinct(several.filter_map(|column| match column.name.as_str() {
            "kernel" => Some(format!("kernel == \"{}\"", point.kernel)),
            "ranks" => Some(format!("P == {}", point.ranks)),
            name => point.params.get(name).map(|value| format!("{name} == {value}")),
        }));
        let advice = match terms.is_empty() {
            true => "change the parameter, or leave such points out with a condition in where or exclude".to_owned(),
            false => format!(
                "change the parameters, or leave such points out with a condition at the top of the file: \
                 exclude = ['{}'] leaves out the first",
                terms.join(" && ")
            ),
        };
        Err(page.error_at(varied.first().map_or(0..0, |column| column.span.clone()), message, advice))
    }
}
