/* People who are not looking are told that a call waits: by webhook, by a command, on a phone.
 *
 * The outbox has no table of its own. It follows requests, answers and deliveries from the log and computes from them,
 * the routes and the clock which deliveries are due; a delivery that has ended is an event. So a killed process
 * knows after its start what it had sent, and sends the rest: a message arrives at least once, always under the same
 * delivery id. Sending blocks and is done by threads of its own; a receiver that hangs delays no decision.
 * Without a file of channels (notify.json) and without a browser that wants messages nothing is followed or sent.
 *
 * Everything here runs on the loop, but for `send` and `poll` of channels, which block in threads.
 */
#ifndef NOTIFY_NOTIFY_H
#define NOTIFY_NOTIFY_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/str.h"
#include "gate/gate.h"

struct loop;
struct notify;

struct notify_options {
    struct loop *loop;
    struct gate *gate;       /* must outlive it */
    const char *file;        /* notify.json; need not exist */
    const char *folder;      /* the data folder: devices and the key of push messages */
    bool private_net;        /* push services may be on this machine or in the networks around it */
    /* A valid token of this person that may decide in the session; NULL: there is none. */
    const struct token *(*find_person)(const struct gate *gate, struct str person, struct str session);
    /* The person had tokens, and all of them were revoked. */
    bool (*was_revoked)(const struct gate *gate, struct str person);
    const char *public_url;  /* where people reach the page; NULL: messages have no link */
};

/* A file with a mistake is an error that names it. */
struct rc notify_open(const struct notify_options *options, struct notify **ret_notify, struct err *err);
/* Starts sending; call it when the gate has recovered. */
void notify_start(struct notify *notify);
/* Stops sending and frees everything; a message that is being sent is left to its thread. */
void notify_close(struct notify *notify);

/* ---- devices: browsers that want push messages ---- */
enum { NOTIFY_KEY_BYTES = 88 };
/* The server's public key, in base64 for URLs, as browsers want it when they subscribe. */
struct rc notify_push_key(struct notify *notify, char ret_key[NOTIFY_KEY_BYTES], struct err *err);
/* `body` is a subscription as browsers write it: {"endpoint","keys":{"p256dh","auth"},"label"?}. */
struct rc notify_add_device(struct notify *notify, struct str person, struct str token, const struct json *body,
                            struct err *err);
bool notify_remove_device(struct notify *notify, struct str token, struct str endpoint);

/* ---- for people who set it up ---- */
/* [{"name","type","detail","sent","failed","lastError"}] */
void notify_write_channels(const struct notify *notify, struct json_out *out);
/* Figures for Prometheus. */
void notify_write_metrics(const struct notify *notify, struct buf *out);
/* Deliveries of calls that wait, and the last ones that have ended. */
void notify_write_deliveries(const struct notify *notify, struct json_out *out, struct str call);

struct notify_test {
    struct op op;            /* op.err: NULL: it was taken */
    struct str channel, person;
    long status;             /* HTTP status of the receiver; 0: no response */
};
/* Sends a message that names itself a test; ERR_NOT_FOUND when there is no such channel. */
void notify_test_channel(struct notify *notify, struct notify_test *test);

/* The person is looking at a waiting call: messages to them about it are delayed, unless the call is risky. */
void notify_seen(struct notify *notify, struct str person, struct str session, struct str call);

/* ---- callbacks: programs that sleep while their call waits ---- */
/* Whether an answer may be posted there; an error says why not. */
struct rc notify_check_callback(const struct notify *notify, struct str url, struct err *err);
/* The key that callbacks to this agent are signed with, in the form of Standard Webhooks. */
enum { NOTIFY_SECRET_BYTES = 64 };
void notify_callback_secret(const struct notify *notify, struct str agent, char ret_secret[NOTIFY_SECRET_BYTES]);

/* ---- answers that come back ---- */
struct notify_answer {
    struct str session, call, person; /* lent until the next event */
    bool allow;
    bool answered;           /* somebody was faster, or this is a repeat */
};
/* The answer that a token stands for. ERR_FORBIDDEN when it is forged, ERR_GONE when it is too old or its call was
 * answered long ago. */
struct rc notify_read_token(struct notify *notify, struct str token, struct notify_answer *ret_answer, struct err *err);

/* Like notify_read_token, and finds the person's token; ERR_GONE when the person may not answer any more. */
struct rc notify_find_person(struct notify *notify, struct str token, struct notify_answer *ret_answer,
                             const struct token **ret_person, struct err *err);

/* A press of a button, as a chat's service posts it: a form with the member `payload`. */
struct notify_press {
    struct str channel;
    struct str timestamp, signature; /* headers of the request */
    struct str body, payload;        /* the raw body, and its decoded member `payload` */
};
/* The answer token of a press. ERR_FORBIDDEN when it is not from the service, or of somebody who may not press. */
struct rc notify_read_press(const struct notify *notify, struct arena *arena, const struct notify_press *press,
                            struct str *ret_token, struct err *err);

/* Decides with an answer token. Repeating the decision that was made is not an error. */
struct notify_taking {
    struct op op;
    struct str token, feedback;
    struct decide decide;    /* afterwards: what was decided, or the winner */
    struct notify *notify;   /* notify_take's */
};
void notify_take(struct notify *notify, struct notify_taking *taking);

#endif
