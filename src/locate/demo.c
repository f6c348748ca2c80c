// Six small codes with known accesses: demo NAME runs one of them, and demo spmv SIDE a larger grid. Each prepares its memory, then calls a function of its name.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_INLINE __attribute__((noinline, noclone))

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void *words(size_t count) {
    uint64_t *memory = malloc(8 * count);
    if (!memory)
        exit(1);
    for (size_t i = 0; i < count; i++)
        memory[i] = i | 1;
    return memory;
}

// STREAM triad: a = b + s c.
NO_INLINE double triad(double *a, const double *b, const double *c, size_t n) {
    for (int pass = 0; pass < 4; pass++)
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + 3.0 * c[i];
    return a[n / 2];
}

// C = A B as dot products of the rows of A and the columns of B.
NO_INLINE double naive(double *c, const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    return c[n];
}

// C += A B in tiles of 64 by 64; the innermost loop is along the rows of B and C.
NO_INLINE double tiled(double *c, const double *a, const double *b, size_t n) {
    for (size_t i0 = 0; i0 < n; i0 += 64)
        for (size_t j0 = 0; j0 < n; j0 += 64)
            for (size_t k0 = 0; k0 < n; k0 += 64)
                for (size_t i = i0; i < i0 + 64; i++)
                    for (size_t k = k0; k < k0 + 64; k++)
                        for (size_t j = j0; j < j0 + 64; j++)
                            c[i * n + j] += a[i * n + k] * b[k * n + j];
    return c[n];
}

// y = A x with the five-point stencil on a grid of side by side points, in compressed rows.
NO_INLINE double spmv(double *y, const double *value, const int64_t *column, const double *x, size_t rows) {
    for (int pass = 0; pass < 4; pass++)
        for (size_t i = 0; i < rows; i++) {
            double sum = 0;
            for (size_t k = 5 * i; k < 5 * i + 5; k++)
                sum += value[k] * x[column[k]];
            y[i] = sum;
        }
    return y[rows / 2];
}

// RandomAccess: updates of random words.
NO_INLINE uint64_t gups(uint64_t *table, size_t n) {
    for (size_t i = 0; i < 4 * n; i++)
        table[next_random() & (n - 1)] ^= i;
    return table[n / 2];
}

struct node {
    struct node *next;
    uint64_t value;
};

// A walk through a list whose nodes are in random order.
NO_INLINE uint64_t walk(const struct node *node, size_t steps) {
    uint64_t sum = 0;
    for (size_t i = 0; i < steps; i++) {
        sum += node->value;
        node = node->next;
    }
    return sum;
}

static double run_spmv(size_t side) {
    size_t rows = side * side;
    int64_t *column = words(5 * rows);
    const size_t steps[5] = {rows - side, rows - 1, 0, 1, side};
    for (size_t i = 0; i < 5 * rows; i++)
        column[i] = (i / 5 + steps[i % 5]) % rows;
    return spmv(words(rows), words(5 * rows), column, words(rows), rows);
}

static uint64_t run_walk(size_t n) {
    struct node *nodes = words(2 * n);
    size_t *order = words(n);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = next_random() % (i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (size_t i = 0; i < n; i++)
        nodes[order[i]].next = nodes + order[(i + 1) % n];
    return walk(nodes, 4 * n);
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    const size_t n = 1 << 20, side = 192;
    double result;
    if (!strcmp(name, "triad"))
        result = triad(words(n), words(n), words(n), n);
    else if (!strcmp(name, "naive"))
        result = naive(words(side * side), words(side * side), words(side * side), side);
    else if (!strcmp(name, "tiled"))
        result = tiled(words(side * side), words(side * side), words(side * side), side);
    else if (!strcmp(name, "spmv"))
        result = run_spmv(count > 2 ? strtoul(arguments[2], NULL, 10) : 384);
    else if (!strcmp(name, "gups"))
        result = gups(words(n), n);
    else if (!strcmp(name, "walk"))
        result = run_walk(n);
    else
        return 2;
    return result == 0.5;
}
