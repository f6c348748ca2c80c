// T[index(v)] ^= v for the values v of HPCC's shift register. Each work item has a part of the stream.
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

#define NEXT_VALUE(value) (((value) << 1) ^ ((long)(value) < 0 ? 7UL : 0UL))

// The first `rest` work items have one value more than `each`.
#define OWN_VALUES (each + (get_global_id(0) < rest ? 1 : 0))

kernel void update(global ulong *table, global const ulong *starts, ulong mask, ulong each, ulong rest) {
    ulong value = starts[get_global_id(0)];
    const ulong count = OWN_VALUES;
    for (ulong done = 0; done < count; done++) {
        value = NEXT_VALUE(value);
#ifdef ATOMIC
        atom_xor((volatile global ulong *)&table[value & mask], value);
#else
        table[value & mask] ^= value;
#endif
    }
}

// The same updates for the check, with the index by division.
kernel void undo(global ulong *table, global const ulong *starts, ulong words, ulong each, ulong rest) {
    ulong value = starts[get_global_id(0)];
    const ulong count = OWN_VALUES;
    for (ulong done = 0; done < count; done++) {
        value = NEXT_VALUE(value);
        atom_xor((volatile global ulong *)&table[value % words], value);
    }
}

// The contribution of a value at a word to the hash, as random_access/verify/hash.rs has it.
ulong update_hash(ulong word, ulong value) {
    const ulong turns = mix_word(word);
    return rotate(value, turns & 63) ^ (value & turns);
}

kernel void hash_values(global ulong *hashes, global const ulong *starts, ulong words, ulong each, ulong rest) {
    ulong value = starts[get_global_id(0)], hash = 0;
    const ulong count = OWN_VALUES;
    for (ulong done = 0; done < count; done++) {
        value = NEXT_VALUE(value);
        hash ^= update_hash(value % words, value);
    }
    hashes[get_global_id(0)] = hash;
}

kernel void hash_table(global const ulong *table, global ulong *hashes, ulong words) {
    ulong hash = 0;
    FOR_OWN(word, words) hash ^= update_hash(word, table[word] ^ word);
    hashes[get_global_id(0)] = hash;
}
