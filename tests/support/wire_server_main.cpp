// cortexfs-wire-server: an OpenAI-compatible endpoint on loopback for end-to-end tests and the bench. Prints
// {"port":N,"base_url":URL} when it listens and serves until SIGTERM, SIGINT or the end of its stdin with --stdin.
#include "common/base/files.h"
#include "common/json/json.h"
#include "tests/support/openai_script.h"

#include <QCommandLineParser>
#include <QCoreApplication>

#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace {

using namespace cortexfs;

std::string captureLine(const test::CapturedRequest &request)
{
    json::Writer out;
    out.beginObject().field("method", request.method).field("target", request.target).key("headers").beginObject();
    for (const auto &[name, value] : request.headers)
        out.field(name, value);
    out.endObject().field("body", json::toValidUtf8(request.body)).endObject();
    return out.take() + "\n";
}

std::function<void(const test::CapturedRequest &)> captureTo(const std::string &path)
{
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) {
        std::perror(path.c_str());
        std::exit(2);
    }
    auto mutex = std::make_shared<std::mutex>();
    return [fd, mutex](const test::CapturedRequest &request) {
        const std::lock_guard lock(*mutex);
        if (!files::writeAll(fd, captureLine(request)))
            std::perror("capture");
    };
}

void addOptions(QCommandLineParser &parser)
{
    parser.setApplicationDescription(QStringLiteral("An OpenAI-compatible endpoint on loopback, for tests."));
    parser.addHelpOption();
    const auto add = [&](const char *name, const char *value, const char *fallback, const char *help) {
        parser.addOption({QString::fromLatin1(name), QString::fromLatin1(help), QString::fromLatin1(value),
                          QString::fromLatin1(fallback)});
    };
    add("port", "N", "0", "listen there; 0 takes a free port");
    add("models", "A,B", "custom-model", "ids that /models lists");
    add("chunks", "N", "3", "content chunks of a reply");
    add("text", "TEXT", "hello ", "text of each chunk");
    add("first-delay-ms", "MS", "0", "wait before the head of a reply");
    add("delay-ms", "MS", "0", "wait between chunks");
    add("key", "KEY", "", "answer 401 to any other bearer key");
    add("status", "CODE", "200", "answer chats with this HTTP error");
    add("failure", "KIND", "", "cut, reset, stall, garbage, error or html");
    add("fail-after", "N", "0", "chunks before the failure");
    add("failures", "N", "-1", "how many chats fail before the rest succeed; -1: all");
    add("capture", "FILE", "", "append each request as one JSON line");
    parser.addOption({QStringLiteral("stdin"), QStringLiteral("stop when stdin ends")});
}

test::OpenAiOptions optionsFrom(const QCommandLineParser &parser)
{
    const auto text = [&](const char *name) { return parser.value(QString::fromLatin1(name)).toStdString(); };
    const auto number = [&](const char *name) { return parser.value(QString::fromLatin1(name)).toInt(); };
    test::OpenAiOptions options;
    options.models.clear();
    for (const QString &model : parser.value(QStringLiteral("models")).split(QLatin1Char(','), Qt::SkipEmptyParts))
        options.models.push_back(model.toStdString());
    options.chunks = number("chunks");
    options.text = text("text");
    options.firstDelayMs = number("first-delay-ms");
    options.delayMs = number("delay-ms");
    options.requiredKey = text("key");
    options.status = number("status");
    options.failure = text("failure");
    options.failAfter = number("fail-after");
    options.failures = number("failures");
    if (const std::string file = text("capture"); !file.empty())
        options.captured = captureTo(file);
    return options;
}

void waitForEnd(int signals, bool watchStdin)
{
    for (;;) {
        pollfd fds[2] = {{signals, POLLIN, 0}, {watchStdin ? STDIN_FILENO : -1, POLLIN, 0}};
        if (::poll(fds, 2, -1) < 0)
            continue;
        if (fds[0].revents != 0)
            return;
        char ignored[256];
        if (fds[1].revents != 0 && ::read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
            return;
    }
}

} // namespace

int main(int argc, char **argv)
{
    // Blocked before the first thread, so that every thread inherits it and the signalfd gets them.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC);

    QCoreApplication app(argc, argv);
    QCommandLineParser parser;
    addOptions(parser);
    parser.process(app);

    const auto port = static_cast<std::uint16_t>(parser.value(QStringLiteral("port")).toUInt());
    const test::WireServer server(test::openAiScript(optionsFrom(parser)), port);
    std::printf("{\"port\":%u,\"base_url\":\"%s\"}\n", server.port(), server.url("/v1").c_str());
    std::fflush(stdout);
    waitForEnd(signals, parser.isSet(QStringLiteral("stdin")));
    return 0;
}
