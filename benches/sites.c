/* Loops whose rates `cargo bench --bench sites` compares with the maps: sites NAME KIB SECONDS STRIDE. Each prepares its data, then repeats
 * passes for at least this time, and prints the bytes per second of five parts: 8 for each word that it reads, as the kernels count. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Without it, a compiler repeats no pass whose result it knows. */
#define OPAQUE __attribute__((noipa))

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Time of the processor: other programs on the machine count less than on the wall. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

OPAQUE uint64_t gather(const uint64_t *x, const uint64_t *index, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[index[i]];
    return sum;
}

OPAQUE uint64_t sweep(const uint64_t *x, size_t n) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

OPAQUE uint64_t strided(const uint64_t *x, size_t n, size_t stride) {
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i += stride)
        sum += x[i];
    return sum;
}

OPAQUE uint64_t walk(void **start, size_t steps) {
    void **at = start;
    for (size_t i = 0; i < steps; i++)
        at = *at;
    return (uint64_t)at;
}

/* A cycle through one word of each line, in random order (Sattolo). */
static void make_cycle(void **x, size_t lines) {
    for (size_t i = 0; i < lines; i++)
        x[8 * i] = x + 8 * i;
    for (size_t i = lines - 1; i > 0; i--) {
        size_t other = next_random() % i;
        void *next = x[8 * i];
        x[8 * i] = x[8 * other];
        x[8 * other] = next;
    }
}

int main(int count, char **arguments) {
    if (count < 4)
        return 2;
    const char *name = arguments[1];
    const size_t n = strtoul(arguments[2], NULL, 10) * 128;
    const double least = strtod(arguments[3], NULL);
    const size_t stride = count > 4 ? strtoul(arguments[4], NULL, 10) : 1;
    const size_t jumps = n / 8 < (1u << 18) ? 1u << 18 : n / 8;
    uint64_t *x = aligned_alloc(4096, 8 * n);
    uint64_t *index = aligned_alloc(4096, 8 * jumps);
    if (!x || !index)
        return 1;
    for (size_t i = 0; i < n; i++)
        x[i] = (uint64_t)i;
    for (size_t i = 0; i < jumps; i++)
        index[i] = next_random() % n;
    if (!strcmp(name, "walk"))
        make_cycle((void **)x, n / 8);
    volatile uint64_t result = 0;
    void **at = (void **)x;
    double words = 0, now = 0;
    /* The first pass warms up. Five parts count. */
    for (int part = -1; part < 5; part++) {
        double begin = seconds();
        words = 0;
        do {
            /* Short passes repeat before the clock is read. */
            for (size_t pass = 0; pass < 1 + (1u << 17) / n; pass++)
            if (!strcmp(name, "gather")) {
                result += gather(x, index, jumps);
                words += 2 * (double)jumps;
            } else if (!strcmp(name, "sweep")) {
                result += sweep(x, n);
                words += (double)n;
            } else if (!strcmp(name, "strided")) {
                result += strided(x, n, stride);
                words += (double)((n + stride - 1) / stride);
            } else {
                const size_t steps = n / 8 < 4096 ? 4096 : n / 8 > (1u << 20) ? 1u << 20 : n / 8;
                at = (void **)walk(at, steps);
                words += (double)steps;
            }
            now = seconds();
        } while (now - begin < least / 5);
        if (part >= 0)
            printf("%.4e\n", words * 8 / (now - begin));
    }
    return result == 1;
}
