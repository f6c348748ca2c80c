//! Apex-Map's protocols without its distribution of addresses. A remote access among local ones costs a whole exchange; one among
//! other remote ones costs a part of it. If M/P fits into a cache, the time is that of the protocol.

use super::*;
use crate::kernels::shared::accesses::draw::GIVEN_REMOTE_SHARE;
use crate::kernels::shared::accesses::two_sided::{self, POLL_EVERY};
use crate::kernels::shared::accesses::{
    B, HEADLINE, I, L, M, N, NSER, OUTPUTS, PAGES, SEED, SMSG, arrays, buffer_words, check, local_words, one_sided,
};

pub static KERNEL: Kernel = Kernel {
    id: "calibrate.request",
    summary: "Time per access if a given share goes to another rank's memory, by messages or gets",
    source: &source::APEX_MAP,
    place: "Section 2.1, Table 1",
    parameters: parameters![SMALL_M, GIVEN_REMOTE_SHARE, BY, L, I, DEFAULT_N, B, SMSG, NSER, POLL_EVERY, PAGES, SEED],
    outputs: OUTPUTS,
    headline: HEADLINE,
    method: "Every rank reads blocks, a given share of them from other ranks' memory, and meanwhile serves the \
        others, by the protocol of Apex-Map. All addresses are drawn before the clock starts. The time is \
        that of the slowest rank, until no request is outstanding. The sum of all words was compared with the \
        sum computed from the addresses.",
    windows: Windows::If(BY.parameter.name, "gets"),
    simulation: Some(Computations::None),
    refuse: |point| {
        check(point)?;
        match point.ranks {
            1 => Err(refusal!(["ranks"], "a remote access needs another rank; use 2 ranks or more")),
            _ => Ok(()),
        }
    },
    work: |point| {
        let operations = point.ranks as f64 * I.of(point) as f64 * N.of(point) as f64;
        Work::new(
            operations,
            "access",
            (L.of(point) * WORD_BYTES) as f64,
            "words read and summed, 8 L bytes per access",
        )
    },
    arena_words: local_words,
    buffer_bytes: |point| {
        let blocks = B.of(point) + SMSG.of(point);
        buffer_words(point, N.of(point), blocks).saturating_mul(WORD_BYTES)
    },
    rings: two_sided::rings,
    run: |point, stream, world| {
        on_transport!(world.transport, comm => match BY.of(point) {
            RemoteAccess::Gets => one_sided::run(comm, point, stream, world.arena),
            RemoteAccess::Messages => two_sided::run(comm, point, stream, world.arena),
        })
    },
    ..FAMILY
};

const BY: Key<RemoteAccess> =
    choice_key("by", "access to a remote block: a request and a reply, or a get").in_column("remote_by", Unit::None);
choice! { enum RemoteAccess { Messages = "messages", Gets = "gets" } }
const SMALL_M: Key<u64> = M.with_domain(Domain::Global { min: 1, max: 1 << 60, default: 1 << 12 });
const DEFAULT_N: Key<u64> = N.with_domain(chosen(1..=1 << 32, "I, L and given_remote_share", |point| {
    arrays::count_for_share(point, GIVEN_REMOTE_SHARE.of(point))
}));
