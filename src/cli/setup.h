/* nod setup: from nothing to protected, and back.
 *
 *   setup.c          the command: finds, says, asks, does
 *   setup_record.c   what was put in, kept in the data folder, so that --remove takes out exactly that
 *   setup_service.c  the server: a user unit of systemd, or a process in the background
 *   setup_rules.c    starter rules by what is in the folder
 *   setup_system.c   nod setup system: the server under a user of its own
 *   setup_probe.c    a test call through an installed hook
 *   setup_page.c     the page, and the ways to hear of a question
 */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "base/digest.h"
#include "cli/hook_install.h"

enum { SETUP_RULES_MAX = 64, SETUP_FILES_MAX = 16 };

/* ---- the record ---- */

/* A file of an agent's settings that we changed. */
struct setup_file {
    struct str path;
    bool was_there;
    bool edited;         /* changed by another program after us: its old content must not be restored */
    bool made_folder;    /* the folder it is in was not there either */
    struct digest after; /* digest of its content after our change */
};

/* Everything that setup has put in, for --remove. */
struct setup_record {
    struct str unit; /* the file of the systemd unit that we wrote; may be empty */
    int64_t pid;     /* process id of the server that we started in the background; 0: none */
    struct setup_file files[SETUP_FILES_MAX];
    size_t file_count;
    struct str rules[SETUP_RULES_MAX]; /* ids */
    size_t rule_count;
    bool agents[AGENT_COUNT];     /* agents whose hooks we installed */
};

/* Loads the record; an empty one when there is none. */
struct rc setup_record_load(struct cli *cli, struct setup_record *ret_record, struct err *err);
struct rc setup_record_save(struct cli *cli, const struct setup_record *record, struct err *err);
void setup_record_drop(struct cli *cli, const struct setup_record *record);

/* A file's state before we change it; call setup_file_changed afterwards. */
struct setup_look {
    const char *path;
    struct str before;
    bool was_there, had_folder;
};
struct rc setup_file_look(struct cli *cli, const char *path, struct setup_look *ret_look, struct err *err);
/* Records the old bytes if the file has changed. */
struct rc setup_file_changed(struct cli *cli, struct setup_record *record, const struct setup_look *look,
                             struct err *err);
/* Checks whether each file is still as we left it; call it before anything is removed. */
void setup_files_check(struct cli *cli, struct setup_record *record);
/* Restores the old bytes of files that nobody else has changed; the others stay. */
struct rc setup_files_restore(struct cli *cli, const struct setup_record *record, struct err *err);

/* ---- the server ---- */

enum setup_service { SERVICE_RUNS, SERVICE_SYSTEMD, SERVICE_BACKGROUND };

/* The way in which the server would be started. */
enum setup_service setup_service_find(struct cli *cli, bool background);
/* The unit's file; NULL when there is no home folder. */
const char *setup_unit_path(struct cli *cli);
struct rc setup_service_start(struct cli *cli, enum setup_service service, struct setup_record *record,
                              struct err *err);
struct rc setup_service_stop(struct cli *cli, const struct setup_record *record, struct err *err);

/* ---- rules ---- */

struct setup_pack {
    const char *name, *words;
    const char *marks[8]; /* a file of one of these names shows that the pack fits */
    const char *rules[12];
};

/* The next pack that fits this folder, from *at on; NULL at the end. */
const struct setup_pack *setup_pack_next(size_t *at);
/* Adds the rules of the packs that are not there yet. */
struct rc setup_rules_add(struct cli *cli, struct setup_record *record, size_t *ret_added, struct err *err);
void setup_rules_revoke(struct cli *cli, const struct setup_record *record);

/* ---- the test call ---- */

/* Sends a call through the hook as it stands in the agent's settings, sees it arrive at the server, denies it and
 * sees the hook pass that on. */
struct rc setup_probe(struct cli *cli, const struct agent *agent, struct err *err);

/* ---- the end ---- */

#define SETUP_LEADER "setup/page.html" /* in the data folder */

bool setup_on_path(struct cli *cli, const char *program);
/* Opens the page in the desktop's browser, by a link that is good once; false: there is none, or it did not start. */
bool setup_page_open(struct cli *cli, struct str link);
/* Says how else questions reach a person; `reachable`: a phone can open the server's address. */
void setup_page_ways(bool reachable);
/* Shows a QR code by which a phone logs in. */
void setup_page_pair(struct cli *cli);
/* Shows a login for a phone (pair.c). */
void pair_show(struct cli *cli, const struct json *login);

#endif
