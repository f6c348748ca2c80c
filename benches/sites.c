/* Loops whose rates `cargo bench --bench sites` compares with the maps: sites NAME KIB SECONDS. Each prepares its data, then repeats passes
 * for at least this time, and prints the bytes per second of a pass as the kernels count them: 8 for each word that it reads. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Without it, a compiler repeats no pass whose result it knows. */
#ifndef NUMBER
#define NUMBER uint64_t
#endif
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

OPAQUE NUMBER gather(const NUMBER *x, const uint32_t *index, size_t n) {
    NUMBER sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[index[i]];
    return sum;
}

OPAQUE NUMBER sweep(const NUMBER *x, size_t n) {
    NUMBER sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

OPAQUE NUMBER strided(const NUMBER *x, size_t n, size_t stride) {
    NUMBER sum = 0;
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
    const size_t jumps = n > (1u << 20) ? (n > (1u << 22) ? 1u << 22 : n) : 1u << 20;
    NUMBER *x = aligned_alloc(4096, 8 * n);
    uint32_t *index = aligned_alloc(4096, 4 * jumps);
    if (!x || !index)
        return 1;
    for (size_t i = 0; i < n; i++)
        x[i] = (NUMBER)i;
    for (size_t i = 0; i < jumps; i++)
        index[i] = (uint32_t)(next_random() % n);
    if (!strcmp(name, "walk"))
        make_cycle((void **)x, n / 8);
    volatile NUMBER result = 0;
    void **at = (void **)x;
    double words = 0, best = 0, start = seconds(), now = start;
    /* The first pass warms up. The best of five parts counts. */
    for (int part = -1; part < 5; part++) {
        double begin = seconds();
        words = 0;
        do {
            /* Short passes repeat before the clock is read. */
            for (size_t pass = 0; pass < 1 + (1u << 17) / n; pass++)
            if (!strcmp(name, "gather")) {
                result += gather(x, index, jumps);
                words += 1.5 * (double)jumps; /* an index is half a word */
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
        if (part >= 0 && words * 8 / (now - begin) > best)
            best = words * 8 / (now - begin);
    }
    printf("%.4e\n", best);
    return result == 1;
}
