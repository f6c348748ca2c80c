// Stands between the program and OpenCL's loader, and makes its calls fail as the environment asks.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define REAL(name) dlsym(RTLD_NEXT, name)

// FAULT_ALLOCATION: allocations of at least this many bytes are refused (CL_MEM_OBJECT_ALLOCATION_FAILURE).
void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int32_t *code) {
    const char *most = getenv("FAULT_ALLOCATION");
    if (most && bytes >= strtoull(most, NULL, 10)) {
        *code = -4;
        return NULL;
    }
    void *(*real)(void *, uint64_t, size_t, void *, int32_t *) = REAL("clCreateBuffer");
    return real(context, flags, bytes, host, code);
}

// FAULT_LOST: the device is lost after this many launches (CL_OUT_OF_RESOURCES, as NVIDIA's driver says).
int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dimensions, const size_t *first, const size_t *items,
                               const size_t *group, uint32_t waits, const void *wait_list, void *event) {
    static unsigned long launches;
    const char *lost = getenv("FAULT_LOST");
    if (lost && launches++ >= strtoul(lost, NULL, 10)) return -5;
    int32_t (*real)(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const void *, void *) =
        REAL("clEnqueueNDRangeKernel");
    return real(queue, kernel, dimensions, first, items, group, waits, wait_list, event);
}

// FAULT_EXTENSIONS: the device has no extensions.
int32_t clGetDeviceInfo(void *device, uint32_t name, size_t size, void *value, size_t *written) {
    int32_t (*real)(void *, uint32_t, size_t, void *, size_t *) = REAL("clGetDeviceInfo");
    const int32_t code = real(device, name, size, value, written);
    if (getenv("FAULT_DESCRIPTION")) return -33;
    if (getenv("FAULT_NAME") && name == 0x102B && value && size > 8) memcpy(value, "A\r\n\tB\033", 7);
    if (getenv("FAULT_EXTENSIONS") && name == 0x1030 && value && size) memset(value, ' ', size - 1);
    return code;
}

// FAULT_SECOND: there is a second platform, which answers with this code.
static int second;
int32_t clGetPlatformIDs(uint32_t count, void **platforms, uint32_t *written) {
    int32_t (*real)(uint32_t, void **, uint32_t *) = REAL("clGetPlatformIDs");
    const int32_t code = real(count, platforms, written);
    if (code || !getenv("FAULT_SECOND")) return code;
    uint32_t first = 0;
    real(0, NULL, &first);
    if (written) *written = first + 1;
    if (platforms && count > first) platforms[first] = &second;
    return 0;
}

int32_t clGetPlatformInfo(void *platform, uint32_t name, size_t size, void *value, size_t *written) {
    int32_t (*real)(void *, uint32_t, size_t, void *, size_t *) = REAL("clGetPlatformInfo");
    if (platform != &second) return real(platform, name, size, value, written);
    if (written) *written = 7;
    if (value) memcpy(value, "Second", 7);
    return 0;
}

// FAULT_DEVICES: the other platforms answer with this code.
int32_t clGetDeviceIDs(void *platform, uint64_t kind, uint32_t count, void **devices, uint32_t *written) {
    int32_t (*real)(void *, uint64_t, uint32_t, void **, uint32_t *) = REAL("clGetDeviceIDs");
    const char *code = getenv(platform == &second ? "FAULT_SECOND" : "FAULT_DEVICES");
    return code ? atoi(code) : real(platform, kind, count, devices, written);
}
