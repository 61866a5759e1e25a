#include "common/base/logging.h"

#include <QByteArray>

#include <cstdlib>

#include <unistd.h>

Q_LOGGING_CATEGORY(lcDaemon, "cortexfs.daemon", QtInfoMsg)
Q_LOGGING_CATEGORY(lcFs, "cortexfs.fs", QtInfoMsg)
Q_LOGGING_CATEGORY(lcControl, "cortexfs.control", QtInfoMsg)
Q_LOGGING_CATEGORY(lcModel, "cortexfs.model", QtInfoMsg)
Q_LOGGING_CATEGORY(lcProvider, "cortexfs.provider", QtInfoMsg)
Q_LOGGING_CATEGORY(lcConfig, "cortexfs.config", QtInfoMsg)

namespace cortexfs::logging {

namespace {

bool g_toJournal = false;

struct LevelName {
    const char *word;
    const char *priority; // syslog priority as sd-daemon(3) reads it from stderr
};

LevelName levelName(QtMsgType type)
{
    switch (type) {
    case QtDebugMsg: return {"debug", "<7>"};
    case QtInfoMsg: return {"info", "<6>"};
    case QtWarningMsg: return {"warning", "<4>"};
    case QtCriticalMsg:
    case QtFatalMsg: return {"error", "<3>"};
    }
    return {"info", "<6>"};
}

void handleMessage(QtMsgType type, const QMessageLogContext &context, const QString &message)
{
    const LevelName level = levelName(type);
    std::string line;
    if (g_toJournal)
        line += level.priority;
    line += "cortexfs ";
    line += level.word;
    if (context.category && std::string_view(context.category) != "default") {
        line += ' ';
        line += context.category;
    }
    line += ": ";
    const QByteArray utf8 = message.toUtf8();
    line += escapeControl(std::string_view(utf8.constData(), static_cast<std::size_t>(utf8.size())));
    line += '\n';
    // One write, so that lines of several threads do not mix. A failing stderr has nowhere to be reported.
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (type == QtFatalMsg)
        std::abort();
}

} // namespace

std::string escapeControl(std::string_view text)
{
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        // U+0080 to U+009F: terminals take them as the start of a command, as they take ESC.
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) {
            out += "\\x";
            out += kHex[next >> 4];
            out += kHex[next & 15];
            ++i;
        } else if (byte == '\n') {
            out += "\\n";
        } else if (byte == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\x";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;
        }
    }
    return out;
}

bool setLevel(std::string_view level)
{
    const char *rules = nullptr;
    if (level == "debug")
        rules = "cortexfs.*.debug=true";
    else if (level == "info")
        rules = "cortexfs.*.debug=false";
    else if (level == "warning")
        rules = "cortexfs.*.debug=false\ncortexfs.*.info=false";
    else if (level == "error")
        rules = "cortexfs.*.debug=false\ncortexfs.*.info=false\ncortexfs.*.warning=false";
    else
        return false;
    QLoggingCategory::setFilterRules(QString::fromLatin1(rules));
    return true;
}

void install()
{
    g_toJournal = std::getenv("JOURNAL_STREAM") != nullptr;
    qInstallMessageHandler(handleMessage);
}

} // namespace cortexfs::logging
