/* Times as text, RFC 3339 in UTC with milliseconds, and back. */
#include "base/stamp.h"

/* Days since 1970-01-01 of a date of the Gregorian calendar, and back (Hinnant's method). */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    unsigned yoe = (unsigned)(year - era * 400);
    unsigned doy = (153 * (month + (month > 2 ? -3u : 9u)) + 2) / 5 + day - 1;
    unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int64_t)doe - 719468;
}

static void date_of(int64_t days, int *year, unsigned *month, unsigned *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned doe = (unsigned)(days - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;
    *day = doy - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = (int)((int64_t)yoe + era * 400 + (*month <= 2));
}

/* The first and last millisecond with a year of four digits. */
static const int64_t first_ms = -62167219200000, last_ms = 253402300799999;

/* Written by hand because it is called for every event and every log line. */
static char *put_digits(char *to, unsigned value, int count, char behind)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    to[count] = behind;
    return to + count + 1;
}

void stamp_format(int64_t at_ms, char out[STAMP_BYTES])
{
    int64_t day_ms = 86400000;
    at_ms = at_ms < first_ms ? first_ms : at_ms > last_ms ? last_ms : at_ms;
    int64_t days = at_ms / day_ms - (at_ms % day_ms < 0);
    unsigned ms = (unsigned)(at_ms - days * day_ms);
    int year;
    unsigned month, day;
    date_of(days, &year, &month, &day);
    char *to = put_digits(out, (unsigned)year, 4, '-');
    to = put_digits(to, month, 2, '-');
    to = put_digits(to, day, 2, 'T');
    to = put_digits(to, ms / 3600000, 2, ':');
    to = put_digits(to, ms / 60000 % 60, 2, ':');
    to = put_digits(to, ms / 1000 % 60, 2, '.');
    to = put_digits(to, ms % 1000, 3, 'Z');
    *to = '\0';
}

static bool digits(struct str *text, unsigned count, unsigned *ret_value)
{
    uint64_t value;
    if (text->n < count || !str_to_u64(str_sub(*text, 0, count), &value))
        return false;
    *text = str_sub(*text, count, text->n);
    *ret_value = (unsigned)value;
    return true;
}

static bool literal(struct str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = str_sub(*text, 1, text->n);
    return true;
}

static unsigned days_in(unsigned year, unsigned month)
{
    int64_t next = month == 12 ? days_of(year + 1, 1, 1) : days_of(year, month + 1, 1);
    return (unsigned)(next - days_of(year, month, 1));
}

bool stamp_parse(struct str text, int64_t *ret_at_ms)
{
    unsigned year, month, day, hour, minute, second, ms = 0;
    if (!digits(&text, 4, &year) || !literal(&text, '-') || !digits(&text, 2, &month) ||
        !literal(&text, '-') || !digits(&text, 2, &day) || !literal(&text, 'T') ||
        !digits(&text, 2, &hour) || !literal(&text, ':') || !digits(&text, 2, &minute) ||
        !literal(&text, ':') || !digits(&text, 2, &second))
        return false;
    if (literal(&text, '.') && !digits(&text, 3, &ms))
        return false;
    if (!literal(&text, 'Z') || text.n != 0)
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    *ret_at_ms = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60000 + second * 1000 + ms;
    return true;
}
