/* Runs a fuzzer's target over the files of the folders (or the files) given as arguments, then over inputs made from
 * them by changing, cutting and joining bytes. These are the same in every run, so that what fails once fails again:
 * NOD_FUZZ_ROUNDS of each file (2000), in at most NOD_FUZZ_SECONDS (5) in all. libFuzzer looks further (dev/fuzz). */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static long rounds = 2000, seconds = 5;
static time_t began;
static uint64_t state;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? state % n : 0;
}

/* One change, in place; the room is twice the size. */
static size_t change(uint8_t *bytes, size_t n, size_t room)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, '"', '\\', '\n', '{', '*', '/', ' '};
    size_t at = below(n), count = 1 + below(8);
    switch (below(5)) {
    case 0:
        if (n)
            bytes[at] ^= (uint8_t)(1u << below(8));
        return n;
    case 1:
        if (n)
            bytes[at] = odd[below(sizeof odd)];
        return n;
    case 2: /* cut out */
        count = count < n - at ? count : n - at;
        memmove(bytes + at, bytes + at + count, n - at - count);
        return n - count;
    case 3: /* repeat */
        count = count < n - at ? count : n - at;
        if (n + count > room)
            return n;
        memmove(bytes + at + count, bytes + at, n - at);
        return n + count;
    default:
        return n ? at + 1 : 0; /* cut off */
    }
}

static void run_exact(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n ? n : 1); /* of exactly its size, so that reading beyond it is seen */
    if (!exact)
        abort();
    memcpy(exact, bytes, n);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
}

static void run_changed(const uint8_t *bytes, size_t n)
{
    size_t room = 2 * n + 16;
    state = 88172645463325252; /* whichever file came before */
    uint8_t *changed = malloc(room);
    if (!changed)
        abort();
    for (long i = 0; i < rounds && time(NULL) - began < seconds; i++) {
        size_t size = n;
        memcpy(changed, bytes, n);
        for (size_t k = 1 + below(6); k > 0; k--)
            size = change(changed, size, room);
        run_exact(changed, size);
    }
    free(changed);
}

static long run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    uint8_t *bytes = NULL;
    size_t n = 0;
    for (size_t cap = 4096;; cap *= 2) {
        uint8_t *more = realloc(bytes, cap);
        if (!more)
            abort();
        bytes = more;
        n += fread(bytes + n, 1, cap - n, file);
        if (n < cap)
            break;
    }
    (void)fclose(file);
    run_exact(bytes, n);
    run_changed(bytes, n);
    free(bytes);
    return 1;
}

static long run_folder(const char *path)
{
    long count = 0;
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        exit(1);
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < sizeof name)
            count += run_file(name);
    }
    (void)closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    long count = 0;
    if (getenv("NOD_FUZZ_ROUNDS"))
        rounds = strtol(getenv("NOD_FUZZ_ROUNDS"), NULL, 10);
    if (getenv("NOD_FUZZ_SECONDS"))
        seconds = strtol(getenv("NOD_FUZZ_SECONDS"), NULL, 10);
    began = time(NULL);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) != 0) {
            perror(argv[i]);
            return 1;
        }
        count += S_ISDIR(st.st_mode) ? run_folder(argv[i]) : run_file(argv[i]);
    }
    (void)printf("%ld inputs\n", count);
    return count > 0 ? 0 : 1;
}
