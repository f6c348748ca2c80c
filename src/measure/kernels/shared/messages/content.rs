use super::*;

pub fn identity(sender: usize, receiver: usize, number: usize) -> u64 {
    seed(&[sender as u64, receiver as u64, number as u64])
}

/// The last item of a message, which differs between messages and between rounds.
#[inline]
pub fn stamp(identity: u64, round: u32) -> u32 {
    (identity as u32).wrapping_add(round)
}

/// Leaves the stamp.
pub fn fill(message: &mut [u32], identity: u64) {
    let body = message.len().saturating_sub(1);
    for (i, item) in message[..body].iter_mut().enumerate() {
        *item = mix(identity ^ i as u64) as u32;
    }
}

pub fn is_intact(message: &[u32], identity: u64, round: u32) -> bool {
    let Some((&last, body)) = message.split_last() else { return false };
    let as_filled = |(i, &item): (usize, &u32)| item == mix(identity ^ i as u64) as u32;
    last == stamp(identity, round) && body.iter().enumerate().all(as_filled)
}
