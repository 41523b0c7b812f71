/* Identity, capabilities and limits of the processes in a box. */
#include "box/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PROCESSES_MAX = 512,
    LANDLOCK_CREATE = 444,   /* numbers of every architecture */
    LANDLOCK_RESTRICT = 446,
    CAPABILITIES_MAX = 63,
};

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t put = write(fd, text, strlen(text));
    (void)close(fd);
    return put < 0 ? -1 : 0;
}

/* Called in the child right after the clone: once it is not dumpable, it may not write these files any more. */
int box_map_ids(uid_t uid, gid_t gid)
{
    char line[64];
    box_set_step("map ids");
    if (write_file("/proc/self/setgroups", "deny") != 0)
        return -1;
    (void)snprintf(line, sizeof line, "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (write_file("/proc/self/uid_map", line) != 0)
        return -1;
    (void)snprintf(line, sizeof line, "%u %u 1", (unsigned)gid, (unsigned)gid);
    return write_file("/proc/self/gid_map", line);
}

int box_raise_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    box_set_step("raise the loopback device");
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int failed = ioctl(fd, SIOCSIFFLAGS, &request);
    (void)close(fd);
    return failed;
}

/* The bounding set, too, and locked: no file with capabilities can give any back. */
int box_drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};
    box_set_step("drop capabilities");
    for (int capability = 0; capability <= CAPABILITIES_MAX; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL) /* EINVAL: behind the last one */
            return -1;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECUREBITS, (SECURE_ALL_BITS & ~issecure_mask(SECURE_KEEP_CAPS)) | SECURE_ALL_LOCKS, 0, 0, 0) != 0)
        return -1;
    if (syscall(SYS_capset, &header, none) != 0)
        return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* In the command only. For root the kernel does not enforce the number of processes. */
void box_limit_resources(void)
{
    const struct rlimit processes = {PROCESSES_MAX, PROCESSES_MAX}, none = {0, 0};
    (void)setrlimit(RLIMIT_NPROC, &processes);
    (void)setrlimit(RLIMIT_CORE, &none);
}

/* Additional protection where the kernel has Landlock 6: no signal and no abstract socket leaves the box. */
void box_scope_signals(void)
{
    struct {
        uint64_t files, network, scoped;
    } rules = {.scoped = 3 /* abstract sockets, signals */};
    int set = (int)syscall(LANDLOCK_CREATE, &rules, sizeof rules, 0);
    if (set < 0)
        return;
    (void)syscall(LANDLOCK_RESTRICT, set, 0);
    (void)close(set);
}
