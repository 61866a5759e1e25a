// Endpoints as people write them into provider files and route tables: http and https URLs and their hosts.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>

namespace cortexfs::abi {

struct Endpoint {
    std::string scheme; // http or https
    std::string host;   // lower case, no trailing dot, IDN in ASCII, IPv6 without brackets
    int port = -1;      // -1: the scheme's own
};

// EINVAL: no http or https URL, no host, userinfo, a fragment, blanks or control characters.
Result<Endpoint> parseEndpoint(std::string_view text);

// Also the short forms that reach an address: "127.1", "2130706433", IPv4-mapped, with a zone.
bool isIpLiteral(const std::string &host);
bool isLocalhostName(const std::string &host); // localhost, x.localhost
bool isLoopbackHost(const std::string &host);  // localhost, 127.0.0.0/8, ::1

} // namespace cortexfs::abi
