// The finaliser of SplitMix64 after one step of its counter, as numerics/mix.rs has it. OpenCL has a function `mix`.
ulong mix_word(ulong value) {
    ulong z = value + 0x9e3779b97f4a7c15UL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9UL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebUL;
    return z ^ (z >> 31);
}

// Every work item takes the words that are a multiple of the number of work items apart.
#define FOR_OWN(index, count) \
    for (ulong index = get_global_id(0); index < (count); index += get_global_size(0))

// Each word holds its index plus a first number.
kernel void number(global ulong *memory, ulong words, ulong first) {
    FOR_OWN(word, words) memory[word] = first + word;
}

// Counts the words that are not their index plus a first number.
kernel void count_unnumbered(global const ulong *memory, global ulong *counts, ulong words, ulong first) {
    ulong count = 0;
    FOR_OWN(word, words) count += memory[word] != first + word;
    counts[get_global_id(0)] = count;
}
