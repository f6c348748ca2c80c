//! After the Blue Gene/P paper, Section 4.3 (generation and X, Y, Z, update: four roles), 4.3.1 (buckets), 5.1 (loads), and the
//! generalisation in Section 6: d dimensions over k' of k cores. A node is `cores_per_node` consecutive ranks. Its first `routers`
//! ranks share the dimensions of the grid of nodes, and the first of them generates the node's updates. Updates that arrive along a
//! dimension go to the rank of the next dimension. If an update needs none of a rank's dimensions, it goes to the rank of the next
//! dimension that it needs, on the same node. The other ranks own disjoint parts of the table, without locks. The loads are the
//! busy time of a core per update of its node, without waits for messages or room; the paper has 95, 112, 114 and 146 cycles, and
//! confirmed them with `disabled` and `delay_ns`. If ranks share a processor, the time of the others is included. Local buffers are
//! messages here. The paper's receive takes up to four packets: `packets = 4`.

mod loads;
mod plan;

use super::layout::Owners;
use super::random_stream::Index;
use super::routed::{BUFFERS, DIMENSIONS, FULL, X, Y, Z, refuse_grid};
use super::table::Table;
use super::*;
use crate::comm::{Inbox, Outbox};
pub use loads::LOADS;
use loads::{DELAY, DELAYED, DISABLED, Idle, MAX_CORES, OUTPUTS_OF_ROLES, Progress, STEADY, steady_rate};
use plan::{RolePlan, Route};

pub static KERNEL: Kernel = Kernel {
    id: "random_access.roles",
    summary: "RandomAccess routed through a grid of nodes whose cores either route or update",
    source: &source::BLUE_GENE_P_RANDOM_ACCESS,
    place: "Sections 4.3, 5.1 and 6",
    parameters: parameters![
        N_WORDS, UPDATES, TIME_BOUND, Q, FULL, CORES, ROUTERS, DISABLED, DELAY, DELAYED, DIMENSIONS, X, Y, Z, OWNER_BY,
        BUFFERS, PACKETS, SMSG, STREAM, INDEX, STARTS, OFFSET, PAGES, SEED,
    ],
    outputs: &OUTPUTS_OF_ROLES,
    division: Division::Over(owners),
    simulation: Some(Computations::Updates { divided: Divided::AmongAll, by_roles: true }),
    refuse,
    arena_words: |point| N_WORDS.of(point).div_ceil(owners(point) as u64),
    buffer_bytes: |point| {
        let plan = RolePlan::new(point);
        let messages =
            plan.grid.dimensions().max(1) * (BUFFERS.of(point) + SMSG.of(point) + PACKETS.of(point)) as usize;
        bytes(((plan.max_buckets() + messages) * plan.capacity + point.ranks) as u64)
    },
    rings: plan::rings,
    run: |point, _, world| on_transport!(world.transport, comm => run(comm, point, world.arena)),
    ..FAMILY
};

fn owners(point: &Point) -> usize {
    RolePlan::new(point).nodes.owners()
}

const CORES: Key<u64> =
    key("cores_per_node", "cores per node: ranks that form a node, the paper's k", integers(2..=MAX_CORES as u64, 4))
        .in_column("node_cores", Unit::None);
const ROUTERS: Key<u64> = key(
    "routers",
    "routers: cores per node that route, the paper's k' (the first also generates); the others update",
    integers(1..=MAX_CORES as u64 - 1, 3),
)
.in_column("node_routers", Unit::None);
const PACKETS: Key<u64> = key(
    "packets",
    "packets: maximum number of messages that one receive takes; four in the paper",
    integers(1..=16, 1),
)
.in_column("receive_packets", Unit::None);

fn refuse(point: &Point) -> Result<(), Refusal> {
    let (ranks, cores, routers) = (point.ranks as u64, CORES.of(point), ROUTERS.of(point));
    if !ranks.is_multiple_of(cores) {
        return Err(refusal!(
            ["ranks", "cores_per_node"],
            "{ranks} ranks are not a multiple of cores_per_node = {cores}; use a multiple"
        ));
    }
    if routers >= cores {
        return Err(refusal!(
            ["routers", "cores_per_node"],
            "routers = {routers} with cores_per_node = {cores} leaves no core to update; use fewer routers"
        ));
    }
    for (name, value) in [("disabled", DISABLED.of(point)), ("delayed_core", DELAYED.of(point))] {
        if value >= cores {
            return Err(refusal!(
                [name, "cores_per_node"],
                "{name} = {value} is too large for cores_per_node = {cores}; use {} or less",
                cores - 1
            ));
        }
    }
    if OWNER_BY.of(point) == OwnerBy::Shift && !(ranks / cores * (cores - routers)).is_power_of_two() {
        return Err(refusal!(
            ["owner_by", "ranks", "cores_per_node", "routers"],
            "owner_by = \"shift\" needs a number of updating ranks that is a power of two; use \"division\" or \
             \"prediction\""
        ));
    }
    refuse_grid(point, point.ranks / cores as usize)
}

fn run<C: Mailboxes>(comm: &C, point: &Point, arena: &mut Arena) -> Result<Outcome> {
    let plan = RolePlan::new(point);
    let problem = Problem::with_nodes(point, comm.rank(), plan.nodes);
    let mut member = Member::new(comm, &plan, &problem, point);
    let core = comm.rank() % plan.nodes.cores;
    let discards = DISABLED.of(point) > 0;
    let rules = Rules { discards, conformant: !discards && member.delay == 0.0, ..Rules::STRICT };
    let outcome = measure(comm, &problem, arena, rules, |table| member.pass(core, &problem, table));
    let words = [member.busy_seconds.to_bits()].into_iter().chain(member.progress.words());
    let gathered = comm.gather(&words.collect::<Vec<_>>());
    let mut outcome = outcome?;
    let mut ranks = Vec::new();
    for (number, words) in gathered.iter().flat_map(|words| words.chunks(1 + Progress::WORDS)).enumerate() {
        let load = outcome.outputs.entry(LOADS[number % plan.nodes.cores].column).or_insert(Value::Real(0.0));
        let sum = load.as_f64().unwrap_or(0.0) + f64::from_bits(words[0]) / problem.updates as f64;
        *load = Value::Real(sum);
        ranks.push(words[1..].iter().map(|bits| f64::from_bits(*bits)).collect::<Vec<_>>());
    }
    if !ranks.is_empty() && !discards {
        let rate = steady_rate(&ranks, (plan.nodes.cores, plan.nodes.routers), problem.updates);
        outcome.outputs.insert(STEADY.column, Value::Real(rate));
    }
    Ok(outcome)
}

struct Channel<C: Mailboxes> {
    inbox: C::Inbox,
    outbox: C::Outbox,
    /// Senders that have sent their last message.
    ended: usize,
    received: Vec<u64>,
}

struct Member<'a, C: Mailboxes> {
    comm: &'a C,
    plan: &'a RolePlan,
    owners: Owners,
    index: Index,
    /// Those that this rank may use. The first has the number `first_channel`.
    channels: Vec<Channel<C>>,
    first_channel: usize,
    routes: Vec<Route>,
    /// For each part of the table; empty on simulated ranks.
    bucket_for: Vec<u32>,
    buckets: Vec<Vec<u64>>,
    stored: usize,
    tally: Tally,
    packets: usize,
    /// Whether this rank discards the updates that it receives.
    disabled: bool,
    /// In seconds per update.
    delay: f64,
    idle: Idle,
    busy_seconds: f64,
    progress: Progress,
}

/// Parts without a route are served only by earlier cores; their updates never arrive here.
fn find_bucket(plan: &RolePlan, rank: usize, routes: &[Route], part: usize) -> usize {
    let next_route = plan.route(rank, part);
    routes.iter().position(|route| *route == next_route).unwrap_or(0)
}

impl<'a, C: Mailboxes> Member<'a, C> {
    fn new(comm: &'a C, plan: &'a RolePlan, problem: &Problem, point: &Point) -> Self {
        let (rank, dimensions) = (comm.rank(), plan.grid.dimensions());
        let (buffers, handles) = (BUFFERS.of(point) as usize, SMSG.of(point) as usize);
        // The first dimension receives only generated updates and needs no channel. Without dimensions, channel 0 is the updating cores'.
        let first_channel = dimensions.min(1);
        let channel = |channel: usize| {
            let (inbox, outbox) = comm.mailbox(Tag::Data(channel as u8), buffers, handles, plan.capacity);
            Channel { inbox, outbox, ended: 0, received: Vec::with_capacity(plan.capacity) }
        };
        let core = rank % plan.nodes.cores;
        let is_router = core < plan.nodes.routers;
        let routes = if is_router { plan.routes(rank) } else { Vec::new() };
        // A table of all parts for each of many simulated ranks would be too large.
        let has_table = is_router && comm.simulated_rank().is_none();
        let bucket = |part: usize| find_bucket(plan, rank, &routes, part) as u32;
        Self {
            comm,
            plan,
            owners: problem.find_owners(point),
            index: problem.index,
            channels: (first_channel..=dimensions).map(channel).collect(),
            first_channel,
            bucket_for: if has_table { (0..problem.owners.parts()).map(bucket).collect() } else { Vec::new() },
            buckets: vec![Vec::with_capacity(plan.capacity); routes.len()],
            routes,
            stored: 0,
            packets: PACKETS.of(point) as usize,
            disabled: core + DISABLED.of(point) as usize >= plan.nodes.cores,
            delay: if core as u64 == DELAYED.of(point) { 1e-9 * DELAY.of(point) as f64 } else { 0.0 },
            tally: Tally { buffer_bytes: (KERNEL.buffer_bytes)(point), ..Tally::default() },
            idle: Idle::default(),
            busy_seconds: 0.0,
            progress: Progress::default(),
        }
    }

    fn pass(&mut self, core: usize, problem: &Problem, table: &mut Table) -> Tally {
        let started = self.comm.wall_time();
        if core < self.plan.nodes.routers {
            self.generate(problem);
            for dimension in self.plan.dimensions(core) {
                self.finish(dimension);
            }
            self.end_dimension(self.plan.grid.dimensions());
        } else {
            self.update(problem, table);
        }
        self.end_idle();
        self.busy_seconds += self.comm.wall_time() - started - self.idle.seconds;
        self.tally
    }

    fn generate(&mut self, problem: &Problem) {
        if problem.own_streams.is_empty() {
            return;
        }
        let mut generator = problem.own_generator();
        let (started, updates) = (self.comm.wall_time(), problem.own_updates());
        self.charge_batch(updates);
        for number in 1..=updates {
            self.count_stored(1);
            self.route(generator.next_u64());
            if number % self.plan.capacity as u64 == 0 {
                self.delay(self.plan.capacity);
                self.serve(0);
                self.charge_batch(updates - number);
            }
        }
        self.delay((updates % self.plan.capacity as u64) as usize);
        self.progress.generated = self.comm.wall_time() - started;
    }

    /// Before any of these updates is sent. `left` updates are left.
    #[inline(always)]
    fn charge_batch(&self, left: u64) {
        let batch = left.min(self.plan.capacity as u64) as usize;
        self.comm.charge(Computation::Generate, batch);
        self.comm.charge(Computation::Divide, batch);
    }

    fn update(&mut self, problem: &Problem, table: &mut Table) {
        let (started, mut received) = (self.comm.wall_time(), 0);
        let mean = problem.updates as f64 / problem.nodes.owners() as f64;
        let (rank, dimensions) = (self.comm.rank(), self.plan.grid.dimensions());
        while self.channels[dimensions - self.first_channel].ended < self.plan.senders(rank, dimensions) {
            let Self { channels, first_channel, index, disabled, tally, idle, comm, .. } = self;
            let channel = &mut channels[dimensions - *first_channel];
            let (ended, mut updates) = (&mut channel.ended, 0);
            let taken = channel.inbox.take_batch(self.packets, |_, words| {
                idle.end(*comm);
                if *disabled {
                    words.iter().for_each(|&value| tally.discard(index.word(value), value));
                } else {
                    table.apply(words);
                    comm.charge(Computation::Update, words.len());
                    tally.applied += words.len() as u64;
                }
                // An empty message is the last one of its sender.
                *ended += usize::from(words.is_empty());
                tally.store(words.len());
                updates += words.len();
            });
            if taken == 0 {
                self.wait();
            } else {
                self.delay(updates);
                received += updates as u64;
                self.progress.receive(received, mean, || self.comm.wall_time() - started);
            }
        }
    }

    fn count_stored(&mut self, updates: usize) {
        self.stored += updates;
        self.tally.store(self.stored);
    }

    #[inline]
    fn route(&mut self, value: u64) {
        let part = self.owners.owner(self.index.word(value));
        let bucket = match self.bucket_for.get(part) {
            Some(bucket) => *bucket as usize,
            None => find_bucket(self.plan, self.comm.rank(), &self.routes, part),
        };
        self.buckets[bucket].push(value);
        if self.buckets[bucket].len() == self.plan.capacity {
            self.flush(bucket);
        }
    }

    fn flush(&mut self, bucket: usize) {
        let mut values = std::mem::take(&mut self.buckets[bucket]);
        self.send(self.routes[bucket], &values);
        self.tally.hops += values.len() as u64;
        self.stored -= values.len();
        values.clear();
        self.buckets[bucket] = values;
    }

    /// While this must wait, the rank routes only updates for later dimensions. The updating ranks always empty their mailboxes, so
    /// ranks never wait for each other in a circle.
    fn send(&mut self, route: Route, values: &[u64]) {
        while !self.channels[route.channel - self.first_channel].outbox.send(route.to, values) {
            if !self.serve(route.along + 1) {
                self.wait();
            }
        }
        self.end_idle();
        self.tally.messages += 1;
    }

    /// Routes updates that have arrived for this rank's dimensions `first` and later. Returns whether any message had arrived.
    fn serve(&mut self, first: usize) -> bool {
        let own = self.plan.dimensions(self.comm.rank() % self.plan.nodes.cores);
        let mut progress = false;
        for dimension in first.max(own.start).max(self.first_channel)..own.end {
            let channel = dimension - self.first_channel;
            let mut received = std::mem::take(&mut self.channels[channel].received);
            loop {
                let Channel { inbox, ended, .. } = &mut self.channels[channel];
                let taken = inbox.take_batch(self.packets, |_, words| {
                    *ended += usize::from(words.is_empty());
                    received.extend_from_slice(words);
                });
                if taken == 0 {
                    break;
                }
                self.end_idle();
                self.delay(received.len());
                if self.disabled {
                    received.drain(..).for_each(|value| self.tally.discard(self.index.word(value), value));
                } else {
                    self.count_stored(received.len());
                    for bucket in received.chunks(self.plan.capacity) {
                        self.comm.charge(Computation::Divide, bucket.len());
                        bucket.iter().for_each(|value| self.route(*value));
                    }
                    received.clear();
                }
                progress = true;
            }
            self.channels[channel].received = received;
        }
        progress
    }

    /// Waits until all updates that travel along this dimension have arrived, and then sends all remaining ones along it.
    fn finish(&mut self, dimension: usize) {
        let senders = if dimension == 0 { 0 } else { self.plan.senders(self.comm.rank(), dimension) };
        while dimension > 0 && self.channels[dimension - self.first_channel].ended < senders {
            if !self.serve(dimension) {
                self.wait();
            }
        }
        self.end_dimension(dimension);
    }

    /// Sends all remaining updates along a dimension or within the node, and then an empty message to each destination.
    fn end_dimension(&mut self, dimension: usize) {
        for bucket in 0..self.routes.len() {
            if self.routes[bucket].along == dimension {
                if !self.buckets[bucket].is_empty() {
                    self.flush(bucket);
                }
                self.send(self.routes[bucket], &[]);
            }
        }
    }

    /// The artificial delay of this number of updates counts as busy time.
    fn delay(&self, updates: usize) {
        if self.delay > 0.0 {
            self.comm.delay(self.delay * updates as f64, std::hint::spin_loop);
        }
    }

    fn wait(&mut self) {
        self.idle.begin(self.comm);
        self.comm.relax();
    }

    fn end_idle(&mut self) {
        self.idle.end(self.comm);
    }
}
