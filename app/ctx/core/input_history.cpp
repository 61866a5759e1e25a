#include "app/ctx/core/input_history.h"

#include "common/base/files.h"
#include "common/base/limits.h"
#include "common/base/unique_fd.h"
#include "common/json/json.h"

#include <fcntl.h>
#include <unistd.h>

namespace cortexfs::ctx {

namespace {

constexpr std::size_t kLargestFile = 8 * limits::kMiB;

std::string recordOf(const std::string &line)
{
    std::string record;
    json::appendQuoted(record, line);
    return record + "\n";
}

std::string directoryOf(const std::string &file) { return file.substr(0, file.rfind('/')); }

} // namespace

std::string inputHistoryFile(const Environment &environment)
{
    std::string base = environment("XDG_STATE_HOME").value_or("");
    if (!base.starts_with('/')) {
        const std::string home = environment("HOME").value_or("");
        if (!home.starts_with('/'))
            return {};
        base = home + "/.local/state";
    }
    return base + "/cortexfs/chat_history";
}

InputHistory::InputHistory(std::string file) : m_file(std::move(file))
{
    if (m_file.empty())
        return;
    const Result<std::string> content = files::readTrusted(m_file, kLargestFile, ::geteuid());
    if (!content)
        return;
    std::size_t records = 0;
    for (std::size_t start = 0; start < content->size();) {
        const std::size_t end = std::min(content->find('\n', start), content->size());
        const Result<json::Document> record = json::parse(std::string_view(*content).substr(start, end - start));
        if (const auto line = record ? record->root().asString() : std::nullopt)
            m_lines.emplace_back(*line);
        ++records;
        start = end + 1;
    }
    if (records <= 2 * kKept)
        return;
    m_lines.erase(m_lines.begin(), m_lines.end() - static_cast<std::ptrdiff_t>(std::min(m_lines.size(), kKept)));
    std::string shorter;
    for (const std::string &line : m_lines)
        shorter += recordOf(line);
    (void)files::replace(m_file, shorter, 0600);
}

void InputHistory::add(const std::string &line)
{
    if (line.empty() || (!m_lines.empty() && m_lines.back() == line))
        return;
    m_lines.push_back(line);
    if (m_file.empty() || !files::makeDirectories(directoryOf(m_file), 0700))
        return;
    const UniqueFd file(::open(m_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.isValid())
        (void)files::writeAll(file.get(), recordOf(line)); // one write: two chats do not mix their lines
}

} // namespace cortexfs::ctx
