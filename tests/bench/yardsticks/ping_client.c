// Many connections to a unix socket, each with one request on its way at a time, beside some that asked once and are quiet;
// prints answers a second.
//     ping_client SOCKET SECONDS BUSY QUIET REQUEST
// An answer is one line.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return fputs("usage: ping_client SOCKET SECONDS BUSY QUIET REQUEST\n", stderr), 2;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    char request[4096];
    const int length = snprintf(request, sizeof request, "%s\n", argv[5]);
    const int busy = atoi(argv[3]);
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < busy + atoi(argv[4]); ++i) {
        const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
            return perror(argv[1]), 1;
        if (write(fd, request, (size_t)length) != length)
            return perror("write"), 1;
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
        char answer[4096];
        if (i < busy)
            epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
        else if (read(fd, answer, sizeof answer) <= 0)
            return perror("read"), 1;
    }
    long count = 0;
    const double start = now();
    const double end = start + atof(argv[2]);
    double at = start;
    for (; at < end; at = now()) {
        struct epoll_event events[256];
        const int ready = epoll_wait(poll, events, 256, 10000);
        if (ready <= 0)
            return fputs("ping_client: no answer\n", stderr), 1;
        for (int i = 0; i < ready; ++i) {
            char answer[65536];
            const ssize_t got = read(events[i].data.fd, answer, sizeof answer);
            if (got <= 0)
                return perror("read"), 1;
            if (answer[got - 1] != '\n')
                continue;
            ++count;
            if (write(events[i].data.fd, request, (size_t)length) != length)
                return perror("write"), 1;
        }
    }
    printf("%.1f\n", (double)count / (at - start));
    return 0;
}
