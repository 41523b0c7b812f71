/* The box: what a command of Nod's own agent can see, reach and leave behind.
 *
 * A box is one command in namespaces of its own (user, mount, process, network, IPC, host name, cgroup). Its file tree
 * is an allow-list: the system's programs and libraries, toolchains of the home folder and the project, nothing else.
 * A socket or a secret that is not in the tree does not exist there, so neither a path nor a link can lead to it.
 * The command has no capability, cannot gain one, and a seccomp filter refuses the system calls that would build
 * another box or reach another process. When the first process of the box ends, the kernel ends the rest.
 *
 * The server fills in a `struct box`, turns it into words (box_words) and starts this program again under the name
 * BOX_NAME with them; box_main then does the rest in that process. It has one thread and nothing of the server.
 *
 *     nod-box WORD... -- FOLDER PROGRAM ARGUMENT...      descriptors: see box/supervisor.h
 */
#ifndef BOX_BOX_H
#define BOX_BOX_H

#include "base/arena.h"
#include "base/err.h"

#include <stdint.h>
#include <sys/types.h>

#define BOX_NAME "nod-box"

enum {
    BOX_PATHS_MAX = 32, /* length of each list below */
    BOX_PORTS_MAX = 16,
    BOX_WORDS_MAX = 3 * BOX_PATHS_MAX + BOX_PORTS_MAX + 12,
    BOX_PROXY_PORT = 3128, /* port inside a box on which the proxy listens (egress/egress.h) */
    BOX_STEP_BYTES = 200,
};

struct box {
    const char *project;             /* project folder: absolute, without links; same path in the box; NULL: none */
    bool project_read_only;
    dev_t project_dev;               /* identity of that folder when the call was approved; 0: not checked */
    ino_t project_ino;
    const char *home;                /* the person's home folder; in the box it is empty */
    const char *home_from;           /* a folder of the host that is mounted as the home; NULL: the home is empty */
    const char *locks;               /* a folder of Nod's outside the box with lock files: which project is in use */
    bool git_open;                   /* .git is writable, except hooks and configuration */
    bool no_user_namespace;          /* for root where user namespaces are switched off */
    bool keeps_streams;              /* standard input, output and error are the launcher's */
    bool proxy;                      /* a listener on BOX_PROXY_PORT is made in the box and passed to its starter */
    uint16_t ports[BOX_PORTS_MAX];   /* ports of the host's loopback whose listeners are passed likewise; 0: end */
    const char *hidden[BOX_PATHS_MAX + 1]; /* paths hidden in the box wherever they would appear: Nod's own folders */
    const char *read[BOX_PATHS_MAX + 1];   /* further paths of the host, read-only */
    const char *write[BOX_PATHS_MAX + 1];  /* further paths of the host, read-write */
};

/* The kind of boundary that this machine can make. */
enum box_order {
    BOX_NAMESPACES,      /* a user namespace and all the others */
    BOX_ROOT_NAMESPACES, /* without a user namespace: for root, where user namespaces are switched off */
    BOX_NONE,            /* no boundary: calls that want one are asked about */
};

/* Openings in the box of one command, beside those that every box has. */
struct box_opened {
    dev_t project_dev;     /* identity of the folder when the call was judged; the box is made for no other */
    ino_t project_ino;
    bool git_open, git_by_rule;
    const char *read[BOX_PATHS_MAX + 1];
    const char *write[BOX_PATHS_MAX + 1];
    uint16_t ports[BOX_PORTS_MAX];
};

/* How commands are run: what the server found out at its start, and which folders are Nod's. */
struct box_probing;
struct box_setting {
    enum box_order order;        /* ask box_order_of, which waits until it is known */
    const char *data;            /* Nod's data folder: hidden in every box, and home of the locks */
    const char *home;            /* the person's home folder, from the user database and not from $HOME */
    const char *why;             /* after box_order_of: why there is no box, the step that failed; else empty */
    struct box_probing *probing; /* NULL: what stands here is known */
};

/* The program as execvp would find it in the folders of `path`, without links; NULL: nowhere. */
const char *box_find_program(struct arena *arena, const char *name, const char *path);
/* The folder that the program needs in its box: its node_modules, or its own folder; NULL: a system program. */
const char *box_program_folder(struct arena *arena, const char *program);

/* The words for a box; the last one is followed by NULL. They and their strings live in the arena. */
char **box_words(struct arena *arena, const struct box *box);

/* In the process that was started as BOX_NAME; does not return. `argv` begins with BOX_NAME. */
_Noreturn void box_main(int argc, char **argv);

/* Starts a box with the real launcher in a folder of its own and says which kind of box holds; `ret_why`
 * (BOX_STEP_BYTES or more) gets the step that failed, and why, when it is BOX_NONE. Blocks for some milliseconds. */
enum box_order box_probe(const struct box_setting *setting, char *ret_why, size_t why_bytes);
const char *box_order_text(enum box_order order);

/* The same in a thread of its own, so that a start does not wait for it: fills in `order` and `why`, then calls `told`
 * there. box_probe_end waits for that, and comes before the setting goes away. */
void box_probe_begin(struct box_setting *setting, void (*told)(const struct box_setting *setting));
void box_probe_end(struct box_setting *setting);
/* The order, in any thread; blocks for as long as the probe takes. */
enum box_order box_order_of(const struct box_setting *setting);

#endif
