/* Plain loops for comparison with the memory kernels: the same accesses on the same memory. */
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* In each group of `group` accesses the last `writes` ones write their number. The sum of the others is returned. */
uint64_t peer_write(uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block, size_t group, size_t writes) {
    uint64_t sum = 0, number = 1;
    for (size_t i = 0; i < accesses; i += group) {
        for (size_t k = i; k < i + group - writes; k++, number++) {
            const uint64_t *words = memory + offsets[k];
            for (size_t j = 0; j < block; j++) sum += words[j];
        }
        for (size_t k = i + group - writes; k < i + group; k++, number++) {
            uint64_t *words = memory + offsets[k];
            for (size_t j = 0; j < block; j++) words[j] = number;
        }
    }
    return sum;
}

uint64_t peer_write_all(uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block, size_t group, size_t writes) {
    (void)group, (void)writes;
    for (size_t i = 0; i < accesses; i++) {
        uint64_t *words = memory + offsets[i];
        for (size_t j = 0; j < block; j++) words[j] = i + 1;
    }
    return 0;
}

uint64_t peer_update(uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block, size_t group, size_t writes) {
    (void)group, (void)writes;
    for (size_t i = 0; i < accesses; i++) {
        uint64_t *words = memory + offsets[i];
        for (size_t j = 0; j < block; j++) words[j] += i + 1;
    }
    return 0;
}

uint64_t peer_copy(uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block, size_t group, size_t writes) {
    (void)group, (void)writes;
    for (size_t i = 0; i < accesses; i += 2) {
        const uint64_t *from = memory + offsets[i];
        uint64_t *to = memory + offsets[i + 1];
        for (size_t j = 0; j < block; j++) to[j] = from[j];
    }
    return 0;
}

uint64_t peer_non_temporal(uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block, size_t group, size_t writes) {
    (void)group, (void)writes;
    for (size_t i = 0; i < accesses; i++) {
        uint64_t *words = memory + offsets[i];
        if (block % 4 == 0) {
            __m256i value = _mm256_set1_epi64x((long long)(i + 1));
            for (size_t j = 0; j < block; j += 4) _mm256_stream_si256((__m256i *)(words + j), value);
        } else {
            for (size_t j = 0; j < block; j++) _mm_stream_si64((long long *)(words + j), (long long)(i + 1));
        }
    }
    _mm_sfence();
    return 0;
}

static inline uint64_t chase(const uint64_t *memory, const uint64_t *steps, size_t accesses, size_t block, size_t chains) {
    uint64_t sum = 0, last[32] = {0};
    for (size_t i = 0; i < accesses; i += chains) {
        for (size_t c = 0; c < chains; c++) {
            const uint64_t *words = memory + (steps[i + c] + last[c]);
            for (size_t j = 0; j < block; j++) sum += words[j];
            last[c] = words[block - 1];
        }
    }
    return sum;
}

uint64_t peer_chase(const uint64_t *memory, const uint64_t *steps, size_t accesses, size_t block, size_t chains) {
    switch (chains) {
        case 1: return chase(memory, steps, accesses, block, 1);
        case 2: return chase(memory, steps, accesses, block, 2);
        case 4: return chase(memory, steps, accesses, block, 4);
        case 8: return chase(memory, steps, accesses, block, 8);
        case 16: return chase(memory, steps, accesses, block, 16);
        default: return chase(memory, steps, accesses, block, 32);
    }
}

uint64_t peer_stride(const uint64_t *words, size_t count, size_t stride) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 3 * stride < count; i += 4 * stride) {
        a += words[i];
        b += words[i + stride];
        c += words[i + 2 * stride];
        d += words[i + 3 * stride];
    }
    for (; i < count; i += stride) a += words[i];
    return a + b + c + d;
}

void peer_stream_copy(uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, size_t count) {
    (void)c;
    for (size_t i = 0; i < count; i++) a[i] = b[i];
}
void peer_stream_scale(uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, size_t count) {
    (void)c;
    for (size_t i = 0; i < count; i++) a[i] = 3 * b[i];
}
void peer_stream_add(uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, size_t count) {
    for (size_t i = 0; i < count; i++) a[i] = b[i] + c[i];
}
void peer_stream_triad(uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, size_t count) {
    for (size_t i = 0; i < count; i++) a[i] = b[i] + 3 * c[i];
}
void peer_fill(uint64_t *restrict a, const uint64_t *restrict b, const uint64_t *restrict c, size_t count) {
    (void)b, (void)c;
    for (size_t i = 0; i < count; i++) a[i] = 7;
}

static struct { _Alignas(128) _Atomic uint64_t number; } line;
static uint64_t all_rounds;

static void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static uint64_t wait_for(uint64_t wanted) {
    for (;;) {
        for (int look = 0; look < 1 << 12; look++)
            if (atomic_load_explicit(&line.number, memory_order_acquire) == wanted) return wanted;
        sched_yield();
    }
}

static void *answer(void *processor) {
    pin((int)(intptr_t)processor);
    uint64_t *sum = &all_rounds, found = 0, rounds = *sum;
    for (uint64_t round = 0; round < rounds; round++) {
        found += wait_for(2 * round + 1);
        atomic_store_explicit(&line.number, 2 * round + 2, memory_order_release);
    }
    return (void *)(uintptr_t)found;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Returns the seconds of `rounds` rounds. An eighth of that number runs first, untimed. */
double peer_hand_over(uint64_t rounds, int first, int second) {
    pthread_t other;
    double start = 0;
    uint64_t untimed = rounds / 8, found = 0;
    atomic_store(&line.number, 0);
    all_rounds = rounds + untimed;
    cpu_set_t before;
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    pthread_create(&other, NULL, answer, (void *)(intptr_t)second);
    pin(first);
    for (uint64_t round = 0; round < rounds + untimed; round++) {
        if (round == untimed) start = now();
        atomic_store_explicit(&line.number, 2 * round + 1, memory_order_release);
        found += wait_for(2 * round + 2);
    }
    double seconds = now() - start;
    pthread_join(other, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return found == 0 ? 0 : seconds;
}

/* A memory region, a cycle through its lines in random order, and the position of the chase. */
static struct { char *memory; size_t bytes; char **at; } region;

static void make_cycle(size_t bytes) {
    size_t lines = bytes / 64;
    uint32_t *order = malloc(lines * sizeof *order);
    free(region.memory);
    region.memory = aligned_alloc(2 << 20, (bytes + (2 << 20) - 1) >> 21 << 21);
    madvise(region.memory, (bytes + (2 << 20) - 1) >> 21 << 21, MADV_HUGEPAGE);
    for (size_t i = 0; i < lines; i++) order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t j = ((size_t)random() << 31 | (size_t)random()) % (i + 1);
        uint32_t other = order[i];
        order[i] = order[j], order[j] = other;
    }
    for (size_t i = 0; i < lines; i++)
        *(char **)(region.memory + 64 * (size_t)order[i]) = region.memory + 64 * (size_t)order[(i + 1) % lines];
    free(order);
    region.bytes = bytes, region.at = (char **)region.memory;
}

static double follow(size_t steps) {
    char **at = region.at;
    double start = now();
    for (size_t i = 0; i < steps / 8; i++) {
        at = (char **)*at, at = (char **)*at, at = (char **)*at, at = (char **)*at;
        at = (char **)*at, at = (char **)*at, at = (char **)*at, at = (char **)*at;
    }
    region.at = at;
    return now() - start;
}

/* Returns the seconds of `steps` steps, a multiple of 8, of a chase like lat_mem_rd's. The same number runs first, untimed. */
double peer_pointer_chase(size_t bytes, size_t steps) {
    if (region.bytes != bytes) make_cycle(bytes);
    volatile char sum = 0;
    for (size_t i = 0; i < bytes; i += 64) sum += region.memory[i + 8];
    follow(steps);
    return follow(steps);
}
