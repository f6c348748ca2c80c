//! Finds the imports between source files. Resolves every path in the code to the file that defines its target,
//! including nested braces, re-exports (`pub use`), glob imports and names imported earlier.

use std::collections::{BTreeMap, BTreeSet};

/// A path of a file relative to `src/`: `explore/store/mod.rs`.
pub type File = String;

/// A module: its file, its code, its declarations and its imports.
struct Module {
    file: File,
    code: String,
    /// Modules that it declares.
    children: BTreeSet<String>,
    /// Imported names, with their full paths.
    names: BTreeMap<String, Vec<String>>,
    /// Paths of glob imports.
    globs: Vec<Vec<String>>,
}

/// All modules of a crate by their paths.
pub struct Crate {
    modules: BTreeMap<Vec<String>, Module>,
    /// Files of exported macros. They are called by the crate's name, but their code is in a module.
    macros: BTreeMap<String, File>,
}

/// The path of the module that defines the target of an import.
type Place = Vec<String>;

impl Crate {
    /// Parses the sources: pairs of a path relative to `src/` and the file's text.
    pub fn new(sources: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut result = Self { modules: BTreeMap::new(), macros: BTreeMap::new() };
        for (file, text) in sources {
            let code = strip_comments_and_strings(&text);
            for (position, _) in code.match_indices("#[macro_export]") {
                let name =
                    code[position..].split_once("macro_rules!").map_or("", |(_, rest)| identifier(rest.trim_start()));
                result.macros.insert(name.to_owned(), file.clone());
            }
            let (names, globs) = uses(&code);
            let children = declared_modules(&code);
            result.modules.insert(module_of(&file), Module { file, code, children, names, globs });
        }
        result
    }

    /// Returns the imported files of each file.
    pub fn imports(&self) -> BTreeMap<File, BTreeSet<File>> {
        let mut imports = BTreeMap::new();
        for (place, module) in &self.modules {
            let mut imported: BTreeSet<File> = BTreeSet::new();
            let paths = module.names.values().cloned().chain(module.globs.iter().cloned()).chain(paths(&module.code));
            for path in paths {
                imported.extend(self.file_of(place, &path, 0));
            }
            for glob in &module.globs {
                imported.extend(self.resolve_glob(place, glob, &module.code));
            }
            imported.remove(&module.file);
            imports.insert(module.file.clone(), imported);
        }
        imports
    }

    /// Returns the file that defines the target of a path, or none if it is in another crate.
    fn file_of(&self, from: &[String], path: &[String], depth: usize) -> Option<File> {
        if let [root, name, ..] = path
            && root == "crate"
            && let Some(file) = self.macros.get(name)
        {
            return Some(file.clone());
        }
        let place = self.place(from, path, depth)?;
        Some(self.modules.get(&place)?.file.clone())
    }

    fn place(&self, from: &[String], path: &[String], depth: usize) -> Option<Place> {
        // An import of a name from itself would recurse without end.
        if depth > 20 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.resolve_in(&[], rest, depth),
            "self" => self.resolve_in(from, rest, depth),
            "super" => self.resolve_in(&from[..from.len().checked_sub(1)?], rest, depth),
            name => {
                let module = &self.modules[from];
                match module.names.get(name) {
                    _ if module.children.contains(name) => self.resolve_in(from, path, depth),
                    Some(known) if known.first().is_some_and(|first| first != name) => {
                        let full_path: Vec<String> = known.iter().chain(rest).cloned().collect();
                        self.place(from, &full_path, depth + 1)
                    }
                    _ => None,
                }
            }
        }
    }

    /// Resolves `path` as seen from outside of a module.
    fn resolve_in(&self, module: &[String], path: &[String], depth: usize) -> Option<Place> {
        let Some((name, rest)) = path.split_first() else { return Some(module.to_vec()) };
        if name == "super" {
            return self.resolve_in(&module[..module.len().checked_sub(1)?], rest, depth);
        }
        let child: Place = module.iter().chain([name]).cloned().collect();
        if self.modules.contains_key(&child) {
            return self.resolve_in(&child, rest, depth);
        }
        let current = self.modules.get(module)?;
        if let Some(target) = current.names.get(name) {
            let full_path: Vec<String> = target.iter().chain(rest).cloned().collect();
            return self.place(module, &full_path, depth + 1).or_else(|| Some(module.to_vec()));
        }
        Some(module.to_vec())
    }

    /// Returns the files that define the names used in the code and imported by a glob.
    fn resolve_glob(&self, from: &[String], glob: &[String], code: &str) -> Vec<File> {
        let Some(module) = self.place(from, glob, 0).and_then(|place| self.modules.get(&place)) else {
            return Vec::new();
        };
        let place = module_of(&module.file);
        let words: BTreeSet<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let used = module.names.iter().filter(|(name, _)| words.contains(name.as_str()));
        used.filter_map(|(_, path)| self.file_of(&place, path, 0)).collect()
    }
}

/// Converts `explore/store/mod.rs` to `["explore", "store"]`, and the crate's root to an empty path.
fn module_of(file: &str) -> Place {
    let mut place: Place = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if place.last().is_some_and(|last| last == "mod" || last == "lib") {
        place.pop();
    }
    place
}

/// Returns whether a file is the root of a module that contains `other`.
pub fn is_root_above(file: &str, other: &str) -> bool {
    let (root, below) = (module_of(file), module_of(other));
    root.len() < below.len() && below.starts_with(&root)
}

/// Returns groups of files that import each other, directly or indirectly.
///
/// Imports from the root of an enclosing module do not count. A root declares the common items of its files and lists
/// them, as `kernels/mod.rs` has the trait `Kernel` and the list of all kernels.
pub fn cycles(imports: &BTreeMap<File, BTreeSet<File>>) -> Vec<BTreeSet<File>> {
    let reached = |start: &File| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(file) = open.pop() {
            for next in imports.get(file).into_iter().flatten().filter(|next| !is_root_above(next, file)) {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&File, BTreeSet<File>> = imports.keys().map(|file| (file, reached(file))).collect();
    let mutual = |file: &File| -> BTreeSet<File> {
        reached[file]
            .iter()
            .filter(|other| reached.get(other).is_some_and(|files| files.contains(file)))
            .cloned()
            .collect()
    };
    let cycles: BTreeSet<BTreeSet<File>> = imports.keys().map(mutual).filter(|circle| !circle.is_empty()).collect();
    cycles.into_iter().collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub fn identifier(text: &str) -> &str {
    &text[..text.find(|c: char| !is_name(c)).unwrap_or(text.len())]
}

/// Removes comments and the contents of string literals.
fn strip_comments_and_strings(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        let raw = rest.starts_with("r\"") || rest.starts_with("r#\"");
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if raw && !code.ends_with(is_name) {
            let end = if rest.starts_with("r#") { "\"#" } else { "\"" };
            let begin = end.len() + 1;
            rest[begin..].find(end).map_or(rest.len(), |position| begin + position + end.len())
        } else if c == '"' {
            literal_length(rest, '"')
        } else if c == '\'' && (rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'')) {
            literal_length(rest, '\'')
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        rest = &rest[skipped..];
    }
    code
}

/// Returns the length in bytes of a literal in quotation marks.
fn literal_length(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (position, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return position + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the statements that begin with a keyword: the text between the keyword and the semicolon.
fn statements<'a>(code: &'a str, keyword: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(keyword).filter_map(move |(position, _)| {
        let before = code[..position].trim_end_matches([' ', '\n']);
        let begins = before.len() < position
            && (before.is_empty() || before.ends_with([';', '}', '{', ']', ')']) || before.ends_with("pub"));
        (begins || position == 0).then(|| code[position + keyword.len()..].split(';').next().unwrap_or_default())
    })
}

/// Returns the modules that are declared in other files.
fn declared_modules(code: &str) -> BTreeSet<String> {
    statements(code, "mod ").filter(|name| identifier(name).len() == name.len()).map(str::to_owned).collect()
}

/// Returns the imported names with their paths, and the paths of glob imports.
fn uses(code: &str) -> (BTreeMap<String, Vec<String>>, Vec<Vec<String>>) {
    let (mut names, mut globs) = (BTreeMap::new(), Vec::new());
    for tree in statements(code, "use ") {
        let mut leaves = Vec::new();
        unfold(tree, &[], &mut leaves);
        for (path, name) in leaves {
            if name == "*" {
                globs.push(path);
            } else {
                names.insert(name, path);
            }
        }
    }
    (names, globs)
}

/// Collects the leaves of a tree of imports: paths with the names that they get.
fn unfold(tree: &str, prefix: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let with = |segments: &str| -> Vec<String> {
        prefix
            .iter()
            .cloned()
            .chain(segments.split("::").map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()))
            .collect()
    };
    if let Some((head, group)) = tree.split_once('{') {
        let above = with(head);
        let (mut depth, mut start) = (0, 0);
        for (position, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                ',' | '}' if depth == 0 => {
                    unfold(&group[start..position], &above, leaves);
                    start = position + 1;
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    } else if let Some(path) = tree.strip_suffix('*') {
        leaves.push((with(path), "*".into()));
    } else if !tree.is_empty() {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut path = with(path);
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = alias.map_or_else(|| path.last().cloned().unwrap_or_default(), |alias| alias.trim().to_owned());
        leaves.push((path, name));
    }
}

/// Returns all paths of more than one segment in the code.
fn paths(code: &str) -> impl Iterator<Item = Vec<String>> {
    let pieces = code.split(|c: char| !(is_name(c) || c == ':'));
    let paths = pieces.map(|piece| piece.split("::").map(str::to_owned).collect::<Vec<_>>());
    paths.filter(|path| path.len() > 1 && path.iter().all(|name| !name.is_empty() && !name.contains(':')))
}
