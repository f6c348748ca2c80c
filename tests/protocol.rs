//! Tests of the lines of a launch: cut from a stream of bytes, found among other text, and in an order that fits the
//! job.

use super::common::{job_of, launch, sample, small_point};
use apexmap_base::sample::{Event, Phase};
use apexmap_measure::worker::Job;
use apexmap_run::sweep::lines::{Lines, event};
use apexmap_run::sweep::protocol::Protocol;
use proptest::prelude::*;

/// Returns the lines that bytes in these pieces give, and the rest.
fn cut<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, longest: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut lines, mut found) = (Lines::new(longest), Vec::new());
    for piece in pieces {
        let mut take = |line: &[u8]| {
            found.push(line.to_vec());
            Ok::<_, ()>(())
        };
        lines.add(piece, &mut take).expect("no objection");
    }
    (found, lines.rest().to_vec())
}

fn job() -> Job {
    job_of("0001", |block| small_point("apex_map.two_sided", 2).with("L", block))
}

/// Returns the events of a launch that completes its job.
fn good() -> Vec<Event> {
    let job = job();
    let mut events = vec![Event::Hello(Box::new(launch("0001", 2, "b"))), Event::Preflight { canaries: Vec::new() }];
    for (index, repetition) in [(1, 0), (0, 0), (0, 1), (1, 1)] {
        events.push(Event::Start { index, repetition });
        if repetition == 0 && index == 1 {
            events.push(Event::Progress { phase: Phase::Filling, share: Some(0.4) });
            events.push(Event::Progress { phase: Phase::Measuring, share: None });
            events.push(Event::Memory { ranks: vec![None; 2] });
        }
        let task = &job.tasks[index];
        events.push(Event::Sample(Box::new(sample(&task.point, &task.key, repetition, 1.0))));
    }
    events.push(Event::Done { budget_spent: false });
    events
}

/// Returns the number of events that fit, and the fault of the next.
fn fitting(events: &[Event]) -> (usize, Option<String>) {
    let mut protocol = Protocol::new(job());
    let wrong = events.iter().enumerate().find_map(|(at, event)| Some((at, protocol.check(event).err()?)));
    wrong.map_or((events.len(), None), |(at, why)| (at, Some(why)))
}

#[test]
fn the_lines_of_a_launch_that_does_its_job_fit_together() {
    assert_eq!(fitting(&good()), (good().len(), None));
}

#[test]
fn a_last_word_may_come_at_any_time_and_nothing_else_after_the_end() {
    let events = good();
    for at in 0..=events.len() {
        let mut events = events.clone();
        events.insert(at, Event::Fatal { message: "no more".into() });
        assert_eq!(fitting(&events).1, None);
    }
    for extra in &events {
        let all = [&events[..], std::slice::from_ref(extra)].concat();
        let (at, why) = fitting(&all);
        assert!(at == events.len() && why.is_some_and(|why| why.contains("after the launch was done")));
    }
}

#[test]
fn progress_is_told_in_a_run_only_and_of_a_part_of_it() {
    let events = good();
    let in_a_run = |at: usize| {
        let before = events[..at].iter().rfind(|event| !matches!(event, Event::Progress { .. }));
        matches!(before, Some(Event::Start { .. }))
    };
    for at in 1..events.len() {
        let mut told = events.clone();
        told.insert(at, Event::Progress { phase: Phase::Verifying, share: Some(1.0) });
        assert_eq!(fitting(&told).1.is_none(), in_a_run(at), "before line {at}");
    }
    let start = events.iter().position(|event| matches!(event, Event::Start { .. })).expect("a start");
    for share in [-0.1, 1.1, f64::INFINITY] {
        let mut told = events.clone();
        told.insert(start + 1, Event::Progress { phase: Phase::Filling, share: Some(share) });
        assert_eq!(fitting(&told).0, start + 1, "{share}");
    }
}

proptest! {
    #[test]
    fn lines_do_not_depend_on_the_pieces_in_which_they_come(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), size in 1usize..20, longest in 0usize..30,
    ) {
        let (found, rest) = cut(bytes.chunks(size), longest);
        prop_assert_eq!(&cut([&bytes[..]], longest), &(found.clone(), rest.clone()));
        let mut all: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        let last = all.pop().unwrap_or_default();
        let short: Vec<&[u8]> = all.into_iter().filter(|line| line.len() <= longest).collect();
        prop_assert_eq!(found, short);
        prop_assert_eq!(rest, if last.len() <= longest { last } else { b"" });
    }

    #[test]
    fn an_event_is_found_after_any_text_on_its_line(text in "[^\n]{0,40}", at in 0usize..14) {
        let events = good();
        let expected = &events[at % events.len()];
        let line = format!("{text}{}", serde_json::to_string(expected).expect("a line"));
        let found = event(line.as_bytes());
        prop_assert_eq!(found.as_ref(), Some(expected));
    }

    #[test]
    fn no_bytes_are_more_than_an_event_or_none(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = event(&bytes);
        let _ = event(&[b"{\"event\":", &bytes[..]].concat());
    }

    #[test]
    fn a_line_that_is_lost_or_comes_twice_or_too_early_is_found_out(at in 0usize..10, other in 0usize..10, what in 0u8..3) {
        let optional = |event: &Event| {
            matches!(event, Event::Memory { .. } | Event::Preflight { .. } | Event::Progress { .. })
        };
        let needed = |event: &Event| !optional(event);
        let whole: Vec<Event> = good().into_iter().filter(needed).collect();
        prop_assert_eq!((whole.len(), fitting(&whole).1), (10, None));
        let mut events = whole.clone();
        match what {
            0 => _ = events.remove(at),
            1 => events.insert(other, whole[at].clone()),
            _ => events.swap(at, other),
        }
        // The driver, not the protocol, detects a missing last line.
        let fits = events == whole || (what == 0 && at == 9);
        prop_assert_eq!(fitting(&events).1.is_none(), fits, "{:?}", events);
    }
}
