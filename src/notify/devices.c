/* Browsers that want push messages: who they belong to, and the keys they gave us. Kept in a file of the data folder,
 * not in the log, because a person may want a device to be forgotten. Runs on the loop. */
#include "notify/inner.h"

#include "base/base64.h"
#include "base/hex.h"
#include "base/sign.h"
#include "io/file.h"

enum { FILE_BYTES_MAX = 512 << 10, ENDPOINT_BYTES_MAX = 1024, LABEL_BYTES_MAX = 100 };

/* ---- the key under which we send ---- */

/* The key by which push services know this server; browsers are subscribed to it. It is opened, and the first time
 * made, when there is a device or a browser asks for it: OpenSSL's part in it is large, and many servers need none. */
struct rc devices_open_key(struct devices *devices, struct err *err)
{
    ARENA_SCOPE(arena);
    unsigned char bytes[SEAL_KEY_BYTES_MAX];
    char hex[2 * SEAL_KEY_BYTES_MAX + 1];
    struct str text;
    if (devices->key)
        return RC_OK;
    struct rc rc = file_read(&arena, devices->key_file, sizeof hex, &text, err);
    if (rc_ok(rc)) {
        text = str_trim(text);
        if (text.n / 2 <= sizeof bytes && hex_read(text, bytes, text.n / 2))
            devices->key = seal_key_read(bytes, text.n / 2);
        return devices->key ? RC_OK
                            : err_set(err, ERR_CORRUPT, "%s does not hold a key: restore it from a backup; or remove "
                                      "it, and let devices subscribe again", devices->key_file);
    }
    if (rc.code != ERR_NOT_FOUND)
        return rc;
    struct seal_key *key = seal_key_new();
    hex_write(bytes, seal_key_write(key, bytes), hex);
    rc = file_write_private(devices->key_file, str_of(hex), err);
    if (rc_ok(rc))
        devices->key = key;
    else
        seal_key_free(key);
    return rc;
}

/* ---- the list ---- */

/* From a browser, and from our own file: both are checked alike. */
static struct rc read_device(struct arena *arena, const struct json *json, struct device *device, struct err *err)
{
    size_t n;
    struct str endpoint = json_text(json, "endpoint"), label = json_text(json, "label");
    const struct json *keys = json_get(json, "keys");
    bool https = str_starts(endpoint, STR("https://")) || str_starts(endpoint, STR("http://"));
    if (!https || endpoint.n > ENDPOINT_BYTES_MAX || label.n > LABEL_BYTES_MAX)
        return err_set(err, ERR_INVALID, "\"endpoint\" must be an address of a push service");
    if (!base64_decode(json_text(keys, "p256dh"), device->point, SEAL_POINT_BYTES, &n) || n != SEAL_POINT_BYTES ||
        !base64_decode(json_text(keys, "auth"), device->auth, SEAL_AUTH_BYTES, &n) || n != SEAL_AUTH_BYTES)
        return err_set(err, ERR_INVALID, "\"keys\" must have \"p256dh\" and \"auth\" as a browser gives them");
    device->endpoint = arena_str(arena, endpoint);
    device->label = arena_str(arena, label);
    device->person = arena_str(arena, json_text(json, "person"));
    device->token = arena_str(arena, json_text(json, "token"));
    return RC_OK;
}

static void write_device(struct json_out *out, const struct device *device)
{
    char text[BASE64_BYTES(SEAL_POINT_BYTES)];
    json_open(out, '{');
    json_members(out, J("person", device->person), J("token", device->token), J("label", device->label),
                 J("endpoint", device->endpoint));
    json_open_member(out, "keys", '{');
    base64_url_encode(device->point, SEAL_POINT_BYTES, text);
    json_member(out, "p256dh", str_of(text));
    base64_url_encode(device->auth, SEAL_AUTH_BYTES, text);
    json_member(out, "auth", str_of(text));
    json_close(out, '}');
    json_close(out, '}');
}

/* The whole file is replaced: a crash leaves the old one or the new one. */
static struct rc save(const struct devices *devices, struct err *err)
{
    JSON_SCOPE(buf, out, FILE_BYTES_MAX);
    json_open(&out, '{');
    JSON_LIST(&out, "devices")
        for (size_t i = 0; i < devices->count; i++)
            write_device(&out, &devices->items[i]);
    json_close(&out, '}');
    if (buf.over)
        return err_set(err, ERR_TOO_LARGE, "too many devices");
    return file_write_private(devices->file, buf_str(&buf), err);
}

/* A file that cannot be read is an error of the start; to go on without it would silently drop phones. So is the key
 * that they were given. */
struct rc devices_open(struct devices *devices, struct arena *arena, const char *folder, struct err *err)
{
    struct str text;
    const struct json *json;
    devices->arena = arena;
    devices->file = arena_printf(arena, "%s/devices.json", folder).p;
    devices->key_file = arena_printf(arena, "%s/push.key", folder).p;
    struct rc rc = file_read(arena, devices->file, FILE_BYTES_MAX, &text, err);
    if (rc.code == ERR_NOT_FOUND)
        return RC_OK;
    if (rc_ok(rc))
        rc = json_parse(arena, text, &json, err);
    const struct json *list = rc_ok(rc) ? json_get(json, "devices") : NULL, *one = list ? list->first : NULL;
    for (; one && rc_ok(rc) && devices->count < DEVICES_MAX; one = one->next)
        rc = read_device(arena, one, &devices->items[devices->count++], err);
    if (rc_bad(rc))
        return err_wrap(err, rc, "%s", devices->file);
    return devices->count ? devices_open_key(devices, err) : RC_OK;
}

/* The texts of a device that is replaced stay in the arena until the process ends; registrations are rare. */
struct rc devices_add(struct devices *devices, struct str person, struct str token, const struct json *body,
                      struct err *err)
{
    struct device device;
    TRY(read_device(devices->arena, body, &device, err));
    TRY(devices_open_key(devices, err));
    device.person = arena_str(devices->arena, person);
    device.token = arena_str(devices->arena, token);
    devices_remove(devices, device.endpoint, STR_NONE); /* a browser registers again at each visit */
    if (devices->count == DEVICES_MAX)
        return err_set(err, ERR_TOO_MANY, "there are %d devices already; remove one", DEVICES_MAX);
    devices->items[devices->count++] = device;
    return save(devices, err);
}

/* Removes a device. `token`: only if it belongs to this token; empty: any. */
bool devices_remove(struct devices *devices, struct str endpoint, struct str token)
{
    for (size_t i = 0; i < devices->count; i++) {
        if (!str_eq(devices->items[i].endpoint, endpoint) || (token.n && !str_eq(devices->items[i].token, token)))
            continue;
        devices->items[i] = devices->items[--devices->count];
        return rc_ok(save(devices, NULL));
    }
    return false;
}

size_t devices_of(const struct devices *devices, struct str person, struct device *ret_devices)
{
    size_t count = 0;
    for (size_t i = 0; i < devices->count; i++) {
        if (!str_eq(devices->items[i].person, person))
            continue;
        if (ret_devices)
            ret_devices[count] = devices->items[i];
        count++;
    }
    return count;
}
