use super::machine::Time;

/// The busy periods of a link or an interface, which do not overlap or touch. A message reserves its whole way when it is sent.
/// Where it has to wait, it leaves the rest of the way free until then. Messages that are sent later use this time, in parts if it
/// is short.
#[derive(Clone, Debug, Default)]
pub struct Timetable {
    /// Most messages come after the last period or wait for its end.
    last: (Time, Time),
    /// The periods before it, ascending.
    earlier: Vec<(Time, Time)>,
}

impl Timetable {
    /// Reserves the first free time of this length from `earliest` on. Returns the length before its end: if the message passes
    /// without a pause, this is when it begins; otherwise it could then pass the next link without a pause. Periods that have ended
    /// before `now` are forgotten.
    #[inline]
    pub fn reserve(&mut self, now: Time, earliest: Time, length: Time) -> Time {
        if length == 0 {
            return earliest;
        }
        if self.last.1 < now {
            self.earlier.clear();
            self.last = (earliest, earliest + length);
            return earliest;
        }
        if (self.last.0..=self.last.1).contains(&earliest) {
            self.last.1 += length;
            return self.last.1 - length;
        }
        self.reserve_apart(now, earliest, length)
    }

    /// The time does not begin within the last period.
    fn reserve_apart(&mut self, now: Time, earliest: Time, length: Time) -> Time {
        // Passed periods are dropped only where the list would have to grow.
        if self.earlier.len() == self.earlier.capacity() {
            let passed = self.earlier.partition_point(|period| period.1 < now);
            self.earlier.drain(..passed);
        }
        let periods = &mut self.earlier;
        periods.push(self.last);
        // The new period joins those that it touches and those within it.
        let first = periods.partition_point(|period| period.1 < earliest);
        let (mut place, mut end) = (first, earliest + length);
        while let Some(busy) = periods.get(place).filter(|busy| busy.0 < end) {
            end += busy.1 - busy.0.max(earliest);
            place += 1;
        }
        let mut joined_end = end;
        if let Some(touched) = periods.get(place).filter(|touched| touched.0 == end) {
            joined_end = touched.1;
            place += 1;
        }
        match periods.get_mut(first) {
            Some(joined) if place > first => {
                *joined = (joined.0.min(earliest), joined_end);
                periods.drain(first + 1..place);
            }
            _ => periods.insert(first, (earliest, end)),
        }
        self.last = periods.pop().expect("the new period");
        end - length
    }

    pub fn periods(&self) -> impl Iterator<Item = (Time, Time)> {
        self.earlier.iter().copied().chain([self.last]).filter(|period| period.1 > period.0)
    }
}
