/* Plain loops of RandomAccess on one core, for comparison with random_access.sequential: its stream and its table. */
#include <stddef.h>
#include <stdint.h>

#define STREAMS 128
#define FAR 1024
#define NEAR 32

static inline uint64_t next(uint64_t value) {
    return value << 1 ^ ((int64_t)value < 0 ? 7 : 0);
}

static uint64_t start(uint64_t stream) {
    uint64_t z = (stream + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void one_stream(uint64_t *table, size_t words, size_t updates) {
    uint64_t value = start(0);
    for (size_t i = 0; i < updates; i++) {
        value = next(value);
        table[value & (words - 1)] ^= value;
    }
}

/* The loop of HPCC's SingleRandomAccess. */
void many_streams(uint64_t *table, size_t words, size_t updates) {
    uint64_t values[STREAMS];
    for (size_t j = 0; j < STREAMS; j++) values[j] = start(j);
    for (size_t i = 0; i < updates / STREAMS; i++) {
        for (size_t j = 0; j < STREAMS; j++) {
            values[j] = next(values[j]);
            table[values[j] & (words - 1)] ^= values[j];
        }
    }
}

static inline void prefetched(uint64_t *table, size_t words, size_t updates, size_t ahead) {
    uint64_t values[FAR], value = start(0);
    for (size_t i = 0; i < ahead; i++) {
        values[i] = value = next(value);
        __builtin_prefetch(table + (value & (words - 1)), 1);
    }
    for (size_t i = 0; i < updates; i++) {
        uint64_t now = values[i % ahead];
        values[i % ahead] = value = next(value);
        __builtin_prefetch(table + (value & (words - 1)), 1);
        table[now & (words - 1)] ^= now;
    }
}

void prefetched_far(uint64_t *table, size_t words, size_t updates) {
    prefetched(table, words, updates, FAR);
}

void prefetched_near(uint64_t *table, size_t words, size_t updates) {
    prefetched(table, words, updates, NEAR);
}
