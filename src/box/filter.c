/* The system calls that a boxed command may not make; libseccomp is known to this file only.
 *
 * The filter allows by default: the file tree, the namespaces and the missing capabilities are the boundary. It refuses
 * what would make new namespaces or mounts, look into other processes, widen the kernel's attack surface, or leave a
 * set-user-id file behind. Calls whose arguments lie in memory, where a filter cannot look, do not exist (ENOSYS), so
 * that programs use the older ones. Other architectures, x32 among them, are killed. */
#include "box/inner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAMILIES = 47, NUMBER_UNKNOWN = -1 };
#define LOW_BITS 0xffffffffULL

/* A call that the installed libseccomp may not know by name; numbers from 403 on are the same on every architecture. */
struct filter_call {
    const char *name;
    int number;
};

static const struct filter_call refused[] = {
    {"ptrace", 0}, {"process_vm_readv", 0}, {"process_vm_writev", 0}, {"pidfd_getfd", 438}, {"kcmp", 0}, {"bpf", 0},
    {"perf_event_open", 0}, {"userfaultfd", 0}, {"add_key", 0}, {"request_key", 0}, {"keyctl", 0},
    {"mount", 0}, {"umount", 0}, {"umount2", 0}, {"open_tree", 428}, {"move_mount", 429}, {"fsopen", 430},
    {"fsconfig", 431}, {"fsmount", 432}, {"fspick", 433}, {"mount_setattr", 442}, {"open_tree_attr", 467},
    {"pivot_root", 0}, {"chroot", 0}, {"unshare", 0}, {"setns", 0}, {"init_module", 0}, {"finit_module", 0},
    {"delete_module", 0}, {"kexec_load", 0}, {"kexec_file_load", 0}, {"reboot", 0}, {"swapon", 0}, {"swapoff", 0},
    {"acct", 0}, {"quotactl", 0}, {"quotactl_fd", 443}, {"name_to_handle_at", 0}, {"open_by_handle_at", 0},
    {"fanotify_init", 0}, {"syslog", 0}, {"iopl", 0}, {"ioperm", 0}, {"settimeofday", 0}, {"clock_settime", 0},
    {"clock_adjtime", 0}, {"adjtimex", 0}, {"modify_ldt", 0}, {"move_pages", 0}, {"migrate_pages", 0}, {"mbind", 0},
    {"vhangup", 0}, {"sethostname", 0}, {"setdomainname", 0},
};

static const struct filter_call absent[] = {
    {"clone3", 435}, {"openat2", 437}, {"fchmodat2", 452}, {"io_uring_setup", 425}, {"io_uring_enter", 426},
    {"io_uring_register", 427},
};

/* A mode with the set-user-id or set-group-id bit: the argument it is in, and the one with open flags (-1: none). */
static const struct {
    const char *name;
    int mode, flags;
} modes[] = {
    {"chmod", 1, -1}, {"fchmod", 1, -1}, {"fchmodat", 2, -1}, {"creat", 1, -1}, {"mknod", 1, -1},
    {"mknodat", 2, -1}, {"open", 2, 1}, {"openat", 3, 2},
};

/* False for a call that this architecture does not have: then there is nothing to refuse. */
static bool find(const struct filter_call *call, int *ret_number)
{
    int number = seccomp_syscall_resolve_name(call->name);
    if (number == __NR_SCMP_ERROR)
        number = call->number ? call->number : NUMBER_UNKNOWN;
    *ret_number = number;
    return number >= 0;
}

static bool refuse_calls(scmp_filter_ctx filter, const struct filter_call *calls, size_t count, int answer)
{
    int number;
    for (size_t i = 0; i < count; i++)
        if (find(&calls[i], &number) && seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)answer), number, 0) != 0)
            return false;
    return true;
}

static bool refuse_namespaces(scmp_filter_ctx filter)
{
    static const uint64_t flags[] = {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, 0x80 /* CLONE_NEWTIME */};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i])) != 0)
            return false;
    return true;
}

/* A set-user-id file that a boxed command makes would be one outside the box, too. */
static bool refuse_modes(scmp_filter_ctx filter)
{
    static const uint64_t bits[] = {S_ISUID, S_ISGID};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        int number = seccomp_syscall_resolve_name(modes[i].name);
        for (size_t b = 0; b < 2 && number >= 0; b++) {
            struct scmp_arg_cmp arguments[] = {
                SCMP_CMP((unsigned)modes[i].mode, SCMP_CMP_MASKED_EQ, bits[b], bits[b]),
                SCMP_CMP((unsigned)modes[i].flags, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT)};
            unsigned count = modes[i].flags < 0 ? 1 : 2;
            if (seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number, count, arguments) != 0)
                return false;
        }
    }
    return true;
}

/* The kernel looks at 32 bits of a family; a number with more bits set is refused as one that is too large. */
static bool refuse_families(scmp_filter_ctx filter)
{
    for (uint64_t family = 0; family < FAMILIES; family++) {
        if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK)
            continue;
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_EQ, family, 0)) != 0)
            return false;
    }
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                            SCMP_A0(SCMP_CMP_GE, FAMILIES, 0)) == 0;
}

/* Refuses ioctls that type into the terminal. The kernel compares 32 bits of the request. */
static bool refuse_typing(scmp_filter_ctx filter)
{
    static const uint64_t requests[] = {TIOCSTI, TIOCLINUX};
    for (size_t i = 0; i < 2; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, LOW_BITS, requests[i])) != 0)
            return false;
    return true;
}

/* Returns the bytes of the program, -1 on failure. */
long box_filter_make(void *program, size_t bytes)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    long got = -1;
    int memory = memfd_create("filter", MFD_CLOEXEC);
    if (filter && memory >= 0 && seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
        refuse_calls(filter, refused, sizeof refused / sizeof *refused, EPERM) &&
        refuse_calls(filter, absent, sizeof absent / sizeof *absent, ENOSYS) && refuse_namespaces(filter) &&
        refuse_modes(filter) && refuse_families(filter) && refuse_typing(filter) &&
        seccomp_export_bpf(filter, memory) == 0)
        got = pread(memory, program, bytes, 0);
    if (filter)
        seccomp_release(filter);
    if (memory >= 0)
        (void)close(memory);
    return got > 0 && (size_t)got < bytes && (size_t)got % sizeof(struct sock_filter) == 0 ? got : -1;
}

int box_filter_load(const void *program, size_t bytes)
{
    struct sock_fprog filter = {.len = (unsigned short)(bytes / sizeof(struct sock_filter)),
                                .filter = (struct sock_filter *)program};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}
