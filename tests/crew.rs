//! Tests of the threads that help a rank while no clock runs, and of its progress reports.

use apexmap_base::sample::{Event, Phase};
use apexmap_measure::affinity;
use apexmap_measure::comm::arena::{Arena, Pages};
use apexmap_measure::crew::Crew;
use apexmap_measure::hardware::Hardware;
use apexmap_measure::progress;
use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::thread::{self, ThreadId};
use std::time::Duration;

#[test]
fn each_item_is_processed_once_and_the_last_note_reports_completion() {
    for crew in [Crew::default(), Crew::new(1), Crew::on_this_numa_node(1)] {
        let (seen, notes) = (Mutex::new(Vec::new()), RefCell::new(vec![0.0]));
        crew.for_each(1000, 0..1000, |item| seen.lock().unwrap().push(item), |share| notes.borrow_mut().push(share));
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
        let notes = notes.into_inner();
        assert!(notes.is_sorted() && notes.iter().all(|share| (0.0..=1.0).contains(share)), "{notes:?}");
    }
}

#[test]
fn ranks_share_the_processors_and_helpers_use_those_of_their_process() {
    let hardware = Hardware::this_machine();
    let threads = hardware.hardware_threads();
    assert!(Crew::new(1).threads() <= threads && Crew::on_this_numa_node(1).threads() <= threads);
    assert_eq!((Crew::new(threads).threads(), Crew::new(10 * threads).threads()), (1, 1), "other ranks use the rest");
    assert_eq!(Crew::default().threads(), 1);
    // A rank on one processor has helpers on the others.
    let first = hardware.allowed[0];
    let (crew, used) = thread::spawn(move || {
        affinity::bind(&[first]);
        let (crew, used) = (Crew::new(1), Mutex::new(HashSet::new()));
        let work = |_| {
            thread::sleep(Duration::from_millis(1));
            used.lock().unwrap().insert((thread::current().id(), affinity::allowed_hardware_threads().unwrap()));
        };
        crew.for_each(100, 0..100, work, |_| ());
        (crew, used.into_inner().unwrap())
    })
    .join()
    .unwrap();
    assert_eq!(crew.threads(), threads);
    let alone: Vec<&(ThreadId, Vec<usize>)> = used.iter().filter(|(_, processors)| *processors == [first]).collect();
    assert_eq!(alone.len(), 1, "the rank itself stays where it is: {used:?}");
    let allowed = |(_, processors): &(_, Vec<usize>)| processors.iter().all(|number| hardware.allowed.contains(number));
    assert!(used.iter().all(allowed) && (threads == 1 || used.len() > 1), "{used:?}");
}

#[test]
fn a_panic_of_a_helper_ends_the_rank_with_its_message() {
    let fail = |item: usize| assert!(item < 50, "item {item} is too large");
    let panic = catch_unwind(AssertUnwindSafe(|| Crew::new(1).for_each(100, 0..100, fail, |_| ()))).unwrap_err();
    let words = panic.downcast_ref::<String>().expect("words");
    assert!(words.contains("is too large"), "{words}");
}

/// Returns the reports of progress while `act` runs on this thread.
fn reports_of(quiet: Duration, act: impl FnOnce()) -> Vec<(Phase, Option<f64>)> {
    let reports = Rc::new(RefCell::new(Vec::new()));
    let list = reports.clone();
    progress::set_reporter(quiet, move |event| {
        if let Event::Progress { phase, share } = event {
            list.borrow_mut().push((phase, share));
        }
    });
    act();
    progress::set_reporter(quiet, |_| ());
    Rc::into_inner(reports).expect("no other").into_inner()
}

#[test]
fn the_filled_share_of_memory_is_reported() {
    let (words, contents) = ((4 << 20) + 12, 7);
    for ranks in [0, 1] {
        let reports = reports_of(Duration::ZERO, || {
            let mut arena = Arena::default();
            arena.share_hardware_threads(ranks);
            let value = |place: usize| !(place as u64);
            let (memory, _) = arena.words(Pages::Base, 1000, contents, value).expect("memory");
            assert!(memory.iter().zip(0u64..).all(|(&word, place)| word == !place));
            let (memory, _) = arena.words(Pages::Base, words, contents, value).expect("memory");
            assert!(memory.iter().zip(0u64..).all(|(&word, place)| word == !place));
        });
        assert!(reports.iter().all(|(phase, _)| *phase == Phase::Filling));
        assert!(
            reports.len() <= 6 && reports.iter().any(|(_, share)| share.is_some_and(|share| share < 1.0)),
            "{reports:?}"
        );
    }
}

#[test]
fn a_short_phase_reports_no_progress() {
    let reports = reports_of(Duration::from_secs(1000), || {
        progress::begin_run();
        progress::report_share(Phase::Filling, 0.5);
        progress::clock_starts();
        progress::report_share(Phase::Verifying, 0.5);
    });
    assert_eq!(reports, []);
}

#[test]
fn the_start_of_the_clock_is_reported_once() {
    let reports = reports_of(Duration::ZERO, || {
        progress::begin_run();
        progress::report_share(Phase::Filling, 2.0);
        progress::clock_starts();
        progress::report_share(Phase::Verifying, 0.25);
    });
    assert_eq!(reports, [(Phase::Filling, Some(1.0)), (Phase::Measuring, None), (Phase::Verifying, Some(0.25))]);
}
