//! Tests of the lines of a launch: cut from a stream of bytes, found among other text, and in an order that fits the
//! job.

use super::common::{launch, sample, small_point, two_rank_job};
use apexmap_base::sample::{Event, Phase};
use apexmap_measure::worker::Job;
use apexmap_run::drive::protocol::Protocol;
use apexmap_run::drive::protocol::{Lines, parse_event};
use proptest::prelude::*;

/// Returns the lines that bytes in these pieces give, and the rest.
fn cut<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, max_bytes: usize) -> (Vec<Vec<u8>>, Vec<u8>) {
    let (mut lines, mut complete_lines) = (Lines::new(max_bytes), Vec::new());
    for piece in pieces {
        let mut take = |line: &[u8]| {
            complete_lines.push(line.to_vec());
            Ok::<_, ()>(())
        };
        lines.add(piece, &mut take).expect("no objection");
    }
    (complete_lines, lines.rest().to_vec())
}

fn job() -> Job {
    two_rank_job("0001", |block| small_point("apex_map.two_sided", 2).with_parameter("L", block))
}

/// Returns the events of a launch that completes its job.
fn complete_events() -> Vec<Event> {
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
fn count_fitting(events: &[Event]) -> (usize, Option<String>) {
    let mut protocol = Protocol::new(job());
    let fault = events.iter().enumerate().find_map(|(index, event)| Some((index, protocol.check(event).err()?)));
    fault.map_or((events.len(), None), |(index, why)| (index, Some(why)))
}

#[test]
fn the_lines_of_a_successful_launch_are_consistent() {
    assert_eq!(count_fitting(&complete_events()), (complete_events().len(), None));
}

#[test]
fn a_fatal_event_may_occur_anytime_and_no_line_follows_the_end() {
    let events = complete_events();
    for index in 0..=events.len() {
        let mut events = events.clone();
        events.insert(index, Event::Fatal { message: "no more".into() });
        assert_eq!(count_fitting(&events).1, None);
    }
    for extra in &events {
        let extended = [&events[..], std::slice::from_ref(extra)].concat();
        let (count, why) = count_fitting(&extended);
        assert!(count == events.len() && why.is_some_and(|why| why.contains("after the launch was done")));
    }
}

#[test]
fn progress_occurs_only_during_a_run_with_a_valid_share() {
    let events = complete_events();
    let in_a_run = |index: usize| {
        let before = events[..index].iter().rfind(|event| !matches!(event, Event::Progress { .. }));
        matches!(before, Some(Event::Start { .. }))
    };
    for index in 1..events.len() {
        let mut changed = events.clone();
        changed.insert(index, Event::Progress { phase: Phase::Verifying, share: Some(1.0) });
        assert_eq!(count_fitting(&changed).1.is_none(), in_a_run(index), "before line {index}");
    }
    let start = events.iter().position(|event| matches!(event, Event::Start { .. })).expect("a start");
    for share in [-0.1, 1.1, f64::INFINITY] {
        let mut changed = events.clone();
        changed.insert(start + 1, Event::Progress { phase: Phase::Filling, share: Some(share) });
        assert_eq!(count_fitting(&changed).0, start + 1, "{share}");
    }
}

proptest! {
    #[test]
    fn parsing_does_not_depend_on_chunk_boundaries(
        bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200), size in 1usize..20, longest in 0usize..30,
    ) {
        let (complete_lines, rest) = cut(bytes.chunks(size), longest);
        prop_assert_eq!(&cut([&bytes[..]], longest), &(complete_lines.clone(), rest.clone()));
        let mut pieces: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
        let last = pieces.pop().unwrap_or_default();
        let short: Vec<&[u8]> = pieces.into_iter().filter(|line| line.len() <= longest).collect();
        prop_assert_eq!(complete_lines, short);
        prop_assert_eq!(rest, if last.len() <= longest { last } else { b"" });
    }

    #[test]
    fn an_event_is_found_after_any_text_on_its_line(text in "[^\n]{0,40}", index in 0usize..14) {
        let events = complete_events();
        let expected = &events[index % events.len()];
        let line = format!("{text}{}", serde_json::to_string(expected).expect("a line"));
        let parsed = parse_event(line.as_bytes());
        prop_assert_eq!(parsed.as_ref(), Some(expected));
    }

    #[test]
    fn any_bytes_are_parsed_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = parse_event(&bytes);
        let _ = parse_event(&[b"{\"event\":", &bytes[..]].concat());
    }

    #[test]
    fn a_lost_duplicate_or_premature_line_is_detected(index in 0usize..10, other_index in 0usize..10, change in 0u8..3) {
        let optional = |event: &Event| {
            matches!(event, Event::Memory { .. } | Event::Preflight { .. } | Event::Progress { .. })
        };
        let needed = |event: &Event| !optional(event);
        let required_events: Vec<Event> = complete_events().into_iter().filter(needed).collect();
        prop_assert_eq!((required_events.len(), count_fitting(&required_events).1), (10, None));
        let mut events = required_events.clone();
        match change {
            0 => _ = events.remove(index),
            1 => events.insert(other_index, required_events[index].clone()),
            _ => events.swap(index, other_index),
        }
        // The driver, not the protocol, detects a missing last line.
        let fits = events == required_events || (change == 0 && index == 9);
        prop_assert_eq!(count_fitting(&events).1.is_none(), fits, "{:?}", events);
    }
}
