/* Frames over a Unix socket between server and executor (frame.h): a letter, a length, bytes; descriptors
 * beside them. */
#include "tools/frame.h"

#include <errno.h>
#include <sys/socket.h>

enum { HEAD_BYTES = 5 };

/* Blocks at most as long as the socket's own timeout; an error or a timeout ends the conversation. */
static bool send_all(int fd, const void *bytes, size_t n)
{
    for (size_t put = 0; put < n;) {
        ssize_t sent = send(fd, (const char *)bytes + put, n - put, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        put += sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t n)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = recv(fd, (char *)bytes + have, n - have, 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

bool frame_send(int fd, char letter, struct str text)
{
    uint32_t n = (uint32_t)text.n;
    char head[HEAD_BYTES] = {letter};
    if (text.n > FRAME_BYTES_MAX)
        return false;
    memcpy(head + 1, &n, sizeof n); /* in this machine's byte order: both ends run on it */
    return send_all(fd, head, sizeof head) && send_all(fd, text.p, text.n);
}

/* The other side is not trusted: the length meets its limit before memory is taken for it. */
bool frame_read(int fd, struct arena *arena, struct frame *ret_frame)
{
    uint32_t n;
    char head[HEAD_BYTES];
    if (!read_all(fd, head, sizeof head))
        return false;
    memcpy(&n, head + 1, sizeof n);
    if (n > (head[0] == FRAME_QUESTION ? LIMIT_PATH_BYTES : FRAME_BYTES_MAX))
        return false;
    char *bytes = arena_bytes(arena, n);
    *ret_frame = (struct frame){head[0], {bytes, n}};
    return read_all(fd, bytes, n);
}

/* One byte with descriptors beside it; never blocks. */
bool frame_send_descriptors(int fd, char letter, const int *fds, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * FRAME_DESCRIPTORS_MAX)];
    } control = {0};
    struct iovec piece = {&letter, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    CHECK(count > 0 && count <= FRAME_DESCRIPTORS_MAX);
    control.head = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
                                    .cmsg_len = CMSG_LEN(sizeof(int) * count)};
    memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * count);
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Returns how many descriptors came, -1 at the end of the connection. The caller owns them; they are closed on exec.
 */
int frame_read_descriptors(int fd, char *ret_letter, int ret_fds[FRAME_DESCRIPTORS_MAX])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * FRAME_DESCRIPTORS_MAX)];
    } control;
    struct iovec piece = {ret_letter, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do {
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const struct cmsghdr *head = got == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (got != 1)
        return -1;
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(ret_fds, CMSG_DATA(head), count * sizeof(int));
    return (int)count;
}
