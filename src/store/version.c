#include "store/version.h"

#include "event/event.h"

enum { STEP = 1000, KINDS_BEFORE = 25 };

_Static_assert((int)EVENT_KIND_END <= STEP, "the highest kind is the lower part of a version's number");

struct version version_of_steps(int64_t steps) { return (struct version){steps, EVENT_KIND_END - 1}; }

int64_t version_number(struct version version) { return version.steps * STEP + version.kinds; }

struct version version_read(int64_t number)
{
    if (number <= 0)
        return (struct version){0};
    if (number < STEP)
        return (struct version){number, KINDS_BEFORE};
    return (struct version){number / STEP, number % STEP};
}

#define VERSION_WORDS "version %lld with events of kinds up to %lld"
#define VERSION_ARGS(version) (long long)(version).steps, (long long)(version).kinds

struct rc version_check(const char *place, int64_t number, struct version known, struct version *ret_version,
                        struct err *err)
{
    *ret_version = version_read(number);
    if (ret_version->steps == 0)
        return err_set(err, ERR_CORRUPT, "%s does not say which version it has: restore a backup", place);
    if (ret_version->steps > known.steps || ret_version->kinds > known.kinds)
        return err_set(err, ERR_CORRUPT, "%s has " VERSION_WORDS ", this nod knows " VERSION_WORDS ": use a newer nod",
                       place, VERSION_ARGS(*ret_version), VERSION_ARGS(known));
    return RC_OK;
}

struct rc version_outdated(const char *place, int64_t number, struct version known, struct err *err)
{
    struct version is = version_read(number);
    return err_set(err, ERR_OUTDATED, "%s has " VERSION_WORDS " now, this node knows " VERSION_WORDS
                   ": install a newer nod", place, VERSION_ARGS(is), VERSION_ARGS(known));
}
