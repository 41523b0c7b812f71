/* Names that a rule may have meant: the nearest tool, program or sub-command by edit distance, for "did you
 * mean" in the findings of lint_text.c. */
#include "policy/lint_names.h"

#include "event/tool_names.h"
#include "policy/effects.h"

/* ---- how far apart two names are ---- */

/* How many letters may be wrong in a name of this length. */
static unsigned slack(size_t n) { return n < 3 ? 0 : n < 8 ? 1 : 2; }

struct nearest {
    struct str name, found;
    unsigned best;
};

/* Keeps the candidate if it is near enough for the length of the name and nearer than the best so far. */
static void consider(struct nearest *nearest, struct str candidate)
{
    struct str name = nearest->name;
    size_t apart = name.n > candidate.n ? name.n - candidate.n : candidate.n - name.n;
    if (apart > 2 || candidate.n < 2)
        return;
    unsigned far = str_distance(name, candidate);
    /* Two letters are too few to guess by, unless they are the same two. */
    bool swapped = name.n == 2 && candidate.n == 2 && name.p[0] == candidate.p[1] && name.p[1] == candidate.p[0];
    if ((far <= slack(name.n) || swapped) && far < nearest->best) {
        nearest->best = far;
        nearest->found = candidate;
    }
}

/* ---- tools ---- */

/* Names beside those that the caller brings and those that event/tool_names.c translates. */
static const char *const others[] = {
    "Skill",
    "SlashCommand",
    "KillBash",
    "TaskOutput",
    "TaskStop",
    "EnterPlanMode",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "LSP",
    "ToolSearch",
    "box.read",
    "box.write",
    "box.socket",
    "box.port",
    "*",
};

enum { OTHER_COUNT = sizeof others / sizeof *others };

static bool is_among(struct str name, lint_tools *tools)
{
    return ANY(size_t i = 0; !str_empty(tools(i)); i++, str_eq(name, tools(i)));
}

bool lint_tool_known(struct str name, lint_tools *tools)
{
    return str_starts(name, STR("mcp__")) || STR_IN(name, others) || is_among(name, tools) ||
           is_among(name, tool_foreign_name);
}

struct str lint_tool_near(struct str name, lint_tools *tools)
{
    struct nearest nearest = {.name = name, .best = STR_FAR};
    for (size_t i = 0; !str_empty(tools(i)); i++)
        consider(&nearest, tools(i));
    for (size_t i = 0; i < OTHER_COUNT; i++)
        consider(&nearest, str_of(others[i]));
    for (size_t i = 0; !str_empty(tool_foreign_name(i)); i++)
        consider(&nearest, tool_foreign_name(i));
    return nearest.found;
}

/* ---- programs ---- */

static struct str first_word(struct str name)
{
    struct str rest;
    return str_cut(name, ' ', &rest);
}

bool lint_program_known(struct str name)
{
    if (effects_find(name))
        return true;
    return ANY(size_t i = 0; i < table_name_count; i++, str_eq(first_word(table_str(table_names[i].name)), name));
}

struct str lint_program_near(struct str name)
{
    struct nearest nearest = {.name = name, .best = STR_FAR};
    for (size_t i = 0; i < table_name_count; i++)
        consider(&nearest, first_word(table_str(table_names[i].name)));
    return nearest.found;
}

/* The word behind `row` in the name of another row; empty when that is none of its sub-commands. */
static struct str sub_of(struct str row, size_t i)
{
    struct str name = table_str(table_names[i].name);
    if (!str_starts(name, row) || name.n <= row.n || name.p[row.n] != ' ')
        return STR_NONE;
    return first_word(str_sub(name, row.n + 1, name.n));
}

/* True also where the table knows no sub-commands of the program: then nothing can be said. */
bool lint_sub_known(struct str row, struct str sub)
{
    bool any = false;
    for (size_t i = 0; i < table_name_count; i++) {
        struct str known = sub_of(row, i);
        if (str_eq(known, sub))
            return true;
        any = any || !str_empty(known);
    }
    return !any;
}

struct str lint_sub_near(struct str row, struct str sub)
{
    struct nearest nearest = {.name = sub, .best = STR_FAR};
    for (size_t i = 0; i < table_name_count; i++)
        consider(&nearest, sub_of(row, i));
    return nearest.found;
}
