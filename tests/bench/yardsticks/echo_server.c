// The least a server of JSONL over a unix socket can do: every line gets the same answer, of the size of a run's.
//     echo_server SOCKET
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char answer[] =
    "{\"id\":\"1\",\"type\":\"start\",\"run\":\"run-0123456789abcdef\",\"model\":\"debug/echo\"}\n"
    "{\"id\":\"1\",\"type\":\"delta\",\"run\":\"run-0123456789abcdef\",\"text\":\"hello\",\"offset\":0}\n"
    "{\"id\":\"1\",\"type\":\"message\",\"run\":\"run-0123456789abcdef\",\"content\":[{\"type\":\"text\",\"text\":"
    "\"hello\"}]}\n"
    "{\"id\":\"1\",\"type\":\"done\",\"run\":\"run-0123456789abcdef\",\"status\":\"ok\",\"reason\":\"stop\"}\n"
    "{\"id\":\"1\",\"type\":\"result\",\"exit\":0}\n";

static void watch(int poll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return fputs("usage: echo_server SOCKET\n", stderr), 2;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(argv[1]) >= sizeof address.sun_path)
        return 2;
    strcpy(address.sun_path, argv[1]);
    const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0)
        return perror(argv[1]), 1;
    puts("ready");
    fflush(stdout);
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    watch(poll, listener);
    for (;;) {
        struct epoll_event events[16];
        const int count = epoll_wait(poll, events, 16, -1);
        for (int i = 0; i < count; ++i) {
            const int fd = events[i].data.fd;
            if (fd == listener) {
                watch(poll, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
                continue;
            }
            char line[65536];
            const ssize_t got = read(fd, line, sizeof line);
            if (got <= 0)
                close(fd);
            else if (memchr(line, '\n', (size_t)got) && write(fd, answer, sizeof answer - 1) < 0)
                close(fd);
        }
    }
}
