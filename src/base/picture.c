/* The kind and size of a picture from its first bytes: PNG, JPEG, GIF, WebP. Nothing is decoded beyond the
 * head. */
#include "base/picture.h"

#include "base/base64.h"

enum {
    HEAD_BYTES_MAX = 32 << 10, /* decoded to find the size of a JPEG, which stands behind its profile */
    HEAD_BYTES_MIN = 32,
};

static unsigned byte_at(struct str b, size_t i) { return i < b.n ? (unsigned char)b.p[i] : 0; }
static unsigned big(struct str b, size_t i) { return byte_at(b, i) << 8 | byte_at(b, i + 1); }
static unsigned little(struct str b, size_t i) { return byte_at(b, i + 1) << 8 | byte_at(b, i); }

static void read_png(struct str b, struct picture *picture)
{
    picture->width = big(b, 16) << 16 | big(b, 18);
    picture->height = big(b, 20) << 16 | big(b, 22);
}

static void read_gif(struct str b, struct picture *picture)
{
    picture->width = little(b, 6);
    picture->height = little(b, 8);
}

/* Segments until the one that begins a frame. */
static void read_jpeg(struct str b, struct picture *picture)
{
    for (size_t at = 2; at + 9 <= b.n && byte_at(b, at) == 0xff; at += 2 + big(b, at + 2)) {
        unsigned kind = byte_at(b, at + 1);
        if (kind < 0xc0 || kind > 0xcf || kind == 0xc4 || kind == 0xc8 || kind == 0xcc)
            continue;
        picture->height = big(b, at + 5);
        picture->width = big(b, at + 7);
        return;
    }
}

static void read_webp(struct str b, struct picture *picture)
{
    struct str kind = str_sub(b, 12, 16);
    if (str_is(kind, "VP8X")) {
        picture->width = (little(b, 24) | byte_at(b, 26) << 16) + 1;
        picture->height = (little(b, 27) | byte_at(b, 29) << 16) + 1;
    } else if (str_is(kind, "VP8 ")) {
        picture->width = little(b, 26) & 0x3fff;
        picture->height = little(b, 28) & 0x3fff;
    } else if (str_is(kind, "VP8L")) {
        unsigned bits = little(b, 21) | little(b, 23) << 16;
        picture->width = (bits & 0x3fff) + 1;
        picture->height = (bits >> 14 & 0x3fff) + 1;
    }
}

static const struct {
    const char *type;
    struct str magic;
    size_t at;
    void (*read)(struct str bytes, struct picture *picture);
} kinds[] = {
    {"image/png", {"\x89PNG\r\n\x1a\n", 8}, 0, read_png},
    {"image/jpeg", {"\xff\xd8\xff", 3}, 0, read_jpeg},
    {"image/gif", {"GIF8", 4}, 0, read_gif},
    {"image/webp", {"WEBP", 4}, 8, read_webp},
};

bool picture_read(struct str bytes, struct picture *ret_picture)
{
    for (size_t i = 0; bytes.n >= HEAD_BYTES_MIN && i < sizeof kinds / sizeof *kinds; i++) {
        if (!str_starts(str_sub(bytes, kinds[i].at, bytes.n), kinds[i].magic))
            continue;
        *ret_picture = (struct picture){.type = kinds[i].type, .bytes = bytes.n};
        kinds[i].read(bytes, ret_picture);
        return true;
    }
    return false;
}

/* Whether all of it is base64: no words of anyone hide behind the head of a picture. */
static bool all_base64(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return true;
}

/* Only the head is decoded; the number of bytes is computed from the length of the text. */
bool picture_read_base64(struct str text, struct picture *ret_picture)
{
    unsigned char head[HEAD_BYTES_MAX];
    size_t n;
    if (str_starts(text, STR("data:image/"))) {
        size_t comma = str_find(text, ',');
        text = str_sub(text, comma + (comma < text.n), text.n);
    }
    while (text.n && text.p[text.n - 1] == '=')
        text.n--;
    struct str first = str_sub(text, 0, text.n < HEAD_BYTES_MAX ? text.n : HEAD_BYTES_MAX); /* a multiple of 4 */
    /* The first letters tell pictures from other texts before anything is decoded. */
    if (!str_starts(text, STR("iVBORw0KGgo")) && !str_starts(text, STR("/9j/")) && !str_starts(text, STR("R0lGOD")) &&
        !str_starts(text, STR("UklGR")))
        return false;
    if (!all_base64(text) || !base64_decode(first, head, sizeof head, &n) ||
        !picture_read((struct str){(char *)head, n}, ret_picture))
        return false;
    ret_picture->bytes = text.n * 3 / 4;
    return true;
}

bool picture_inside(const struct json *value)
{
    struct picture picture;
    bool found = value->type == JSON_STRING && picture_read_base64(value->text, &picture);
    bool nested = value->type == JSON_OBJECT || value->type == JSON_ARRAY; /* the reader has bounded the depth */
    for (const struct json *part = nested ? value->first : NULL; part && !found; part = part->next)
        found = picture_inside(part);
    return found;
}
