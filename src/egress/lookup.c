/* Names resolved with a time limit: getaddrinfo runs in a thread of its own, which is left behind when it takes
 * too long. */
#include "egress/inner.h"

#include "io/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Shared by whoever asks and the thread that looks: the last of the two frees it. */
struct lookup {
    pthread_mutex_t lock;
    pthread_cond_t came;
    unsigned holders;
    bool done;
    int failed; /* error code of getaddrinfo */
    struct sockaddr_storage address;
    socklen_t bytes;
    char host[EGRESS_HOST_BYTES];
};

static void lookup_leave(struct lookup *lookup)
{
    bool last = --lookup->holders == 0;
    CHECK(pthread_mutex_unlock(&lookup->lock) == 0);
    if (!last)
        return;
    CHECK(pthread_mutex_destroy(&lookup->lock) == 0);
    CHECK(pthread_cond_destroy(&lookup->came) == 0);
    free(lookup);
}

static void *look(void *arg)
{
    struct lookup *lookup = arg;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = getaddrinfo(lookup->host, NULL, &hints, &found);
    CHECK(pthread_mutex_lock(&lookup->lock) == 0);
    lookup->failed = failed;
    if (!failed && found && found->ai_addrlen <= sizeof lookup->address) {
        memcpy(&lookup->address, found->ai_addr, found->ai_addrlen);
        lookup->bytes = found->ai_addrlen;
    }
    lookup->done = true;
    CHECK(pthread_cond_signal(&lookup->came) == 0);
    if (found)
        freeaddrinfo(found);
    lookup_leave(lookup);
    return NULL;
}

static struct lookup *begin(const char *host)
{
    struct lookup *lookup = heap_new(sizeof *lookup);
    pthread_condattr_t steady;
    pthread_attr_t attributes;
    pthread_t thread;
    (void)snprintf(lookup->host, sizeof lookup->host, "%s", host);
    CHECK(pthread_condattr_init(&steady) == 0);
    CHECK(pthread_condattr_setclock(&steady, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_mutex_init(&lookup->lock, NULL) == 0);
    CHECK(pthread_cond_init(&lookup->came, &steady) == 0);
    CHECK(pthread_condattr_destroy(&steady) == 0);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, LINE_STACK_BYTES) == 0);
    lookup->holders = 2;
    if (pthread_create(&thread, &attributes, look, lookup) != 0) {
        lookup->holders = 1;
        lookup->done = true;
        lookup->failed = EAI_AGAIN;
    }
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return lookup;
}

static void wait_for(struct lookup *lookup, int ms, const atomic_bool *ended)
{
    int64_t until_us = clock_steady_us() + (int64_t)ms * 1000;
    while (!lookup->done && !atomic_load(ended) && clock_steady_us() < until_us) {
        struct timespec slice;
        CHECK(clock_gettime(CLOCK_MONOTONIC, &slice) == 0);
        slice.tv_nsec += LOOK_MS * 1000000L;
        slice.tv_sec += slice.tv_nsec / 1000000000;
        slice.tv_nsec %= 1000000000;
        int failed = pthread_cond_timedwait(&lookup->came, &lookup->lock, &slice);
        CHECK(failed == 0 || failed == ETIMEDOUT);
    }
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
    if (address->ss_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
}

socklen_t lookup_host(const char *host, uint16_t port, int ms, const atomic_bool *ended,
                      struct sockaddr_storage *ret_address, char *ret_why, size_t why_bytes)
{
    struct lookup *lookup = begin(host);
    CHECK(pthread_mutex_lock(&lookup->lock) == 0);
    wait_for(lookup, ms, ended);
    *ret_address = lookup->address;
    socklen_t bytes = lookup->done && !lookup->failed ? lookup->bytes : 0;
    if (bytes && ret_address->ss_family != AF_INET && ret_address->ss_family != AF_INET6)
        bytes = 0;
    if (bytes)
        set_port(ret_address, port);
    else
        (void)snprintf(ret_why, why_bytes, "%s cannot be resolved: %s", host,
                       lookup->done ? gai_strerror(lookup->failed) : "no answer in time");
    lookup_leave(lookup);
    return bytes;
}
