use super::*;

/// The destinations of a sender. They are computed while the clock runs, as in the paper's loops.
pub trait Route {
    fn for_each_destination(&self, to: impl FnMut(usize));
}

/// A window of messages to one rank.
pub struct Stream {
    pub window: usize,
    pub partner: usize,
}

impl Route for Stream {
    #[inline]
    fn for_each_destination(&self, mut to: impl FnMut(usize)) {
        for _ in 0..self.window {
            to(self.partner);
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peers {
    /// Each with the number of messages to it.
    pub destinations: Vec<(usize, usize)>,
    pub sources: Vec<(usize, usize)>,
}

impl Peers {
    /// Ranks that do not send have no route. Collective.
    pub fn from_route<C: Collectives>(comm: &C, route: Option<&impl Route>) -> Self {
        let mut counts = BTreeMap::new();
        if let Some(route) = route {
            route.for_each_destination(|to| *counts.entry(to).or_default() += 1);
        }
        let sent: Vec<u64> = (0..comm.size()).map(|rank| counts.get(&rank).copied().unwrap_or(0) as u64).collect();
        let from = exchange_words(comm, &sent).into_iter().map(|count| count as usize).enumerate();
        Self { destinations: counts.into_iter().collect(), sources: from.filter(|&(_, count)| count > 0).collect() }
    }
}

/// Sends one word to every rank and returns the words that all ranks sent to this one. Collective.
pub fn exchange_words<C: Collectives>(comm: &C, words: &[u64]) -> Vec<u64> {
    let mut received = Vec::new();
    comm.all_to_all_v(words, &vec![1; comm.size()], &mut received);
    received
}

pub fn identities(rank: usize, size: usize, route: &impl Route) -> Vec<u64> {
    let (mut numbers, mut identities) = (vec![0; size], Vec::new());
    route.for_each_destination(|to| {
        identities.push(super::content::identity(rank, to, numbers[to]));
        numbers[to] += 1;
    });
    identities
}
