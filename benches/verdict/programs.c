/* Twenty programs for `cargo bench --bench verdict`: programs NAME [repaired]. Both ways do the same work on the same set-up; the
 * repair changes only how memory is reached. Each takes 0.1 to 0.5 s. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPAQUE __attribute__((noipa))
#define FOR(i, n) for (long i = 0; i < (n); i++)
/* A repaired program draws its place from a window that moves through the data. */
#define WINDOW (1l << 14)

typedef uint64_t u64;
typedef u64 Words __attribute__((vector_size(16)));
typedef double Reals __attribute__((vector_size(16)));

static u64 state = 88172645463325252u;
static int repaired;

static inline u64 draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void *reserve(size_t bytes) {
    void *data = malloc(bytes);
    if (!data) exit(1);
    return data;
}

/* Passes of a repaired program go through one slice after the other. */
#define SLICES 8
/* Word i of n in an array of `words`, a power of two: at random, or, repaired, within a window that moves with i. */
static inline u64 choose(long i, long n, long words) {
    u64 random = draw();
    if (!repaired) return random & (words - 1);
    return (u64)(i * ((words - WINDOW) / (double)n)) + random % WINDOW;
}

static u64 *fill(long words) {
    u64 *data = reserve(8 * words);
    FOR(i, words) data[i] = 3 * i;
    return data;
}

static double *reals(long words) {
    double *data = reserve(8 * words);
    FOR(i, words) data[i] = 1 + 1e-9 * i;
    return data;
}

static uint32_t *permute(long n) {
    uint32_t *order = reserve(4 * n);
    FOR(i, n) order[i] = i;
    for (long i = n - 1; i > 0; i--) {
        long j = draw() % (i + 1);
        uint32_t other = order[i];
        order[i] = order[j], order[j] = other;
    }
    return order;
}

OPAQUE void product(const double *a, const double *b, double *c, long n, long rows) {
    FOR(i, rows) FOR(j, n) {
        double sum = 0;
        FOR(k, n) sum += a[i * n + k] * b[k * n + j];
        c[i * n + j] = sum;
    }
}
OPAQUE void product_repaired(const double *a, const double *b, double *c, long n, long rows) {
    FOR(i, rows) FOR(k, n) FOR(j, n) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
OPAQUE double columns(const double *a, long n) {
    double sum = 0;
    if (repaired) { FOR(i, n) FOR(j, n) sum += a[i * n + j]; }
    else FOR(j, n) FOR(i, n) sum += a[i * n + j];
    return sum;
}
typedef struct { double x, y, z, u, v, w, mass, charge; } Body;
OPAQUE double records(const Body *body, const double *x, const double *mass, long n) {
    double sum = 0;
    if (repaired) { FOR(i, n) sum += x[i] * mass[i]; }
    else FOR(i, n) sum += body[i].x * body[i].mass;
    return sum;
}
typedef struct Node { struct Node *next; u64 value, rest[2]; } Node;
OPAQUE u64 list(const Node *node, const u64 *values, long n) {
    u64 sum = 0;
    if (repaired) { FOR(i, n) sum += values[i]; }
    else for (; n--; node = node->next) sum += node->value;
    return sum;
}
OPAQUE u64 gather(const u64 *table, const uint32_t *index, long n) {
    u64 sum = 0;
    FOR(i, n) sum ^= table[index[i]];
    return sum;
}
OPAQUE void update(u64 *table, long words, long n) {
    FOR(i, n) table[choose(i, n, words)] ^= i;
}
/* Slot of a key: its upper bits times a constant. */
#define MIX 0x9E3779B97F4A7C15u
OPAQUE u64 join(const u64 *table, const u64 *keys, long n, int bits, u64 shift) {
    u64 sum = 0;
    FOR(i, n) {
        u64 key = keys[i] + shift, slot = key * MIX >> (64 - bits);
        while (table[slot] != key) slot = (slot + 1) & ((1ul << bits) - 1);
        sum += slot;
    }
    return sum;
}
OPAQUE double polynomial(const double *a, long n, long mask) {
    double sum = 0;
    FOR(i, n) {
        double x = a[i & mask];
        FOR(k, 40) x = x * 0.999 + 0.001;
        sum += x;
    }
    return sum;
}
OPAQUE u64 search(const u64 *a, long n, const u64 *wanted, long count) {
    u64 sum = 0;
    FOR(i, count) {
        long low = 0, high = n;
        while (low < high) {
            long middle = (low + high) / 2;
            if (a[middle] < wanted[i]) low = middle + 1;
            else high = middle;
        }
        sum += low;
    }
    return sum;
}
OPAQUE void spmv(const double *value, const uint32_t *column, const double *x, double *y, long rows) {
    FOR(row, rows) {
        double sum = 0;
        for (long k = 8 * row; k < 8 * row + 8; k++) sum += value[k] * x[column[k]];
        y[row] = sum;
    }
}
OPAQUE void stencil(const double *a, double *b, long n) {
#define POINT(i, j) b[(i) * n + (j)] = a[(i) * n + (j)] + a[((i) - 1) * n + (j)] + a[((i) + 1) * n + (j)] + a[(i) * n + (j) - 1] + a[(i) * n + (j) + 1]
    if (repaired) { for (long i = 1; i < n - 1; i++) for (long j = 1; j < n - 1; j++) POINT(i, j); }
    else for (long j = 1; j < n - 1; j++) for (long i = 1; i < n - 1; i++) POINT(i, j);
}
static void merge(const u64 *from, u64 *to, long low, long middle, long high) {
    for (long i = low, j = middle, k = low; k < high; k++)
        to[k] = i < middle && (j >= high || from[i] <= from[j]) ? from[i++] : from[j++];
}
/* Sorted into `a`, or into `b` if `into_b`: halves that fit a cache are sorted before the next ones. */
static void sort_halves(u64 *a, u64 *b, long low, long high, int into_b) {
    if (high - low == 1) {
        if (into_b) b[low] = a[low];
        return;
    }
    long middle = (low + high) / 2;
    sort_halves(a, b, low, middle, !into_b), sort_halves(a, b, middle, high, !into_b);
    if (into_b) merge(a, b, low, middle, high);
    else merge(b, a, low, middle, high);
}
OPAQUE void mergesort(u64 *a, u64 *b, long n) {
    if (repaired) { sort_halves(a, b, 0, n, 0); return; }
    for (long width = 1; width < n; width *= 2) {
        for (long low = 0; low < n; low += 2 * width) merge(a, b, low, low + width, low + 2 * width);
        u64 *other = a;
        a = b, b = other;
    }
}
OPAQUE void transpose(const double *a, double *b, long n) {
    long block = repaired ? 16 : n;
    for (long I = 0; I < n; I += block) for (long J = 0; J < n; J += block)
        for (long i = I; i < I + block; i++) for (long j = J; j < J + block; j++) b[j * n + i] = a[i * n + j];
}
OPAQUE void histogram(uint32_t *bins, const uint32_t *data, long n) {
    FOR(i, n) bins[data[i]]++;
}
typedef struct Tree { struct Tree *child[2]; u64 key, rest[5]; } Tree;
static Tree *grow(Tree *nodes, const uint32_t *order, long low, long high) {
    if (low >= high) return NULL;
    long middle = (low + high) / 2;
    Tree *node = &nodes[order[middle]];
    node->key = middle;
    node->child[0] = grow(nodes, order, low, middle);
    node->child[1] = grow(nodes, order, middle + 1, high);
    return node;
}
OPAQUE u64 tree(const Tree *root, const u64 *wanted, long n, int depth) {
    u64 sum = 0;
    if (!repaired) {
        FOR(i, n) for (const Tree *node = root; node; node = node->child[wanted[i] > node->key]) sum += node->key == wanted[i];
        return sum;
    }
    for (long i = 0; i < n; i += 16) {
        const Tree *node[16];
        FOR(k, 16) node[k] = root;
        FOR(level, depth) FOR(k, 16) if (node[k]) sum += node[k]->key == wanted[i + k], node[k] = node[k]->child[wanted[i + k] > node[k]->key];
    }
    return sum;
}
/* Passes over all data, or, repaired, all passes over one block before the next. */
OPAQUE u64 sums(const Words *a, long n, long passes) {
    Words sum = { 0 };
    long block = repaired ? 1 << 14 : n;
    for (long start = 0; start < n; start += block) FOR(pass, passes) {
        for (long i = start; i < start + block; i += 2) sum += a[i] ^ a[i + 1];
        sum ^= pass;
    }
    return sum[0] + sum[1];
}
OPAQUE void triad(Reals *a, const Reals *b, const Reals *c, long n, long passes) {
    long block = repaired ? 1 << 13 : n;
    for (long start = 0; start < n; start += block) FOR(pass, passes)
        for (long i = start; i < start + block; i++) a[i] = b[i] + c[i] * (double)pass;
}
OPAQUE u64 objects(Node *const *pointers, long n) {
    u64 sum = 0;
    FOR(i, n) sum += pointers[i]->value;
    return sum;
}
OPAQUE u64 ring(const Node *node, long steps) {
    while (steps--) node = node->next;
    return node->value;
}
OPAQUE u64 checksum(const u64 *a, long n, long block, long passes) {
    u64 hash = 1;
    for (long start = 0; start < n; start += block) FOR(pass, passes)
        for (long i = start; i < start + block; i++) {
            hash ^= a[i];
            FOR(round, 8) hash = (hash ^ hash >> 29) * MIX;
        }
    return hash;
}

static void *make_ring(long n, int is_random) {
    Node *nodes = reserve(n * sizeof *nodes);
    uint32_t *order = permute(n);
    if (!is_random) FOR(i, n) order[i] = i;
    FOR(i, n) nodes[order[i]].next = &nodes[order[(i + 1) % n]], nodes[order[i]].value = i;
    Node *first = &nodes[order[0]];
    free(order);
    return first;
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    double result = 0;
    repaired = count > 2;
#define IS(wanted) if (strcmp(name, wanted) == 0)
    IS("product") {
        long n = 1024, rows = 32;
        double *a = reals(n * rows), *b = reals(n * n), *c = reals(n * rows);
        (repaired ? product_repaired : product)(a, b, c, n, rows);
        result = c[7];
    }
    IS("columns") { double *a = reals(1 << 22); FOR(r, 8) result += columns(a, 2048); }
    IS("records") {
        long n = 1 << 20;
        Body *body = (Body *)reals(8 * n);
        double *x = reals(n), *mass = reals(n);
        FOR(r, 40) result += records(body, x, mass, n);
    }
    IS("list") { long n = 1 << 21; u64 *values = fill(n); result = list(make_ring(n, 1), values, n); }
    IS("gather") {
        long n = 1 << 22, words = 1 << 23;
        u64 *table = fill(words);
        uint32_t *index = reserve(4 * n);
        long slice = repaired ? words / SLICES : 0;
        FOR(i, n) index[i] = choose(i, n, slice ? slice : words);
        FOR(r, 6) result += gather(table + r * slice, index, n);
    }
    IS("update") { u64 *table = fill(1 << 23); update(table, 1 << 23, 20 << 20); result = table[7]; }
    IS("join") {
        long n = 1 << 22, words = 1 << 23;
        u64 *table = reserve(8 * words), *keys = reserve(8 * n), inverse = MIX;
        FOR(r, 5) inverse *= 2 - MIX * inverse;
        FOR(i, words) table[i] = ((u64)i << 41) * inverse;
        long slice = repaired ? words / SLICES : 0;
        FOR(i, n) keys[i] = table[choose(i, n, slice ? slice : words)];
        FOR(r, 4) result += join(table, keys, n, 23, ((u64)(r * slice) << 41) * inverse);
    }
    IS("polynomial") { double *a = reals(1024); result = polynomial(a, 4 << 20, repaired ? 127 : 1023); }
    IS("search") {
        long words = 1 << 23, n = 1 << 19;
        u64 *a = fill(words), *wanted = reserve(8 * n);
        FOR(i, n) wanted[i] = 3 * choose(i, n, words);
        result = search(a, words, wanted, n);
    }
    IS("spmv") {
        long rows = 1 << 19, words = 1 << 23;
        double *value = reals(8 * rows), *x = reals(words), *y = reals(rows);
        uint32_t *column = reserve(32 * rows);
        long slice = repaired ? words / SLICES : 0;
        FOR(k, 8 * rows) column[k] = choose(k, 8 * rows, slice ? slice : words);
        FOR(r, 5) spmv(value, column, x + r * slice, y, rows);
        result = y[7];
    }
    IS("stencil") { double *a = reals(1 << 22), *b = reals(1 << 22); FOR(r, 3) stencil(a, b, 2048); result = b[3000]; }
    IS("mergesort") { long n = 1 << 20; u64 *a = reserve(8 * n), *b = reserve(8 * n); FOR(i, n) a[i] = draw(); mergesort(a, b, n); result = a[7]; }
    IS("transpose") { double *a = reals(1 << 22), *b = reals(1 << 22); FOR(r, 6) transpose(a, b, 2048); result = b[7]; }
    IS("histogram") {
        long n = 1 << 22, words = 1 << 24;
        uint32_t *bins = (uint32_t *)fill(words / 2), *data = reserve(4 * n);
        long slice = repaired ? words / SLICES : 0;
        FOR(i, n) data[i] = choose(i, n, slice ? slice : words);
        FOR(r, 6) histogram(bins + r * slice, data, n);
        result = bins[7];
    }
    IS("tree") {
        long nodes = 1 << 20, n = 1 << 18;
        Tree *memory = reserve(nodes * sizeof *memory);
        u64 *wanted = reserve(8 * n);
        uint32_t *order = permute(nodes);
        FOR(i, n) wanted[i] = draw() % nodes;
        result = tree(grow(memory, order, 0, nodes), wanted, n, 21);
    }
    IS("sums") { Words *a = (Words *)fill(1 << 23); result = sums(a, 1 << 22, 32); }
    IS("triad") {
        long n = 3 << 19;
        Reals *data = (Reals *)reals(6 * n);
        triad(data, data + n, data + 2 * n, n, 24);
        result = data[7][0];
    }
    IS("objects") {
        long n = 1 << 21;
        Node *nodes = (Node *)fill(4 * n), **pointers = reserve(8 * n);
        uint32_t *order = permute(n);
        FOR(i, n) pointers[i] = &nodes[repaired ? i : order[i]];
        FOR(r, 16) result += objects(pointers, n);
    }
    IS("ring") result = ring(make_ring(512, !repaired), 80 << 20);
    IS("checksum") { long n = 1 << 22; u64 *a = fill(n); result = checksum(a, n, repaired ? 1 << 14 : n, 3); }
    IS("") return 2;
    printf("%g\n", result);
    return 0;
}
