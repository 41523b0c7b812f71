/* Channels, routes, deliveries; private to notify/. */
#ifndef NOTIFY_INNER_H
#define NOTIFY_INNER_H

#include "base/digest.h"
#include "http/http.h"
#include "notify/devices.h"
#include "notify/notify.h"
#include "notify/zone.h"

#include <stdatomic.h>

enum {
    CHANNELS_MAX = 16,
    ROUTES_MAX = 64,
    STEPS_MAX = 8,
    QUIETS_MAX = 4,
    USERS_MAX = 8,
    DELIVERY_ID_BYTES = 33, /* 32 hex digits */
    ANSWER_TOKEN_BYTES = 64,
    PUSH = 0, CALLBACK = 1, /* the first channels: config.c */
};

/* How much of a call a channel may say. */
enum detail {
    DETAIL_KIND,    /* "Run a command" */
    DETAIL_SUMMARY, /* the command's or the path's beginning, secrets masked */
    DETAIL_FULL,    /* the whole call */
};

enum purpose { PURPOSE_ASK, PURPOSE_REMIND, PURPOSE_WITHDRAW, PURPOSE_TEST, PURPOSE_CALLBACK, PURPOSE_ESCALATE,
               PURPOSE_ALERT, PURPOSE_ASSIGN };
static inline bool purpose_asks(enum purpose purpose)
{
    return (1u << PURPOSE_ASK | 1u << PURPOSE_REMIND | 1u << PURPOSE_ESCALATE | 1u << PURPOSE_ASSIGN) >> purpose & 1;
}
const char *purpose_name(enum purpose purpose);

struct channel {
    struct str name;
    const struct channel_kind *kind;
    enum detail detail;
    const char *url;
    struct str secret;      /* webhook: key; ntfy: access token */
    struct str topic;       /* ntfy: topic; chats: where to; email: to whom */
    struct str from;        /* email */
    struct str signing;     /* slack: secret that signs the presses posted to us */
    struct str app;         /* slack: token with which presses are fetched (Socket Mode); without both: no buttons */
    struct str users[USERS_MAX]; /* slack: ids of the users whose button presses count */
    unsigned user_count;
    bool is_protected;      /* only the person can read messages on this channel */
    bool cloudevents;       /* webhook: CloudEvents instead of Standard Webhooks' own form */
    char **command;         /* NULL after the last word */
    struct timer *poll_timer; /* NULL: the service is not polled for button presses */
    /* results of its deliveries, for people */
    uint64_t sent, failed;
    struct err last, last_poll; /* the last message, the last request for presses */
};

struct outbox_step {
    int64_t after_ms;
    unsigned channels[CHANNELS_MAX], count;
};

/* Minutes of the day; `to` may be on the next day. */
struct quiet {
    int from, to;
};

/* A filter: the calls of which a person is told. */
struct only {
    struct str tool, agent; /* empty: every one */
    const char *session;    /* a pattern of its title, for fnmatch(3); NULL: every one */
    bool risky;             /* only risky calls */
};

/* Which person is told of which calls, and when. */
struct outbox_route {
    struct str person;
    struct only only;
    struct quiet quiet[QUIETS_MAX];
    unsigned quiet_count;
    const struct zone *zone; /* of the quiet hours; NULL: the server's clock */
    unsigned instead_of;    /* if this is an escalation: the route whose person did not answer; else 0 */
    bool has_escalation;
    struct outbox_step steps[STEPS_MAX];
    unsigned count;
    int64_t next_ms[CHANNELS_MAX]; /* coalescing: no message before this time */
};

/* The hosts to which answers may be posted. */
enum { HOSTS_MAX = 16 };
struct callbacks {
    struct str hosts[HOSTS_MAX]; /* "jobs.example", "jobs.example:8443", or "public" for every public one */
    size_t count;            /* 0: none */
    bool private_net;        /* also on this machine and in the networks around it, and without TLS */
};

struct config {
    struct callbacks callbacks;
    struct channel channels[CHANNELS_MAX];
    unsigned channel_count;
    struct outbox_route routes[ROUTES_MAX];
    unsigned route_count;
    int64_t answers_ms;     /* buttons and links are good for so long at most; 0: as usual */
    int64_t lease_ms;       /* a claim holds so long; an attempt ends within two thirds of it */
};

/* config.c */
struct rc config_read(struct arena *arena, const char *file, struct config *ret_config, struct err *err);
void config_add_person(struct config *config, struct str person);

/* ---- plan.c: pure ---- */
/* A message that is planned for one request, one person, one channel, one step. */
struct outbox_plan {
    char id[DELIVERY_ID_BYTES];
    unsigned channel, route;
    enum purpose purpose;
    int64_t due_ms;
    bool by_name;           /* it is for this person, whatever the filters of the route say */
};
enum { PLANS_MAX = 64 };
/* A request, as its event has it. */
struct plan_call {
    struct str session, call, tool, agent;
    int64_t at_ms, deadline_ms; /* 0: none */
    bool routine;               /* not risky */
};
size_t plan_request(const struct config *config, const struct plan_call *call, struct outbox_plan ret_plans[PLANS_MAX]);
/* An alert: on every channel of the person at once, whatever filters and quiet hours say. */
size_t plan_alert(const struct config *config, struct str person, bool has_devices, struct str about, int64_t at_ms,
                  struct outbox_plan ret_plans[PLANS_MAX]);
/* The id of a delivery: equal in every process and after every restart. */
void plan_id(struct str session, struct str call, struct str person, struct str channel, unsigned step,
             enum purpose purpose, char ret_id[DELIVERY_ID_BYTES]);
/* How long to wait before attempt number `attempt` (from 1); -1: no more. */
int64_t plan_retry_ms(unsigned attempt, bool asks);

/* ---- words.c: pure ---- */
struct message {
    enum purpose purpose;
    struct str delivery, person, session, call, tool;
    struct str title, body;
    struct str decision, actor; /* withdraw, callback: the answer */
    struct str base, url;   /* where people reach Nod, and this call there; empty: not known */
    struct str look;        /* a link to look at the call and deny it, without a login; empty: none */
    uint64_t waiting;       /* calls that wait for people now */
    struct str pending;     /* webhook, command: words_pending; empty: none */
    struct str deny, allow; /* answer tokens; empty: not offered */
    unsigned count;         /* calls it stands for */
    int64_t at_ms;
};
/* Fills in title and body, from a waiting call as gate_write_listed has it. Says whether all of it was shown. */
bool words_describe(struct arena *arena, const struct json *pending, enum detail detail, struct message *message);
/* The text with what looks like a secret replaced by stars. */
struct str words_mask(struct arena *arena, struct str text);
/* Writes "type","sessionId","requestId","tool": what programs need to find the call. */
void words_payload_ids(struct json_out *out, const struct message *message);
/* The ids of a message (type, tool, session, request) as one line, for channels that carry only text. */
struct str words_ids_line(struct arena *arena, const struct message *message);
/* The ids and the text for people: the payload of channels that carry JSON. */
void words_payload(struct json_out *out, const struct message *message);
/* The page's address of a call. */
struct str words_link(struct arena *arena, struct str base, struct str session, struct str call);

#include "notify/channels.h"

/* ---- tokens.c ---- */
struct answer_claims {
    char delivery[DELIVERY_ID_BYTES];
    bool allow;
    int64_t until_s;
};
/* `bound` is what it must not be good for otherwise: the call's digest and the person. */
void token_make(const struct digest *key, const struct answer_claims *claims, struct str bound,
                char ret_token[ANSWER_TOKEN_BYTES]);
bool token_read_claims(struct str token, struct answer_claims *ret_claims);
bool token_right(const struct digest *key, struct str token, struct str bound);

#endif
