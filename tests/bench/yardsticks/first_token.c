// Sends the same request over several connections at once and notes when the first token of each comes.
//     first_token [-k] ADDRESS REQUEST-FILE TOKEN END STREAMS ROUNDS
// ADDRESS is a port on loopback or the path of a unix socket; TOKEN and END are texts to look for. The connections are new
// in each round; with -k they are kept, and a round before the others, which opens them, does not count. Prints the median and
// the 99th percentile in microseconds, over all rounds.
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 256, kKept = 256 };

struct stream {
    int fd;
    double begin;
    int hasToken;
    size_t size;
    char tail[65536 + kKept]; // of what came, so that a text across two reads is found
};

static struct stream streams[kMost];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int connectTo(const char *address)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET,
                               .sin_port = htons((unsigned short)atoi(address)),
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int isLocal = address[0] == '/';
    strncpy(local.sun_path, address, sizeof local.sun_path - 1);
    const int fd = socket(isLocal ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const void *where = isLocal ? (const void *)&local : (const void *)&port;
    if (connect(fd, where, isLocal ? sizeof local : sizeof port) != 0)
        perror(address), exit(1);
    return fd;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int keeps = argc > 1 && strcmp(argv[1], "-k") == 0;
    argc -= keeps;
    argv += keeps;
    if (argc != 7)
        return fputs("usage: first_token [-k] ADDRESS REQUEST-FILE TOKEN END STREAMS ROUNDS\n", stderr), 2;
    static char request[65536];
    FILE *file = fopen(argv[2], "r");
    if (!file)
        return perror(argv[2]), 1;
    const size_t length = fread(request, 1, sizeof request, file);
    const int count = atoi(argv[5]), rounds = atoi(argv[6]);
    if (count < 1 || count > kMost || rounds < 1)
        return fputs("first_token: STREAMS or ROUNDS\n", stderr), 2;
    double *times = calloc((size_t)(count * rounds), sizeof *times);
    int found = 0;
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int round = -keeps; round < rounds; ++round) {
        for (int i = 0; i < count; ++i) {
            struct stream *s = &streams[i];
            s->begin = now();
            s->hasToken = 0;
            s->size = 0;
            if (!keeps || round < 0) {
                s->fd = connectTo(argv[1]);
                struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};
                epoll_ctl(poll, EPOLL_CTL_ADD, s->fd, &event);
            }
            if (write(s->fd, request, length) != (ssize_t)length)
                return perror("write"), 1;
        }
        for (int open = count; open > 0;) {
            struct epoll_event events[64];
            const int ready = epoll_wait(poll, events, 64, -1);
            for (int i = 0; i < ready; ++i) {
                struct stream *s = events[i].data.ptr;
                const ssize_t got = read(s->fd, s->tail + s->size, sizeof s->tail - s->size);
                if (got <= 0)
                    return fprintf(stderr, "first_token: a stream ended early: %.*s\n", (int)s->size, s->tail), 1;
                s->size += (size_t)got;
                if (!s->hasToken && memmem(s->tail, s->size, argv[3], strlen(argv[3]))) {
                    s->hasToken = 1;
                    if (round >= 0)
                        times[found++] = now() - s->begin;
                }
                if (memmem(s->tail, s->size, argv[4], strlen(argv[4]))) {
                    if (!s->hasToken)
                        return fprintf(stderr, "first_token: no token: %.*s\n", (int)s->size, s->tail), 1;
                    if (!keeps)
                        close(s->fd);
                    --open;
                } else if (s->size > kKept) {
                    memmove(s->tail, s->tail + s->size - kKept, kKept);
                    s->size = kKept;
                }
            }
        }
    }
    qsort(times, (size_t)found, sizeof *times, compare);
    printf("%.1f %.1f\n", times[found / 2], times[(found * 99) / 100]);
    return 0;
}
