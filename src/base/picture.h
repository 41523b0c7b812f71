/* Pictures that browsers show, known by their first bytes: PNG, JPEG, GIF, WebP. */
#ifndef BASE_PICTURE_H
#define BASE_PICTURE_H

#include "base/json.h"

struct picture {
    const char *type;        /* image/png */
    size_t bytes;
    unsigned width, height;  /* in pixels; 0: the header does not say */
};

/* Whether the bytes begin like a picture. */
bool picture_read(struct str bytes, struct picture *ret_picture);
/* Whether base64, alone or in a data: URL, decodes to a picture; `bytes` is the decoded length. */
bool picture_read_base64(struct str text, struct picture *ret_picture);
/* Whether such a text stands anywhere in the value. */
bool picture_inside(const struct json *value);

#endif
