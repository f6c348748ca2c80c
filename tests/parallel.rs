//! Tests of work on all processors: results in order, errors, and the number of items in memory.

use apexmap_base::parallel::map_in_order;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Takes longer for items that are earlier in a group of eight.
fn square_slowly(item: usize) -> usize {
    std::thread::sleep(Duration::from_micros(200 * (8 - item as u64 % 8)));
    item * item
}

#[test]
fn results_arrive_in_item_order_despite_different_durations() {
    for items in [0, 1, 2, 3, 100] {
        let mut taken = Vec::new();
        let outcome = map_in_order(
            0..items,
            || square_slowly,
            |result| -> Result<(), Infallible> {
                taken.push(result);
                Ok(())
            },
        );
        assert!(outcome.is_ok());
        assert_eq!(taken, (0..items).map(|item| item * item).collect::<Vec<_>>());
    }
}

#[test]
fn the_first_error_stops_the_map_and_later_results_are_dropped() {
    let mut taken = 0;
    let end = map_in_order(
        0..,
        || square_slowly,
        |result| {
            taken += 1;
            if result < 400 { Ok(()) } else { Err(result) }
        },
    );
    assert_eq!((end, taken), (Err(400), 21));
}

#[test]
fn at_most_a_few_items_start_before_earlier_results_are_consumed() {
    let (begun, mut taken, mut most) = (AtomicUsize::new(0), 0, 0);
    let items = (0..1000).inspect(|_| {
        begun.fetch_add(1, Ordering::Relaxed);
    });
    let outcome = map_in_order(
        items,
        || |item: usize| item,
        |_| -> Result<(), Infallible> {
            most = most.max(begun.load(Ordering::Relaxed) - taken);
            taken += 1;
            Ok(())
        },
    );
    assert!(outcome.is_ok() && taken == 1000);
    // Two items for each of at most eight threads, and one that the caller holds.
    assert!(most <= 17, "{most} at once");
}

#[test]
fn a_panic_of_a_worker_reaches_the_caller() {
    let panics = |item: usize| assert!(item < 5, "as expected");
    let caught = std::panic::catch_unwind(|| map_in_order(0..100, || panics, |()| Ok::<(), Infallible>(())));
    assert!(caught.is_err());
}
