use super::{MAX_FAILED_POLLS, Member, RankState, SHORT_POLLS, State};
use crate::comm::simulated::machine::{Time, check_time};
use std::cell::RefMut;
use std::cmp::Reverse;

impl Member {
    fn state(&self) -> RefMut<'_, RankState> {
        RefMut::map(self.world.state.borrow_mut(), |state| &mut state.ranks[self.rank])
    }

    pub fn clock(&self) -> Time {
        self.state().clock
    }

    pub fn advance(&self, time: Time) {
        let mut state = self.state();
        state.clock = check_time(state.clock.saturating_add(time));
    }

    /// Polls before the computation and after it are not in a row.
    pub fn compute(&self, time: Time) {
        let mut state = self.state();
        state.clock = check_time(state.clock.saturating_add(time));
        state.failing_since = None;
        state.failed_polls = 0;
    }

    /// Computes for the longer of the core's own time and the end of its turn on the memory of its node.
    pub fn use_memory(&self, own: Time, shared: Time) {
        let now = self.synchronize();
        let served = {
            let node = self.world.machine.node_of(self.rank);
            let memory = &mut self.world.state.borrow_mut().memories[node];
            memory.reserve(now, now, shared) + shared
        };
        self.compute(own.max(served - now));
    }

    /// Continues not before this time.
    pub fn advance_to(&self, time: Time) {
        let mut state = self.state();
        state.clock = check_time(state.clock.max(time));
    }

    pub fn synchronize(&self) -> Time {
        loop {
            let clock = {
                let State { ready, ranks, now, .. } = &mut *self.world.state.borrow_mut();
                let state = &mut ranks[self.rank];
                let clock = state.clock;
                match ready.peek() {
                    Some(&Reverse(first)) if first < (clock, self.rank) => {
                        state.scheduled = Some(clock);
                        ready.push(Reverse((clock, self.rank)));
                    }
                    _ => {
                        *now = clock;
                        return clock;
                    }
                }
                clock
            };
            self.suspend();
            debug_assert!(self.clock() >= clock);
        }
    }

    pub fn progress(&self) {
        let mut state = self.state();
        state.failing_since = None;
        state.failed_polls = 0;
        let clock = state.clock;
        while state.changes.peek().is_some_and(|&Reverse(time)| time <= clock) {
            state.changes.pop();
        }
    }

    /// Records a poll at this time that found nothing, and spends its time. After many of them, a poll takes until something
    /// changes for this rank.
    pub fn fail(&self, polled_at: Time, reason: &'static str) {
        self.fail_after(self.world.machine.poll, polled_at, reason);
    }

    /// For a poll that takes this time.
    pub fn fail_after(&self, poll: Time, polled_at: Time, reason: &'static str) {
        {
            let State { polling, ranks, .. } = &mut *self.world.state.borrow_mut();
            let state = &mut ranks[self.rank];
            state.failing_since.get_or_insert(polled_at);
            state.failed_polls += 1;
            state.clock = check_time(state.clock + poll);
            if state.failed_polls <= SHORT_POLLS {
                return;
            }
            assert!(
                state.failed_polls < MAX_FAILED_POLLS,
                "deadlock: this rank polls for {reason}, and no other rank acts"
            );
            let change = state.changes.iter().map(|Reverse(time)| *time).filter(|time| *time > polled_at).min();
            if let Some(change) = change {
                state.clock = state.clock.max(change);
                return;
            }
            state.waits_for = Some(reason);
            state.polls = true;
            if !std::mem::replace(&mut state.is_listed, true) {
                polling.push(self.rank);
            }
        }
        self.suspend();
        let mut state = self.state();
        state.waits_for = None;
        state.polls = false;
    }

    /// Waits for the next change, unless this rank has made progress since it waited last. Every waiting loop calls this.
    pub fn relax(&self) {
        let has_failed = self.state().failing_since.is_some();
        if has_failed {
            self.wait("a message or a free handle");
        } else {
            self.fail(self.clock(), "a message or a free handle");
        }
    }

    /// Waits for the first change after the first failed poll.
    pub fn wait(&self, reason: &'static str) {
        if self.world.has_failed() {
            give_up();
        }
        {
            let State { ready, ranks, .. } = &mut *self.world.state.borrow_mut();
            let state = &mut ranks[self.rank];
            let since = state.failing_since.take().unwrap_or(state.clock);
            state.failed_polls = 0;
            while state.changes.peek().is_some_and(|&Reverse(time)| time <= since) {
                state.changes.pop();
            }
            // A change between the first poll and now may have been missed by later polls: the rank then continues now. Other ranks
            // may announce an earlier change meanwhile.
            if let Some(&Reverse(time)) = state.changes.peek() {
                let wakes_at = time.max(state.clock);
                state.scheduled = Some(wakes_at);
                ready.push(Reverse((wakes_at, self.rank)));
            }
            state.waits_for = Some(reason);
        }
        self.suspend();
        self.state().waits_for = None;
    }

    /// Each call of `is_met` gets the clock, when no other rank acts before it.
    pub fn wait_until(&self, reason: &'static str, mut is_met: impl FnMut(Time) -> bool) {
        loop {
            let now = self.synchronize();
            if is_met(now) {
                return self.progress();
            }
            self.state().failing_since.get_or_insert(now);
            self.wait(reason);
        }
    }

    fn suspend(&self) {
        if self.world.stacks.is_nearly_full(self.rank) {
            // There is no space for a panic, which may print a backtrace.
            self.world.full_stack.set(Some(self.rank));
        }
        // SAFETY: the yielder belongs to the coroutine that runs this code: a member is used only within its own coroutine.
        unsafe { (*self.yielder).suspend(()) };
        if self.world.has_failed() {
            give_up();
        }
    }
}

fn give_up() -> ! {
    std::panic::resume_unwind(Box::new(crate::comm::threads::OTHER_RANK_FAILED));
}
