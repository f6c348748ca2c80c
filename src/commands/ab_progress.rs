//! The progress of `ab`: on a terminal a bar with the ratios so far, otherwise a line every few seconds.

use super::live::view::LiveView;
use apexmap_base::terminal::note;
use apexmap_base::units::{self, Unit, plural};
use apexmap_run::drive::cost::describe_seconds;
use apexmap_study::paired::{Limits, Pairs};
use std::time::{Duration, Instant};

const FRAME: Duration = Duration::from_millis(200);
const LINE: Duration = Duration::from_secs(10);

pub struct AbProgress {
    view: Option<LiveView>,
    limits: Limits,
    unit: Unit,
    is_null: bool,
    due: Instant,
    /// When the budget began, and the pairs of an earlier comparison; `None` during the runs that do not count.
    begun: Option<(Instant, usize)>,
    pairs: Pairs,
}

impl AbProgress {
    pub fn new(limits: Limits, unit: Unit, is_null: bool) -> Self {
        let view = LiveView::without_maps();
        let due = Instant::now() + if view.is_some() { FRAME } else { LINE };
        Self { view, limits, unit, is_null, due, begun: None, pairs: Pairs::default() }
    }

    pub fn update(&mut self, pairs: &Pairs) {
        self.begun.get_or_insert_with(|| (Instant::now(), pairs.count()));
        self.pairs.clone_from(pairs);
    }

    pub fn tick(&mut self) {
        if Instant::now() < self.due {
            return;
        }
        let (share, text) = self.describe();
        match &mut self.view {
            Some(view) => view.draw(share, &[&text]),
            None => note(&text.replace('\n', "; ")),
        }
        self.due = Instant::now() + if self.view.is_some() { FRAME } else { LINE };
    }

    /// The share that is done, the time with the time left, and each ratio so far.
    fn describe(&self) -> (f64, String) {
        let Some((begun, earlier)) = self.begun else { return (0.0, "runs that do not count".into()) };
        let elapsed = begun.elapsed().as_secs_f64();
        let left = self.pairs.seconds_left(earlier, &self.limits, elapsed);
        let mut text = format!("{}, {}", units::seconds(elapsed.floor()), plural(self.pairs.count(), "pair"));
        if left.is_finite() {
            text += &format!(", {} left", describe_seconds(left));
        }
        let ratios = match self.pairs.ratios().first() {
            Some(Some(ratio)) if self.is_null => vec![ratio.null_sentence()],
            _ => self.pairs.sentences(self.unit),
        };
        ratios.iter().for_each(|ratio| text += &format!("\n{ratio}"));
        (elapsed / (elapsed + left), text)
    }
}

impl Drop for AbProgress {
    fn drop(&mut self) {
        self.view.iter_mut().for_each(LiveView::finish);
    }
}
