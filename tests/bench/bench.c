/* nod bench: the parts, their options, and the figures as a table or as JSON. */
#include "bench/bench.h"

#include "base/json.h"
#include "cli/text.h"
#include "io/file.h"

#include <stdio.h>

enum { DISK_TIMES = 1 << 20, SECONDS_MAX = 600 };

/* `plays`: it needs the server. `usual`: it is done when no part is named. */
static const struct part {
    const char *name;
    bool plays, usual;
    struct rc (*run)(struct bench *bench, struct err *err);
} parts[] = {
    {"disk", false, true, bench_disk},
    {"gate", true, true, bench_gate},
    {"asks", true, false, bench_asks},
    {"one", true, true, bench_one},
    {"answer", true, true, bench_answer},
    {"streams", true, false, bench_streams},
    {"fill", false, false, bench_fill},
};

enum { PARTS = sizeof parts / sizeof *parts };

static const struct {
    const char *part, *name, *unit, *words;
} figures[FIGURE_COUNT] = {
#define X(id, part, name, unit, words) {part, name, unit, words},
    FIGURES(X)
#undef X
};

void bench_tell(struct bench *bench, enum figure_id id, double value, double beside, double ratio)
{
    CHECK(id < FIGURE_COUNT);
    if (ratio < 0)
        ratio = beside > 0 ? value / beside : 0;
    bench->figures[id] = (struct figure){.told = true, .value = value, .beside = beside, .ratio = ratio};
}

bool bench_apart(double a, double b) { return a > b * 1.5 || b > a * 1.5; }

/* ---- two small parts ---- */

struct rc bench_disk(struct bench *bench, struct err *err)
{
    double per_second;
    TRY(yard_take(&bench->yard, bench->time_us, DISK_TIMES, &per_second, err));
    bench_tell(bench, FIGURE_DISK_RATE, per_second, 0, 0);
    return RC_OK;
}

struct rc bench_fill(struct bench *bench, struct err *err)
{
    struct fill_plan plan = {.url = bench->cli->settings.store, .events = bench->events, .open = bench->open};
    return fill_store(&plan, err);
}

/* ---- the figures ---- */

/* The disk over the whole run; a part during which it was another disk is noisy. */
static void judge_disk(struct bench *bench)
{
    static const enum figure_id paired[] = {FIGURE_ONE_P50, FIGURE_ANSWER_P50};
    double p50_us = (double)samples_at(&bench->yard.all, 500);
    if (bench->yard.all.count == 0)
        return;
    bench_tell(bench, FIGURE_DISK_P50, p50_us, 0, 0);
    bench_tell(bench, FIGURE_DISK_P99, (double)samples_at(&bench->yard.all, 990), 0, 0);
    for (size_t i = 0; i < sizeof paired / sizeof *paired; i++) {
        struct figure *figure = &bench->figures[paired[i]];
        figure->noisy = figure->told && bench_apart(figure->beside, p50_us);
    }
}

static void write_figure(struct json_out *out, const struct figure *figure, enum figure_id id)
{
    json_open(out, '{');
    json_member(out, "part", str_of(figures[id].part));
    json_member(out, "name", str_of(figures[id].name));
    json_member(out, "unit", str_of(figures[id].unit));
    json_key(out, "value");
    json_put_double(out, figure->value);
    if (figure->beside > 0) {
        json_key(out, "beside");
        json_put_double(out, figure->beside);
    }
    if (figure->ratio > 0) {
        json_key(out, "ratio");
        json_put_double(out, figure->ratio);
    }
    json_member_bool(out, "noisy", figure->noisy);
    json_close(out, '}');
}

static void print_json(const struct bench *bench)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct json_out out = json_out(&buf);
    json_open(&out, '{');
    json_key(&out, "figures");
    json_open(&out, '[');
    for (int i = 0; i < FIGURE_COUNT; i++)
        if (bench->figures[i].told)
            write_figure(&out, &bench->figures[i], (enum figure_id)i);
    json_close(&out, ']');
    json_close(&out, '}');
    buf_putc(&buf, '\n');
    cli_out(buf_str(&buf));
}

static struct str number(const struct bench *bench, double value, const char *unit)
{
    const char *blank = unit[0] && unit[0] != '/' ? " " : "";
    if (value == 0)
        return STR("");
    if (value >= 100 || value == (double)(int64_t)value)
        return arena_printf(bench->arena, "%.0f%s%s", value, blank, unit);
    return arena_printf(bench->arena, "%.2f%s%s", value, blank, unit);
}

static void print_table(const struct bench *bench)
{
    BUF_SCOPE(buf, TEXT_BYTES_MAX);
    struct table table = {.arena = bench->arena, .columns = 4, .width = bench->cli->width,
                          .color = bench->cli->color};
    bool any = false, noisy = false;
    table_row(&table, (struct str[]){STR("MEASURED"), STR("BESIDE"), STR("RATIO"), STR("WHAT")});
    for (int i = 0; i < FIGURE_COUNT; i++) {
        const struct figure *f = &bench->figures[i];
        if (!f->told)
            continue;
        struct str value = number(bench, f->value, figures[i].unit);
        struct str beside = number(bench, f->beside, figures[i].unit);
        struct str ratio = number(bench, f->ratio, f->noisy ? "?" : "");
        table_row(&table, (struct str[]){value, beside, ratio, str_of(figures[i].words)});
        any = true;
        noisy = noisy || f->noisy;
    }
    if (!any)
        return;
    table_write(&buf, &table);
    cli_out(buf_str(&buf));
    if (noisy)
        cli_note("?: the disk's own rate changed too much meanwhile; measure when nothing else runs");
}

/* ---- the command ---- */

static struct rc read_plan(struct bench *bench, struct err *err)
{
    const struct cli *cli = bench->cli;
    int64_t seconds = 1;
    TRY(option_time(cli, "time", SECONDS_MAX, &seconds, err));
    TRY(option_number(cli, "connections", BENCH_CONNECTIONS_MAX, &bench->connections, err));
    TRY(option_number(cli, "sessions", BENCH_CONNECTIONS_MAX, &bench->sessions, err));
    TRY(option_number(cli, "calls", UINT32_MAX, &bench->calls, err));
    TRY(option_number(cli, "repeat", BENCH_REPEAT_MAX, &bench->repeat, err));
    TRY(option_number(cli, "rounds", 1000000, &bench->rounds, err));
    TRY(option_number(cli, "streams", 1000000, &bench->streams, err));
    TRY(option_number(cli, "events", 1000000000, &bench->events, err));
    TRY(option_number(cli, "open", 1000000, &bench->open, err));
    if (!bench->sessions || bench->sessions > bench->connections)
        bench->sessions = bench->connections;
    bench->time_us = seconds * 1000000;
    bench->against = option_text(cli, "against");
    bench->person_at = option_text(cli, "person-at");
    bench->keep = option_flag(cli, "keep");
    if (!bench->connections || !bench->calls || !bench->repeat || !bench->rounds || !bench->streams ||
        !seconds)
        return err_set(err, ERR_INVALID, "nothing can be measured zero times; see tests/bench/main.c");
    return RC_OK;
}

static const struct part *part_find(const char *name)
{
    for (int i = 0; i < PARTS; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    return NULL;
}

/* The parts that were named, or the usual ones; NULL ends the list. */
static struct rc choose_parts(const struct cli *cli, const struct part **ret_chosen, struct err *err)
{
    size_t count = 0;
    for (int i = 0; i < cli->argc; i++) {
        const struct part *part = part_find(cli->argv[i]);
        if (!part || cli->argc > PARTS)
            return err_set(err, ERR_INVALID, "there is no part '%s'; see tests/bench/main.c", cli->argv[i]);
        ret_chosen[count++] = part;
    }
    for (int i = 0; i < PARTS && cli->argc == 0; i++)
        if (parts[i].usual)
            ret_chosen[count++] = &parts[i];
    CHECK(count <= PARTS);
    ret_chosen[count] = NULL;
    return RC_OK;
}

/* Without the server that a part needs, nothing is touched. */
static struct rc run_parts(struct bench *bench, const struct part *const *chosen, struct err *err)
{
    const char *folder = bench->cli->settings.data;
    for (size_t i = 0; chosen[i]; i++)
        if (chosen[i]->plays)
            TRY(players_come(bench, err));
    TRY(file_own_folder(folder, err));
    TRY(yard_open(&bench->yard, folder, err));
    for (size_t i = 0; chosen[i]; i++)
        TRY(err_wrap(err, chosen[i]->run(bench, err), "%s", chosen[i]->name));
    return RC_OK;
}

struct rc bench_run(struct cli *cli, struct err *err)
{
    struct bench bench = {.cli = cli, .arena = &cli->arena, .connections = 64, .calls = 4000, .repeat = 3,
                          .rounds = 200, .streams = 1000, .events = 10000, .open = 100, .yard.fd = -1};
    const struct part *chosen[PARTS + 1];
    TRY(read_plan(&bench, err));
    TRY(choose_parts(cli, chosen, err));
    struct rc rc = run_parts(&bench, chosen, err);
    players_leave(&bench);
    judge_disk(&bench);
    yard_close(&bench.yard);
    TRY(rc);
    if (cli->json)
        print_json(&bench);
    else
        print_table(&bench);
    return RC_OK;
}
