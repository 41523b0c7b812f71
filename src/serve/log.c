/* `nod log`: from a server, or from an archive, which needs none. */
#include "base/buf.h"
#include "base/limits.h"
#include "cli/log.h"
#include "event/session.h"
#include "store/store.h"

/* The options of `nod log --archive`, and how far the archive was read. */
struct archive_log {
    struct archive *archive;
    struct log_printer printer;
    struct str session, thread;
    uint64_t kinds, after;
};

static void looking_done(struct archive_log *looking) { archive_close(looking->archive); }

static struct rc read_kinds(struct str types, uint64_t *ret_kinds, struct err *err)
{
    STR_EACH(name, types, ',') {
        enum event_kind kind = event_kind_parse(name);
        if (kind == EVENT_NONE)
            return err_set(err, ERR_INVALID, "--type: there is no type %.*s", STR_ARG(name));
        *ret_kinds |= (uint64_t)1 << kind;
    }
    return RC_OK;
}

static struct rc read_options(struct archive_log *looking, struct cli *cli, struct err *err)
{
    static const char *const live_only[] = {"follow", "last"};
    for (size_t i = 0; i < sizeof live_only / sizeof *live_only; i++)
        if (option_flag(cli, live_only[i]))
            return err_set(err, ERR_INVALID, "--%s is of no use with --archive: nothing happens there", live_only[i]);
    TRY(log_printer_init(&looking->printer, cli, err));
    TRY(option_number(cli, "after", INT64_MAX, &looking->after, err));
    TRY(read_kinds(str_of(option_text(cli, "type")), &looking->kinds, err));
    looking->session = str_of(option_text(cli, "session"));
    looking->thread = str_of(option_text(cli, "thread"));
    if (str_empty(looking->session) && !str_empty(looking->thread))
        looking->session = session_of_thread(looking->thread);
    return RC_OK;
}

/* Through the JSON form, because the printer is the one that prints what a server sends. False: enough was printed.
 */
static bool print_event(struct archive_log *looking, const struct event *event)
{
    ARENA_SCOPE(arena);
    JSON_SCOPE(buf, out, LIMIT_EVENT_BYTES + LIMIT_EVENT_BYTES / 2);
    const struct json *json = NULL;
    event_write(&out, event);
    CHECK(rc_ok(json_parse(&arena, buf_str(&buf), &json, NULL)));
    return log_print(&looking->printer, json);
}

/* Page by page, so that an archive of any size needs the memory of one page. */
static struct rc print_all(struct archive_log *looking, struct err *err)
{
    for (bool more = looking->printer.left > 0; more;) {
        struct read *page = read_new(READ_EVENTS);
        page->session = looking->session;
        page->thread = looking->thread;
        page->kinds = looking->kinds;
        page->after = looking->after;
        struct rc rc = archive_read(looking->archive, page, err);
        for (size_t i = 0; rc_ok(rc) && more && i < page->event_count; i++)
            more = print_event(looking, &page->events[i]);
        more = more && page->event_count > 0;
        looking->after = page->covered;
        read_free(page);
        TRY(rc);
    }
    return RC_OK;
}

struct rc log_command(struct cli *cli, struct err *err)
{
    const char *path = option_text(cli, "archive");
    if (!path)
        return log_remote(cli, err);
    __attribute__((cleanup(looking_done))) struct archive_log looking = {0};
    TRY(read_options(&looking, cli, err));
    TRY(archive_open(path, &looking.archive, err));
    return print_all(&looking, err);
}
