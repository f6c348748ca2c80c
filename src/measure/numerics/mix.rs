/// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) after one step of its counter.
#[inline]
pub fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The order of the numbers matters.
pub fn seed(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, &part| mix(state ^ part))
}
