// Asks a unix socket the same again and again over one connection, one request at a time; prints requests a second.
//     rpc_client SOCKET SECONDS REQUEST
// An answer ends with the line that holds "type":"result".
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    if (argc != 4)
        return fputs("usage: rpc_client SOCKET SECONDS REQUEST\n", stderr), 2;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, argv[1], sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return perror(argv[1]), 1;
    char request[4096];
    const int length = snprintf(request, sizeof request, "%s\n", argv[3]);
    long count = 0;
    const double start = now();
    const double end = start + atof(argv[2]);
    double at = start;
    for (; at < end; at = now(), ++count) {
        if (write(fd, request, (size_t)length) != length)
            return perror("write"), 1;
        static char answer[65536];
        size_t size = 0;
        while (size == 0 || answer[size - 1] != '\n' || !memmem(answer, size, "\"type\":\"result\"", 15)) {
            const ssize_t got = read(fd, answer + size, sizeof answer - size);
            if (got <= 0)
                return perror("read"), 1;
            size += (size_t)got;
        }
    }
    printf("%.1f\n", (double)count / (at - start));
    return 0;
}
