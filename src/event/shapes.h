/* The shapes of all events. */
#ifndef EVENT_SHAPES_H
#define EVENT_SHAPES_H

#include "event/shapes_call.h"
#include "event/shapes_run.h"
#include "event/shapes_session.h"

#define SHAPES(S)   \
    CALL_SHAPES(S)  \
    SESSION_SHAPES(S) \
    RUN_SHAPES(S)

#endif
