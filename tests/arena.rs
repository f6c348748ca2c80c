//! Tests of a rank's memory: contents, growth and pages.

use apexmap_measure::comm::arena::{Arena, Pages};
use std::sync::atomic::{AtomicUsize, Ordering};

fn assert_holds(arena: &mut Arena, pages: Pages, words: usize, contents: u64) {
    let value = |i: usize| contents << 32 | i as u64;
    let (memory, _) = arena.words(pages, words, contents, value).expect("memory");
    assert_eq!(memory.len(), words);
    assert!(memory.iter().enumerate().all(|(i, &word)| word == value(i)), "{words} words of contents {contents}");
}

#[test]
fn contents_are_right_after_growing_and_shrinking() {
    let mut arena = Arena::default();
    for words in [1, 100, 7, 513, 300_000, 5, 600_000, 1 << 20] {
        assert_holds(&mut arena, Pages::Huge, words, 3);
    }
}

#[test]
fn new_contents_replace_the_old_ones() {
    let mut arena = Arena::default();
    for contents in [1, 2, 1, 7, 7] {
        assert_holds(&mut arena, Pages::Huge, 1000, contents);
        assert_holds(&mut arena, Pages::Huge, 10, contents);
    }
}

#[test]
fn equal_contents_are_filled_once() {
    let mut arena = Arena::default();
    arena.announce_words(5000);
    assert_holds(&mut arena, Pages::Base, 1000, 4);
    let never = |_| panic!("filled again");
    let (memory, _) = arena.words(Pages::Base, 5000, 4, never).expect("memory");
    assert_eq!(memory[4999], 4 << 32 | 4999);
}

#[test]
fn new_contents_are_filled_only_up_to_the_requested_size() {
    let mut arena = Arena::default();
    arena.announce_words(5000);
    assert_holds(&mut arena, Pages::Base, 10, 1);
    let filled = AtomicUsize::new(0);
    let mut ask = |words: usize, contents: u64| {
        filled.store(0, Ordering::Relaxed);
        let value = |i: usize| {
            filled.fetch_add(1, Ordering::Relaxed);
            contents << 32 | i as u64
        };
        let (memory, _) = arena.words(Pages::Base, words, contents, value).expect("memory");
        assert!(memory.iter().enumerate().all(|(i, &word)| word == contents << 32 | i as u64));
        filled.load(Ordering::Relaxed)
    };
    assert_eq!([ask(5000, 1), ask(100, 2), ask(50, 2), ask(300, 2), ask(5000, 1)], [0, 100, 0, 200, 5000]);
}

#[test]
fn both_kinds_of_pages_keep_separate_contents() {
    let mut arena = Arena::default();
    assert_holds(&mut arena, Pages::Huge, 1000, 1);
    assert_holds(&mut arena, Pages::Base, 2000, 2);
    let (memory, _) = arena.words(Pages::Huge, 1000, 1, |_| panic!("filled again")).expect("memory");
    assert_eq!(memory[999], 1 << 32 | 999);
}

#[test]
fn base_pages_are_granted_as_base_pages() {
    let mut arena = Arena::default();
    let (_, granted) = arena.words(Pages::Base, 1 << 20, 0, |i| i as u64).expect("memory");
    assert_eq!(granted.huge_share, Some(0.0));
    assert!(granted.page_bytes.is_some_and(|bytes| bytes.is_power_of_two() && bytes <= 64 << 10), "{granted:?}");
}

#[test]
fn the_reported_huge_page_share_matches_the_system() {
    let mut arena = Arena::default();
    let (memory, granted) = arena.words(Pages::Huge, 1 << 20, 0, |i| i as u64).expect("memory");
    assert_eq!(memory.as_ptr() as usize % (2 << 20), 0, "memory begins on a huge-page boundary");
    let share = granted.huge_share.expect("Linux reports it");
    let allowed = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if allowed.is_empty() || allowed.contains("[never]") {
        assert_eq!(share, 0.0);
    }
    let size: Option<u64> = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match granted.page_bytes {
        Some(bytes) if share >= 0.95 => assert_eq!(Some(bytes), size),
        Some(bytes) => assert!(share <= 0.05 && bytes <= 64 << 10, "{granted:?}"),
        None => assert!(share > 0.05 && share < 0.95, "{granted:?}"),
    }
}

#[test]
fn memory_beyond_the_size_of_the_machine_is_refused_with_a_reason() {
    let refused = Arena::default().words(Pages::Base, 1 << 52, 0, |_| 0).map(|_| ()).expect_err("too much");
    assert!(refused.message.contains("cannot allocate 32 PiB"), "{refused}");
    assert!(refused.help.contains("smaller memory size"), "{refused}");
}

#[test]
fn memory_is_allocated_on_the_requested_node_or_refused() {
    let mut arena = Arena::default();
    let error = arena.place_on_node(Some(1000)).expect_err("no machine has this many nodes");
    assert!(error.message.contains("memory_node = 1000") && error.help.contains("name one of these"), "{error}");
    arena.place_on_node(Some(0)).expect("every machine has this node");
    match arena.words(Pages::Base, 1 << 16, 1, |i| i as u64) {
        Ok((words, _)) => assert_eq!(words[77], 77),
        // A container may forbid mbind.
        Err(error) => return assert!(error.message.contains("mbind"), "{error}"),
    }
    assert!(arena.memory_nodes().keys().all(|node| *node == 0));
    // Binding to the same node again keeps the memory; binding to no node releases it.
    arena.place_on_node(Some(0)).expect("the same");
    assert_eq!(arena.words(Pages::Base, 1 << 16, 1, |_| 0).expect("kept").0[77], 77);
    arena.place_on_node(None).expect("anywhere");
    assert_eq!(arena.words(Pages::Base, 1 << 16, 1, |_| 5).expect("new").0[77], 5);
}
