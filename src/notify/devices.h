/* The devices and browsers of people to which messages are pushed (devices.c). Private to notify/. */
#ifndef NOTIFY_DEVICES_H
#define NOTIFY_DEVICES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "base/seal.h"

enum { DEVICES_MAX = 64 };

struct device {
    struct str person, token, endpoint, label;
    unsigned char point[SEAL_POINT_BYTES], auth[SEAL_AUTH_BYTES];
    bool gone;              /* in a copy that was sent to: the push service does not know it any more */
};

struct devices {
    struct arena *arena;
    const char *file, *key_file;
    struct seal_key *key;   /* ours, which push services know us by; NULL: nobody has wanted it yet */
    struct device items[DEVICES_MAX];
    size_t count;
};

struct rc devices_open(struct devices *devices, struct arena *arena, const char *folder, struct err *err);
struct rc devices_open_key(struct devices *devices, struct err *err);
struct rc devices_add(struct devices *devices, struct str person, struct str token, const struct json *body,
                      struct err *err);
bool devices_remove(struct devices *devices, struct str endpoint, struct str token);
size_t devices_of(const struct devices *devices, struct str person, struct device *ret_devices); /* NULL: counts */

#endif
