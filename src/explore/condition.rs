//! Conditions on points, such as `L * P <= M` or `kernel == "apex_map.two_sided" && alpha > 0.5`.
//!
//! Operators: `+ - * / % ^`, `== != < <= > >=`, `&& || !` and parentheses. Numbers are reals in the base units of the
//! parameters (words, bytes, seconds); words stand in quotes.

use crate::error::{Error, Result};
use crate::nearest::suggest;
use crate::point::Value;
use evalexpr::{Context, EvalexprError, EvalexprResult, Node, Operator, Value as Any, build_operator_tree};
use std::ops::Range;
use std::path::Path;

/// What a name in a condition stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Number,
    /// One of these words.
    Word(Vec<String>),
}

/// A checked condition, ready to be asked of many points.
#[derive(Clone, Debug)]
pub struct Condition {
    tree: Node,
    names: Vec<String>,
}

impl Condition {
    /// Reads a condition over the known names.
    ///
    /// Syntax errors, unknown names (with the nearest known one), comparisons of words with numbers and conditions that
    /// are neither true nor false are errors, whose place is a span of `text`.
    pub fn parse(text: &str, known: &[(&str, Kind)]) -> Result<Self> {
        let wrong = |span: Range<usize>, what: String, next: String| {
            Error::input(what, next).at(Path::new("condition"), text, span)
        };
        let all = 0..text.len();
        let mut tree = build_operator_tree(text)
            .map_err(|e| wrong(all.clone(), format!("cannot read the condition: {}", reason(&e)), EXAMPLE.into()))?;
        let mut names: Vec<String> = Vec::new();
        for name in tree.iter_identifiers().map(str::to_owned) {
            let span = find_name(text, &name).unwrap_or(all.clone());
            if tree.iter_function_identifiers().any(|function| function == name) {
                return Err(wrong(span, format!("conditions have no functions, found \"{name}\""), EXAMPLE.into()));
            }
            if !known.iter().any(|(other, _)| *other == name) {
                let others: Vec<_> = known.iter().map(|(other, _)| *other).collect();
                let next = suggest(&name, &others) + "; words stand in quotes";
                return Err(wrong(span, format!("the condition names \"{name}\", which is unknown here"), next));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        integers_to_reals(&mut tree);
        let example = |name: &str| match known.iter().find(|(other, _)| *other == name) {
            Some((_, Kind::Word(words))) => Any::String(words.first().cloned().unwrap_or_default()),
            _ => Any::Float(1.0),
        };
        let values = Values { values: names.iter().map(|name| example(name)).collect(), names: &names };
        let what = match tree.eval_with_context(&values) {
            Ok(Any::Boolean(_)) => check_comparisons(&tree, &values, known),
            Ok(_) => Some("the condition is neither true nor false".into()),
            Err(EvalexprError::ContextNotMutable) => {
                Some("the condition assigns with \"=\" instead of comparing with \"==\"".into())
            }
            Err(e) => Some(format!("the condition cannot be evaluated: {}", reason(&e))),
        };
        match what {
            Some(what) => Err(wrong(all, what, EXAMPLE.into())),
            None => Ok(Self { tree, names }),
        }
    }

    /// The names that it mentions, each once.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the condition is true of the point whose parameters `value` gives.
    ///
    /// `None` if the point lacks a parameter that the condition names (or has it as another kind): the condition does not
    /// apply to it.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<Value>) -> Option<bool> {
        let any = |name: &String| match value(name)? {
            Value::Text(word) => Some(Any::String(word)),
            number => number.as_f64().map(Any::Float),
        };
        let values = Values { values: self.names.iter().map(any).collect::<Option<_>>()?, names: &self.names };
        self.tree.eval_boolean_with_context(&values).ok()
    }
}

const EXAMPLE: &str = "write a comparison such as \"L * P <= M\" or 'pages == \"base\" && alpha > 0.5'";

fn reason(error: &EvalexprError) -> String {
    match error {
        EvalexprError::ExpectedNumber { actual } => format!("a number is needed where {actual} stands"),
        EvalexprError::ExpectedBoolean { actual } => format!("a comparison is needed where {actual} stands"),
        EvalexprError::WrongOperatorArgumentAmount { .. } => "an operator lacks one of its sides".into(),
        EvalexprError::UnmatchedLBrace | EvalexprError::UnmatchedRBrace => "a parenthesis has no partner".into(),
        EvalexprError::AppendedToLeafNode | EvalexprError::PrecedenceViolation => {
            "an operator is missing between two parts; \"and\", \"or\" and \"not\" are written &&, || and !".into()
        }
        other => {
            let text = other.to_string();
            text.trim_end_matches('.').to_owned()
        }
    }
}

/// Integers and reals never compare equal in `evalexpr`, so that `L == 1` would be false of L = 1.0.
fn integers_to_reals(node: &mut Node) {
    if let Operator::Const { value } = node.operator_mut()
        && let Any::Int(number) = *value
    {
        *value = Any::Float(number as f64);
    }
    node.children_mut().iter_mut().for_each(integers_to_reals);
}

/// What is wrong with the equalities of a condition whose every part can be evaluated.
fn check_comparisons(node: &Node, values: &Values, known: &[(&str, Kind)]) -> Option<String> {
    match node.operator() {
        Operator::Chain => return Some("conditions are joined by && or ||, not by \";\"".into()),
        Operator::Eq | Operator::Neq => {
            let sides: Vec<_> = node.children().iter().filter_map(|side| side.eval_with_context(values).ok()).collect();
            if let [left, right] = sides.as_slice()
                && std::mem::discriminant(left) != std::mem::discriminant(right)
            {
                return Some(format!("the condition compares a word with a number or truth: {left} with {right}"));
            }
            if let Some(what) = unknown_word(node.children(), known) {
                return Some(what);
            }
        }
        _ => {}
    }
    node.children().iter().find_map(|child| check_comparisons(child, values, known))
}

/// A word that the name it is compared with never takes: such a condition would silently never hold.
fn unknown_word(sides: &[Node], known: &[(&str, Kind)]) -> Option<String> {
    let name = sides.iter().find_map(|side| match side.operator() {
        Operator::VariableIdentifierRead { identifier } => Some(identifier),
        _ => None,
    })?;
    let word = sides.iter().find_map(|side| match side.operator() {
        Operator::Const { value: Any::String(word) } => Some(word),
        _ => None,
    })?;
    let Some((_, Kind::Word(words))) = known.iter().find(|(other, _)| other == name) else { return None };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    (!words.contains(&word.as_str())).then(|| format!("{name} is never \"{word}\": {}", suggest(word, &words)))
}

/// Where a name stands in the text as a whole word.
fn find_name(text: &str, name: &str) -> Option<Range<usize>> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let whole = |at: usize| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part);
    text.match_indices(name).map(|(at, _)| at).find(|at| whole(*at)).map(|at| at..at + name.len())
}

/// The values of one point, in the order of the condition's names.
struct Values<'a> {
    names: &'a [String],
    values: Vec<Any>,
}

impl Context for Values<'_> {
    fn get_value(&self, name: &str) -> Option<&Any> {
        self.names.iter().position(|other| other == name).map(|at| &self.values[at])
    }

    fn call_function(&self, name: &str, _: &Any) -> EvalexprResult<Any> {
        Err(EvalexprError::FunctionIdentifierNotFound(name.to_owned()))
    }

    fn are_builtin_functions_disabled(&self) -> bool {
        true
    }

    fn set_builtin_functions_disabled(&mut self, _: bool) -> EvalexprResult<()> {
        Err(EvalexprError::BuiltinFunctionsCannotBeEnabled)
    }
}
