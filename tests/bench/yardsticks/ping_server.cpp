// The least a JSONL server has to do: epoll, RapidJSON to read the request, RapidJSON to write what the control socket says
// to an operation that it does not know.
//     ping_server SOCKET
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

void watch(int poll, int fd)
{
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
}

void answer(std::string_view line, std::string &out)
{
    rapidjson::Document request;
    request.Parse(line.data(), line.size());
    if (!request.IsObject() || !request.HasMember("id") || !request.HasMember("op"))
        return;
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
    writer.StartObject();
    writer.Key("id");
    request["id"].Accept(writer);
    writer.Key("type");
    writer.String("error");
    writer.Key("code");
    writer.String("EINVAL");
    writer.Key("message");
    writer.String((std::string("unknown op: ") + request["op"].GetString()).c_str());
    writer.EndObject();
    out.append(buffer.GetString(), buffer.GetSize()).append("\n");
}

} // namespace

int main(int argc, char **argv)
{
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (argc != 2 || std::strlen(argv[1]) >= sizeof address.sun_path)
        return std::fputs("usage: ping_server SOCKET\n", stderr), 2;
    std::strcpy(address.sun_path, argv[1]);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0
        || ::listen(listener, 4096) != 0)
        return std::perror(argv[1]), 1;
    std::puts("ready");
    std::fflush(stdout);
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    watch(poll, listener);
    std::unordered_map<int, std::string> unread;
    for (;;) {
        epoll_event events[64];
        const int count = ::epoll_wait(poll, events, 64, -1);
        for (int i = 0; i < count; ++i) {
            const int fd = events[i].data.fd;
            if (fd == listener) {
                watch(poll, ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
                continue;
            }
            char bytes[65536];
            const ssize_t got = ::read(fd, bytes, sizeof bytes);
            std::string &text = unread[fd];
            std::string out;
            if (got > 0) {
                text.append(bytes, static_cast<std::size_t>(got));
                std::size_t start = 0;
                for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1)
                    answer(std::string_view(text).substr(start, end - start), out);
                text.erase(0, start);
            }
            if (got <= 0 || (!out.empty() && ::send(fd, out.data(), out.size(), MSG_NOSIGNAL) < 0)) {
                unread.erase(fd);
                ::close(fd);
            }
        }
    }
}
