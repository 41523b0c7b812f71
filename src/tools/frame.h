/* Frames between the server and the executor process (link.h); private to tools/. */
#ifndef TOOLS_FRAME_H
#define TOOLS_FRAME_H

#include "tools/tool.h"

enum { FRAME_BYTES_MAX = 6 * FILE_BYTES_MAX + (1 << 20), FRAME_DESCRIPTORS_MAX = 5, FRAME_QUESTION = 'h' };

struct frame {
    char letter;
    struct str text;
};

/* Blocking; false when the other side has gone, or sends more than a frame of its letter may have. */
bool frame_send(int fd, char letter, struct str text);
bool frame_read(int fd, struct arena *arena, struct frame *ret_frame);
/* One message of the connection itself. It does not block for long: a connection that is full counts as gone. */
bool frame_send_descriptors(int fd, char letter, const int *fds, size_t count);
/* Returns the number of descriptors, which are the caller's; -1: the connection has ended. */
int frame_read_descriptors(int fd, char *ret_letter, int ret_fds[FRAME_DESCRIPTORS_MAX]);

#endif
