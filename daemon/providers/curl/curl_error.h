// The one table from libcurl's results to our errors.
#pragma once

#include "common/base/result.h"

#include <curl/curl.h>

#include <optional>
#include <string>

namespace cortexfs::providers {

struct CurlOutcome {
    CURLcode code = CURLE_OK;
    int systemErrno = 0;     // of the last failed connect; 0: none
    int proxyStatus = 0;     // what a proxy answered to CONNECT; 0: nothing
    bool headCame = false;   // the reply had begun
    bool overUnix = false;   // `where` is a socket's path
    bool mayBeProxy = false; // it may be a proxy that does not answer
    std::string where;       // host:port, or the path
    std::string text;        // libcurl's own words; hold no header and no body
};

// Nothing for a clean end.
std::optional<Error> failureFrom(const CurlOutcome &outcome);

} // namespace cortexfs::providers
