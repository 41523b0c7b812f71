/* Money; private to runtime/. */
#ifndef RUNTIME_PRICES_H
#define RUNTIME_PRICES_H

#include "event/shapes.h"
#include "runtime/runtime.h"

/* The cost of one answer's tokens at today's prices. */
void price_usage(const struct runtime_options *options, struct str model, struct run_usage *usage);
/* The usage as events hold it; the cost, when it is known, is exact to a billionth of a dollar. */
struct data_usage prices_usage_data(struct arena *arena, const struct run_usage *usage);
/* The usage from an event's data; NULL, or data without a cost, gives an unknown cost. */
struct run_usage prices_read_usage(const struct data_usage *data);

#endif
