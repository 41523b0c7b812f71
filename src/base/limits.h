/* The limits on sizes that come from outside. Each size is compared with its limit before anything is allocated. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stdbool.h>

enum {
    LIMIT_BODY_BYTES = 1 << 20,          /* body of a request */
    LIMIT_OPEN_BODY_BYTES = 4 << 10,     /* body of a request that needs no token */
    LIMIT_PRESS_BYTES = 32 << 10, /* body of a button press posted by a chat service, which contains the message */
    LIMIT_BODIES_BYTES = 128 << 20,      /* all bodies that are being read, on all connections together */
    LIMIT_LARGE_BODY_BYTES = 8 << 20,    /* body of hook and MCP routes, and with ?large=1 */
    LIMIT_HEADER_BYTES = 16 << 10,       /* request line and header block */
    LIMIT_HEADERS = 64,                  /* header fields of a request */
    LIMIT_JSON_DEPTH = 128,
    LIMIT_JSON_VALUES = 100000,          /* values in a JSON text from outside */
    LIMIT_HOST_BYTES = 253,              /* the name of a machine in a URL */
    LIMIT_GIVEN_DEPTH = 112,             /* nesting of input from outside; leaves 16 levels for our own wrapping */
    LIMIT_ID_BYTES = 128,                /* a call's id, a token's name */
    LIMIT_NAME_BYTES = 256,              /* a tool's name */
    LIMIT_TITLE_BYTES = 1024,
    LIMIT_PATH_BYTES = 4096,
    LIMIT_FEEDBACK_BYTES = 64 << 10,
    LIMIT_TOOL_POLICIES = 1000,          /* in one session */
    LIMIT_WAIT_SECONDS = 600,
    LIMIT_TIMEOUT_SECONDS = 366 * 86400,
    LIMIT_PAGE_EVENTS = 1000,            /* in one JSON page */
    LIMIT_PAGE_CALLS = 200,              /* calls in a list of waiting ones, unless the query asks for more */
    LIMIT_SHOWN_BYTES = 2 << 10,         /* an input or a preview in that list */
    LIMIT_STREAM_QUEUE_BYTES = 2 << 20,  /* bytes queued for a slow reader; with more it is disconnected */
    LIMIT_EVENT_BYTES = (16 << 20) + 8192,/* one event as text: input and edited input fit */
    LIMIT_ANSWER_BYTES = 64 << 20,       /* one response body */
    LIMIT_CONNECTIONS = 20000,
    LIMIT_STRANGERS = 512,               /* connections on which no token was presented yet */
    LIMIT_STRANGERS_PER_ADDRESS = 128,
    LIMIT_STRANGERS_BYTES = 8 << 20,     /* unread responses of those connections */
    LIMIT_ANSWERS_BYTES = 128 << 20,     /* unread responses of all connections */
    LIMIT_RESERVED_FILES = 64,           /* descriptors that TCP connections leave to the rest */
    LIMIT_GROUP_APPENDS = 4096,          /* committed as one group */
    LIMIT_GROUP_BYTES = 16 << 20,        /* event data in one group */
    LIMIT_COMMAND_BYTES = 64 << 10,      /* a shell command that rules look at; a longer one is asked about */
    LIMIT_SHELL_DEPTH = 32,              /* nesting of groups and substitutions in a command */
    LIMIT_SHELL_WORDS = 8192,
    LIMIT_SHELL_PARTS = 1024,            /* simple commands in a command line */
    LIMIT_RULE_BYTES = 4096,
    LIMIT_RULE_WORDS = 64,
    LIMIT_RULES = 100000,                /* in one set */
    LIMIT_PEOPLE = 8,                    /* persons that one call may require */
    LIMIT_HITS_EVENTS = 100000,          /* events scanned after the start for uses of rules */
    LIMIT_READ_BYTES = 1 << 20,          /* event data in one page; a stream's queue holds a page and more */
};

/* Ports on which Nod itself listens, without TLS and with it; 0: none. No agent is led there unasked. */
enum { OWN_PORTS_MAX = 2 };

static inline bool is_own_port(const int ports[OWN_PORTS_MAX], int port)
{
    return port && (port == ports[0] || port == ports[1]);
}

#endif
