/* Plain loops of RandomAccess on one core, for comparison with random_access.sequential: its stream and its table. And an exchange
   between two, for comparison with random_access.hypercube. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#define ROUND 1024
#define PLACES 4
#define SIDE_BY_SIDE 16
#define MOST_THREADS 64
#define MOST_STAGES 6

/* The messages from a thread in a stage. */
struct line {
    _Alignas(256) atomic_size_t taken;
    struct place {
        _Alignas(64) atomic_size_t number;
        size_t count;
        uint64_t values[2 * ROUND];
    } places[PLACES];
};
static struct line lines[MOST_THREADS][MOST_STAGES];
static size_t rounds[MOST_THREADS], threads;
static atomic_size_t entered;

/* For this number of threads, a power of two. */
void prepare(size_t count) {
    memset(lines, 0, sizeof lines);
    memset(rounds, 0, sizeof rounds);
    threads = count;
}

#define EARLY 128
#define LATE 16

/* Prefetches each word twice. */
static void apply(uint64_t *table, size_t words, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < EARLY && i < count; i++) __builtin_prefetch(table + (values[i] & (words - 1)), 0, 2);
    for (size_t i = 0; i < count; i++) {
        if (i + EARLY < count) __builtin_prefetch(table + (values[i + EARLY] & (words - 1)), 0, 2);
        if (i + LATE < count) __builtin_prefetch(table + (values[i + LATE] & (words - 1)));
        table[values[i] & (words - 1)] ^= values[i];
    }
}

/* Writes each value to both lists, and advances one of them. */
static void divide(const uint64_t *values, size_t count, uint64_t bit, int upper, uint64_t *lists[2]) {
    uint64_t *keep = lists[0], *send = lists[1];
    for (size_t i = 0; i < count; i++) {
        *keep = *send = values[i];
        int stays = ((values[i] & bit) != 0) == upper;
        keep += stays;
        send += !stays;
    }
    lists[0] = keep;
    lists[1] = send;
}

/* Called by all threads together, each with its part of a table, of this number of words. In a round a thread makes 1024 updates. In each
   stage it sends those of the other half of its partition, and keeps those of its own half. */
void exchange(uint64_t *part, size_t words, size_t updates) {
    size_t rank = atomic_fetch_add(&entered, 1) % threads, end = rounds[rank] + updates / ROUND;
    uint64_t streams[SIDE_BY_SIDE], buffers[2][4 * ROUND];
    for (size_t i = 0; i < SIDE_BY_SIDE; i++) streams[i] = start(SIDE_BY_SIDE * rank + i);
    for (size_t round = rounds[rank]; round < end; round++) {
        uint64_t *list = buffers[0], *other = buffers[1];
        size_t count = ROUND, stage = 0;
        struct line *from = 0;
        struct place *in = 0;
        for (size_t i = 0; i < ROUND; i += SIDE_BY_SIDE)
            for (size_t j = 0; j < SIDE_BY_SIDE; j++) list[i + j] = streams[j] = next(streams[j]);
        for (size_t half = threads / 2; half; half /= 2, stage++) {
            struct line *line = &lines[rank][stage];
            struct place *out = &line->places[round % PLACES];
            while (round - atomic_load_explicit(&line->taken, memory_order_acquire) >= PLACES) {}
            uint64_t *lists[2] = {other, out->values};
            divide(list, count, half * words, (rank & half) != 0, lists);
            if (from) {
                while (atomic_load_explicit(&in->number, memory_order_acquire) != round + 1) {}
                divide(in->values, in->count, half * words, (rank & half) != 0, lists);
                atomic_store_explicit(&from->taken, round + 1, memory_order_release);
            }
            out->count = lists[1] - out->values;
            atomic_store_explicit(&out->number, round + 1, memory_order_release);
            count = lists[0] - other;
            other = list;
            list = lists[0] - count;
            from = &lines[rank ^ half][stage];
            in = &from->places[round % PLACES];
        }
        apply(part, words, list, count);
        if (from) {
            while (atomic_load_explicit(&in->number, memory_order_acquire) != round + 1) {}
            apply(part, words, in->values, in->count);
            atomic_store_explicit(&from->taken, round + 1, memory_order_release);
        }
    }
    rounds[rank] = end;
}
