/* Calls that only Linux has, or only glibc, in one place; each with what another system or C library does instead.
 *
 * The rest of the program is POSIX, but for the box (src/box: namespaces, seccomp), which says that it is not there
 * where the kernel lacks them: commands then run without one, or not at all, as `sandbox` says. */
#ifndef IO_SYSTEM_H
#define IO_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
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
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}

/* ---- descriptors ---- */

/* Closes this descriptor and all above it. */
static inline int system_close_from(unsigned first) { return (int)syscall(SYS_close_range, first, ~0U, 0); }

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
