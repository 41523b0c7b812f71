/* Calls that only Linux has, or only glibc, in one place; each with what another system or C library does instead.
 *
 * The rest of the program is POSIX, but for the box (src/box: namespaces, seccomp), which says that it is not there
 * where the kernel lacks them: commands then run without one, or not at all, as `sandbox` says. */
#ifndef IO_SYSTEM_H
#define IO_SYSTEM_H

#include "base/small.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#else
#include <linux/mount.h>
#endif

/* ---- memory ---- */

/* Few arenas, and large blocks go back to the system when they are freed. musl has one arena and does so by itself. */
static inline void system_tune_heap(size_t large_bytes)
{
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_MMAP_THRESHOLD, (int)large_bytes);
#else
    (void)large_bytes;
#endif
}

/* Gives free memory back to the system. Elsewhere it stays with the allocator until it is used again. */
static inline void system_trim_heap(void)
{
    small_trim();
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

/* ---- descriptors ---- */

/* Closes this descriptor and all above it. */
static inline int system_close_from(unsigned first) { return (int)syscall(SYS_close_range, first, ~0U, 0); }

/* A file in memory, closed by exec; -1 on failure. Elsewhere: a temporary file that is unlinked at once. */
static inline int system_open_memory(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U); }

/* A descriptor that can be read after system_raise_event. Elsewhere: a pipe. */
static inline int system_open_event(int flags) { return eventfd(0, EFD_CLOEXEC | flags); }
static inline int system_raise_event(int event) { return eventfd_write(event, 1); }

/* Opens a path that stays beneath `root`; ENOSYS or EPERM where the kernel cannot (place.c then goes step by step). */
static inline int system_open_beneath(int root, const char *within, int flags, unsigned mode)
{
    struct open_how how = {.flags = (uint64_t)flags, .mode = flags & O_CREAT ? mode : 0,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, root, within, &how, sizeof how);
}

/* The bytes of a socket that the peer has not acknowledged. Elsewhere -1: what was written counts as taken. */
static inline int system_unsent_bytes(int fd)
{
    int bytes;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}

/* ---- processes ---- */

/* "TERM" for SIGTERM; NULL where it has no name. Elsewhere only those that end programs every day have one. */
static inline const char *system_signal_name(int number)
{
#ifdef __GLIBC__
    return sigabbrev_np(number);
#else
    static const char *const names[] = {[SIGHUP] = "HUP",   [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
                                        [SIGABRT] = "ABRT", [SIGBUS] = "BUS",   [SIGFPE] = "FPE",   [SIGKILL] = "KILL",
                                        [SIGSEGV] = "SEGV", [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM"};
    return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
#endif
}

/* A descriptor that can be read when the process ends; -1 where there is none: then callers look from time to time. */
static inline int system_open_process(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

/* No core file, and no other process of the user may trace this one. Elsewhere: nothing. */
static inline void system_hide_memory(void) { (void)prctl(PR_SET_DUMPABLE, 0); }

/* This process gets `signal` when its parent ends. Elsewhere: it goes on. */
static inline void system_end_with_parent(int signal) { (void)prctl(PR_SET_PDEATHSIG, signal); }

/* ---- mounts: Linux 5.12. Elsewhere there is no box. ---- */

static inline int system_open_tree(int from, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, from, path, flags);
}

static inline int system_move_mount(int tree, const char *to)
{
    return (int)syscall(SYS_move_mount, tree, "", -100 /* AT_FDCWD */, to, MOVE_MOUNT_F_EMPTY_PATH);
}

static inline int system_set_mount(int tree, const char *path, unsigned flags, const struct mount_attr *attributes)
{
    return (int)syscall(SYS_mount_setattr, tree, path, flags, attributes, sizeof *attributes);
}

#endif
