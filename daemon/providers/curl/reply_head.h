// Collects the head of a reply from libcurl's header lines.
#pragma once

#include "daemon/providers/core/http_transport.h"

#include <cstddef>
#include <optional>
#include <string_view>

namespace cortexfs::providers {

class ReplyHead {
public:
    // Of all heads of one reply together; more is EMSGSIZE.
    static constexpr std::size_t kMostBytes = 64 * 1024;

    // One line with its line end. Interim heads (1xx) are skipped. Lines after the head, which are trailers, are ignored.
    // EMSGSIZE; EBADMSG for a change of protocols that nobody asked for.
    Result<void> addLine(std::string_view line);

    bool isComplete() const { return m_isComplete; }
    // Once, when it is complete. Content that libcurl decodes comes without the headers of its coded form.
    HttpHead take();

private:
    Result<void> endHead();

    HttpHead m_head;
    std::size_t m_bytes = 0;
    bool m_isComplete = false;
};

} // namespace cortexfs::providers
