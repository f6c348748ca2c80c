// Arithmetic in registers.
kernel void canary_compute(global ulong *results) {
    ulong value = get_global_id(0);
    for (int step = 0; step < 128; step++) value = mix_word(value);
    results[get_global_id(0)] = value;
}

// One word of every 64 bytes.
kernel void canary_memory(global const ulong *memory, global ulong *results, ulong words) {
    ulong sum = 0;
    FOR_OWN(line, words / 8) sum += memory[line * 8];
    results[get_global_id(0)] = sum;
}
