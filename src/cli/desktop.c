/* nod desktop: waiting calls as notifications of this desktop, with buttons that answer.
 *
 * One thread follows the log and says only that something has happened; the other looks at what waits now and makes
 * the desktop show that, so nothing is missed and nothing stays. It runs in a person's own session, with that person's
 * token: the server has no desktop.
 */
#include "base/limits.h"
#include "base/stamp.h"
#include "cli/desktop.h"
#include "cli/view.h"
#include "http/http.h"
#include "io/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { NOTES_MAX = 32, LOOK_EVERY_MS = 5000, AGAIN_MS = 1000 };

/* A notification that the desktop shows for a waiting call. */
struct shown_note {
    uint32_t id;            /* the desktop's id of the notification; 0: a free slot */
    bool closed;            /* by the person: it is not shown again */
    bool waits;             /* the call was in the list when it was last read */
    char session[LIMIT_ID_BYTES + 1], call[LIMIT_ID_BYTES + 1], digest[80];
};

/* The command's state. Only its first thread uses it; the following thread only writes to `wake`. */
struct watch {
    struct cli *cli;
    struct desktop *desktop;
    struct shown_note notes[NOTES_MAX];
    int64_t after_ms;       /* how long a call waits before it is shown */
    int wake[2];            /* a pipe: the thread that follows events writes a byte for each change */
};

/* ---- answers ---- */

static struct shown_note *note_of(struct watch *watch, uint32_t id)
{
    return ROW_FIND(watch->notes, NOTES_MAX, row, row->id == id && id);
}

/* With the digest of what was shown: a call that changed meanwhile is not answered. */
static void answer(struct watch *watch, const struct shown_note *note, const char *decision)
{
    ARENA_SCOPE(scratch);
    struct reply reply;
    struct err err;
    struct query query = {.method = "POST"};
    query.body = json_object_str(&scratch, J("decision", decision), J("digest", note->digest));
    query.target = arena_printf(&scratch, "/api/sessions/%s/approvals/%s",
                                remote_escape(&scratch, str_of(note->session)).p,
                                remote_escape(&scratch, str_of(note->call)).p);
    if (rc_bad(remote_ask(watch->cli, &scratch, &query, &reply, &err)))
        cli_note("%s: %s", note->call, err.text);
    else
        cli_note("%s: %s", note->call, decision);
}

/* Called by desktop_wait, on the main thread. The request of a notification that is no longer known was answered
 * elsewhere. */
static void pressed(void *arg, uint32_t id, const char *action)
{
    struct watch *watch = arg;
    const struct shown_note *note = note_of(watch, id);
    if (!note)
        return;
    if (str_is(str_of(action), "deny"))
        answer(watch, note, "deny");
    else if (str_is(str_of(action), "allow"))
        answer(watch, note, "allow_once");
    else
        cli_note("%s waits: nod show %s, or open the page", note->call, note->call);
}

static void closed(void *arg, uint32_t id)
{
    struct shown_note *note = note_of(arg, id);
    if (note)
        note->closed = true;
}

/* ---- what is shown ---- */

/* The note of the call, else a free place, else NULL: more calls than places are not shown. */
static struct shown_note *find(struct watch *watch, struct str session, struct str call)
{
    struct shown_note *room = NULL;
    for (size_t i = 0; i < NOTES_MAX; i++) {
        struct shown_note *note = &watch->notes[i];
        if (note->id && str_is(session, note->session) && str_is(call, note->call))
            return note;
        if (!note->id && !room)
            room = note;
    }
    return room;
}

/* Allowing from a line of text is for calls that are shown whole in it, and that nobody calls risky. */
static struct rc show(struct watch *watch, const struct json *call, struct shown_note *note, struct err *err)
{
    ARENA_SCOPE(scratch);
    const struct json *tool = json_get(call, "toolCall"), *input = json_get(tool, "input");
    const struct json *risky = json_get(call, "risky");
    bool calm = risky && risky->type == JSON_FALSE;
    struct str command = json_text(input, "command");
    bool whole = input && input->count == 1 && command.n && command.n <= 200 &&
                 str_eq(text_line(&scratch, command), command);
    struct desktop_note shown = {
        .title = arena_printf(&scratch, "Nod: %.*s asks", STR_ARG(text_line(&scratch, json_text(call, "agent")))).p,
        .body = arena_c(&scratch, whole ? command : text_fit(&scratch, view_summary(&scratch, call), 200)),
        .allow = calm && whole, .urgent = !calm};
    TRY(desktop_show(watch->desktop, &shown, &note->id, err));
    (void)snprintf(note->session, sizeof note->session, "%.*s", STR_ARG(json_text(call, "sessionId")));
    (void)snprintf(note->call, sizeof note->call, "%.*s", STR_ARG(json_text(call, "toolCallId")));
    (void)snprintf(note->digest, sizeof note->digest, "%.*s", STR_ARG(json_text(call, "digest")));
    return RC_OK;
}

static bool is_old_enough(const struct watch *watch, const struct json *call)
{
    int64_t at_ms;
    return !stamp_parse(json_text(call, "requestedAt"), &at_ms) || clock_wall_ms() - at_ms >= watch->after_ms;
}

/* Compares what waits with what is shown, and makes the desktop show exactly that. */
static struct rc look(struct watch *watch, struct err *err)
{
    ARENA_SCOPE(scratch);
    struct reply reply;
    TRY(view_pending(watch->cli, &scratch, NULL, &reply, err));
    for (size_t i = 0; i < NOTES_MAX; i++)
        watch->notes[i].waits = false;
    for (const struct json *call = json_first(reply.json, "pendingApprovals"); call; call = call->next) {
        if (json_text(call, "snoozedUntil").n)
            continue; /* no notification is shown until the snooze ends */
        struct shown_note *note = find(watch, json_text(call, "sessionId"), json_text(call, "toolCallId"));
        if (note && !note->id && is_old_enough(watch, call))
            TRY(show(watch, call, note, err));
        if (note)
            note->waits = true;
    }
    for (size_t i = 0; i < NOTES_MAX; i++) {
        struct shown_note *note = &watch->notes[i];
        if (!note->id || note->waits)
            continue;
        if (!note->closed)
            desktop_withdraw(watch->desktop, note->id);
        *note = (struct shown_note){0};
    }
    return RC_OK;
}

/* ---- following ---- */

static bool on_event(void *arg, struct str id, struct str type, struct str data)
{
    const struct watch *watch = arg;
    (void)id, (void)type, (void)data;
    return write(watch->wake[1], "x", 1) == 1;
}

/* The follower's thread. Without a server it tries again; the other thread tells the person. */
static void *follow(void *arg)
{
    const struct watch *watch = arg;
    for (struct http_client *client;; http_client_free(client)) {
        if (rc_bad(remote_client(watch->cli, &client, NULL)))
            return NULL;
        (void)http_client_stream(client, STR("/api/events?types=TOOL_APPROVAL_REQUEST,TOOL_APPROVAL_RESPONSE,"
                                             "TOOL_APPROVAL_SNOOZED"),
                                 on_event, arg, NULL);
        (void)usleep(AGAIN_MS * 1000);
    }
}

/* Runs until Ctrl-C. A server that is away is waited for; an error that will not pass ends the command. */
struct rc desktop_command(struct cli *cli, struct err *err)
{
    struct watch watch = {.cli = cli};
    int64_t after_s = 0;
    pthread_t thread;
    char bytes[256];
    TRY(option_time(cli, "after", 86400, &after_s, err));
    watch.after_ms = after_s * 1000;
    struct desktop_calls calls = {.pressed = pressed, .closed = closed, .arg = &watch};
    TRY(desktop_open(&calls, &watch.desktop, err));
    struct rc first = look(&watch, err);
    if (rc_bad(first)) {
        desktop_close(watch.desktop);
        return first;
    }
    if (pipe2(watch.wake, O_CLOEXEC | O_NONBLOCK) != 0 || pthread_create(&thread, NULL, follow, &watch) != 0)
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
    cli_note("showing calls that wait on this desktop; end with Ctrl-C");
    for (;;) {
        TRY(desktop_wait(watch.desktop, watch.wake[0], LOOK_EVERY_MS, err));
        while (read(watch.wake[0], bytes, sizeof bytes) > 0)
            ;
        struct rc rc = look(&watch, err);
        if (rc_bad(rc) && !remote_passing(rc))
            return rc;
    }
}
