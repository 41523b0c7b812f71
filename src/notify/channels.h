/* The interface of channels: one attempt to send a message. A part of inner.h. */
#ifndef NOTIFY_CHANNELS_H
#define NOTIFY_CHANNELS_H

#include "notify/inner.h"

/* One attempt to send a message, in a thread of the pool. */
struct sending {
    struct arena *arena;
    const struct channel *channel;
    const struct message *message;
    struct fetch_line *line;
    const char *url;        /* where to, if not the channel's */
    int64_t seconds_max;    /* for the whole attempt */
    bool guarded;           /* the address does not come from Nod's configuration: private ones need `private_net` */
    bool private_net;       /* addresses of this machine and the networks around it may be reached */
    /* push: */
    struct device *devices;
    size_t device_count;
    const struct seal_key *key;
    struct str contact;     /* contact address for the push service */
    const char *method;     /* NULL: POST */
    const atomic_bool *cancelled; /* may be NULL */
    struct str *externals;  /* withdraw: the receiver's ids of the messages about this call */
    size_t external_count;
    struct str external;    /* the receiver's id of this message; empty: none */
    struct str answer;      /* the receiver's response body */
    long status;            /* the receiver's HTTP status; 0: no response */
    int64_t retry_after_ms; /* -1: the receiver gave none */
    bool final;             /* an error for which a retry is useless */
};

/* Presses of buttons that a channel fetches from its service: in a thread, again and again. */
struct polling {
    struct sending sending;
    int64_t cursor;         /* the channel's: where to go on */
    struct dial *dial;      /* the channel's: a connection that stays between polls; closed when one fails */
    void *arg;              /* answer.c's */
};
/* Called by `poll`: decides with an answer token; returns the text to show to the person who pressed. */
struct str polling_answer(struct polling *polling, struct str token);

/* A way to reach people: one file each. */
struct channel_kind {
    const char *name;
    bool built_in;          /* there without an entry in the file */
    bool coalesces;         /* several calls become one message, and messages keep a distance */
    int64_t distance_ms;    /* which; 0: 30 seconds */
    bool withdraws;         /* takes back or replaces what it has sent */
    bool carries_answers;   /* buttons with answer tokens */
    enum detail detail;     /* the default, unless the configuration says otherwise */
    struct rc (*check)(const struct channel *channel, struct err *err);
    struct rc (*send)(struct sending *sending, struct err *err);
    struct rc (*poll)(struct polling *polling, struct err *err); /* NULL: nothing comes back by itself */
    bool polls_with_app;    /* only a channel with an `app` is polled */
    /* Reads a button press that the service posts: checks that it is genuine, who pressed, and the answer token. NULL:
     * the service posts none. */
    struct rc (*read_press)(struct arena *arena, const struct channel *channel, const struct notify_press *press,
                            struct str *ret_token, struct err *err);
};
const struct channel_kind *channel_kind(struct str name);
/* "webhook, command, …": those that an entry of the file may have. */
struct str channel_kinds_words(struct arena *arena);
/* A number of a JSON object. */
int64_t channel_number(const struct json *object, const char *key, int64_t otherwise);
/* A POST; RC_OK when the receiver took it (2xx). Fills in status, retry_after_ms and final. */
struct rc channel_post(struct sending *sending, const char *const *headers, struct str body, struct err *err);

#endif
