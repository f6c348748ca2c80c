// LANES work items share a block of L words. Each keeps IN_FLIGHT loads outstanding.

// Each word is a difference of two values of a mixing function, so that the sum of a block follows from its two ends.
kernel void fill(global ulong *memory, ulong words) {
    FOR_OWN(word, words) memory[word] = mix_word(word + 1) - mix_word(word);
}

#ifdef GENERATED
// The block of a slot by the power law: the share u^exponent of all blocks.
ulong block_of(global const uint *indices, ulong slot, ulong blocks, ulong seed, ulong exponent) {
    const double u = (double)(mix_word(seed ^ slot) >> 11) * 0x1p-53;
    const double power = as_double(exponent);
    const double share = power == 1.0 ? u : pow(u, power);
    return min((ulong)(share * (double)blocks), blocks - 1);
}

// Stores the blocks for the check.
kernel void store_blocks(global uint *indices, ulong count, ulong blocks, ulong seed, ulong exponent) {
    FOR_OWN(slot, count) indices[slot] = (uint)block_of(indices, slot, blocks, seed, exponent);
}
#else
ulong block_of(global const uint *indices, ulong slot, ulong blocks, ulong seed, ulong exponent) {
    return indices[slot];
}
#endif

// Sums the blocks of `total` accesses. The accesses go through the `count` slots again and again.
kernel void sum_blocks(
    global const ulong *restrict memory, global const uint *restrict indices, global ulong *restrict sums, ulong count, ulong total,
    ulong L, ulong blocks, ulong seed, ulong exponent
) {
    const ulong lane = get_global_id(0) % LANES, teams = get_global_size(0) / LANES;
    const ulong step = teams % count;
    ulong access = get_global_id(0) / LANES, slot = access % count, sum = 0;
    for (; access + (IN_FLIGHT - 1) * teams < total; access += IN_FLIGHT * teams) {
        ulong first[IN_FLIGHT];
        #pragma unroll
        for (int load = 0; load < IN_FLIGHT; load++) {
            first[load] = block_of(indices, slot, blocks, seed, exponent) * L;
            slot += step;
            slot -= slot >= count ? count : 0;
        }
        for (ulong word = lane; word < L; word += LANES) {
            // All loads before the first use, so that they are in flight together.
            ulong read[IN_FLIGHT];
            #pragma unroll
            for (int load = 0; load < IN_FLIGHT; load++)
                read[load] = memory[first[load] + word];
            #pragma unroll
            for (int load = 0; load < IN_FLIGHT; load++)
                sum += read[load];
        }
    }
    for (; access < total; access += teams) {
        const ulong first = block_of(indices, slot, blocks, seed, exponent) * L;
        slot += step;
        slot -= slot >= count ? count : 0;
        for (ulong word = lane; word < L; word += LANES)
            sum += memory[first + word];
    }
    sums[get_global_id(0)] = sum;
}
