/* A time zone file has two parts: a list of changes of the clock, past and some to come; then a rule for the rest. */
#include "notify/zone.h"

enum { HEAD_BYTES = 44, DAY_S = 86400, TYPE_BYTES = 6 };

static int64_t read_number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = bytes == 4 && at[0] & 0x80 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* ---- the rule: "CET-1CEST,M3.5.0,M10.5.0/3", as in the variable TZ ---- */

static bool take_char(struct str *text, char c)
{
    if (!text->n || text->p[0] != c)
        return false;
    *text = str_sub(*text, 1, text->n);
    return true;
}

static bool take_digits(struct str *text, int *ret_number)
{
    size_t n = 0;
    *ret_number = 0;
    for (; n < text->n && n < 4 && text->p[n] >= '0' && text->p[n] <= '9'; n++)
        *ret_number = *ret_number * 10 + (text->p[n] - '0');
    *text = str_sub(*text, n, text->n);
    return n > 0;
}

static bool take_name(struct str *text)
{
    size_t n = 0;
    if (take_char(text, '<')) {
        (void)str_cut(*text, '>', text);
        return true;
    }
    while (n < text->n && ((text->p[n] | 0x20) >= 'a' && (text->p[n] | 0x20) <= 'z'))
        n++;
    *text = str_sub(*text, n, text->n);
    return n >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct str *text, int32_t *ret_s)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take_char(text, '-');
    if (!negative)
        (void)take_char(text, '+');
    if (!take_digits(text, &hours) || (take_char(text, ':') && !take_digits(text, &minutes)) ||
        (take_char(text, ':') && !take_digits(text, &seconds)))
        return false;
    int32_t sum = hours * 3600 + minutes * 60 + seconds;
    *ret_s = negative ? -sum : sum;
    return true;
}

static bool take_rule(struct str *text, struct zone_rule *rule)
{
    rule->at_s = 2 * 3600;
    return take_char(text, ',') && take_char(text, 'M') && take_digits(text, &rule->month) && take_char(text, '.') &&
           take_digits(text, &rule->week) && take_char(text, '.') && take_digits(text, &rule->weekday) &&
           rule->month >= 1 && rule->month <= 12 && rule->week >= 1 && rule->week <= 5 && rule->weekday <= 6 &&
           (!take_char(text, '/') || take_time(text, &rule->at_s));
}

static bool parse_rules(struct str text, struct zone *zone)
{
    int32_t west_s;
    if (!take_name(&text) || !take_time(&text, &west_s))
        return false;
    zone->standard_s = -west_s;
    if (text.n == 0)
        return true;
    zone->has_summer = true;
    if (!take_name(&text))
        return false;
    zone->summer_s = zone->standard_s + 3600;
    if (text.n && text.p[0] != ',') {
        if (!take_time(&text, &west_s))
            return false;
        zone->summer_s = -west_s;
    }
    return take_rule(&text, &zone->to_summer) && take_rule(&text, &zone->to_standard) && text.n == 0;
}

/* ---- days ---- */

/* Days since 1970 of the first of a month, by the Gregorian calendar. */
static int64_t days_of(int64_t year, int month)
{
    static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return 365 * (year - 1970) + past / 4 - past / 100 + past / 400 - 477 + before[month - 1] + (leap && month > 2);
}

static int64_t year_of(int64_t at_s)
{
    int64_t days = at_s / DAY_S, year = 1970 + days / 366;
    while (days_of(year + 1, 1) <= days)
        year++;
    return year;
}

/* When the rule changes the clock in that year; `offset_s` is in force before. */
static int64_t change_of(const struct zone_rule *rule, int64_t year, int32_t offset_s)
{
    int64_t first = days_of(year, rule->month);
    int64_t next = rule->month == 12 ? days_of(year + 1, 1) : days_of(year, rule->month + 1);
    int64_t weekday = (first + 4) % 7; /* 1 January 1970 was a Thursday */
    int64_t day = first + (rule->weekday - weekday + 7) % 7 + 7 * ((int64_t)rule->week - 1);
    if (day >= next)
        day -= 7;
    return day * DAY_S + rule->at_s - offset_s;
}

static int32_t offset_by_rule(const struct zone *zone, int64_t at_s)
{
    if (!zone->has_summer || at_s < 0)
        return zone->standard_s;
    int64_t year = year_of(at_s + zone->standard_s);
    int64_t begins = change_of(&zone->to_summer, year, zone->standard_s);
    int64_t ends = change_of(&zone->to_standard, year, zone->summer_s);
    bool begun = at_s >= begins, over = at_s >= ends;
    bool summer = begins < ends ? begun && !over : begun || !over; /* in the south: over new year */
    return summer ? zone->summer_s : zone->standard_s;
}

/* ---- the file ---- */

struct counts {
    uint32_t ut, standard, leaps, times, types, chars;
};

static bool read_counts(struct str file, size_t at, struct counts *counts)
{
    uint32_t *const numbers[] = {&counts->ut, &counts->standard, &counts->leaps, &counts->times, &counts->types,
                                 &counts->chars};
    if (at > file.n || file.n - at < HEAD_BYTES || memcmp(file.p + at, "TZif", 4) != 0 || file.p[at + 4] < '2')
        return false;
    for (unsigned i = 0; i < 6; i++) {
        int64_t number = read_number((const unsigned char *)file.p + at + 20 + (size_t)i * 4, 4);
        if (number < 0 || number > (1 << 20))
            return false;
        *numbers[i] = (uint32_t)number;
    }
    return counts->types > 0;
}

/* Bytes of a data block whose times have 4 or 8 bytes. */
static size_t block_bytes(const struct counts *c, size_t time_bytes)
{
    return c->times * (time_bytes + 1) + c->types * TYPE_BYTES + c->chars + c->leaps * (time_bytes + 4) + c->standard +
           c->ut;
}

const struct zone *zone_parse(struct arena *arena, struct str file)
{
    struct counts old, counts;
    struct zone *zone = arena_new(arena, struct zone);
    if (!read_counts(file, 0, &old))
        return NULL;
    size_t at = HEAD_BYTES + block_bytes(&old, 4);
    if (!read_counts(file, at, &counts))
        return NULL;
    at += HEAD_BYTES;
    size_t end = at + block_bytes(&counts, 8);
    if (end + 2 > file.n || file.p[end] != '\n' || file.p[file.n - 1] != '\n')
        return NULL;
    *zone = (struct zone){.times = (const unsigned char *)file.p + at, .count = counts.times};
    zone->types = zone->times + (size_t)counts.times * 8;
    zone->offsets = zone->types + counts.times;
    for (uint32_t i = 0; i < counts.times; i++)
        if (zone->types[i] >= counts.types)
            return NULL;
    return parse_rules(str_sub(file, end + 1, file.n - 1), zone) ? zone : NULL;
}

int32_t zone_offset_s(const struct zone *zone, int64_t at_s)
{
    uint32_t from = 0, to = zone->count; /* the changes up to `from` are not later than the time */
    if (to == 0 || at_s >= read_number(zone->times + (size_t)(to - 1) * 8, 8))
        return offset_by_rule(zone, at_s);
    if (at_s < read_number(zone->times, 8))
        return (int32_t)read_number(zone->offsets, 4);
    while (to - from > 1) {
        uint32_t middle = from + (to - from) / 2;
        if (read_number(zone->times + (size_t)middle * 8, 8) <= at_s)
            from = middle;
        else
            to = middle;
    }
    return (int32_t)read_number(zone->offsets + (size_t)zone->types[from] * TYPE_BYTES, 4);
}
