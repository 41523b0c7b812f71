/* Recognizes answers over the Unix socket that come from a process below an agent, and refuses them (below.c);
 * private to api/. */
#ifndef API_BELOW_H
#define API_BELOW_H

#include "api/exchange.h"

struct below;

struct below *below_new(void);
void below_free(struct below *below); /* NULL is none */
/* Remembers the processes of agents; ERR_BELOW_AN_AGENT when one of their descendants acts with a person's token. */
struct rc below_check(struct exchange *x, struct err *err);

#endif
