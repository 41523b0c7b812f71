/* Notifications of the desktop (org.freedesktop.Notifications). desktop_bus.c is the only file that knows sd-bus. */
#ifndef CLI_DESKTOP_H
#define CLI_DESKTOP_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

struct desktop;

/* `pressed`: a button of a notification; `closed`: it is not shown any more. Both from desktop_wait only. */
struct desktop_calls {
    void (*pressed)(void *arg, uint32_t id, const char *action);
    void (*closed)(void *arg, uint32_t id);
    void *arg;
};
/* ERR_UNAVAILABLE when there is no session bus, no notification server on it, or no library. */
struct rc desktop_open(const struct desktop_calls *calls, struct desktop **ret_desktop, struct err *err);
void desktop_close(struct desktop *desktop);

struct desktop_note {
    const char *title, *body;
    bool allow;          /* also a button that allows; the others deny and look */
    bool urgent;
};
/* Buttons are "deny", "allow" and "default" (a click beside them), where the server has any. */
struct rc desktop_show(struct desktop *desktop, const struct desktop_note *note, uint32_t *ret_id, struct err *err);
void desktop_withdraw(struct desktop *desktop, uint32_t id);
/* Waits until the bus has a message, `fd` can be read, or the time is over. ERR_UNAVAILABLE: the bus is gone. */
struct rc desktop_wait(struct desktop *desktop, int fd, int timeout_ms, struct err *err);

#endif
