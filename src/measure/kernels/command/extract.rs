//! Finds numbers in the output of a program.

use super::program::Finished;
use regex::bytes::Regex;
use serde_json::Value;

pub fn find_regex(pattern: &str, finished: &Finished) -> Result<f64, String> {
    let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
    let last = |text| regex.captures_iter(text).last().and_then(|groups| groups.get(1)).map(|group| group.as_bytes());
    let text = last(&finished.output).or_else(|| last(&finished.errors));
    let text = text.ok_or_else(|| format!("the output does not match '{pattern}'"))?;
    let text = String::from_utf8_lossy(text).trim().replace(',', "");
    text.parse().map_err(|_| format!("the pattern '{pattern}' found \"{text}\", which is not a number"))
}

pub fn find_json(path: &str, finished: &Finished) -> Result<f64, String> {
    let mut value: &Value =
        &serde_json::from_slice(&finished.output).map_err(|error| format!("the output is not JSON: {error}"))?;
    for part in path.split('.') {
        let next = match value {
            Value::Array(list) => part.parse::<usize>().ok().and_then(|position| list.get(position)),
            value => value.get(part),
        };
        value = next.ok_or_else(|| format!("the JSON output has no \"{part}\" of {path}"))?;
    }
    value.as_f64().ok_or_else(|| format!("{path} in the JSON output is {value}, not a number"))
}
