/* Runs a fuzzer's target over the files of the folders (or the files) given as arguments. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

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
    /* Of exactly its size, so that reading beyond it is seen. */
    uint8_t *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, n);
    free(bytes);
    (void)LLVMFuzzerTestOneInput(exact, n);
    free(exact);
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
