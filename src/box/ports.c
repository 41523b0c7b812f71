/* Listeners inside a box that lead out of it. They are made in its network namespace by its first process and handed to
 * the server by descriptor; nobody in the box keeps one, so a command can connect to them and nothing else. */
#include "box/inner.h"
#include "box/supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

static int hand_out(int listener, uint16_t port)
{
    struct iovec part = {.iov_base = &port, .iov_len = sizeof port};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &listener, sizeof listener);
    return sendmsg(SUPERVISOR_FD_NET, &message, MSG_NOSIGNAL) == sizeof port ? 0 : -1;
}

/* `port` is the host's port to which it leads; 0: the proxy. */
static int make_listener(uint16_t at, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(at),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    box_set_step("listen on port %u", at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    int failed = bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, BACKLOG) != 0 ||
                 hand_out(fd, port) != 0;
    int why = errno;
    (void)close(fd);
    errno = why;
    return failed ? -1 : 0;
}

int box_make_ports(const struct box *box)
{
    if (box->proxy && make_listener(BOX_PROXY_PORT, 0) != 0)
        return -1;
    for (size_t i = 0; i < BOX_PORTS_MAX && box->ports[i]; i++)
        if (make_listener(box->ports[i], box->ports[i]) != 0)
            return -1;
    (void)close(SUPERVISOR_FD_NET);
    return 0;
}
