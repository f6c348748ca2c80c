// A region of 2^n places of `stride` words is one cycle, in the order of a linear congruential generator of full period.
kernel void link(global ulong *memory, ulong places, ulong stride, ulong multiplier, ulong increment) {
    FOR_OWN(place, places)
        memory[place * stride] = ((place * multiplier + increment) & (places - 1)) * stride;
}

// Reads the whole region, so that caches that all work items share hold as much of it as fits.
kernel void touch(global const ulong *memory, global ulong *sums, ulong words) {
    ulong sum = 0;
    FOR_OWN(word, words) sum += memory[word];
    sums[get_global_id(0)] = sum;
}

// Each work item follows the cycle from its own place. `writers` of four write each word back; `change` is 0, which the compiler does not
// know.
kernel void chase(global ulong *memory, global ulong *ends, ulong steps, ulong writers, ulong change) {
    ulong place = ends[get_global_id(0)];
    if (get_global_id(0) % 4 < writers)
        for (ulong step = 0; step < steps; step++) {
            const ulong next = memory[place];
            memory[place] = next ^ change;
            place = next;
        }
    else
        for (ulong step = 0; step < steps; step++)
            place = memory[place];
    ends[get_global_id(0)] = place;
}
