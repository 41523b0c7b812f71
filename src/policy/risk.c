/* The harm that a part could do, as a set of classes: from what it does, never from the letters of its text. */
#include "policy/judge.h"

#include "base/err.h"
#include "base/local.h"
#include "policy/effects.h"

static const char *const risk_names[RISK_COUNT] = {
#define X(name, word) [RISK_BIT_##name] = word,
    TABLE_RISKS(X)
#undef X
};

const char *risk_name(unsigned number) { return number < RISK_COUNT ? risk_names[number] : ""; }

static const char *const words[RISK_COUNT] = {
    [RISK_BIT_DELETES] = "deletes files or data",
    [RISK_BIT_OVERWRITES] = "writes files that may be there already, or outside the session's folder",
    [RISK_BIT_NETWORK] = "reaches the network",
    [RISK_BIT_SENDS] = "sends data out",
    [RISK_BIT_PUBLISHES] = "publishes something",
    [RISK_BIT_INFRASTRUCTURE] = "changes servers, clusters or services",
    [RISK_BIT_DATABASE] = "changes a database",
    [RISK_BIT_PRIVILEGES] = "runs with the rights of another user, or changes rights",
    [RISK_BIT_INTERPRETER] = "runs code",
    [RISK_BIT_GENERATED] = "runs code that is not shown here",
    [RISK_BIT_SETTINGS] = "touches settings of programs, or reads commands or settings from a file",
    [RISK_BIT_UNKNOWN] = "Nod does not know what it does: look at it closely",
};

const char *risk_words(unsigned number) { return number < RISK_COUNT ? words[number] : ""; }

/* Whether a statement only reads. All others count as a risk to the database. */
static bool only_selects(struct str code)
{
    static const char *const reads[] = {"select", "show", "explain", "describe", "\\d",
                                        "\\l",    "with", "pragma",  ".tables"};
    struct str text = str_trim(code);
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        struct str word = str_of(reads[i]);
        if (text.n >= word.n && str_same_letters(str_sub(text, 0, word.n), word))
            return str_find(text, ';') + 1 >= text.n;
    }
    return false;
}

/* The risk of a write: outside the session's folder, or to a protected path. */
static unsigned write_risk(struct judging *j, const struct act *act, const struct folder *folder)
{
    struct str targets[TARGETS_MAX] NOT_ZEROED;
    unsigned risk = 0;
    size_t count = judge_targets(j, &act->path, folder->known ? folder->path : STR_NONE, targets);
    struct touch touch = {.perhaps = act->flags & ACT_PERHAPS, .tree = act->flags & ACT_TREE};
    for (size_t i = 0; i < count; i++) {
        if (str_is(targets[i], "/dev/null"))
            continue;
        if (judge_target_protected(j, targets[i], touch))
            risk |= RISK_SETTINGS;
        if (judge_target_outside(j, targets[i]) && !touch.perhaps)
            risk |= RISK_OVERWRITES;
    }
    return risk | (act->flags & ACT_EDITS ? RISK_OVERWRITES : 0);
}

/* Inner commands count with their own risk. A statement that only reads is taken for a read over the network. */
unsigned acts_risk(struct judging *j, const struct study *study, const struct folder *folder)
{
    unsigned risk = 0;
    bool database = study->risk & RISK_DATABASE, statement = false;
    for (struct act *act = study->acts; act; act = act->next) {
        switch (act->kind) {
        case ACT_READS: case ACT_CHANGES: break;
        case ACT_PROJECT: risk |= str_empty(act->path.text) ? 0 : RISK_INTERPRETER; break;
        case ACT_REMOVES: risk |= RISK_DELETES | write_risk(j, act, folder); break;
        case ACT_WRITES: risk |= write_risk(j, act, folder); break;
        case ACT_TALKS: risk |= RISK_NETWORK; break;
        case ACT_OBEYS: risk |= RISK_SETTINGS; break;
        case ACT_CODE:
            statement = database;
            risk |= database && only_selects(act->code) ? 0 : database ? RISK_DATABASE : RISK_INTERPRETER;
            break;
        case ACT_SCRIPT: case ACT_TEXT: risk |= RISK_INTERPRETER; break;
        case ACT_OTHER:
            if (study->table && study->table->reader == READER_SHELL)
                risk |= act->word == ALL_WORDS ? RISK_INTERPRETER | RISK_GENERATED : RISK_INTERPRETER;
            else
                risk |= act->flags & ACT_STDIN ? RISK_GENERATED : RISK_UNKNOWN;
            break;
        case ACT_RUNS:
            if (j->depth < STUDY_DEPTH_MAX) {
                j->depth++;
                risk |= study_risk(j, act_inner_study(j, act, j->depth), folder);
                j->depth--;
            }
            break;
        }
        risk |= act->flags & ACT_SENDS ? RISK_SENDS | RISK_NETWORK : 0;
    }
    return statement && !(risk & RISK_DATABASE) ? risk | RISK_NETWORK : risk;
}

unsigned study_risk(struct judging *j, const struct study *study, const struct folder *folder)
{
    unsigned risk = acts_risk(j, study, folder);
    if (!study->table)
        risk |= RISK_UNKNOWN;
    unsigned row = study->only_reads ? 0 : study->risk;
    /* A statement that only reads is no risk to the database. */
    for (const struct act *act = study->acts; act; act = act->next)
        if (act->kind == ACT_CODE && (row & RISK_DATABASE) && only_selects(act->code))
            row &= ~(unsigned)RISK_DATABASE;
    return risk | row;
}

/* Every class but overwriting: a call that only writes files may be answered together with others. */
bool risk_holds_back(unsigned risk) { return (risk & ~(unsigned)RISK_OVERWRITES) != 0; }
