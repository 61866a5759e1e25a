#include "daemon/providers/curl/reply_head.h"

#include <algorithm>
#include <utility>

#include <strings.h>

namespace cortexfs::providers {

namespace {

std::string_view trimmed(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// "HTTP/1.1 200 OK"; libcurl has checked the form.
int statusOf(std::string_view line)
{
    const std::size_t blank = std::min(line.find(' '), line.size());
    int status = 0;
    for (const char c : trimmed(line.substr(blank)).substr(0, 3)) {
        if (c < '0' || c > '9')
            break;
        status = status * 10 + (c - '0');
    }
    return status;
}

bool isCalled(const HttpHeader &header, const char *name) { return ::strcasecmp(header.first.c_str(), name) == 0; }

} // namespace

Result<void> ReplyHead::addLine(std::string_view line)
{
    if (m_isComplete)
        return {};
    m_bytes += line.size();
    if (m_bytes > kMostBytes)
        return errors::tooLarge("the head of the reply is larger than " + std::to_string(kMostBytes) + " bytes");
    if (line.starts_with("HTTP/") && m_head.status == 0) {
        m_head.status = statusOf(line);
        return {};
    }
    if (trimmed(line).empty())
        return endHead();
    if ((line.front() == ' ' || line.front() == '\t') && !m_head.headers.empty()) {
        m_head.headers.back().second += ' ';
        m_head.headers.back().second += trimmed(line);
        return {};
    }
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos)
        m_head.headers.emplace_back(trimmed(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
    return {};
}

Result<void> ReplyHead::endHead()
{
    if (m_head.status == 101)
        return errors::badMessage("the reply changes protocols, which nobody asked for");
    if (m_head.status < 200) {
        m_head = {};
        return {};
    }
    m_isComplete = true;
    return {};
}

HttpHead ReplyHead::take()
{
    HttpHead head = std::exchange(m_head, {});
    const auto isCoding = [](const HttpHeader &header) { return isCalled(header, "Content-Encoding"); };
    if (std::any_of(head.headers.begin(), head.headers.end(), isCoding)) {
        std::erase_if(head.headers,
                      [&](const HttpHeader &header) { return isCoding(header) || isCalled(header, "Content-Length"); });
    }
    return head;
}

} // namespace cortexfs::providers
