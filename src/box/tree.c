/* The file tree of a box, built in a mount namespace of its own and then made the root.
 *
 *  1. Each source on the host is opened without following a link and cloned as a detached mount, read-only or not.
 *  2. A tmpfs becomes the new root, with empty folders for the home, /tmp, /run and /var.
 *  3. The clones are attached at their own paths, a folder before what lies in it.
 *  4. Protected names in the project become read-only mounts. A mount point can be neither renamed nor removed, so
 *     `mv .git x` fails, too. Nod's own folders are covered by an empty folder nobody may open.
 *  5. The old root is detached; the new one is read-only outside what was attached read-write. */
#include "box/inner.h"

#include "io/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define NEW_ROOT "/tmp" /* a tmpfs covers the host's /tmp in our namespace, after all sources were opened */

enum {
    TREES_MAX = 160,
    NESTED_DEPTH = 4,      /* folders below the project in which further repositories are looked for */
    NESTED_FOLDERS = 2000,
    READ_ONLY = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
    READ_WRITE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
    DEVICE = MOUNT_ATTR_NOSUID,
};

/* A clone of something on the host, and where it goes. */
struct tree {
    int fd;
    bool is_folder;
    char target[PATH_MAX];
};

static struct tree trees[TREES_MAX];
static size_t tree_count;

static const char *const system_folders[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt",
                                             "/nix/store"};
static const char *const system_files[] = {
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
    "/etc/nsswitch.conf", "/etc/protocols", "/etc/services", "/etc/mime.types", "/etc/terminfo", "/etc/gitconfig",
    "/etc/debian_version", "/etc/os-release", "/etc/lsb-release", "/etc/fonts", "/etc/perl", "/etc/python3",
    "/etc/python3.11", "/etc/python3.12", "/etc/python3.13", "/etc/java-17-openjdk", "/etc/java-21-openjdk",
    "/etc/bash.bashrc", "/etc/magic", "/etc/mtab"};
static const char *const home_folders[] = {
    ".cargo/bin", ".rustup", ".nvm", ".pyenv", ".rbenv", ".sdkman", ".volta", ".asdf", ".bun/bin", ".deno/bin", "go",
    ".go", ".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise",
    ".npm-global"};
static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
static const char *const proc_read_only[] = {"sys", "sysrq-trigger", "irq", "bus", "fs"};
static const char *const proc_covered[] = {"kcore", "keys", "kmsg", "kallsyms", "timer_list"};

/* ---- paths below the new root ---- */

static int put_path(char path[PATH_MAX], const char *below)
{
    if (snprintf(path, PATH_MAX, NEW_ROOT "%s", below) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* Makes all folders above `path`, which is below the new root. */
static int make_parents(char *path)
{
    for (char *slash = path + strlen(NEW_ROOT) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        int failed = mkdir(path, 0755) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed)
            return -1;
    }
    return 0;
}

static int make_target(const char *below, bool is_folder)
{
    char path[PATH_MAX];
    if (put_path(path, below) != 0 || make_parents(path) != 0)
        return -1;
    if (is_folder)
        return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -1;
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0 || errno == EROFS || errno == EACCES ? 0 : -1;
}

static int make_tmpfs(const char *below, const char *options)
{
    char path[PATH_MAX];
    box_set_step("mount %.150s", below);
    if (make_target(below, true) != 0 || put_path(path, below) != 0)
        return -1;
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

static int write_target(const char *below, const char *text)
{
    char path[PATH_MAX];
    if (put_path(path, below) != 0 || make_parents(path) != 0)
        return -1;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0444);
    if (fd < 0)
        return -1;
    ssize_t put = write(fd, text, strlen(text));
    (void)close(fd);
    return put == (ssize_t)strlen(text) ? 0 : -1;
}

static int link_target(const char *below, const char *to)
{
    char path[PATH_MAX];
    if (put_path(path, below) != 0 || make_parents(path) != 0)
        return -1;
    return symlink(to, path) == 0 || errno == EEXIST ? 0 : -1;
}

/* ---- clones of what is on the host ---- */

static int set_attributes(int tree, uint64_t attributes)
{
    struct mount_attr attr = {.attr_set = attributes, .propagation = MS_PRIVATE};
    return system_set_mount(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
}

static int clone_at(int from, const char *path, uint64_t attributes)
{
    int tree = system_open_tree(from, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW |
                                         (*path ? 0u : AT_EMPTY_PATH));
    if (tree >= 0 && set_attributes(tree, attributes) != 0) {
        int failed = errno;
        (void)close(tree);
        errno = failed;
        return -1;
    }
    return tree;
}

/* Opened and compared before it is cloned: the descriptor cannot be exchanged for another folder in between. */
static int add_tree(const char *source, const char *target, uint64_t attributes, const struct box *compare)
{
    struct stat seen;
    box_set_step("open %.150s", source);
    int from = open(source, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0)
        return -1;
    int failed = fstat(from, &seen);
    bool exchanged = compare && compare->project_ino &&
                     (seen.st_dev != compare->project_dev || seen.st_ino != compare->project_ino);
    if (!failed && (S_ISLNK(seen.st_mode) || exchanged)) {
        errno = ESTALE; /* another folder than the one that was approved */
        failed = -1;
    }
    int tree = failed ? -1 : clone_at(from, "", attributes);
    int why = errno;
    (void)close(from);
    errno = why;
    if (tree < 0)
        return -1;
    if (tree_count == TREES_MAX || strlen(target) >= sizeof trees->target) {
        errno = E2BIG;
        return -1;
    }
    trees[tree_count] = (struct tree){.fd = tree, .is_folder = S_ISDIR(seen.st_mode)};
    (void)snprintf(trees[tree_count++].target, sizeof trees->target, "%s", target);
    return 0;
}

/* Adds a path that may be missing. A symbolic link of the system is made again as a link. */
static int add_if_there(const char *source)
{
    struct stat seen;
    return lstat(source, &seen) != 0 || S_ISLNK(seen.st_mode) ? 0 : add_tree(source, source, READ_ONLY, NULL);
}

/* All sources are opened before anything is mounted: afterwards the paths would lead elsewhere. */
static int open_sources(const struct box *box)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof system_folders / sizeof *system_folders; i++)
        if (add_if_there(system_folders[i]) != 0)
            return -1;
    for (size_t i = 0; i < sizeof system_files / sizeof *system_files; i++)
        if (add_if_there(system_files[i]) != 0)
            return -1;
    for (size_t i = 0; i < sizeof home_folders / sizeof *home_folders; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", box->home, home_folders[i]);
        if (add_if_there(path) != 0)
            return -1;
    }
    for (size_t i = 0; box->read[i]; i++)
        if (add_tree(box->read[i], box->read[i], READ_ONLY, NULL) != 0)
            return -1;
    for (size_t i = 0; box->write[i]; i++)
        if (add_tree(box->write[i], box->write[i], READ_WRITE, NULL) != 0)
            return -1;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        (void)snprintf(path, sizeof path, "/dev/%s", devices[i]);
        if (add_tree(path, path, DEVICE, NULL) != 0)
            return -1;
    }
    if (box->home_from && add_tree(box->home_from, box->home, READ_WRITE, NULL) != 0)
        return -1;
    uint64_t attributes = box->project_read_only ? READ_ONLY : READ_WRITE;
    return box->project ? add_tree(box->project, box->project, attributes, box) : 0;
}

/* ---- the new root ---- */

static int make_links(const char *const *sources, size_t count)
{
    char to[PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        ssize_t n = readlink(sources[i], to, sizeof to - 1);
        if (n < 0)
            continue;
        to[n] = '\0';
        box_set_step("link %.150s", sources[i]);
        if (link_target(sources[i], to) != 0)
            return -1;
    }
    return 0;
}

/* /etc as far as programs need it: who we are, and no other machine. */
static int write_identity(const struct box *box)
{
    char text[PATH_MAX + 256];
    unsigned uid = geteuid(), gid = getegid();
    box_set_step("write /etc");
    (void)snprintf(text, sizeof text, "%s:x:%u:%u::%s:/bin/bash\n%s", uid ? "user" : "root", uid, gid, box->home,
                   uid ? "root:x:0:0:root:/root:/bin/sh\n" : "");
    if (write_target("/etc/passwd", text) != 0)
        return -1;
    (void)snprintf(text, sizeof text, "%s:x:%u:\n%s", gid ? "user" : "root", gid, gid ? "root:x:0:\n" : "");
    if (write_target("/etc/group", text) != 0)
        return -1;
    size_t n = box_names_excludes(text, sizeof text);
    text[n] = '\0';
    if (write_target("/etc/nod-excludes", text) != 0)
        return -1;
    return write_target("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n");
}

/* Small file systems in memory, with limits: a command cannot fill the machine's. */
static int make_root(const struct box *box)
{
    char old[PATH_MAX];
    box_set_step("mount the root");
    if (mount("tmpfs", NEW_ROOT, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") != 0)
        return -1;
    /* Symbolic links of the host's root are read through the old root: it is still mounted, only /tmp is hidden. */
    if (make_links(system_folders, sizeof system_folders / sizeof *system_folders) != 0 ||
        make_links(system_files, sizeof system_files / sizeof *system_files) != 0 || write_identity(box) != 0)
        return -1;
    if (make_tmpfs("/tmp", "mode=1777,size=1g") != 0 || make_tmpfs("/run", "mode=0755,size=1m") != 0 ||
        make_tmpfs("/var", "mode=0755,size=16m") != 0 || make_tmpfs(box->home, "mode=0700,size=512m") != 0)
        return -1;
    if (make_target("/var/tmp", true) != 0 || put_path(old, "/var/tmp") != 0)
        return -1;
    return chmod(old, 01777);
}

/* Sorts paths by length, so that a folder comes before its content. */
static int compare_trees(const void *a, const void *b)
{
    size_t left = strlen(((const struct tree *)a)->target), right = strlen(((const struct tree *)b)->target);
    return left < right ? -1 : left > right;
}

static int attach_trees(void)
{
    char path[PATH_MAX];
    qsort(trees, tree_count, sizeof *trees, compare_trees);
    for (size_t i = 0; i < tree_count; i++) {
        box_set_step("attach %.150s", trees[i].target);
        if (make_target(trees[i].target, trees[i].is_folder) != 0 || put_path(path, trees[i].target) != 0 ||
            system_move_mount(trees[i].fd, path) != 0)
            return -1;
        (void)close(trees[i].fd);
    }
    return 0;
}

static int make_devices(void)
{
    char path[PATH_MAX];
    box_set_step("mount /dev/pts");
    if (make_target("/dev/pts", true) != 0 || put_path(path, "/dev/pts") != 0 ||
        mount("devpts", path, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600") != 0)
        return -1;
    if (make_tmpfs("/dev/shm", "mode=1777,size=256m") != 0)
        return -1;
    return link_target("/dev/ptmx", "pts/ptmx") || link_target("/dev/fd", "/proc/self/fd") ||
           link_target("/dev/stdin", "/proc/self/fd/0") || link_target("/dev/stdout", "/proc/self/fd/1") ||
           link_target("/dev/stderr", "/proc/self/fd/2");
}

/* Mounts a path of the new root over itself, with these attributes. */
static int rebind(const char *below, uint64_t attributes)
{
    char path[PATH_MAX];
    if (put_path(path, below) != 0)
        return -1;
    int tree = clone_at(AT_FDCWD, path, attributes);
    if (tree < 0)
        return -1;
    int failed = system_move_mount(tree, path);
    int why = errno;
    (void)close(tree);
    errno = why;
    return failed;
}

/* Files by which the kernel can be told something are read-only, those that tell too much are covered. */
static int make_proc(void)
{
    char path[PATH_MAX], below[64];
    box_set_step("mount /proc");
    if (make_target("/proc", true) != 0 || put_path(path, "/proc") != 0 ||
        mount("proc", path, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return -1;
    for (size_t i = 0; i < sizeof proc_read_only / sizeof *proc_read_only; i++) {
        (void)snprintf(below, sizeof below, "/proc/%s", proc_read_only[i]);
        if (rebind(below, READ_ONLY) != 0 && errno != ENOENT)
            return -1;
    }
    for (size_t i = 0; i < sizeof proc_covered / sizeof *proc_covered; i++) {
        (void)snprintf(below, sizeof below, "/proc/%s", proc_covered[i]);
        if (put_path(path, below) != 0)
            return -1;
        if (mount(NEW_ROOT "/dev/null", path, NULL, MS_BIND, NULL) != 0 && errno != ENOENT)
            return -1;
    }
    return 0;
}

/* ---- what is protected ---- */

/* A link is refused: it could be turned around between this look and its use. */
static int protect(const char *below, uint64_t attributes)
{
    char path[PATH_MAX];
    struct stat seen;
    box_set_step("protect %.150s", below);
    if (put_path(path, below) != 0)
        return -1;
    if (lstat(path, &seen) != 0)
        return errno == ENOENT ? 0 : -1;
    if (S_ISLNK(seen.st_mode)) {
        errno = ELOOP;
        return -1;
    }
    return rebind(below, attributes);
}

/* Inside a repository that may be written: the files that make git run programs or look elsewhere for them. */
static int protect_open_git(const char *git)
{
    enum { MADE = 2 }; /* the first two are created if missing: otherwise the command could create and fill them */
    static const char *const names[] = {"hooks", "modules", "config", "config.worktree", "commondir", "worktrees"};
    char below[PATH_MAX], path[PATH_MAX];
    struct stat seen;
    if (put_path(path, git) != 0 || lstat(path, &seen) != 0 || !S_ISDIR(seen.st_mode))
        return protect(git, READ_ONLY);
    if (protect(git, READ_WRITE) != 0)
        return -1;
    if (snprintf(below, sizeof below, "%s/commondir", git) >= (int)sizeof below || put_path(path, below) != 0)
        return -1;
    /* Without this file a command could write one and so send git to another folder for hooks and configuration. */
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0444);
    if (fd >= 0) {
        ssize_t put = write(fd, ".\n", 2);
        (void)close(fd);
        if (put != 2)
            return -1;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (snprintf(below, sizeof below, "%s/%s", git, names[i]) >= (int)sizeof below)
            return -1;
        if (i < MADE && put_path(path, below) == 0)
            (void)mkdir(path, 0755);
        if (protect(below, READ_ONLY) != 0)
            return -1;
    }
    return 0;
}

/* Repositories below the project: submodules, vendored clones. Looked for in the box's own tree. */
static int protect_nested(const char *below, int depth, int *folders)
{
    char path[PATH_MAX], child[PATH_MAX];
    struct dirent *entry;
    int failed = 0;
    if (put_path(path, below) != 0)
        return -1;
    DIR *folder = opendir(path);
    if (!folder)
        return errno == EACCES || errno == ENOENT ? 0 : -1;
    while (!failed && (entry = readdir(folder)) && *folders > 0) {
        struct stat seen;
        bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (dots || strcmp(entry->d_name, "node_modules") == 0 ||
            snprintf(child, sizeof child, "%s/%s", below, entry->d_name) >= (int)sizeof child ||
            fstatat(dirfd(folder), entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) != 0 || S_ISLNK(seen.st_mode))
            continue;
        if (strcmp(entry->d_name, ".git") == 0)
            failed = depth < NESTED_DEPTH ? protect(child, READ_ONLY) : 0; /* the project's own is done */
        else if (S_ISDIR(seen.st_mode) && depth > 0) {
            --*folders;
            failed = protect_nested(child, depth - 1, folders);
        }
    }
    (void)closedir(folder);
    return failed;
}

/* An empty folder that nobody may open, over one of Nod's own, if it is in the tree at all. */
static int hide(const char *below)
{
    char path[PATH_MAX];
    struct stat seen;
    box_set_step("hide %.150s", below);
    if (put_path(path, below) != 0)
        return -1;
    if (lstat(path, &seen) != 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
    if (!S_ISDIR(seen.st_mode))
        return mount(NEW_ROOT "/dev/null", path, NULL, MS_BIND, NULL);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "mode=0000,size=4k");
}

/* Nested repositories as well, up to a bounded number of folders. */
static int protect_project(const struct box *box)
{
    char below[PATH_MAX];
    int folders = NESTED_FOLDERS;
    if (box_writes_project(box) && protect_nested(box->project, NESTED_DEPTH, &folders) != 0)
        return -1;
    for (size_t i = 0; box_writes_project(box) && i < box_names_count; i++) {
        if (snprintf(below, sizeof below, "%s/%s", box->project, box_names[i].name) >= (int)sizeof below)
            return -1;
        bool git = strcmp(box_names[i].name, ".git") == 0;
        if (git && box->git_open ? protect_open_git(below) != 0 : protect(below, READ_ONLY) != 0)
            return -1;
    }
    for (size_t i = 0; box->hidden[i]; i++)
        if (hide(box->hidden[i]) != 0)
            return -1;
    return 0;
}

static int enter(void)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    box_set_step("enter the root");
    if (chdir(NEW_ROOT) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 ||
        chdir("/") != 0)
        return -1;
    return system_set_mount(AT_FDCWD, "/", 0, &read_only);
}

int box_make_tree(const struct box *box)
{
    box_set_step("make mounts private");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    return open_sources(box) || make_root(box) || attach_trees() || make_devices() || make_proc() ||
                   protect_project(box) || enter()
               ? -1
               : 0;
}
