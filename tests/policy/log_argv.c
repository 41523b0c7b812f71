/* Stands for every program in the differential test: writes down how it was called, and does nothing.
 * One record in the file $LOG_ARGV, in one write: $LOG_LINE, then argv, each behind its length. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char record[1 << 20];
    const char *path = getenv("LOG_ARGV"), *line = getenv("LOG_LINE");
    size_t n = 0;
    if (!path || !line)
        return 1;
    n += (size_t)snprintf(record, sizeof record, "%s %d", line, argc);
    for (int i = 0; i < argc && n + strlen(argv[i]) + 32 < sizeof record; i++)
        n += (size_t)snprintf(record + n, sizeof record - n, " %zu:%s", strlen(argv[i]), argv[i]);
    record[n++] = '\n';
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, record, n) != (ssize_t)n)
        return 1;
    /* One call in three fails, so that loops end and both ways of a condition are gone. By chance: process ids alone
     * come in step with a loop of three programs. */
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    unsigned mixed = (unsigned)getpid() * 2654435761u ^ (unsigned)now.tv_nsec * 2246822519u;
    return (mixed >> 13) % 3 == 0;
}
