// The least an OpenAI-compatible streaming endpoint can do, in one thread. Prints its port when it listens.
//     sse_server
// A POST to a path that begins with /cCHUNKSgGAP/ is answered with so many chunks of a chat stream, GAP microseconds apart;
// 0: all of them at once, in writes as large as the socket takes. One that asks for no stream gets one token in one piece.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EVENT(choice)                                                                                                \
    "data: "                                                                                                         \
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1726000000,\"model\":\"custom-model\"," \
    "\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[" choice "]}\n\n"

enum { kConnections = 1024, kBatch = 256 };

struct connection {
    char request[65536];
    size_t size;
    long left; // chunks
    long gap;  // ns
    long due;  // of the next chunk
    int isStreaming;
    const char *pending; // what the socket did not take
    size_t pendingSize;
};

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char whole[] =
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1726000000,\"model\":\"custom-model\","
    "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\" "
    "token\"},\"finish_reason\":\"stop\"}],"
    "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"total_tokens\":10}}";
static char chunks[kBatch * 512], tail[1024], reply[1024];
static size_t chunkSize, tailSize, replySize;
static struct connection *connections[kConnections];
static int poller;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static size_t asChunk(char *out, const char *text) { return (size_t)sprintf(out, "%zx\r\n%s\r\n", strlen(text), text); }

static void drop(int fd)
{
    free(connections[fd]);
    connections[fd] = NULL;
    close(fd);
}

static void waitFor(int fd, unsigned events, int operation)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    epoll_ctl(poller, operation, fd, &event);
}

// Sends or keeps for later. 0: the peer is gone.
static int put(int fd, const char *bytes, size_t size)
{
    struct connection *c = connections[fd];
    const ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN)
        return 0;
    c->pending = bytes + (sent < 0 ? 0 : sent);
    c->pendingSize = size - (size_t)(sent < 0 ? 0 : sent);
    return 1;
}

// What may be sent now.
static void pump(int fd)
{
    struct connection *c = connections[fd];
    if (c->pendingSize > 0 && !put(fd, c->pending, c->pendingSize))
        return drop(fd);
    while (c->isStreaming && c->pendingSize == 0) {
        if (c->gap > 0 && now() < c->due)
            return;
        if (c->left == 0) {
            c->isStreaming = 0;
            if (!put(fd, tail, tailSize))
                return drop(fd);
            break;
        }
        const long count = c->gap > 0 ? 1 : c->left < kBatch ? c->left : kBatch;
        c->left -= count;
        c->due += c->gap;
        if (!put(fd, chunks, chunkSize * (size_t)count))
            return drop(fd);
    }
    waitFor(fd, c->pendingSize > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
}

static void receive(int fd)
{
    struct connection *c = connections[fd];
    const ssize_t got = read(fd, c->request + c->size, sizeof c->request - 1 - c->size);
    if (got <= 0)
        return drop(fd);
    c->size += (size_t)got;
    c->request[c->size] = 0;
    const char *body = strstr(c->request, "\r\n\r\n");
    const char *length = strcasestr(c->request, "content-length:");
    if (!body || !length || c->size < (size_t)(body + 4 - c->request) + (size_t)atol(length + 15))
        return;
    c->gap = 0;
    if (sscanf(c->request, "POST /c%ldg%ld/", &c->left, &c->gap) != 2)
        return drop(fd);
    c->gap *= 1000;
    c->due = now();
    c->size = 0;
    c->isStreaming = !strstr(body, "\"stream\":false");
    if (c->isStreaming ? put(fd, head, sizeof head - 1) : put(fd, reply, replySize))
        pump(fd);
    else
        drop(fd);
}

// Milliseconds until a paced stream is due, rounded up; -1: none is.
static int nextDue(void)
{
    long first = -1;
    for (int fd = 0; fd < kConnections; ++fd) {
        const struct connection *c = connections[fd];
        if (c && c->isStreaming && c->gap > 0 && c->pendingSize == 0 && (first < 0 || c->due < first))
            first = c->due;
    }
    const long left = first - now();
    return first < 0 ? -1 : left <= 0 ? 0 : (int)((left + 999999) / 1000000);
}

static void prepareTexts(void)
{
    chunkSize = asChunk(chunks, EVENT("{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,"
                                      "\"finish_reason\":null}"));
    for (int i = 1; i < kBatch; ++i)
        memcpy(chunks + chunkSize * (size_t)i, chunks, chunkSize);
    tailSize = asChunk(tail, EVENT("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}"));
    tailSize += asChunk(tail + tailSize, "data: [DONE]\n\n");
    tailSize += asChunk(tail + tailSize, "");
    replySize = (size_t)sprintf(reply,
                                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                                sizeof whole - 1, whole);
}

int main(void)
{
    prepareTexts();
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    if (bind(listener, (const struct sockaddr *)&address, length) != 0 || listen(listener, 1024) != 0
        || getsockname(listener, (struct sockaddr *)&address, &length) != 0)
        return perror("listen"), 1;
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    poller = epoll_create1(EPOLL_CLOEXEC);
    waitFor(listener, EPOLLIN, EPOLL_CTL_ADD);
    for (;;) {
        struct epoll_event events[64];
        const int count = epoll_wait(poller, events, 64, nextDue());
        for (int i = 0; i < count; ++i) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                const int one = 1;
                fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                if (fd < 0 || fd >= kConnections || !(connections[fd] = calloc(1, sizeof **connections)))
                    return fputs("too many connections\n", stderr), 1;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                waitFor(fd, EPOLLIN, EPOLL_CTL_ADD);
                continue;
            }
            if (events[i].events & EPOLLOUT)
                pump(fd);
            if (connections[fd] && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(fd);
        }
        for (int fd = 0; fd < kConnections; ++fd) {
            if (connections[fd] && connections[fd]->isStreaming && connections[fd]->gap > 0)
                pump(fd);
        }
    }
}
