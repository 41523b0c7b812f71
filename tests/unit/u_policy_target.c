/* Shapes of words against names with stars (policy/target.c), beside a model that tries every way. */
#include "policy/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Whether some text fits both, from these letters on. */
static bool fits(const char *shape, const char *name)
{
    bool any = *shape == SHAPE_STAR || *shape == SHAPE_ANY;
    bool set = *shape == SHAPE_OPEN; /* the test makes one kind: [ab] */
    const char *next = shape + (set ? 4 : 1);
    if (!*shape && !*name)
        return true;
    if (any && (fits(shape + 1, name) || (*name && fits(shape, name + 1))))
        return true;
    if (*name == '*' && (fits(shape, name + 1) || (*shape && fits(next, name))))
        return true;
    if (!*shape || !*name || any || *name == '*')
        return false;
    bool same = set ? *name == 'a' || *name == 'b' : *shape == SHAPE_ONE || *shape == *name;
    return (same || *name == '?') && fits(next, name + 1);
}

/* A pattern finds no dot in front that it does not spell. */
static bool model(const char *shape, const char *name)
{
    if (*name == '.' && (*shape == SHAPE_STAR || *shape == SHAPE_ONE || *shape == SHAPE_OPEN))
        return false;
    return fits(shape, name);
}

static uint64_t state_of_dice = 7;

static unsigned throw_dice(unsigned sides)
{
    state_of_dice = state_of_dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state_of_dice >> 33) % sides;
}

static void make_shape(char *shape)
{
    static const char *const pieces[] = {"a", "b", "c", ".", "\x02", "\x03", "\x01", ("\x04" "ab\x05"), "a", "b"};
    for (unsigned n = throw_dice(6) + 1; n; n--)
        shape = stpcpy(shape, pieces[throw_dice(sizeof pieces / sizeof *pieces)]);
}

static void make_name(char *name)
{
    static const char letters[] = "abc.*?ab";
    unsigned n = throw_dice(6) + 1;
    for (unsigned i = 0; i < n; i++)
        name[i] = letters[throw_dice(sizeof letters - 1)];
    name[n] = '\0';
}

static void test_meets_as_the_model(void **state)
{
    (void)state;
    unsigned met = 0;
    for (unsigned i = 0; i < 40000; i++) {
        char shape[32], name[8];
        make_shape(shape);
        make_name(name);
        if (strcmp(shape, "\x01") == 0 || strcmp(name, "**") == 0)
            continue; /* these stand for folders, too */
        bool meets = target_meets(str_of(shape), str_of(name), false);
        if (meets != model(shape, name))
            fail_msg("the shape %s and the name %s", shape, name);
        met += meets;
    }
    assert_true(met >= 4000 && met <= 36000);
}

/* Paths of a few names: an unknown folder (\x01) may be any number of folders, ** in a pattern, too. */
enum { PARTS_MAX = 4 };
struct path {
    const char *parts[PARTS_MAX];
    unsigned count;
};

static bool paths_meet(const struct path *target, unsigned t, const struct path *path, unsigned p, bool tree)
{
    if (p == path->count)
        return true;
    if (strcmp(path->parts[p], "**") == 0)
        return paths_meet(target, t, path, p + 1, tree) ||
               (t < target->count && paths_meet(target, t + 1, path, p, tree));
    if (t == target->count)
        return tree;
    if (strcmp(target->parts[t], "\x01") != 0)
        return model(target->parts[t], path->parts[p]) && paths_meet(target, t + 1, path, p + 1, tree);
    for (unsigned k = p; k < path->count && t + 1 < target->count; k++)
        if (paths_meet(target, t + 1, path, k, tree))
            return true;
    return false;
}

static struct path make_path(const char *const *names, unsigned count, char *text)
{
    struct path path = {.count = throw_dice(PARTS_MAX) + 1};
    for (unsigned i = 0; i < path.count; i++) {
        path.parts[i] = names[throw_dice(count)];
        text = stpcpy(stpcpy(text, throw_dice(8) ? "/" : "//"), path.parts[i]);
    }
    return path;
}

static void test_paths_meet_as_the_model(void **state)
{
    static const char *const shapes[] = {"a", "ab", "b", ".b", "\x01", "\x02", "a\x02", ("\x02" "b")};
    static const char *const names[] = {"a", "ab", "b", ".b", "*", "a*", "**", "?b"};
    (void)state;
    unsigned met = 0;
    for (unsigned i = 0; i < 40000; i++) {
        char target_text[64], path_text[64];
        struct path target = make_path(shapes, 8, target_text), path = make_path(names, 8, path_text);
        bool tree = throw_dice(2), meets = target_meets(str_of(target_text), str_of(path_text), tree);
        if (meets != paths_meet(&target, 0, &path, 0, tree))
            fail_msg("the target %s and the path %s", target_text, path_text);
        met += meets;
    }
    assert_true(met >= 4000 && met <= 36000);
}

static void test_long_words(void **state)
{
    (void)state;
    char word[1001];
    memset(word, 'x', sizeof word);
    word[1000] = '\0';
    assert_false(target_secret(str_of(word), false));
    memcpy(word + 996, ".pem", 4);
    assert_true(target_secret(str_of(word), false));
    memcpy(word + 996, ".PEM", 4);
    assert_true(target_secret(str_of(word), false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meets_as_the_model),
        cmocka_unit_test(test_paths_meet_as_the_model),
        cmocka_unit_test(test_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
