/* A plain loop for comparison with apex_map.sequential: the same accesses on the same memory. */
#include <stddef.h>
#include <stdint.h>

uint64_t peer_sum(const uint64_t *memory, const uint64_t *offsets, size_t accesses, size_t block) {
    uint64_t sum = 0;
    for (size_t i = 0; i < accesses; i++) {
        const uint64_t *words = memory + offsets[i];
        for (size_t j = 0; j < block; j++) sum += words[j];
    }
    return sum;
}
