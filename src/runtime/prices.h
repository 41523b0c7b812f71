/* Money; private to runtime/. */
#ifndef RUNTIME_PRICES_H
#define RUNTIME_PRICES_H

#include "runtime/runtime.h"

/* What these tokens of one answer cost at today's prices. */
void price_usage(const struct runtime_options *options, struct str model, struct run_usage *usage);
/* "costUsd", when it is known; exact to a billionth of a dollar. */
void cost_write(struct json_out *out, const struct run_usage *usage);
/* The same, read from a usage that was kept. One without it is unknown. */
void cost_read(const struct json *usage, struct run_usage *ret_usage);

#endif
