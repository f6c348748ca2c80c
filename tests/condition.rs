//! Tests of conditions: their meaning, by an evaluation written for this test, and the place of every error.

use apexmap_base::condition::{Condition, Formula, NameType};
use apexmap_base::error::Error;
use apexmap_base::point::Value;
use apexmap_base::units::Unit;
use proptest::prelude::*;

fn names_and_types() -> Vec<(&'static str, NameType)> {
    let words = |words: &[&str]| NameType::Word(words.iter().map(|&word| word.to_owned()).collect());
    vec![("L", NameType::Number), ("P", NameType::Number), ("pages", words(&["base", "huge"]))]
}

fn parse(text: &str) -> Result<Condition, Error> {
    Condition::parse(text, &names_and_types())
}

/// Returns the values L = 2, P = 3, pages = "base".
fn value_of(name: &str) -> Option<Value> {
    match name {
        "L" => Some(Value::Integer(2)),
        "P" => Some(Value::Real(3.0)),
        "pages" => Some("base".into()),
        _ => None,
    }
}

fn holds(text: &str) -> Option<bool> {
    parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).is_true_for(&value_of)
}

#[test]
fn conditions_are_evaluated_correctly() {
    for text in [
        "L * P <= 6",
        "L == 2",
        "L == 2.0",
        "16 * L > 1e1",
        "1e-1 < L",
        "0x10 == 16",
        ".5 + .5 == 1",
        "P % L == 1",
        "2 ^ 3 ^ 2 == 64",
        "-2 ^ 2 == -4",
        "2 ^ -1 == 0.5",
        "1 - 2 - 3 == -4",
        "12 / 3 / 2 == 2",
        "2 + 3 * 4 == 14",
        "(2 + 3) * 4 == 20",
        "!(L > 2) && P > 1",
        "!false",
        "true",
        "L > 9 || L > 1 && P > 1",
        "(L > 1) == (P > 1)",
        "pages == \"base\"",
        "pages != \"huge\"",
        "pages < \"c\"",
        "\"a\\\"b\\\\\" == \"a\\\"b\\\\\"",
        "L / 0 > 1e308",
        "0 / 0 != 0 / 0",
        "!(0 / 0 >= 0)",
        "((((L)))) == 2",
        "\tL\n== 2 ",
        "9007199254740993 > 9007199254740991",
        "99999999999999999999 > 1e19",
    ] {
        assert_eq!(holds(text), Some(true), "{text}");
    }
    let condition = parse("L + P > 1 || L == P").expect("a condition");
    assert_eq!(condition.names(), ["L", "P"]);
    assert_eq!(condition.is_true_for(&|name| value_of(name).filter(|_| name == "L")), None, "P is absent");
    let sum = parse("L + P > 1").expect("a condition");
    assert_eq!(sum.is_true_for(&|_| Some("word".into())), None, "words instead of numbers");
    // L is 4, and P is absent.
    let with_l = |text: &str| {
        let names = [("L", NameType::Number), ("P", NameType::Number)];
        let condition = Condition::parse(text, &names).expect("a condition");
        condition.is_true_for(&|name| (name == "L").then_some(Value::Integer(4)))
    };
    for (text, truth) in [
        ("L == 4 || P == 1", Some(true)),
        ("P == 1 || L == 4", Some(true)),
        ("L == 5 || P == 1", None),
        ("L == 5 && P == 1", Some(false)),
        ("!(P == 1) && L == 5", Some(false)),
        ("L == 4 && P == 1", None),
        ("!(P == 1)", None),
    ] {
        assert_eq!(with_l(text), truth, "{text}");
    }
}

/// The error must underline the text between the marks.
#[test]
fn every_error_shows_its_place_and_the_expected_text() {
    for (marked, expected_message, expected_advice) in [
        ("»«", "empty", "L * P <= M"),
        ("»  «", "empty", "L * P <= M"),
        ("L »<=« ", "the right side of \"<=\" is missing", "expected a number"),
        ("(L »+« ) > 2", "the right side of \"+\" is missing", "expected a number"),
        ("»*« L > 2", "the left side of \"*\" is missing", "expected a number"),
        ("»max«(L, 2) > 1", "no functions", "L * P <= M"),
        ("L > 1 && »page« == \"base\"", "names \"page\"", "did you mean \"pages\"?"),
        ("L »=« 2", "\"==\"", ""),
        ("L > 1 »&« P > 1", "\"&&\"", ""),
        ("L > 1 »|« P > 1", "\"||\"", ""),
        ("L > 1»;« P > 1", "joined by &&", ""),
        ("L > 1 »and« P > 1", "operator is missing before and", "written &&, || and !"),
        ("(L > 1 »P« > 1)", "operator is missing before P", "written &&, || and !"),
        ("L > 4 »KiB«", "operator is missing before KiB", "a unit if the column has one"),
        ("L > »4KiB«", "cannot read the number 4KiB", "a unit if the column has one"),
        ("L > »1.2.3«", "cannot read the number", ""),
        ("L > »0x«", "cannot read the number", ""),
        ("pages == »'«base'", "double quotes", ""),
        ("pages == »\"base«", "no closing quote", ""),
        ("pages == \"ba»\\s«e\"", "unknown escape", ""),
        ("L > 1 »$« 2", "\"$\" has no meaning", ""),
        ("L »é« 2", "operator is missing", ""),
        ("»(«L > 1", "not closed", "\")\""),
        ("L > 1»)«", "never opened", ""),
        ("(L > 1)»)«", "never opened", ""),
        ("(»)«", "operand is missing", ""),
        ("»L + 1«", "neither true nor false", ""),
        ("»L == \"one\"«", "compares a number with a word", ""),
        ("»1 < L < 3«", "compares a comparison with a number", "a < b && b < c"),
        ("pages == »\"hug\"«", "never \"hug\"", "did you mean \"huge\"?"),
        ("»\"hug\"« != (pages)", "never \"hug\"", "did you mean \"huge\"?"),
        ("L + »pages« > 1", "\"+\" needs a number, but this is a word", ""),
        ("»L« && P > 1", "\"&&\" needs a comparison, but this is a number", ""),
        ("!»L« > 1", "\"!\" needs a comparison, but this is a number", ""),
        ("-»(L > 1)« > 1", "\"-\" needs a number, but this is a comparison", ""),
        ("»(L > 1) < (P > 1)«", "does not apply to comparisons", "&&"),
    ] {
        let start = marked.find('»').expect("a mark");
        let end = marked.find('«').expect("a mark") - '»'.len_utf8();
        let text = marked.replace(['»', '«'], "");
        let error = parse(&text).expect_err(&text);
        let place = error.location.as_ref().expect("a place");
        assert_eq!(place.span, start..end, "{text}");
        assert!(error.message.contains(expected_message) && error.help.contains(expected_advice), "{text}: {error}");
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn a_number_with_a_unit_is_converted_to_the_unit_of_its_name() {
    let names = [
        ("bytes", NameType::Quantity(Unit::Bytes)),
        ("M", NameType::Quantity(Unit::Words)),
        ("n", NameType::Quantity(Unit::None)),
    ];
    let holds = |text: &str| {
        let lookup = |name: &str| Some(Value::Integer(if name == "n" { 3 } else { 4096 }));
        Condition::parse(text, &names).unwrap_or_else(|error| panic!("{text}: {error}")).is_true_for(&lookup)
    };
    for (text, expected) in [
        ("bytes == 4 KiB", true),
        ("4KiB == bytes", true),
        ("M == 32 KiB && bytes < 1 MB", true),
        ("M == 4 kwords", true),
        ("bytes > (4 KiB)", false),
        ("n == 3", true),
    ] {
        assert_eq!(holds(text), Some(expected), "{text}");
    }
    for (text, expected) in [
        ("n == 3 KiB", "KiB is not a unit of n"),
        ("bytes == 2 * 4 KiB", "needs a column"),
        ("-4 KiB < bytes", "needs a column"),
        ("1 KiB < 2 KiB", "needs a column"),
        ("bytes == 4 GHz", "operator is missing"),
    ] {
        let error = Condition::parse(text, &names).expect_err(text);
        assert!(error.message.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_number_compared_with_words_is_answered_by_the_words() {
    let names = [("pages", NameType::Word(vec!["base".into(), "huge".into()])), ("L", NameType::Quantity(Unit::Words))];
    for text in ["pages == 4KiB", "pages == 4096", "2 != pages"] {
        let error = Condition::parse(text, &names).expect_err(text);
        assert_eq!(error.help, "pages is one of \"base\", \"huge\"", "{text}");
    }
    let error = Condition::parse("L == (L < 2)", &names).expect_err("two types");
    assert!(error.help.contains("one type"), "{error}");
}

#[test]
fn deep_nesting_is_refused_and_long_conditions_are_not() {
    for opening in ["(", "!", "-"] {
        let error = parse(&opening.repeat(100_000)).expect_err("deep");
        assert!(error.message.contains("nesting"), "{error}");
    }
    let long = vec!["L > 1"; 100_000].join(" && ");
    assert_eq!(holds(&long), Some(true));
}

/// A numeric expression and a truth value, as trees.
#[derive(Clone, Debug)]
enum Number {
    Constant(f64),
    L,
    P,
    Minus(Box<Number>),
    Operation(Box<Number>, char, Box<Number>),
}

#[derive(Clone, Debug)]
enum Truth {
    Compare(Number, &'static str, Number),
    Pages(&'static str, &'static str),
    Not(Box<Truth>),
    Operation(Box<Truth>, &'static str, Box<Truth>),
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Number::Constant(value) => *value,
            Number::L => 2.0,
            Number::P => 3.0,
            Number::Minus(inner) => -inner.value(),
            Number::Operation(a, operator, b) => {
                let (a, b) = (a.value(), b.value());
                match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a / b,
                    '%' => a % b,
                    _ => a.powf(b),
                }
            }
        }
    }

    /// Formats an expression with the fewest parentheses. The number is its precedence.
    fn text(&self) -> (String, u8) {
        let within = |inner: &Number, least: u8| {
            let (text, binds) = inner.text();
            if binds < least { format!("({text})") } else { text }
        };
        match self {
            Number::Constant(value) => (format!("{value:?}"), 9),
            Number::L => ("L".into(), 9),
            Number::P => ("P".into(), 9),
            Number::Minus(inner) => (format!("-{}", within(inner, 6)), 6),
            Number::Operation(a, operator, b) => {
                let binds = match operator {
                    '+' | '-' => 4,
                    '^' => 7,
                    _ => 5,
                };
                (format!("{}{operator} {}", within(a, binds), within(b, binds + 1)), binds)
            }
        }
    }
}

impl Truth {
    fn value(&self) -> bool {
        match self {
            Truth::Compare(a, operator, b) => {
                let (a, b) = (a.value(), b.value());
                match *operator {
                    "==" => a == b,
                    "!=" => a != b,
                    "<" => a < b,
                    "<=" => a <= b,
                    ">" => a > b,
                    _ => a >= b,
                }
            }
            Truth::Pages(operator, word) => (*word == "base") == (*operator == "=="),
            Truth::Not(inner) => !inner.value(),
            Truth::Operation(a, operator, b) => match *operator {
                "&&" => a.value() && b.value(),
                _ => a.value() || b.value(),
            },
        }
    }

    fn text(&self) -> (String, u8) {
        let within = |inner: &Truth, least: u8| {
            let (text, binds) = inner.text();
            if binds < least { format!("( {text} )") } else { text }
        };
        match self {
            Truth::Compare(a, operator, b) => (format!("{} {operator}{}", a.text().0, b.text().0), 3),
            Truth::Pages(operator, word) => (format!("pages{operator}\"{word}\""), 3),
            Truth::Not(inner) => (format!("!{}", within(inner, 6)), 6),
            Truth::Operation(a, operator, b) => {
                let binds = if *operator == "&&" { 2 } else { 1 };
                (format!("{} {operator} {}", within(a, binds), within(b, binds + 1)), binds)
            }
        }
    }
}

fn number() -> impl Strategy<Value = Number> {
    let leaf = prop_oneof![
        (0.0f64..1e3).prop_map(Number::Constant),
        any::<u64>()
            .prop_map(|bits| Number::Constant(f64::from_bits(bits >> 1)))
            .prop_filter("a number", |number| number.value().is_finite()),
        (0u8..5).prop_map(|small| Number::Constant(f64::from(small))),
        Just(Number::L),
        Just(Number::P),
    ];
    leaf.prop_recursive(6, 40, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Number::Minus(inner.into())),
            (inner.clone(), prop::sample::select(vec!['+', '-', '*', '/', '%', '^']), inner)
                .prop_map(|(a, operator, b)| Number::Operation(a.into(), operator, b.into())),
        ]
    })
}

fn truth() -> impl Strategy<Value = Truth> {
    let compare = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        (number(), compare, number()).prop_map(|(a, operator, b)| Truth::Compare(a, operator, b)),
        (prop::sample::select(vec!["==", "!="]), prop::sample::select(vec!["base", "huge"]))
            .prop_map(|(operator, word)| Truth::Pages(operator, word)),
    ];
    leaf.prop_recursive(5, 30, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| Truth::Not(inner.into())),
            (inner.clone(), prop::sample::select(vec!["&&", "||"]), inner)
                .prop_map(|(a, operator, b)| Truth::Operation(a.into(), operator, b.into())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A printed expression is read back with the value of its tree.
    #[test]
    fn a_printed_expression_parses_to_the_same_value(truth in truth()) {
        let text = truth.text().0;
        prop_assert_eq!(holds(&text), Some(truth.value()), "{}", text);
    }

    #[test]
    fn reading_never_panics_and_errors_lie_within_the_text(
        text in "([LP0-9.e() ^*/%<>=!&|\"'\\\\-]|pages|base|true| é|0x)*",
        any in any::<String>(),
    ) {
        for text in [text, any] {
            match parse(&text) {
                Ok(condition) => _ = condition.is_true_for(&value_of),
                Err(error) => {
                    let span = error.location.expect("a place").span;
                    prop_assert!(text.get(span.clone()).is_some(), "{:?} of {:?}", span, text);
                }
            }
        }
    }
}

#[test]
fn formulas_allow_only_the_arithmetic_of_conditions() {
    let formula = |text: &str| Formula::parse(text, &names_and_types());
    assert_eq!(formula("100 * (P - L) / L ^ 2").expect("a formula").evaluate(&value_of), Some(25.0));
    assert_eq!(formula("L + P").expect("a formula").evaluate(&|name| value_of(name).filter(|_| name == "L")), None);
    for text in ["L < P", "pages", "\"huge\"", "L +"] {
        assert!(formula(text).is_err(), "{text}");
    }
    assert!(formula("true").expect_err("a truth").message.contains("not a number"));
}
