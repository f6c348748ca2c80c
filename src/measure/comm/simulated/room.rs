use super::engine::World;
use super::machine::Time;
use std::collections::VecDeque;

/// The places for messages of other nodes, if their number is limited. Senders that found none get them in the order in which they tried,
/// and try until they succeed.
#[derive(Default)]
pub struct Room {
    taken: usize,
    /// When places become free that no sender has been promised, ascending.
    freed: VecDeque<Time>,
    /// Ranks without the promise of a place.
    waiting: VecDeque<usize>,
    /// Ranks with a place from this time on.
    promised: Vec<(usize, Time)>,
}

impl Room {
    /// Takes one of `places`. If there is none, the sender is announced to when it has one.
    pub fn enter(&mut self, world: &World, now: Time, (sender, places): (usize, usize)) -> bool {
        while self.freed.front().is_some_and(|time| *time <= now) {
            self.freed.pop_front();
            self.taken -= 1;
        }
        if let Some(index) = self.promised.iter().position(|(rank, _)| *rank == sender) {
            let time = self.promised[index].1;
            if time <= now {
                self.promised.swap_remove(index);
            } else {
                world.announce(sender, time);
            }
            return time <= now;
        }
        if self.taken < places {
            self.taken += 1;
            return true;
        }
        match self.freed.pop_front() {
            Some(time) => self.promise(world, (sender, time)),
            None if self.waiting.contains(&sender) => {}
            None => self.waiting.push_back(sender),
        }
        false
    }

    pub fn leave(&mut self, world: &World, time: Time) {
        match self.waiting.pop_front() {
            Some(sender) => self.promise(world, (sender, time)),
            None => self.freed.push_back(time),
        }
    }

    fn promise(&mut self, world: &World, (sender, time): (usize, Time)) {
        self.promised.push((sender, time));
        world.announce(sender, time);
    }
}
