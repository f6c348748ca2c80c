//! Checks of kernels as values: they are compiled once, and other crates name them by their statics.

use super::sources;
use apexmap_measure::kernels::{ALL, find};
use std::ptr::{eq, fn_addr_eq};

/// Places outside of the kernels' crate that name a kernel by its id in a text. This number only falls.
const MOST_IDS_AS_TEXT: usize = 56;

#[test]
fn every_kernel_is_found_as_the_same_static() {
    for kernel in ALL {
        let same = find(kernel.id).expect("a kernel");
        assert!(eq(*kernel, same) && fn_addr_eq(kernel.run, same.run), "{}", kernel.id);
    }
}

/// Returns the public constants with function pointers, which each crate would compile anew.
fn constants_with_functions(text: &str) -> Vec<&str> {
    const TYPES: [&str; 6] = ["Kernel", "Bounded", "Computations", "Division", "Pattern", "fn("];
    text.split("pub const ")
        .skip(1)
        .filter(|item| !item.starts_with("fn ") && !item.starts_with("unsafe fn "))
        .filter(|item| {
            let item = item.split(";\n").next().unwrap_or_default();
            let (kind, value) = item.split_once(" = ").unwrap_or((item, ""));
            TYPES.iter().any(|name| kind.contains(name) && !kind.contains(&format!("&{name}")))
                || value.contains("chosen(")
        })
        .map(|item| item.split(':').next().unwrap_or_default())
        .collect()
}

#[test]
fn no_public_constant_holds_a_function_pointer() {
    assert_eq!(constants_with_functions("pub const A: Kernel = Kernel {\n};\npub const fn b() -> Kernel {\n"), ["A"]);
    assert_eq!(constants_with_functions("pub const A: u64 = 1;\npub const B: Key<u64> = key(chosen(1));\n"), ["B"]);
    for (file, text) in sources("src/measure") {
        assert!(
            constants_with_functions(&text).is_empty(),
            "{}: {:?}",
            file.display(),
            constants_with_functions(&text)
        );
    }
}

#[test]
fn kernels_are_rarely_named_by_text() {
    let outside = sources("src").into_iter().filter(|(file, _)| !file.starts_with("src/measure"));
    let places: Vec<String> = outside
        .flat_map(|(file, text)| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let ids =
                code.flat_map(|line| ALL.iter().filter(move |kernel| line.contains(&format!("\"{}\"", kernel.id))));
            ids.map(|kernel| format!("{}: {}", file.display(), kernel.id)).collect::<Vec<_>>()
        })
        .collect();
    assert!(places.len() <= MOST_IDS_AS_TEXT, "{} places, for example: {places:#?}", places.len());
}
