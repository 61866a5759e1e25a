// The header lines of a request, as libcurl takes them.
#pragma once

#include "daemon/providers/core/http_transport.h"

#include <curl/curl.h>

#include <memory>

namespace cortexfs::providers {

// Wipes the lines before it frees them: one of them holds the key.
struct HeaderListDeleter {
    void operator()(curl_slist *list) const;
};
using HeaderList = std::unique_ptr<curl_slist, HeaderListDeleter>;

// The request's headers and its credential, each name once (the last one counts), and those that libcurl would add by
// itself switched off. Null without memory.
HeaderList headerListFor(const HttpRequest &request);

} // namespace cortexfs::providers
