// Loops over pairs of words, 16 bytes per access, with UNROLL accesses of each work item in flight. An array of `pairs` pairs is
// passed again and again until `total` pairs are done.
#define UNROLL 4

#if ACCESS == 1
#define RESULT(i) b[i]
#elif ACCESS == 2
#define RESULT(i) (3 * b[i])
#elif ACCESS == 3
#define RESULT(i) (b[i] + c[i])
#else
#define RESULT(i) (b[i] + 3 * c[i])
#endif

#define NEXT_PLACE place += step; place -= place >= pairs ? pairs : 0

kernel void pass(
    global ulong2 *restrict a, global const ulong2 *restrict b, global const ulong2 *restrict c, ulong pairs, ulong total
) {
    const ulong items = get_global_size(0), step = items % pairs;
    ulong done = get_global_id(0), place = done % pairs;
    for (; done + (UNROLL - 1) * items < total; done += UNROLL * items) {
        ulong2 result[UNROLL];
        ulong places[UNROLL];
        #pragma unroll
        for (int load = 0; load < UNROLL; load++) {
            places[load] = place;
            result[load] = RESULT(place);
            NEXT_PLACE;
        }
        #pragma unroll
        for (int load = 0; load < UNROLL; load++)
            a[places[load]] = result[load];
    }
    for (; done < total; done += items) {
        a[place] = RESULT(place);
        NEXT_PLACE;
    }
}

kernel void sum(global ulong *restrict sums, global const ulong2 *restrict b, ulong pairs, ulong total) {
    const ulong items = get_global_size(0), step = items % pairs;
    ulong done = get_global_id(0), place = done % pairs;
    ulong2 sum = 0;
    for (; done + (UNROLL - 1) * items < total; done += UNROLL * items) {
        #pragma unroll
        for (int load = 0; load < UNROLL; load++) {
            sum += b[place];
            NEXT_PLACE;
        }
    }
    for (; done < total; done += items) {
        sum += b[place];
        NEXT_PLACE;
    }
    sums[get_global_id(0)] = sum.x + sum.y;
}

// Counts the words that are not `first` plus `slope` times their index.
kernel void count_wrong(global const ulong *a, global ulong *counts, ulong words, ulong first, ulong slope) {
    ulong count = 0;
    FOR_OWN(word, words) count += a[word] != first + slope * word;
    counts[get_global_id(0)] = count;
}
