/* Preloaded into a program, this writes down how it reads its options. Built and used by dev/facts/facts.py and
 * tests/policy/reading.py, never part of Nod.
 *
 * $FACTS_LOG names the file to append to, $FACTS_NAME the program that is meant: what it starts is left alone. The
 * first call of a getopt function writes its table:
 *     short <TAB> OPTSTRING
 *     long  <TAB> NAME <TAB> 0|1|2      (none, required, optional)
 * With $FACTS_ONLY set the program ends there, before it does anything. Otherwise each option is written as the
 * program gets it, and the operands when it has read the last:
 *     option <TAB> NAME [<TAB> VALUE]
 *     operand <TAB> TEXT
 *     end
 * after which the program ends too, so that reading a line never does what the line says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int getopt_long_fn(int, char *const *, const char *, const struct option *, int *);

static int log_fd = -1;
static int calls;

static void write_line(const char *format, ...)
{
    char line[1 << 16];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (n > 0 && log_fd >= 0)
        (void)!write(log_fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void write_table(const char *letters, const struct option *names, int only)
{
    const char *path = getenv("FACTS_LOG"), *name = getenv("FACTS_NAME");
    if (calls++ || !path || (name && strcmp(name, program_invocation_short_name) != 0))
        return;
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    write_line("short\t%s\n", letters ? letters : "");
    for (; names && names->name; names++)
        write_line("long\t%s\t%d\n", names->name, names->has_arg);
    if (only)
        write_line("only\n");
    if (getenv("FACTS_ONLY"))
        _exit(0);
}

static void write_result(int result, char *const *argv, int argc, const struct option *names, int index)
{
    if (log_fd < 0)
        return;
    if (result == -1) {
        for (int i = optind; i < argc; i++)
            write_line("operand\t%s\n", argv[i]);
        write_line("end\n");
        _exit(0);
    }
    if (result == '?' || result == ':') {
        write_line("error\n");
        _exit(0);
    }
    char name[256];
    if (names && index >= 0)
        (void)snprintf(name, sizeof name, "--%s", names[index].name);
    else
        (void)snprintf(name, sizeof name, "-%c", result == 1 ? '\1' : result);
    if (result == 1 && index < 0)
        write_line("operand\t%s\n", optarg ? optarg : "");
    else if (optarg)
        write_line("option\t%s\t%s\n", name, optarg);
    else
        write_line("option\t%s\n", name);
}

static int pass_on(const char *function, int argc, char *const *argv, const char *letters, const struct option *names,
                   int *ret_index)
{
    int index = -1;
    void *real = dlsym(RTLD_NEXT, function);
    if (!real)
        _exit(97);
    int result;
    if (strcmp(function, "getopt") == 0) {
        result = ((int (*)(int, char *const *, const char *))real)(argc, argv, letters);
    } else {
        result = ((getopt_long_fn *)real)(argc, argv, letters, names, &index);
        if (ret_index && index >= 0)
            *ret_index = index;
    }
    write_result(result, argv, argc, names, index);
    return result;
}

int getopt(int argc, char *const *argv, const char *letters)
{
    write_table(letters, NULL, 0);
    return pass_on("getopt", argc, argv, letters, NULL, NULL);
}

int getopt_long(int argc, char *const *argv, const char *letters, const struct option *names, int *ret_index)
{
    write_table(letters, names, 0);
    return pass_on("getopt_long", argc, argv, letters, names, ret_index);
}

int getopt_long_only(int argc, char *const *argv, const char *letters, const struct option *names, int *ret_index)
{
    write_table(letters, names, 1);
    return pass_on("getopt_long_only", argc, argv, letters, names, ret_index);
}
