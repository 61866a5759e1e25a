// What may not reach the head of a request.
#pragma once

#include "common/base/result.h"
#include "daemon/providers/core/http_transport.h"

namespace cortexfs::providers {

// See HttpTransport::open. Messages name the header, never its value.
Result<void> checkRequest(const HttpRequest &request);

} // namespace cortexfs::providers
