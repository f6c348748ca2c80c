/* Makes the k-th system call on files of a folder fail, or kills the process there. tests/faults.rs builds and preloads it.
 *
 * FAULT_PATH   counts only calls on files whose path contains this text
 * FAULT_AT     number of the call, starting with 1
 * FAULT_ERROR  number of the error; 0: kill; -1: kill halfway through a write; -2: a short write, then a full disk
 * FAULT_STAYS  if set, all later calls that need disk space fail, too
 * FAULT_COUNT  file that gets a byte for every such call
 * FAULT_MARK   file that is created when the fault strikes
 *
 * FAULT_FLOCK  number of the error of every flock, as on a file system without locks; 0: flock succeeds and locks nothing
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char *path_part, *count_file, *mark_file;
static long at;
static int error, stays, flock_error = -1;
static atomic_long calls;

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("FAULT_FLOCK");
    if (value) flock_error = atoi(value);
    value = getenv("FAULT_PATH");
    if (!value) return;
    path_part = strdup(value);
    at = (value = getenv("FAULT_AT")) ? atol(value) : 0;
    error = (value = getenv("FAULT_ERROR")) ? atoi(value) : EIO;
    stays = getenv("FAULT_STAYS") != NULL;
    if ((value = getenv("FAULT_COUNT"))) count_file = strdup(value);
    if ((value = getenv("FAULT_MARK"))) mark_file = strdup(value);
    /* Only the driver has faults, not the programs that it starts. */
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT_PATH");
}

static void append(const char *file, int flags) {
    int fd = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | flags, 0600);
    syscall(SYS_write, fd, ".", 1);
    syscall(SYS_close, fd);
}

/* Returns 0 to let a call pass; otherwise the error, or a FAULT_ERROR below 1. `room`: the call needs disk space; `writes`: it can
 * be done in part. */
static int strike(const char *path, int room, int writes) {
    if (!path_part || !path || !strstr(path, path_part)) return 0;
    long call = atomic_fetch_add(&calls, 1) + 1;
    if (count_file) append(count_file, O_APPEND);
    if (at == 0 || call < at || (call > at && !(stays && room))) return 0;
    if (mark_file) append(mark_file, O_TRUNC);
    if (error == 0 || (error == -1 && !writes)) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    return error;
}

static int strike_file(int fd, int writes) {
    char link[64], path[4096];
    if (!path_part) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strike(path, 1, writes);
}

static int fail(int how) {
    errno = how > 0 ? how : ENOSPC;
    return -1;
}

#define NEXT(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                  \
    int name(const char *path, int flags, ...) {                    \
        va_list arguments;                                          \
        va_start(arguments, flags);                                 \
        mode_t mode = va_arg(arguments, mode_t);                    \
        va_end(arguments);                                          \
        int how = strike(path, (flags & O_CREAT) != 0, 0);             \
        return how ? fail(how) : NEXT(name)(path, flags, mode);     \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int fd, const void *bytes, size_t size) {
    int how = strike_file(fd, 1);
    if (how == -1) {
        syscall(SYS_write, fd, bytes, size / 2);
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    }
    if (how == -2 && size > 1) {
        error = ENOSPC;
        stays = 1;
        return syscall(SYS_write, fd, bytes, size / 2);
    }
    return how ? fail(how) : syscall(SYS_write, fd, bytes, size);
}

#define ON_FILE(name)                               \
    int name(int fd) {                              \
        int how = strike_file(fd, 0);               \
        return how ? fail(how) : NEXT(name)(fd);    \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

int flock(int fd, int operation) {
    if (flock_error < 0) return NEXT(flock)(fd, operation);
    return flock_error ? fail(flock_error) : 0;
}

int rename(const char *from, const char *to) {
    int how = strike(to, 1, 0);
    return how ? fail(how) : NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode) {
    int how = strike(path, 1, 0);
    return how ? fail(how) : NEXT(mkdir)(path, mode);
}

int unlink(const char *path) {
    int how = strike(path, 0, 0);
    return how ? fail(how) : NEXT(unlink)(path);
}
