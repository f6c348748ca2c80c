//! Tests of aligned columns, and of text that is wrapped to fit a terminal.

use apexmap_base::text_table::{Align, TextTable};
use proptest::prelude::*;

fn table(rows: &[[&str; 3]]) -> TextTable {
    let mut table = TextTable::new([Align::Left, Align::Right, Align::Left]);
    rows.iter().for_each(|row| table.add_row(*row));
    table
}

#[test]
fn columns_are_aligned_without_trailing_blanks() {
    let mut table = table(&[["", "n", "what"], ["µs", "12", ""], ["seconds", "3", "time"]]).with_indent(1);
    assert_eq!(table.to_string(), "           n  what\n µs       12\n seconds   3  time\n");
    table.add_row([""]);
    table.add_row(["a"]);
    assert!(table.to_string().ends_with("time\n\n a\n"), "{table}");
    assert_eq!(TextTable::new([Align::Left]).to_string(), "");
}

#[test]
fn only_the_last_column_is_wrapped() {
    let text = "the time of the slowest rank, from a common start";
    let rows = [["rank_seconds_max", "12 us", text]];
    let broken = "rank_seconds_max  12 us  the time of the slowest\n\
                  \x20                        rank, from a common\n\
                  \x20                        start\n";
    assert_eq!(table(&rows).with_width(Some(49)).to_string(), broken);
    let unbroken = format!("rank_seconds_max  12 us  {text}\n");
    for width in [None, Some(74), Some(200), Some(45), Some(3)] {
        assert_eq!(table(&rows).with_width(width).to_string(), unbroken, "{width:?}");
    }
}

proptest! {
    #[test]
    fn lines_fit_the_terminal_and_all_words_remain(words in prop::collection::vec("[a-zé]{1,12}", 1..40), width in 40usize..90) {
        let text = words.join(" ");
        let table = table(&[["NAME", "1", &text], ["", "23", "SHORT"]]).with_indent(2).with_width(Some(width)).to_string();
        prop_assert!(table.lines().all(|line| line.chars().count() <= width && line.trim_end() == line), "{}", table);
        let wrapped_words: Vec<&str> = table.split_whitespace().filter(|word| word.to_lowercase() == **word && !["1", "23"].contains(word)).collect();
        prop_assert_eq!(wrapped_words, words);
    }
}
