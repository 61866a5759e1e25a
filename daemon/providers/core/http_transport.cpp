#include "daemon/providers/core/http_transport.h"

namespace cortexfs::providers {

void HttpStream::retire(std::unique_ptr<HttpStream> stream)
{
    if (!stream)
        return;
    stream->disconnect();
    stream.release()->drain();
}

} // namespace cortexfs::providers
