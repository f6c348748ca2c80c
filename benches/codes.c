/* The codes of docs/codes.md as plain loops, at the sizes of its table. Each `setup_` function fills the memory, of WORDS words. Each
 * loop returns the number of words that it used, counted as in tests/codes/traces.rs: a word in a register counts once. */
#include <stddef.h>
#include <stdint.h>

#define SIDE 4096 /* of the matrices */
#define TILE 64
#define GRID 2048 /* of the five-point stencil */
#define POINTS ((size_t)GRID * GRID)
#define ARRAY ((size_t)SIDE * SIDE + 520) /* the distance of arrays: no multiple of a page */
#define WORDS (13 * POINTS + 1)

const uint64_t peer_words = WORDS;
volatile double peer_result;

static uint64_t state;

static uint64_t draw(uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint64_t)(((unsigned __int128)(state ^ state >> 31) * below) >> 64);
}

void setup_arrays(double *m) {
    for (size_t i = 0; i < WORDS; i++) m[i] = 1e-3 * (double)(i % 1000);
}

/* a = b + s c */
uint64_t triad(double *m) {
    double *a = m, *b = m + ARRAY, *c = m + 2 * ARRAY;
    for (size_t i = 0; i < (size_t)SIDE * SIDE; i++) a[i] = b[i] + 3.0 * c[i];
    return 3 * (uint64_t)SIDE * SIDE;
}

/* Some rows of C = A B, as dot products of the rows of A and the columns of B. */
uint64_t naive_product(double *m) {
    enum { ROWS = 3 };
    double *a = m, *b = m + ARRAY, *c = m + 2 * ARRAY;
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < SIDE; j++) {
            double sum = 0;
            for (size_t k = 0; k < SIDE; k++) sum += a[i * SIDE + k] * b[k * SIDE + j];
            c[i * SIDE + j] = sum;
        }
    return ROWS * (2 * (uint64_t)SIDE * SIDE + SIDE);
}

/* A row of tiles of C += A B; the innermost loop is along the rows of B and C. */
uint64_t tiled_product(double *m) {
    double *a = m, *b = m + ARRAY, *c = m + 2 * ARRAY;
    for (size_t j0 = 0; j0 < SIDE; j0 += TILE)
        for (size_t k0 = 0; k0 < SIDE; k0 += TILE)
            for (size_t i = 0; i < TILE; i++)
                for (size_t k = k0; k < k0 + TILE; k++) {
                    double factor = a[i * SIDE + k];
                    for (size_t j = j0; j < j0 + TILE; j++) c[i * SIDE + j] += factor * b[k * SIDE + j];
                }
    return TILE * (2 * (uint64_t)SIDE * SIDE + (uint64_t)SIDE * SIDE / TILE);
}

/* The five-point stencil in compressed rows, with indices of 8 bytes: values, columns, x, starts, y. */
void setup_five_point(double *m) {
    const size_t steps[5] = {POINTS - GRID, POINTS - 1, 0, 1, GRID};
    uint64_t *columns = (uint64_t *)m + 5 * POINTS, *starts = (uint64_t *)m + 11 * POINTS;
    for (size_t row = 0; row < POINTS; row++) {
        starts[row] = 5 * row;
        m[10 * POINTS + row] = 1;
        for (size_t k = 0; k < 5; k++) {
            m[5 * row + k] = k == 2 ? 4 : -1;
            columns[5 * row + k] = (row + steps[k]) % POINTS;
        }
    }
    starts[POINTS] = 5 * POINTS;
}

uint64_t five_point(double *m) {
    const double *values = m, *x = m + 10 * POINTS;
    const uint64_t *columns = (const uint64_t *)m + 5 * POINTS, *starts = (const uint64_t *)m + 11 * POINTS;
    double *y = m + 12 * POINTS + 1;
    for (size_t row = 0; row < POINTS - 1; row++) {
        double sum = 0;
        for (uint64_t k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
        y[row] = sum;
    }
    return 17 * (uint64_t)(POINTS - 1);
}

/* A list of nodes of two words, the next node and a value, in random order (Sattolo's cycle through all nodes). */
#define NODES (WORDS / 2)

void setup_list(uint64_t *m) {
    for (size_t i = 0; i < NODES; i++) m[2 * i] = i, m[2 * i + 1] = i;
    for (size_t i = NODES - 1; i > 0; i--) {
        size_t other = draw(i);
        uint64_t next = m[2 * i];
        m[2 * i] = m[2 * other], m[2 * other] = next;
    }
}

uint64_t list_walk(uint64_t *m) {
    enum { STEPS = 1 << 20 };
    static uint64_t node;
    uint64_t sum = 0;
    for (size_t i = 0; i < STEPS; i++) {
        sum += m[2 * node + 1];
        node = m[2 * node];
    }
    peer_result = (double)sum;
    return 2 * STEPS;
}

/* RandomAccess: updates at random places of a table of 2^25 words, with the benchmark's generator. */
uint64_t gups(uint64_t *m) {
    enum { UPDATES = 1 << 22 };
    static uint64_t random = 1;
    for (size_t i = 0; i < UPDATES; i++) {
        random = random << 1 ^ ((int64_t)random < 0 ? 7 : 0);
        m[random & ((1 << 25) - 1)] ^= random;
    }
    return UPDATES;
}
