/* Desktop notifications by sd-bus, loaded when the command starts (desktop.h). */
#include "cli/desktop.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/library.h"

#include <poll.h>
#include <stdlib.h>
#include <systemd/sd-bus.h>

#define NAME "org.freedesktop.Notifications"
#define PATH "/org/freedesktop/Notifications"

enum { TEXT_BYTES_MAX = 4096 };

/* Loaded when it is needed: for one command, which most machines never run. */
#define BUS_FUNCTIONS(X)                                                                                    \
    X(sd_bus_open_user) X(sd_bus_flush_close_unref) X(sd_bus_call_method) X(sd_bus_match_signal)            \
    X(sd_bus_process) X(sd_bus_get_fd) X(sd_bus_get_events) X(sd_bus_message_read)                          \
    X(sd_bus_message_read_strv) X(sd_bus_message_unref) X(sd_bus_error_free)

static struct {
    BUS_FUNCTIONS(LIBRARY_POINTER)
} lib;

struct desktop {
    sd_bus *bus;
    struct desktop_calls calls;
    bool has_actions, has_markup;
};

static struct rc load(struct err *err)
{
    static const struct library_function functions[] = {BUS_FUNCTIONS(LIBRARY_FUNCTION_SHARED)};
    const char *missing = library_load("libsystemd.so.0", functions, LIBRARY_COUNT(functions));
    if (missing)
        return err_set(err, ERR_UNAVAILABLE, "desktop notifications need libsystemd0 (%s is missing)", missing);
    return RC_OK;
}

/* ---- what the server says ---- */

/* In desktop_wait, on its thread. The id is the notification's own; the caller knows to which call it belongs. */
static int on_action(sd_bus_message *message, void *arg, sd_bus_error *error)
{
    struct desktop *desktop = arg;
    uint32_t id;
    const char *action;
    (void)error;
    if (lib.sd_bus_message_read(message, "us", &id, &action) >= 0)
        desktop->calls.pressed(desktop->calls.arg, id, action);
    return 0;
}

static int on_closed(sd_bus_message *message, void *arg, sd_bus_error *error)
{
    struct desktop *desktop = arg;
    uint32_t id, reason;
    (void)error;
    if (lib.sd_bus_message_read(message, "uu", &id, &reason) >= 0)
        desktop->calls.closed(desktop->calls.arg, id);
    return 0;
}

/* A desktop without buttons shows only text, which then says how to answer elsewhere. */
static struct rc learn_capabilities(struct desktop *desktop, struct err *err)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    char **words = NULL;
    int failed = lib.sd_bus_call_method(desktop->bus, NAME, PATH, NAME, "GetCapabilities", &error, &reply, "");
    if (failed >= 0)
        failed = lib.sd_bus_message_read_strv(reply, &words);
    for (size_t i = 0; words && words[i]; i++) {
        desktop->has_actions = desktop->has_actions || str_is(str_of(words[i]), "actions");
        desktop->has_markup = desktop->has_markup || str_is(str_of(words[i]), "body-markup");
        free(words[i]);
    }
    free(words);
    if (failed < 0)
        (void)err_set(err, ERR_UNAVAILABLE, "no program shows notifications on this desktop: %s",
                      error.message ? error.message : strerror(-failed));
    lib.sd_bus_error_free(&error);
    lib.sd_bus_message_unref(reply);
    return failed < 0 ? (struct rc){ERR_UNAVAILABLE} : RC_OK;
}

/* On an error nothing stays open. The library is loaded here, because only this command uses it. */
struct rc desktop_open(const struct desktop_calls *calls, struct desktop **ret_desktop, struct err *err)
{
    TRY(load(err));
    struct desktop *desktop = heap_new(sizeof *desktop);
    desktop->calls = *calls;
    int failed = lib.sd_bus_open_user(&desktop->bus);
    /* Only from whoever has the name: the bus checks that. Any program in the session may send such a signal. */
    if (failed >= 0)
        failed = lib.sd_bus_match_signal(desktop->bus, NULL, NAME, PATH, NAME, "ActionInvoked", on_action, desktop);
    if (failed >= 0)
        failed = lib.sd_bus_match_signal(desktop->bus, NULL, NAME, PATH, NAME, "NotificationClosed", on_closed,
                                         desktop);
    struct rc rc = failed < 0 ? err_set(err, ERR_UNAVAILABLE, "there is no session bus here: %s", strerror(-failed))
                              : learn_capabilities(desktop, err);
    if (rc_bad(rc))
        desktop_close(desktop);
    else
        *ret_desktop = desktop;
    return rc;
}

void desktop_close(struct desktop *desktop)
{
    lib.sd_bus_flush_close_unref(desktop->bus);
    free(desktop);
}

/* ---- what we say ---- */

/* Escapes < and & where the desktop supports markup in the body. */
static const char *escaped(struct arena *arena, const struct desktop *desktop, const char *text)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    for (const char *at = text; *at; at++) {
        const char *instead = *at == '&' ? "&amp;" : *at == '<' ? "&lt;" : *at == '>' ? "&gt;" : NULL;
        if (instead && desktop->has_markup)
            buf_puts(&buf, instead);
        else
            buf_put(&buf, (struct str){at, 1});
    }
    return arena_c(arena, buf_str(&buf));
}

/* Buttons are shown only where the desktop has them, and "Allow once" only for calls that may be answered from
 * there. */
struct rc desktop_show(struct desktop *desktop, const struct desktop_note *note, uint32_t *ret_id, struct err *err)
{
    ARENA_SCOPE(scratch);
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    const char *body = escaped(&scratch, desktop, note->body), *app = "Nod", *icon = "";
    int urgency = note->urgent ? 2 : 1, for_ever = 0, failed;
    sd_bus *bus = desktop->bus;
#define NOTE(count, ...)                                                                                         \
    lib.sd_bus_call_method(bus, NAME, PATH, NAME, "Notify", &error, &reply, "susssasa{sv}i", app, 0u, icon,      \
                           note->title, body, count __VA_OPT__(, ) __VA_ARGS__, 1, "urgency", "y", urgency, for_ever)
    if (!desktop->has_actions)
        failed = NOTE(0);
    else if (note->allow)
        failed = NOTE(6, "default", "Look", "deny", "Deny", "allow", "Allow once");
    else
        failed = NOTE(4, "default", "Look", "deny", "Deny");
#undef NOTE
    if (failed >= 0)
        failed = lib.sd_bus_message_read(reply, "u", ret_id);
    struct rc rc = failed >= 0 ? RC_OK
                               : err_set(err, ERR_UNAVAILABLE, "the desktop cannot show the notification: %s",
                                         error.message ? error.message : strerror(-failed));
    lib.sd_bus_error_free(&error);
    lib.sd_bus_message_unref(reply);
    return rc;
}

/* Closes the notification. An error is ignored: it may have been closed already. */
void desktop_withdraw(struct desktop *desktop, uint32_t id)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    (void)lib.sd_bus_call_method(desktop->bus, NAME, PATH, NAME, "CloseNotification", &error, NULL, "u", id);
    lib.sd_bus_error_free(&error);
}

/* Returns when the bus has something, when `fd` can be read, or after the time. Callbacks are called from here only.
 */
struct rc desktop_wait(struct desktop *desktop, int fd, int timeout_ms, struct err *err)
{
    int more;
    while ((more = lib.sd_bus_process(desktop->bus, NULL)) > 0)
        timeout_ms = 0;
    struct pollfd both[] = {{.fd = lib.sd_bus_get_fd(desktop->bus)}, {.fd = fd, .events = POLLIN}};
    both[0].events = (short)lib.sd_bus_get_events(desktop->bus);
    if (more < 0)
        return err_set(err, ERR_UNAVAILABLE, "the session bus has ended: %s", strerror(-more));
    (void)poll(both, 2, timeout_ms);
    return RC_OK;
}
