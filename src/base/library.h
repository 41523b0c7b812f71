/* Libraries that only some commands need are opened when they are first used, so that other starts do not pay for
 * them. A caller lists the functions it wants once; the list declares the pointers and finds them:
 *
 *     #define QR_FUNCTIONS(X) X(QRcode_encodeString8bit) X(QRcode_free)
 *     static struct { QR_FUNCTIONS(LIBRARY_POINTER) } lib;
 *     static const struct library_function functions[] = {QR_FUNCTIONS(LIBRARY_FUNCTION)};
 *     const char *missing = library_load("libqrencode.so.4", functions, LIBRARY_COUNT(functions));
 *     lib.QRcode_free(code);
 *
 * A static build (NOD_STATIC, dev/static) has no loader: LIBRARY_FUNCTION takes functions that are linked in.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stddef.h>

struct library_function {
    const char *name;
    void *pointer; /* address of the function pointer that is set */
    void *linked;  /* the function itself in a static build; else NULL */
};

#define LIBRARY_POINTER(function) typeof(function) *function;
#define LIBRARY_COUNT(functions) (sizeof(functions) / sizeof *(functions))
#ifdef NOD_STATIC
#define LIBRARY_FUNCTION_OF(object, function) {#function, &object.function, (void *)(function)},
#else
#define LIBRARY_FUNCTION_OF(object, function) {#function, &object.function, NULL},
#endif
#define LIBRARY_FUNCTION(function) LIBRARY_FUNCTION_OF(lib, function)
/* For a library that no static build has. */
#define LIBRARY_FUNCTION_SHARED(function) {#function, &lib.function, NULL},

/* Fills in the pointers. Returns NULL, or the name of what is missing: the file, or a function. The library stays open
 * for the life of the process; callers see to it that only one thread loads it. */
const char *library_load(const char *file, const struct library_function *functions, size_t count);

#endif
