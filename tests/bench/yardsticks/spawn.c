// Starts a program again and again, input and output on /dev/null, and waits for each.
//     spawn COUNT PROGRAM [ARGUMENT...]
// Prints the median wall time in microseconds and the greatest resident size in KiB.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fputs("usage: spawn COUNT PROGRAM [ARGUMENT...]\n", stderr), 2;
    const int count = atoi(argv[1]);
    double *times = calloc((size_t)count, sizeof *times);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    long resident = 0;
    const int warm = 2;
    for (int i = -warm; i < count; ++i) {
        const double start = now();
        pid_t child;
        const int failure = posix_spawnp(&child, argv[2], &actions, NULL, argv + 2, environ);
        if (failure != 0)
            return fprintf(stderr, "spawn: %s: %s\n", argv[2], strerror(failure)), 1;
        int status = 0;
        struct rusage usage;
        wait4(child, &status, 0, &usage);
        if (status != 0)
            return fprintf(stderr, "spawn: %s ended with status %#x\n", argv[2], (unsigned)status), 1;
        if (i >= 0)
            times[i] = now() - start;
        if (usage.ru_maxrss > resident)
            resident = usage.ru_maxrss;
    }
    qsort(times, (size_t)count, sizeof *times, compare);
    printf("%.1f %ld\n", times[count / 2], resident);
    free(times);
    return 0;
}
