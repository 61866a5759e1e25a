// Repeats one file-system operation for a while and prints how many a second.
//     fs_client lstat|getxattr|read|lookup|list PATH SECONDS [ATTRIBUTE]
// `lookup` asks for a new name below PATH each time, so that no cache can answer.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static const char *path;
static const char *attribute = "user.cortexfs.abi_path";
static char buffer[65536];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fs_client: %s %s: %s\n", what, path, strerror(errno));
    exit(1);
}

static void doLstat(void)
{
    struct stat info;
    check(lstat(path, &info) == 0, "lstat");
}

static void doGetxattr(void) { check(lgetxattr(path, attribute, buffer, sizeof buffer) > 0, "getxattr"); }

static void doRead(void)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0, "open");
    check(read(fd, buffer, sizeof buffer) > 0, "read");
    close(fd);
}

static void doLookup(void)
{
    static unsigned long count;
    struct stat info;
    snprintf(buffer, sizeof buffer, "%s/absent-%d-%lu", path, (int)getpid(), ++count);
    check(lstat(buffer, &info) != 0 && errno == ENOENT, "lookup");
}

static void doList(void)
{
    DIR *directory = opendir(path);
    check(directory != NULL, "opendir");
    while (readdir(directory))
        continue;
    closedir(directory);
}

static const struct {
    const char *name;
    void (*run)(void);
} operations[] = {
    {"lstat", doLstat}, {"getxattr", doGetxattr}, {"read", doRead}, {"lookup", doLookup}, {"list", doList},
};

int main(int argc, char **argv)
{
    if (argc < 4)
        return fputs("usage: fs_client OPERATION PATH SECONDS [ATTRIBUTE]\n", stderr), 2;
    path = argv[2];
    if (argc > 4)
        attribute = argv[4];
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; ++i) {
        if (strcmp(operations[i].name, argv[1]) != 0)
            continue;
        for (const double warm = now() + 0.05; now() < warm;)
            operations[i].run();
        long count = 0;
        const double start = now();
        const double end = start + atof(argv[3]);
        double at = start;
        for (; at < end; at = now()) {
            // The clock is asked once for several: it costs as much as a cached lstat.
            for (int n = 0; n < 8; ++n)
                operations[i].run();
            count += 8;
        }
        printf("%.1f\n", (double)count / (at - start));
        return 0;
    }
    return fprintf(stderr, "fs_client: no operation %s\n", argv[1]), 2;
}
